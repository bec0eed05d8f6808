// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "client/cli/units.h"

static void bytes_have_three_digits_and_binary_units(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0 B"},
        {1, "1 B"},
        {1023, "1023 B"},
        {1024, "1.00 KiB"},
        {1536, "1.50 KiB"},
        {10240, "10.0 KiB"},
        {1048575, "1.00 MiB"},
        {1048576, "1.00 MiB"},
        {104857600, "100 MiB"},
        {UINT64_C(5) << 40, "5.00 TiB"},
        {UINT64_MAX, "16.0 EiB"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ft_unit_text text;
        assert_string_equal(ft_units_bytes(&text, cases[i].bytes), cases[i].text);
    }
}

static void times_have_the_unit_that_suits_them(void **state)
{
    (void)state;
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {
        {-5, "0 s"},
        {0, "0 s"},
        {1, "1 ns"},
        {999, "999 ns"},
        {1000, "1.00 µs"},
        {12345, "12.3 µs"},
        {999499, "999 µs"},
        {999500, "1.00 ms"},
        {1500000, "1.50 ms"},
        {INT64_C(1500000000), "1.50 s"},
        {INT64_C(119000000000), "119 s"},
        {INT64_C(123000000000), "2 min 03 s"},
        {INT64_C(3723000000000), "1 h 02 min"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ft_unit_text text;
        assert_string_equal(ft_units_time(&text, cases[i].ns), cases[i].text);
    }
}

static void counts_are_grouped_by_thousands(void **state)
{
    (void)state;
    struct ft_unit_text text;
    assert_string_equal(ft_units_count(&text, 0), "0");
    assert_string_equal(ft_units_count(&text, 999), "999");
    assert_string_equal(ft_units_count(&text, 1000), "1,000");
    assert_string_equal(ft_units_count(&text, 1234567), "1,234,567");
    assert_string_equal(ft_units_count(&text, UINT64_MAX), "18,446,744,073,709,551,615");
}

static void rates_and_shares_of_nothing_are_a_dash(void **state)
{
    (void)state;
    struct ft_unit_text text;
    assert_string_equal(ft_units_rate(&text, 100, 0), "-");
    assert_string_equal(ft_units_rate(&text, 1 << 20, 500000000), "2.00 MiB/s");
    assert_string_equal(ft_units_share(&text, 1, 0), "-");
    assert_string_equal(ft_units_share(&text, 1, 4), "25 %");
    assert_string_equal(ft_units_share(&text, 1, 40), "2.5 %");
    assert_string_equal(ft_units_share(&text, 0, 40), "0 %");
}

/* What a locale without UTF-8 gets is test_report_output.py's. */
int main(void)
{
    setenv("LC_ALL", "C.UTF-8", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_have_three_digits_and_binary_units),
        cmocka_unit_test(times_have_the_unit_that_suits_them),
        cmocka_unit_test(counts_are_grouped_by_thousands),
        cmocka_unit_test(rates_and_shares_of_nothing_are_a_dash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
