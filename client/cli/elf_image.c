// SPDX-License-Identifier: MIT
/* An ELF file's headers, which may hold anything. */
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/cli.h"
#include "client/cli/elf.h"

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#else
#define OUR_MACHINE EM_NONE
#endif

enum { HEADERS_MAX = 128, DYNAMIC_MAX = 1024, STRINGS_MAX = 1 << 20, NOTES_MAX = 4096 };

struct image {
    int fd;
    unsigned header_count;
    Elf64_Phdr headers[HEADERS_MAX];
    size_t entry_count; /* of the dynamic section */
    Elf64_Dyn entries[DYNAMIC_MAX];
};

static bool read_all(int fd, void *to, size_t bytes, uint64_t offset)
{
    return offset <= INT64_MAX && pread(fd, to, bytes, (off_t)offset) == (ssize_t)bytes;
}

static const Elf64_Phdr *find_header(const struct image *image, uint32_t type)
{
    for (unsigned i = 0; i < image->header_count; i++) {
        if (image->headers[i].p_type == type) {
            return &image->headers[i];
        }
    }
    return NULL;
}

/* File offset of a virtual address. */
static bool offset_of(const struct image *image, uint64_t address, uint64_t *offset)
{
    for (unsigned i = 0; i < image->header_count; i++) {
        const Elf64_Phdr *header = &image->headers[i];
        if (header->p_type == PT_LOAD && address >= header->p_vaddr && address - header->p_vaddr < header->p_filesz) {
            *offset = header->p_offset + (address - header->p_vaddr);
            return true;
        }
    }
    return false;
}

