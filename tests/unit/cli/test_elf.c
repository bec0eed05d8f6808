// SPDX-License-Identifier: MIT
/* Small ELF files and scripts made here: what a command is found to be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "client/cli/elf.h"

#if defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#define OTHER_MACHINE EM_X86_64
#else
#define OUR_MACHINE EM_X86_64
#define OTHER_MACHINE EM_AARCH64
#endif

#define GLIBC_LOADER "/lib64/ld-linux-x86-64.so.2"

static char folder[] = "/tmp/flowtap-elf-XXXXXX", file[64];

/* What is in a made file; zero stands for the ordinary. */
struct made {
    const char *why;
    const char *loader, *needed, *soname, *own; /* NULL: none */
    unsigned char class, order;
    uint16_t type, machine;
    uint16_t header_count; /* that the head tells; 0: as many as there are */
    uint64_t headers_at, loader_bytes, entry;
    size_t cut; /* bytes of the file; 0: all */
    bool is_go, has_no_entry;
    enum ft_elf_kind kind;
    const char *sanitizer;
};

struct layout {
    Elf64_Ehdr head;
    Elf64_Phdr headers[4];
    Elf64_Dyn entries[6];
    char strings[128], loader[300], note[32];
};

static void add_entry(struct layout *at, unsigned *count, int64_t tag, uint64_t value)
{
    at->entries[(*count)++] = (Elf64_Dyn){.d_tag = tag, .d_un.d_val = value};
}

static uint64_t add_string(struct layout *at, size_t *used, const char *text)
{
    size_t where = *used;
    strcpy(at->strings + where, text);
    *used += strlen(text) + 1;
    return where;
}

static void fill(struct layout *at, const struct made *made)
{
    unsigned entries = 0, headers = 0;
    size_t strings = 1;
    memset(at, 0, sizeof(*at));
    memcpy(at->head.e_ident, ELFMAG, SELFMAG);
    at->head.e_ident[EI_CLASS] = made->class ? made->class : ELFCLASS64;
    at->head.e_ident[EI_DATA] = made->order ? made->order : ELFDATA2LSB;
    at->head.e_type = made->type ? made->type : ET_DYN;
    at->head.e_machine = made->machine ? made->machine : OUR_MACHINE;
    at->head.e_entry = made->has_no_entry ? 0 : 64;
    at->head.e_phoff = made->headers_at ? made->headers_at : offsetof(struct layout, headers);
    at->head.e_phentsize = sizeof(Elf64_Phdr);
    at->headers[headers++] = (Elf64_Phdr){.p_type = PT_LOAD, .p_filesz = sizeof(*at)};
    if (made->loader) {
        strcpy(at->loader, made->loader);
        at->headers[headers++] =
            (Elf64_Phdr){.p_type = PT_INTERP,
                         .p_offset = offsetof(struct layout, loader),
                         .p_filesz = made->loader_bytes ? made->loader_bytes : strlen(made->loader) + 1};
    }
    if (made->needed) {
        add_entry(at, &entries, DT_NEEDED, add_string(at, &strings, "libc.so.6"));
        add_entry(at, &entries, DT_NEEDED, add_string(at, &strings, made->needed));
    }
    if (made->soname) {
        add_entry(at, &entries, DT_SONAME, add_string(at, &strings, made->soname));
    }
    if (made->own) {
        add_string(at, &strings, made->own);
    }
    add_entry(at, &entries, DT_STRTAB, offsetof(struct layout, strings));
    add_entry(at, &entries, DT_STRSZ, sizeof(at->strings));
    at->headers[headers++] = (Elf64_Phdr){
        .p_type = PT_DYNAMIC, .p_offset = offsetof(struct layout, entries), .p_filesz = sizeof(at->entries)};
    if (made->is_go) {
        memcpy(at->note, "\4\0\0\0\4\0\0\0\4\0\0\0Go\0\0abcd", 20);
        at->headers[headers++] =
            (Elf64_Phdr){.p_type = PT_NOTE, .p_offset = offsetof(struct layout, note), .p_filesz = 20};
    }
    at->head.e_phnum = made->header_count ? made->header_count : (uint16_t)headers;
}

static void write_file(const void *bytes, size_t count)
{
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0755);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, count), count);
    close(fd);
}

