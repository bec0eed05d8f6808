// SPDX-License-Identifier: MIT
//
// Where a daemon before us was: the larger of the blocks' ranges and the chunks' words; what the slots before said.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/batch.h"
#include "daemon/restore.h"
#include "proto/calls.h"
#include "segment_maker.h"

struct note {
    uint64_t fill;
    unsigned slots;
};

struct note_case {
    struct note notes[3];
    struct note result;
    const char *why;
};

static const struct note_case note_cases[] = {
    {{{1, 5}}, {1, 5}, "the first"},
    {{{1, 5}, {1, 9}}, {1, 9}, "further on"},
    {{{1, 9}, {1, 5}}, {1, 9}, "never back"},
    {{{1, 126}, {2, 3}}, {2, 3}, "a later filling, of fewer slots"},
    {{{2, 3}, {1, 126}}, {2, 3}, "an earlier filling, of more slots"},
    {{{65535, 126}, {65536, 1}}, {65536, 1}, "where the records' 16 bits of it begin anew"},
    {{{65536, 1}, {65535, 126}}, {65536, 1}, "the same the other way round"},
    {{{1, 5}, {1, 127}}, {1, 5}, "more slots than there are"},
    {{{1, 5}, {9, 255}}, {1, 5}, "the same of a later filling"},
    {{{0, 5}}, {0, 0}, "no filling"},
    {{{3, 0}}, {3, 0}, "a filling of which nothing was taken"},
    {{{FT_CONSUMED_FILL_MAX, 126}, {5, 5}}, {FT_CONSUMED_FILL_MAX, 126}, "what a client may claim costs itself"},
};

static void test_a_position_is_the_larger_of_all_that_is_said(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(note_cases) / sizeof(note_cases[0]); i++) {
        struct ft_segment_position position = {0};
        for (size_t k = 0; k < 3; k++)
            ft_restore_note(&position, note_cases[i].notes[k].fill, note_cases[i].notes[k].slots);
        if (position.fill != note_cases[i].result.fill || position.consumed != note_cases[i].result.slots)
            fail_msg("%s: %u of %llu", note_cases[i].why, position.consumed, (unsigned long long)position.fill);
    }
}

static void test_a_word_holds_filling_and_slots(void **state)
{
    (void)state;
    uint64_t word = FT_CONSUMED(UINT64_C(0x123456789abcde), 126);
    assert_int_equal(FT_CONSUMED_FILL(word), UINT64_C(0x123456789abcde));
    assert_int_equal(FT_CONSUMED_SLOTS(word), 126);
}

// A process of a hand-made segment that a daemon before us had.
struct taken {
    struct maker maker;
    struct ft_process process;
};

static void open_taken(struct taken *taken)
{
    memset(&taken->process, 0, sizeof(taken->process));
    taken->process.pidfd = taken->process.store_fd = -1;
    ft_names_init(&taken->process.names);
    assert_int_equal(ft_segment_open(&taken->process.segment, dup(taken->maker.fd), taken->maker.bytes), 0);
}

static void close_taken(struct taken *taken)
{
    struct ft_process *process = malloc(sizeof(*process));
    *process = taken->process;
    ft_process_destroy(process);
    maker_fini(&taken->maker);
}

static void call(struct maker *maker, uint32_t line, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        maker_call(maker, line, FT_CALL_ID_pread64, 0, 1, i, maker_ticks(), 1);
}

// Slots that are left to be read of each piece.
static unsigned slots_left(struct taken *taken)
{
    struct ft_batch batch = {0};
    size_t first;
    unsigned slots = 0;
    assert_int_equal(ft_batch_collect(&batch, &taken->process, &first), 0);
    for (size_t i = 0; i < batch.count; i++)
        slots += batch.pieces[i].end - batch.pieces[i].from;
    ft_batch_fini(&batch);
    return slots;
}

static uint64_t word_of(struct maker *maker, uint32_t chunk)
{
    return maker_chunk(maker, chunk)->consumed;
}

static void test_what_a_word_speaks_of_is_not_read_again(void **state)
{
    (void)state;
    struct taken taken;
    maker_init(&taken.maker);
    call(&taken.maker, 0, 50);
    maker_chunk(&taken.maker, 0)->consumed = FT_CONSUMED(1, 30);
    open_taken(&taken);
    assert_int_equal(ft_restore_chunks(&taken.process), 0);
    assert_int_equal(slots_left(&taken), 20);
    close_taken(&taken);
}

