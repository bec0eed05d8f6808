// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>

#include "client/trace/flowtap-trace.h"
#include "proto/calls.h"
#include "tests/unit/cli/traces.h"

enum { HOSTS = 3, BLOCKS = 8, ROWS = 200, THREADS = 4 };

static struct ft_traces traces;

static int make_traces(void **state)
{
    (void)state;
    ft_traces_make(&traces, HOSTS, BLOCKS, ROWS, 3);
    return 0;
}

static int remove_traces(void **state)
{
    (void)state;
    ft_traces_remove(&traces);
    return 0;
}

static struct flowtap_trace *open_traces(void)
{
    const char *path = traces.folder;
    struct flowtap_trace *trace = NULL;
    struct flowtap_trace_error error = {0};
    if (flowtap_trace_open(&path, 1, NULL, 0, &trace, &error) < 0) {
        fail_msg("%s", error.text);
    }
    return trace;
}

struct sum {
    uint64_t count, of_times, of_bytes, of_processes;
};

static void add_batch(struct sum *sum, const struct flowtap_trace_batch *batch)
{
    sum->count += batch->count;
    for (size_t i = 0; i < batch->count; i++) {
        sum->of_times += (uint64_t)batch->start_ns[i] * 31 + (uint64_t)batch->duration_ns[i];
        sum->of_bytes += batch->bytes[i];
        sum->of_processes += batch->process[i];
    }
}

struct work {
    const struct flowtap_trace *trace;
    const struct flowtap_trace_select *select;
    uint32_t share, share_count;
    struct sum sum;
    int status;
};

static void *read_share(void *work_untyped)
{
    struct work *work = work_untyped;
    struct flowtap_trace_cursor *cursor;
    const struct flowtap_trace_batch *batch;
    work->status = flowtap_trace_cursor_open(work->trace, work->select, FLOWTAP_TRACE_ALL, work->share,
                                             work->share_count, &cursor, NULL);
    if (work->status < 0) {
        return NULL;
    }
    while ((work->status = flowtap_trace_cursor_next(cursor, &batch, NULL)) > 0) {
        add_batch(&work->sum, batch);
        flowtap_trace_path_text(work->trace, batch->path[0]);
        flowtap_trace_name_text(work->trace, batch->name[0]);
    }
    flowtap_trace_cursor_close(cursor);
    return NULL;
}

static struct sum read_in_threads(const struct flowtap_trace *trace, const struct flowtap_trace_select *select,
                                  uint32_t count)
{
    struct work works[THREADS];
    pthread_t threads[THREADS];
    struct sum sum = {0};
    for (uint32_t i = 0; i < count; i++) {
        works[i] = (struct work){.trace = trace, .select = select, .share = i, .share_count = count};
        assert_int_equal(pthread_create(&threads[i], NULL, read_share, &works[i]), 0);
    }
    for (uint32_t i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(works[i].status, 0);
        sum.count += works[i].sum.count;
        sum.of_times += works[i].sum.of_times;
        sum.of_bytes += works[i].sum.of_bytes;
        sum.of_processes += works[i].sum.of_processes;
    }
    return sum;
}

