// SPDX-License-Identifier: MIT
#include "daemon/inside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

// Two containers in one job; in both a shell of pid 1 starts a process of pid 7.
static struct ft_process processes[] = {
    {.pid = 500, .ns_pid = 500, .start_ns = 1},
    {.pid = 501, .ns_pid = 1, .parent_pid = 500, .start_ns = 10, .pid_namespace = 88},
    {.pid = 502, .ns_pid = 1, .parent_pid = 500, .start_ns = 11, .pid_namespace = 99},
    {.pid = 601, .ns_pid = 7, .ns_parent_pid = 1, .start_ns = 20, .pid_namespace = 88},
    {.pid = 602, .ns_pid = 7, .ns_parent_pid = 1, .start_ns = 21, .pid_namespace = 99},
    {.pid = 701, .ns_pid = 7, .ns_parent_pid = 1, .start_ns = 90, .pid_namespace = 88}, // the pid came round
};
static struct ft_job job = {.processes = processes};

static int set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(processes) / sizeof(processes[0]); i++) {
        processes[i].next = i + 1 < sizeof(processes) / sizeof(processes[0]) ? &processes[i + 1] : NULL;
        if (processes[i].ns_parent_pid)
            processes[i].parent_pid = 0;
    }
    return 0;
}

static void test_a_child_is_found_by_the_pid_that_its_parent_knows(void **state)
{
    (void)state;
    assert_int_equal(ft_inside_find_child(&job, &processes[1], 7, 15), 601);
    assert_int_equal(ft_inside_find_child(&job, &processes[2], 7, 15), 602);
    assert_int_equal(ft_inside_find_child(&job, &processes[1], 7, 50), 701);
}

static void test_a_child_that_is_not_known_keeps_the_pid_that_was_told(void **state)
{
    (void)state;
    assert_int_equal(ft_inside_find_child(&job, &processes[1], 8, 15), 8);
    assert_int_equal(ft_inside_find_child(&job, &processes[1], 7, 100), 7);
    assert_int_equal(ft_inside_find_child(&job, &processes[0], 7, 0), 7);
}

static void test_a_parent_is_found_where_only_one_can_be_it(void **state)
{
    (void)state;
    ft_inside_find_parent(&job, &processes[3]);
    assert_int_equal(processes[3].parent_pid_guessed, 501);
    processes[4].pid_namespace = 0; // could be of both
    ft_inside_find_parent(&job, &processes[4]);
    assert_int_equal(processes[4].parent_pid_guessed, 0);
    processes[4].pid_namespace = 99;
    ft_inside_find_parent(&job, &processes[4]);
    assert_int_equal(processes[4].parent_pid_guessed, 502);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_child_is_found_by_the_pid_that_its_parent_knows, set_up),
        cmocka_unit_test_setup(test_a_child_that_is_not_known_keeps_the_pid_that_was_told, set_up),
        cmocka_unit_test_setup(test_a_parent_is_found_where_only_one_can_be_it, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
