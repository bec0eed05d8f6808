// SPDX-License-Identifier: MIT
//
// A zlib stream as it is inflated. Internal to inflate.h.
#ifndef FT_PROTO_INFLATE_LANE_H
#define FT_PROTO_INFLATE_LANE_H

#include "proto/inflate_table.h"

#include <endian.h>
#include <string.h>

// Below `count` the bits of `bits` are the stream's next ones; above they are 0.
// Past the stream's end come zeros, which are counted in `past`, in bytes.
struct ft_inflate_lane {
    const uint8_t *in, *in_end;
    uint8_t *out, *out_begin, *out_end;
    uint64_t bits;
    unsigned count, past;
    bool is_last; // block
    uint32_t literals[FT_INFLATE_LITERAL_ENTRIES];
    uint32_t distances[FT_INFLATE_DISTANCE_ENTRIES];
};

// GOES_ON: within a block.
enum ft_inflate_state { FT_INFLATE_GOES_ON, FT_INFLATE_AT_END, FT_INFLATE_BAD };

// A turn of the quick loop reads at most two words, and writes at most four bytes
// and a match, whose copy goes on to the end of a word.
#define FT_INFLATE_IN_SLACK 16
#define FT_INFLATE_OUT_SLACK (8 + 258 + 16)

static inline bool ft_inflate_is_quick(const struct ft_inflate_lane *lane)
{
    // A word more: the loop begins with a look ahead.
    return lane->in_end - lane->in >= FT_INFLATE_IN_SLACK + 8 && lane->out_end - lane->out >= FT_INFLATE_OUT_SLACK;
}

// As long as both ends of a lane are far, so that none is looked for within a turn.
// Of two lanes until one is near an end, or not within a block any more. The states
// of both are GOES_ON before.
enum ft_inflate_state ft_inflate_quickly(struct ft_inflate_lane *lane);
void ft_inflate_both_quickly(struct ft_inflate_lane *lanes, enum ft_inflate_state *states);

// The value of an entry whose bits are still the next ones.
static inline unsigned ft_inflate_value(uint32_t entry, uint64_t bits)
{
    uint64_t both = bits & ((UINT64_C(1) << FT_INFLATE_BITS(entry)) - 1);

    return FT_INFLATE_VALUE(entry) + (unsigned)(both >> FT_INFLATE_CODE(entry));
}

static inline uint32_t ft_inflate_entry_below(const uint32_t *table, uint32_t entry, uint64_t bits, unsigned table_bits)
{
    return table[FT_INFLATE_VALUE(entry) + (bits >> table_bits & ((1U << FT_INFLATE_CODE(entry)) - 1))];
}

#endif
