// SPDX-License-Identifier: MIT
/*
 * The ring as the shim uses it, over memory of this process: threads and a signal handler publish numbered records,
 * a thread in the daemon's place reads and frees. Every record must come out once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include "tests/unit/shim/segment_fixture.h"

enum { CHUNKS = 64, THREADS = 4, RECORDS = 100000, NUMBERS = (THREADS + 1) * RECORDS };

static uint8_t *seen; /* how often each number came out */
static _Atomic int is_over;
static volatile uint32_t from_handler; /* of this thread's handler */

static int setup(void **state)
{
    (void)state;
    ft_fixture_make(CHUNKS);
    seen = calloc(NUMBERS, 1);
    is_over = 0;
    from_handler = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    ft_fixture_remove();
    free(seen);
    return 0;
}

/* One record of one to three slots that carries a number. Waits for room, as the shim never does. */
static void publish(uint32_t number)
{
    struct ft_chunk_head *chunk;
    uint32_t slots = 1 + number % 3;
    uint64_t *word;
    uint8_t before = ft_recording_begin();
    while ((word = ft_ring_reserve(ft_thread.writer, slots, ft_ticks(), &chunk)) == NULL)
        ft_thread.writer->retry_ticks = 0;
    word[1] = number;
    for (uint32_t i = 1; i < slots; i++)
        word[i * FT_SLOT_WORDS] = number;
    __atomic_store_n(&word[0], FT_W0(FT_RECORD_CALL, slots, 1, 0, chunk->fill, FT_FD16_NONE), __ATOMIC_RELEASE);
    ft_recording_end(before);
}

static void take(const uint64_t *word, uint32_t slots)
{
    uint32_t number = (uint32_t)word[1];
    assert_true(number < NUMBERS);
    assert_int_equal(slots, 1 + number % 3);
    for (uint32_t i = 1; i < slots; i++)
        assert_int_equal(word[i * FT_SLOT_WORDS], number);
    seen[number]++;
}

/*
 * Reads a chunk from `slot` on; returns how far it is published. Its fill was read once: a chunk that its taker gave back
 * unused may be taken again meanwhile, and then nothing in it is of that fill.
 */
static uint32_t read_chunk(const struct ft_chunk_head *chunk, uint64_t fill, uint32_t slot)
{
    while (slot < FT_CHUNK_SLOTS) {
        const uint64_t *word = (const void *)((const char *)chunk + FT_CHUNK_HEAD_BYTES + (size_t)slot * FT_SLOT_BYTES);
        uint64_t head = __atomic_load_n(word, __ATOMIC_ACQUIRE);
        if (FT_W0_KIND(head) == FT_RECORD_NONE || FT_W0_FILL(head) != (uint16_t)fill)
            break;
        if (FT_W0_KIND(head) == FT_RECORD_CALL)
            take(word, FT_W0_SLOTS(head));
        slot += FT_W0_SLOTS(head);
    }
    return slot;
}

static void *drain(void *unused)
{
    (void)unused;
    uint64_t fills[CHUNKS] = {0};
    uint32_t slots[CHUNKS] = {0};
    for (int last = 0; !last;) {
        last = is_over;
        for (uint32_t i = 0; i < CHUNKS; i++) {
            uint8_t *state = &ft_head()->chunk_state[i], now = __atomic_load_n(state, __ATOMIC_ACQUIRE);
            if (now != FT_CHUNK_FILLING && now != FT_CHUNK_FULL)
                continue;
            struct ft_chunk_head *chunk = ft_chunk(i);
            uint64_t fill = __atomic_load_n(&chunk->fill, __ATOMIC_ACQUIRE);
            if (now == FT_CHUNK_FILLING && fill == fills[i] && slots[i] == FT_CHUNK_SLOTS)
                continue; /* read to its end, or just taken and its head not written yet */
            if (fill != fills[i])
                slots[i] = 0;
            fills[i] = fill;
            slots[i] = read_chunk(chunk, fill, slots[i]);
            if (now == FT_CHUNK_FULL && slots[i] == FT_CHUNK_SLOTS)
                __atomic_store_n(state, FT_CHUNK_FREE, __ATOMIC_RELEASE);
        }
    }
    return NULL;
}

/*
 * No thread ends before all have begun, or one might have the line of one that has ended: the kernel says so, and a sanitizer
 * cannot see that.
 */
static pthread_barrier_t all_have_begun;

static void *write_numbers(void *first)
{
    assert_int_equal(ft_thread_start(), 0);
    pthread_barrier_wait(&all_have_begun);
    for (uint32_t i = 0; i < RECORDS; i++)
        publish((uint32_t)(uintptr_t)first + i);
    return NULL;
}

static void on_timer(int signal)
{
    (void)signal;
    for (int i = 0; i < 200 && from_handler < RECORDS; i++)
        publish(THREADS * RECORDS + from_handler++);
}

static void run_threads(int count)
{
    pthread_t reader, writers[THREADS];
    pthread_barrier_init(&all_have_begun, NULL, (unsigned)count);
    assert_int_equal(pthread_create(&reader, NULL, drain, NULL), 0);
    for (int i = 0; i < count; i++)
        assert_int_equal(pthread_create(&writers[i], NULL, write_numbers, (void *)(uintptr_t)(i * RECORDS)), 0);
    for (int i = 0; i < count; i++)
        pthread_join(writers[i], NULL);
    is_over = 1;
    pthread_join(reader, NULL);
    pthread_barrier_destroy(&all_have_begun);
}

