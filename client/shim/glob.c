// SPDX-License-Identifier: MIT
#include "client/shim/glob.h"

#include <errno.h>

#include "client/shim/shim.h"

void ft_globs_add(struct ft_globs *globs, const char *bytes, size_t n)
{
    if (n == 0)
        return;
    if (ft_setting_use_of_glob(n, globs->count) == FT_SETTING_IGNORED) {
        ft_process.settings_ignored++;
        return;
    }
    globs->entries[globs->count].bytes = bytes;
    globs->entries[globs->count++].n = (unsigned)n;
}

/* How many bytes from `at`, which is a slash, name nothing: a slash, or one with a dot; 0: it begins a name. */
static size_t nothing_at(const char *path, size_t n, size_t at)
{
    size_t next = at + 1;
    if (next == n || path[next] == '/')
        return 1;
    return path[next] == '.' && (next + 1 == n || path[next + 1] == '/') ? 2 : 0;
}

size_t ft_glob_squeeze(char *path, size_t n)
{
    size_t to = 0;
    for (size_t from = 0; from < n;) {
        size_t nothing = path[from] == '/' ? nothing_at(path, n, from) : 0;
        if (nothing == 0)
            path[to++] = path[from++];
        else
            from += nothing;
    }
    return to == 0 && n > 0 ? 1 : to; /* the root */
}

int ft_glob_is_squeezed(const char *path, size_t n)
{
    for (size_t at = 0; at < n; at++)
        if (path[at] == '/' && nothing_at(path, n, at) != 0)
            return n == 1;
    return 1;
}

/* Room that patterns from the environment are copied to, a page at a time. */
static char *room;
static size_t room_bytes;

/* At least n bytes of it; 0 where there are none. */
static int make_room(size_t n)
{
    if (n <= room_bytes)
        return 1;
    room = n <= FT_PAGE_BYTES ? ft_arena_page() : NULL;
    room_bytes = room != NULL ? FT_PAGE_BYTES : 0;
    return room != NULL;
}

/*
 * Puts the working directory and a slash into the room, where n more bytes fit behind them; how many bytes that is, or
 * 0: it has no path, or one that leaves a pattern no place.
 */
static size_t put_cwd(size_t n)
{
    long got = -ERANGE;
    if (n < room_bytes)
        got = ft_sys(SYS_getcwd, room, room_bytes - n);
    if (got == -ERANGE && room_bytes < FT_PAGE_BYTES && make_room(FT_PAGE_BYTES))
        got = ft_sys(SYS_getcwd, room, room_bytes - n);
    if (got <= 1 || room[0] != '/')
        return 0;
    size_t base = got == 2 ? 1 : (size_t)got; /* the root ends with its slash */
    room[base - 1] = '/';
    return base;
}

/* One from the environment. What cannot be matched as it is meant is ignored and counted. */
static void add_one(struct ft_globs *globs, const char *pattern, size_t n)
{
    if (n == 0)
        return;
    int is_relative = ft_setting_glob_is_relative(pattern);
    size_t base = is_relative && n < FT_PAGE_BYTES ? put_cwd(n) : 0;
    if ((is_relative && base == 0) || ft_setting_use_of_glob(base + n, globs->count) == FT_SETTING_IGNORED ||
        !make_room(base + n)) {
        ft_process.settings_ignored++;
        return;
    }
    ft_copy(room + base, pattern, n);
    ft_globs_add(globs, room, ft_glob_squeeze(room, base + n));
    room += base + n;
    room_bytes -= base + n;
}

void ft_globs_add_list(struct ft_globs *globs, const char *list)
{
    const char *end = list != NULL ? list + ft_length(list) : NULL, *pattern;
    size_t n;
    while (ft_setting_next(&list, end, ':', &pattern, &n))
        add_one(globs, pattern, n);
}

int ft_globs_match(const struct ft_globs *globs, const char *path, size_t n)
{
    for (unsigned i = 0; i < globs->count; i++)
        if (ft_glob_match(globs->entries[i].bytes, globs->entries[i].n, path, n))
            return 1;
    return 0;
}
