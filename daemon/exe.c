// SPDX-License-Identifier: MIT
#include "daemon/exe.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SCRIPTS_MAX 4 // interpreters that are scripts themselves
#define HEADERS_MAX 64

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_NONE
#endif

#define VERDICT(kind, text) ((struct ft_exe_verdict){.gap = FT_GAP_##kind, .reason = (text)})

static struct ft_exe_verdict examine_interpreter(int fd, const Elf64_Phdr *header)
{
    char name[64] = "";
    size_t bytes = header->p_filesz < sizeof(name) - 1 ? header->p_filesz : sizeof(name) - 1;
    if (pread(fd, name, bytes, (off_t)header->p_offset) < 0)
        name[0] = '\0';
    if (strstr(name, "musl"))
        return VERDICT(FOREIGN_ELF, "built for another libc (musl)");
    return VERDICT(NOT_ATTACHED, "did not attach");
}

static struct ft_exe_verdict examine_elf(int fd, const Elf64_Ehdr *elf)
{
    if (elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_machine != MACHINE)
        return VERDICT(FOREIGN_ELF, "built for another architecture or word size");
    for (unsigned i = 0; i < elf->e_phnum && i < HEADERS_MAX; i++) {
        Elf64_Phdr header;
        uint64_t at = elf->e_phoff + (uint64_t)i * sizeof(header);
        if (at > INT32_MAX || pread(fd, &header, sizeof(header), (off_t)at) != sizeof(header))
            break;
        if (header.p_type == PT_INTERP)
            return examine_interpreter(fd, &header);
    }
    return VERDICT(STATIC, "statically linked: no library can be loaded into it");
}

static bool is_secure(int fd)
{
    struct stat status;
    if (fstat(fd, &status) == 0 && (status.st_mode & (S_ISUID | S_ISGID)) && S_ISREG(status.st_mode))
        return true;
    return fgetxattr(fd, "security.capability", NULL, 0) > 0;
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

struct ft_exe_verdict ft_exe_examine(const char *name)
{
    char script[256], found[512];
    const char *path = find_program(name, found, sizeof(found));
    if (!path)
        return VERDICT(NOT_ATTACHED, "did not attach");
    for (int depth = 0; depth < SCRIPTS_MAX; depth++) {
        Elf64_Ehdr elf;
        // A FIFO would hold us, a device might do things.
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (fd < 0 && errno == ENOENT)
            return VERDICT(CONTAINER, "its file is not to be found from here");
        if (fd < 0)
            return VERDICT(NOT_ATTACHED, "did not attach, and its file cannot be read");
        struct ft_exe_verdict verdict = VERDICT(NOT_ATTACHED, "did not attach");
        bool is_elf = pread(fd, &elf, sizeof(elf), 0) == sizeof(elf) && memcmp(elf.e_ident, ELFMAG, SELFMAG) == 0;
        script[0] = '\0';
        if (is_elf && is_secure(fd))
            verdict = VERDICT(SECURE_EXEC, "runs with other privileges: its loader takes no library from us");
        else if (is_elf)
            verdict = examine_elf(fd, &elf);
        else
            read_script(fd, script, sizeof(script));
        close(fd);
        if (!script[0])
            return verdict;
        path = script;
    }
    return VERDICT(NOT_ATTACHED, "did not attach");
}
