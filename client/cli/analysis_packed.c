// SPDX-License-Identifier: MIT
#include "client/cli/analysis_packed.h"

#include <string.h>

/* Starts take no more bits, so that durations have some left. */
enum { WORD_BITS = 63, START_BITS_MAX = 37 };
/* Of the digits that they are sorted by: fewer bits where the counts of each would outnumber the calls. */
enum { DIGIT_BITS = 11, DIGITS_MAX = 5, FEW_DIGIT_BITS = 8, FEW = 4096, VERY_FEW = 32 };
_Static_assert(DIGITS_MAX *FEW_DIGIT_BITS >= START_BITS_MAX && DIGIT_BITS > FEW_DIGIT_BITS, "digits");
/* Cells of time, and buckets for those of each cell; then each call is moved so many places on average at most. */
enum { CELL_BITS_MAX = 12, CALLS_CELL_BITS = 4, BUCKETS_MAX = 65536, PLACES_EACH = 4 };

struct ft_packed_form ft_packed_form_of(int64_t start_ns, int64_t end_ns)
{
    uint64_t range = end_ns > start_ns ? (uint64_t)end_ns - (uint64_t)start_ns : 0;
    unsigned bits = range ? 64 - (unsigned)__builtin_clzll(range) : 1;
    if (bits > START_BITS_MAX) {
        bits = START_BITS_MAX; /* most calls begin near the end */
        start_ns = end_ns - (INT64_C(1) << START_BITS_MAX) + 1;
    }
    unsigned dur_bits = WORD_BITS - FT_PACKED_MOVED_BITS - bits;
    return (struct ft_packed_form){
        .base_ns = start_ns,
        .start_bits = bits,
        .dur_bits = dur_bits,
        .start_most = (UINT64_C(1) << bits) - 1,
        .dur_most = (UINT64_C(1) << dur_bits) - 1,
        .start_unit = UINT64_C(1) << (dur_bits + FT_PACKED_MOVED_BITS),
    };
}

bool ft_packed_is_sorted(const uint64_t *items, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (items[i] < items[i - 1]) {
            return false;
        }
    }
    return true;
}

/* Puts one where it belongs among the `at` before it, which are in order. How many it goes before. */
static size_t insert(uint64_t *items, size_t at, uint64_t one)
{
    size_t to = at;
    for (; to > 0 && items[to - 1] > one; to--) {
        items[to] = items[to - 1];
    }
    items[to] = one;
    return at - to;
}

/* Puts the smaller of the two first. Without a branch: chance decides. */
static inline __attribute__((always_inline)) void put_in_order(uint64_t *a, uint64_t *b)
{
    uint64_t less = *b < *a ? *b : *a, more = *b < *a ? *a : *b;
    *a = less;
    *b = more;
}

/*
 * Puts all in order. Each moves up to two places to the front without a branch: of calls that are nearly in order, few are
 * left to be inserted. False, with nothing of use, where that moves them more than `most` places.
 */
static bool order_nearly(uint64_t *items, size_t count, size_t most)
{
    uint64_t first = items[0], second = items[1], last = 0; /* last: the largest of those in order */
    for (size_t i = 2; i < count + 2; i++) {
        uint64_t third = i < count ? items[i] : UINT64_MAX;
        put_in_order(&second, &third);
        put_in_order(&first, &second);
        if (__builtin_expect(first < last, false)) {
            size_t moved = insert(items, i - 2, first);
            if (moved > most) {
                return false;
            }
            most -= moved;
        } else {
            items[i - 2] = last = first;
        }
        first = second;
        second = third;
    }
    return true;
}

/* How many have each value of each digit; the digits follow each other. Inlined with constants. */
static inline __attribute__((always_inline)) void count_each(const uint64_t *items, size_t count, unsigned shift,
                                                             unsigned width, unsigned digits, uint32_t *counts)
{
    uint64_t mask = (UINT64_C(1) << width) - 1;
    for (size_t i = 0; i < count; i++) {
        uint64_t start = items[i] >> shift;
        for (unsigned digit = 0; digit < digits; digit++) {
            counts[((size_t)digit << width) + (start & mask)]++;
            start >>= width;
        }
    }
}

static void count_digits(const uint64_t *items, size_t count, unsigned shift, unsigned width, unsigned digits,
                         uint32_t *counts)
{
    memset(counts, 0, (sizeof(*counts) * digits) << width);
    switch (digits) {
    case 1:
        count_each(items, count, shift, width, 1, counts);
        break;
    case 2:
        count_each(items, count, shift, width, 2, counts);
        break;
    case 3:
        count_each(items, count, shift, width, 3, counts);
        break;
    case 4:
        count_each(items, count, shift, width, 4, counts);
        break;
    default:
        count_each(items, count, shift, width, digits, counts);
        break;
    }
}

static void distribute(const uint64_t *items, size_t count, uint64_t *to, unsigned shift, unsigned width,
                       uint32_t *counts)
{
    uint64_t mask = (UINT64_C(1) << width) - 1;
    uint32_t sum = 0;
    for (uint64_t value = 0; value <= mask; value++) {
        uint32_t here = counts[value];
        counts[value] = sum;
        sum += here;
    }
    for (size_t i = 0; i < count; i++) {
        to[counts[items[i] >> shift & mask]++] = items[i];
    }
}

