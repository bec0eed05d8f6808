// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/cli/event_stream.h"
#include "client/trace/filter_impl.h"
#include "proto/calls.h"
#include "tests/unit/cli/traces.h"

static void what_is_wrong_is_pointed_at(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t at;
        const char *says;
    } cases[] = {
        {"", 0, "something is missing"},
        {"   ", 3, "something is missing"},
        {"size", 4, "one of ="},
        {"size<", 5, "a value is missing"},
        {"size<1 &&", 9, "something is missing"},
        {"size<1 && &&", 10, "a field was expected"},
        {"call=pread && siz<1", 14, "no field 'siz'"},
        {"size<4x", 5, "unit"},
        {"size<4K", 5, "unit"},
        {"dur>1KiB", 4, "unit"},
        {"pid=1k", 4, "no unit"},
        {"size<1.5", 5, "whole number"},
        {"dur>0.5ns", 4, "whole number"},
        {"size<99999999999999999999", 5, "number was expected"},
        {"size<9999999999999T", 5, "whole number"},
        {"size~4", 4, "is a number"},
        {"call<pread", 4, "is text"},
        {"tag=1", 3, "tag.NAME"},
        {"tag.=1", 4, "tag's name"},
        {"tag.epoch<two", 10, "only numbers"},
        {"(size<1", 0, "not closed"},
        {"(size<1 size", 8, "&&, || or )"},
        {"size<1 size<2", 7, "&& or ||"},
        {"path=\"a", 5, "no end"},
        {"size<1)", 6, "&& or ||"},
        {"errno=EWHAT", 6, "number was expected"},
        {"size < 1 & pid=2", 9, "&& or ||"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ft_filter_error error;
        if (ft_filter_parse(cases[i].text, &error)) {
            fail_msg("'%s' was understood", cases[i].text);
        }
        if (error.at != cases[i].at || !strstr(error.text, cases[i].says)) {
            fail_msg("'%s': '%s' at %zu", cases[i].text, error.text, error.at);
        }
    }
}

static void numbers_have_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t number;
    } cases[] = {
        {"size=4096", 4096},   {"size=4KiB", 4096},    {"size=1.5MiB", 1572864},
        {"size=2M", 2000000},  {"size=4k", 4000},      {"result=-1", -1},
        {"dur=1", 1},          {"dur=1.5us", 1500},    {"dur=1.5µs", 1500},
        {"dur=2ms", 2000000},  {"dur=2s", 2000000000}, {"dur=1min", 60000000000},
        {"t=1.5", 1500000000}, {"t=2ms", 2000000},     {"ts=1795975126633435155", INT64_C(1795975126633435155)},
        {"errno=ENOENT", 2},   {"errno=13", 13},       {"rank=7", 7}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ft_filter_error error;
        struct ft_filter *filter = ft_filter_parse(cases[i].text, &error);
        assert_non_null(filter);
        if (filter->nodes[filter->root].number != cases[i].number) {
            fail_msg("%s: %lld", cases[i].text, (long long)filter->nodes[filter->root].number);
        }
        ft_filter_destroy(filter);
    }
}

static void patterns_match(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text;
        bool matches;
    } cases[] = {{"", "", true},
                 {"", "a", false},
                 {"*", "", true},
                 {"*", "/a/b", true},
                 {"*.h5", "/a/b.h5", true},
                 {"*.h5", "/a/b.h5x", false},
                 {"a?c", "abc", true},
                 {"a?c", "ac", false},
                 {"a*b*c", "aXbYc", true},
                 {"a*b*c", "aXcYb", false},
                 {"[a-c]x", "bx", true},
                 {"[a-c]x", "dx", false},
                 {"[!a]", "b", true},
                 {"[!a]", "a", false},
                 {"[]a]", "]", true},
                 {"[", "[", true},
                 {"[ab", "[ab", true},
                 {"\\*", "*", true},
                 {"\\*", "x", false},
                 {"\\", "\\", true},
                 {"*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaa", false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (ft_filter_glob(cases[i].pattern, strlen(cases[i].pattern), cases[i].text, strlen(cases[i].text)) !=
            cases[i].matches) {
            fail_msg("'%s' and '%s'", cases[i].pattern, cases[i].text);
        }
    }
}

