// SPDX-License-Identifier: MIT
/* Reserving slots, changing chunks, and what happens when there is none. States and memory order: proto/ring.h. */
#include "client/shim/clock.h"
#include "client/shim/headroom.h"
#include "client/shim/shim.h"

#include <errno.h>

/* A chunk's base lies this far before its taking, since an interrupted call may bring an older end. */
#define BASE_MARGIN (UINT64_C(1) << 36)
/* After a search for a chunk that found none, and after a growth that failed. */
#define RETRY_TICKS (UINT64_C(1) << 20)
#define GROWTH_RETRY_TICKS (UINT64_C(1) << 26)

/* A page of the writer's segment. Of its writer: what an interrupted call goes on with in a child is not the child's. */
static void *page_of(const struct ft_writer *writer, uint32_t page)
{
    return writer->pool - (size_t)(ft_process.pool_page - page) * FT_PAGE_BYTES;
}

static struct ft_head *head_of(const struct ft_writer *writer)
{
    return page_of(writer, 0);
}

/* Chunks that may have memory: what growth took, and what the daemon granted (its word is clipped to our geometry). */
static uint32_t chunk_bound(const struct ft_head *head)
{
    uint32_t high = __atomic_load_n(&ft_process.chunks_high, __ATOMIC_ACQUIRE);
    uint32_t granted = __atomic_load_n(&head->chunks_granted, __ATOMIC_ACQUIRE);
    if (granted > ft_process.chunks_max)
        granted = ft_process.chunks_max;
    uint32_t bound = granted > high ? granted : high;
    uint8_t growth = __atomic_load_n(&ft_process.growth, __ATOMIC_SEQ_CST);
    if (ft_likely(growth == FT_GROWTH_FREE))
        return bound;
    if (growth == FT_GROWTH_DECIDING)
        return 0;
    return bound < ft_process.chunks_fixed ? bound : ft_process.chunks_fixed;
}

/* The lowest free chunk, now FILLING; FT_NO_CHUNK where there is none. */
static uint32_t find_free(struct ft_head *head)
{
    uint32_t bound = chunk_bound(head);
    uint8_t *state = head->chunk_state;
    for (uint32_t i = 0; i < bound; i += 8) {
        uint64_t word = __atomic_load_n((uint64_t *)(void *)(state + i), __ATOMIC_RELAXED);
        word ^= UINT64_C(0x0101010101010101) * FT_CHUNK_FREE;
        if (((word - UINT64_C(0x0101010101010101)) & ~word & UINT64_C(0x8080808080808080)) == 0)
            continue;
        for (uint32_t j = i; j < i + 8 && j < bound; j++) {
            uint8_t expected = FT_CHUNK_FREE;
            /* Acquire: pairs with the daemon's pwrite of FREE, which comes after its last read of the chunk. */
            if (__atomic_load_n(&state[j], __ATOMIC_RELAXED) == FT_CHUNK_FREE &&
                __atomic_compare_exchange_n(&state[j], &expected, FT_CHUNK_FILLING, 0, __ATOMIC_ACQUIRE,
                                            __ATOMIC_RELAXED))
                return j;
        }
    }
    return FT_NO_CHUNK;
}

