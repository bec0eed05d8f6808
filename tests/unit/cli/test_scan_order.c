// SPDX-License-Identifier: MIT
/* Blocks come by their ends, the last one first, whatever job of the host they are of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/cli/analysis_scan_order.h"
#include "proto/calls.h"
#include "proto/trace_writer.h"
#include "tests/unit/cli/traces.h"

enum { FILES = 4, BLOCKS = 2 };

/* As parts stand beside each other in a set: the first ones of all jobs, then the second ones. Ends in seconds. */
static const struct file_case {
    const char *name, *job;
    uint32_t part;
    int64_t ends[BLOCKS];
} files[FILES] = {
    {"a0.flow", "a", 0, {1, 2}},
    {"b0.flow", "b", 0, {7, 8}},
    {"a1.flow", "a", 1, {4, 3}}, /* what comes last of a job counts as late as what was before it */
    {"b1.flow", "b", 1, {9, 10}},
};

static void write_file(const char *path, const struct file_case *c)
{
    struct ft_trace_header header = {.host = FT_BYTES("host"), .boot_id = FT_BYTES("boot"), .part = c->part};
    struct ft_trace_process process = {.pid = 1000, .start_ns = 1, .job = {.rank = -1}};
    struct ft_trace_writer *writer;
    header.job.id = (struct ft_bytes){.data = c->job, .len = 1};
    assert_int_equal(ft_trace_writer_create(&header, NULL, &writer), 0);
    struct ft_trace_thread of = {.tid = 1000, .process = (uint32_t)ft_trace_writer_new_process(writer, &process)};
    uint32_t thread = (uint32_t)ft_trace_writer_new_thread(writer, &of);
    for (int b = 0; b < BLOCKS; b++) {
        struct ft_event event = {.kind = FT_EVENT_CALL, .thread = thread, .call = FT_CALL_ID_write, .fd = -1};
        event.dur_ns = 1;
        event.start_ns = c->ends[b] * 1000000000 - 1;
        assert_int_equal(ft_trace_writer_add(writer, &event), 0);
        assert_int_equal(ft_trace_writer_end_block(writer, NULL, 0), 0);
    }
    ft_traces_write(writer, path);
}

static void jobs_of_a_host_come_by_their_own_ends(void **state)
{
    static const int64_t ends[FILES * BLOCKS] = {10, 9, 8, 7, 4, 4, 2, 1};
    char folder[] = "/tmp/flowtap-order-XXXXXX", paths[FILES][64];
    const char *where = folder;
    struct ft_trace_set *set;
    size_t count;
    (void)state;
    assert_non_null(mkdtemp(folder));
    for (int f = 0; f < FILES; f++) {
        snprintf(paths[f], sizeof(paths[f]), "%s/%s", folder, files[f].name);
        write_file(paths[f], &files[f]);
    }
    assert_int_equal(ft_trace_set_open(&where, 1, NULL, &set, NULL), 0);
    struct ft_scan_block *blocks = ft_scan_order_blocks(set, &count);
    assert_int_equal(count, FILES * BLOCKS);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(blocks[i].end_ns, ends[i] * 1000000000);
        assert_true(i + 1 == count || blocks[i].watermark_ns == ends[i + 1] * 1000000000);
    }
    assert_true(blocks[4].block == 1 && blocks[5].block == 0);
    free(blocks);
    ft_trace_set_close(set);
    for (int f = 0; f < FILES; f++) {
        unlink(paths[f]);
    }
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(jobs_of_a_host_come_by_their_own_ends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
