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

#include "client/cli/analysis_timeline.h"
#include "proto/calls.h"
#include "tests/unit/cli/traces.h"

#define START_NS INT64_C(1000)
#define SECOND INT64_C(1000000000)
#define WEEK (7 * 24 * 3600 * SECOND)
#define YEAR (365 * 24 * 3600 * SECOND)
#define MOST (FT_TIME_LIMIT_NS - 1 - START_NS)

static void add(struct ft_trace_writer *writer, uint32_t thread, uint32_t file, int64_t start_ns, int64_t dur_ns)
{
    struct ft_event event = {.call = FT_CALL_ID_pread,
                             .thread = thread,
                             .file = file,
                             .fd = 3,
                             .start_ns = start_ns,
                             .dur_ns = dur_ns,
                             .bytes = 7,
                             .result = 7,
                             .has = FT_HAS_BYTES | FT_HAS_RESULT};
    assert_int_equal(ft_trace_writer_add(writer, &event), 0);
}

/* A trace whose events take so long from the first one's begin to the last one's end: none, one, or one at each side. */
static struct ft_trace_set *trace_of(char *path, unsigned events, int64_t span_ns)
{
    struct ft_trace_header header = {.host = FT_BYTES("host"), .boot_id = FT_BYTES("0")};
    struct ft_trace_process process = {.pid = 1, .start_ns = START_NS, .exe = FT_BYTES("/bin/x"), .job.rank = -1};
    struct ft_trace_file file = {.inode = 1, .dev = 1, .kind = FT_FILE_KIND_REGULAR};
    struct ft_trace_writer *writer;
    assert_int_equal(ft_trace_writer_create(&header, NULL, &writer), 0);
    file.path = (uint32_t)ft_trace_writer_name(writer, FT_BYTES("/f"));
    struct ft_trace_thread thread = {.process = (uint32_t)ft_trace_writer_new_process(writer, &process), .tid = 1};
    uint32_t thread_id = (uint32_t)ft_trace_writer_new_thread(writer, &thread),
             file_id = (uint32_t)ft_trace_writer_file(writer, &file);
    if (events == 1) {
        add(writer, thread_id, file_id, START_NS, span_ns);
    } else if (events == 2) {
        add(writer, thread_id, file_id, START_NS, 0);
        add(writer, thread_id, file_id, START_NS + span_ns, 0);
    }
    assert_int_equal(ft_trace_writer_end_block(writer, NULL, 0), 0);
    ft_traces_write(writer, path);
    struct ft_trace_set *set = NULL;
    const char *const_path = path;
    assert_int_equal(ft_trace_set_open(&const_path, 1, NULL, &set, NULL), 0);
    return set;
}

/* As the page says it, by trying one width after the other. */
static int64_t documented_width(int64_t span_ns, uint64_t bins_most)
{
    for (int64_t power = 1;; power *= 10) {
        const int64_t widths[] = {power, 2 * power, 5 * power};
        for (size_t i = 0; i < 3; i++) {
            uint64_t bins = 0;
            for (int64_t left = span_ns; left > 0 && bins <= bins_most; left -= widths[i]) {
                bins++;
            }
            if (bins <= bins_most) {
                return widths[i];
            }
        }
    }
}

static void check(unsigned events, int64_t span_ns, uint64_t bins_most)
{
    char path[] = "/tmp/flowtap-timeline-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    struct ft_trace_set *set = trace_of(path, events, span_ns);
    struct ft_timeline timeline;
    assert_int_equal(ft_timeline_read(&timeline, set, NULL, &(struct ft_timeline_wish){.bins_most = bins_most}), 0);
    assert_int_equal(timeline.end_ns - timeline.start_ns, span_ns);
    assert_int_equal(timeline.width_ns, documented_width(span_ns, bins_most));
    assert_in_range(timeline.count, 1, bins_most);
    int64_t length_ns = 0;
    for (size_t i = 0; i < timeline.count; i++) {
        int64_t here_ns = ft_timeline_length(&timeline, i);
        assert_true(i + 1 == timeline.count ? here_ns <= timeline.width_ns : here_ns == timeline.width_ns);
        assert_true(here_ns > 0 || span_ns == 0);
        length_ns += here_ns;
    }
    assert_int_equal(length_ns, span_ns);
    assert_int_equal(timeline.total.read.calls, events);
    assert_int_equal(timeline.total.read.bytes, 7 * events);
    assert_int_equal(
        timeline.bins[0].read.calls + (timeline.count > 1 ? timeline.bins[timeline.count - 1].read.calls : 0), events);
    ft_timeline_fini(&timeline);
    ft_trace_set_close(set);
    unlink(path);
}

static void a_width_is_the_least_round_one_of_which_no_more_bins_are_needed(void **state)
{
    (void)state;
    static const uint64_t bins_most[] = {2, 6, 78, 100, 198};
    static const int64_t some[] = {0,      1,    2,        3,        7,    99,        100,       101,      12345,
                                   SECOND, WEEK, 3 * WEEK, WEEK + 1, YEAR, 30 * YEAR, 36 * YEAR, MOST - 1, MOST};
    for (size_t m = 0; m < sizeof(bins_most) / sizeof(bins_most[0]); m++) {
        for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
            check(2, some[i], bins_most[m]);
            check(1, some[i], bins_most[m]);
        }
        for (int64_t width = 1; width < MOST / 2000; width *= 10) { /* where one width does just, and just not */
            int64_t just = (int64_t)bins_most[m] * width * (width % 7 < 4 ? 1 : 5);
            for (int64_t off = -1; off <= 1; off++) {
                check(2, just + off, bins_most[m]);
                check(2, just * 2 + off, bins_most[m]);
            }
        }
    }
}

static void no_event_is_one_bin_of_nothing(void **state)
{
    (void)state;
    check(0, 0, 100);
    check(0, 0, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_width_is_the_least_round_one_of_which_no_more_bins_are_needed),
        cmocka_unit_test(no_event_is_one_bin_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
