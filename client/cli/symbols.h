// SPDX-License-Identifier: MIT
/* Functions of an ELF file by their addresses. A file may hold anything, and be anything but what a trace says it was. */
#ifndef FT_CLI_SYMBOLS_H
#define FT_CLI_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ft_symbol {
    uint64_t address, bytes;
    uint32_t name; /* offset in `names` */
};

struct ft_symbols {
    struct ft_symbol *items; /* by address */
    size_t count;
    char *names;
    size_t names_bytes;
};

/* False where there is no such regular file, it has another build-id (in hexadecimal digits), or no symbols. */
bool ft_symbols_read(struct ft_symbols *symbols, const char *path, const char *build_id);
/* What other objects can call, of whatever build-id; or all that it defines, where the file still says that. */
bool ft_symbols_read_exported(struct ft_symbols *symbols, const char *path);
bool ft_symbols_read_defined(struct ft_symbols *symbols, const char *path);
void ft_symbols_fini(struct ft_symbols *symbols);
/* The function that the address, as the file counts, lies in; NULL: none. */
const char *ft_symbols_find(const struct ft_symbols *symbols, uint64_t address);

#endif
