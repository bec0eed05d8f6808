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

/* The union of all calls grows. Those that move something are noted: often they are few. Their number. */
static inline __attribute__((always_inline)) size_t measure_all(const struct ft_packed *calls, size_t from, size_t to,
                                                                uint64_t moving[FT_PACKED_MARK_STEP],
                                                                struct unions *unions)
{
    int64_t io = unions->io, reached = unions->io_end;
    size_t count = 0;
    for (size_t i = from; i < to; i++) {
        struct unpacked call = unpack(calls->items[i], calls->form);
        io += grow(&reached, call.start, call.end, true);
        moving[count] = calls->items[i];
        count += call.moved != 0;
    }
    unions->io = io;
    unions->io_end = reached;
    return count;
}

/* The union of calls that move something grows. */
static inline __attribute__((always_inline)) void
measure_moving(const uint64_t *moving, size_t count, struct ft_packed_form form, bool has_sides, struct unions *unions)
{
    struct unions own = *unions;
    for (size_t i = 0; i < count; i++) {
        struct unpacked call = unpack(moving[i], form);
        own.move += grow(&own.move_end, call.start, call.end, true);
        own.read += has_sides ? grow(&own.read_end, call.start, call.end, call.moved & FT_PACKED_READ) : 0;
        own.write += has_sides ? grow(&own.write_end, call.start, call.end, call.moved & FT_PACKED_WRITE) : 0;
    }
    *unions = own;
}

static inline __attribute__((always_inline)) unsigned sides_of(const uint64_t *moving, size_t count)
{
    uint64_t all = 0;
    for (size_t i = 0; i < count; i++) {
        all |= moving[i];
    }
    return all & (FT_PACKED_READ | FT_PACKED_WRITE);
}

/* Calls of one side: its union grows as that of both does, where none has reached further than the other. Else false. */
static inline __attribute__((always_inline)) bool measure_side(const uint64_t *moving, size_t count,
                                                               struct ft_packed_form form, struct unions *unions)
{
    unsigned sides = sides_of(moving, count);
    int64_t *side = sides == FT_PACKED_READ ? &unions->read : &unions->write, before = unions->move;
    int64_t *side_end = sides == FT_PACKED_READ ? &unions->read_end : &unions->write_end;
    int64_t start = count > 0 ? unpack(moving[0], form).start : 0;
    bool are_equal = *side_end == unions->move_end || (*side_end <= start && unions->move_end <= start);
    if (sides == (FT_PACKED_READ | FT_PACKED_WRITE) || !are_equal) {
        return false;
    }
    measure_moving(moving, count, form, false, unions);
    *side += unions->move - before;
    *side_end = unions->move_end;
    return true;
}

/* Inlined with constants: sides that no call has cost nothing. */
static inline __attribute__((always_inline)) void measure_step(const struct ft_packed *calls, size_t from, size_t to,
                                                               bool has_sides, struct unions *unions)
{
    uint64_t moving[FT_PACKED_MARK_STEP];
    size_t count = measure_all(calls, from, to, moving, unions);
    if (!has_sides || !measure_side(moving, count, calls->form, unions)) {
        measure_moving(moving, count, calls->form, has_sides, unions);
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

/* Where the latest of the first `count` calls ends, since the base; `count` is a multiple of FT_PACKED_MARK_STEP. */
static int64_t reached_by(const struct ft_packed *calls, size_t count)
{
    return calls->are_apart ? unpack(calls->items[count - 1], calls->form).end
                            : calls->reached[count / FT_PACKED_MARK_STEP - 1];
}

/* What calls add to a union that has reached so far, since the base. Most calls go on while the list does, and add nothing. */
static int64_t add_calls(const struct ft_packed *calls, size_t from, size_t to, int64_t *reached)
{
    int64_t sum = 0, own = *reached;
    for (size_t i = from, end; i < to; i = end) {
        end = i + FT_PACKED_MARK_STEP - i % FT_PACKED_MARK_STEP;
        if (end <= to && reached_by(calls, end) <= own) {
            continue;
        }
        end = end < to ? end : to;
        for (; i < end; i++) {
            struct unpacked call = unpack(calls->items[i], calls->form);
            sum += grow(&own, call.start, call.end, true);
        }
    }
    *reached = own;
    return sum;
}

int64_t ft_packed_common(const struct ft_packed *calls, int64_t total_ns, const struct ft_intervals *list)
{
    int64_t both = 0, reached = INT64_MIN, base = calls->form.base_ns;
    size_t done = 0;
    if (list->count == 0) {
        return 0;
    }
    for (size_t at = 0; at < list->count; at++) {
        struct ft_interval one = list->items[at];
        size_t to = first_from(calls, one.start);
        both += add_calls(calls, done, to, &reached);
        both += grow(&reached, one.start - base, one.end - base, true);
        done = to;
    }
    both += add_calls(calls, done, calls->count, &reached);
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

/* Where and how calls are copied. */
struct copy {
    struct ft_packed_form form;
    int64_t from, to_ns;
    unsigned moved; /* what a call must have moved some of; 0: nothing */
};

/* What of one call is wanted; what is not begins and ends before everything. */
static inline __attribute__((always_inline)) struct ft_interval part_of(const struct copy *copy, uint64_t item)
{
    struct unpacked call = unpack(item, copy->form);
    int64_t start = larger(call.start + copy->form.base_ns, copy->from), end = call.end + copy->form.base_ns;
    end = end < copy->to_ns ? end : copy->to_ns;
    bool is_wanted = (copy->moved == 0 || item & copy->moved) & (end > start);
    return (struct ft_interval){.start = is_wanted ? start : INT64_MIN, .end = is_wanted ? end : INT64_MIN};
}

/* Puts calls in order of start behind the list's last interval, which is there: each joins it or is the next. */
static void put_behind(const struct copy *copy, const uint64_t *items, size_t count, struct ft_intervals *to)
{
    struct ft_interval *last = to->items + to->count - 1;
    int64_t start = last->start, reached = last->end;
    for (size_t i = 0; i < count; i++) {
        struct ft_interval one = part_of(copy, items[i]);
        bool is_new = one.start > reached;
        last += is_new;
        start = is_new ? one.start : start;
        reached = larger(reached, one.end);
        *last = (struct ft_interval){.start = start, .end = reached};
    }
    to->count = (size_t)(last - to->items) + 1;
}

void ft_packed_copy(const struct ft_packed *calls, enum ft_sweep_kind kind, int64_t from, int64_t to_ns,
                    struct ft_intervals *to)
{
    const struct copy copy = {.form = calls->form, .from = from, .to_ns = to_ns, .moved = moved_of(kind)};
    if ((!calls->has_sides && (kind == FT_SWEEP_READ || kind == FT_SWEEP_WRITE)) ||
        (copy.moved != 0 && (calls->moved & copy.moved) == 0)) {
        return;
    }
    size_t i = first_above(calls, from), last = first_from(calls, to_ns);
    for (; to->count == 0 && i < last; i++) {
        struct ft_interval one = part_of(&copy, calls->items[i]);
        ft_intervals_add(to, one.start, one.end);
    }
    if (i < last) {
        ft_intervals_reserve(to, last - i);
        put_behind(&copy, calls->items + i, last - i, to);
    }
}
