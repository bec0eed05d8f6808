// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "client/cli/event_stream.h"
#include "tests/unit/cli/traces.h"

static int by_time(const void *a_untyped, const void *b_untyped)
{
    const struct ft_traces_event *a = a_untyped, *b = b_untyped;
    return a->ts_ns < b->ts_ns ? -1 : a->ts_ns > b->ts_ns;
}

static void check_order(const struct ft_traces *traces, const struct ft_trace_set *set, bool is_tight)
{
    struct ft_event_stream stream;
    const struct ft_stream_event *event;
    int64_t thread_ns[3][64] = {{0}};
    size_t at = 0;
    assert_int_equal(ft_event_stream_init(&stream, set, NULL), 0);
    stream.budget_rows = is_tight ? 1 : stream.budget_rows;
    while ((event = ft_event_stream_next(&stream))) {
        assert_true(at < traces->count);
        assert_int_equal(event->ts_ns, traces->events[at].ts_ns);
        assert_true(event->reader < 3 && event->event.thread < 64);
        assert_true(thread_ns[event->reader][event->event.thread] <= event->ts_ns);
        thread_ns[event->reader][event->event.thread] = event->ts_ns;
        at++;
    }
    assert_int_equal(at, traces->count);
    assert_null(ft_event_stream_next(&stream));
    assert_int_equal(stream.bad_blocks, 0);
    assert_int_equal(stream.open_count, 0);
    ft_event_stream_fini(&stream);
}

static void all_events_come_in_order_of_time(void **state)
{
    (void)state;
    static const struct {
        unsigned hosts, blocks, rows;
    } shapes[] = {{1, 0, 1}, {1, 1, 1}, {1, 1, 1000}, {1, 40, 50}, {3, 30, 70}, {2, 3, 9000}};
    for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        struct ft_traces traces;
        ft_traces_make(&traces, shapes[i].hosts, shapes[i].blocks, shapes[i].rows, i);
        struct ft_trace_set *set = ft_traces_open(&traces);
        qsort(traces.events, traces.count, sizeof(*traces.events), by_time);
        check_order(&traces, set, false);
        check_order(&traces, set, true);
        ft_trace_set_close(set);
        ft_traces_remove(&traces);
    }
}

static void a_stream_may_be_left_in_the_middle(void **state)
{
    (void)state;
    struct ft_traces traces;
    struct ft_event_stream stream;
    ft_traces_make(&traces, 2, 5, 100, 3);
    struct ft_trace_set *set = ft_traces_open(&traces);
    assert_int_equal(ft_event_stream_init(&stream, set, NULL), 0);
    for (int i = 0; i < 150; i++) {
        assert_non_null(ft_event_stream_next(&stream));
    }
    ft_event_stream_fini(&stream);
    ft_trace_set_close(set);
    ft_traces_remove(&traces);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_events_come_in_order_of_time),
        cmocka_unit_test(a_stream_may_be_left_in_the_middle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
