// SPDX-License-Identifier: MIT
/* Unions over time of calls that are in order as words. */
#include "client/cli/analysis_packed.h"

struct unpacked {
    int64_t start, end; /* since the base */
    unsigned moved;
};

static inline struct unpacked unpack(uint64_t item, struct ft_packed_form form)
{
    int64_t start = (int64_t)(item >> (form.dur_bits + FT_PACKED_MOVED_BITS));
    uint64_t dur = item >> FT_PACKED_MOVED_BITS & ((UINT64_C(1) << form.dur_bits) - 1);
    return (struct unpacked){
        .start = start, .end = start + (int64_t)dur, .moved = item & (FT_PACKED_READ | FT_PACKED_WRITE)};
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int64_t ft_packed_start(const struct ft_packed *calls)
{
    return calls->form.base_ns + unpack(calls->items[0], calls->form).start;
}

/* A union that grows: what [start, end) adds behind `reached`. Nothing where it is not wanted, without a branch. */
static inline __attribute__((always_inline)) int64_t grow(int64_t *reached, int64_t start, int64_t end, bool is_wanted)
{
    int64_t keep = -(int64_t)is_wanted;
    int64_t from = larger(start & keep, *reached);
    *reached = larger(end & keep, *reached);
    return *reached - from;
}

/* Unions as they grow. */
struct unions {
    int64_t io, read, write, move, io_end, read_end, write_end, move_end;
};

/* Inlined with constants: sides that no call has cost nothing. */
static inline __attribute__((always_inline)) void measure_part(const struct ft_packed *calls, size_t from, size_t to,
                                                               bool has_sides, struct unions *unions)
{
    struct unions own = *unions;
    for (size_t i = from; i < to; i++) {
        struct unpacked call = unpack(calls->items[i], calls->form);
        own.io += grow(&own.io_end, call.start, call.end, true);
        own.move += grow(&own.move_end, call.start, call.end, call.moved);
        own.read += has_sides ? grow(&own.read_end, call.start, call.end, call.moved & FT_PACKED_READ) : 0;
        own.write += has_sides ? grow(&own.write_end, call.start, call.end, call.moved & FT_PACKED_WRITE) : 0;
    }
    *unions = own;
}

/* Four unions side by side, of calls less than 2^31 ns apart. */
typedef int32_t lanes __attribute__((vector_size(16)));
typedef uint32_t unsigned_lanes __attribute__((vector_size(16)));
#define LANE_MOST INT32_MAX

static inline lanes larger_lanes(lanes a, lanes b)
{
    lanes is_more = a > b;
    return (a & is_more) | (b & ~is_more);
}

static int32_t lane_of(int64_t reached, int64_t base)
{
    return reached > base ? (int32_t)(reached - base) : 0;
}

/* Whether all of the calls, and what was reached before them, are so close together. */
static bool are_close(const struct ft_packed *calls, size_t from, size_t to, int64_t base, int64_t reached)
{
    uint64_t all = 0;
    for (size_t i = from; i < to; i++) {
        all |= calls->items[i];
    }
    uint64_t longest = all >> FT_PACKED_MOVED_BITS & ((UINT64_C(1) << calls->form.dur_bits) - 1);
    int64_t last = unpack(calls->items[to - 1], calls->form).start - base;
    return longest <= LANE_MOST && last <= LANE_MOST - (int64_t)longest && reached - base <= LANE_MOST;
}

/* measure_part() with both sides. What was reached before the first call begins makes no difference: it is moved there. */
static void measure_close(const struct ft_packed *calls, size_t from, size_t to, struct unions *unions)
{
    static const lanes wanted[] = {{-1, 0, 0, 0}, {-1, -1, -1, 0}, {-1, -1, 0, -1}, {-1, -1, -1, -1}};
    _Static_assert(FT_PACKED_READ == 1 && FT_PACKED_WRITE == 2, "IO, MOVE, READ, WRITE by what is moved");
    int64_t base = unpack(calls->items[from], calls->form).start;
    lanes reached = {lane_of(unions->io_end, base), lane_of(unions->move_end, base), lane_of(unions->read_end, base),
                     lane_of(unions->write_end, base)};
    unsigned_lanes sums = {0};
    for (size_t i = from; i < to; i++) {
        struct unpacked call = unpack(calls->items[i], calls->form);
        int32_t start = (int32_t)(call.start - base), end = (int32_t)(call.end - base);
        lanes starts = {start, start, start, start}, ends = {end, end, end, end};
        lanes begin = larger_lanes(starts & wanted[call.moved], reached);
        reached = larger_lanes(ends & wanted[call.moved], reached);
        sums += (unsigned_lanes)(reached - begin);
    }
    unions->io += sums[0];
    unions->move += sums[1];
    unions->read += sums[2];
    unions->write += sums[3];
    unions->io_end = larger(unions->io_end, base + reached[0]);
    unions->move_end = larger(unions->move_end, base + reached[1]);
    unions->read_end = larger(unions->read_end, base + reached[2]);
    unions->write_end = larger(unions->write_end, base + reached[3]);
}

static inline __attribute__((always_inline)) void measure_step(const struct ft_packed *calls, size_t from, size_t to,
                                                               bool has_sides, struct unions *unions)
{
    int64_t base = has_sides && from < to ? unpack(calls->items[from], calls->form).start : 0;
    if (has_sides && from < to && are_close(calls, from, to, base, unions->io_end)) {
        measure_close(calls, from, to, unions);
    } else {
        measure_part(calls, from, to, has_sides, unions);
    }
}

static inline __attribute__((always_inline)) void measure(const struct ft_packed *calls, bool has_sides,
                                                          int64_t total_ns[FT_SWEEP_COUNT])
{
    struct unions unions = {0};
    size_t marks = calls->count / FT_PACKED_MARK_STEP;
    for (size_t mark = 0; mark < marks; mark++) {
        measure_step(calls, mark * FT_PACKED_MARK_STEP, (mark + 1) * FT_PACKED_MARK_STEP, has_sides, &unions);
        calls->reached[mark] = unions.io_end;
    }
    measure_step(calls, marks * FT_PACKED_MARK_STEP, calls->count, has_sides, &unions);
    total_ns[FT_SWEEP_IO] = unions.io;
    total_ns[FT_SWEEP_MOVE] = unions.move;
    total_ns[FT_SWEEP_READ] = unions.read;
    total_ns[FT_SWEEP_WRITE] = unions.write;
}

void ft_packed_measure(const struct ft_packed *calls, int64_t total_ns[FT_SWEEP_COUNT])
{
    if (calls->has_sides && calls->moved == (FT_PACKED_READ | FT_PACKED_WRITE)) {
        measure(calls, true, total_ns);
        return;
    }
    /* At most one side: it is all that moves. */
    if (calls->are_apart) {
        total_ns[FT_SWEEP_IO] = calls->sum_ns;
        total_ns[FT_SWEEP_MOVE] = calls->moved_ns;
    } else {
        measure(calls, false, total_ns);
    }
    total_ns[FT_SWEEP_READ] = calls->has_sides && calls->moved & FT_PACKED_READ ? total_ns[FT_SWEEP_MOVE] : 0;
    total_ns[FT_SWEEP_WRITE] = calls->has_sides && calls->moved & FT_PACKED_WRITE ? total_ns[FT_SWEEP_MOVE] : 0;
}

int64_t ft_packed_common(const struct ft_packed *calls, int64_t total_ns, const struct ft_intervals *list)
{
    int64_t both = 0, reached = INT64_MIN, base = calls->form.base_ns;
    size_t at = 0;
    if (list->count == 0) {
        return 0;
    }
    for (size_t i = 0; i < calls->count; i++) {
        struct unpacked call = unpack(calls->items[i], calls->form);
        while (at < list->count && list->items[at].start <= call.start + base) {
            both += grow(&reached, list->items[at].start, list->items[at].end, true);
            at++;
        }
        both += grow(&reached, call.start + base, call.end + base, true);
    }
    for (; at < list->count; at++) {
        both += grow(&reached, list->items[at].start, list->items[at].end, true);
    }
    return total_ns + ft_intervals_length(list) - both;
}

static unsigned moved_of(enum ft_sweep_kind kind)
{
    switch (kind) {
    case FT_SWEEP_READ:
        return FT_PACKED_READ;
    case FT_SWEEP_WRITE:
        return FT_PACKED_WRITE;
    case FT_SWEEP_MOVE:
        return FT_PACKED_READ | FT_PACKED_WRITE;
    default:
        return 0;
    }
}

/* First call that may reach above the mark. */
static size_t first_above(const struct ft_packed *calls, int64_t mark_ns)
{
    size_t step = calls->are_apart ? 1 : FT_PACKED_MARK_STEP, low = 0, high = calls->count / step;
    if (mark_ns <= calls->form.base_ns) {
        return 0;
    }
    int64_t mark = mark_ns - calls->form.base_ns;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int64_t end = calls->are_apart ? unpack(calls->items[middle], calls->form).end : calls->reached[middle];
        if (end <= mark) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low * step;
}

/* First call that begins at the mark or above. */
static size_t first_from(const struct ft_packed *calls, int64_t mark_ns)
{
    size_t low = 0, high = calls->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (unpack(calls->items[middle], calls->form).start + calls->form.base_ns < mark_ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void ft_packed_copy(const struct ft_packed *calls, enum ft_sweep_kind kind, int64_t from, int64_t to_ns,
                    struct ft_intervals *to)
{
    unsigned moved = moved_of(kind);
    size_t last = first_from(calls, to_ns);
    if (!calls->has_sides && (kind == FT_SWEEP_READ || kind == FT_SWEEP_WRITE)) {
        return;
    }
    for (size_t i = first_above(calls, from); i < last; i++) {
        if (moved == 0 || calls->items[i] & moved) {
            struct unpacked call = unpack(calls->items[i], calls->form);
            int64_t start = larger(call.start + calls->form.base_ns, from), end = call.end + calls->form.base_ns;
            ft_intervals_add(to, start, end < to_ns ? end : to_ns);
        }
    }
}
