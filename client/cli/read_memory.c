// SPDX-License-Identifier: MIT
#include "client/cli/read_memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"
#include "proto/trace_reader.h"

static const char variable[] = "FLOWTAP_READ_MEMORY";

/* A decimal number of bytes, or of K, M or G (powers of 1024); not 0. */
static bool is_size(const char *text, size_t *out)
{
    static const char suffixes[] = "KMG";
    size_t digits = strspn(text, "0123456789");
    unsigned shift = 0;
    if (digits == 0 || digits > 18) {
        return false;
    }
    uint64_t number = strtoull(text, NULL, 10);
    if (text[digits]) {
        const char *suffix = strchr(suffixes, text[digits]);
        if (!suffix || text[digits + 1]) {
            return false;
        }
        shift = 10 * (unsigned)(suffix - suffixes + 1);
    }
    if (number == 0 || number > (uint64_t)SIZE_MAX >> shift) {
        return false;
    }
    *out = (size_t)(number << shift);
    return true;
}

/* What it says, or the default; NULL, or what is there that is no size. */
static const char *look(size_t *bytes)
{
    const char *text = getenv(variable);
    *bytes = FT_TRACE_MEMORY_DEFAULT;
    return text && text[0] && !is_size(text, bytes) ? text : NULL;
}

size_t ft_read_memory(void)
{
    size_t bytes;
    const char *wrong = look(&bytes);
    if (wrong) {
        exit(ft_cli_fail("%s: '%s' is no size; a number with K, M or G is, such as 4G", variable, wrong));
    }
    return bytes;
}

void ft_read_memory_forgive(void)
{
    size_t bytes;
    const char *wrong = look(&bytes);
    if (wrong) {
        ft_cli_warn("%s: '%s' is no size and was ignored; a number with K, M or G is, such as 4G", variable, wrong);
        unsetenv(variable);
    }
}

const char *ft_read_memory_advice(void)
{
    static char advice[96];
    size_t twice = ft_read_memory();
    twice = twice > SIZE_MAX / 2 ? SIZE_MAX : 2 * twice;
    bool is_whole = twice >> 30 && (twice & (((size_t)1 << 30) - 1)) == 0;
    snprintf(advice, sizeof(advice), "`%s=%zu%s` in front of the command raises it", variable,
             is_whole ? twice >> 30 : (twice >> 10) + (twice % 1024 != 0), is_whole ? "G" : "K");
    return advice;
}
