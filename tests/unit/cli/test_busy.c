// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/cli/analysis_busy.h"
#include "client/cli/analysis_process_times.h"

enum { MOMENTS = 6000, BLOCKS = 12, PROCESSES = 4, RUNS = 2, CALLS_MOST = 120, ALL = PROCESSES };

/* The truth, moment by moment: of each process, and of all. */
static unsigned char moments[PROCESSES + 1][FT_SWEEP_COUNT][MOMENTS];

struct call {
    int64_t start, end;
    unsigned moved;
};

static void mark(unsigned process, int kind, int64_t start, int64_t end)
{
    memset(moments[process][kind] + start, 1, (size_t)(end - start));
    memset(moments[ALL][kind] + start, 1, (size_t)(end - start));
}

static void mark_call(unsigned process, const struct call *call)
{
    mark(process, FT_SWEEP_IO, call->start, call->end);
    if (call->moved) {
        mark(process, FT_SWEEP_MOVE, call->start, call->end);
    }
    if (call->moved & FT_PACKED_READ) {
        mark(process, FT_SWEEP_READ, call->start, call->end);
    }
    if (call->moved & FT_PACKED_WRITE) {
        mark(process, FT_SWEEP_WRITE, call->start, call->end);
    }
}

static int earlier_first(const void *a, const void *b)
{
    int64_t x = ((const struct call *)a)->start, y = ((const struct call *)b)->start;
    return (x > y) - (x < y);
}

/* Calls of one thread that end in a block: mostly short ones, side by side or into each other. */
static size_t make_run(struct call *calls, int64_t block_end, bool are_apart, bool has_long, unsigned sides,
                       unsigned *seed)
{
    size_t count = (size_t)rand_r(seed) % CALLS_MOST;
    int64_t at = block_end - MOMENTS / BLOCKS;
    for (size_t i = 0; i < count; i++) {
        int64_t end = block_end - rand_r(seed) % (MOMENTS / BLOCKS), start = end - rand_r(seed) % 30;
        if (has_long && rand_r(seed) % 20 == 0) {
            start = rand_r(seed) % (end + 1);
        }
        if (are_apart) {
            start = at + rand_r(seed) % 4;
            end = at = start + rand_r(seed) % 6;
        }
        start = start < 0 ? 0 : start > block_end ? block_end : start;
        end = end < start ? start : end > block_end ? block_end : end;
        calls[i] = (struct call){.start = start, .end = end, .moved = (unsigned)rand_r(seed) & sides};
    }
    qsort(calls, count, sizeof(*calls), earlier_first);
    return count;
}

static void add_run(struct ft_busy *busy, unsigned process, const struct call *calls, size_t count)
{
    struct ft_packed_form form = busy->writer.form;
    for (size_t i = 0; i < count; i++) {
        const struct call *call = &calls[i];
        uint64_t start = (uint64_t)call->start - (uint64_t)form.base_ns, dur = (uint64_t)(call->end - call->start);
        if (ft_packed_fits(form, start, dur)) {
            ft_busy_add(&busy->writer, start, dur, call->moved, dur > 0);
            ft_busy_add(&busy->writer, start, dur, call->moved, false); /* not wanted: nothing happens */
            ft_busy_add_times(&busy->writer, dur, call->moved ? dur : 0);
        } else {
            ft_busy_add_long(busy, call->start, call->end, call->moved);
        }
        mark_call(process, call);
    }
}

static void add_spans(struct ft_busy *busy, unsigned process, int64_t block_end, unsigned *seed)
{
    for (int i = rand_r(seed) % 5; i > 0; i--) {
        int kind = rand_r(seed) % 2 ? FT_SWEEP_COMPUTE : FT_SWEEP_APP_IO;
        int64_t end = block_end - rand_r(seed) % (MOMENTS / BLOCKS);
        int64_t start = rand_r(seed) % 6 ? end - rand_r(seed) % 60 : rand_r(seed) % (end + 1);
        start = start < 0 ? 0 : start;
        ft_busy_add_span(busy, FT_SWEEP_APP, start, end);
        ft_busy_add_span(busy, (enum ft_sweep_kind)kind, start, end);
        mark(process, FT_SWEEP_APP, start, end);
        mark(process, kind, start, end);
    }
}

