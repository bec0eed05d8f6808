// SPDX-License-Identifier: MIT
//
// A whole private daemon: what programs did is in the trace, and accounted for.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "private_fixture.h"
#include "proto/calls.h"

static void thousand_events(struct maker *maker, const char *socket)
{
    fixture_call_some(maker, 1000);
    if (maker_attach(maker, socket))
        _exit(1);
}

static void test_a_process_that_ended_at_once_is_whole_in_the_trace(void **state)
{
    (void)state;
    struct fixture *fixture = fixture_start(NULL);
    pid_t pid = fixture_run_child(fixture, thousand_events);
    fixture_end(fixture);
    const struct ft_trace_process *process = fixture_only_process(fixture);
    assert_int_equal(process->pid, pid);
    assert_int_equal(process->emitted, 1000);
    assert_int_equal(process->stored, 1000);
    assert_int_equal(fixture_sum_dropped(process), 0);
    assert_int_equal(process->exit, FT_EXIT_CODE);
    assert_int_equal(process->exit_value, 7);
    assert_int_equal(process->argv_count, 2);
    assert_int_equal(process->tags_count, 2);
    assert_int_equal(process->job.rank, 3);
    assert_int_equal(process->job.source, FT_JOB_SOURCE_ENVIRONMENT);
    assert_memory_equal(process->job.id.data, "j7", 2);
    assert_int_equal(ft_trace_reader_thread_max(fixture->reader), 2);
    assert_int_equal(ft_trace_reader_events(fixture->reader), 1000);
    struct ft_bytes path = ft_trace_reader_file_path(fixture->reader, 1);
    assert_int_equal(path.len, strlen("/data/y (deleted)"));
    fixture_clean_up(fixture);
}

static void many_processes(struct maker *maker, const char *socket)
{
    (void)maker;
    for (int i = 0; i < 300; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            struct maker own;
            maker_init(&own);
            fixture_call_some(&own, 10);
            _exit(maker_attach(&own, socket) == 0 ? 0 : 1);
        }
        int status;
        waitpid(pid, &status, 0);
        if (status)
            _exit(1);
    }
}

static void test_three_hundred_short_processes_are_all_there(void **state)
{
    (void)state;
    struct fixture *fixture = fixture_start(NULL);
    fixture_run_child(fixture, many_processes);
    fixture_end(fixture);
    assert_int_equal(ft_trace_reader_process_max(fixture->reader), 300);
    for (uint32_t i = 1; i <= 300; i++) {
        const struct ft_trace_process *process = ft_trace_reader_process(fixture->reader, i);
        assert_int_equal(process->stored, 10);
        assert_int_equal(process->emitted, 10);
        assert_int_equal(process->exit, FT_EXIT_CODE);
    }
    fixture_clean_up(fixture);
}

enum { MANY = 3000000 };

static void many_events(struct maker *maker, const char *socket)
{
    if (maker_attach(maker, socket))
        _exit(1);
    fixture_call_some(maker, MANY);
}

static void test_what_the_ring_cannot_hold_is_counted(void **state)
{
    (void)state;
    struct fixture *fixture = fixture_start(NULL);
    fixture_run_child(fixture, many_events);
    fixture_end(fixture);
    const struct ft_trace_process *process = fixture_only_process(fixture);
    assert_int_equal(process->emitted, MANY);
    for (unsigned i = 0; i < FT_CAUSE_COUNT; i++)
        if (i != FT_CAUSE_RING_FULL)
            assert_int_equal(process->dropped[i], 0);
    assert_int_equal(process->emitted, process->stored + process->dropped[FT_CAUSE_RING_FULL]);
    assert_int_equal(ft_trace_reader_events(fixture->reader), process->stored);
    fixture_clean_up(fixture);
}

static void torn_events(struct maker *maker, const char *socket)
{
    uint64_t fill;
    fixture_call_some(maker, 10);
    maker->lines[0].emitted++;
    maker_reserve(maker, 0, 1, maker_ticks(), &fill);
    maker->lines[0].emitted++;
    fixture_call_some(maker, 10);
    maker->lines[1].call = FT_CALL_ID_read;
    maker->lines[1].file = 17;
    maker->lines[1].call_start = maker_ticks();
    if (maker_attach(maker, socket))
        _exit(1);
}

static void test_what_was_begun_and_not_published_is_torn(void **state)
{
    (void)state;
    struct fixture *fixture = fixture_start(NULL);
    fixture_run_child(fixture, torn_events);
    fixture_end(fixture);
    const struct ft_trace_process *process = fixture_only_process(fixture);
    assert_int_equal(process->emitted, 22);
    assert_int_equal(process->stored, 20);
    assert_int_equal(process->dropped[FT_CAUSE_TORN], 2);
    assert_int_equal(process->in_call_count, 1);
    assert_int_equal(process->in_call[0].call, FT_CALL_ID_read);
    assert_int_not_equal(process->in_call[0].file, 0);
    fixture_clean_up(fixture);
}

