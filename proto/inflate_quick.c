// SPDX-License-Identifier: MIT
#include "proto/inflate_lane.h"

// What a loop holds of a lane in registers. Bits above `count` may be those that
// follow: they come once more.
struct state {
    const uint8_t *in;
    uint8_t *out;
    uint64_t bits;
    unsigned count;
    uint32_t entry; // of the next bits
};

#define INLINE static inline __attribute__((always_inline))

INLINE void refill(struct state *at)
{
    uint64_t word;

    memcpy(&word, at->in, sizeof(word));
    at->bits |= le64toh(word) << at->count;
    at->in += (63 - at->count) >> 3;
    at->count |= 56;
}

INLINE void drop(struct state *at, uint32_t entry)
{
    at->bits >>= FT_INFLATE_BITS(entry);
    at->count -= FT_INFLATE_BITS(entry);
}

INLINE void look(struct state *at, const uint32_t *literals)
{
    at->entry = literals[at->bits & ((1U << FT_INFLATE_LITERAL_BITS) - 1)];
}

INLINE void put(struct state *at, const uint32_t *literals)
{
    *at->out++ = (uint8_t)FT_INFLATE_VALUE(at->entry);
    drop(at, at->entry);
    look(at, literals);
}

INLINE struct state enter(const struct ft_inflate_lane *lane)
{
    struct state at = {.in = lane->in, .out = lane->out, .bits = lane->bits, .count = lane->count};

    refill(&at);
    look(&at, lane->literals);
    return at;
}

// Bytes that were not used are read again.
INLINE void leave(struct ft_inflate_lane *lane, const struct state *at)
{
    lane->in = at->in - (at->count >> 3);
    lane->out = at->out;
    lane->count = at->count & 7;
    lane->bits = at->bits & ((UINT64_C(1) << lane->count) - 1);
}

// Bytes up to the end of a word may be written behind the match.
INLINE void copy_match(uint8_t *out, size_t length, size_t distance)
{
    const uint8_t *from = out - distance;
    uint8_t *end = out + length;

    if (distance == 1) {
        uint64_t word = *from * UINT64_C(0x0101010101010101);

        for (; out < end; out += 8)
            memcpy(out, &word, 8);
    } else if (distance >= 8) {
        for (; out < end; out += 8, from += 8)
            memcpy(out, from, 8);
    } else {
        while (out < end)
            *out++ = *from++;
    }
}

// What is not bytes that the table itself tells.
INLINE enum ft_inflate_state go_on(const struct ft_inflate_lane *lane, struct state *at)
{
    unsigned length, distance;
    uint32_t entry = at->entry;

    refill(at);
    if (entry & FT_INFLATE_ODD) {
        if (entry & FT_INFLATE_BELOW)
            entry = ft_inflate_entry_below(lane->literals, entry, at->bits, FT_INFLATE_LITERAL_BITS);
        if (entry & FT_INFLATE_LITERAL) {
            at->entry = entry;
            put(at, lane->literals);
            return FT_INFLATE_GOES_ON;
        }
        if (entry & FT_INFLATE_ODD) {
            drop(at, entry);
            return FT_INFLATE_VALUE(entry) == FT_INFLATE_END ? FT_INFLATE_AT_END : FT_INFLATE_BAD;
        }
    }
    length = ft_inflate_value(entry, at->bits);
    drop(at, entry);
    entry = lane->distances[at->bits & ((1U << FT_INFLATE_DISTANCE_BITS) - 1)];
    if (entry & FT_INFLATE_BELOW)
        entry = ft_inflate_entry_below(lane->distances, entry, at->bits, FT_INFLATE_DISTANCE_BITS);
    distance = ft_inflate_value(entry, at->bits);
    if (entry & FT_INFLATE_ODD || distance > (size_t)(at->out - lane->out_begin))
        return FT_INFLATE_BAD;
    drop(at, entry);
    look(at, lane->literals);
    copy_match(at->out, length, distance);
    at->out += length;
    return FT_INFLATE_GOES_ON;
}

INLINE bool is_literal(const struct state *at)
{
    return at->entry & FT_INFLATE_LITERAL;
}

enum ft_inflate_state ft_inflate_quickly(struct ft_inflate_lane *lane)
{
    const uint8_t *in_last = lane->in_end - FT_INFLATE_IN_SLACK, *out_last = lane->out_end - FT_INFLATE_OUT_SLACK;
    const uint32_t *literals = lane->literals;
    enum ft_inflate_state state = FT_INFLATE_GOES_ON;
    struct state at = enter(lane);

    while (at.in <= in_last && at.out <= out_last && state == FT_INFLATE_GOES_ON) {
        // The next entry is known by the bits that are there: the word of the stream
        // need not have come.
        refill(&at);
        if (is_literal(&at)) {
            put(&at, literals);
            if (is_literal(&at)) {
                put(&at, literals);
                if (is_literal(&at)) {
                    put(&at, literals);
                    if (is_literal(&at)) {
                        put(&at, literals);
                        continue;
                    }
                }
            }
        }
        state = go_on(lane, &at);
    }
    leave(lane, &at);
    return state;
}

static __attribute__((noinline)) enum ft_inflate_state go_on_apart(const struct ft_inflate_lane *lane, struct state *at)
{
    return go_on(lane, at);
}

INLINE bool is_near(const struct ft_inflate_lane *lane, const struct state *at)
{
    return at->in > lane->in_end - FT_INFLATE_IN_SLACK || at->out > lane->out_end - FT_INFLATE_OUT_SLACK;
}

INLINE void put_both(struct state *a, struct state *b, const struct ft_inflate_lane *lanes)
{
    put(a, lanes[0].literals);
    put(b, lanes[1].literals);
}

INLINE bool are_literals(const struct state *a, const struct state *b)
{
    return a->entry & b->entry & FT_INFLATE_LITERAL;
}

void ft_inflate_both_quickly(struct ft_inflate_lane *lanes, enum ft_inflate_state *states)
{
    struct state a = enter(&lanes[0]), b = enter(&lanes[1]);

    while (!is_near(&lanes[0], &a) && !is_near(&lanes[1], &b)) {
        refill(&a);
        refill(&b);
        if (are_literals(&a, &b)) {
            put_both(&a, &b, lanes);
            if (are_literals(&a, &b)) {
                put_both(&a, &b, lanes);
                if (are_literals(&a, &b)) {
                    put_both(&a, &b, lanes);
                    if (are_literals(&a, &b)) {
                        put_both(&a, &b, lanes);
                        continue;
                    }
                }
            }
        }
        if (!is_literal(&a)) {
            struct state copy = a;

            states[0] = go_on_apart(&lanes[0], &copy);
            a = copy;
        }
        if (!is_literal(&b)) {
            struct state copy = b;

            states[1] = go_on_apart(&lanes[1], &copy);
            b = copy;
        }
        if (states[0] != FT_INFLATE_GOES_ON || states[1] != FT_INFLATE_GOES_ON)
            break;
    }
    leave(&lanes[0], &a);
    leave(&lanes[1], &b);
}
