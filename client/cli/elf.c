// SPDX-License-Identifier: MIT
#include "client/cli/elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { LINE_BYTES = 256 }; /* that much of a script's first line the kernel reads */

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

/*
 * When the kernel sets AT_SECURE for it (exec: bprm_fill_uid, cap_bprm_creds_from_file): the bits change an id, or the
 * file has capabilities and we are not root. A mount without set-user-ID takes both away, no_new_privs the bits.
 */
static const char *why_secure(int fd, const struct stat *st)
{
    struct statvfs fs;
    if (!S_ISREG(st->st_mode) || (fstatvfs(fd, &fs) == 0 && (fs.f_flag & ST_NOSUID))) {
        return NULL;
    }
    bool keeps_ids = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
    if (!keeps_ids && (st->st_mode & S_ISUID) && st->st_uid != getuid()) {
        return "set-user-ID";
    }
    if (!keeps_ids && (st->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st->st_gid != getgid()) {
        return "set-group-ID";
    }
    return getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0 ? "file capabilities" : NULL;
}

/* The words of a first line: the interpreter, and all behind it as one argument without blanks at its ends. */
static void read_first_line(const char *line, struct ft_elf *out)
{
    size_t length = strcspn(line, "\n");
    while (length > 0 && (line[length - 1] == ' ' || line[length - 1] == '\t')) {
        length--;
    }
    size_t from = strspn(line, " \t");
    from = from < length ? from : length;
    size_t word = strcspn(line + from, " \t\n");
    word = word < length - from ? word : length - from;
    snprintf(out->interpreter, sizeof(out->interpreter), "%.*s", (int)word, line + from);
    from += word;
    from += strspn(line + from, " \t");
    snprintf(out->argument, sizeof(out->argument), "%.*s", from < length ? (int)(length - from) : 0, line + from);
}

static void look_into(int fd, struct ft_elf *out)
{
    char head[LINE_BYTES + 1] = "";
    struct stat st;
    ssize_t got = fstat(fd, &st) == 0 ? 0 : -1;
    if (got == 0 && !S_ISREG(st.st_mode)) {
        errno = S_ISDIR(st.st_mode) ? EISDIR : EACCES;
        got = -1;
    }
    got = got == 0 ? pread(fd, head, LINE_BYTES, 0) : got;
    if (got < 0) {
        out->error = errno;
    } else if (got == 0) {
        out->kind = FT_ELF_EMPTY;
    } else if (memcmp(head, ELFMAG, SELFMAG) == 0) {
        out->secure_why = why_secure(fd, &st);
        ft_elf_read_image(fd, out);
    } else if (memcmp(head, "#!", 2) == 0) {
        out->kind = FT_ELF_SCRIPT;
        read_first_line(head + 2, out);
    } else {
        out->kind = FT_ELF_TEXT;
    }
}

void ft_elf_look_at(const char *path, struct ft_elf *out)
{
    memset(out, 0, sizeof(*out));
    if (snprintf(out->path, sizeof(out->path), "%s", path) >= (int)sizeof(out->path)) {
        out->error = ENAMETOOLONG;
        return;
    }
    /* A FIFO would hold us, a terminal become ours. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        out->error = errno;
        return;
    }
    look_into(fd, out);
    close(fd);
}

/* The program in the argument of `env`: the first word that is neither an option nor an assignment. */
static bool find_word_of_env(const char *argument, char *word, size_t word_bytes)
{
    for (const char *at = argument; *at; at += strspn(at, " \t")) {
        size_t length = strcspn(at, " \t");
        if (at[0] != '-' && !memchr(at, '=', length)) {
            return snprintf(word, word_bytes, "%.*s", (int)length, at) < (int)word_bytes;
        }
        at += length;
    }
    return false;
}

bool ft_elf_find_interpreter(const struct ft_elf *script, char *path, unsigned path_bytes)
{
    char word[256];
    const char *slash = strrchr(script->interpreter, '/'), *name = slash ? slash + 1 : script->interpreter;
    if (!is_runnable(script->interpreter)) {
        return false;
    }
    if (strcmp(name, "env") == 0 && find_word_of_env(script->argument, word, sizeof(word))) {
        return ft_elf_find_command(word, path, path_bytes);
    }
    return snprintf(path, path_bytes, "%s", script->interpreter) < (int)path_bytes;
}

void ft_elf_look(const char *path, struct ft_elf *out)
{
    char next[PATH_MAX];
    ft_elf_look_at(path, out);
    for (int depth = 0; depth < FT_ELF_SCRIPTS_MAX && out->kind == FT_ELF_SCRIPT; depth++) {
        if (!ft_elf_find_interpreter(out, next, sizeof(next))) {
            return;
        }
        ft_elf_look_at(next, out);
    }
}