static void threads_read_a_trace_and_a_selection_together(void **state)
{
    (void)state;
    struct flowtap_trace *trace = open_traces();
    struct flowtap_trace_select *select;
    struct flowtap_trace_criteria criteria = {.where = "dur>50 && path~'/data/*' && pid!=1001 && call!=open"};
    struct sum whole = {0}, chosen = {0};
    assert_int_equal(flowtap_trace_select_create(trace, &criteria, sizeof(criteria), &select, NULL), 0);
    for (size_t i = 0; i < traces.count; i++) {
        const struct ft_traces_event *event = &traces.events[i];
        bool is_chosen = event->event.dur_ns > 50 && event->file > 0 && event->file < FT_TRACES_FILES &&
                         event->process != 1 && event->event.call != FT_CALL_ID_open;
        whole.count++;
        chosen.count += is_chosen;
        chosen.of_bytes += is_chosen ? event->event.bytes : 0;
        whole.of_times += (uint64_t)event->ts_ns * 31 + (uint64_t)event->event.dur_ns;
    }
    for (uint32_t count = 1; count <= THREADS; count++) {
        struct sum all = read_in_threads(trace, NULL, count), some = read_in_threads(trace, select, count);
        assert_int_equal(all.count, whole.count);
        assert_int_equal(all.of_times, whole.of_times);
        assert_int_equal(some.count, chosen.count);
        assert_int_equal(some.of_bytes, chosen.of_bytes);
    }
    assert_true(chosen.count > 100);
    flowtap_trace_select_destroy(select);
    flowtap_trace_close(trace);
}

static void *open_and_read(void *sum_untyped)
{
    struct flowtap_trace *trace = open_traces();
    *(struct sum *)sum_untyped = read_in_threads(trace, NULL, 2);
    flowtap_trace_close(trace);
    return NULL;
}

