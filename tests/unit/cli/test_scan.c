// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/cli/analysis_calls.h"
#include "client/cli/analysis_scan.h"
#include "proto/calls.h"
#include "tests/unit/cli/traces.h"

static struct ft_sum sum_where(const struct ft_traces *traces, unsigned call, unsigned file)
{
    struct ft_sum sum = {0};
    for (size_t i = 0; i < traces->count; i++) {
        const struct ft_traces_event *e = &traces->events[i];
        if (e->event.call == call && (file == UINT32_MAX || e->file == file)) {
            sum.count++;
            sum.bytes += e->event.bytes;
            sum.time_ns += (uint64_t)e->event.dur_ns;
        }
    }
    return sum;
}

static void check_calls(const struct ft_traces *traces, const struct ft_calls *calls)
{
    for (size_t i = 0; i < calls->count; i++) {
        const struct ft_call_sum *call = &calls->items[i];
        unsigned id = strcmp(call->name, "read") == 0              ? FT_CALL_ID_read
                      : strcmp(call->name, "write") == 0           ? FT_CALL_ID_write
                      : strcmp(call->name, "open") == 0            ? FT_CALL_ID_open
                      : strcmp(call->name, "lseek") == 0           ? FT_CALL_ID_lseek
                      : strcmp(call->name, "copy_file_range") == 0 ? FT_CALL_ID_copy_file_range
                                                                   : 0;
        struct ft_sum sum = sum_where(traces, id, UINT32_MAX);
        if (!call->is_span) {
            assert_int_equal(call->sum.count, sum.count);
            assert_int_equal(call->sum.bytes, sum.bytes);
            assert_int_equal(call->sum.time_ns, sum.time_ns);
        }
    }
}

static void totals_equal_those_added_up_one_by_one(void **state)
{
    (void)state;
    struct ft_traces traces;
    ft_traces_make(&traces, 2, 12, 300, 5);
    struct ft_trace_set *set = ft_traces_open(&traces);
    struct ft_calls calls;
    ft_calls_init(&calls);
    ft_calls_read(&calls, set);
    ft_calls_sort(&calls);
    assert_int_equal(calls.bad_blocks, 0);
    check_calls(&traces, &calls);
    struct ft_sum reads = sum_where(&traces, FT_CALL_ID_read, UINT32_MAX);
    struct ft_sum pipe_reads = sum_where(&traces, FT_CALL_ID_read, 0);
    struct ft_sum copies = sum_where(&traces, FT_CALL_ID_copy_file_range, UINT32_MAX);
    struct ft_sum copies_from_pipe = sum_where(&traces, FT_CALL_ID_copy_file_range, 0);
    assert_int_equal(calls.read.count, reads.count - pipe_reads.count + copies.count - copies_from_pipe.count);
    assert_int_equal(calls.read.bytes, reads.bytes - pipe_reads.bytes + copies.bytes - copies_from_pipe.bytes);
    struct ft_sum pipe_writes = sum_where(&traces, FT_CALL_ID_write, 0);
    assert_int_equal(calls.other_io.count, pipe_reads.count + pipe_writes.count);
    assert_int_equal(calls.metadata.bytes, 0);
    ft_calls_fini(&calls);
    ft_trace_set_close(set);
    ft_traces_remove(&traces);
}

static void files_and_processes_get_what_is_theirs(void **state)
{
    (void)state;
    struct ft_traces traces;
    ft_traces_make(&traces, 1, 12, 300, 6);
    struct ft_trace_set *set = ft_traces_open(&traces);
    struct ft_scan scan;
    assert_int_equal(ft_scan_read(&scan, set, FT_SCAN_FILES | FT_SCAN_PROCESSES | FT_SCAN_UNIONS, NULL), 0);
    assert_int_equal(scan.rows, traces.count);
    assert_int_equal(scan.bad_blocks, 0);
    /* the path of which nothing is known is its file's */
    assert_int_equal(ft_scan_count_files(&scan), FT_TRACES_FILES - 1);
    for (uint32_t f = 0; f < scan.file_count; f++) {
        const struct ft_entry *file = &scan.entries.items[f];
        struct ft_bytes path = ft_entry_path(&scan.entries, file);
        if (path.len == 7 && path.data[6] == '5') {
            struct ft_sum reads = sum_where(&traces, FT_CALL_ID_read, 5);
            struct ft_sum copies = sum_where(&traces, FT_CALL_ID_copy_file_range, 5);
            struct ft_file_sum sum = ft_file_sums_get(&scan.files, f);
            assert_int_equal(sum.reads, reads.count + copies.count);
            assert_int_equal(sum.read_bytes, reads.bytes + copies.bytes);
            assert_int_equal(sum.opens, sum_where(&traces, FT_CALL_ID_open, 5).count);
            assert_int_equal(sum.processes, FT_TRACES_PROCESSES);
        }
    }
    uint64_t events = 0;
    for (size_t p = 0; p < scan.process_count; p++) {
        events += scan.processes[p].events;
    }
    assert_int_equal(events, traces.count);
    ft_scan_fini(&scan);
    ft_trace_set_close(set);
    ft_traces_remove(&traces);
}