static bool has_prefix_of(const char *name, const char *const *prefixes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_sanitizer(const char *name)
{
    static const char *const prefixes[] = {"libasan.so", "libclang_rt.asan"};
    return has_prefix_of(name, prefixes, sizeof(prefixes) / sizeof(prefixes[0]));
}

static bool is_glibc_loader(const char *path)
{
    static const char *const prefixes[] = {"ld-linux-x86-64.so", "ld-linux-aarch64.so", "ld-2."};
    const char *slash = strrchr(path, '/');
    return has_prefix_of(slash ? slash + 1 : path, prefixes, sizeof(prefixes) / sizeof(prefixes[0]));
}

static void read_dynamic(struct image *image)
{
    const Elf64_Phdr *dynamic = find_header(image, PT_DYNAMIC);
    uint64_t count = dynamic ? dynamic->p_filesz / sizeof(image->entries[0]) : 0;
    if (count == 0 || count > DYNAMIC_MAX ||
        !read_all(image->fd, image->entries, count * sizeof(image->entries[0]), dynamic->p_offset)) {
        return;
    }
    while (image->entry_count < count && image->entries[image->entry_count].d_tag != DT_NULL) {
        image->entry_count++;
    }
}

static uint64_t entry_value(const struct image *image, int64_t tag)
{
    for (size_t i = 0; i < image->entry_count; i++) {
        if (image->entries[i].d_tag == tag) {
            return image->entries[i].d_un.d_val;
        }
    }
    return 0;
}

/* The next string of that tag from entry *at on, which moves; false where there is none. */
static bool next_string(const struct image *image, int64_t tag, size_t *at, char *name, size_t name_bytes)
{
    uint64_t strings, bytes = entry_value(image, DT_STRSZ);
    if (bytes > STRINGS_MAX || !offset_of(image, entry_value(image, DT_STRTAB), &strings) ||
        strings > INT64_MAX - STRINGS_MAX) {
        return false;
    }
    while (*at < image->entry_count) {
        const Elf64_Dyn *entry = &image->entries[(*at)++];
        if (entry->d_tag == tag && entry->d_un.d_val < bytes) {
            memset(name, 0, name_bytes);
            if (pread(image->fd, name, name_bytes - 1, (off_t)(strings + entry->d_un.d_val)) > 0) {
                return true;
            }
        }
    }
    return false;
}

/* Whether the dynamic strings hold the name: what a program shares with its libraries is named there. */
static bool has_name(const struct image *image, const char *name)
{
    uint64_t strings, bytes = entry_value(image, DT_STRSZ);
    if (bytes == 0 || bytes > STRINGS_MAX || !offset_of(image, entry_value(image, DT_STRTAB), &strings)) {
        return false;
    }
    char *text = ft_cli_alloc(bytes);
    bool is_there = read_all(image->fd, text, bytes, strings) && memmem(text, bytes, name, strlen(name) + 1);
    free(text);
    return is_there;
}

/* A note of the Go compiler: its build id. */
static bool has_note_of_go(const struct image *image)
{
    for (unsigned i = 0; i < image->header_count; i++) {
        const Elf64_Phdr *header = &image->headers[i];
        char notes[NOTES_MAX];
        if (header->p_type == PT_NOTE && header->p_filesz >= 16 && header->p_filesz <= sizeof(notes) &&
            read_all(image->fd, notes, header->p_filesz, header->p_offset) &&
            memmem(notes, header->p_filesz, "\4\0\0\0Go\0\0", 8)) {
            return true;
        }
    }
    return false;
}

/* A program without a loader is linked statically, or it is the loader itself, which loads what it is given. */
static enum ft_elf_kind kind_without_loader(const struct image *image, const Elf64_Ehdr *head)
{
    char name[64];
    size_t at = 0;
    if (next_string(image, DT_SONAME, &at, name, sizeof(name))) {
        return is_glibc_loader(name) ? FT_ELF_DYNAMIC : FT_ELF_NOT_PROGRAM;
    }
    return head->e_entry == 0 ? FT_ELF_NOT_PROGRAM : FT_ELF_STATIC;
}

static bool needs_functions(const struct image *image)
{
    static const char library[] = "libflowtap-functions.so";
    char name[64];
    size_t at = 0;
    while (next_string(image, DT_NEEDED, &at, name, sizeof(name))) {
        if (strncmp(name, library, strlen(library)) == 0) {
            return true;
        }
    }
    return false;
}

static enum ft_elf_kind kind_of(struct image *image, const Elf64_Ehdr *head, struct ft_elf *out)
{
    const Elf64_Phdr *loader = find_header(image, PT_INTERP);
    size_t at = 0;
    read_dynamic(image);
    out->is_go = has_note_of_go(image);
    if (!loader) {
        return kind_without_loader(image, head);
    }
    if (loader->p_filesz < 2 || loader->p_filesz >= sizeof(out->loader) ||
        !read_all(image->fd, out->loader, loader->p_filesz, loader->p_offset)) {
        memset(out->loader, 0, sizeof(out->loader));
        return FT_ELF_DAMAGED;
    }
    out->is_instrumented = has_name(image, "__cyg_profile_func_enter") && !needs_functions(image);
    while (next_string(image, DT_NEEDED, &at, out->sanitizer, sizeof(out->sanitizer)) && !is_sanitizer(out->sanitizer))
        ;
    if (!is_sanitizer(out->sanitizer) || !has_name(image, "__asan_default_options")) {
        out->sanitizer[0] = '\0';
    }
    return is_glibc_loader(out->loader) ? FT_ELF_DYNAMIC : FT_ELF_OTHER_LIBC;
}

void ft_elf_read_image(int fd, struct ft_elf *out)
{
    Elf64_Ehdr head;
    memset(&head, 0, sizeof(head));
    out->kind = FT_ELF_DAMAGED;
    /* The 32-bit head is shorter; its first fields are where those of the other are. */
    if (pread(fd, &head, sizeof(head), 0) < (ssize_t)sizeof(Elf32_Ehdr)) {
        return;
    }
    out->bits = head.e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32;
    bool is_ours = out->bits == 64 && head.e_ident[EI_DATA] == ELFDATA2LSB;
    out->machine = head.e_ident[EI_DATA] == ELFDATA2LSB ? head.e_machine
                                                        : (unsigned)(head.e_machine >> 8 | (head.e_machine & 255) << 8);
    if (!is_ours || (OUR_MACHINE != EM_NONE && head.e_machine != OUR_MACHINE)) {
        out->kind = FT_ELF_FOREIGN;
        return;
    }
    if (head.e_type != ET_EXEC && head.e_type != ET_DYN) {
        out->kind = FT_ELF_NOT_PROGRAM;
        return;
    }
    struct image *image = ft_cli_alloc(sizeof(*image));
    image->fd = fd;
    image->header_count = head.e_phnum < HEADERS_MAX ? head.e_phnum : HEADERS_MAX;
    if (image->header_count > 0 && head.e_phentsize == sizeof(Elf64_Phdr) &&
        read_all(fd, image->headers, image->header_count * sizeof(Elf64_Phdr), head.e_phoff)) {
        out->kind = kind_of(image, &head, out);
    }
    free(image);
}
