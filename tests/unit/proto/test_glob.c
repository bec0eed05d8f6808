// SPDX-License-Identifier: MIT
//
// The one matcher of patterns, and what the rules of FLOWTAP_FUNCTIONS make of it.
#include "cmocka_all.h"
#include "proto/glob.h"
#include "proto/settings.h"

#include <string.h>

static const struct {
    const char *pattern, *text;
    int matches;
    const char *why;
} patterns[] = {
    {"", "", 1, "nothing is nothing"},
    {"", "a", 0, "and no more"},
    {"*", "", 1, "a star may be empty"},
    {"a*b*c", "aXbYc", 1, "several stars"},
    {"a*b*c", "aXcYb", 0, "in their order"},
    {"*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0, "many stars end soon"},
    {"*", ".hidden/x", 1, "no first dot or slash is special"},
    {"a?c", "a/c", 1, "nor for a question mark"},
    {"a?c", "ac", 0, "which takes just one"},
    {"[a-c]x", "bx", 1, "a range"},
    {"[a-c]x", "dx", 0, "ends"},
    {"[a-]", "-", 1, "a dash at the end is itself"},
    {"[!a]", "b", 1, "a negation"},
    {"[^a]", "a", 0, "the other negation"},
    {"[]a]", "]", 1, "a bracket first in a set is itself"},
    {"[ab", "[ab", 1, "a set without an end is text"},
    {"[[:alpha:]]os", "cos", 0, "there are no classes of characters"},
    {"[[:alpha:]]os", "a]os", 1, "but sets with a colon"},
    {"\\*", "*", 1, "a backslash takes the star as it is"},
    {"\\*", "x", 0, "and only that"},
    {"a\\", "a\\", 1, "at the end it is itself"},
    {"\xff*", "\xff\xfe", 1, "any byte"},
    {"+(a|b)", "ab", 0, "nothing of a shell's further patterns"},
};

static void each_pattern_matches_as_documented(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
        if (ft_glob_match(patterns[i].pattern, strlen(patterns[i].pattern), patterns[i].text,
                          strlen(patterns[i].text)) != patterns[i].matches)
            fail_msg("%s on %s: %s", patterns[i].pattern, patterns[i].text, patterns[i].why);
}

static const struct {
    const char *rule, *library, *function;
    int fits;
    const char *why;
} rules[] = {
    {"libx.so:f", "libx.so", "f", 1, "as it is"},
    {"libx.so:f", "libx.so.7.1", "f", 1, "with any version"},
    {"libx:f", "libx.so", "f", 1, "without an ending"},
    {"libx.s:f", "libx.so", "f", 0, "but no part of one"},
    {"libx.so.7:f", "libx.so.8", "f", 0, "another version"},
    {"lib[xy].so:f", "liby.so", "f", 1, "a pattern of libraries"},
    {"libx.so:f,g*", "libx.so", "gone", 1, "several functions"},
    {"libx.so:f,g*", "libx.so", "go", 1, "the last of them"},
    {"libx.so:,f,", "libx.so", "f", 1, "empty ones are none"},
    {"libx.so:f?", "libx.so", "f", 0, "a byte more is wanted"},
    {"io=libx.so:f", "libx.so", "f", 1, "a category is no part of the library"},
};

static void each_rule_fits_as_documented(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        struct ft_setting_rule rule = {0};

        assert_int_equal(ft_setting_use_of_rule(rules[i].rule, strlen(rules[i].rule), 0, &rule), FT_SETTING_USED);
        if ((ft_setting_rule_is_of(&rule, rules[i].library, strlen(rules[i].library)) &&
             ft_setting_is_in_list(rule.functions, rule.functions_n, rules[i].function, strlen(rules[i].function))) !=
            rules[i].fits)
            fail_msg("%s on %s of %s: %s", rules[i].rule, rules[i].function, rules[i].library, rules[i].why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_pattern_matches_as_documented),
        cmocka_unit_test(each_rule_fits_as_documented),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
