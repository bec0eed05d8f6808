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
        struct ft_config_report report = {0};
        assert_int_equal(ft_config_init(&config), 0);
        ft_config_parse(&config, "f", text_cases[i].text, strlen(text_cases[i].text), &report);
        if ((report.errors > 0) != (text_cases[i].result < 0))
            fail_msg("%s: %u", text_cases[i].why, report.errors);
        ft_config_fini(&config);
    }
}

// What was told, a line each.
static char told[4096];

static void tell(bool is_error, const char *text)
{
    size_t used = strlen(told);
    snprintf(told + used, sizeof(told) - used, "%s %s\n", is_error ? "error" : "odd", text);
}

struct told_case {
    const char *text, *told, *why;
};

static const struct told_case told_cases[] = {
    {"[flowtapd]\n\nsocket = /x\nbacklog = -3\nmode = none\nno = 1\n",
     "error f:4: backlog: -3 is out of range\n"
     "error f:5: mode: none is none of trace|profile|off\n"
     "error f:6: no: there is no such key\n",
     "all that is wrong, each with its line"},
    {"[flowtapd]\nbacklog = 3\n\nbacklog = 4\n", "odd f:4: backlog: set in line 2, too; this one counts\n", "twice"},
    {"backlog = 3\nmode = off\n", "odd f:1: before [flowtapd] nothing is read\n", "told once"},
    {"[flowtap]\nbacklog = 3\n", "odd f:1: [flowtap] is no section of ours: what follows is not read\n", "another"},
    {"[flowtapd]\nmax_processes = 5\n", "", "the other one's default contradicts nobody"},
    {"[flowtapd]\nmax_processes = 5\nmax_processes_per_user = 6\n",
     "odd f:3: max_processes_per_user = 6 is more than max_processes = 5 (f:2): the latter holds for each user, too\n",
     "a contradiction"},
    {"[flowtapd]\npoll_busy = 1s\n",
     "odd f:2: poll_busy = 1s is more than poll_idle = 100ms (the default): a busy process is looked at as seldom as an "
     "idle one\n",
     "with a default"},
    {"[flowtapd]\nadmin_group = no-such-group-here\n",
     "odd f:2: admin_group = no-such-group-here: there is no such group\n", "a group"},
    {"[flowtapd]\nhold_fd = 4\n", "odd f:2: hold_fd does nothing without private = yes\n", "another key is missing"},
};

static void test_all_that_is_wrong_is_told_with_its_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(told_cases) / sizeof(told_cases[0]); i++) {
        const struct told_case *one = &told_cases[i];
        struct ft_config config;
        struct ft_config_report report = {.tell = tell};
        told[0] = '\0';
        assert_int_equal(ft_config_init(&config), 0);
        ft_config_parse(&config, "f", one->text, strlen(one->text), &report);
        ft_config_check(&config, &report);
        if (strcmp(told, one->told) != 0)
            fail_msg("%s:\n%s", one->why, told);
        ft_config_fini(&config);
    }
}

// The file that is installed is the one that --print-config prints.
static void test_the_installed_file_is_made_of_the_table(void **state)
{
    char *text = NULL, file[65536];
    size_t bytes;
    (void)state;
    FILE *out = open_memstream(&text, &bytes), *in = fopen("etc/flowtapd.conf", "r");
    ft_config_print_file(out);
    fclose(out);
    assert_non_null(in);
    file[fread(file, 1, sizeof(file) - 1, in)] = '\0';
    fclose(in);
    if (strcmp(file, text) != 0)
        fail_msg("etc/flowtapd.conf is not what flowtapd --print-config prints");
    free(text);
}

static void note_change(const struct ft_config_key *key, const struct ft_config_value *value, bool is_taken)
{
    size_t used = strlen(told);
    snprintf(told + used, sizeof(told) - used, "%s %s %s %s\n", key->name, value->text,
             value->origin ? value->origin : "-", is_taken ? "now" : "later");
}

static void test_what_can_change_is_taken_and_the_rest_waits(void **state)
{
    static const char text[] = "[flowtapd]\nmode = off\nbacklog = 9\nblock_age = 7s\nexclude = /tmp/*\n";
    struct ft_config config, fresh;
    struct ft_config_report report = {0};
    (void)state;
    told[0] = '\0';
    assert_int_equal(ft_config_init(&config), 0);
    assert_int_equal(ft_config_init(&fresh), 0);
    ft_config_parse(&fresh, "f", text, strlen(text), &report);
    ft_config_take(&config, &fresh, note_change);
    ft_config_fini(&fresh);
    assert_string_equal(told, "mode off f:2 now\nexclude /tmp/* f:5 now\nbacklog 9 f:3 later\nblock_age 7s f:4 now\n");
    assert_string_equal(config.mode, "off");
    assert_int_equal(config.backlog, 4096);
    assert_int_equal(config.block_age_ns, INT64_C(7000000000));
    assert_string_equal(config.values[FT_CONFIG_block_age].origin, "f:4");
    assert_null(config.values[FT_CONFIG_backlog].origin);
    assert_string_equal(config.values[FT_CONFIG_backlog].waiting, "9");

    told[0] = '\0';
    assert_int_equal(ft_config_init(&fresh), 0);
    ft_config_take(&config, &fresh, note_change);
    ft_config_fini(&fresh);
    assert_string_equal(told, "mode trace - now\nexclude  - now\nblock_age 5s - now\n");
    assert_null(config.values[FT_CONFIG_backlog].waiting);
    assert_null(config.values[FT_CONFIG_mode].origin);
    ft_config_fini(&config);
}

static void test_set_wins_over_files_and_words_are_checked(void **state)
{
    char path[] = "/tmp/ft-config-XXXXXX";
    struct ft_options options;
    struct ft_config config;
    struct ft_config_report report = {0};
    (void)state;
    int fd = mkstemp(path);
    assert_true(write(fd, "[flowtapd]\nbacklog=5\nmax_jobs=6\n", 32) == 32);
    close(fd);
    char *argv[] = {"flowtapd", "--config", path, "--set", "backlog=10", "--set=log_level=err"};
    assert_int_equal(ft_options_parse(&options, 6, argv), FT_OPTIONS_GO);
    assert_int_equal(ft_options_load(&options, &config, &report), 0);
    assert_int_equal(config.backlog, 10);
    assert_int_equal(config.max_jobs, 6);
    ft_config_fini(&config);
    options.sets[0] = "mode=sometimes";
    assert_int_equal(ft_options_load(&options, &config, &report), -EINVAL);
    ft_config_fini(&config);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_are_taken_or_refused),
        cmocka_unit_test(test_files_are_read_line_by_line),
        cmocka_unit_test(test_all_that_is_wrong_is_told_with_its_line),
        cmocka_unit_test(test_the_installed_file_is_made_of_the_table),
        cmocka_unit_test(test_what_can_change_is_taken_and_the_rest_waits),
        cmocka_unit_test(test_set_wins_over_files_and_words_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
