// SPDX-License-Identifier: MIT
/* The environment as it is read at attach. Each case has a process of its own, since it is read once in each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/shim/settings.h"
#include "proto/control.h"

static char folder[] = "/tmp/flowtap-unit-XXXXXX";
static char socket_setting[64];

/* The policy file: fields of a protobuf message, as the daemon writes it. */
static void write_policy(const void *bytes, size_t n)
{
    char path[96];
    snprintf(path, sizeof(path), "%s/s" FT_POLICY_SUFFIX, folder);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_true(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
    close(fd);
}

static int make_folder(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(socket_setting, sizeof(socket_setting), "FLOWTAP_SOCKET=%s/s", folder);
    const uint8_t policy[] = {1 << 3, FT_RING_ABI_MAJOR};
    write_policy(policy, sizeof(policy));
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    char path[96];
    snprintf(path, sizeof(path), "%s/s" FT_POLICY_SUFFIX, folder);
    unlink(path);
    return rmdir(folder);
}

struct outcome {
    int wanted, ignored, filtered, saved, is_excluded;
};

static struct outcome read_here(char *const *envp)
{
    ft_settings_read(envp);
    return (struct outcome){
        .wanted = ft_process.wanted,
        .ignored = (int)ft_process.settings_ignored,
        .filtered = ft_process.filtered,
        .saved = (int)ft_saved.count,
        .is_excluded = ft_process.filtered && !ft_settings_wants("/data/x", 7),
    };
}

/* What a process with these variables makes of them. */
static struct outcome outcome_of(char *const *envp)
{
    int ends[2];
    struct outcome outcome;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        outcome = read_here(envp);
        _exit(write(ends[1], &outcome, sizeof(outcome)) != sizeof(outcome));
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &outcome, sizeof(outcome)), sizeof(outcome));
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    return outcome;
}

