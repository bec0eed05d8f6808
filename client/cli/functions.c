// SPDX-License-Identifier: MIT
#include "client/cli/functions.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"
#include "client/cli/map.h"
#include "client/cli/symbols.h"

enum { OBJECTS_MAX = 256, BUILD_ID_DIGITS = 128 };

/* A file with the build-id that a trace names. */
struct object {
    struct ft_symbols symbols; /* none where it cannot be read */
};

/* All that was asked for, until the end of the program. */
static struct {
    struct ft_map index, renamed; /* path and build-id -> object; name -> text */
    struct object objects[OBJECTS_MAX];
    size_t object_count;
    char **texts;
    size_t text_count, text_space;
    char *(*demangle)(const char *name, char *room, size_t *bytes, int *status);
    bool has_looked;
} known;

struct parts {
    const char *path, *build_id; /* build_id NULL: none */
    size_t path_bytes, build_id_bytes;
    uint64_t address;
};

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* Digits before `end`, which begin with 0x. */
static bool read_address(const char *text, size_t end, size_t *begin, uint64_t *address)
{
    size_t at = end;
    *address = 0;
    while (at > 0 && is_hex(text[at - 1]) && end - at < 16) {
        at--;
    }
    for (size_t i = at; i < end; i++) {
        unsigned digit = text[i] <= '9' ? (unsigned)(text[i] - '0') : (unsigned)(text[i] - 'a' + 10);
        *address = *address << 4 | digit;
    }
    *begin = at >= 3 && at < end && memcmp(text + at - 3, "+0x", 3) == 0 ? at - 3 : 0;
    return *begin > 0;
}

static bool parse(struct ft_bytes name, struct parts *out)
{
    static const char begin[] = "function ", none[] = " (no build-id)", some[] = " (build-id ";
    size_t begin_bytes = sizeof(begin) - 1, none_bytes = sizeof(none) - 1, some_bytes = sizeof(some) - 1, end;
    memset(out, 0, sizeof(*out));
    if (name.len < begin_bytes || memcmp(name.data, begin, begin_bytes) != 0) {
        return false;
    }
    name.data += begin_bytes;
    name.len -= begin_bytes;
    if (name.len > none_bytes && memcmp(name.data + name.len - none_bytes, none, none_bytes) == 0) {
        end = name.len - none_bytes;
    } else if (name.len > some_bytes && name.data[name.len - 1] == ')') {
        size_t at = name.len - 1;
        while (at > some_bytes && is_hex(name.data[at - 1])) {
            at--;
        }
        out->build_id = name.data + at;
        out->build_id_bytes = name.len - 1 - at;
        if (out->build_id_bytes == 0 || out->build_id_bytes > BUILD_ID_DIGITS || at < some_bytes ||
            memcmp(name.data + at - some_bytes, some, some_bytes) != 0) {
            return false;
        }
        end = at - some_bytes;
    } else {
        return false;
    }
    out->path = name.data;
    return read_address(name.data, end, &out->path_bytes, &out->address);
}

static const struct object *object_of(const struct parts *parts)
{
    char *key =
        ft_cli_format("%.*s\n%.*s", (int)parts->path_bytes, parts->path, (int)parts->build_id_bytes, parts->build_id);
    char *path = ft_cli_format("%.*s", (int)parts->path_bytes, parts->path);
    char *build_id = ft_cli_format("%.*s", (int)parts->build_id_bytes, parts->build_id);
    bool is_new = false;
    uint32_t at = 0, found;
    if (ft_map_find(&known.index, key, strlen(key), &found)) {
        at = found;
    } else if (known.object_count < OBJECTS_MAX) {
        at = ft_map_intern(&known.index, key, strlen(key), (uint32_t)known.object_count++, &is_new);
        ft_symbols_read(&known.objects[at].symbols, path, build_id);
    } else {
        at = OBJECTS_MAX;
    }
    free(key);
    free(path);
    free(build_id);
    return at < OBJECTS_MAX ? &known.objects[at] : NULL;
}

/* As in the source. A new string; NULL where it is no C++ symbol, or the C++ library is not here. */
static char *demangled(const char *symbol)
{
    if (!known.has_looked) {
        void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
        known.has_looked = true;
        known.demangle = library ? (__typeof__(known.demangle))dlsym(library, "__cxa_demangle") : NULL;
    }
    int status = -1;
    return known.demangle && strncmp(symbol, "_Z", 2) == 0 ? known.demangle(symbol, NULL, NULL, &status) : NULL;
}

static char *text_of(const struct parts *parts)
{
    const struct object *object = parts->build_id && parts->path[0] == '/' ? object_of(parts) : NULL;
    const char *symbol = object ? ft_symbols_find(&object->symbols, parts->address) : NULL;
    if (symbol) {
        char *source = demangled(symbol);
        return source ? source : ft_cli_strdup(symbol);
    }
    const char *file = parts->path;
    for (size_t i = 0; i < parts->path_bytes; i++) {
        file = parts->path[i] == '/' ? parts->path + i + 1 : file;
    }
    return ft_cli_format("%.*s+0x%llx", (int)(parts->path + parts->path_bytes - file), file,
                         (unsigned long long)parts->address);
}

struct ft_bytes ft_functions_rename(void *context, struct ft_bytes name)
{
    struct parts parts;
    uint32_t at;
    (void)context;
    if (!parse(name, &parts)) {
        return name;
    }
    if (!ft_map_find(&known.renamed, name.data, name.len, &at)) {
        if (known.text_count == known.text_space) {
            known.text_space = known.text_space ? known.text_space * 2 : 64;
            known.texts = ft_cli_realloc(known.texts, known.text_space, sizeof(*known.texts));
        }
        at = (uint32_t)known.text_count++;
        known.texts[at] = text_of(&parts);
        ft_map_intern(&known.renamed, name.data, name.len, at, NULL);
    }
    return FT_BYTES(known.texts[at]);
}