/* The union by the book: all intervals sorted at once. */
static int64_t union_where(const struct ft_traces *traces, bool (*is_wanted)(const struct ft_traces_event *))
{
    struct ft_intervals list = {0};
    for (size_t i = 0; i < traces->count; i++) {
        const struct ft_traces_event *e = &traces->events[i];
        if (is_wanted(e)) {
            ft_intervals_add(&list, e->ts_ns, e->ts_ns + e->event.dur_ns);
        }
    }
    ft_intervals_normalize(&list);
    int64_t length = ft_intervals_length(&list);
    ft_intervals_fini(&list);
    return length;
}

static bool is_span(const struct ft_traces_event *e)
{
    return e->event.kind == FT_EVENT_SPAN;
}

static bool is_io(const struct ft_traces_event *e)
{
    bool is_copy_to_file = e->event.call == FT_CALL_ID_copy_file_range;
    return e->event.kind == FT_EVENT_CALL && (e->file != 0 || is_copy_to_file);
}

static void unions_do_not_depend_on_blocks_and_threads(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 5; seed++) {
        struct ft_traces traces;
        struct ft_scan scan;
        ft_traces_make(&traces, 1 + seed % 3, 20, 100, seed);
        struct ft_trace_set *set = ft_traces_open(&traces);
        assert_int_equal(ft_scan_read(&scan, set, FT_SCAN_UNIONS, NULL), 0);
        assert_int_equal(scan.sweep.totals.total_ns[FT_SWEEP_APP], union_where(&traces, is_span));
        assert_int_equal(scan.sweep.totals.total_ns[FT_SWEEP_IO], union_where(&traces, is_io));
        ft_scan_fini(&scan);
        ft_trace_set_close(set);
        ft_traces_remove(&traces);
    }
}

/* Files are then told apart by how calls count for them alone. */
static void processes_get_the_same_where_files_are_not_asked_for(void **state)
{
    (void)state;
    struct ft_traces traces;
    ft_traces_make(&traces, 2, 12, 300, 6);
    struct ft_trace_set *set = ft_traces_open(&traces);
    struct ft_scan with, without;
    assert_int_equal(ft_scan_read(&with, set, FT_SCAN_FILES | FT_SCAN_PROCESSES, NULL), 0);
    assert_int_equal(ft_scan_read(&without, set, FT_SCAN_PROCESSES, NULL), 0);
    assert_int_equal(with.process_count, without.process_count);
    for (size_t p = 0; p < with.process_count; p++) {
        const struct ft_process_sum *a = &with.processes[p], *b = &without.processes[p];
        assert_int_equal(a->events, b->events);
        assert_int_equal(a->read_bytes, b->read_bytes);
        assert_int_equal(a->written_bytes, b->written_bytes);
        assert_int_equal(a->io_time_ns, b->io_time_ns);
        assert_int_equal(a->kernel_like_bytes, b->kernel_like_bytes);
    }
    ft_scan_fini(&with);
    ft_scan_fini(&without);
    ft_trace_set_close(set);
    ft_traces_remove(&traces);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_equal_those_added_up_one_by_one),
        cmocka_unit_test(files_and_processes_get_what_is_theirs),
        cmocka_unit_test(processes_get_the_same_where_files_are_not_asked_for),
        cmocka_unit_test(unions_do_not_depend_on_blocks_and_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