static void raise_word(uint32_t *word, uint32_t value)
{
    uint32_t seen = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (seen < value && !__atomic_compare_exchange_n(word, &seen, value, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
}

int ft_populate(void *from, size_t bytes)
{
    if (ft_is_shut_in())
        return -EPERM;
    long error = ft_sys(SYS_madvise, from, bytes, FT_MADV_POPULATE_WRITE);
    if (error != -EINVAL)
        return (int)error;
    /* Before Linux 5.14: the memory was taken by fallocate at attach; there is no growth. */
    return -EINVAL;
}

static void grow_totals(void)
{
    if (__atomic_load_n(&ft_process.totals_ready, __ATOMIC_RELAXED) > 1)
        return;
    if (ft_populate(ft_page(ft_process.totals_more_page), (size_t)(FT_TOTALS_COPIES - 1) * FT_PAGE_BYTES) != 0)
        return;
    __atomic_store_n(&ft_process.totals_ready, FT_TOTALS_COPIES, __ATOMIC_RELEASE);
    __atomic_store_n(&ft_head()->totals_copies, FT_TOTALS_COPIES, __ATOMIC_RELAXED); /* maybe by two threads */
}

static uint32_t chunks_told(void)
{
    return __atomic_load_n(&ft_head()->chunks_allowed, __ATOMIC_RELAXED);
}

/* Growth ends here: what the daemon says (its word is clipped to our geometry), and before it has, what goes unasked. */
static uint32_t chunks_allowed(void)
{
    uint32_t told = chunks_told(), most = ft_process.chunks_by_shim;
    uint8_t has_room = __atomic_load_n(&ft_process.has_room, __ATOMIC_RELAXED);
    uint32_t allowed = told != 0 ? told : has_room != 0 ? most : FT_CHUNKS_UNASKED;
    return allowed < most ? allowed : most;
}

static int may_grow(void)
{
    return __atomic_load_n(&ft_process.chunks_high, __ATOMIC_RELAXED) < chunks_allowed();
}

/*
 * A burst before the daemon's first look, or while there is none. Beside other threads nobody looks, since they would
 * notice a descriptor: their bursts find room, each thread that comes here says so.
 */
static void ask_for_room(void)
{
    struct ft_process *p = &ft_process;
    if (may_grow() || chunks_told() != 0 || __atomic_load_n(&p->was_room_asked, __ATOMIC_RELAXED) != 0)
        return;
    uint8_t has_room = (uint8_t)(!ft_has_one_thread() || ft_headroom_is_wide());
    __atomic_store_n(&p->has_room, has_room, __ATOMIC_RELAXED);
    __atomic_store_n(&p->was_room_asked, 1, __ATOMIC_RELEASE); /* partner: in grow() */
}

static uint32_t grow_undisturbed(uint64_t now, uint8_t first_state)
{
    ask_for_room();
    uint32_t count, first = __atomic_load_n(&ft_process.chunks_high, __ATOMIC_RELAXED), allowed = chunks_allowed();
    do {
        if (first >= allowed)
            return FT_NO_CHUNK;
        count = first <= FT_CHUNKS_AT_ATTACH ? FT_CHUNKS_AT_ATTACH : FT_CHUNKS_STEP;
        if (count > allowed - first)
            count = allowed - first;
    } while (!__atomic_compare_exchange_n(&ft_process.chunks_high, &first, first + count, 0, __ATOMIC_SEQ_CST,
                                          __ATOMIC_RELAXED));
    FT_TEST_POINT(growth_counted);
    if (__atomic_load_n(&ft_process.growth, __ATOMIC_SEQ_CST) != FT_GROWTH_FREE ||
        ft_populate(ft_chunk(first), (size_t)count * FT_CHUNK_BYTES) != 0) {
        uint32_t expected = first + count;
        __atomic_compare_exchange_n(&ft_process.chunks_high, &expected, first, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
        ft_process.growth_retry_ticks = now + GROWTH_RETRY_TICKS;
        return FT_NO_CHUNK;
    }
    if (first > FT_CHUNKS_AT_ATTACH) /* the first step is that of a process of few calls */
        grow_totals();
    FT_TEST_POINT(growth_populated);
    struct ft_head *head = ft_head();
    __atomic_store_n(&head->chunk_state[first], first_state, __ATOMIC_RELEASE);
    for (uint32_t i = 1; i < count; i++)
        __atomic_store_n(&head->chunk_state[first + i], FT_CHUNK_FREE, __ATOMIC_RELEASE);
    raise_word(&head->chunks_ready, first + count);
    return first;
}

/*
 * Takes memory for a step of chunks; the first of them is FILLING, the others FREE. No handler comes in between: it might
 * fork, and the child would go on with growth that is its parent's. `writer` (NULL: none) may be one that was left so.
 */
static uint32_t grow(const struct ft_writer *writer, uint64_t now, uint8_t first_state)
{
    /* In this order: has_room is in place when was_room_asked is. */
    uint8_t was_asked = __atomic_load_n(&ft_process.was_room_asked, __ATOMIC_ACQUIRE);
    if (ft_is_shut_in() || ft_process.daemon_grows || now < ft_process.growth_retry_ticks ||
        (was_asked != 0 && !may_grow()))
        return FT_NO_CHUNK;
    uint64_t before = ft_block_signals();
    uint32_t first = FT_NO_CHUNK;
    if (writer == NULL || !writer->is_orphan)
        first = grow_undisturbed(now, first_state);
    ft_unblock_signals(before);
    return first;
}

void ft_ring_prepare(uint32_t chunks)
{
    const uint32_t *high = &ft_process.chunks_high, before = __atomic_load_n(high, __ATOMIC_RELAXED);
    while (__atomic_load_n(high, __ATOMIC_RELAXED) - before < chunks)
        if (grow(NULL, ft_now(), FT_CHUNK_FREE) == FT_NO_CHUNK)
            return;
}

static uint32_t take_chunk(struct ft_writer *writer, uint64_t now)
{
    if (writer->retry_ticks != 0 && now < writer->retry_ticks)
        return FT_NO_CHUNK;
    uint32_t index = find_free(head_of(writer));
    if (index == FT_NO_CHUNK)
        index = grow(writer, now, FT_CHUNK_FILLING);
    if (index == FT_NO_CHUNK) {
        __atomic_fetch_add(&head_of(writer)->chunks_wanted, 1, __ATOMIC_RELAXED);
        writer->retry_ticks = now + RETRY_TICKS;
        return FT_NO_CHUNK;
    }
    FT_TEST_POINT(chunk_taken);
    writer->retry_ticks = 0;
    struct ft_chunk_head *head = ft_chunk_of(writer, index);
    head->line = writer->index;
    head->tid = writer->line->tid;
    head->ordinal = writer->line->ordinal;
    head->base_ticks = now - BASE_MARGIN;
    head->sequence = ft_local_add(&writer->sequence, 1) + 1;
    head->vfork_pid = writer->vfork_pid;
    FT_TEST_POINT(chunk_headed);
    /* Release: a head with the new fill has all of the above. */
    __atomic_store_n(&head->fill, head->fill + 1, __ATOMIC_RELEASE);
    return index;
}

static uint64_t *slot_words(struct ft_chunk_head *chunk, uint32_t slot)
{
    return (uint64_t *)((char *)chunk + FT_CHUNK_HEAD_BYTES + (size_t)slot * FT_SLOT_BYTES);
}

/* Publishes nothing in slots [from, to). */
static void pad(struct ft_chunk_head *chunk, uint32_t from, uint32_t to)
{
    uint64_t fill = chunk->fill;
    while (from < to) {
        uint32_t slots = to - from > FT_RECORD_SLOTS_MAX ? FT_RECORD_SLOTS_MAX : to - from;
        __atomic_store_n(slot_words(chunk, from), FT_W0(FT_RECORD_PAD, slots, 0, 0, fill, FT_FD16_NONE),
                         __ATOMIC_RELEASE);
        from += slots;
    }
}

/*
 * The one reservation that crosses a chunk's end pads what is left and marks it FULL; later ones, of signal handlers
 * that interrupted it, find the cursor past the end and only take a chunk of their own.
 */
static void close_chunk(struct ft_writer *writer, uint32_t chunk, uint32_t slot)
{
    pad(ft_chunk_of(writer, chunk), slot, FT_CHUNK_SLOTS);
    FT_TEST_POINT(chunk_padded);
    /* Release: FULL says that all slots are reserved, and those published before are seen. */
    __atomic_store_n(&head_of(writer)->chunk_state[chunk], FT_CHUNK_FULL, __ATOMIC_RELEASE);
    FT_TEST_POINT(chunk_full);
}

/* Closes a chunk that is not full, having got `slot` .. of it, because it is too old for 40 bits of ticks. */
static void close_early(struct ft_writer *writer, uint32_t chunk, uint32_t slot, uint32_t slots)
{
    pad(ft_chunk_of(writer, chunk), slot, slot + slots);
    uint64_t rest = ft_local_add(&writer->cursor, FT_CHUNK_SLOTS);
    if ((uint32_t)(rest >> 32) == chunk && (uint32_t)rest <= FT_CHUNK_SLOTS)
        close_chunk(writer, chunk, (uint32_t)rest);
}

static int is_fitting(uint64_t cursor, uint32_t slots)
{
    return (uint32_t)cursor < FT_CHUNK_SLOTS && slots <= FT_CHUNK_SLOTS - (uint32_t)cursor;
}

static int is_young(const struct ft_chunk_head *chunk, uint64_t now)
{
    return now - chunk->base_ticks <= FT_END_MAX;
}

uint64_t *ft_ring_reserve_more(struct ft_writer *writer, uint64_t cursor, uint32_t slots, uint64_t now,
                               struct ft_chunk_head **chunk)
{
    for (;;) {
        if (ft_unlikely(writer->is_orphan))
            return ft_thread_sink(chunk);
        uint32_t index = (uint32_t)(cursor >> 32), slot = (uint32_t)cursor;
        if (index != FT_NO_CHUNK && is_fitting(cursor, slots))
            close_early(writer, index, slot, slots);
        else if (index != FT_NO_CHUNK && slot <= FT_CHUNK_SLOTS)
            close_chunk(writer, index, slot);
        uint64_t current = __atomic_load_n(&writer->cursor, __ATOMIC_RELAXED);
        if ((uint32_t)(current >> 32) == index) {
            uint32_t taken = take_chunk(writer, now);
            if (taken == FT_NO_CHUNK) {
                ft_local_swap_if(&writer->cursor, current, FT_CURSOR_NONE);
                return NULL;
            }
            FT_TEST_POINT(chunk_filled);
            /* A handler may have reserved or changed the chunk since: then ours goes back and its is used. */
            if (!ft_local_swap_if(&writer->cursor, current, (uint64_t)taken << 32)) {
                FT_TEST_POINT(chunk_given_up);
                __atomic_store_n(&head_of(writer)->chunk_state[taken], FT_CHUNK_FREE, __ATOMIC_RELEASE);
            }
        }
        cursor = ft_local_add(&writer->cursor, slots);
        if ((uint32_t)(cursor >> 32) != FT_NO_CHUNK && is_fitting(cursor, slots)) {
            *chunk = ft_chunk_of(writer, (uint32_t)(cursor >> 32));
            if (is_young(*chunk, now))
                return slot_words(*chunk, (uint32_t)cursor);
        }
    }
}

uint64_t *ft_ring_reserve(struct ft_writer *writer, uint32_t slots, uint64_t now, struct ft_chunk_head **chunk)
{
#ifdef FT_TEST_POINTS
    if (!ft_thread.is_recording)
        __builtin_trap(); /* our own fault: see ft_recording_begin */
#endif
    uint64_t cursor = ft_local_add(&writer->cursor, slots);
    if ((uint32_t)(cursor >> 32) != FT_NO_CHUNK && is_fitting(cursor, slots)) {
        *chunk = ft_chunk_of(writer, (uint32_t)(cursor >> 32));
        if (is_young(*chunk, now))
            return slot_words(*chunk, (uint32_t)cursor);
    }
    return ft_ring_reserve_more(writer, cursor, slots, now, chunk);
}

void ft_ring_drop(struct ft_writer *writer, unsigned call, uint64_t bytes, uint64_t ticks)
{
    if (writer->is_orphan)
        return;
    struct ft_line *line = writer->line;
    FT_TEST_POINT(dropping);
    ft_local_increment(&line->dropped);
    FT_TEST_POINT(dropped);
    uint32_t copies = __atomic_load_n(&ft_process.totals_ready, __ATOMIC_ACQUIRE);
    uint32_t copy = copies > 1 ? writer->index % copies : 0;
    struct ft_total *rows =
        page_of(writer, copy == 0 ? ft_process.totals_page : ft_process.totals_more_page + copy - 1);
    struct ft_total *row = &rows[0];
    for (uint32_t i = 0; call != 0 && i < FT_TOTALS_ROWS - 1; i++) { /* 0: of the application */
        struct ft_total *candidate = &rows[1 + (call * 7 + i) % (FT_TOTALS_ROWS - 1)];
        uint32_t owner = 0;
        if (__atomic_load_n(&candidate->call, __ATOMIC_RELAXED) == call ||
            __atomic_compare_exchange_n(&candidate->call, &owner, call, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
            owner == call) {
            row = candidate;
            break;
        }
    }
    __atomic_fetch_add(&row->count, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&row->bytes, bytes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&row->ticks, ticks, __ATOMIC_RELAXED);
}

uint64_t *ft_event_begin(struct ft_event *event)
{
    event->recording_before = ft_recording_begin();
    struct ft_writer *writer = ft_thread.writer;
    struct ft_line *line = writer->line;
    FT_TEST_POINT(line_known);
    ft_local_increment(&line->emitted);
    FT_TEST_POINT(emitted);
    uint64_t *word = ft_ring_reserve(writer, event->slots, event->end, &event->chunk);
    if (word == NULL) {
        ft_ring_drop(writer, event->call, event->bytes, event->ticks);
        ft_recording_end(event->recording_before);
        return NULL;
    }
    FT_TEST_POINT(reserved_long);
    return word;
}

void ft_event_end(const struct ft_event *event, uint64_t *word, uint64_t value)
{
    FT_TEST_POINT(written_long);
    /* Release: partner is the reader's second look at the chunk (proto/ring.h). */
    __atomic_store_n(&word[0], value, __ATOMIC_RELEASE);
    ft_recording_end(event->recording_before);
}
