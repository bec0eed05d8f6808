// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/tag_times.h"

struct tagged {
    struct ft_names names;
    struct ft_tag_times times;
};

static void change(struct tagged *tagged, uint32_t id, const char *text, uint64_t ticks)
{
    uint64_t record[FT_RECORD_SLOTS_MAX * FT_SLOT_WORDS] = {0};
    size_t bytes = strlen(text);
    record[1] = id;
    record[2] = bytes | bytes << 32 | (uint64_t)FT_DEFINE_STRING << 48;
    memcpy(record + FT_SLOT_WORDS, text, bytes);
    assert_int_equal(ft_names_define(&tagged->names, record, 1 + (unsigned)((bytes + 31) / 32)), 0);
    ft_tag_times_change(&tagged->times, &tagged->names, id, ticks);
}

// The tags that hold at a time, "key=value key=value"; "none" before the first.
static void assert_tags(const struct tagged *tagged, uint64_t ticks, const char *want)
{
    char text[4096] = "";
    const struct ft_tag_set *set = ft_tag_times_at(&tagged->times, ticks);
    for (uint32_t i = 0; set && i < set->count; i++) {
        const struct ft_name *name = ft_names_find(&tagged->names, tagged->times.ids[set->first + i]);
        assert_non_null(name);
        size_t n = strlen(text);
        snprintf(text + n, sizeof(text) - n, "%s%.*s", n ? " " : "", (int)name->bytes_got, name->text);
    }
    assert_string_equal(set ? text : "none", want);
}

static int setup(void **state)
{
    struct tagged *tagged = calloc(1, sizeof(*tagged));
    ft_names_init(&tagged->names);
    *state = tagged;
    return 0;
}

static int teardown(void **state)
{
    struct tagged *tagged = *state;
    ft_names_fini(&tagged->names);
    ft_tag_times_fini(&tagged->times);
    free(tagged);
    return 0;
}

static void test_a_tag_holds_from_its_time_until_the_next_of_its_key(void **state)
{
    struct tagged *tagged = *state;
    assert_tags(tagged, 100, "none");
    change(tagged, 16, "a=1", 100);
    change(tagged, 17, "b=1", 200);
    change(tagged, 18, "a=2", 300);
    change(tagged, 19, "b=", 400);
    change(tagged, 20, "a=", 500);
    static const struct {
        uint64_t ticks;
        const char *tags;
    } wanted[] = {{0, ""},          {99, ""},     {100, "a=1"}, {200, "a=1 b=1"}, {299, "a=1 b=1"},
                  {300, "b=1 a=2"}, {400, "a=2"}, {499, "a=2"}, {500, ""},        {UINT64_MAX, ""}};
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        assert_tags(tagged, wanted[i].ticks, wanted[i].tags);
}

static void test_what_comes_out_of_order_changes_nothing_that_was(void **state)
{
    struct tagged *tagged = *state;
    change(tagged, 16, "a=1", 100);
    change(tagged, 17, "b=1", 50);
    assert_tags(tagged, 99, "");
    assert_tags(tagged, 100, "a=1 b=1");
    assert_int_equal(ft_names_find(&tagged->names, 17)->tag_ticks, 100);
}

static void test_a_string_is_one_change(void **state)
{
    struct tagged *tagged = *state;
    change(tagged, 16, "a=1", 100);
    change(tagged, 17, "a=2", 200);
    change(tagged, 16, "a=1", 100);
    change(tagged, 99, "a=3", 300);
    assert_false(ft_tag_times_change(&tagged->times, &tagged->names, 99, 400));
    assert_false(ft_tag_times_change(&tagged->times, &tagged->names, 12345, 400)); // nobody defined it
    assert_tags(tagged, 250, "a=2");
    assert_int_equal(tagged->times.set_count, 4);
}

static void test_changes_without_end_stay_within_bounds(void **state)
{
    struct tagged *tagged = *state;
    enum { CHANGES = 200000 };
    char text[32], last[32];
    for (uint32_t i = 0; i < CHANGES; i++) {
        snprintf(text, sizeof(text), "k%u=%u", i % 70, i); // of more keys than there may be
        change(tagged, 16 + i, text, i);
        if (i % 1000 == 0)
            ft_names_end_block(&tagged->names, 2 + i);
        assert_true(tagged->times.set_count <= FT_TAG_TIMES_SETS_MAX);
        assert_true(tagged->times.id_count <= FT_TAG_TIMES_IDS_MAX);
        assert_int_equal(tagged->times.sets[0].from_ticks, 0);
    }
    assert_true(ft_tag_times_memory(&tagged->times) <=
                FT_TAG_TIMES_SETS_MAX * sizeof(struct ft_tag_set) + 2 * FT_TAG_TIMES_IDS_MAX * sizeof(uint32_t));
    uint32_t count;
    const uint32_t *ids = ft_tag_times_newest(&tagged->times, &count);
    assert_int_equal(count, FT_PROCESS_TAGS_MAX);
    // Each set that is kept is whole.
    for (uint32_t i = 1; i < tagged->times.set_count; i++) {
        assert_true(tagged->times.sets[i].from_ticks > tagged->times.sets[i - 1].from_ticks);
        assert_int_equal(tagged->times.sets[i].first,
                         tagged->times.sets[i - 1].first + tagged->times.sets[i - 1].count);
    }
    const struct ft_name *newest = ft_names_find(&tagged->names, ids[count - 1]);
    snprintf(last, sizeof(last), "%.*s", (int)newest->bytes_got, newest->text);
    assert_non_null(strchr(last, '='));
}

static void test_what_a_daemon_before_knew_held_always(void **state)
{
    struct tagged *tagged = *state;
    change(tagged, 16, "a=1", 100);
    change(tagged, 17, "b=2", 200);
    const uint32_t ids[] = {16, 17};
    ft_tag_times_restore(&tagged->times, ids, 2);
    assert_tags(tagged, 0, "a=1 b=2");
    change(tagged, 18, "a=", 300);
    assert_tags(tagged, 299, "a=1 b=2");
    assert_tags(tagged, 300, "b=2");
    ft_tag_times_restore(&tagged->times, NULL, 0);
    assert_tags(tagged, 300, "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_tag_holds_from_its_time_until_the_next_of_its_key, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_comes_out_of_order_changes_nothing_that_was, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_string_is_one_change, setup, teardown),
        cmocka_unit_test_setup_teardown(test_changes_without_end_stay_within_bounds, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_a_daemon_before_knew_held_always, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