static void each_record_of_four_threads_comes_out_once(void **state)
{
    (void)state;
    run_threads(THREADS);
    for (uint32_t i = 0; i < THREADS * RECORDS; i++)
        if (seen[i] != 1)
            fail_msg("record %u came out %u times", i, seen[i]);
}

/* The handler runs on the writing thread, so it changes chunks between any two of its instructions. */
static void records_of_a_handler_and_its_victim_come_out_once(void **state)
{
    (void)state;
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_t reader;
    pthread_sigmask(SIG_BLOCK, &alarms, NULL);
    assert_int_equal(pthread_create(&reader, NULL, drain, NULL), 0);
    assert_int_equal(ft_thread_start(), 0);
    struct sigaction action = {.sa_handler = on_timer};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
    for (uint32_t i = 0; i < RECORDS; i++)
        publish(i);
    setitimer(ITIMER_REAL, &never, NULL);
    pthread_sigmask(SIG_BLOCK, &alarms, NULL);
    is_over = 1;
    pthread_join(reader, NULL);
    for (uint32_t i = 0; i < RECORDS; i++)
        if (seen[i] != 1)
            fail_msg("record %u came out %u times", i, seen[i]);
    for (uint32_t i = 0; i < from_handler; i++)
        if (seen[THREADS * RECORDS + i] != 1)
            fail_msg("handler's record %u came out %u times", i, seen[THREADS * RECORDS + i]);
}

static void without_a_reader_events_are_dropped_into_the_totals(void **state)
{
    (void)state;
    assert_int_equal(ft_thread_start(), 0);
    struct ft_chunk_head *chunk;
    uint32_t kept = 0;
    uint8_t before = ft_recording_begin();
    while (ft_ring_reserve(ft_thread.writer, 1, ft_ticks(), &chunk) != NULL)
        kept++;
    assert_int_equal(kept, CHUNKS * FT_CHUNK_SLOTS);
    for (unsigned call = 1; call <= 300; call++)
        ft_ring_drop(ft_thread.writer, call, 10, 2);
    ft_recording_end(before);
    assert_int_equal(ft_thread.line->dropped, 300);
    uint64_t count = 0, bytes = 0, ticks = 0, others = 0;
    for (uint32_t copy = 0; copy < FT_TOTALS_COPIES; copy++) {
        const struct ft_total *rows =
            ft_page(copy == 0 ? ft_process.totals_page : ft_process.totals_more_page + copy - 1);
        others += rows[0].count;
        for (uint32_t i = 0; i < FT_TOTALS_ROWS; i++) {
            count += rows[i].count;
            bytes += rows[i].bytes;
            ticks += rows[i].ticks;
        }
    }
    assert_int_equal(count, 300);
    assert_int_equal(bytes, 3000);
    assert_int_equal(ticks, 600);
    assert_int_equal(others, 300 - (FT_TOTALS_ROWS - 1)); /* what found no row of its own */
}

static const struct growth {
    uint32_t told, by_shim, chunks;
    const char *why;
} growths[] = {
    {0, 1024, FT_CHUNKS_UNASKED, "nothing was said: what may be had unasked"},
    {1, 1024, 1, "as good as nothing"},
    {16, 1024, 16, "one step"},
    {200, 1024, 200, "a step that does not fit is cut"},
    {600, 1024, 600, "more than what may be had unasked"},
    {UINT32_MAX, 300, 300, "a word that makes no sense ends at our own geometry"},
    {0, 16, 16, "a small segment"},
};

static void a_ring_grows_as_far_as_it_was_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(growths) / sizeof(growths[0]); i++) {
        const struct growth *one = &growths[i];
        ft_fixture_make(1024);
        ft_process.chunks_by_shim = one->by_shim;
        ft_head()->chunks_allowed = one->told;
        ft_process.has_room = 0;
        ft_ring_prepare(2048);
        if (ft_process.chunks_high != one->chunks)
            fail_msg("%u chunks, not %u: %s", ft_process.chunks_high, one->chunks, one->why);
        ft_fixture_remove();
    }
}

static void the_first_step_of_a_ring_is_small(void **state)
{
    (void)state;
    ft_fixture_make(1024);
    ft_process.chunks_by_shim = 1024;
    ft_process.chunks_high = FT_CHUNKS_AT_ATTACH;
    ft_ring_prepare(1);
    assert_int_equal(ft_process.chunks_high, 2 * FT_CHUNKS_AT_ATTACH);
    ft_ring_prepare(1);
    assert_int_equal(ft_process.chunks_high, 2 * FT_CHUNKS_AT_ATTACH + FT_CHUNKS_STEP);
    ft_fixture_remove();
}

static void what_is_prepared_is_all_there_after_a_small_step(void **state)
{
    (void)state;
    ft_fixture_make(1024);
    ft_process.chunks_by_shim = 1024;
    ft_process.chunks_high = FT_CHUNKS_AT_ATTACH;
    ft_ring_prepare(64);
    assert_in_range(ft_process.chunks_high, FT_CHUNKS_AT_ATTACH + 64, FT_CHUNKS_AT_ATTACH + 64 + FT_CHUNKS_STEP);
    ft_fixture_remove();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_record_of_four_threads_comes_out_once, setup, teardown),
        cmocka_unit_test_setup_teardown(records_of_a_handler_and_its_victim_come_out_once, setup, teardown),
        cmocka_unit_test_setup_teardown(without_a_reader_events_are_dropped_into_the_totals, setup, teardown),
        cmocka_unit_test(a_ring_grows_as_far_as_it_was_told),
        cmocka_unit_test(the_first_step_of_a_ring_is_small),
        cmocka_unit_test(what_is_prepared_is_all_there_after_a_small_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
