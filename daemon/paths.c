// SPDX-License-Identifier: MIT
#include "daemon/paths.h"

#include <string.h>

struct output {
    char *bytes;
    size_t room, used;
    bool is_cut;
};

static void put(struct output *out, const char *bytes, size_t count)
{
    if (count > out->room - out->used) {
        count = out->room - out->used;
        out->is_cut = true;
    }
    memcpy(out->bytes + out->used, bytes, count);
    out->used += count;
}

// Components of `name`, without empty ones and `.`; a slash goes before each unless it begins a relative result.
static void put_components(struct output *out, const char *name, size_t name_bytes)
{
    for (size_t from = 0; from < name_bytes;) {
        const char *slash = memchr(name + from, '/', name_bytes - from);
        size_t bytes = slash ? (size_t)(slash - (name + from)) : name_bytes - from;
        bool is_nothing = bytes == 0 || (bytes == 1 && name[from] == '.');
        if (!is_nothing) {
            if (out->used && out->bytes[out->used - 1] != '/')
                put(out, "/", 1);
            put(out, name + from, bytes);
        }
        from += bytes + (slash != NULL);
    }
}

size_t ft_paths_join(char *bytes, size_t room, const char *base, size_t base_bytes, const char *name, size_t name_bytes,
                     bool *is_cut)
{
    struct output out = {.bytes = bytes, .room = room};
    bool is_absolute = name_bytes && name[0] == '/';
    if (is_absolute || (base_bytes && base[0] == '/'))
        put(&out, "/", 1);
    if (!is_absolute)
        put_components(&out, base, base_bytes);
    put_components(&out, name, name_bytes);
    if (!out.used && name_bytes)
        put(&out, name, name_bytes < 1 ? name_bytes : 1);
    if (out.is_cut)
        *is_cut = true;
    return out.used;
}
