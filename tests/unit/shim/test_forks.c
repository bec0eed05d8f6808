// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/shim/forks.h"
#include "tests/unit/shim/segment_fixture.h"

/* Frames of one stack, the outermost first. */
static char stack[1 << 16];
#define FRAME(depth) (&stack[sizeof(stack) - 64 - (size_t)(depth) * 256])

static void a_fork_is_on_its_way_until_it_ends(void **state)
{
    (void)state;
    uint64_t *place = ft_fork_begin(FRAME(1));
    assert_true(ft_fork_is_any(FRAME(2)));
    assert_true(ft_fork_is_own(FRAME(2)));
    ft_fork_end(place, FRAME(1));
    assert_false(ft_fork_is_any(FRAME(2)));
    assert_false(ft_fork_is_own(FRAME(2)));
}

static void one_that_a_jump_or_a_cancellation_left_is_none(void **state)
{
    (void)state;
    ft_fork_begin(FRAME(3));
    assert_false(ft_fork_is_own(FRAME(2)));
    assert_false(ft_fork_is_any(FRAME(2)));
    assert_false(ft_fork_is_any(FRAME(4))); /* also for who calls deeper later: the last look has seen it left */
}

static void those_of_a_thread_that_ends_are_none(void **state)
{
    (void)state;
    ft_fork_begin(FRAME(1));
    ft_fork_begin(FRAME(2));
    ft_forks_leave();
    assert_false(ft_fork_is_any(FRAME(3)));
}

static void a_handler_forks_inside_a_fork(void **state)
{
    (void)state;
    uint64_t *outer = ft_fork_begin(FRAME(1)), *inner = ft_fork_begin(FRAME(3));
    ft_fork_end(inner, FRAME(3));
    assert_true(ft_fork_is_own(FRAME(2)));
    ft_fork_end(outer, FRAME(1));
    assert_false(ft_fork_is_any(FRAME(0)));
}

static void *begin_fork(void *tid)
{
    *(long *)tid = syscall(SYS_gettid);
    assert_int_equal(ft_thread_start(), 0);
    ft_fork_begin(FRAME(1));
    assert_true(ft_fork_is_any(FRAME(2)));
    return NULL;
}

static void those_of_threads_that_ended_are_none_and_take_no_place(void **state)
{
    (void)state;
    for (int i = 0; i < 3 * FT_FORKS_MAX; i++) {
        pthread_t thread;
        long tid = 0;
        assert_int_equal(pthread_create(&thread, NULL, begin_fork, &tid), 0);
        pthread_join(thread, NULL);
        while (syscall(SYS_tgkill, getpid(), tid, 0) == 0)
            sched_yield(); /* the kernel has it a little longer */
        assert_false(ft_fork_is_own(FRAME(2)));
    }
    uint64_t *place = ft_fork_begin(FRAME(1));
    assert_non_null(place);
    ft_fork_end(place, FRAME(1));
    assert_false(ft_fork_is_any(FRAME(2)));
}

static void begin_first(uint64_t *places[FT_FORKS_MAX])
{
    for (int i = 0; i < FT_FORKS_MAX; i++)
        assert_non_null(places[i] = ft_fork_begin(FRAME(i)));
}

static void end_first(uint64_t *places[FT_FORKS_MAX])
{
    for (int i = 0; i < FT_FORKS_MAX; i++)
        ft_fork_end(places[i], FRAME(i));
}

static int has_line;

static void *begin_and_end_fork(void *is_begun)
{
    if (has_line)
        assert_int_equal(ft_thread_start(), 0);
    uint64_t *place = ft_fork_begin(FRAME(1));
    assert_int_equal(place != NULL, has_line);
    pthread_barrier_wait(is_begun);
    pthread_barrier_wait(is_begun);
    ft_fork_end(place, FRAME(1));
    return NULL;
}

static void of_too_many_those_beyond_are_on_their_way_until_they_end(void **state)
{
    (void)state;
    uint64_t *places[FT_FORKS_MAX];
    for (has_line = 0; has_line < 2; has_line++) {
        pthread_barrier_t is_begun;
        pthread_t thread;
        pthread_barrier_init(&is_begun, NULL, 2);
        begin_first(places);
        assert_int_equal(pthread_create(&thread, NULL, begin_and_end_fork, &is_begun), 0);
        pthread_barrier_wait(&is_begun);
        end_first(places);
        assert_true(ft_fork_is_any(FRAME(FT_FORKS_MAX)));
        pthread_barrier_wait(&is_begun);
        pthread_join(thread, NULL);
        assert_false(ft_fork_is_any(FRAME(FT_FORKS_MAX)));
    }
}

static void of_those_beyond_one_that_was_left_is_none(void **state)
{
    (void)state;
    uint64_t *places[FT_FORKS_MAX];
    begin_first(places);
    ft_fork_begin(FRAME(FT_FORKS_MAX + 1));
    end_first(places);
    assert_true(ft_fork_is_own(FRAME(FT_FORKS_MAX + 2)));
    assert_true(ft_fork_is_any(FRAME(FT_FORKS_MAX + 2)));
    assert_false(ft_fork_is_own(FRAME(FT_FORKS_MAX)));
    assert_false(ft_fork_is_any(FRAME(FT_FORKS_MAX)));
    assert_false(ft_fork_is_any(FRAME(FT_FORKS_MAX + 2)));
}

