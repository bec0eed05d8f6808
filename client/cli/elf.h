// SPDX-License-Identifier: MIT
/* What a command is, as far as it decides whether the recorder can be loaded into it. Reads files, prints nothing. */
#ifndef FT_CLI_ELF_H
#define FT_CLI_ELF_H

#include <stdbool.h>

enum ft_elf_kind {
    FT_ELF_UNREADABLE, /* not there, not ours to read, or no ELF file: nothing known */
    FT_ELF_DYNAMIC,
    FT_ELF_STATIC,
    FT_ELF_FOREIGN, /* other class or machine than ours */
};

struct ft_elf {
    enum ft_elf_kind kind;
    bool is_secure;  /* set-user-ID, set-group-ID or file capabilities: ld.so ignores the preload */
    char path[4096]; /* what was looked at in the end: a script's interpreter */
};

/* Finds `command` as execvp does, in $PATH; false where there is no such file. */
bool ft_elf_find_command(const char *command, char *path, unsigned path_bytes);
void ft_elf_look(const char *path, struct ft_elf *out);

#endif