static void each_variable_is_used_or_ignored_and_counted(void **state)
{
    (void)state;
    static char long_value[10016] = "FLOWTAP_INCLUDE=";
    memset(long_value + 16, 'x', sizeof(long_value) - 17);
    static const struct {
        const char *variable;
        int wanted, ignored, filtered;
        const char *why;
    } cases[] = {
        {"FLOWTAP_MODE=trace", 1, 0, 0, "as it is"},
        {"FLOWTAP_MODE=off", 0, 0, 0, "off is off"},
        {"FLOWTAP_MODE=", 1, 1, 0, "empty is no mode"},
        {"FLOWTAP_MODE=traced", 1, 1, 0, "nor is a longer word"},
        {"FLOWTAP_MODE=\xff", 1, 1, 0, "nor any byte"},
        {"FLOWTAP_DEBUG=0", 1, 0, 0, "off"},
        {"FLOWTAP_DEBUG= ", 1, 1, 0, "a space is no answer"},
        {"FLOWTAP_INCLUDE=", 1, 0, 0, "no pattern"},
        {"FLOWTAP_INCLUDE=:::", 1, 0, 0, "four times none"},
        {"FLOWTAP_INCLUDE=/a:b:*c", 1, 0, 1, "three"},
        {long_value, 1, 1, 0, "longer than a path can be"},
        {"FLOWTAP_TAGS=a=b", 1, 0, 0, "the daemon's"},
        {"FLOWTAP_OTHER=x", 1, 0, 0, "nobody's"},
        {"FLOWTAPX=x", 1, 0, 0, "nobody's"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *envp[] = {"A=1", "FLOWTAP=1", socket_setting, (char *)(uintptr_t)cases[i].variable, NULL};
        struct outcome got = outcome_of(envp);
        if (got.wanted != cases[i].wanted || got.ignored != cases[i].ignored || got.filtered != cases[i].filtered)
            fail_msg("%.40s: %s: wanted %d, ignored %d, filtered %d", cases[i].variable, cases[i].why, got.wanted,
                     got.ignored, got.filtered);
    }
}

static void only_one_is_on(void **state)
{
    (void)state;
    static const struct {
        const char *on;
        int wanted, ignored;
    } cases[] = {{"FLOWTAP=1", 1, 0},  {"FLOWTAP=0", 0, 0},       {"FLOWTAP=", 0, 0},   {"FLOWTAP=yes", 0, 1},
                 {"FLOWTAP=11", 0, 1}, {"FLOWTAP=sandbox", 0, 1}, {"FLOWTAP= 1", 0, 1}, {"FLOWTA=1", 0, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *envp[] = {(char *)(uintptr_t)cases[i].on, socket_setting, NULL};
        struct outcome got = outcome_of(envp);
        assert_int_equal(got.wanted, cases[i].wanted);
        if (strcmp(cases[i].on, "FLOWTAP=sandbox") != 0)
            assert_int_equal(got.ignored, cases[i].ignored);
    }
    char *none[] = {NULL};
    assert_int_equal(outcome_of(none).wanted, 0);
    assert_int_equal(outcome_of(NULL).wanted, 0);
}

static void a_socket_that_cannot_be_is_ignored(void **state)
{
    (void)state;
    static char long_value[512] = "FLOWTAP_SOCKET=/";
    memset(long_value + 16, 'x', sizeof(long_value) - 17);
    const char *const cases[] = {"FLOWTAP_SOCKET=", "FLOWTAP_SOCKET=relative", "FLOWTAP_SOCKET= /s", long_value};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *envp[] = {"FLOWTAP=1", (char *)(uintptr_t)cases[i], NULL};
        assert_int_equal(outcome_of(envp).ignored, 1);
    }
    char *absent[] = {"FLOWTAP=1", "FLOWTAP_SOCKET=/nowhere/s", NULL};
    struct outcome got = outcome_of(absent);
    assert_true(got.ignored == 0 && got.wanted == 0); /* no daemon there */
}

static void many_and_long_variables_are_kept_as_far_as_there_is_room(void **state)
{
    (void)state;
    static char texts[FT_SAVED_MAX + 8][32], large[6000] = "FLOWTAP_TAGS=";
    char *envp[FT_SAVED_MAX + 16] = {"FLOWTAP=1", socket_setting};
    memset(large + 13, 't', sizeof(large) - 14);
    size_t n = 2;
    envp[n++] = large;
    for (int i = 0; i < FT_SAVED_MAX + 8; i++) {
        snprintf(texts[i], sizeof(texts[i]), "FLOWTAP_%d=x", i);
        envp[n++] = texts[i];
    }
    struct outcome got = outcome_of(envp);
    assert_true(got.wanted && got.saved == FT_SAVED_MAX);
}

/* The file may hold anything: it is read by every process of the job. */
static void a_policy_of_any_bytes_does_no_harm(void **state)
{
    (void)state;
    static const struct {
        uint8_t bytes[16];
        size_t n;
        int wanted, excludes;
        const char *why;
    } cases[] = {
        {{0}, 0, 1, 0, "empty"},
        {{1 << 3, 99}, 2, 0, 0, "another ABI"},
        {{2 << 3, 3}, 2, 0, 0, "off"},
        {{8 << 3 | 2, 7, '/', 'd', 'a', 't', 'a', '/', '*'}, 9, 1, 1, "a pattern"},
        {{8 << 3 | 2, 200, '/', 'd'}, 4, 1, 0, "a pattern longer than the file"},
        {{8 << 3 | 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, 11, 1, 0, "a length of 64 bits"},
        {{99 << 1 | 1, 1, 2}, 3, 1, 0, "eight bytes that are not there"},
        {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 12, 1, 0, "no end of a number"},
        {{3 << 3, 77}, 2, 0, 0, "a clock that is none"},
        {{4 << 3, 0}, 2, 1, 0, "no chunks"},
        {{7}, 1, 1, 0, "no such wire type"},
    };
    char *envp[] = {"FLOWTAP=1", socket_setting, NULL};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        write_policy(cases[i].bytes, cases[i].n);
        struct outcome got = outcome_of(envp);
        if (got.wanted != cases[i].wanted || got.is_excluded != cases[i].excludes)
            fail_msg("%s: wanted %d, excluded %d", cases[i].why, got.wanted, got.is_excluded);
    }
    uint32_t random = 1;
    for (int round = 0; round < 200; round++) {
        uint8_t bytes[600];
        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = (uint8_t)((random = random * 1664525 + 1013904223) >> 24);
        write_policy(bytes, sizeof(bytes) - random % 500);
        struct outcome got = outcome_of(envp);
        assert_true(got.wanted == 0 || got.wanted == 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_variable_is_used_or_ignored_and_counted),
        cmocka_unit_test(only_one_is_on),
        cmocka_unit_test(a_socket_that_cannot_be_is_ignored),
        cmocka_unit_test(many_and_long_variables_are_kept_as_far_as_there_is_room),
        cmocka_unit_test(a_policy_of_any_bytes_does_no_harm),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