static void quoted_text_means_itself(void **state)
{
    (void)state;
    char bytes[256];
    for (int i = 0; i < 255; i++) {
        bytes[i] = (char)(i + 1);
    }
    char *quoted = ft_filter_quote(bytes, 255), text[2048] = "path=";
    strcat(text, quoted);
    struct ft_filter_error error;
    struct ft_filter *filter = ft_filter_parse(text, &error);
    assert_non_null(filter);
    assert_int_equal(filter->nodes[filter->root].text_count, 255);
    assert_memory_equal(filter->nodes[filter->root].text, bytes, 255);
    ft_filter_destroy(filter);
    free(quoted);
}

/* Whatever the bytes are: understood, or a place within them. */
static void any_bytes_are_understood_or_refused(void **state)
{
    (void)state;
    static const char *const words[] = {"call", "size", "tag.", "tag.a", "path",
                                        "(",    ")",    "!",    "&&",    "||",
                                        "=",    "~",    "!~",   "<",     ">=",
                                        "4KiB", "-1",   "\"",   "'",     "*",
                                        " ",    "\\",   "dur",  "1ms",   "99999999999999999999",
                                        "t",    "\xff", "x1",   "[a"};
    unsigned seed = 7, understood = 0;
    for (int round = 0; round < 20000; round++) {
        char text[400] = "";
        unsigned count = (unsigned)rand_r(&seed) % 12;
        for (unsigned i = 0; i < count; i++) {
            char byte[2] = {(char)(rand_r(&seed) % 255 + 1), 0};
            bool is_word = rand_r(&seed) % 8 != 0;
            strcat(text, is_word ? words[(unsigned)rand_r(&seed) % (sizeof(words) / sizeof(words[0]))] : byte);
        }
        struct ft_filter_error error;
        struct ft_filter *filter = ft_filter_parse(text, &error);
        understood += filter != NULL;
        assert_true(filter || (error.at <= strlen(text) && error.text[0]));
        ft_filter_destroy(filter);
    }
    assert_true(understood > 20);
}

static void depth_and_length_have_a_bound(void **state)
{
    (void)state;
    struct ft_filter_error error;
    char *text = malloc(100001);
    assert_non_null(text);
    memset(text, '(', 100000);
    text[100000] = '\0';
    assert_null(ft_filter_parse(text, &error));
    assert_non_null(strstr(error.text, "too deep"));
    strcpy(text, "pid=1");
    for (int i = 0; i < 2000; i++) {
        memcpy(text + 5 + 7 * i, "||pid=1", 8);
    }
    assert_null(ft_filter_parse(text, &error));
    assert_non_null(strstr(error.text, "too many"));
    free(text);
}

static bool is_read(const struct ft_traces_event *e)
{
    return e->event.call == FT_CALL_ID_read;
}
static bool is_big_or_copy(const struct ft_traces_event *e)
{
    return (e->event.has & FT_HAS_BYTES && e->event.bytes >= 4096) || e->event.call == FT_CALL_ID_copy_file_range;
}
static bool is_of_file_3(const struct ft_traces_event *e)
{
    return e->file == 3;
}
static bool is_long_of_process_1(const struct ft_traces_event *e)
{
    return e->event.dur_ns > 200 && e->process == 1;
}
static bool is_span(const struct ft_traces_event *e)
{
    return e->event.kind == FT_EVENT_SPAN;
}
static bool has_no_small_bytes(const struct ft_traces_event *e)
{
    return !(e->event.has & FT_HAS_BYTES && e->event.bytes < 1000);
}
static bool is_of_host_1_and_not_posix(const struct ft_traces_event *e)
{
    return e->host == 1 && e->event.kind == FT_EVENT_SPAN;
}
static bool is_never(const struct ft_traces_event *e)
{
    (void)e;
    return false;
}

static uint64_t sum_of(const struct ft_trace_set *set, const char *text, size_t *count)
{
    struct ft_filter_error error;
    struct ft_filter *filter = ft_filter_parse(text, &error);
    if (!filter) {
        fail_msg("%s: %s", text, error.text);
    }
    struct ft_where *where = ft_where_create(filter, set);
    struct ft_event_stream stream;
    const struct ft_stream_event *event;
    uint64_t sum = 0;
    int64_t last_ns = INT64_MIN;
    assert_int_equal(ft_event_stream_init(&stream, set, where), 0);
    stream.budget_rows = 1;
    for (*count = 0; (event = ft_event_stream_next(&stream)); (*count)++) {
        assert_true(event->ts_ns >= last_ns);
        last_ns = event->ts_ns;
        sum += (uint64_t)event->ts_ns * 31 + (uint64_t)event->event.dur_ns;
    }
    ft_event_stream_fini(&stream);
    ft_where_destroy(where);
    ft_filter_destroy(filter);
    return sum;
}

