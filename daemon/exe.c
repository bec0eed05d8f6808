// SPDX-License-Identifier: MIT
#include "daemon/exe.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SCRIPTS_MAX 4 // interpreters that are scripts themselves
#define HEADERS_MAX 64
#define DYNAMIC_MAX 64

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_NONE
#endif

#define CERTAIN(kind, text) ((struct ft_exe_verdict){.gap = FT_GAP_##kind, .reason = (text), .is_certain = true})
#define VERDICT(kind, text) ((struct ft_exe_verdict){.gap = FT_GAP_##kind, .reason = (text)})

static struct ft_exe_verdict examine_interpreter(int fd, const Elf64_Phdr *header)
{
    char name[64] = "";
    size_t bytes = header->p_filesz < sizeof(name) - 1 ? header->p_filesz : sizeof(name) - 1;
    if (pread(fd, name, bytes, (off_t)header->p_offset) < 0)
        name[0] = '\0';
    if (strstr(name, "musl"))
        return CERTAIN(FOREIGN_ELF, "built for another libc (musl)");
    return VERDICT(NOT_ATTACHED, "did not attach");
}

// Whether it is a library by name: of what names no loader that is the loader itself, a static program has no such name.
static bool has_soname(int fd, const Elf64_Phdr *header)
{
    Elf64_Dyn entries[DYNAMIC_MAX];
    size_t bytes = header->p_filesz < sizeof(entries) ? header->p_filesz : sizeof(entries);
    ssize_t n = header->p_offset > INT32_MAX ? -1 : pread(fd, entries, bytes, (off_t)header->p_offset);
    for (ssize_t i = 0; i < n / (ssize_t)sizeof(entries[0]) && entries[i].d_tag != DT_NULL; i++)
        if (entries[i].d_tag == DT_SONAME)
            return true;
    return false;
}

static struct ft_exe_verdict examine_elf(int fd, const Elf64_Ehdr *elf)
{
    if (elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_machine != MACHINE)
        return CERTAIN(FOREIGN_ELF, "built for another architecture or word size");
    bool is_loader = false;
    for (unsigned i = 0; i < elf->e_phnum && i < HEADERS_MAX; i++) {
        Elf64_Phdr header;
        uint64_t at = elf->e_phoff + (uint64_t)i * sizeof(header);
        if (at > INT32_MAX || pread(fd, &header, sizeof(header), (off_t)at) != sizeof(header))
            break;
        if (header.p_type == PT_INTERP)
            return examine_interpreter(fd, &header);
        is_loader |= header.p_type == PT_DYNAMIC && has_soname(fd, &header);
    }
    if (is_loader)
        return VERDICT(NOT_ATTACHED, "the dynamic loader by itself: it ran no program with us");
    return CERTAIN(STATIC, "statically linked: no library can be loaded into it");
}

// Whether running it changes who the process is; without a look, not.
static bool is_secure(int fd, const struct ft_exe_look *look)
{
    struct stat status;
    if (!look || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
        return false;
    bool is_group_given = (status.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP);
    return ((status.st_mode & S_ISUID) && status.st_uid != look->uid) ||
           (is_group_given && status.st_gid != look->gid) ||
           (look->uid != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0);
}

// The interpreter that a script names; empty where it is none.
static void read_script(int fd, char *interpreter, size_t room)
{
    char line[256] = "";
    interpreter[0] = '\0';
    ssize_t n = pread(fd, line, sizeof(line) - 1, 0);
    if (n < 3 || line[0] != '#' || line[1] != '!')
        return;
    const char *at = line + 2 + strspn(line + 2, " \t");
    size_t bytes = strcspn(at, " \t\n");
    if (bytes >= room)
        return;
    memcpy(interpreter, at, bytes);
    interpreter[bytes] = '\0';
}

// A name without a slash is searched for where PATH usually leads; the process's own is not known here.
static const char *find_program(const char *name, char *path, size_t room)
{
    static const char *const folders[] = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
                                          "/usr/bin",        "/sbin",          "/bin"};
    if (strchr(name, '/'))
        return name;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        int n = snprintf(path, room, "%s/%s", folders[i], name);
        if (n > 0 && (size_t)n < room && access(path, X_OK) == 0)
            return path;
    }
    return NULL;
}

// A FIFO would hold us.
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

// The file that `place` (O_PATH, closed) is, for reading; -1 with errno. What is no regular file is never opened: opening a
// device may do things (a watchdog runs from then on), and a client names what it likes.
static int open_regular(int place)
{
    struct stat status;
    char path[32];
    int fd = -1, error = errno;
    if (place < 0)
        return -1;
    if (fstat(place, &status) == 0 && S_ISREG(status.st_mode)) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
        fd = open(path, OPEN_FLAGS);
        error = errno;
    } else {
        error = EACCES;
    }
    close(place);
    errno = error;
    return fd;
}

