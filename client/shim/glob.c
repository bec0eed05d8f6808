// SPDX-License-Identifier: MIT
#include "client/shim/glob.h"

#include "client/shim/shim.h"

void ft_globs_add(struct ft_globs *globs, const char *bytes, size_t n)
{
    if (n == 0 || n >= FT_PAGE_BYTES || globs->count == FT_GLOBS_MAX) {
        if (n != 0)
            ft_process.settings_ignored++;
        return;
    }
    globs->entries[globs->count].bytes = bytes;
    globs->entries[globs->count++].n = (unsigned)n;
}

/* Room that patterns from the environment are copied to, a page at a time. */
static char *room;
static size_t room_bytes;

static char *keep(size_t n)
{
    if (n > room_bytes) {
        room = n <= FT_PAGE_BYTES ? ft_arena_page() : NULL;
        room_bytes = room != NULL ? FT_PAGE_BYTES : 0;
    }
    if (n > room_bytes)
        return NULL;
    char *kept = room;
    room += n;
    room_bytes -= n;
    return kept;
}

static void add_one(struct ft_globs *globs, const char *pattern, size_t n)
{
    char cwd[256];
    size_t base = 0;
    if (n == 0)
        return;
    if (pattern[0] != '/') {
        long got = pattern[0] == '*' ? 0 : ft_sys(SYS_getcwd, cwd, sizeof(cwd));
        if (got < 0)
            got = 0;
        base = got > 1 && cwd[0] == '/' ? (size_t)got : 0; /* with its end, which becomes the slash */
    }
    char *kept = keep(base + n);
    if (kept == NULL) {
        ft_process.settings_ignored++;
        return;
    }
    ft_copy(kept, cwd, base);
    if (base > 0)
        kept[base - 1] = '/';
    ft_copy(kept + base, pattern, n);
    ft_globs_add(globs, kept, base + n);
}

void ft_globs_add_list(struct ft_globs *globs, const char *list)
{
    while (list != NULL && *list != 0) {
        size_t n = 0;
        while (list[n] != 0 && list[n] != ':')
            n++;
        add_one(globs, list, n);
        list += list[n] != 0 ? n + 1 : n;
    }
}

/* Matches one byte against the set at pattern[*at] == '['; moves *at behind it. An unclosed one is a plain '['. */
static int match_set(const char *pattern, size_t n, size_t *at, char byte)
{
    size_t i = *at + 1;
    int negated = i < n && (pattern[i] == '!' || pattern[i] == '^');
    if (negated)
        i++;
    size_t first = i;
    int found = 0;
    for (; i < n && (pattern[i] != ']' || i == first); i++) {
        char low = pattern[i], high = low;
        if (i + 2 < n && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
            high = pattern[i + 2];
            i += 2;
        }
        if ((unsigned char)low <= (unsigned char)byte && (unsigned char)byte <= (unsigned char)high)
            found = 1;
    }
    if (i >= n) {
        *at += 1;
        return byte == '[';
    }
    *at = i + 1;
    return found != negated;
}

/* The usual two-pointer match: a later star makes an earlier one's choice final, so it never backtracks twice. */
static int match(const char *pattern, size_t pn, const char *path, size_t n)
{
    size_t p = 0, i = 0, star = pn, retry = 0;
    while (i < n) {
        size_t next = p + 1;
        int same = 0;
        if (p < pn && pattern[p] == '*') {
            star = p++;
            retry = i;
            continue;
        }
        if (p < pn && pattern[p] == '?') {
            same = 1;
        } else if (p < pn && pattern[p] == '[') {
            next = p;
            same = match_set(pattern, pn, &next, path[i]);
        } else if (p + 1 < pn && pattern[p] == '\\') {
            next = p + 2;
            same = pattern[p + 1] == path[i];
        } else if (p < pn) {
            same = pattern[p] == path[i];
        }
        if (same) {
            p = next;
            i++;
        } else if (star < pn) {
            p = star + 1;
            i = ++retry;
        } else {
            return 0;
        }
    }
    while (p < pn && pattern[p] == '*')
        p++;
    return p == pn;
}

int ft_globs_match(const struct ft_globs *globs, const char *path, size_t n)
{
    for (unsigned i = 0; i < globs->count; i++)
        if (match(globs->entries[i].bytes, globs->entries[i].n, path, n))
            return 1;
    return 0;
}
