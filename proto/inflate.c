// SPDX-License-Identifier: MIT
#include "proto/inflate.h"
#include "proto/inflate_lane.h"

#include <errno.h>
#include <stdlib.h>

struct ft_inflater {
    struct ft_inflate_lane lanes[FT_INFLATE_STREAMS];
};

struct ft_inflater *ft_inflater_create(void)
{
    return malloc(sizeof(struct ft_inflater));
}

void ft_inflater_destroy(struct ft_inflater *inflater)
{
    free(inflater);
}

// 56 bits at least.
static void refill(struct ft_inflate_lane *lane)
{
    for (; lane->count <= 56; lane->count += 8) {
        if (lane->in < lane->in_end)
            lane->bits |= (uint64_t)*lane->in++ << lane->count;
        else
            lane->past++;
    }
}

static unsigned take(struct ft_inflate_lane *lane, unsigned count)
{
    unsigned bits = (unsigned)(lane->bits & ((UINT64_C(1) << count) - 1));

    lane->bits >>= count;
    lane->count -= count;
    return bits;
}

// Whether bits were taken that the stream does not have.
static bool is_past(const struct ft_inflate_lane *lane)
{
    return lane->past * 8 > lane->count;
}

// RFC 1951, 3.2.7: in which order the lengths of the lengths' codes come.
static const uint8_t length_order[FT_INFLATE_LENGTHS] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                         11, 4,  12, 3, 13, 2, 14, 1, 15};

// Lengths of the codes of literals and distances, as runs.
static bool read_lengths(struct ft_inflate_lane *lane, uint8_t *lengths, unsigned total, const uint32_t *table)
{
    unsigned done = 0;

    while (done < total) {
        uint32_t entry;
        unsigned symbol, repeat = 1;
        uint8_t length = 0;

        refill(lane);
        entry = table[lane->bits & ((1U << FT_INFLATE_LENGTH_BITS) - 1)];
        if (entry & FT_INFLATE_ODD)
            return false;
        take(lane, FT_INFLATE_BITS(entry));
        symbol = FT_INFLATE_VALUE(entry);
        if (symbol < 16) {
            length = (uint8_t)symbol;
        } else if (symbol == 16) {
            if (!done)
                return false;
            length = lengths[done - 1];
            repeat = 3 + take(lane, 2);
        } else {
            repeat = symbol == 17 ? 3 + take(lane, 3) : 11 + take(lane, 7);
        }
        if (repeat > total - done || is_past(lane))
            return false;
        memset(lengths + done, length, repeat);
        done += repeat;
    }
    return true;
}

static bool read_tables(struct ft_inflate_lane *lane)
{
    uint8_t lengths[FT_INFLATE_LITERALS + FT_INFLATE_DISTANCES] = {0};
    unsigned literals, distances, given;
    uint32_t table[1U << FT_INFLATE_LENGTH_BITS];

    refill(lane);
    literals = take(lane, 5) + 257;
    distances = take(lane, 5) + 1;
    given = take(lane, 4) + 4;
    if (literals > 286 || distances > 30)
        return false;
    for (unsigned i = 0; i < given; i++) {
        refill(lane);
        lengths[length_order[i]] = (uint8_t)take(lane, 3);
    }
    if (!ft_inflate_table(FT_INFLATE_OF_LENGTHS, lengths, FT_INFLATE_LENGTHS, table))
        return false;
    memset(lengths, 0, FT_INFLATE_LENGTHS);
    if (!read_lengths(lane, lengths, literals + distances, table) || lengths[256] == 0)
        return false;
    return ft_inflate_table(FT_INFLATE_OF_LITERALS, lengths, literals, lane->literals) &&
           ft_inflate_table(FT_INFLATE_OF_DISTANCES, lengths + literals, distances, lane->distances);
}

// RFC 1951, 3.2.6.
static void fixed_tables(struct ft_inflate_lane *lane)
{
    uint8_t lengths[FT_INFLATE_LITERALS];

    for (unsigned i = 0; i < FT_INFLATE_LITERALS; i++)
        lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    ft_inflate_table(FT_INFLATE_OF_LITERALS, lengths, FT_INFLATE_LITERALS, lane->literals);
    memset(lengths, 5, FT_INFLATE_DISTANCES);
    ft_inflate_table(FT_INFLATE_OF_DISTANCES, lengths, FT_INFLATE_DISTANCES, lane->distances);
}

static bool copy_stored(struct ft_inflate_lane *lane)
{
    unsigned length, check;

    take(lane, lane->count & 7);
    refill(lane);
    length = take(lane, 16);
    check = take(lane, 16);
    if (is_past(lane) || length != (~check & 0xffff) || length > (size_t)(lane->out_end - lane->out))
        return false;
    // Whole bytes that were taken too early.
    for (; length && lane->count; length--)
        *lane->out++ = (uint8_t)take(lane, 8);
    if (is_past(lane) || length > (size_t)(lane->in_end - lane->in))
        return false;
    memcpy(lane->out, lane->in, length);
    lane->in += length;
    lane->out += length;
    return true;
}

static enum ft_inflate_state begin_block(struct ft_inflate_lane *lane)
{
    unsigned kind;

