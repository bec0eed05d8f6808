// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/daemon.h"

// A daemon of which only the arrivals are used, with a manager that never reads.
static int manager;

static struct ft_daemon *make_daemon(void)
{
    struct ft_daemon *daemon = calloc(1, sizeof(*daemon));
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    daemon->store.fd = pair[0];
    manager = pair[1];
    daemon->arrivals.fd = -1;
    return daemon;
}

static void destroy_daemon(struct ft_daemon *daemon)
{
    ft_arrivals_close(daemon);
    close(daemon->store.fd);
    close(manager);
    free(daemon);
}

// The daemon that takes over from one that is gone.
static struct ft_daemon *follow(struct ft_daemon *before)
{
    int table = dup(before->arrivals.fd);
    destroy_daemon(before);
    struct ft_daemon *daemon = make_daemon();
    ft_arrivals_add(daemon, table);
    ft_arrivals_open(daemon);
    assert_non_null(daemon->arrivals.table);
    return daemon;
}

static uint32_t left(const struct ft_daemon *daemon)
{
    return FT_ARRIVALS_MAX - daemon->arrivals.free_count;
}

static void who_is_on_the_way_is_known_to_the_next_daemon(void **state)
{
    (void)state;
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    struct ft_daemon *daemon = make_daemon();
    ft_arrivals_open(daemon);
    uint32_t held = ft_arrivals_note(daemon, pair[0]), silent = ft_arrivals_note(daemon, pair[0]);
    uint32_t stored = ft_arrivals_note(daemon, pair[0]), written = ft_arrivals_note(daemon, pair[0]);
    assert_true(held && silent && stored && written && held != silent);
    ft_arrivals_note_segment(daemon, stored, 77, 5);
    ft_arrivals_note_segment(daemon, written, 78, 6);
    ft_arrivals_forget(daemon, held);
    ft_arrivals_forget(daemon, held);
    ft_arrivals_forget(daemon, 0);
    daemon = follow(daemon);
    assert_int_equal(left(daemon), 3);
    assert_int_equal(daemon->arrivals.table[silent].pid, getpid());
    assert_int_equal(daemon->arrivals.table[silent].uid, getuid());
    ft_arrivals_see_segment(daemon, 77);
    ft_arrivals_see_segment(daemon, 0); // that of one that was not looked at
    assert_int_equal(left(daemon), 2);
    assert_true(ft_arrivals_concern(daemon, getuid(), 6));
    assert_true(ft_arrivals_concern(daemon, getuid(), 9)); // one may be anybody's
    ft_arrivals_forget(daemon, silent);
    assert_false(ft_arrivals_concern(daemon, getuid(), 9));
    assert_false(ft_arrivals_concern(daemon, getuid() + 1, 6));
    destroy_daemon(daemon);
    close(pair[0]);
    close(pair[1]);
}

static void a_full_table_takes_no_more_and_room_comes_back(void **state)
{
    (void)state;
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    struct ft_daemon *daemon = make_daemon();
    ft_arrivals_open(daemon);
    for (uint32_t i = 1; i <= FT_ARRIVALS_MAX; i++)
        assert_int_equal(ft_arrivals_note(daemon, pair[0]), i);
    assert_int_equal(ft_arrivals_note(daemon, pair[0]), 0);
    ft_arrivals_forget(daemon, 17);
    daemon = follow(daemon);
    assert_int_equal(ft_arrivals_note(daemon, pair[0]), 17);
    destroy_daemon(daemon);
    close(pair[0]);
    close(pair[1]);
}

static void what_is_no_table_of_ours_is_not_taken(void **state)
{
    (void)state;
    struct ft_daemon *daemon = make_daemon();
    int unsealed = memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING), null = open("/dev/null", O_RDWR | O_CLOEXEC);
    assert_int_equal(ftruncate(unsealed, (FT_ARRIVALS_MAX + 1) * sizeof(struct ft_arrival)), 0);
    ft_arrivals_add(daemon, null);
    assert_int_equal(fcntl(null, F_GETFD), -1); // closed
    int sealed = dup(unsealed);
    ft_arrivals_add(daemon, unsealed);
    assert_int_equal(daemon->arrivals.fd, -1);
    assert_int_equal(fcntl(sealed, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW), 0);
    ft_arrivals_add(daemon, sealed); // of no version that we know
    assert_int_equal(daemon->arrivals.fd, -1);
    ft_arrivals_open(daemon);
    assert_int_equal(left(daemon), 0);
    destroy_daemon(daemon);
}

static void without_a_manager_nothing_is_noted(void **state)
{
    (void)state;
    struct ft_daemon *daemon = calloc(1, sizeof(*daemon));
    daemon->store.fd = daemon->arrivals.fd = -1;
    ft_arrivals_open(daemon);
    assert_null(daemon->arrivals.table);
    assert_int_equal(ft_arrivals_note(daemon, STDIN_FILENO), 0);
    ft_arrivals_note_segment(daemon, 0, 1, 1);
    ft_arrivals_see_segment(daemon, 1);
    assert_false(ft_arrivals_concern(daemon, 0, 0));
    ft_arrivals_tell_lost(daemon);
    ft_arrivals_close(daemon);
    free(daemon);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_on_the_way_is_known_to_the_next_daemon),
        cmocka_unit_test(a_full_table_takes_no_more_and_room_comes_back),
        cmocka_unit_test(what_is_no_table_of_ours_is_not_taken),
        cmocka_unit_test(without_a_manager_nothing_is_noted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