static void the_events_that_match_are_those(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool (*holds)(const struct ft_traces_event *event);
    } cases[] = {{"call=read", is_read},
                 {"name==\"read\" && kind=call", is_read},
                 {"!(call!=read) && !kind=span", is_read},
                 {"bytes>=4KiB || call~copy*", is_big_or_copy},
                 {"!(bytes<4096 && !(call=copy_file_range)) && kind=call && (bytes>=0)", is_big_or_copy},
                 {"path='/data/3'", is_of_file_3},
                 {"path~\"*[3]\" && path!~\"*pipe*\"", is_of_file_3},
                 {"dur>0.2us && pid=1001", is_long_of_process_1},
                 {"pid>1000&&pid<1002&&dur>=201ns", is_long_of_process_1},
                 {"kind=span", is_span},
                 {"cat!=POSIX", is_span},
                 {"!(bytes<1k)", has_no_small_bytes},
                 {"host=host1 && cat!=POSIX", is_of_host_1_and_not_posix},
                 {"host!=host0 && host!~\"*2\" && kind~s*", is_of_host_1_and_not_posix},
                 {"errno!=0", is_never},
                 {"rank=0 || tag.a=1 || tag.a!=1 || exe~'*' || job~'*'", is_never},
                 {"t<0 || size<1 || path2=x", is_never}};
    struct ft_traces traces;
    ft_traces_make(&traces, 3, 12, 100, 5);
    struct ft_trace_set *set = ft_traces_open(&traces);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t count, expected = 0;
        uint64_t sum = sum_of(set, cases[i].text, &count), expected_sum = 0;
        for (size_t k = 0; k < traces.count; k++) {
            if (cases[i].holds(&traces.events[k])) {
                expected++;
                expected_sum += (uint64_t)traces.events[k].ts_ns * 31 + (uint64_t)traces.events[k].event.dur_ns;
            }
        }
        if (count != expected || sum != expected_sum) {
            fail_msg("%s: %zu events, not %zu", cases[i].text, count, expected);
        }
        if (expected == 0 && cases[i].holds != is_never) {
            fail_msg("%s: no event is such a one", cases[i].text);
        }
    }
    ft_trace_set_close(set);
    ft_traces_remove(&traces);
}

/* A head that is passed over has no event that matches; and heads are passed over. */
static void blocks_that_cannot_match_are_not_read(void **state)
{
    (void)state;
    static const char *const texts[] = {"t<20us",         "t>=10us && t<15us && call=read", "dur>100ms",
                                        "errno!=0",       "call=unlink || bytes>100M",      "pid=5",
                                        "!(name!=unlink)"};
    struct ft_traces traces;
    ft_traces_make(&traces, 2, 10, 500, 5);
    struct ft_trace_set *set = ft_traces_open(&traces);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct ft_filter_error error;
        struct ft_filter *filter = ft_filter_parse(texts[i], &error);
        assert_non_null(filter);
        struct ft_where *where = ft_where_create(filter, set);
        struct ft_event_stream stream;
        assert_int_equal(ft_event_stream_init(&stream, set, where), 0);
        while (ft_event_stream_next(&stream)) {
        }
        ft_event_stream_fini(&stream);
        if (where->stats->blocks != 20 || where->stats->blocks_read > 4) {
            fail_msg("%s: %zu of %zu blocks read", texts[i], (size_t)where->stats->blocks_read,
                     (size_t)where->stats->blocks);
        }
        ft_where_destroy(where);
        ft_filter_destroy(filter);
    }
    ft_trace_set_close(set);
    ft_traces_remove(&traces);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_wrong_is_pointed_at),
        cmocka_unit_test(numbers_have_units),
        cmocka_unit_test(patterns_match),
        cmocka_unit_test(quoted_text_means_itself),
        cmocka_unit_test(any_bytes_are_understood_or_refused),
        cmocka_unit_test(depth_and_length_have_a_bound),
        cmocka_unit_test(the_events_that_match_are_those),
        cmocka_unit_test(blocks_that_cannot_match_are_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
