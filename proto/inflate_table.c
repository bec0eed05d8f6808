// SPDX-License-Identifier: MIT
#include "proto/inflate_table.h"

#include <string.h>

// RFC 1951, 3.2.5: the least length or distance of each symbol, and its extra bits.
static const uint16_t length_base[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                       31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
static const uint8_t length_extra[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                       2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
static const uint16_t distance_base[] = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                         33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                         1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
static const uint8_t distance_extra[] = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                         6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint32_t odd(unsigned value)
{
    return FT_INFLATE_ODD | (uint32_t)value << 16;
}

static uint32_t with_extra(unsigned base, unsigned extra, unsigned length)
{
    return (uint32_t)base << 16 | (uint32_t)length << 8 | (length + extra);
}

static uint32_t entry_of(enum ft_inflate_kind kind, unsigned symbol, unsigned length)
{
    if (kind == FT_INFLATE_OF_LENGTHS)
        return with_extra(symbol, 0, length);
    if (kind == FT_INFLATE_OF_DISTANCES)
        return symbol < COUNT(distance_base) ? with_extra(distance_base[symbol], distance_extra[symbol], length)
                                             : odd(FT_INFLATE_NONE) | length;
    if (symbol < 256)
        return (uint32_t)symbol << 16 | FT_INFLATE_LITERAL | length;
    if (symbol == 256)
        return odd(FT_INFLATE_END) | length;
    symbol -= 257;
    return symbol < COUNT(length_base) ? with_extra(length_base[symbol], length_extra[symbol], length)
                                       : odd(FT_INFLATE_NONE) | length;
}

// The code after `code` of so many bits: deflate's codes count up from their first
// bit, which is the lowest here. 0 after the last one.
static unsigned next_code(unsigned code, unsigned length)
{
    unsigned zeros = ~code & ((1U << length) - 1), bit;

    if (!zeros)
        return 0;
    bit = 1U << (31 - __builtin_clz(zeros));
    return (code & (bit - 1)) | bit;
}

// How many bits a table below needs that begins with a code of `length` bits.
static unsigned bits_below(const uint16_t *count, unsigned length, unsigned longest, unsigned above)
{
    unsigned bits = length - above;
    int left = 1 << bits;

    while (bits + above < longest) {
        left -= count[bits + above];
        if (left <= 0)
            break;
        bits++;
        left <<= 1;
    }
    return bits;
}

// Codes that are too long for the table itself, of symbols in order from `sorted`
// on. `code` is the first one's.
static void fill_below(enum ft_inflate_kind kind, const uint16_t *sorted, const uint8_t *lengths, uint16_t *count,
                       unsigned longest, unsigned bits, unsigned code, uint32_t *table)
{
    unsigned mask = (1U << bits) - 1, above = UINT32_MAX, below = 0;
    size_t at = 0, next = (size_t)1 << bits;

    for (unsigned length = bits + 1; length <= longest; length++) {
        for (; count[length]; count[length]--) {
            unsigned symbol = *sorted++;

            if ((code & mask) != above) {
                above = code & mask;
                at = next;
                below = bits_below(count, length, longest, bits);
                next += (size_t)1 << below;
                table[above] = FT_INFLATE_ODD | FT_INFLATE_BELOW | (uint32_t)below << 8 | (uint32_t)at << 16;
            }
            for (unsigned i = code >> bits; i < 1U << below; i += 1U << (length - bits))
                table[at + i] = entry_of(kind, symbol, lengths[symbol]);
            code = next_code(code, length);
        }
    }
}

static const unsigned table_bits[] = {[FT_INFLATE_OF_LITERALS] = FT_INFLATE_LITERAL_BITS,
                                      [FT_INFLATE_OF_DISTANCES] = FT_INFLATE_DISTANCE_BITS,
                                      [FT_INFLATE_OF_LENGTHS] = FT_INFLATE_LENGTH_BITS};

bool ft_inflate_table(enum ft_inflate_kind kind, const uint8_t *lengths, size_t symbols, uint32_t *table)
{
    const unsigned bits = table_bits[kind];
    uint16_t count[FT_INFLATE_CODE_MAX + 1] = {0}, first[FT_INFLATE_CODE_MAX + 2] = {0};
    uint16_t sorted[FT_INFLATE_LITERALS];
    const uint16_t *next;
    unsigned longest = FT_INFLATE_CODE_MAX, code = 0;
    int left = 1;

    for (size_t i = 0; i < symbols; i++)
        count[lengths[i]]++;
    while (longest && !count[longest])
        longest--;
    for (unsigned length = 1; length <= FT_INFLATE_CODE_MAX; length++) {
        left = 2 * left - count[length];
        if (left < 0)
            return false;
    }
    for (unsigned length = 0; length <= FT_INFLATE_CODE_MAX; length++)
        first[length + 1] = (uint16_t)(first[length] + count[length]);
    if (left > 0 && (kind == FT_INFLATE_OF_LENGTHS || longest > 1))
        return false;
    for (size_t i = 0; i < symbols; i++)
        sorted[first[lengths[i]]++] = (uint16_t)i;
    next = sorted + count[0];
    // A table of one bit, twice as large with each bit more: what it has by then is
    // the same whatever the next bit.
    table[0] = table[1] = odd(FT_INFLATE_NONE);
    for (unsigned length = 1; length <= bits; length++) {
        if (length > 1)
            memcpy(table + (1U << (length - 1)), table, sizeof(*table) << (length - 1));
        for (; count[length]; count[length]--) {
            table[code] = entry_of(kind, *next++, length);
            code = next_code(code, length);
        }
    }
    fill_below(kind, next, lengths, count, longest, bits, code, table);
    return true;
}
