// SPDX-License-Identifier: MIT
#include "daemon/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/clock.h"
#include "daemon/process.h"
#include "daemon/record.h"
#include "daemon/test_point.h"

// What was copied before is older than what is copied after. (x86 keeps loads in order; a fence of stdatomic.h is unknown
// to the thread sanitizer.)
static void order_loads(void)
{
#if defined(__aarch64__)
    __asm__ volatile("dmb ishld" ::: "memory");
#else
    __asm__ volatile("" ::: "memory");
#endif
}

void ft_batch_trim(struct ft_batch *batch)
{
    for (size_t i = 0; i < batch->slabs_count; i++)
        free(batch->slabs[i]);
    free(batch->slabs);
    free(batch->pieces);
    memset(batch, 0, sizeof(*batch));
}

size_t ft_batch_memory(const struct ft_batch *batch)
{
    return batch->slabs_count * ((size_t)FT_BATCH_SLAB_CHUNKS * FT_CHUNK_BYTES + sizeof(*batch->slabs)) +
           batch->room * sizeof(*batch->pieces);
}

void ft_batch_fini(struct ft_batch *batch)
{
    ft_batch_trim(batch);
}

void ft_batch_reset(struct ft_batch *batch)
{
    batch->count = 0;
    batch->chunks_used = 0;
}

// Room for copies of up to `wanted` chunks in a row; *got of them.
static uint8_t *room_for_chunks(struct ft_batch *batch, size_t wanted, size_t *got)
{
    size_t slab = batch->chunks_used / FT_BATCH_SLAB_CHUNKS, at = batch->chunks_used % FT_BATCH_SLAB_CHUNKS;
    if (slab == batch->slabs_count) {
        uint8_t **slabs = realloc(batch->slabs, (slab + 1) * sizeof(*slabs));
        if (!slabs)
            return NULL;
        batch->slabs = slabs;
        slabs[slab] = aligned_alloc(FT_CHUNK_BYTES, (size_t)FT_BATCH_SLAB_CHUNKS * FT_CHUNK_BYTES);
        if (!slabs[slab])
            return NULL;
        batch->slabs_count++;
    }
    *got = wanted < FT_BATCH_SLAB_CHUNKS - at ? wanted : FT_BATCH_SLAB_CHUNKS - at;
    return batch->slabs[slab] + at * FT_CHUNK_BYTES;
}

static struct ft_piece *new_piece(struct ft_batch *batch)
{
    if (batch->count == batch->room) {
        size_t room = batch->room ? batch->room * 2 : 16;
        struct ft_piece *pieces = realloc(batch->pieces, room * sizeof(*pieces));
        if (!pieces)
            return NULL;
        batch->pieces = pieces;
        batch->room = room;
    }
    return &batch->pieces[batch->count];
}

// How far a chunk is published: the slot behind its last record. A record that leaves the chunk ends it too.
static unsigned published_end(const uint8_t *bytes, unsigned from, uint64_t fill, bool *is_corrupt, bool *has_names)
{
    unsigned end = from;
    for (unsigned at = from; at < FT_CHUNK_SLOTS;) {
        int slots = ft_record_slots(bytes, at, fill);
        if (slots == FT_RECORD_CORRUPT) {
            *is_corrupt = true;
            break;
        }
        if (slots == FT_RECORD_UNPUBLISHED) {
            at = ft_record_find_published(bytes, at + 1, fill);
            continue;
        }
        unsigned kind = FT_W0_KIND(ft_record_at(bytes, at)[0]);
        *has_names |= kind == FT_RECORD_DEFINE || kind == FT_RECORD_TAGS;
        at += (unsigned)slots;
        end = at;
    }
    return end;
}

// Begins a new filling in our books where the head is newer; false where the chunk has nothing for us.
static bool has_news(struct ft_segment_position *position, uint64_t fill)
{
    if (fill <= position->fill && (fill < position->fill || position->consumed >= FT_CHUNK_SLOTS))
        return false;
    if (fill > position->fill)
        *position = (struct ft_segment_position){.fill = fill};
    return true;
}

static int add_piece(struct ft_batch *batch, struct ft_process *process, uint32_t chunk, uint8_t *bytes)
{
    struct ft_segment *segment = &process->segment;
    struct ft_segment_position *position = ft_segment_position(segment, chunk);
    struct ft_piece *piece = new_piece(batch);
    if (!position || !piece)
        return -ENOMEM;
    struct ft_chunk_head head;
    memcpy(&head, bytes, sizeof(head));
    if (!has_news(position, head.fill)) {
        // Of a daemon before us: it had written all of it, and not freed it any more.
        bool is_done = head.fill == position->fill && !position->is_closed && !position->has_holes;
        if (is_done && segment->states[chunk] == FT_CHUNK_FULL)
            ft_segment_free_chunks(segment, chunk, 1);
        return 0;
    }
    bool has_names = false;
    unsigned end = published_end(bytes, position->consumed, head.fill, &process->is_corrupt, &has_names);
    bool is_quiet = segment->states[chunk] == FT_CHUNK_FULL || atomic_load(&process->state) != FT_PROCESS_ALIVE;
    if (end > position->consumed && !is_quiet) {
        // Partner of the shim's release store of word 0: what the first read saw published, the second reads whole.
        order_loads();
        int r = ft_segment_read_chunks(segment, chunk, 1, bytes);
        if (r < 0)
            return r;
        memcpy(&head, bytes, sizeof(head));
        if (head.fill != position->fill)
            return -EBADMSG; // only we free chunks, so it cannot have been taken again
    }
    if (end <= position->consumed && segment->states[chunk] != FT_CHUNK_FULL)
        return 0;
    if (head.line >= segment->geometry.lines_max)
        return -EBADMSG;
    *piece = (struct ft_piece){
        .process = process,
        .bytes = bytes,
        .head = head,
        .chunk = chunk,
        .from = position->consumed,
        .to = position->consumed,
        .written = position->consumed,
        .end = (uint16_t)end,
        .state = segment->states[chunk],
        .has_holes = position->has_holes,
        .has_names = has_names,
        .until_ticks = UINT64_MAX,
    };
    batch->count++;
    return 1;
}

