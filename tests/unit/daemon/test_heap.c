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

#include "daemon/daemon.h"

#define SECOND_NS INT64_C(1000000000)
#define MIB ((size_t)1 << 20)

enum { BLOCKS = 640, BLOCK_BYTES = 65536, LARGE_MIB = 24, KEPT_MIB = 8, MANY = 100 };

static struct ft_daemon *served;
static int64_t now_ns;

static int set_up(void **state)
{
    (void)state;
    served = calloc(1, sizeof(*served));
    assert_non_null(served);
    assert_int_equal(uv_loop_init(&served->loop), 0);
    ft_heap_init(served);
    now_ns = ft_clock_mono_ns();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(uv_loop_close(&served->loop), 0);
    free(served);
    return 0;
}

static size_t resident_bytes(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%*u %lu", &pages), 1);
    fclose(f);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

// How many looks there are in that many seconds; each is over before the next.
static int looks_in(int seconds)
{
    int looks = 0;
    for (int i = 0; i < seconds; i++) {
        now_ns += SECOND_NS;
        ft_heap_tick(served, now_ns);
        looks += served->heap.is_running;
        uv_run(&served->loop, UV_RUN_DEFAULT);
        assert_false(served->heap.is_running);
    }
    return looks;
}

static void note_gone(int count)
{
    for (int i = 0; i < count; i++)
        ft_heap_note_gone(served);
}

// A large block that is freed, as a pass may have it, tells the C library by itself to keep twice as much at each end.
static void take_and_free(void *unused)
{
    char *blocks[BLOCKS];
    char *volatile large = malloc(LARGE_MIB * MIB);
    (void)unused;
    assert_non_null(large);
    free(large);
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(BLOCK_BYTES);
        assert_non_null(blocks[i]);
        memset(blocks[i], 1, BLOCK_BYTES);
    }
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
}

static void a_thread_keeps_little_at_its_heap_s_end(void **state)
{
    uv_thread_t thread;
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    print_message("the sanitizer's allocator has its own rules\n");
    skip();
#endif
    size_t before = resident_bytes();
    assert_int_equal(uv_thread_create(&thread, take_and_free, NULL), 0);
    uv_thread_join(&thread);
    note_gone(MANY);
    looks_in(30);
    assert_in_range(resident_bytes(), 0, before + KEPT_MIB * MIB);
}

static void what_goes_as_it_is_looked_is_looked_for_again(void **state)
{
    (void)state;
    char *volatile in_use = malloc(LARGE_MIB * MIB);
    assert_non_null(in_use);
    memset(in_use, 1, LARGE_MIB * MIB);
    assert_int_equal(looks_in(30), 0);
    note_gone(MANY);
    assert_int_equal(looks_in(1), 0); // a burst
    note_gone(1);
    assert_int_equal(looks_in(1), 1);
    assert_int_equal(looks_in(30), 1);
    assert_int_equal(looks_in(30), 0);
    free(in_use);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_goes_as_it_is_looked_is_looked_for_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_thread_keeps_little_at_its_heap_s_end, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