static void of_those_beyond_the_last_of_a_thread_to_end_is_the_first(void **state)
{
    (void)state;
    uint64_t *places[FT_FORKS_MAX], *beyond[3];
    begin_first(places);
    for (int i = 0; i < 3; i++)
        assert_non_null(beyond[i] = ft_fork_begin(FRAME(FT_FORKS_MAX + i)));
    end_first(places);
    for (int i = 3; i-- > 0;) {
        assert_true(ft_fork_is_any(FRAME(FT_FORKS_MAX + i + 1)));
        ft_fork_end(beyond[i], FRAME(FT_FORKS_MAX + i));
    }
    assert_false(ft_fork_is_any(FRAME(FT_FORKS_MAX + 3)));
}

static void of_those_beyond_those_of_a_thread_that_ends_and_of_a_parent_are_none(void **state)
{
    (void)state;
    uint64_t *places[FT_FORKS_MAX];
    void (*const nones[])(void) = {ft_forks_leave, ft_forks_reset};
    for (int i = 0; i < 2; i++) {
        begin_first(places);
        ft_fork_begin(FRAME(FT_FORKS_MAX));
        end_first(places);
        assert_true(ft_fork_is_any(FRAME(FT_FORKS_MAX + 1)));
        nones[i]();
        assert_false(ft_fork_is_any(FRAME(FT_FORKS_MAX + 1)));
    }
}

static void of_those_beyond_those_of_threads_that_ended_are_none(void **state)
{
    (void)state;
    uint64_t *places[FT_FORKS_MAX];
    begin_first(places);
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        long tid = 0;
        assert_int_equal(pthread_create(&thread, NULL, begin_fork, &tid), 0);
        pthread_join(thread, NULL);
        while (syscall(SYS_tgkill, getpid(), tid, 0) == 0)
            sched_yield();
    }
    end_first(places);
    assert_false(ft_fork_is_any(FRAME(FT_FORKS_MAX)));
}

/* From here on it is not asked for a name of /proc: in this thread alone. */
static void refuse_readlink(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_readlinkat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOENT),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(code) / sizeof(*code), code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(77);
}

enum { HAS_ENDED, IS_ON_ITS_WAY, IS_ASKED_AGAIN };

static void *look_without_the_first(void *unused)
{
    char byte;
    (void)unused;
    if (ft_thread_start() != 0)
        _exit(99);
    uint64_t first = ft_process.forks[0];
    while (readlink("/proc/self/exe", &byte, 1) == 1)
        sched_yield();
    if (ft_fork_is_any(FRAME(2)) || ft_process.forks[0] != 0)
        _exit(IS_ON_ITS_WAY);
    refuse_readlink();
    ft_process.forks[0] = first;
    _exit(ft_fork_is_any(FRAME(2)) ? IS_ASKED_AGAIN : HAS_ENDED);
}

static void one_of_a_first_thread_that_ended_is_none_and_that_is_asked_once(void **state)
{
    (void)state;
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        ft_process.pid = ft_thread.tid = (uint32_t)getpid();
        ft_fork_begin(FRAME(1));
        pthread_create(&thread, NULL, look_without_the_first, NULL);
        syscall(SYS_exit, 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, HAS_ENDED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_fork_is_on_its_way_until_it_ends, ft_fixture_setup, ft_fixture_teardown),
        cmocka_unit_test_setup_teardown(one_that_a_jump_or_a_cancellation_left_is_none, ft_fixture_setup,
                                        ft_fixture_teardown),
        cmocka_unit_test_setup_teardown(those_of_a_thread_that_ends_are_none, ft_fixture_setup, ft_fixture_teardown),
        cmocka_unit_test_setup_teardown(a_handler_forks_inside_a_fork, ft_fixture_setup, ft_fixture_teardown),
        cmocka_unit_test_setup_teardown(those_of_threads_that_ended_are_none_and_take_no_place, ft_fixture_setup,
                                        ft_fixture_teardown),
        cmocka_unit_test_setup_teardown(of_too_many_those_beyond_are_on_their_way_until_they_end, ft_fixture_setup,
                                        ft_fixture_teardown),
        cmocka_unit_test_setup_teardown(of_those_beyond_one_that_was_left_is_none, ft_fixture_setup,
                                        ft_fixture_teardown),
        cmocka_unit_test_setup_teardown(of_those_beyond_the_last_of_a_thread_to_end_is_the_first, ft_fixture_setup,
                                        ft_fixture_teardown),
        cmocka_unit_test_setup_teardown(of_those_beyond_those_of_a_thread_that_ends_and_of_a_parent_are_none,
                                        ft_fixture_setup, ft_fixture_teardown),
        cmocka_unit_test_setup_teardown(of_those_beyond_those_of_threads_that_ended_are_none, ft_fixture_setup,
                                        ft_fixture_teardown),
        cmocka_unit_test_setup_teardown(one_of_a_first_thread_that_ended_is_none_and_that_is_asked_once,
                                        ft_fixture_setup, ft_fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
