// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/cli/analysis_access.h"

enum { REQUESTS = 400, MOST_FILES = 14 };

struct request {
    uint32_t file;
    bool is_write;
    uint64_t offset, end;
};

/* By the book: the whole list of what was used, the latest first. */
static void count_plainly(const struct request *requests, size_t count, struct ft_access_counts *counts)
{
    struct ft_access_place used[2 * MOST_FILES];
    size_t used_count = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t file = (uint64_t)requests[i].file << 1 | requests[i].is_write;
        size_t at = 0;
        while (at < used_count && used[at].file != file) {
            at++;
        }
        bool follows = at < used_count && at < FT_ACCESS_FILES && used[at].offset == requests[i].offset;
        bool is_sequential = follows || requests[i].offset == 0;
        counts->sequential[requests[i].is_write] += is_sequential;
        counts->random[requests[i].is_write] += !is_sequential;
        used_count += at == used_count;
        memmove(used + 1, used, at * sizeof(used[0]));
        used[0] = (struct ft_access_place){.file = file, .offset = requests[i].end};
    }
}

static void make(struct request *requests, unsigned files, unsigned *seed)
{
    uint64_t ends[2][MOST_FILES] = {0};
    for (size_t i = 0; i < REQUESTS; i++) {
        struct request *one = &requests[i];
        one->file = (unsigned)rand_r(seed) % files;
        one->is_write = rand_r(seed) % 3 == 0;
        one->offset = rand_r(seed) % 4 ? ends[one->is_write][one->file] : (uint64_t)rand_r(seed) % 3 * 10;
        one->end = one->offset + (unsigned)rand_r(seed) % 3 * 10;
        ends[one->is_write][one->file] = one->end;
    }
}

static void runs_put_together_give_what_one_pass_gives(void **state)
{
    (void)state;
    unsigned seed = 5;
    for (int round = 0; round < 500; round++) {
        struct request requests[REQUESTS];
        struct ft_access_run runs[REQUESTS];
        struct ft_access_counts plain = {0}, counts = {0};
        struct ft_access access;
        size_t run_count = 0;
        make(requests, 1 + (unsigned)round % MOST_FILES, &seed);
        count_plainly(requests, REQUESTS, &plain);
        for (size_t i = 0, end; i < REQUESTS; i = end) {
            size_t length = 1 + (size_t)rand_r(&seed) % (round % 2 ? 5 : 60);
            end = i + length < REQUESTS ? i + length : REQUESTS;
            ft_access_run_begin(&runs[run_count], 0);
            for (size_t k = i; k < end; k++) {
                ft_access_run_add(&runs[run_count], &counts, requests[k].file, requests[k].is_write, requests[k].offset,
                                  requests[k].end);
            }
            run_count++;
        }
        ft_access_init(&access, 1);
        while (run_count > 0) {
            ft_access_add(&access, &runs[--run_count]);
        }
        ft_access_end(&access);
        for (int side = 0; side < 2; side++) {
            assert_int_equal(access.counts.sequential[side] + counts.sequential[side], plain.sequential[side]);
            assert_int_equal(access.counts.random[side] + counts.random[side], plain.random[side]);
        }
        ft_access_fini(&access);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(runs_put_together_give_what_one_pass_gives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