static void make_block(struct ft_busy *busy, int64_t end, unsigned round, unsigned *seed)
{
    static struct call calls[CALLS_MOST];
    /* Some rounds take a form that the first calls of a block do not fit. */
    int64_t from = round % 4 == 1 ? end - 100 : round % 4 == 2 ? 0 : end - MOMENTS / BLOCKS - 30;
    ft_busy_begin(busy, ft_packed_form_of(from, end), (size_t)PROCESSES * RUNS * CALLS_MOST);
    for (unsigned p = 0; p < PROCESSES; p++) {
        for (int r = 0; r < 1 + rand_r(seed) % RUNS; r++) {
            size_t count = make_run(calls, end, round % 3 == 0, round % 5 == 0, round % 4, seed);
            add_run(busy, p, calls, count);
        }
        if (round % 2) {
            add_spans(busy, p, end, seed);
        }
        ft_busy_end_process(busy, p);
    }
    ft_busy_end(busy);
}

static void check(const struct ft_sweep_totals *totals, unsigned who)
{
    int64_t io_compute = 0, app_io_compute = 0;
    for (int kind = 0; kind < FT_SWEEP_COUNT; kind++) {
        bool is_side = kind == FT_SWEEP_READ || kind == FT_SWEEP_WRITE;
        int64_t total = 0;
        for (int m = 0; m < MOMENTS; m++) {
            total += moments[who][kind][m];
        }
        assert_int_equal(totals->total_ns[kind], is_side && who != ALL ? 0 : total);
    }
    for (int m = 0; m < MOMENTS; m++) {
        io_compute += moments[who][FT_SWEEP_IO][m] & moments[who][FT_SWEEP_COMPUTE][m];
        app_io_compute += moments[who][FT_SWEEP_APP_IO][m] & moments[who][FT_SWEEP_COMPUTE][m];
    }
    assert_int_equal(totals->io_and_compute_ns, io_compute);
    assert_int_equal(totals->app_io_and_compute_ns, app_io_compute);
}

static void unions_of_blocks_equal_the_moments_counted_one_by_one(void **state)
{
    (void)state;
    unsigned seed = 11;
    for (unsigned round = 0; round < 120; round++) {
        struct ft_busy busy = {.has_processes = true};
        struct ft_process_times times = {0};
        struct ft_sweep sweep = {0};
        ft_process_times_init(&times, PROCESSES, 1);
        memset(moments, 0, sizeof(moments));
        for (int b = BLOCKS; b > 0; b--) {
            int64_t end = b * (MOMENTS / BLOCKS), watermark = b > 1 ? end - MOMENTS / BLOCKS : INT64_MIN;
            make_block(&busy, end, round, &seed);
            ft_process_times_add(&times, 0, &busy, watermark);
            ft_sweep_add(&sweep, &busy.whole, watermark);
        }
        for (unsigned p = 0; p < PROCESSES; p++) {
            check(&times.totals[p], p);
        }
        check(&sweep.totals, ALL);
        ft_sweep_fini(&sweep);
        ft_process_times_fini(&times);
        ft_busy_fini(&busy);
    }
}

/* Both processes wait for an hour, which fits no word, and read at one time: each read is its own process's. */
static void what_two_processes_moved_at_one_time_is_of_each(void **state)
{
    (void)state;
    static const struct call reads[PROCESSES] = {{.start = 1000, .end = 2000, .moved = FT_PACKED_READ},
                                                 {.start = 1500, .end = 1700, .moved = FT_PACKED_READ}};
    struct ft_busy busy = {.has_processes = true};
    ft_busy_begin(&busy, ft_packed_form_of(1000, 2000), 4);
    for (unsigned p = 0; p < 2; p++) {
        const struct call *read = &reads[p];
        ft_busy_add_long(&busy, -3600, 900, 0);
        ft_busy_add(&busy.writer, (uint64_t)read->start - 1000, (uint64_t)(read->end - read->start), read->moved, true);
        ft_busy_end_process(&busy, p);
    }
    ft_busy_end(&busy);
    for (unsigned p = 0; p < 2; p++) {
        struct ft_sweep_block block = ft_busy_process_block(&busy, p);
        assert_int_equal(block.totals.total_ns[FT_SWEEP_MOVE], reads[p].end - reads[p].start);
        assert_int_equal(block.totals.total_ns[FT_SWEEP_IO], 4500 + reads[p].end - reads[p].start);
    }
    ft_busy_fini(&busy);
}

