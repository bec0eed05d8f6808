// SPDX-License-Identifier: MIT
//
// A whole private daemon with clients that lie, contradict themselves, or want too much.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/drain.h"
#include "private_fixture.h"
#include "proto/calls.h"

static void many_names(struct maker *maker, const char *socket)
{
    for (uint32_t id = 16; id < 5016; id++) {
        char name[100];
        snprintf(name, sizeof(name), "/a/rather/long/path/of/a/file/that/nobody/closes/%u", id);
        maker_define(maker, 0, id, 0, FT_DEFINE_FD, name);
        maker_call(maker, 0, FT_CALL_ID_pread64, id, 1, 0, maker_ticks(), 1);
    }
    if (maker_attach(maker, socket))
        _exit(1);
}

static void test_who_passes_the_users_share_loses_names_and_no_events(void **state)
{
    (void)state;
    struct fixture *fixture = fixture_start("max_user_memory=0");
    fixture_run_child(fixture, many_names);
    fixture_end(fixture);
    const struct ft_trace_process *process = fixture_only_process(fixture);
    assert_int_equal(process->emitted, 5000);
    assert_int_equal(process->stored, 5000);
    assert_int_not_equal(process->names_lost, 0);
    fixture_clean_up(fixture);
}

static void corrupt_record(struct maker *maker, const char *socket)
{
    fixture_call_some(maker, 200);
    // A record that leaves its chunk.
    uint64_t fill;
    uint64_t *record = maker_reserve(maker, 0, 1, maker_ticks(), &fill);
    maker->lines[0].emitted += 5;
    record[0] = FT_W0(FT_RECORD_CALL, 32, 3, 0, fill, 0);
    if (maker_attach(maker, socket))
        _exit(1);
}

static void test_a_segment_that_contradicts_itself_is_cut_off_and_counted(void **state)
{
    (void)state;
    struct fixture *fixture = fixture_start(NULL);
    fixture_run_child(fixture, corrupt_record);
    fixture_end(fixture);
    const struct ft_trace_process *process = fixture_only_process(fixture);
    assert_int_equal(process->emitted, process->stored + fixture_sum_dropped(process));
    assert_int_equal(process->stored, 200);
    assert_int_equal(process->dropped[FT_CAUSE_CORRUPT], 5);
    fixture_clean_up(fixture);
}

static void thousand_events(struct maker *maker, const char *socket)
{
    fixture_call_some(maker, 1000);
    if (maker_attach(maker, socket))
        _exit(1);
}

static void send_nonsense(struct maker *maker, const char *socket_path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, socket_path);
    for (size_t bytes = 0; bytes < 80; bytes++) {
        char text[80];
        memset(text, (int)bytes, sizeof(text));
        int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
        if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
            send(fd, text, bytes, 0);
        close(fd);
    }
    maker->bytes -= FT_PAGE_BYTES; // a lie
    maker_attach(maker, socket_path);
    maker->bytes += FT_PAGE_BYTES;
    maker->head->pool_page = 0xffffffff;
    maker_attach(maker, socket_path);
    int pair[2];
    if (pipe(pair) == 0) {
        maker->fd = pair[0];
        maker_attach(maker, socket_path);
    }
    maker->fd = memfd_create("unsealed", 0);
    maker_attach(maker, socket_path);
}

static void test_nonsense_on_the_socket_is_refused(void **state)
{
    (void)state;
    struct fixture *fixture = fixture_start(NULL);
    fixture_run_child(fixture, send_nonsense);
    fixture_run_child(fixture, thousand_events);
    fixture_end(fixture);
    assert_int_equal(fixture_only_process(fixture)->stored, 1000);
    assert_true(fixture->daemon.status.refused_memory >= 4);
    fixture_clean_up(fixture);
}

// A counter's beginning and its end, long before and after what the clock can have shown, against every kind of claim.
static void test_a_claimed_start_is_a_number_whatever_is_claimed(void **state)
{
    (void)state;
    static const uint64_t ticks[] = {0, 1, UINT64_C(1) << 60, UINT64_MAX};
    static const int64_t claims[] = {INT64_MIN, -1, 0, 1, INT64_MAX};
    static struct ft_clock_pairs pairs;
    int64_t now_ns = ft_clock_mono_ns();
    ft_clock_init(&pairs, INT64_MAX / 4); // no pair is taken but these
    ft_clock_push(&pairs, (struct ft_clock_pair){.ticks = UINT64_C(1) << 60, .mono_ns = now_ns - 1000000}, 40);
    ft_clock_push(&pairs, (struct ft_clock_pair){.ticks = (UINT64_C(1) << 60) + 10000, .mono_ns = now_ns}, 40);
    for (size_t i = 0; i < sizeof(ticks) / sizeof(ticks[0]) * sizeof(claims) / sizeof(claims[0]); i++) {
        struct ft_hello hello = {.attach_ticks = ticks[i / 5], .attach_mono_ns = claims[i % 5]};
        struct ft_process process = {.clock = FT_CLOCK_TICKS, .start_ns = 77, .hello_bytes = (uint8_t *)&hello};
        ft_process_check_start(&process, &pairs);
        // One of them alone is a time that has been.
        assert_int_equal(process.start_ns, ticks[i / 5] == UINT64_C(1) << 60 ? now_ns - 1000000 : 77);
    }
    ft_clock_fini(&pairs);
}

static void test_claimed_times_are_numbers_whatever_is_claimed(void **state)
{
    (void)state;
    static const uint64_t claims[] = {0, 1, INT64_MAX, UINT64_C(1) << 63, (UINT64_C(1) << 63) + 5, UINT64_MAX};
    const struct ft_process process = {.clock = FT_CLOCK_MONOTONIC_NS};
    struct ft_drain drain = {0};
    for (size_t i = 0; i < 36; i++) {
        const struct ft_record_event record = {.end_ticks = claims[i / 6], .duration_ticks = claims[i % 6]};
        struct ft_event event = {0};
        int64_t end_ns, since_begin_ns;
        ft_drain_fill_event(&drain, &process, &record, &event);
        assert_true(event.dur_ns >= 0);
        assert_false(__builtin_add_overflow(event.start_ns, event.dur_ns, &end_ns));
        assert_false(__builtin_sub_overflow(end_ns, INT64_MAX / 2, &since_begin_ns)); // of who watches
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_passes_the_users_share_loses_names_and_no_events),
        cmocka_unit_test(test_a_segment_that_contradicts_itself_is_cut_off_and_counted),
        cmocka_unit_test(test_nonsense_on_the_socket_is_refused),
        cmocka_unit_test(test_a_claimed_start_is_a_number_whatever_is_claimed),
        cmocka_unit_test(test_claimed_times_are_numbers_whatever_is_claimed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