static void a_made_file_is_what_its_headers_say(void **state)
{
    (void)state;
    static const struct made table[] = {
        {.why = "an ordinary program", .loader = GLIBC_LOADER, .kind = FT_ELF_DYNAMIC},
        {.why = "not position independent", .loader = GLIBC_LOADER, .type = ET_EXEC, .kind = FT_ELF_DYNAMIC},
        {.why = "a loader of glibc elsewhere", .loader = "/nix/x/ld-linux-x86-64.so.2", .kind = FT_ELF_DYNAMIC},
        {.why = "musl", .loader = "/lib/ld-musl-x86_64.so.1", .kind = FT_ELF_OTHER_LIBC},
        {.why = "bionic", .loader = "/system/bin/linker64", .kind = FT_ELF_OTHER_LIBC},
        {.why = "static-pie", .kind = FT_ELF_STATIC},
        {.why = "static", .type = ET_EXEC, .kind = FT_ELF_STATIC},
        {.why = "static by Go", .type = ET_EXEC, .is_go = true, .kind = FT_ELF_STATIC},
        {.why = "Go with libc", .loader = GLIBC_LOADER, .is_go = true, .kind = FT_ELF_DYNAMIC},
        {.why = "the loader itself", .soname = "ld-linux-x86-64.so.2", .kind = FT_ELF_DYNAMIC},
        {.why = "a library", .soname = "libx.so.1", .kind = FT_ELF_NOT_PROGRAM},
        {.why = "a library without a name", .has_no_entry = true, .kind = FT_ELF_NOT_PROGRAM},
        {.why = "an object file", .type = ET_REL, .kind = FT_ELF_NOT_PROGRAM},
        {.why = "a core dump", .type = ET_CORE, .kind = FT_ELF_NOT_PROGRAM},
        {.why = "32 bits", .class = ELFCLASS32, .machine = EM_386, .kind = FT_ELF_FOREIGN},
        {.why = "x32", .class = ELFCLASS32, .kind = FT_ELF_FOREIGN},
        {.why = "another machine", .machine = OTHER_MACHINE, .kind = FT_ELF_FOREIGN},
        {.why = "the other byte order", .order = ELFDATA2MSB, .kind = FT_ELF_FOREIGN},
        {.why = "ASan, as it is", .loader = GLIBC_LOADER, .needed = "libasan.so.8", .kind = FT_ELF_DYNAMIC},
        {.why = "ASan with options of its own",
         .own = "__asan_default_options",
         .loader = GLIBC_LOADER,
         .needed = "libasan.so.8",
         .kind = FT_ELF_DYNAMIC,
         .sanitizer = "libasan.so.8"},
        {.why = "TSan", .loader = GLIBC_LOADER, .needed = "libtsan.so.2", .kind = FT_ELF_DYNAMIC},
        {.why = "another library", .loader = GLIBC_LOADER, .needed = "libz.so.1", .kind = FT_ELF_DYNAMIC},
        {.why = "headers beyond the end", .loader = GLIBC_LOADER, .headers_at = 1 << 20, .kind = FT_ELF_DAMAGED},
        {.why = "headers at the end of all", .loader = GLIBC_LOADER, .headers_at = UINT64_MAX, .kind = FT_ELF_DAMAGED},
        {.why = "more headers than there are",
         .loader = GLIBC_LOADER,
         .header_count = UINT16_MAX,
         .kind = FT_ELF_DAMAGED},
        {.why = "a loader of no length", .loader = GLIBC_LOADER, .loader_bytes = 1, .kind = FT_ELF_DAMAGED},
        {.why = "a loader of any length", .loader = GLIBC_LOADER, .loader_bytes = UINT64_MAX, .kind = FT_ELF_DAMAGED},
        {.why = "cut in its headers", .loader = GLIBC_LOADER, .cut = sizeof(Elf64_Ehdr) + 10, .kind = FT_ELF_DAMAGED},
        {.why = "cut in its head", .loader = GLIBC_LOADER, .cut = 20, .kind = FT_ELF_DAMAGED},
    };
    static struct ft_elf elf;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct layout layout;
        fill(&layout, &table[i]);
        write_file(&layout, table[i].cut ? table[i].cut : sizeof(layout));
        ft_elf_look(file, &elf);
        if (elf.kind != table[i].kind || elf.is_go != table[i].is_go) {
            fail_msg("%s: kind %d, go %d", table[i].why, (int)elf.kind, elf.is_go);
        }
        assert_string_equal(elf.sanitizer, table[i].sanitizer ? table[i].sanitizer : "");
        if (table[i].kind == FT_ELF_OTHER_LIBC) {
            assert_string_equal(elf.loader, table[i].loader);
        }
    }
}