// `path` in the root of another process, where that is alive and may be looked into; else in ours.
static int open_in_root(const char *path, const struct ft_exe_look *look)
{
    char root[32];
    if (!look || !look->root_pid || path[0] != '/')
        return open_regular(open(path, O_PATH | O_CLOEXEC));
    snprintf(root, sizeof(root), "/proc/%u/root", look->root_pid);
    int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
    int fd = root_fd < 0 ? -1 : (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
    int error = errno;
    if (root_fd >= 0)
        close(root_fd);
    // It is gone, or the kernel is older than 5.6, or the path is one of our root's.
    if (root_fd < 0 || (fd < 0 && (error == ENOSYS || error == ENOENT)))
        return open_regular(open(path, O_PATH | O_CLOEXEC));
    errno = error;
    return open_regular(fd);
}

// A script's interpreter goes to `script`, empty where it is none.
static struct ft_exe_verdict examine_file(int fd, const struct ft_exe_look *look, char *script, size_t room)
{
    Elf64_Ehdr elf;
    script[0] = '\0';
    bool is_elf = pread(fd, &elf, sizeof(elf), 0) == sizeof(elf) && memcmp(elf.e_ident, ELFMAG, SELFMAG) == 0;
    if (!is_elf)
        read_script(fd, script, room);
    else if (is_secure(fd, look))
        return VERDICT(SECURE_EXEC, "runs with other privileges: its loader takes no library from us");
    else
        return examine_elf(fd, &elf);
    return VERDICT(NOT_ATTACHED, "did not attach");
}

// It may have been removed since, unless who executed it is known to see other files than we do.
static struct ft_exe_verdict verdict_of_absent(const struct ft_exe_look *look)
{
    struct ft_exe_verdict verdict = VERDICT(NOT_ATTACHED, "did not attach, and its file is gone");
    struct stat own, its;
    char root[32];
    snprintf(root, sizeof(root), "/proc/%u/root/", look ? look->root_pid : 0);
    if (stat("/", &own) == 0 && stat(root, &its) == 0 && (own.st_dev != its.st_dev || own.st_ino != its.st_ino))
        verdict = VERDICT(CONTAINER, "its file is not to be found from here");
    verdict.is_absent = true;
    return verdict;
}

struct ft_exe_verdict ft_exe_examine(const char *name, const struct ft_exe_look *look)
{
    char script[256], found[512];
    struct ft_exe_verdict verdict = VERDICT(NOT_ATTACHED, "did not attach");
    const char *path = find_program(name, found, sizeof(found));
    for (int depth = 0; path && depth < SCRIPTS_MAX; depth++) {
        int fd = open_in_root(path, look);
        if (fd < 0 && errno == ENOENT)
            return verdict_of_absent(look);
        if (fd < 0)
            return VERDICT(NOT_ATTACHED, "did not attach, and its file cannot be read");
        verdict = examine_file(fd, look, script, sizeof(script));
        close(fd);
        if (!script[0])
            break;
        path = script;
    }
    return verdict;
}

struct ft_exe_verdict ft_exe_examine_running(uint32_t pid, const struct ft_exe_look *look)
{
    char path[32], script[256];
    struct ft_exe_verdict verdict = VERDICT(NOT_ATTACHED, "did not attach");
    snprintf(path, sizeof(path), "/proc/%u/exe", pid);
    int fd = open_regular(open(path, O_PATH | O_CLOEXEC));
    if (fd >= 0) {
        verdict = examine_file(fd, look, script, sizeof(script));
        close(fd);
    }
    return verdict;
}

struct ft_exe_verdict ft_exe_examine_again(const char *path, struct ft_exe_known *known, unsigned count)
{
    struct stat status;
    if (stat(path, &status) < 0)
        return VERDICT(NOT_ATTACHED, "did not attach");
    uint64_t hash = UINT64_C(0xcbf29ce484222325); // FNV-1a
    for (const char *at = path; *at; at++)
        hash = (hash ^ (uint8_t)*at) * UINT64_C(0x100000001b3);
    struct ft_exe_known *one = &known[hash % count];
    if (one->path == hash && one->dev == status.st_dev && one->inode == status.st_ino &&
        one->changed.tv_sec == status.st_ctim.tv_sec && one->changed.tv_nsec == status.st_ctim.tv_nsec)
        return one->verdict;
    *one = (struct ft_exe_known){.path = hash,
                                 .dev = status.st_dev,
                                 .inode = status.st_ino,
                                 .changed = status.st_ctim,
                                 .verdict = ft_exe_examine(path, NULL)};
    return one->verdict;
}
