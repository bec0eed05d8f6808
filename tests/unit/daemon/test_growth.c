// SPDX-License-Identifier: MIT
#include "daemon/growth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/daemon.h"
#include "tests/unit/daemon/segment_maker.h"

#define MIB (UINT64_C(1) << 20)
#define LOOK_NS INT64_C(2000000)

static const struct share {
    uint64_t left;
    uint32_t taken, processes, allowed;
    const char *why;
} shares[] = {
    {FT_HEADROOM_UNLIMITED, 4, 1, FT_CHUNKS_BY_SHIM, "no limit"},
    {FT_HEADROOM_UNLIMITED, 4, 5000, FT_CHUNKS_BY_SHIM, "no limit, many processes"},
    {1024 * MIB, 4, 1, FT_CHUNKS_BY_SHIM, "a limit that is far"},
    {32 * MIB, 4, 1, FT_CHUNKS_BY_SHIM, "a quarter of what is beyond the reserve"},
    {24 * MIB, 4, 1, 4 + 512, "the same, less"},
    {24 * MIB, 4, 8, FT_CHUNKS_UNASKED, "of it, a part for each of many processes"},
    {16 * MIB, 300, 1, 300, "nothing beyond the reserve: what is taken stays"},
    {4 * MIB, 4, 1, FT_CHUNKS_UNASKED, "what may be had unasked is a small part of what is left"},
    {1 * MIB, 4, 1, 4, "it is none"},
    {4 * MIB, 4, 4, 4, "it is none where there are four"},
    {0, 4, 1, 4, "nothing left"},
    {0, 0, 0, 1, "a word that is not 0, which would say nothing"},
};

static void shares_follow_from_what_is_left(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
        const struct share *one = &shares[i];
        uint32_t allowed = ft_growth_allowed(one->left, one->taken, one->processes);
        if (allowed != one->allowed)
            fail_msg("%u, not %u: %s", allowed, one->allowed, one->why);
    }
}

static struct ft_daemon daemon_;
static struct ft_job job;
static struct ft_process process;
static struct maker maker;
static int64_t now_ns;

static int set_up(void **state)
{
    (void)state;
    memset(&daemon_, 0, sizeof(daemon_));
    memset(&job, 0, sizeof(job));
    memset(&process, 0, sizeof(process));
    const struct ft_users_limits limits = {.processes = 10, .bytes = 64 * MIB, .all_bytes = 256 * MIB};
    ft_users_init(&daemon_.users, &limits);
    job.daemon = &daemon_;
    job.worker_count = 1;
    process.job = &job;
    process.pid = (uint32_t)getpid();
    maker_init(&maker);
    memset(maker.head->chunk_state, FT_CHUNK_NONE, FT_CHUNKS_MAX);
    maker.head->chunks_ready = FT_CHUNKS_AT_ATTACH;
    assert_int_equal(ft_segment_open(&process.segment, dup(maker.fd), maker.bytes), 0);
    now_ns = 1;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ft_segment_close(&process.segment);
    ft_growth_fini(&process.growth);
    ft_headroom_fini(&job.headroom);
    ft_users_fini(&daemon_.users);
    maker_fini(&maker);
    return 0;
}

// The shim has taken `ready` chunks and fills `used` of them.
static void look(uint32_t ready, uint32_t used)
{
    maker.head->chunks_ready = ready;
    memset(maker.head->chunk_state, FT_CHUNK_FREE, ready);
    memset(maker.head->chunk_state, FT_CHUNK_FULL, used);
    assert_int_equal(ft_segment_look_again(&process.segment), 0);
    ft_growth_look(&job, &process, used != 0, now_ns);
    now_ns += LOOK_NS;
}

static uint64_t charged(void)
{
    struct ft_user user = {0};
    return ft_users_list(&daemon_.users, &user, 1) ? user.bytes : 0;
}

static void one_that_has_lived_for_a_look_is_told(void **state)
{
    (void)state;
    look(4, 1);
    assert_int_equal(maker.head->chunks_allowed, 0);
    look(4, 0);
    assert_int_equal(maker.head->chunks_allowed, FT_CHUNKS_BY_SHIM);
}

static void one_whose_ring_has_grown_is_told_at_once(void **state)
{
    (void)state;
    look(20, 5);
    assert_int_equal(maker.head->chunks_allowed, FT_CHUNKS_BY_SHIM);
    assert_int_equal(charged(), 0);
}

static void the_daemon_makes_more_when_the_shim_has_all_its_own(void **state)
{
    (void)state;
    look(1024, 500);
    assert_int_equal(maker.head->chunks_granted, 0);
    look(1024, 1000);
    assert_int_equal(maker.head->chunks_granted, FT_CHUNKS_BY_SHIM + 256);
    assert_int_equal(maker.head->chunk_state[FT_CHUNKS_BY_SHIM + 256], FT_CHUNK_NONE);
    assert_int_equal(charged(), 1 * MIB);
    assert_int_equal(process.quota_bytes, 1 * MIB);
}

