// SPDX-License-Identifier: MIT
/*
 * Patterns of bytes, wherever the product takes some: paths to record, functions of libraries, --where. `*` and `?` match
 * any byte, `/` too, so that "/data/" followed by `*` is a whole tree; `[...]` is a set, with ranges, negated by a first
 * `!` or `^`. A backslash takes the next byte as it is. Never more steps than pattern times text; without libc.
 */
#ifndef FT_PROTO_GLOB_H
#define FT_PROTO_GLOB_H

#include <stddef.h>

/* Matches one byte against the set at pattern[*at] == '['; moves *at behind it. An unclosed one is a plain '['. */
static inline int ft_glob_match_set(const char *pattern, size_t n, size_t *at, char byte)
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
static inline int ft_glob_match(const char *pattern, size_t pn, const char *text, size_t n)
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
            same = ft_glob_match_set(pattern, pn, &next, text[i]);
        } else if (p + 1 < pn && pattern[p] == '\\') {
            next = p + 2;
            same = pattern[p + 1] == text[i];
        } else if (p < pn) {
            same = pattern[p] == text[i];
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

#endif