/* Each cut of a whole file: no read beyond it, and never taken for a good one before its loader's name is there. */
static void a_file_cut_anywhere_is_read_without_harm(void **state)
{
    (void)state;
    static struct ft_elf elf;
    const struct made made = {.loader = GLIBC_LOADER, .needed = "libasan.so.8", .is_go = true};
    struct layout layout;
    fill(&layout, &made);
    for (size_t cut = 0; cut < sizeof(layout); cut++) {
        write_file(&layout, cut);
        ft_elf_look(file, &elf);
        if (cut < offsetof(struct layout, loader)) {
            assert_int_not_equal(elf.kind, FT_ELF_DYNAMIC);
        }
    }
}

static void a_script_is_what_runs_it(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        enum ft_elf_kind kind;
        const char *interpreter, *argument; /* of a script that leads nowhere */
    } table[] = {
        {"#!/bin/sh\n", FT_ELF_DYNAMIC, "", ""},
        {"#! /bin/sh -e  \n", FT_ELF_DYNAMIC, "", ""},
        {"#!/usr/bin/env sh\n", FT_ELF_DYNAMIC, "", ""},
        {"#!/usr/bin/env -S A=1 sh -e\n", FT_ELF_DYNAMIC, "", ""},
        {"#!/usr/bin/env flowtap-no-such-program\n", FT_ELF_SCRIPT, "/usr/bin/env", "flowtap-no-such-program"},
        {"#!/no/such -x y \n", FT_ELF_SCRIPT, "/no/such", "-x y"},
        {"#!/bin/sh\r\n", FT_ELF_SCRIPT, "/bin/sh\r", ""},
        {"#!\n", FT_ELF_SCRIPT, "", ""},
        {"#!   ", FT_ELF_SCRIPT, "", ""},
        {"#!", FT_ELF_SCRIPT, "", ""},
        {"echo x\n", FT_ELF_TEXT, "", ""},
        {"#", FT_ELF_TEXT, "", ""},
        {"", FT_ELF_EMPTY, "", ""},
    };
    static struct ft_elf elf;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        write_file(table[i].line, strlen(table[i].line));
        ft_elf_look(file, &elf);
        if (elf.kind != table[i].kind) {
            fail_msg("'%s': kind %d", table[i].line, (int)elf.kind);
        }
        if (elf.kind == FT_ELF_SCRIPT) {
            assert_string_equal(elf.interpreter, table[i].interpreter);
            assert_string_equal(elf.argument, table[i].argument);
        }
    }
}

static void a_script_that_runs_itself_ends(void **state)
{
    (void)state;
    static struct ft_elf elf;
    char line[80];
    write_file(line, (size_t)snprintf(line, sizeof(line), "#!%s\n", file));
    ft_elf_look(file, &elf);
    assert_int_equal(elf.kind, FT_ELF_SCRIPT);
}

static void what_is_no_file_says_why(void **state)
{
    (void)state;
    static struct ft_elf elf;
    char fifo[80];
    ft_elf_look("/no/such/file", &elf);
    assert_int_equal(elf.kind, FT_ELF_UNREADABLE);
    assert_int_equal(elf.error, ENOENT);
    ft_elf_look(folder, &elf);
    assert_int_equal(elf.error, EISDIR);
    snprintf(fifo, sizeof(fifo), "%s/fifo", folder);
    assert_int_equal(mkfifo(fifo, 0700), 0);
    ft_elf_look(fifo, &elf);
    assert_int_equal(elf.error, EACCES);
    unlink(fifo);
}

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) {
        return -1;
    }
    snprintf(file, sizeof(file), "%s/f", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(file);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_made_file_is_what_its_headers_say),
        cmocka_unit_test(a_file_cut_anywhere_is_read_without_harm),
        cmocka_unit_test(a_script_is_what_runs_it),
        cmocka_unit_test(a_script_that_runs_itself_ends),
        cmocka_unit_test(what_is_no_file_says_why),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
