// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "client/shim/hot.h"
#include "tests/unit/shim/segment_fixture.h"

static const int numbers[] = {0, 3, 127, 128, 1023, 1024, 65535, 65536, 1 << 20, FT_FD_MAX - 1};
enum { NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };

static void each_number_has_its_own_slot(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < NUMBERS; i++)
        ft_fd_opened(numbers[i], 100 + i, FT_FILE_WIRE_REGULAR, (int64_t)i * 10, 0);
    for (uint32_t i = 0; i < NUMBERS; i++) {
        struct ft_fd *slot = ft_fd_find(numbers[i]);
        assert_non_null(slot);
        assert_int_equal(slot->file, 100 + i);
        assert_int_equal(ft_fd_move(slot, 5), (int64_t)i * 10);
        assert_int_equal(ft_fd_move(slot, 5), (int64_t)i * 10 + 5);
    }
}

static void numbers_that_cannot_be_have_none(void **state)
{
    (void)state;
    const int wrong[] = {-1, -100, INT32_MIN, FT_FD_MAX, INT32_MAX};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        ft_fd_opened(wrong[i], 7, FT_FILE_WIRE_REGULAR, 0, 0);
        ft_fd_duplicated(3, wrong[i]);
        ft_fd_duplicated(wrong[i], 4);
        ft_fd_closing(wrong[i]);
        assert_null(ft_fd_find(wrong[i]));
        assert_null(ft_fd_make(wrong[i]));
    }
    assert_int_equal(ft_fd_move(NULL, 1), -1);
    ft_fd_positioned(NULL, 1);
}

static void a_number_that_changes_hands_changes_its_generation(void **state)
{
    (void)state;
    ft_fd_opened(5, 1, FT_FILE_WIRE_REGULAR, 0, 0);
    struct ft_fd *slot = ft_fd_find(5);
    uint32_t generation = slot->generation;
    ft_fd_closing(5);
    assert_int_not_equal(slot->generation, generation);
    assert_int_equal(slot->file, 0);
    assert_int_equal(ft_fd_move(slot, 1), -1);
    generation = slot->generation;
    ft_fd_opened(5, 2, FT_FILE_WIRE_REGULAR, 9, 0);
    assert_int_not_equal(slot->generation, generation);
    assert_int_equal(ft_fd_move(slot, 1), 9);
}

static void duplicates_share_the_position_and_outlive_each_other(void **state)
{
    (void)state;
    ft_fd_opened(10, 1, FT_FILE_WIRE_REGULAR, 0, 0);
    ft_fd_duplicated(10, 2000);
    ft_fd_duplicated(2000, 2000);
    assert_int_equal(ft_fd_move(ft_fd_find(10), 7), 0);
    ft_fd_closing(10);
    ft_fd_opened(11, 2, FT_FILE_WIRE_REGULAR, 500, 0); /* does not get the description that is still used */
    assert_int_equal(ft_fd_move(ft_fd_find(2000), 1), 7);
    assert_int_equal(ft_fd_find(2000)->file, 1);
    ft_fd_positioned(ft_fd_find(2000), 40);
    assert_int_equal(ft_fd_move(ft_fd_find(2000), 1), 40);
    ft_fd_duplicated(9999, 11); /* of what was never seen */
    assert_int_equal(ft_fd_find(11)->file, 0);
}

static void a_position_shared_with_a_child_is_not_known(void **state)
{
    (void)state;
    ft_fd_opened(6, 1, FT_FILE_WIRE_REGULAR, 0, 0);
    ft_fd_opened(7, 1, FT_FILE_WIRE_REGULAR, 0, 1);
    ft_process.spawn_count++;
    assert_int_equal(ft_fd_move(ft_fd_find(6), 1), -1);
    assert_int_equal(ft_fd_move(ft_fd_find(7), 1), 0); /* closed in what was spawned */
    ft_process.fork_count++;
    assert_int_equal(ft_fd_move(ft_fd_find(7), 1), -1);
    ft_fd_opened(8, 1, FT_FILE_WIRE_REGULAR, 3, 0);
    assert_int_equal(ft_fd_move(ft_fd_find(8), 1), 3);
    ft_fd_untrack(8);
    assert_int_equal(ft_fd_move(ft_fd_find(8), 1), -1);
}

static void a_range_is_closed_to_its_last_number_and_no_further(void **state)
{
    (void)state;
    for (int i = 0; i < NUMBERS; i++)
        ft_fd_opened(numbers[i], 1, FT_FILE_WIRE_REGULAR, -1, 0);
    ft_fd_closing_range(4, 65535);
    for (int i = 0; i < NUMBERS; i++)
        assert_int_equal(ft_fd_find(numbers[i])->file, numbers[i] < 4 || numbers[i] > 65535);
    ft_fd_closing_range(5, 4);
    ft_fd_closing_range(UINT32_MAX, UINT32_MAX);
    assert_int_equal(ft_fd_find(0)->file, 1);
    ft_fd_closing_range(0, UINT32_MAX);
    for (int i = 0; i < NUMBERS; i++)
        assert_int_equal(ft_fd_find(numbers[i])->file, 0);
}

