// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <unistd.h>

#include "daemon/config.h"
#include "daemon/options.h"

struct value_case {
    const char *pair;
    int result;
    const char *why;
};

static const struct value_case value_cases[] = {
    {"socket=/x", 0, "a path"},
    {"socket=", -EINVAL, "too short"},
    {"private=yes", 0, "a word for true"},
    {"private=maybe", -EINVAL, "no word for true or false"},
    {"poll_busy=5ms", 0, "a time"},
    {"poll_busy=1ns", -EINVAL, "below the least"},
    {"poll_busy=5", -EINVAL, "seconds: above the most"},
    {"block_age=99999999999999999999s", -EINVAL, "no 64-bit number"},
    {"block_age=9223372036854775807m", -EINVAL, "the product wraps"},
    {"rotate_size=2G", 0, "a size"},
    {"rotate_size=2GB", -EINVAL, "no such suffix"},
    {"rotate_size=-2G", -EINVAL, "negative"},
    {"rotate_size=", -EINVAL, "empty"},
    {"hold_fd=-1", 0, "none"},
    {"nothing=1", -EINVAL, "no such key"},
    {"socket", -EINVAL, "no equals sign"},
    {"=x", -EINVAL, "no key"},
};

static void test_values_are_taken_or_refused(void **state)
{
    struct ft_config config;
    struct ft_config_error error;
    (void)state;
    assert_int_equal(ft_config_init(&config), 0);
    for (size_t i = 0; i < sizeof(value_cases) / sizeof(value_cases[0]); i++) {
        int r = ft_config_set_pair(&config, value_cases[i].pair, &error);
        if (r != value_cases[i].result)
            fail_msg("%s (%s): %d", value_cases[i].pair, value_cases[i].why, r);
    }
    assert_int_equal(config.poll_busy_ns, 5000000);
    assert_int_equal(config.rotate_size_bytes, INT64_C(2) << 30);
    assert_true(config.private);
    ft_config_fini(&config);
}

struct text_case {
    const char *text;
    int result;
    const char *why;
};

static const struct text_case text_cases[] = {
    {"", 0, "nothing"},
    {"# only\n; comments\n\n", 0, "comments"},
    {"[flowtapd]\nbacklog = 7\n", 0, "a key"},
    {"[flowtapd]\n  backlog=8  \r\n", 0, "blanks around"},
    {"[flowtapd]\nbacklog = 9", 0, "no newline at the end"},
    {"[other]\nnonsense\n[flowtapd]\nbacklog=9\n", 0, "another section is not ours"},
    {"nonsense before any section\n", 0, "before any section nothing is ours"},
    {"[flowtapd]\nbacklog\n", -EINVAL, "no equals sign"},
    {"[flowtapd]\nbacklog = many\n", -EINVAL, "no number"},
    {"[flowtapd]\nbackloog = 1\n", -EINVAL, "a key that is none"},
};

static void test_files_are_read_line_by_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(text_cases) / sizeof(text_cases[0]); i++) {
        struct ft_config config;
        struct ft_config_error error;
        assert_int_equal(ft_config_init(&config), 0);
        int r = ft_config_parse(&config, text_cases[i].text, strlen(text_cases[i].text), &error);
        if (r != text_cases[i].result)
            fail_msg("%s: %d", text_cases[i].why, r);
        ft_config_fini(&config);
    }
}

static void test_an_error_names_its_line(void **state)
{
    struct ft_config config;
    struct ft_config_error error;
    static const char text[] = "[flowtapd]\n\nsocket = /x\nbacklog = -3\n";
    (void)state;
    assert_int_equal(ft_config_init(&config), 0);
    assert_int_equal(ft_config_parse(&config, text, strlen(text), &error), -EINVAL);
    assert_non_null(strstr(error.text, "line 4"));
    assert_non_null(strstr(error.text, "backlog"));
    ft_config_fini(&config);
}

// The file that is installed names every key, with its default.
static void test_the_installed_file_holds_every_key_with_its_default(void **state)
{
    static const struct {
        const char *name, *value;
    } keys[] = {
#define X(type, name, value, least, most, help) {#name, value},
        FT_CONFIG_KEYS(X)
#undef X
    };
    char text[65536];
    (void)state;
    FILE *file = fopen("etc/flowtapd.conf", "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        char line[256];
        snprintf(line, sizeof(line), "\n#%s =%s%s\n", keys[i].name, *keys[i].value ? " " : "", keys[i].value);
        if (!strstr(text, line))
            fail_msg("etc/flowtapd.conf lacks:%s", line);
    }
}

static void test_set_wins_over_files_and_words_are_checked(void **state)
{
    char path[] = "/tmp/ft-config-XXXXXX";
    struct ft_options options;
    struct ft_config config;
    struct ft_config_error error;
    (void)state;
    int fd = mkstemp(path);
    assert_true(write(fd, "[flowtapd]\nbacklog=5\nmax_jobs=6\n", 32) == 32);
    close(fd);
    char *argv[] = {"flowtapd", "--config", path, "--set", "backlog=10", "--set=log_level=err"};
    assert_int_equal(ft_options_parse(&options, 6, argv), FT_OPTIONS_GO);
    assert_int_equal(ft_options_load(&options, &config, &error), 0);
    assert_int_equal(config.backlog, 10);
    assert_int_equal(config.max_jobs, 6);
    ft_config_fini(&config);
    options.sets[0] = "mode=sometimes";
    assert_int_equal(ft_options_load(&options, &config, &error), -EINVAL);
    ft_config_fini(&config);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_are_taken_or_refused),
        cmocka_unit_test(test_files_are_read_line_by_line),
        cmocka_unit_test(test_an_error_names_its_line),
        cmocka_unit_test(test_the_installed_file_holds_every_key_with_its_default),
        cmocka_unit_test(test_set_wins_over_files_and_words_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
