// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "client/cli/top.h"

#define S INT64_C(1000000000)

struct row {
    uint64_t job, id, ops, read_bytes;
    int64_t since_s, as_of_s;
    uint32_t pid;
};

static struct ft_top make(const struct row *rows, size_t count, const struct ft_top *before)
{
    struct ft_top top = {.answer = malloc(sizeof(*top.answer))};
    flowtap__top__init(top.answer);
    top.answer->rows = calloc(count + 1, sizeof(*top.answer->rows));
    top.answer->n_rows = count;
    for (size_t i = 0; i < count; i++) {
        Flowtap__Top__Row *row = malloc(sizeof(*row));
        flowtap__top__row__init(row);
        row->job_id = rows[i].job;
        row->id = rows[i].id;
        row->pid = rows[i].pid;
        row->ops = rows[i].ops;
        row->read_bytes = rows[i].read_bytes;
        row->since_ns = rows[i].since_s * S;
        row->as_of_ns = rows[i].as_of_s * S;
        top.answer->rows[i] = row;
    }
    ft_top_rate(&top, before);
    return top;
}

static void rates_are_between_two_looks(void **state)
{
    (void)state;
    static const struct {
        struct row before, now;
        double ops, read;
        const char *why;
    } cases[] = {
        {{1, 7, 100, 50, 10, 20, 0}, {1, 7, 300, 90, 10, 22, 0}, 100, 20, "what is new by the time between"},
        {{1, 7, 100, 50, 10, 20, 0}, {1, 7, 100, 50, 10, 20, 0}, 10, 5, "nothing new is known: the rate of before"},
        {{1, 7, 100, 50, 10, 20, 0}, {1, 7, 100, 50, 10, 30, 0}, 0, 0, "it did nothing"},
        {{1, 7, 100, 50, 10, 20, 0}, {1, 7, 40, 20, 30, 32, 0}, 20, 10, "added up anew: from its own begin"},
        {{1, 7, 0, 0, 20, 20, 0}, {1, 7, 100, 50, 15, 25, 0}, 10, 5, "nothing was known before: from its own begin"},
        {{1, 7, 100, 50, 10, 20, 0}, {1, 8, 40, 20, 10, 24, 0}, 10, 5, "a file, new in its job: since the look before"},
        {{1, 7, 100, 50, 10, 20, 0}, {1, 8, 40, 20, 22, 24, 0}, 20, 10, "that began later"},
        {{1, 7, 100, 50, 10, 20, 0},
         {1, 8, 40, 20, 16, 24, 99},
         5,
         2.5,
         "a process that was taken in late: from its begin"},
        {{1, 7, 100, 50, 10, 20, 0}, {2, 7, 40, 20, 10, 14, 0}, 10, 5, "another job: since its own begin"},
        {{1, 7, 100, 50, 10, 20, 0}, {1, 7, 90, 60, 10, 21, 0}, 0, 10, "less than before is nothing"},
        {{1, 7, 100, 50, 10, 20, 0}, {1, 7, 300, 90, 10, 19, 0}, 10, 5, "time that goes back: the rate of before"},
        {{1, 7, 100, 50, 10, 20, 0}, {1, 8, 300, 90, 30, 25, 0}, 0, 0, "a begin behind the end"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ft_top before = make(&cases[i].before, 1, NULL), now = make(&cases[i].now, 1, &before);
        if (now.rows[0].ops != cases[i].ops || now.rows[0].read != cases[i].read) {
            fail_msg("%s: %f calls, %f bytes", cases[i].why, now.rows[0].ops, now.rows[0].read);
        }
        ft_top_fini(&now);
        ft_top_fini(&before);
    }
}

static void rows_are_highest_first_and_idle_files_are_left_out(void **state)
{
    (void)state;
    static const struct row rows[] = {{1, 1, 10, 300, 0, 1, 0}, {1, 2, 0, 0, 0, 1, 0}, {1, 3, 30, 100, 0, 1, 0}};
    struct ft_top top = make(rows, 3, NULL);
    size_t count;
    const struct ft_top_row **order = ft_top_order(&top, FT_TOP_PROCESSES, FT_TOP_BY_BANDWIDTH, &count);
    assert_int_equal(count, 3);
    assert_int_equal(order[0]->row->id, 1);
    assert_int_equal(order[2]->row->id, 2);
    free(order);
    order = ft_top_order(&top, FT_TOP_FILES, FT_TOP_BY_OPS, &count);
    assert_int_equal(count, 2);
    assert_int_equal(order[0]->row->id, 3);
    free(order);
    ft_top_fini(&top);
}

static void an_answer_without_rows_is_one(void **state)
{
    (void)state;
    struct ft_top before = make(NULL, 0, NULL), now = make(NULL, 0, &before);
    size_t count;
    const struct ft_top_row **order = ft_top_order(&now, FT_TOP_JOBS, FT_TOP_BY_DROPS, &count);
    assert_int_equal(count, 0);
    free(order);
    ft_top_fini(&now);
    ft_top_fini(&before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_between_two_looks),
        cmocka_unit_test(rows_are_highest_first_and_idle_files_are_left_out),
        cmocka_unit_test(an_answer_without_rows_is_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