// No group is found in this hierarchy: nothing is known to be left.
static void nothing_left(void)
{
    daemon_.memory_mount = (struct ft_headroom_mount){.version = FT_HEADROOM_V2, .point = "/nowhere"};
}

static void where_nothing_is_left_neither_takes_more(void **state)
{
    (void)state;
    nothing_left();
    look(20, 15);
    assert_int_equal(maker.head->chunks_allowed, 20);
    maker.head->chunks_wanted++;
    look(20, 20);
    assert_int_equal(maker.head->chunks_granted, 0); // the daemon's own groups are not there either
    assert_int_equal(charged(), 0);
}

static void a_ring_that_may_not_grow_is_made_larger_early(void **state)
{
    (void)state;
    nothing_left();
    look(36, 5);
    assert_int_equal(maker.head->chunks_allowed, 36);
    daemon_.memory_mount.version = FT_HEADROOM_NONE; // room for the daemon
    process.growth.next_ns = INT64_MAX;
    look(36, 8);
    assert_int_equal(maker.head->chunks_granted, 0);
    look(36, 9);
    assert_int_equal(maker.head->chunks_granted, FT_CHUNKS_BY_SHIM + 256);
}

static void what_is_allowed_follows_what_is_left(void **state)
{
    (void)state;
    look(20, 5);
    assert_int_equal(maker.head->chunks_allowed, FT_CHUNKS_BY_SHIM);
    nothing_left();
    look(20, 5);
    assert_int_equal(maker.head->chunks_allowed, FT_CHUNKS_BY_SHIM); // not asked again so soon
    now_ns += INT64_C(1000000000);
    look(20, 0);
    assert_int_equal(maker.head->chunks_allowed, FT_CHUNKS_UNASKED); // of groups that are not known
    daemon_.memory_mount.version = FT_HEADROOM_NONE;
    now_ns += INT64_C(1000000000);
    look(20, 0);
    assert_int_equal(maker.head->chunks_allowed, FT_CHUNKS_BY_SHIM);
}

static void under_a_filter_the_shim_takes_no_more_and_the_daemon_does(void **state)
{
    (void)state;
    maker.head->sandbox = 1;
    look(132, 10);
    assert_int_equal(charged(), 0);
    look(132, 100);
    assert_int_equal(maker.head->chunks_granted, FT_CHUNKS_BY_SHIM + 256);
    assert_int_equal(charged(), 1 * MIB);
    for (int i = 0; i < 100; i++) {
        maker.head->chunks_wanted++;
        look(132, 132);
    }
    assert_int_equal(maker.head->chunks_granted, MAKER_CHUNKS);
    assert_int_equal(charged(), (MAKER_CHUNKS - FT_CHUNKS_BY_SHIM) * UINT64_C(4096));
}

static void a_segment_without_such_chunks_costs_its_user_nothing(void **state)
{
    (void)state;
    process.segment.geometry.chunks_max = 100;
    maker.head->chunks_wanted++;
    look(100, 100);
    look(100, 100);
    assert_int_equal(maker.head->chunks_granted, 0);
    assert_int_equal(charged(), 0);
}

static blkcnt_t blocks_of(void)
{
    struct stat status;
    assert_int_equal(fstat(maker.fd, &status), 0);
    return status.st_blocks;
}

static void make_all(void)
{
    for (int i = 0; i < 100; i++) {
        maker.head->chunks_wanted++;
        look(1024, 1024);
    }
    assert_int_equal(maker.head->chunks_granted, MAKER_CHUNKS);
}

static void what_was_given_is_taken_out_of_a_ring_that_is_over(void **state)
{
    (void)state;
    look(1024, 1);
    look(1024, 1);
    blkcnt_t before = blocks_of();
    ft_growth_take_back(&process); // nothing yet
    assert_int_equal(blocks_of(), before);
    make_all();
    assert_int_equal(blocks_of() - before, (MAKER_CHUNKS - FT_CHUNKS_BY_SHIM) * FT_CHUNK_BYTES / 512);
    ft_growth_take_back(&process);
    assert_int_equal(blocks_of(), before);
}

static void one_that_is_cut_off_keeps_it_until_it_is_over(void **state)
{
    (void)state;
    look(1024, 1);
    look(1024, 1);
    blkcnt_t before = blocks_of();
    make_all();
    ft_growth_cut_off(&process);
    assert_int_equal(process.segment.fd, -1);
    assert_true(blocks_of() > before);
    ft_growth_take_back(&process);
    assert_int_equal(blocks_of(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_follow_from_what_is_left),
        cmocka_unit_test_setup_teardown(one_that_has_lived_for_a_look_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_whose_ring_has_grown_is_told_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_daemon_makes_more_when_the_shim_has_all_its_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(where_nothing_is_left_neither_takes_more, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_ring_that_may_not_grow_is_made_larger_early, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_allowed_follows_what_is_left, set_up, tear_down),
        cmocka_unit_test_setup_teardown(under_a_filter_the_shim_takes_no_more_and_the_daemon_does, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_segment_without_such_chunks_costs_its_user_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_given_is_taken_out_of_a_ring_that_is_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_that_is_cut_off_keeps_it_until_it_is_over, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
