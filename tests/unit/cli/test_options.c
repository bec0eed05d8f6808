// SPDX-License-Identifier: MIT
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/cli/options.h"

struct values {
    bool is_loud, follows;
    const char *output, *sort;
    struct ft_strings tags;
    uint64_t top;
};

static const struct values defaults = {.follows = true, .top = 5, .sort = "time"};

static const struct ft_option options[] = {
    {FT_OPTION_FLAG, 'l', "loud", NULL, "", offsetof(struct values, is_loud), NULL},
    {FT_OPTION_NO, 0, "no-follow", NULL, "", offsetof(struct values, follows), NULL},
    {FT_OPTION_STRING, 'o', "output", "DIR", "", offsetof(struct values, output), NULL},
    {FT_OPTION_LIST, 0, "tag", "K=V", "", offsetof(struct values, tags), NULL},
    {FT_OPTION_COUNT, 'n', "top", "N", "", offsetof(struct values, top), NULL},
    {FT_OPTION_CHOICE, 0, "sort", "KEY", "", offsetof(struct values, sort), "time|bytes|path"},
};

static struct ft_command command(bool ends_at_operand)
{
    return (struct ft_command){.name = "test",
                               .options = options,
                               .option_count = sizeof(options) / sizeof(options[0]),
                               .operands_min = 1,
                               .operands_max = ends_at_operand ? FT_OPTIONS_ALL : 2,
                               .operand_missing = "what?",
                               .ends_at_operand = ends_at_operand,
                               .values_bytes = sizeof(struct values),
                               .defaults = &defaults};
}

enum { WORDS_MAX = 10 };

struct parsed {
    struct values values;
    struct ft_strings operands;
    char error[200];
    int status;
};

static void parse(struct parsed *parsed, const struct ft_command *to, const char *const *words)
{
    char *argv[WORDS_MAX + 2] = {(char *)(uintptr_t)"test"};
    int argc = 1;
    while (words[argc - 1]) {
        argv[argc] = (char *)(uintptr_t)words[argc - 1];
        argc++;
    }
    parsed->error[0] = '\0';
    parsed->status =
        ft_options_parse(to, argc, argv, &parsed->values, &parsed->operands, parsed->error, sizeof(parsed->error));
}

static void every_form_of_an_option_is_understood(void **state)
{
    (void)state;
    struct ft_command to = command(false);
    struct parsed p;
    const char *const words[] = {"-lo/tmp", "--tag",  "a=1",  "--tag=b=2",   "file",
                                 "--top=7", "--sort", "path", "--no-follow", NULL};
    parse(&p, &to, words);
    assert_int_equal(p.status, 0);
    assert_true(p.values.is_loud);
    assert_false(p.values.follows);
    assert_string_equal(p.values.output, "/tmp");
    assert_int_equal(p.values.tags.count, 2);
    assert_string_equal(p.values.tags.items[1], "b=2");
    assert_int_equal(p.values.top, 7);
    assert_string_equal(p.values.sort, "path");
    assert_int_equal(p.operands.count, 1);
    ft_options_release(&to, &p.values, &p.operands);
}

static void defaults_hold_where_nothing_is_given(void **state)
{
    (void)state;
    struct ft_command to = command(false);
    struct parsed p;
    const char *const words[] = {"file", NULL};
    parse(&p, &to, words);
    assert_int_equal(p.status, 0);
    assert_true(p.values.follows);
    assert_int_equal(p.values.top, 5);
    assert_null(p.values.output);
    ft_options_release(&to, &p.values, &p.operands);
}

static void what_follows_the_command_is_the_commands(void **state)
{
    (void)state;
    struct ft_command to = command(true);
    struct parsed p;
    const char *const plain[] = {"-l", "ls", "-l", "--tag", "--", "--help", NULL};
    const char *const dashed[] = {"--", "-l", "x", NULL};
    parse(&p, &to, plain);
    assert_int_equal(p.status, 0);
    assert_int_equal(p.operands.count, 5);
    assert_string_equal(p.operands.items[1], "-l");
    assert_string_equal(p.operands.items[3], "--");
    assert_int_equal(p.values.tags.count, 0);
    ft_options_release(&to, &p.values, &p.operands);
    parse(&p, &to, dashed);
    assert_int_equal(p.status, 0);
    assert_false(p.values.is_loud);
    assert_string_equal(p.operands.items[0], "-l");
    ft_options_release(&to, &p.values, &p.operands);
}

static void help_is_seen_wherever_an_option_may_stand(void **state)
{
    (void)state;
    struct ft_command to = command(false);
    struct parsed p;
    const char *const words[] = {"file", "--help", NULL};
    parse(&p, &to, words);
    assert_int_equal(p.status, 1);
    ft_options_release(&to, &p.values, &p.operands);
}

struct wrong_case {
    const char *words[WORDS_MAX];
    const char *error;
};

static const struct wrong_case wrong_cases[] = {
    {{NULL}, "what?"},
    {{"--what", "f", NULL}, "unknown option '--what'"},
    {{"-x", "f", NULL}, "unknown option '-x'"},
    {{"f", "--output", NULL}, "--output wants DIR"},
    {{"--loud=yes", "f", NULL}, "--loud takes no value"},
    {{"--top", "many", "f", NULL}, "--top wants a number, not 'many'"},
    {{"--top", "-3", "f", NULL}, "--top wants a number, not '-3'"},
    {{"--top", "99999999999999999999999", "f", NULL}, "--top wants a number, not '99999999999999999999999'"},
    {{"--sort", "tim", "f", NULL}, "--sort wants one of time|bytes|path, not 'tim'"},
    {{"--sort=", "f", NULL}, "--sort wants one of time|bytes|path, not ''"},
    {{"a", "b", "c", NULL}, "unexpected argument 'c'"},
};

static void wrong_usage_says_what_is_wrong(void **state)
{
    (void)state;
    struct ft_command to = command(false);
    for (size_t i = 0; i < sizeof(wrong_cases) / sizeof(wrong_cases[0]); i++) {
        struct parsed p;
        parse(&p, &to, wrong_cases[i].words);
        assert_int_equal(p.status, -EINVAL);
        assert_string_equal(p.error, wrong_cases[i].error);
        ft_options_release(&to, &p.values, &p.operands);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_of_an_option_is_understood),
        cmocka_unit_test(defaults_hold_where_nothing_is_given),
        cmocka_unit_test(what_follows_the_command_is_the_commands),
        cmocka_unit_test(help_is_seen_wherever_an_option_may_stand),
        cmocka_unit_test(wrong_usage_says_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
