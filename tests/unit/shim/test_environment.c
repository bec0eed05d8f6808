// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client/shim/environment.h"
#include "client/shim/settings.h"

/* Any file that can be read stands for the library. */
#define LIBRARY "/proc/self/exe"

static int setup(void **state)
{
    (void)state;
    memset(&ft_saved, 0, sizeof(ft_saved));
    memset(&ft_process, 0, sizeof(ft_process));
    ft_saved.preload = LIBRARY;
    strcpy(ft_socket_path, "/proc/self/exe");
    ft_saved.variables[0] = "FLOWTAP=1";
    ft_saved.variables[1] = "FLOWTAP_JOB=j";
    ft_saved.count = 2;
    ft_process.follow_clean_env = 1;
    return 0;
}

static char **built(char *const *envp, struct ft_environment *e)
{
    if (!ft_environment_check(e, envp))
        return NULL;
    static char *list[16], text[256];
    assert_true(ft_environment_entries(e) <= 16 && e->preload_bytes < sizeof(text));
    ft_environment_build(e, envp, list, text);
    return list;
}

static void assert_list(char **list, const char *const *expected)
{
    assert_non_null(list);
    size_t n = 0;
    for (; expected[n] != NULL; n++) {
        assert_non_null(list[n]);
        assert_string_equal(list[n], expected[n]);
    }
    assert_null(list[n]);
}

static void nothing_is_built_where_nothing_is_missing(void **state)
{
    (void)state;
    struct ft_environment e;
    char *envp[] = {"A=1", "LD_PRELOAD=x.so:" LIBRARY, "FLOWTAP_JOB=other", "FLOWTAP=1", NULL};
    assert_int_equal(ft_environment_check(&e, envp), 0);
}

static void the_library_by_any_spelling_is_there(void **state)
{
    (void)state;
    static const char *const lists[] = {"libflowtap-preload.so", "./libflowtap-preload.so",
                                        "/opt/$LIB/libflowtap-preload.so", "a.so libflowtap-preload.so",
                                        "x:::/y/libflowtap-preload.so:z"};
    static const char *const others[] = {"", " ", "notlibflowtap-preload.so", "/x/libflowtap-preload.so.1",
                                         "/libflowtap-preload.so/x.so"};
    char preload[64];
    char *envp[] = {preload, "FLOWTAP_JOB=j", "FLOWTAP=1", NULL};
    struct ft_environment e;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", lists[i]);
        assert_int_equal(ft_environment_check(&e, envp), 0);
        snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", others[i]);
        assert_int_equal(ft_environment_check(&e, envp), 1);
    }
}

static void an_empty_environment_gets_all_back(void **state)
{
    (void)state;
    struct ft_environment e;
    char *envp[] = {NULL};
    assert_list(built(envp, &e), (const char *const[]){"LD_PRELOAD=" LIBRARY, "FLOWTAP=1", "FLOWTAP_JOB=j", NULL});
    assert_list(built(NULL, &e), (const char *const[]){"LD_PRELOAD=" LIBRARY, "FLOWTAP=1", "FLOWTAP_JOB=j", NULL});
}

static void another_preload_is_kept_before_ours(void **state)
{
    (void)state;
    struct ft_environment e;
    char *envp[] = {"LD_PRELOAD=libasan.so", "FLOWTAP=1", "B=2", NULL};
    assert_list(built(envp, &e),
                (const char *const[]){"LD_PRELOAD=libasan.so:" LIBRARY, "FLOWTAP=1", "B=2", "FLOWTAP_JOB=j", NULL});
}

static void a_value_that_the_program_set_is_respected(void **state)
{
    (void)state;
    struct ft_environment e;
    char *envp[] = {"FLOWTAP=0", "LD_PRELOAD=", NULL};
    assert_null(built(envp, &e));
    assert_int_equal(e.follow, FT_FOLLOW_OFF);
    char *empty[] = {"FLOWTAP=", NULL};
    assert_null(built(empty, &e));
    assert_int_equal(e.follow, FT_FOLLOW_OFF);
    char *off[] = {"FLOWTAP_MODE=off", NULL};
    assert_null(built(off, &e));
    assert_int_equal(e.follow, FT_FOLLOW_OFF);
    char *job[] = {"FLOWTAP=1", "FLOWTAP_JOB=other", NULL};
    assert_list(built(job, &e), (const char *const[]){"FLOWTAP=1", "FLOWTAP_JOB=other", "LD_PRELOAD=" LIBRARY, NULL});
}