static void test_a_range_that_the_word_does_not_know_counts_and_is_noted(void **state)
{
    (void)state;
    struct taken taken;
    maker_init(&taken.maker);
    call(&taken.maker, 0, 50);
    maker_chunk(&taken.maker, 0)->consumed = FT_CONSUMED(1, 30);
    open_taken(&taken);
    const struct ft_trace_range ranges[] = {{.chunk = 0, .fill = 1, .from = 30, .to = 45},
                                            {.chunk = FT_CHUNKS_MAX + 7, .fill = 1, .from = 0, .to = 5}};
    for (size_t i = 0; i < 2; i++)
        ft_restore_note_range(&taken.process.segment, &ranges[i]);
    assert_int_equal(ft_restore_chunks(&taken.process), 0);
    assert_int_equal(slots_left(&taken), 5);
    assert_int_equal(word_of(&taken.maker, 0), FT_CONSUMED(1, 45));
    close_taken(&taken);
}

static void test_a_chunk_that_was_taken_and_has_no_new_head_is_not_read_again(void **state)
{
    (void)state;
    struct taken taken;
    maker_init(&taken.maker);
    call(&taken.maker, 0, FT_CHUNK_SLOTS);
    maker_chunk(&taken.maker, 0)->consumed = FT_CONSUMED(1, FT_CHUNK_SLOTS);
    taken.maker.head->chunk_state[0] = FT_CHUNK_FILLING; // freed, and taken by a thread that died at once
    open_taken(&taken);
    assert_int_equal(ft_restore_chunks(&taken.process), 0);
    assert_int_equal(slots_left(&taken), 0);
    assert_int_equal(taken.maker.head->chunk_state[0], FT_CHUNK_FILLING);
    // It lived after all.
    maker_chunk(&taken.maker, 0)->fill = 2;
    maker_slot(&taken.maker, 0, 0)[0] = FT_W0(FT_RECORD_CALL, 1, FT_CALL_ID_pread64, 0, 2, 0);
    assert_int_equal(slots_left(&taken), 1);
    close_taken(&taken);
}

static void test_a_chunk_that_was_written_and_not_freed_is_freed(void **state)
{
    (void)state;
    struct taken taken;
    maker_init(&taken.maker);
    call(&taken.maker, 0, FT_CHUNK_SLOTS + 1);
    open_taken(&taken);
    const struct ft_trace_range range = {.chunk = 0, .fill = 1, .from = 0, .to = FT_CHUNK_SLOTS};
    ft_restore_note_range(&taken.process.segment, &range);
    assert_int_equal(ft_restore_chunks(&taken.process), 0);
    assert_int_equal(taken.maker.head->chunk_state[0], FT_CHUNK_FULL);
    assert_int_equal(slots_left(&taken), 1);
    assert_int_equal(taken.maker.head->chunk_state[0], FT_CHUNK_FREE);
    assert_int_equal(word_of(&taken.maker, 0), FT_CONSUMED(1, FT_CHUNK_SLOTS));
    close_taken(&taken);
}

static void test_a_chunk_with_a_slot_that_may_still_be_written_is_not_freed(void **state)
{
    (void)state;
    struct taken taken;
    uint64_t fill;
    maker_init(&taken.maker);
    call(&taken.maker, 0, 10);
    maker_reserve(&taken.maker, 0, 1, maker_ticks(), &fill);
    call(&taken.maker, 0, FT_CHUNK_SLOTS);
    maker_chunk(&taken.maker, 0)->consumed = FT_CONSUMED(1, FT_CHUNK_SLOTS);
    open_taken(&taken);
    assert_int_equal(ft_restore_chunks(&taken.process), 0);
    assert_int_equal(slots_left(&taken), 11);
    assert_int_equal(taken.maker.head->chunk_state[0], FT_CHUNK_FULL);
    close_taken(&taken);
}

