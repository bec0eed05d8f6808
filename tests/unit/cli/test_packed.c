// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/cli/analysis_packed.h"

enum { CALLS_MOST = 3000, ROUNDS = 400 };

static uint64_t random_below(unsigned *seed, unsigned bits)
{
    uint64_t number = (uint64_t)rand_r(seed) << 31 ^ (uint64_t)rand_r(seed);
    return number & ((UINT64_C(1) << ((uint64_t)rand_r(seed) % bits + 1)) - 1);
}

static int compare(const void *a_untyped, const void *b_untyped)
{
    uint64_t a = *(const uint64_t *)a_untyped, b = *(const uint64_t *)b_untyped;
    return (a > b) - (a < b);
}

/* Length of the union of those that moved something of `moved`; 0: of all. */
static int64_t union_of(const struct ft_packed *calls, unsigned moved)
{
    int64_t length = 0, reached = 0;
    for (size_t i = 0; i < calls->count; i++) {
        uint64_t word = calls->items[i];
        int64_t start = (int64_t)(word / calls->form.start_unit);
        int64_t end = start + (int64_t)(word % calls->form.start_unit >> FT_PACKED_MOVED_BITS);
        if ((moved == 0 || word & moved) && end > reached) {
            length += end - (start > reached ? start : reached);
            reached = end;
        }
    }
    return length;
}

/* Blocks of a microsecond to minutes, calls of a nanosecond to all that fits a word. */
static size_t make_words(uint64_t *words, struct ft_packed_form form, unsigned *seed)
{
    size_t count = 1 + (size_t)rand_r(seed) % CALLS_MOST;
    unsigned start_bits = 1 + (unsigned)rand_r(seed) % form.start_bits;
    unsigned dur_bits = 1 + (unsigned)rand_r(seed) % form.dur_bits;
    for (size_t i = 0; i < count; i++) {
        uint64_t dur = random_below(seed, rand_r(seed) % 200 ? dur_bits : form.dur_bits);
        words[i] = ft_packed_word(form, (random_below(seed, start_bits) + 1) & form.start_most,
                                  dur < form.dur_most ? dur : form.dur_most, (unsigned)rand_r(seed) % 4);
    }
    qsort(words, count, sizeof(*words), compare);
    return count;
}

static void unions_are_those_of_calls_of_any_length(void **state)
{
    (void)state;
    static uint64_t words[CALLS_MOST];
    static int64_t reached[CALLS_MOST / FT_PACKED_MARK_STEP + 1];
    unsigned seed = 5;
    for (int round = 0; round < ROUNDS; round++) {
        struct ft_packed_form form = ft_packed_form_of(0, INT64_C(1) << (10 + round % 30));
        struct ft_packed calls = {.items = words,
                                  .count = make_words(words, form, &seed),
                                  .form = form,
                                  .reached = reached,
                                  .moved = FT_PACKED_READ | FT_PACKED_WRITE,
                                  .has_sides = true};
        int64_t total_ns[FT_SWEEP_COUNT] = {0};
        ft_packed_measure(&calls, total_ns);
        assert_int_equal(total_ns[FT_SWEEP_IO], union_of(&calls, 0));
        assert_int_equal(total_ns[FT_SWEEP_READ], union_of(&calls, FT_PACKED_READ));
        assert_int_equal(total_ns[FT_SWEEP_WRITE], union_of(&calls, FT_PACKED_WRITE));
        assert_int_equal(total_ns[FT_SWEEP_MOVE], union_of(&calls, FT_PACKED_READ | FT_PACKED_WRITE));
    }
}

/* A normal list around the calls; often it covers many of them. */
static struct ft_intervals make_list(struct ft_interval *items, size_t most, const struct ft_packed *calls,
                                     unsigned *seed)
{
    struct ft_intervals list = {.items = items};
    int64_t at = calls->form.base_ns - 10;
    unsigned bits = 1 + (unsigned)rand_r(seed) % (calls->are_apart ? 12 : calls->form.start_bits);
    for (size_t i = 0; i < most; i++) {
        at += 1 + (int64_t)random_below(seed, bits);
        int64_t end = at + 1 + (int64_t)random_below(seed, calls->are_apart ? 14 : calls->form.start_bits);
        items[list.count++] = (struct ft_interval){.start = at, .end = end};
        at = end;
    }
    return list;
}

/* What the union of all calls has in common with a list. */
static int64_t common_with(const struct ft_packed *calls, const struct ft_intervals *list)
{
    int64_t length = 0, reached = 0;
    for (size_t i = 0; i < calls->count; i++) {
        int64_t start = (int64_t)(calls->items[i] / calls->form.start_unit);
        int64_t end = start + (int64_t)(calls->items[i] % calls->form.start_unit >> FT_PACKED_MOVED_BITS);
        start = start > reached ? start : reached;
        reached = end > reached ? end : reached;
        for (size_t k = 0; k < list->count; k++) {
            int64_t from = list->items[k].start - calls->form.base_ns, to = list->items[k].end - calls->form.base_ns;
            from = from > start ? from : start;
            to = to < end ? to : end;
            length += to > from ? to - from : 0;
        }
    }
    return length;
}

