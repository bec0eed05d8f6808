// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/cli/json.h"

struct written {
    char *text;
    size_t bytes;
    struct ft_json json;
};

static void begin(struct written *written)
{
    FILE *out = open_memstream(&written->text, &written->bytes);
    ft_json_init(&written->json, out, false);
}

static void expect(struct written *written, const char *text)
{
    ft_json_flush(&written->json);
    fclose(written->json.out);
    assert_string_equal(written->text, text);
    free(written->text);
}

static void commas_and_nesting_are_right(void **state)
{
    (void)state;
    struct written w;
    begin(&w);
    ft_json_begin_object(&w.json);
    ft_json_member_int(&w.json, "a", -1);
    ft_json_key(&w.json, "b");
    ft_json_begin_array(&w.json);
    ft_json_begin_object(&w.json);
    ft_json_end_object(&w.json);
    ft_json_begin_array(&w.json);
    ft_json_end_array(&w.json);
    ft_json_null(&w.json);
    ft_json_bool(&w.json, true);
    ft_json_end_array(&w.json);
    ft_json_member_string(&w.json, "c", "x");
    ft_json_end_object(&w.json);
    expect(&w, "{\"a\":-1,\"b\":[{},[],null,true],\"c\":\"x\"}");
}

static void numbers_are_exact(void **state)
{
    (void)state;
    struct written w;
    begin(&w);
    ft_json_begin_array(&w.json);
    ft_json_int(&w.json, INT64_MIN);
    ft_json_uint(&w.json, UINT64_MAX);
    ft_json_seconds(&w.json, INT64_C(1764432787123456789));
    ft_json_seconds(&w.json, 0);
    ft_json_seconds(&w.json, -1500000000);
    ft_json_seconds(&w.json, 7);
    ft_json_double(&w.json, 0.5);
    ft_json_double(&w.json, 1.0 / 0.0);
    ft_json_end_array(&w.json);
    expect(&w, "[-9223372036854775808,18446744073709551615,1764432787.123456789,0.0,-1.5,0.000000007,0.5,null]");
}

struct text_case {
    const char *why, *bytes, *json;
};

static const struct text_case text_cases[] = {
    {"plain", "/tmp/a", "{\"p\":\"/tmp/a\"}"},
    {"quote and backslash of valid text", "a\"\\b", "{\"p\":\"a\\\"\\\\b\"}"},
    {"control bytes", "a\n\t\x01\x7f", "{\"p\":\"a\\n\\t\\u0001\\u007f\"}"},
    {"an emoji is written raw", "\xf0\x9f\x98\x80", "{\"p\":\"\xf0\x9f\x98\x80\"}"},
    {"two bytes that are no UTF-8", "\xff\xfe", "{\"p\":\"\\\\xff\\\\xfe\",\"p_bytes\":\"//4=\"}"},
    {"a backslash beside such a byte is doubled", "\\\xff", "{\"p\":\"\\\\\\\\\\\\xff\",\"p_bytes\":\"XP8=\"}"},
    {"an overlong form is no UTF-8", "\xc0\x80", "{\"p\":\"\\\\xc0\\\\x80\",\"p_bytes\":\"wIA=\"}"},
    {"a surrogate is no UTF-8", "\xed\xa0\x80", "{\"p\":\"\\\\xed\\\\xa0\\\\x80\",\"p_bytes\":\"7aCA\"}"},
    {"cut in the middle of a character", "a\xe2\x82", "{\"p\":\"a\\\\xe2\\\\x82\",\"p_bytes\":\"YeKC\"}"},
    {"beyond the last character", "\xf4\x90\x80\x80",
     "{\"p\":\"\\\\xf4\\\\x90\\\\x80\\\\x80\",\"p_bytes\":\"9JCAgA==\"}"},
};

static void a_name_of_any_bytes_is_valid_and_can_be_recovered(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(text_cases) / sizeof(text_cases[0]); i++) {
        struct written w;
        begin(&w);
        ft_json_begin_object(&w.json);
        ft_json_member_text(&w.json, "p", text_cases[i].bytes, strlen(text_cases[i].bytes));
        ft_json_end_object(&w.json);
        ft_json_flush(&w.json);
        fflush(w.json.out);
        if (strcmp(w.text, text_cases[i].json) != 0) {
            fail_msg("%s: %s", text_cases[i].why, w.text);
        }
        expect(&w, text_cases[i].json);
    }
}

static void pretty_documents_have_a_line_for_each_outer_member(void **state)
{
    (void)state;
    struct written w;
    begin(&w);
    w.json.is_pretty = true;
    ft_json_begin_object(&w.json);
    ft_json_key(&w.json, "a");
    ft_json_begin_array(&w.json);
    ft_json_begin_object(&w.json);
    ft_json_member_int(&w.json, "b", 1);
    ft_json_member_int(&w.json, "c", 2);
    ft_json_end_object(&w.json);
    ft_json_end_array(&w.json);
    ft_json_end_object(&w.json);
    expect(&w, "{\n  \"a\": [\n    {\"b\": 1, \"c\": 2}\n  ]\n}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commas_and_nesting_are_right),
        cmocka_unit_test(numbers_are_exact),
        cmocka_unit_test(a_name_of_any_bytes_is_valid_and_can_be_recovered),
        cmocka_unit_test(pretty_documents_have_a_line_for_each_outer_member),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
