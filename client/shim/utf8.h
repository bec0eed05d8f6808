// SPDX-License-Identifier: MIT
/* How many bytes wide characters are in a file: those of UTF-8, whatever the locale. */
#ifndef FT_SHIM_UTF8_H
#define FT_SHIM_UTF8_H

#include <stdint.h>
#include <wchar.h>

/* 0 for WEOF. */
static inline uint64_t ft_utf8_bytes(wint_t c)
{
    if (c == WEOF)
        return 0;
    return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
}

/* Of a string; 0 for NULL. */
static inline uint64_t ft_utf8_length(const wchar_t *text)
{
    uint64_t bytes = 0;
    for (; text != NULL && *text != 0; text++)
        bytes += ft_utf8_bytes((wint_t)*text);
    return bytes;
}

#endif