static void nothing_is_put_back_where_that_is_off_or_the_library_is_not_there(void **state)
{
    (void)state;
    struct ft_environment e;
    char *envp[] = {"A=1", NULL};
    ft_process.follow_clean_env = 0;
    assert_int_equal(ft_environment_check(&e, envp), 0);
    assert_int_equal(e.follow, FT_FOLLOW_CLEANED);
    ft_process.follow_clean_env = 1;
    ft_saved.preload = "/nowhere/libflowtap-preload.so";
    assert_int_equal(ft_environment_check(&e, envp), 0);
    assert_int_equal(e.follow, FT_FOLLOW_UNREACHABLE);
    char *whole[] = {"LD_PRELOAD=" LIBRARY, "FLOWTAP=1", "FLOWTAP_JOB=j", NULL};
    assert_int_equal(ft_environment_check(&e, whole), 0);
    assert_int_equal(e.follow, FT_FOLLOW_UNREACHABLE);
}

static void of_two_preloads_the_last_counts_as_for_ld_so(void **state)
{
    (void)state;
    struct ft_environment e;
    char *last[] = {"LD_PRELOAD=" LIBRARY, "FLOWTAP=1", "LD_PRELOAD=x.so", "FLOWTAP_JOB=j", NULL};
    assert_list(built(last, &e), (const char *const[]){"LD_PRELOAD=" LIBRARY, "FLOWTAP=1", "LD_PRELOAD=x.so:" LIBRARY,
                                                       "FLOWTAP_JOB=j", NULL});
    char *first[] = {"LD_PRELOAD=x.so", "FLOWTAP=1", "LD_PRELOAD=" LIBRARY, "FLOWTAP_JOB=j", NULL};
    assert_null(built(first, &e));
}

static void an_image_for_another_daemon_is_told_apart(void **state)
{
    (void)state;
    struct ft_environment e;
    char *envp[] = {"FLOWTAP_SOCKET=/other", "LD_PRELOAD=" LIBRARY, "FLOWTAP=1", "FLOWTAP_JOB=j", NULL};
    assert_null(built(envp, &e));
    assert_int_equal(e.follow, FT_FOLLOW_ELSEWHERE);
    envp[0] = "FLOWTAP_SOCKET=/proc/self/exe";
    assert_null(built(envp, &e));
    assert_int_equal(e.follow, FT_FOLLOW_ORDINARY);
    strcpy(ft_socket_path, "/nowhere");
    envp[0] = "FLOWTAP_SOCKET=/nowhere";
    assert_null(built(envp, &e));
    assert_int_equal(e.follow, FT_FOLLOW_NO_SOCKET);
}

static void under_a_filter_the_new_image_is_told_not_to_attach(void **state)
{
    (void)state;
    struct ft_environment e;
    char *envp[] = {"FLOWTAP=1", "A=1", NULL};
    ft_process.sandboxed = 1;
    assert_list(built(envp, &e), (const char *const[]){"FLOWTAP=sandbox", "A=1", NULL});
    char *cleaned[] = {"A=1", NULL};
    assert_int_equal(ft_environment_check(&e, cleaned), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_is_built_where_nothing_is_missing, setup),
        cmocka_unit_test_setup(the_library_by_any_spelling_is_there, setup),
        cmocka_unit_test_setup(an_empty_environment_gets_all_back, setup),
        cmocka_unit_test_setup(another_preload_is_kept_before_ours, setup),
        cmocka_unit_test_setup(a_value_that_the_program_set_is_respected, setup),
        cmocka_unit_test_setup(nothing_is_put_back_where_that_is_off_or_the_library_is_not_there, setup),
        cmocka_unit_test_setup(of_two_preloads_the_last_counts_as_for_ld_so, setup),
        cmocka_unit_test_setup(an_image_for_another_daemon_is_told_apart, setup),
        cmocka_unit_test_setup(under_a_filter_the_new_image_is_told_not_to_attach, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
