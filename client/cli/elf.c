// SPDX-License-Identifier: MIT
#include "client/cli/elf.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#else
#define OUR_MACHINE EM_NONE
#endif

enum { SCRIPT_DEPTH = 4, HEADERS_MAX = 128 };

static bool is_runnable(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

bool ft_elf_find_command(const char *command, char *path, unsigned path_bytes)
{
    if (strchr(command, '/')) {
        return snprintf(path, path_bytes, "%s", command) < (int)path_bytes && is_runnable(path);
    }
    const char *at = getenv("PATH");
    at = at ? at : "/bin:/usr/bin";
    while (*command) {
        size_t length = strcspn(at, ":");
        int used = snprintf(path, path_bytes, "%.*s%s%s", (int)length, at, length ? "/" : "./", command);
        if (used < (int)path_bytes && is_runnable(path)) {
            return true;
        }
        if (at[length] == '\0') {
            return false;
        }
        at += length + 1;
    }
    return false;
}

static bool read_all(int fd, void *to, size_t bytes, uint64_t offset)
{
    return offset <= INT64_MAX && pread(fd, to, bytes, (off_t)offset) == (ssize_t)bytes;
}

static void look_at_image(int fd, const Elf64_Ehdr *head, struct ft_elf *out)
{
    if (head->e_ident[EI_CLASS] != ELFCLASS64 || (OUR_MACHINE != EM_NONE && head->e_machine != OUR_MACHINE)) {
        out->kind = FT_ELF_FOREIGN;
        return;
    }
    static Elf64_Phdr headers[HEADERS_MAX];
    unsigned count = head->e_phnum < HEADERS_MAX ? head->e_phnum : HEADERS_MAX;
    if (head->e_phentsize != sizeof(headers[0]) || !read_all(fd, headers, count * sizeof(headers[0]), head->e_phoff)) {
        return;
    }
    out->kind = FT_ELF_STATIC;
    for (unsigned i = 0; i < count; i++) {
        if (headers[i].p_type == PT_INTERP) {
            out->kind = FT_ELF_DYNAMIC;
        }
    }
}

/* The interpreter of a script's first line; "" where there is none. */
static void read_interpreter(const char *line, char *path, size_t path_bytes)
{
    line += strspn(line, " \t");
    snprintf(path, path_bytes, "%.*s", (int)strcspn(line, " \t\n"), line);
}

void ft_elf_look(const char *path, struct ft_elf *out)
{
    memset(out, 0, sizeof(*out));
    snprintf(out->path, sizeof(out->path), "%s", path);
    for (int depth = 0; depth < SCRIPT_DEPTH; depth++) {
        union {
            Elf64_Ehdr elf;
            char line[256];
        } head;
        memset(&head, 0, sizeof(head));
        int fd = open(out->path, O_RDONLY | O_CLOEXEC);
        struct stat st;
        if (fd < 0 || fstat(fd, &st) < 0 || pread(fd, &head, sizeof(head) - 1, 0) <= 0) {
            (void)(fd < 0 ? 0 : close(fd));
            return;
        }
        bool is_script = memcmp(head.line, "#!", 2) == 0;
        if (memcmp(head.line, ELFMAG, SELFMAG) == 0) {
            out->is_secure = (st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
                             ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != getegid()) ||
                             (geteuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0);
            look_at_image(fd, &head.elf, out);
        }
        close(fd);
        if (!is_script) {
            return;
        }
        read_interpreter(head.line + 2, out->path, sizeof(out->path));
    }
}
