// SPDX-License-Identifier: MIT
/* Fields, numbers with units, and patterns. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/trace/filter_impl.h"
#include "proto/glob.h"

#define IS_TEXT false
#define IS_NUMBER true
#define FIELD(id, name, type, place, unit, columns) {name, IS_##type, FT_PLACE_##place, FT_UNIT_##unit, columns},
const struct ft_filter_field ft_filter_fields[FT_FIELD_COUNT] = {FT_FILTER_FIELDS(FIELD)};
#undef FIELD

enum { DIGITS_MAX = 19, ERRNO_LAST = 4095 };

static const struct {
    const char *name;
    enum ft_filter_unit unit; /* NS stands for times, BYTES for sizes */
    int64_t factor;
} units[] = {
    {"ns", FT_UNIT_NS, 1},
    {"us", FT_UNIT_NS, 1000},
    {"µs", FT_UNIT_NS, 1000},
    {"ms", FT_UNIT_NS, 1000000},
    {"s", FT_UNIT_NS, 1000000000},
    {"min", FT_UNIT_NS, 60 * INT64_C(1000000000)},
    {"h", FT_UNIT_NS, 3600 * INT64_C(1000000000)},
    {"B", FT_UNIT_BYTES, 1},
    {"k", FT_UNIT_BYTES, 1000},
    {"M", FT_UNIT_BYTES, 1000000},
    {"G", FT_UNIT_BYTES, 1000000000},
    {"T", FT_UNIT_BYTES, INT64_C(1000000000000)},
    {"KiB", FT_UNIT_BYTES, 1 << 10},
    {"MiB", FT_UNIT_BYTES, 1 << 20},
    {"GiB", FT_UNIT_BYTES, 1 << 30},
    {"TiB", FT_UNIT_BYTES, INT64_C(1) << 40},
};

unsigned ft_filter_field_find(const char *name, size_t count)
{
    unsigned field = 0;
    while (field < FT_FIELD_COUNT &&
           (strlen(ft_filter_fields[field].name) != count || memcmp(ft_filter_fields[field].name, name, count) != 0)) {
        field++;
    }
    return field;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

struct decimal {
    bool is_negative;
    __int128 digits; /* the value times 10^decimals */
    unsigned decimals;
};

/* How many bytes the number takes, 0 where there is none or it is too long. */
static size_t read_decimal(const char *word, size_t count, struct decimal *out)
{
    size_t at = 0, digits = 0;
    bool has_point = false;
    *out = (struct decimal){0};
    if (count > 0 && (word[0] == '-' || word[0] == '+')) {
        out->is_negative = word[at++] == '-';
    }
    for (; at < count && (is_digit(word[at]) || (word[at] == '.' && !has_point)); at++) {
        if (word[at] == '.') {
            has_point = true;
            continue;
        }
        if (++digits > DIGITS_MAX) {
            return 0;
        }
        out->digits = out->digits * 10 + (word[at] - '0');
        out->decimals += has_point;
    }
    return digits ? at : 0;
}

/* The decimal times `factor`; false where that is no whole number, or too large a one. */
static bool scale(const struct decimal *decimal, int64_t factor, int64_t *out)
{
    __int128 value = decimal->digits * factor;
    for (unsigned i = 0; i < decimal->decimals; i++) {
        if (value % 10 != 0) {
            return false;
        }
        value /= 10;
    }
    value = decimal->is_negative ? -value : value;
    *out = (int64_t)value;
    return *out == value;
}

static int find_errno(const char *word, size_t count, int64_t *out)
{
    for (int error = 1; error <= ERRNO_LAST; error++) {
        const char *name = strerrorname_np(error);
        if (name && strlen(name) == count && memcmp(name, word, count) == 0) {
            *out = error;
            return 0;
        }
    }
    return -EINVAL;
}

/* What a unit's name stands for among units of its kind; 0: it is none of them. */
static int64_t factor_of(const char *name, size_t count, enum ft_filter_unit kind)
{
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (units[i].unit == kind && strlen(units[i].name) == count && memcmp(units[i].name, name, count) == 0) {
            return units[i].factor;
        }
    }
    return 0;
}

static int wrong(char *text, size_t text_bytes, const char *what, const char *word, size_t count)
{
    snprintf(text, text_bytes, "%s '%.*s'", what, (int)(count < 40 ? count : 40), word);
    return -EINVAL;
}

int ft_filter_number(const char *word, size_t count, enum ft_filter_unit unit, int64_t *out, char *text,
                     size_t text_bytes)
{
    enum ft_filter_unit kind = unit == FT_UNIT_SECONDS ? FT_UNIT_NS : unit;
    int64_t factor = unit == FT_UNIT_SECONDS ? 1000000000 : 1;
    struct decimal decimal;
    if (unit == FT_UNIT_ERRNO && find_errno(word, count, out) == 0) {
        return 0;
    }
    size_t used = read_decimal(word, count, &decimal);
    if (used == 0) {
        return wrong(text, text_bytes, "a number was expected, not", word, count);
    }
    if (used < count) {
        factor = factor_of(word + used, count - used, kind);
    }
    if (factor == 0) {
        const char *what = kind == FT_UNIT_NS      ? "a time has a unit of ns us ms s min h, not"
                           : kind == FT_UNIT_BYTES ? "a size has a unit of B k M G T KiB MiB GiB TiB, not"
                                                   : "this number has no unit, such as";
        return wrong(text, text_bytes, what, word + used, count - used);
    }
    return scale(&decimal, factor, out) ? 0 : wrong(text, text_bytes, "not a whole number here:", word, count);
}

bool ft_filter_time(const char *text, int64_t *ns, char *error, size_t error_bytes)
{
    return ft_filter_number(text, strlen(text), FT_UNIT_SECONDS, ns, error, error_bytes) == 0;
}

bool ft_filter_is_number(const char *word, size_t count, int64_t *billionths)
{
    struct decimal decimal;
    size_t used = read_decimal(word, count, &decimal);
    return used > 0 && used == count && scale(&decimal, 1000000000, billionths);
}

bool ft_filter_glob(const char *pattern, size_t pattern_count, const char *text, size_t text_count)
{
    return ft_glob_match(pattern, pattern_count, text, text_count);
}

char *ft_filter_quote(const char *bytes, size_t count)
{
    static const char digits[] = "0123456789abcdef";
    char *quoted = malloc(4 * count + 3), *at = quoted;
    if (!quoted) {
        return NULL;
    }
    *at++ = '"';
    for (size_t i = 0; i < count; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        if (byte == '"' || byte == '\\') {
            *at++ = '\\';
            *at++ = (char)byte;
        } else if (byte < 0x20 || byte == 0x7f) {
            *at++ = '\\';
            *at++ = 'x';
            *at++ = digits[byte >> 4];
            *at++ = digits[byte & 15];
        } else {
            *at++ = (char)byte;
        }
    }
    *at++ = '"';
    *at = '\0';
    return quoted;
}