/* Calls one after the other, each of which begins where the one before has ended, or later. */
static size_t make_words_apart(uint64_t *words, struct ft_packed_form form, unsigned *seed)
{
    size_t count = 0;
    uint64_t at = 0;
    while (count < CALLS_MOST && at < form.start_most) {
        uint64_t dur = 1 + random_below(seed, 3);
        words[count++] = ft_packed_word(form, at, dur < form.dur_most ? dur : form.dur_most, FT_PACKED_READ);
        at += dur + random_below(seed, 5);
    }
    return count;
}

static void what_calls_have_in_common_with_a_list_is_found(void **state)
{
    (void)state;
    enum { LIST_MOST = 6 };
    static uint64_t words[CALLS_MOST];
    static int64_t reached[CALLS_MOST / FT_PACKED_MARK_STEP + 1];
    struct ft_interval items[LIST_MOST];
    unsigned seed = 9;
    for (int round = 0; round < ROUNDS; round++) {
        struct ft_packed calls = {.items = words,
                                  .form = ft_packed_form_of(round, round + (INT64_C(1) << (10 + round % 30))),
                                  .reached = reached,
                                  .moved = FT_PACKED_READ,
                                  .are_apart = round % 2};
        calls.count =
            calls.are_apart ? make_words_apart(words, calls.form, &seed) : make_words(words, calls.form, &seed);
        for (size_t i = 0; i < calls.count && calls.are_apart; i++) {
            calls.sum_ns += (int64_t)(words[i] % calls.form.start_unit >> FT_PACKED_MOVED_BITS);
        }
        int64_t total_ns[FT_SWEEP_COUNT] = {0};
        ft_packed_measure(&calls, total_ns);
        struct ft_intervals list = make_list(items, 1 + (size_t)rand_r(&seed) % LIST_MOST, &calls, &seed);
        assert_int_equal(ft_packed_common(&calls, total_ns[FT_SWEEP_IO], &list), common_with(&calls, &list));
    }
}

/* Mostly one side: steps of one side and steps of both. */
static void sides_that_few_calls_have_are_measured(void **state)
{
    (void)state;
    static uint64_t words[CALLS_MOST];
    static int64_t reached[CALLS_MOST / FT_PACKED_MARK_STEP + 1];
    unsigned seed = 11;
    for (int round = 0; round < ROUNDS; round++) {
        struct ft_packed calls = {.items = words,
                                  .form = ft_packed_form_of(0, INT64_C(1) << (10 + round % 30)),
                                  .reached = reached,
                                  .moved = FT_PACKED_READ | FT_PACKED_WRITE,
                                  .has_sides = true};
        calls.count = make_words(words, calls.form, &seed);
        for (size_t i = 0; i < calls.count; i++) {
            unsigned often = round % 2 ? FT_PACKED_READ : FT_PACKED_WRITE;
            unsigned moved = rand_r(&seed) % 200 ? often : (unsigned)rand_r(&seed) % 4;
            words[i] = (words[i] & ~UINT64_C(3)) | moved;
        }
        int64_t total_ns[FT_SWEEP_COUNT] = {0};
        ft_packed_measure(&calls, total_ns);
        assert_int_equal(total_ns[FT_SWEEP_READ], union_of(&calls, FT_PACKED_READ));
        assert_int_equal(total_ns[FT_SWEEP_WRITE], union_of(&calls, FT_PACKED_WRITE));
        assert_int_equal(total_ns[FT_SWEEP_MOVE], union_of(&calls, FT_PACKED_READ | FT_PACKED_WRITE));
    }
}

static void words_come_in_order_whatever_they_are(void **state)
{
    (void)state;
    static uint64_t words[CALLS_MOST], wanted[CALLS_MOST], to[CALLS_MOST], spare[CALLS_MOST];
    unsigned seed = 7;
    for (int round = 0; round < ROUNDS; round++) {
        struct ft_packed_form form = ft_packed_form_of(0, INT64_C(1) << (10 + round % 30));
        size_t count = make_words(wanted, form, &seed);
        for (size_t i = 0; i < count; i++) {
            size_t other = (size_t)rand_r(&seed) % (i + 1);
            words[i] = words[other];
            words[other] = wanted[i];
        }
        const uint64_t *sorted = ft_packed_sort(words, count, form, to, spare);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(sorted[i] / form.start_unit, wanted[i] / form.start_unit);
        }
        memcpy(words, sorted, count * sizeof(*words));
        qsort(words, count, sizeof(*words), compare);
        assert_memory_equal(words, wanted, count * sizeof(*words));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unions_are_those_of_calls_of_any_length),
        cmocka_unit_test(sides_that_few_calls_have_are_measured),
        cmocka_unit_test(what_calls_have_in_common_with_a_list_is_found),
        cmocka_unit_test(words_come_in_order_whatever_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