/* By the digits above `shift`. Which of `to` and `spare` holds the result. */
static uint64_t *sort_by_digits(const uint64_t *items, size_t count, uint64_t *to, uint64_t *spare, unsigned shift,
                                unsigned width, unsigned digits)
{
    uint32_t counts[DIGITS_MAX << DIGIT_BITS];
    count_digits(items, count, shift, width, digits, counts);
    for (unsigned digit = 0; digit < digits; digit++) {
        distribute(items, count, to, shift + digit * width, width, counts + ((size_t)digit << width));
        uint64_t *sorted = to;
        to = spare;
        spare = sorted;
        items = sorted;
    }
    return spare;
}

/* Starts to buckets: as many for each cell of time as calls begin in it, or half as many. */
struct buckets {
    uint32_t first[1 << CELL_BITS_MAX]; /* by cell */
    uint8_t shift[1 << CELL_BITS_MAX];
    unsigned word_shift, cell_shift;
    uint64_t in_cell; /* mask */
    uint16_t of_call[BUCKETS_MAX];
    uint16_t ends[BUCKETS_MAX]; /* after the last call of all it is never looked at, nor after 65536 of one bucket */
};

static inline uint32_t bucket_of(const struct buckets *buckets, uint64_t word)
{
    uint64_t start = word >> buckets->word_shift, cell = start >> buckets->cell_shift;
    return buckets->first[cell] + (uint32_t)((start & buckets->in_cell) >> buckets->shift[cell]);
}

static unsigned log2_of(uint64_t number)
{
    return 63 - (unsigned)__builtin_clzll(number);
}

/* How many buckets there are. A job that pauses has cells with nothing and cells with much. */
static uint32_t make_buckets(struct buckets *buckets, const uint64_t *items, size_t count, struct ft_packed_form form)
{
    unsigned bits = log2_of(count) - CALLS_CELL_BITS;
    uint32_t used = 0;
    bits = bits < CELL_BITS_MAX ? bits : CELL_BITS_MAX;
    bits = bits < form.start_bits ? bits : form.start_bits;
    buckets->word_shift = form.dur_bits + FT_PACKED_MOVED_BITS;
    buckets->cell_shift = form.start_bits - bits;
    buckets->in_cell = (UINT64_C(1) << buckets->cell_shift) - 1;
    memset(buckets->first, 0, sizeof(buckets->first[0]) << bits);
    for (size_t i = 0; i < count; i++) {
        buckets->first[items[i] >> (buckets->word_shift + buckets->cell_shift)]++;
    }
    for (size_t cell = 0; cell >> bits == 0; cell++) {
        uint32_t calls = buckets->first[cell];
        unsigned own = calls ? log2_of(calls) : 0;
        own = own < buckets->cell_shift ? own : buckets->cell_shift;
        buckets->first[cell] = used;
        buckets->shift[cell] = (uint8_t)(buckets->cell_shift - own);
        used += calls ? UINT32_C(1) << own : 0;
    }
    return used;
}

/*
 * Calls come thread by thread, each thread's in order: one distribution goes through the buckets once for each thread, from
 * the first to the last, and leaves little to do.
 */
static bool sort_by_buckets(const uint64_t *items, size_t count, uint64_t *to, struct ft_packed_form form)
{
    struct buckets buckets;
    if (count > BUCKETS_MAX) {
        return false;
    }
    uint32_t bucket_count = make_buckets(&buckets, items, count, form), sum = 0;
    memset(buckets.ends, 0, bucket_count * sizeof(buckets.ends[0]));
    for (size_t i = 0; i < count; i++) {
        uint32_t bucket = bucket_of(&buckets, items[i]);
        buckets.of_call[i] = (uint16_t)bucket;
        buckets.ends[bucket]++;
    }
    for (size_t bucket = 0; bucket < bucket_count; bucket++) {
        uint16_t here = buckets.ends[bucket];
        buckets.ends[bucket] = (uint16_t)sum;
        sum += here;
    }
    for (size_t i = 0; i < count; i++) {
        to[buckets.ends[buckets.of_call[i]]++] = items[i];
    }
    return order_nearly(to, count, count * PLACES_EACH);
}

uint64_t *ft_packed_sort(const uint64_t *items, size_t count, struct ft_packed_form form, uint64_t *to, uint64_t *spare)
{
    unsigned most = count < FEW ? FEW_DIGIT_BITS : DIGIT_BITS, shift = form.dur_bits + FT_PACKED_MOVED_BITS;
    unsigned digits = (form.start_bits + most - 1) / most, width = (form.start_bits + digits - 1) / digits;
    if (count <= VERY_FEW) {
        for (size_t i = 0; i < count; i++) {
            insert(to, i, items[i]);
        }
        return to;
    }
    return sort_by_buckets(items, count, to, form) ? to : sort_by_digits(items, count, to, spare, shift, width, digits);
}