static void test_threads_vforks_and_execs_are_read_again_from_what_is_still_there(void **state)
{
    (void)state;
    struct taken taken;
    uint64_t fill;
    maker_init(&taken.maker);
    call(&taken.maker, 3, 5);
    uint64_t *thread = maker_reserve(&taken.maker, 3, 1, maker_ticks(), &fill);
    thread[1] = 4711 | UINT64_C(9) << 32;
    thread[0] = FT_W0(FT_RECORD_THREAD, 1, 0, 0, fill, FT_FD16_NONE);
    maker_vfork(&taken.maker, 3, 1, 815);
    maker_define(&taken.maker, 3, 30, 0, FT_DEFINE_PATH, "/bin/other");
    maker_call_words(&taken.maker, 3, FT_CALL_ID_execve, 0, 30, 0);
    maker_chunk(&taken.maker, 0)->consumed = FT_CONSUMED(1, taken.maker.slot[3]);
    call(&taken.maker, 3, 2);
    open_taken(&taken);
    assert_int_equal(ft_restore_chunks(&taken.process), 0);
    assert_int_equal(taken.process.lines[3].tid, 4711);
    assert_int_equal(taken.process.lines[3].ordinal, 9);
    assert_int_equal(taken.process.lines[3].vfork_depth, 1);
    assert_int_equal(taken.process.lines[3].vforks[0].pid, 815);
    assert_string_equal(taken.process.exec.path, "/bin/other");
    assert_int_equal(slots_left(&taken), 2);
    close_taken(&taken);
}

static void test_tags_hold_for_the_thread_that_had_them(void **state)
{
    (void)state;
    struct taken taken;
    maker_init(&taken.maker);
    call(&taken.maker, 0, 5);
    call(&taken.maker, 1, 5);
    open_taken(&taken);
    assert_int_equal(ft_restore_chunks(&taken.process), 0);
    const uint32_t all[] = {20}, own[] = {21, 22}, others[] = {23};
    const struct ft_trace_line_tags lines[] = {
        {.line = 0, .tid = (uint32_t)getpid(), .ordinal = 1, .tags = own, .count = 2},
        {.line = 1, .tid = 77, .ordinal = 9, .tags = own, .count = 2}, // it ended, and another has its line
        {.line = 2, .tid = 77, .ordinal = 3, .tags = others, .count = 1},
        {.line = FT_LINES_MAX + 1, .tags = others, .count = 1},
    };
    const struct ft_trace_tagged tagged = {.all = all, .all_count = 1, .lines = lines, .line_count = 4};
    ft_restore_tags(&taken.process, &tagged);
    uint32_t count;
    assert_int_equal(*ft_tag_times_newest(&taken.process.tags_all, &count), 20);
    assert_int_equal(count, 1);
    assert_int_equal(taken.process.lines[0].tags_count, 2);
    assert_int_equal(taken.process.lines[1].tags_count, 0);
    assert_int_equal(taken.process.lines[2].tags_count, 1);
    assert_int_equal(taken.process.lines[2].tags[0], 23);
    close_taken(&taken);
}

static void test_a_segment_that_contradicts_itself_is_refused(void **state)
{
    (void)state;
    struct taken taken;
    maker_init(&taken.maker);
    call(&taken.maker, 0, 5);
    taken.maker.head->chunks_granted = UINT32_MAX;
    open_taken(&taken);
    assert_int_not_equal(ft_restore_chunks(&taken.process), 0);
    close_taken(&taken);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_position_is_the_larger_of_all_that_is_said),
        cmocka_unit_test(test_a_word_holds_filling_and_slots),
        cmocka_unit_test(test_what_a_word_speaks_of_is_not_read_again),
        cmocka_unit_test(test_a_range_that_the_word_does_not_know_counts_and_is_noted),
        cmocka_unit_test(test_a_chunk_that_was_taken_and_has_no_new_head_is_not_read_again),
        cmocka_unit_test(test_a_chunk_that_was_written_and_not_freed_is_freed),
        cmocka_unit_test(test_a_chunk_with_a_slot_that_may_still_be_written_is_not_freed),
        cmocka_unit_test(test_threads_vforks_and_execs_are_read_again_from_what_is_still_there),
        cmocka_unit_test(test_tags_hold_for_the_thread_that_had_them),
        cmocka_unit_test(test_a_segment_that_contradicts_itself_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