static void test_a_process_that_lives_on_is_a_gap(void **state)
{
    (void)state;
    struct fixture *fixture = fixture_start("end_grace=10ms");
    struct maker maker;
    maker_init(&maker);
    assert_int_equal(maker_attach(&maker, fixture->socket), 0);
    fixture_call_some(&maker, 100);
    fixture_end(fixture);
    const struct ft_trace_process *process = fixture_only_process(fixture);
    assert_int_equal(process->stored, 100);
    assert_int_equal(process->exit, FT_EXIT_NONE);
    size_t count;
    const struct ft_trace_gap *gaps = ft_trace_reader_gaps(fixture->reader, &count);
    assert_int_equal(count, 1);
    assert_int_equal(gaps[0].kind, FT_GAP_STILL_RUNNING);
    maker_fini(&maker);
    fixture_clean_up(fixture);
}

static void test_a_command_of_which_nothing_attached_leaves_a_file_that_says_so(void **state)
{
    (void)state;
    struct fixture *fixture = fixture_start(NULL);
    fixture_end(fixture);
    size_t count;
    const struct ft_trace_gap *gaps = ft_trace_reader_gaps(fixture->reader, &count);
    assert_int_equal(count, 1);
    assert_int_equal(gaps[0].kind, FT_GAP_NOT_ATTACHED);
    fixture_clean_up(fixture);
}

enum { NOBODYS_PID = 1234567890 };

static void vfork_and_exec(struct maker *maker, const char *socket)
{
    fixture_call_some(maker, 4);
    maker_vfork(maker, 0, 1, 0); // the child's pid is not known yet
    maker_define(maker, 0, 30, 0, FT_DEFINE_PATH, "/bin/true");
    maker_call_words(maker, 0, FT_CALL_ID_execve, FT_CALL_VFORK, 30, 0);
    maker_vfork(maker, 0, 0, NOBODYS_PID);
    maker_call_words(maker, 0, FT_CALL_ID_vfork, FT_CALL_NO_BYTES, 0, NOBODYS_PID | (uint64_t)FT_RESULT_SMALL << 60);
    if (maker_attach(maker, socket))
        _exit(1);
}

static void test_a_vfork_child_is_a_process_and_a_gap_where_it_does_not_attach(void **state)
{
    (void)state;
    struct fixture *fixture = fixture_start(NULL);
    pid_t pid = fixture_run_child(fixture, vfork_and_exec);
    fixture_end(fixture);
    assert_int_equal(ft_trace_reader_process_max(fixture->reader), 2);
    const struct ft_trace_process *parent = ft_trace_reader_process(fixture->reader, 1);
    const struct ft_trace_process *child = ft_trace_reader_process(fixture->reader, 2);
    assert_int_equal(parent->pid, pid);
    assert_int_equal(parent->emitted, 5);
    assert_int_equal(parent->stored, 5);
    assert_int_equal(child->pid, NOBODYS_PID);
    assert_int_equal(child->parent, 1);
    assert_int_equal(child->stored, 1);
    assert_int_equal(child->exit, FT_EXIT_EXEC);
    size_t count;
    const struct ft_trace_gap *gaps = ft_trace_reader_gaps(fixture->reader, &count);
    assert_int_equal(count, 1);
    assert_int_equal(gaps[0].kind, FT_GAP_NOT_ATTACHED);
    assert_int_equal(gaps[0].pid, NOBODYS_PID);
    fixture_clean_up(fixture);
}

static void exec_that_failed(struct maker *maker, const char *socket)
{
    maker_define(maker, 0, 30, 0, FT_DEFINE_PATH, "/no/such");
    maker_call_words(maker, 0, FT_CALL_ID_execve, 0, 30, 0);
    maker_call_words(maker, 0, FT_CALL_ID_execve, FT_CALL_NO_BYTES, 30,
                     UINT64_C(2) << 48 | (uint64_t)FT_RESULT_ERROR << 60);
    if (maker_attach(maker, socket))
        _exit(1);
}

static void test_an_exec_that_failed_is_no_gap(void **state)
{
    (void)state;
    struct fixture *fixture = fixture_start(NULL);
    fixture_run_child(fixture, exec_that_failed);
    fixture_end(fixture);
    size_t count;
    ft_trace_reader_gaps(fixture->reader, &count);
    assert_int_equal(count, 0);
    assert_int_equal(fixture_only_process(fixture)->stored, 2);
    fixture_clean_up(fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_process_that_ended_at_once_is_whole_in_the_trace),
        cmocka_unit_test(test_three_hundred_short_processes_are_all_there),
        cmocka_unit_test(test_what_the_ring_cannot_hold_is_counted),
        cmocka_unit_test(test_what_was_begun_and_not_published_is_torn),
        cmocka_unit_test(test_a_process_that_lives_on_is_a_gap),
        cmocka_unit_test(test_a_command_of_which_nothing_attached_leaves_a_file_that_says_so),
        cmocka_unit_test(test_a_vfork_child_is_a_process_and_a_gap_where_it_does_not_attach),
        cmocka_unit_test(test_an_exec_that_failed_is_no_gap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
