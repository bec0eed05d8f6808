// SPDX-License-Identifier: MIT
/* What a command is, as far as it decides whether the recorder can be loaded into it. Reads files, prints nothing. */
#ifndef FT_CLI_ELF_H
#define FT_CLI_ELF_H

#include <stdbool.h>
#include <stdint.h>

enum ft_elf_kind {
    FT_ELF_UNREADABLE, /* not there or not ours to read: `error` */
    FT_ELF_DYNAMIC,
    FT_ELF_STATIC,
    FT_ELF_FOREIGN,     /* other class, byte order or machine than ours */
    FT_ELF_OTHER_LIBC,  /* its loader is not glibc's: `loader` */
    FT_ELF_NOT_PROGRAM, /* an object file, a core dump, a library */
    FT_ELF_DAMAGED,     /* its headers lie outside of it */
    FT_ELF_SCRIPT,      /* #!: `interpreter`, `argument` */
    FT_ELF_TEXT,        /* anything else: execvp gives it to the shell */
    FT_ELF_EMPTY,
};

struct ft_elf {
    enum ft_elf_kind kind;
    int error;              /* errno, UNREADABLE only */
    const char *secure_why; /* set-user-ID and the like: ld.so ignores the preload; NULL: no. Static text */
    bool is_go;             /* made by the Go compiler: calls the kernel past libc */
    bool is_instrumented;   /* built with -finstrument-functions, and linked without libflowtap-functions */
    unsigned bits, machine; /* of FOREIGN: 32 or 64, e_machine */
    char sanitizer[64]; /* DT_NEEDED name of an ASan or TSan runtime, which wants to be first in LD_PRELOAD; "" none */
    char loader[256];   /* PT_INTERP; "" none */
    char interpreter[256], argument[256];
    char path[4096]; /* what was looked at in the end: a script's interpreter */
};

/* Finds `command` as execvp does, in $PATH; false where there is no such file. */
bool ft_elf_find_command(const char *command, char *path, unsigned path_bytes);

/* Looks at one file, whatever it is. */
void ft_elf_look_at(const char *path, struct ft_elf *out);

/* The file that runs a script: its interpreter, or the program that `env` starts. False where it is not to be found. */
bool ft_elf_find_interpreter(const struct ft_elf *script, char *path, unsigned path_bytes);

/* As many interpreters deep as the kernel goes. */
enum { FT_ELF_SCRIPTS_MAX = 5 };

/* Looks at a file, and where it is a script at what runs it. */
void ft_elf_look(const char *path, struct ft_elf *out);

/* elf_image.c: what an open ELF file is; fills in kind, is_go, is_instrumented, bits, machine, sanitizer, loader. */
void ft_elf_read_image(int fd, struct ft_elf *out);

#endif