// Chunks from `chunk` on, in a row, that are worth reading.
static uint32_t run_of_chunks(struct ft_segment *segment, uint32_t chunk)
{
    uint32_t count = 0;
    for (; chunk + count < segment->counts.chunks_ready; count++) {
        uint32_t at = chunk + count;
        if (segment->states[at] != FT_CHUNK_FILLING && segment->states[at] != FT_CHUNK_FULL)
            break;
        struct ft_segment_position *position = at < segment->positions_count ? &segment->positions[at] : NULL;
        if (position && position->is_closed) {
            if (segment->states[at] == FT_CHUNK_FULL && !position->has_holes) {
                ft_segment_free_chunks(segment, at, 1);
                segment->states[at] = FT_CHUNK_FREE; // the shim may have it again: the next look will tell
                position->is_closed = false;
            }
            break;
        }
    }
    return count;
}

static int by_line_and_sequence(const void *a, const void *b)
{
    const struct ft_piece *x = a, *y = b;
    if (x->head.line != y->head.line)
        return x->head.line < y->head.line ? -1 : 1;
    return x->head.sequence < y->head.sequence ? -1 : x->head.sequence > y->head.sequence;
}

int ft_batch_collect(struct ft_batch *batch, struct ft_process *process, size_t *first)
{
    struct ft_segment *segment = &process->segment;
    *first = batch->count;
    // Decided before the first copy, once for the whole batch: what is left of one that lived then is drained again.
    bool may_go_on = atomic_load(&process->state) == FT_PROCESS_ALIVE;
    int r = ft_segment_look_again(segment);
    uint64_t until_ticks =
        process->clock == FT_CLOCK_TICKS ? ft_clock_ticks() : (uint64_t)(ft_clock_mono_ns() + process->clock_ahead_ns);
    uint32_t chunk = 0;
    while (r >= 0 && chunk < segment->counts.chunks_ready) {
        uint32_t run = run_of_chunks(segment, chunk);
        if (!run) {
            chunk++;
            continue;
        }
        size_t got = 0;
        uint8_t *bytes = room_for_chunks(batch, run, &got);
        r = bytes ? ft_segment_read_chunks(segment, chunk, (uint32_t)got, bytes) : -ENOMEM;
        for (size_t i = 0; r >= 0 && i < got; i++)
            r = add_piece(batch, process, chunk + (uint32_t)i, bytes + i * FT_CHUNK_BYTES);
        batch->chunks_used += got;
        chunk += (uint32_t)got;
    }
    // Of several lines, one chunk is copied after the other: an event may be there and a tag that was set before it not.
    for (size_t i = *first; may_go_on && segment->counts.lines_used > 1 && i < batch->count; i++)
        batch->pieces[i].until_ticks = until_ticks;
    if (batch->count > *first)
        qsort(batch->pieces + *first, batch->count - *first, sizeof(*batch->pieces), by_line_and_sequence);
    return r < 0 ? r : 0;
}

// Chunks that follow each other and are to be freed: with one write.
struct freed {
    const struct ft_segment *segment;
    uint32_t first, count;
};

static void free_them(struct freed *freed)
{
    if (!freed->count)
        return;
    ft_segment_free_chunks(freed->segment, freed->first, freed->count);
    FT_TEST_POINT(chunk_freed);
    freed->count = 0;
}

static void add_to_freed(struct freed *freed, const struct ft_segment *segment, uint32_t chunk)
{
    bool follows = freed->count && freed->segment == segment && freed->first + freed->count == chunk;
    if (!follows) {
        free_them(freed);
        *freed = (struct freed){.segment = segment, .first = chunk};
    }
    freed->count++;
}

void ft_batch_commit(struct ft_batch *batch, size_t from, size_t to)
{
    struct freed freed = {.count = 0};
    for (size_t i = from; i < to; i++) {
        const struct ft_piece *piece = &batch->pieces[i];
        struct ft_segment *segment = &piece->process->segment;
        struct ft_segment_position *position = ft_segment_position(segment, piece->chunk);
        if (!position || segment->fd < 0)
            continue;
        if (piece->to != position->consumed) {
            position->waiting_ns = 0;
            position->was_deferred = false;
        }
        position->consumed = piece->to;
        position->has_holes = piece->has_holes;
        bool is_whole = piece->to >= FT_CHUNK_SLOTS;
        if (piece->to > piece->from) {
            ft_segment_store_consumed(segment, piece->chunk, piece->head.fill, piece->to);
            FT_TEST_POINT(consumed_stored);
        }
        bool is_to_be_freed = is_whole && piece->state == FT_CHUNK_FULL && !piece->has_holes;
        if (is_to_be_freed) {
            FT_TEST_POINT(consumed_whole);
            add_to_freed(&freed, segment, piece->chunk);
        }
        position->is_closed = is_whole && !is_to_be_freed;
    }
    free_them(&freed);
}
