// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/cli/table.h"
#include "client/cli/text.h"

static void names_are_escaped_for_json_csv_and_people(void **state)
{
    (void)state;
    static const struct {
        const char *why, *bytes, *json, *csv, *show;
    } cases[] = {
        {"plain", "/a b", "/a b", "/a b", "/a b"},
        {"backslash", "a\\b", "a\\\\b", "a\\\\b", "a\\b"},
        {"newline and escape", "a\n\x1b[0m", "a\n\x1b[0m", "a\\x0a\\x1b[0m", "a\\x0a\\x1b[0m"},
        {"no UTF-8", "\xff", "\\xff", "\\xff", "\\xff"},
        {"umlaut", "\xc3\xa4", "\xc3\xa4", "\xc3\xa4", "\xc3\xa4"},
        {"a control character of two bytes", "\xc2\x9b", "\xc2\x9b", "\\xc2\\x9b", "\\xc2\\x9b"},
        {"text from right to left", "a\xe2\x80\xaez", "a\xe2\x80\xaez", "a\\xe2\\x80\\xaez", "a\\xe2\\x80\\xaez"},
        {"the first and the last of a range", "\xe2\x81\xa0\xe2\x81\xaf", "\xe2\x81\xa0\xe2\x81\xaf",
         "\\xe2\\x81\\xa0\\xe2\\x81\\xaf", "\\xe2\\x81\\xa0\\xe2\\x81\\xaf"},
        {"what stands beside ranges", "\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xb0\xc2\xa0\xc2\xae",
         "\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xb0\xc2\xa0\xc2\xae", "\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xb0\xc2\xa0\xc2\xae",
         "\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xb0\xc2\xa0\xc2\xae"},
        {"a letter that is a tag", "\xf3\xa0\x81\xa1", "\xf3\xa0\x81\xa1", "\\xf3\\xa0\\x81\\xa1",
         "\\xf3\\xa0\\x81\\xa1"},
        {"an emoji of two that are joined", "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x94\xac",
         "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x94\xac", "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x94\xac",
         "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x94\xac"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *wanted[] = {cases[i].json, cases[i].csv, cases[i].show};
        for (int form = FT_TEXT_JSON; form <= FT_TEXT_SHOW; form++) {
            char *text = ft_text_escape(cases[i].bytes, strlen(cases[i].bytes), (enum ft_text_form)form);
            if (strcmp(text, wanted[form]) != 0) {
                fail_msg("%s, form %d: %s", cases[i].why, form, text);
            }
            free(text);
        }
    }
}

static const struct ft_column columns[] = {{"N", true, false}, {"NAME", false, false}, {"PATH", false, true}};

static char *print_table(const char *path, size_t screen_columns)
{
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    struct ft_screen screen = {.out = out, .columns = screen_columns};
    struct ft_table table;
    ft_table_init(&table, columns, 3);
    ft_table_add(&table, "10 \xc2\xb5s");
    ft_table_add(&table, "x");
    ft_table_add(&table, path);
    ft_table_print(&table, &screen, 1);
    ft_table_fini(&table);
    fclose(out);
    return text;
}

static void columns_are_aligned_by_characters(void **state)
{
    (void)state;
    char *text = print_table("/p", 0);
    assert_string_equal(text, "     N  NAME  PATH\n 10 \xc2\xb5s  x     /p\n");
    free(text);
}

static void a_long_path_is_cut_in_its_middle_on_a_terminal_only(void **state)
{
    (void)state;
    const char *path = "/home/somebody/data/set/file-0001.bin";
    char *whole = print_table(path, 0), *cut = print_table(path, 34);
    assert_non_null(strstr(whole, path));
    assert_non_null(strstr(cut, "/home/\xe2\x80\xa6"
                                "file-0001.bin\n"));
    free(whole);
    free(cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_escaped_for_json_csv_and_people),
        cmocka_unit_test(columns_are_aligned_by_characters),
        cmocka_unit_test(a_long_path_is_cut_in_its_middle_on_a_terminal_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