static void a_vfork_child_changes_nothing_but_is_remembered(void **state)
{
    (void)state;
    ft_fd_opened(5, 1, FT_FILE_WIRE_REGULAR, 0, 0);
    ft_fd_opened(100, 2, FT_FILE_WIRE_REGULAR, 0, 0);
    ft_thread.vfork_depth = 1;
    ft_fd_closing(5);
    ft_fd_duplicated(100, 6);
    ft_fd_closing_range(100, UINT32_MAX);
    assert_true(ft_fd_is_touched(5) && ft_fd_is_touched(6) && ft_fd_is_touched(70) && !ft_fd_is_touched(7));
    ft_thread.vfork_depth = 0;
    assert_int_equal(ft_fd_find(5)->file, 1);
    assert_int_equal(ft_fd_find(100)->file, 2);
}

static void more_descriptions_than_there_is_room_for_go_without(void **state)
{
    (void)state;
    enum { MANY = 70000 };
    for (int fd = 0; fd < MANY; fd++)
        ft_fd_opened(fd, 1, FT_FILE_WIRE_REGULAR, fd, 0);
    int followed = 0;
    for (int fd = 0; fd < MANY; fd++) {
        int64_t position = ft_fd_move(ft_fd_find(fd), 1);
        assert_true(position == fd || position == -1);
        followed += position == fd;
    }
    assert_true(followed > 10000 && followed < MANY);
    ft_fd_closing_range(0, MANY);
    ft_fd_opened(3, 1, FT_FILE_WIRE_REGULAR, 77, 0);
    assert_int_equal(ft_fd_move(ft_fd_find(3), 1), 77);
}

enum { ROUNDS = 20000, SHARED = 8 };

/* Two threads on the same few numbers, as in a program that races with itself: nothing is torn, nothing leaks. */
static void *change(void *seed)
{
    uint32_t random = (uint32_t)(uintptr_t)seed;
    assert_int_equal(ft_thread_start(), 0);
    for (int i = 0; i < ROUNDS; i++) {
        random = random * 1664525 + 1013904223;
        int fd = 1020 + (int)(random >> 28) % SHARED, other = 1020 + (int)(random >> 24) % SHARED;
        uint32_t file = 0;
        struct ft_fd *slot = ft_fd_find(fd);
        if (slot != NULL)
            file = __atomic_load_n(&slot->file, __ATOMIC_RELAXED);
        assert_true(file <= 3);
        switch (random >> 20 & 7) {
        case 0:
        case 1:
            ft_fd_opened(fd, 1 + (random >> 16 & 1), FT_FILE_WIRE_REGULAR, (random >> 10 & 1) - 1, 0);
            break;
        case 2:
            ft_fd_closing(fd);
            break;
        case 3:
            ft_fd_duplicated(fd, other);
            break;
        case 4:
            ft_fd_closing_range(1020, 1024);
            break;
        case 5:
            ft_fd_untrack(fd);
            break;
        case 6:
            ft_fd_positioned(slot, 5);
            break;
        default:
            ft_fd_move(slot, 3);
            break;
        }
    }
    return NULL;
}

static void threads_may_race_over_the_same_numbers(void **state)
{
    (void)state;
    pthread_t threads[2];
    for (uintptr_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, change, (void *)(i + 1)), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    ft_fd_closing_range(0, UINT32_MAX);
    for (int fd = 1020; fd < 1020 + SHARED; fd++) {
        ft_fd_opened(fd, 1, FT_FILE_WIRE_REGULAR, fd, 0);
        assert_int_equal(ft_fd_move(ft_fd_find(fd), 1), fd);
        assert_int_equal(ft_fd_find(fd)->description->references, 1);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, ft_fixture_setup, ft_fixture_teardown)
    const struct CMUnitTest tests[] = {
        TEST(each_number_has_its_own_slot),
        TEST(numbers_that_cannot_be_have_none),
        TEST(a_number_that_changes_hands_changes_its_generation),
        TEST(duplicates_share_the_position_and_outlive_each_other),
        TEST(a_position_shared_with_a_child_is_not_known),
        TEST(a_range_is_closed_to_its_last_number_and_no_further),
        TEST(a_vfork_child_changes_nothing_but_is_remembered),
        TEST(threads_may_race_over_the_same_numbers),
        TEST(more_descriptions_than_there_is_room_for_go_without),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