static void handles_do_not_know_of_each_other(void **state)
{
    (void)state;
    pthread_t threads[2];
    struct sum sums[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, open_and_read, &sums[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(sums[i].count, HOSTS * BLOCKS * ROWS);
    }
    assert_int_equal(sums[0].of_times, sums[1].of_times);
}

/* Whatever was asked for is there, and nothing else. */
static void a_batch_has_the_columns_that_were_asked_for(void **state)
{
    (void)state;
    struct flowtap_trace *trace = open_traces();
    struct flowtap_trace_select *select;
    struct flowtap_trace_criteria criteria = {.where = "size<9 || dur>=0"};
    assert_int_equal(flowtap_trace_select_create(trace, &criteria, sizeof(criteria), &select, NULL), 0);
    for (uint32_t bit = 0; bit < 2 * 19; bit++) {
        uint32_t columns = UINT32_C(1) << bit / 2;
        struct flowtap_trace_cursor *cursor;
        const struct flowtap_trace_batch *batch;
        const struct flowtap_trace_select *by = bit % 2 ? select : NULL;
        assert_int_equal(flowtap_trace_cursor_open(trace, by, columns, 0, 1, &cursor, NULL), 0);
        assert_int_equal(flowtap_trace_cursor_next(cursor, &batch, NULL), 1);
        assert_int_equal(batch->start_ns != NULL, columns == FLOWTAP_TRACE_START);
        assert_int_equal(batch->duration_ns != NULL, columns == FLOWTAP_TRACE_DURATION);
        assert_int_equal(batch->call != NULL && batch->kind != NULL, columns == FLOWTAP_TRACE_CALL);
        assert_int_equal(batch->name != NULL && batch->category != NULL, columns == FLOWTAP_TRACE_NAME);
        assert_int_equal(batch->process != NULL, columns == FLOWTAP_TRACE_PROCESS);
        assert_int_equal(batch->thread != NULL, columns == FLOWTAP_TRACE_THREAD);
        assert_int_equal(batch->file != NULL && batch->path != NULL, columns == FLOWTAP_TRACE_FILE);
        assert_int_equal(batch->file2 != NULL && batch->path2 != NULL, columns == FLOWTAP_TRACE_FILE2);
        assert_int_equal(batch->fd != NULL, columns == FLOWTAP_TRACE_FD);
        assert_int_equal(batch->size != NULL, columns == FLOWTAP_TRACE_SIZE);
        assert_int_equal(batch->offset != NULL, columns == FLOWTAP_TRACE_OFFSET);
        assert_int_equal(batch->result != NULL, columns == FLOWTAP_TRACE_RESULT);
        assert_int_equal(batch->bytes != NULL, columns == FLOWTAP_TRACE_BYTES);
        assert_int_equal(batch->word != NULL, columns == FLOWTAP_TRACE_WORD);
        assert_int_equal(batch->error != NULL, columns == FLOWTAP_TRACE_ERROR);
        assert_int_equal(batch->tags != NULL, columns == FLOWTAP_TRACE_TAGS);
        assert_int_equal(batch->flags != NULL, columns == FLOWTAP_TRACE_FLAGS);
        assert_int_equal(batch->arg_count != NULL && batch->first_arg != NULL, columns == FLOWTAP_TRACE_ARGS);
        flowtap_trace_cursor_close(cursor);
    }
    flowtap_trace_select_destroy(select);
    flowtap_trace_close(trace);
}

static void the_end_comes_again_and_again(void **state)
{
    (void)state;
    struct flowtap_trace *trace = open_traces();
    struct flowtap_trace_cursor *cursor;
    const struct flowtap_trace_batch *batch;
    unsigned batches = 0;
    assert_int_equal(flowtap_trace_cursor_open(trace, NULL, 0, 0, 1, &cursor, NULL), 0);
    for (; flowtap_trace_cursor_next(cursor, &batch, NULL) == 1; batches++) {
        assert_int_equal(batch->count, ROWS);
        assert_int_equal(batch->part, batches / BLOCKS);
        assert_int_equal(batch->host, batches / BLOCKS);
    }
    assert_int_equal(batches, HOSTS * BLOCKS);
    assert_int_equal(flowtap_trace_cursor_next(cursor, &batch, NULL), 0);
    flowtap_trace_cursor_close(cursor);
    flowtap_trace_close(trace);
}

static void wrong_arguments_are_told(void **state)
{
    (void)state;
    struct flowtap_trace *trace = open_traces();
    struct flowtap_trace_cursor *cursor = NULL;
    struct flowtap_trace_error error;
    struct flowtap_trace_process process;
    struct flowtap_trace_part part;
    struct flowtap_trace_clock clock;
    assert_int_equal(flowtap_trace_cursor_open(trace, NULL, 1, 2, 2, &cursor, &error), -EINVAL);
    assert_non_null(strstr(error.text, "share 2 of 2"));
    assert_int_equal(flowtap_trace_cursor_open(trace, NULL, 1, 0, 0, &cursor, NULL), -EINVAL);
    assert_int_equal(flowtap_trace_cursor_open(trace, NULL, UINT32_C(1) << 19, 0, 1, &cursor, &error), -EINVAL);
    assert_null(cursor);
    assert_int_equal(flowtap_trace_process_get(trace, HOSTS * FT_TRACES_PROCESSES, &process, sizeof(process)), -EINVAL);
    assert_int_equal(flowtap_trace_process_get(trace, FLOWTAP_TRACE_NONE, &process, sizeof(process)), -EINVAL);
    assert_int_equal(flowtap_trace_part_get(trace, HOSTS, &part, sizeof(part)), -EINVAL);
    assert_int_equal(flowtap_trace_clock_get(trace, 0, 0, &clock, sizeof(clock)), -EINVAL);
    const uint32_t out_of_range[] = {FLOWTAP_TRACE_NONE, FLOWTAP_TRACE_NONE - 1, 1 << 30};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(flowtap_trace_name_text(trace, out_of_range[i]).count, 0);
        assert_int_equal(flowtap_trace_path_text(trace, out_of_range[i]).count, 0);
        assert_int_equal(flowtap_trace_host_name(trace, out_of_range[i]).count, 0);
        assert_int_equal(flowtap_trace_call_name(trace, out_of_range[i]).count, 0);
        assert_int_equal(flowtap_trace_tag_count(trace, out_of_range[i]), 0);
        assert_int_equal(flowtap_trace_tag_value(trace, out_of_range[i], out_of_range[i], "a").count, 0);
        assert_string_equal(flowtap_trace_cause_name(out_of_range[i]), "unknown");
    }
    assert_int_equal(flowtap_trace_open(NULL, 0, NULL, 0, &trace, &error), -EINVAL);
    flowtap_trace_close(trace);
    flowtap_trace_close(NULL);
    flowtap_trace_cursor_close(NULL);
    flowtap_trace_select_destroy(NULL);
    flowtap_trace_totals_destroy(NULL);
}