    refill(lane);
    lane->is_last = take(lane, 1);
    kind = take(lane, 2);
    if (is_past(lane) || kind == 3)
        return FT_INFLATE_BAD;
    if (kind == 0)
        return copy_stored(lane) ? FT_INFLATE_AT_END : FT_INFLATE_BAD;
    if (kind == 1)
        fixed_tables(lane);
    else if (!read_tables(lane))
        return FT_INFLATE_BAD;
    return FT_INFLATE_GOES_ON;
}

static enum ft_inflate_state copy_match(struct ft_inflate_lane *lane, unsigned length)
{
    uint32_t entry = lane->distances[lane->bits & ((1U << FT_INFLATE_DISTANCE_BITS) - 1)];
    unsigned distance;

    if (entry & FT_INFLATE_BELOW)
        entry = ft_inflate_entry_below(lane->distances, entry, lane->bits, FT_INFLATE_DISTANCE_BITS);
    distance = ft_inflate_value(entry, lane->bits);
    take(lane, FT_INFLATE_BITS(entry));
    if (is_past(lane) || entry & FT_INFLATE_ODD || distance > (size_t)(lane->out - lane->out_begin) ||
        length > (size_t)(lane->out_end - lane->out))
        return FT_INFLATE_BAD;
    for (; length; length--, lane->out++)
        *lane->out = lane->out[-(ptrdiff_t)distance];
    return FT_INFLATE_GOES_ON;
}

// One entry, near an end.
static enum ft_inflate_state inflate_one(struct ft_inflate_lane *lane)
{
    uint32_t entry;
    unsigned value;

    refill(lane);
    entry = lane->literals[lane->bits & ((1U << FT_INFLATE_LITERAL_BITS) - 1)];
    if (entry & FT_INFLATE_BELOW)
        entry = ft_inflate_entry_below(lane->literals, entry, lane->bits, FT_INFLATE_LITERAL_BITS);
    value = ft_inflate_value(entry, lane->bits);
    take(lane, FT_INFLATE_BITS(entry));
    if (is_past(lane))
        return FT_INFLATE_BAD;
    if (entry & FT_INFLATE_ODD)
        return FT_INFLATE_VALUE(entry) == FT_INFLATE_END ? FT_INFLATE_AT_END : FT_INFLATE_BAD;
    if (!(entry & FT_INFLATE_LITERAL))
        return copy_match(lane, value);
    if (lane->out == lane->out_end)
        return FT_INFLATE_BAD;
    *lane->out++ = (uint8_t)FT_INFLATE_VALUE(entry);
    return FT_INFLATE_GOES_ON;
}

// On to where it goes on quickly (GOES_ON), or to the end of its last block (AT_END).
static enum ft_inflate_state inflate_slowly(struct ft_inflate_lane *lane, enum ft_inflate_state state)
{
    for (;;) {
        if (state == FT_INFLATE_AT_END && !lane->is_last)
            state = begin_block(lane);
        else if (state == FT_INFLATE_GOES_ON && !ft_inflate_is_quick(lane))
            state = inflate_one(lane);
        else
            return state;
    }
}

static bool begin(struct ft_inflate_lane *lane, const struct ft_inflate_stream *stream)
{
    const uint8_t *bytes = stream->bytes;

    lane->in = bytes + 2;
    lane->in_end = bytes + stream->len;
    lane->out = lane->out_begin = stream->out;
    lane->out_end = stream->out + stream->out_len;
    lane->bits = 0;
    lane->count = lane->past = 0;
    lane->is_last = false;
    // RFC 1950: deflate, a window of at most 32 KiB, no dictionary.
    return stream->len >= 2 + 4 && (bytes[0] & 0xf) == 8 && bytes[0] >> 4 <= 7 && !(bytes[1] & 0x20) &&
           ((unsigned)bytes[0] << 8 | bytes[1]) % 31 == 0;
}

// All of the output is there, and four bytes behind the last block, whose whole
// bytes may have been taken too early.
static bool is_whole(const struct ft_inflate_lane *lane)
{
    return lane->out == lane->out_end && lane->in_end - lane->in + (ptrdiff_t)(lane->count / 8) - lane->past == 4;
}

int ft_inflate(struct ft_inflater *inflater, const struct ft_inflate_stream *streams, size_t count)
{
    struct ft_inflate_lane *lanes = inflater->lanes;
    enum ft_inflate_state states[FT_INFLATE_STREAMS] = {FT_INFLATE_AT_END, FT_INFLATE_AT_END};
    size_t going;

    for (size_t i = 0; i < count; i++)
        if (!begin(&lanes[i], &streams[i]))
            return -EBADMSG;
    do {
        going = 0;
        for (size_t i = 0; i < count; i++) {
            states[i] = inflate_slowly(&lanes[i], states[i]);
            if (states[i] == FT_INFLATE_BAD)
                return -EBADMSG;
            going += states[i] == FT_INFLATE_GOES_ON;
        }
        if (going == 2)
            ft_inflate_both_quickly(lanes, states);
        for (size_t i = 0; going == 1 && i < count; i++)
            if (states[i] == FT_INFLATE_GOES_ON)
                states[i] = ft_inflate_quickly(&lanes[i]);
    } while (going);
    for (size_t i = 0; i < count; i++)
        if (!is_whole(&lanes[i]))
            return -EBADMSG;
    return 0;
}