static int compare_words(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Spread out, in two bursts, or most of them in a part of a burst that is too small to be told apart. */
static uint64_t make_start(uint64_t random, uint64_t starts, int spread)
{
    if (spread == 0) {
        return random & starts;
    }
    if (spread == 1) {
        return random & starts & (random & UINT64_C(1) << 40 ? 1023 : starts - 1023);
    }
    return random % 8 ? random >> 8 & starts & 4095 : random & starts & (starts >> 11);
}

static void words_are_put_in_order_of_start_whatever_their_number_and_spread(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 2, 31, 32, 33, 1000, 4095, 4096, 20000};
    static const int64_t ranges[] = {0, 1, 300, INT64_C(1) << 16, INT64_C(1) << 30, INT64_MAX};
    static uint64_t items[20000], to[20000], spare[20000];
    unsigned seed = 5;
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]) * 3; c++) {
        for (size_t r = 0; r < sizeof(ranges) / sizeof(ranges[0]); r++) {
            struct ft_packed_form form = ft_packed_form_of(0, ranges[r]);
            uint64_t starts = (UINT64_C(1) << form.start_bits) - 1;
            size_t count = counts[c / 3];
            for (size_t i = 0; i < count; i++) {
                uint64_t random = (uint64_t)rand_r(&seed) << 31 ^ (uint64_t)rand_r(&seed);
                uint64_t start = make_start(random, starts, (int)(c % 3));
                assert_true(ft_packed_fits(form, start, 1));
                items[i] = ft_packed_word(form, start, 1, 0);
            }
            const uint64_t *sorted = ft_packed_sort(items, count, form, to, spare);
            qsort(items, count, sizeof(items[0]), compare_words);
            assert_true(ft_packed_is_sorted(sorted, count));
            assert_memory_equal(sorted, items, count * sizeof(items[0]));
        }
    }
}

static void a_call_fits_where_its_start_and_its_duration_do(void **state)
{
    (void)state;
    struct ft_packed_form form = ft_packed_form_of(1000, 1255);
    assert_int_equal(form.base_ns, 1000);
    assert_true(ft_packed_fits(form, 0, 0));
    assert_true(ft_packed_fits(form, 255, 255));
    assert_false(ft_packed_fits(form, 256, 0));
    assert_false(ft_packed_fits(form, (uint64_t)-1, 0)); /* before the base */
    assert_true(ft_packed_fits(form, 0, (UINT64_C(1) << form.dur_bits) - 1));
    assert_false(ft_packed_fits(form, 0, UINT64_C(1) << form.dur_bits));
    /* A block that goes on for days: its end is what fits. */
    form = ft_packed_form_of(0, INT64_C(1) << 50);
    assert_true(ft_packed_fits(form, (uint64_t)((INT64_C(1) << 50) - form.base_ns), 1000000));
    assert_false(ft_packed_fits(form, (uint64_t)-form.base_ns, 0));
    /* A head that lies. */
    form = ft_packed_form_of(5, -5);
    assert_true(form.start_bits >= 1 && form.dur_bits >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unions_of_blocks_equal_the_moments_counted_one_by_one),
        cmocka_unit_test(what_two_processes_moved_at_one_time_is_of_each),
        cmocka_unit_test(words_are_put_in_order_of_start_whatever_their_number_and_spread),
        cmocka_unit_test(a_call_fits_where_its_start_and_its_duration_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