/* A caller that was built with an older header has shorter structs, one with a newer header longer ones. */
static void structs_may_be_older_or_newer(void **state)
{
    (void)state;
    struct flowtap_trace *trace = open_traces();
    struct {
        struct flowtap_trace_facts facts;
        uint64_t newer;
    } room, whole = {.newer = 7};
    memset(&room, 0xee, sizeof(room));
    assert_int_equal(flowtap_trace_facts_get(trace, &whole.facts, sizeof(whole)), 0);
    assert_int_equal(whole.newer, 0);
    assert_int_equal(flowtap_trace_facts_get(trace, &room.facts, sizeof(uint64_t)), 0);
    assert_int_equal(room.facts.events, HOSTS * BLOCKS * ROWS);
    assert_int_equal(room.facts.profiled_events, UINT64_C(0xeeeeeeeeeeeeeeee));
    struct flowtap_trace_select *select;
    struct flowtap_trace_criteria criteria = {.start_ns = INT64_MAX, .where = "this is not read"};
    assert_int_equal(flowtap_trace_select_create(trace, &criteria, sizeof(criteria.start_ns), &select, NULL), 0);
    struct flowtap_trace_totals *totals;
    assert_int_equal(flowtap_trace_totals_read(trace, select, &totals, NULL), 0);
    assert_int_equal(flowtap_trace_totals_count(totals), 0);
    assert_null(flowtap_trace_totals_get(totals, 0));
    flowtap_trace_totals_destroy(totals);
    flowtap_trace_select_destroy(select);
    flowtap_trace_close(trace);
}

static void a_file_that_was_cut_after_it_was_opened_is_an_error(void **state)
{
    (void)state;
    struct flowtap_trace *trace = open_traces();
    struct flowtap_trace_cursor *cursor;
    struct flowtap_trace_error error;
    const struct flowtap_trace_batch *batch;
    char path[128];
    unsigned batches = 0, errors = 0;
    assert_int_equal(flowtap_trace_cursor_open(trace, NULL, FLOWTAP_TRACE_ALL, 0, 1, &cursor, NULL), 0);
    snprintf(path, sizeof(path), "%s/host1.flow", traces.folder);
    assert_int_equal(truncate(path, 100), 0);
    for (int status; (status = flowtap_trace_cursor_next(cursor, &batch, &error)) != 0;) {
        batches += status > 0;
        errors += status < 0;
        if (status < 0) {
            assert_int_equal(status, -ESTALE);
            assert_int_equal(error.code, -ESTALE);
            assert_non_null(strstr(error.text, path));
        }
    }
    assert_int_equal(batches, (HOSTS - 1) * BLOCKS);
    assert_int_equal(errors, BLOCKS);
    struct flowtap_trace_totals *totals = NULL;
    assert_int_equal(flowtap_trace_totals_read(trace, NULL, &totals, &error), -ESTALE);
    assert_null(totals);
    flowtap_trace_cursor_close(cursor);
    flowtap_trace_close(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_read_a_trace_and_a_selection_together),
        cmocka_unit_test(handles_do_not_know_of_each_other),
        cmocka_unit_test(a_batch_has_the_columns_that_were_asked_for),
        cmocka_unit_test(the_end_comes_again_and_again),
        cmocka_unit_test(wrong_arguments_are_told),
        cmocka_unit_test(structs_may_be_older_or_newer),
        cmocka_unit_test(a_file_that_was_cut_after_it_was_opened_is_an_error),
    };
    return cmocka_run_group_tests(tests, make_traces, remove_traces);
}
