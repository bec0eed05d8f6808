// SPDX-License-Identifier: MIT
#include "client/cli/symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/cli/cli.h"

enum {
    HEADERS_MAX = 128,
    SECTIONS_MAX = 65535,
    NOTES_MAX = 65536,
    TABLE_MAX = 128 << 20,
};

/* `bytes` from `offset` on in new memory with a NUL behind them; NULL where the file does not have them. */
static void *read_part(int fd, uint64_t offset, uint64_t bytes, uint64_t most)
{
    if (bytes == 0 || bytes > most || offset > INT64_MAX - most) {
        return NULL;
    }
    char *part = ft_cli_alloc(bytes + 1);
    for (uint64_t got = 0; got < bytes;) {
        ssize_t n = pread(fd, part + got, bytes - got, (off_t)(offset + got));
        if (n <= 0) {
            free(part);
            return NULL;
        }
        got += (uint64_t)n;
    }
    return part;
}

static bool is_id(const unsigned char *id, size_t bytes, const char *hex)
{
    static const char digits[] = "0123456789abcdef";
    if (strlen(hex) != bytes * 2) {
        return false;
    }
    for (size_t i = 0; i < bytes; i++) {
        if (hex[2 * i] != digits[id[i] >> 4] || hex[2 * i + 1] != digits[id[i] & 15]) {
            return false;
        }
    }
    return true;
}

static bool notes_have(const unsigned char *notes, size_t bytes, const char *build_id)
{
    for (size_t at = 0; bytes - at >= sizeof(Elf64_Nhdr);) {
        Elf64_Nhdr note;
        memcpy(&note, notes + at, sizeof(note));
        size_t left = bytes - at - sizeof(note), name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
        size_t desc = ((size_t)note.n_descsz + 3) & ~(size_t)3;
        if (name > left || desc > left - name) {
            return false;
        }
        const unsigned char *text = notes + at + sizeof(note);
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(text, "GNU", 4) == 0) {
            return is_id(text + name, note.n_descsz, build_id);
        }
        at += sizeof(note) + name + desc;
    }
    return false;
}

static bool has_build_id(int fd, const Elf64_Ehdr *head, const char *build_id)
{
    bool has = false;
    if (head->e_phentsize != sizeof(Elf64_Phdr) || head->e_phnum > HEADERS_MAX) {
        return false;
    }
    Elf64_Phdr *headers =
        read_part(fd, head->e_phoff, head->e_phnum * sizeof(*headers), HEADERS_MAX * sizeof(*headers));
    for (unsigned i = 0; headers && i < head->e_phnum && !has; i++) {
        unsigned char *notes =
            headers[i].p_type == PT_NOTE ? read_part(fd, headers[i].p_offset, headers[i].p_filesz, NOTES_MAX) : NULL;
        has = notes && notes_have(notes, headers[i].p_filesz, build_id);
        free(notes);
    }
    free(headers);
    return has;
}

static int by_address(const void *a_untyped, const void *b_untyped)
{
    const struct ft_symbol *a = a_untyped, *b = b_untyped;
    if (a->address != b->address) {
        return a->address < b->address ? -1 : 1;
    }
    return a->name < b->name ? -1 : a->name > b->name;
}

/* Functions of a table that are defined in the file. */
static void keep(struct ft_symbols *symbols, const Elf64_Sym *table, size_t count)
{
    symbols->items = ft_cli_alloc((count + 1) * sizeof(*symbols->items));
    for (size_t i = 0; i < count; i++) {
        const Elf64_Sym *symbol = &table[i];
        unsigned type = ELF64_ST_TYPE(symbol->st_info);
        if ((type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF &&
            symbol->st_name < symbols->names_bytes && symbols->names[symbol->st_name] != 0) {
            symbols->items[symbols->count++] =
                (struct ft_symbol){.address = symbol->st_value, .bytes = symbol->st_size, .name = symbol->st_name};
        }
    }
    if (symbols->count > 1) {
        qsort(symbols->items, symbols->count, sizeof(*symbols->items), by_address);
    }
}

static bool read_table(struct ft_symbols *symbols, int fd, const Elf64_Shdr *sections, size_t count, uint32_t type)
{
    for (size_t i = 0; i < count; i++) {
        const Elf64_Shdr *section = &sections[i];
        if (section->sh_type != type || section->sh_entsize != sizeof(Elf64_Sym) || section->sh_link >= count) {
            continue;
        }
        const Elf64_Shdr *strings = &sections[section->sh_link];
        Elf64_Sym *table = read_part(fd, section->sh_offset, section->sh_size, TABLE_MAX);
        symbols->names = read_part(fd, strings->sh_offset, strings->sh_size, TABLE_MAX);
        symbols->names_bytes = strings->sh_size;
        if (table && symbols->names) {
            keep(symbols, table, section->sh_size / sizeof(*table));
        }
        free(table);
        if (symbols->count > 0) {
            return true;
        }
        ft_symbols_fini(symbols);
    }
    return false;
}

/* `build_id` NULL: whichever. `first`: which table is preferred, SHT_SYMTAB or SHT_DYNSYM. */
static bool read_image(struct ft_symbols *symbols, int fd, const char *build_id, uint32_t first)
{
    Elf64_Ehdr head;
    if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB ||
        head.e_shentsize != sizeof(Elf64_Shdr) || (build_id && !has_build_id(fd, &head, build_id))) {
        return false;
    }
    Elf64_Shdr *sections =
        read_part(fd, head.e_shoff, head.e_shnum * sizeof(*sections), SECTIONS_MAX * sizeof(*sections));
    bool is_read = sections && (read_table(symbols, fd, sections, head.e_shnum, first) ||
                                read_table(symbols, fd, sections, head.e_shnum, SHT_DYNSYM));
    free(sections);
    return is_read;
}

static bool read_file(struct ft_symbols *symbols, const char *path, const char *build_id, uint32_t first)
{
    struct stat file;
    memset(symbols, 0, sizeof(*symbols));
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool is_read =
        fd >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && read_image(symbols, fd, build_id, first);
    if (fd >= 0) {
        close(fd);
    }
    return is_read;
}

bool ft_symbols_read(struct ft_symbols *symbols, const char *path, const char *build_id)
{
    return read_file(symbols, path, build_id, SHT_SYMTAB);
}

bool ft_symbols_read_exported(struct ft_symbols *symbols, const char *path)
{
    return read_file(symbols, path, NULL, SHT_DYNSYM);
}

bool ft_symbols_read_defined(struct ft_symbols *symbols, const char *path)
{
    return read_file(symbols, path, NULL, SHT_SYMTAB);
}

void ft_symbols_fini(struct ft_symbols *symbols)
{
    free(symbols->items);
    free(symbols->names);
    memset(symbols, 0, sizeof(*symbols));
}

const char *ft_symbols_find(const struct ft_symbols *symbols, uint64_t address)
{
    size_t low = 0, high = symbols->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (symbols->items[middle].address <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    while (low > 1 && symbols->items[low - 2].address == symbols->items[low - 1].address) {
        low--; /* of several names the first */
    }
    const struct ft_symbol *symbol = low > 0 ? &symbols->items[low - 1] : NULL;
    bool is_in = symbol && (symbol->address == address || address - symbol->address < symbol->bytes);
    return is_in ? symbols->names + symbol->name : NULL;
}
