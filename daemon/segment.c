// SPDX-License-Identifier: MIT
#include "daemon/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Lines beyond those in use that a look reads too, so that a new thread shows without reading the head.
#define LINES_AHEAD 4

static int read_exactly(int fd, void *out, size_t bytes, uint64_t offset)
{
    ssize_t n = pread(fd, out, bytes, (off_t)offset);
    if (n < 0)
        return -errno;
    return (size_t)n == bytes ? 0 : -EBADMSG;
}

static bool is_inside(const struct ft_segment_geometry *geometry, uint32_t page, uint64_t bytes)
{
    uint64_t pages = geometry->bytes / FT_PAGE_BYTES;
    return page < pages && bytes <= geometry->bytes - (uint64_t)page * FT_PAGE_BYTES;
}

static bool is_geometry_good(const struct ft_segment_geometry *geometry)
{
    if (geometry->bytes % FT_PAGE_BYTES || geometry->bytes < FT_PAGE_BYTES)
        return false;
    if (geometry->lines_max < 1 || geometry->lines_max > FT_LINES_MAX || geometry->chunks_max < 1 ||
        geometry->chunks_max > FT_CHUNKS_MAX || geometry->hello_pages < 1 || geometry->hello_pages > FT_HELLO_PAGES)
        return false;
    return is_inside(geometry, geometry->totals_page, FT_PAGE_BYTES) &&
           is_inside(geometry, geometry->totals_more_page, (FT_TOTALS_COPIES - 1) * FT_PAGE_BYTES) &&
           is_inside(geometry, geometry->hello_page, (uint64_t)geometry->hello_pages * FT_PAGE_BYTES) &&
           is_inside(geometry, geometry->lines_page, (uint64_t)geometry->lines_max * FT_LINE_BYTES) &&
           is_inside(geometry, geometry->pool_page, (uint64_t)geometry->chunks_max * FT_CHUNK_BYTES);
}

uint64_t ft_segment_mix_id(const uint64_t id[2])
{
    return id[0] ^ (id[1] * UINT64_C(0x9e3779b97f4a7c15));
}

int ft_segment_open(struct ft_segment *segment, int fd, uint64_t bytes)
{
    struct ft_head head;
    int r = read_exactly(fd, &head, sizeof(head), 0);
    if (r < 0)
        return r;
    if (head.magic != FT_RING_MAGIC || head.segment_bytes != bytes || head.page_bytes != FT_PAGE_BYTES)
        return -EBADMSG;
    if (head.abi_major != FT_RING_ABI_MAJOR)
        return -EPROTO;
    if (!head.ready)
        return -EAGAIN;
    struct ft_segment_geometry geometry = {
        .bytes = bytes,
        .totals_page = head.totals_page,
        .totals_more_page = head.totals_more_page,
        .hello_page = head.hello_page,
        .hello_pages = head.hello_pages,
        .lines_page = head.lines_page,
        .lines_max = head.lines_max,
        .pool_page = head.pool_page,
        .chunks_max = head.chunks_max,
    };
    if (!is_geometry_good(&geometry))
        return -EBADMSG;
    memset(segment, 0, sizeof(*segment));
    segment->fd = fd;
    segment->geometry = geometry;
    segment->pid_claimed = head.pid;
    segment->id = ft_segment_mix_id(head.segment_id);
    return 0;
}

void ft_segment_close(struct ft_segment *segment)
{
    if (segment->fd >= 0)
        close(segment->fd);
    segment->fd = -1;
    ft_resting_end(&segment->resting);
    free(segment->lines);
    free(segment->states);
    free(segment->positions);
    segment->lines = NULL;
    segment->states = NULL;
    segment->positions = NULL;
    segment->lines_room = segment->positions_count = 0;
    segment->counts.lines_used = segment->counts.chunks_ready = 0;
}

int ft_segment_read_hello(const struct ft_segment *segment, uint8_t **out, size_t *bytes)
{
    // Most Hellos fit their first page; items_bytes tells how much there is.
    size_t room = (size_t)segment->geometry.hello_pages * FT_PAGE_BYTES;
    uint64_t offset = (uint64_t)segment->geometry.hello_page * FT_PAGE_BYTES;
    uint8_t *hello = malloc(FT_PAGE_BYTES);
    if (!hello)
        return -ENOMEM;
    int r = read_exactly(segment->fd, hello, FT_PAGE_BYTES, offset);
    uint32_t items_bytes = 0;
    if (r == 0)
        memcpy(&items_bytes, hello + offsetof(struct ft_hello, items_bytes), sizeof(items_bytes));
    if (r == 0 && items_bytes > room - sizeof(struct ft_hello))
        r = -EBADMSG;
    size_t all = sizeof(struct ft_hello) + items_bytes;
    if (r == 0 && all > FT_PAGE_BYTES) {
        uint8_t *longer = realloc(hello, all);
        r = longer ? 0 : -ENOMEM;
        hello = longer ? longer : hello;
        if (r == 0)
            r = read_exactly(segment->fd, hello + FT_PAGE_BYTES, all - FT_PAGE_BYTES, offset + FT_PAGE_BYTES);
    }
    if (r < 0) {
        free(hello);
        return r;
    }
    *out = hello;
    *bytes = all;
    return 0;
}

static int make_room_for_lines(struct ft_segment *segment, uint32_t count)
{
    if (count <= segment->lines_room)
        return 0;
    struct ft_line *lines = realloc(segment->lines, count * sizeof(*lines));
    if (!lines)
        return -ENOMEM;
    segment->lines = lines;
    segment->lines_room = count;
    return 0;
}

static int read_lines(struct ft_segment *segment, uint32_t count)
{
    int r = make_room_for_lines(segment, count);
    if (r < 0)
        return r;
    return read_exactly(segment->fd, segment->lines, count * sizeof(struct ft_line),
                        (uint64_t)segment->geometry.lines_page * FT_PAGE_BYTES);
}

// No thread comes so far: more is not believed, so that sums over lines and processes stay what they say.
#define LINE_COUNT_MAX (UINT64_C(1) << 44)

static uint64_t believable(uint64_t count)
{
    return count < LINE_COUNT_MAX ? count : LINE_COUNT_MAX;
}

static void add_up_lines(const struct ft_segment *segment, uint32_t count, struct ft_segment_counts *counts)
{
    counts->emitted = counts->dropped = counts->limited = 0;
    for (uint32_t i = 0; i < count; i++) {
        counts->emitted += believable(segment->lines[i].emitted);
        counts->dropped += believable(segment->lines[i].dropped);
        counts->limited += segment->lines[i].dropped_limit;
    }
}

// Live words and chunk states in one read: they follow each other.
static int read_live(struct ft_segment *segment, struct ft_segment_counts *counts)
{
    struct ft_head head;
    const size_t from = offsetof(struct ft_head, lines_used), to = offsetof(struct ft_head, chunk_state);
    int r = read_exactly(segment->fd, (uint8_t *)&head + from, sizeof(head) - from, from);
    if (r < 0)
        return r;
    uint32_t ready = head.chunks_ready > segment->chunks_granted ? head.chunks_ready : segment->chunks_granted;
    if (head.lines_used > segment->geometry.lines_max || ready > segment->geometry.chunks_max)
        return -EBADMSG;
    uint8_t *states = realloc(segment->states, ready ? ready : 1);
    if (!states)
        return -ENOMEM;
    segment->states = states;
    memcpy(states, (uint8_t *)&head + to, ready);
    counts->chunks_used = 0;
    for (uint32_t i = 0; i < ready; i++)
        counts->chunks_used += states[i] == FT_CHUNK_FILLING || states[i] == FT_CHUNK_FULL;
    counts->lines_used = head.lines_used;
    counts->chunks_ready = ready;
    counts->chunks_taken = head.chunks_ready < FT_CHUNKS_BY_SHIM ? head.chunks_ready : FT_CHUNKS_BY_SHIM;
    counts->chunks_wanted = head.chunks_wanted;
    counts->names_lost = head.names_lost;
    counts->settings_ignored = head.settings_ignored;
    counts->sandbox = head.sandbox;
    return 0;
}

void ft_segment_fetch(const struct ft_segment *segment)
{
    uint32_t used = segment->counts.lines_used;
    if (!segment->resting.lines || used > FT_RESTING_LINES - LINES_AHEAD)
        return;
    for (uint32_t i = 0; i < used + LINES_AHEAD; i++)
        __builtin_prefetch(&segment->resting.lines[i]);
    for (uint32_t i = 0; i < used; i++)
        __builtin_prefetch(&segment->lines[i]);
}

int ft_segment_look(struct ft_segment *segment, bool *changed)
{
    struct ft_segment_counts counts = segment->counts;
    uint32_t left = segment->geometry.lines_max - counts.lines_used;
    uint32_t ahead = left < LINES_AHEAD ? left : LINES_AHEAD;
    if (ft_resting_is_quiet(&segment->resting, segment->lines, counts.lines_used, ahead)) {
        *changed = false;
        return 0;
    }
    int r = read_lines(segment, counts.lines_used + ahead);
    if (r < 0)
        return r;
    bool has_new_line = !segment->states;
    for (uint32_t i = counts.lines_used; i < counts.lines_used + ahead; i++)
        has_new_line |= segment->lines[i].tid || segment->lines[i].emitted;
    add_up_lines(segment, counts.lines_used, &counts);
    *changed = has_new_line || counts.emitted != segment->counts.emitted || counts.dropped != segment->counts.dropped ||
               counts.limited != segment->counts.limited;
    ft_resting_note(&segment->resting, segment->fd, segment->geometry.lines_page, *changed);
    if (!*changed)
        return 0;
    return ft_segment_look_again(segment);
}

int ft_segment_look_again(struct ft_segment *segment)
{
    struct ft_segment_counts counts = segment->counts;
    int r = read_live(segment, &counts);
    if (r == 0)
        r = read_lines(segment, counts.lines_used);
    if (r < 0)
        return r;
    add_up_lines(segment, counts.lines_used, &counts);
    segment->counts = counts;
    return 0;
}

int ft_segment_read_chunks(const struct ft_segment *segment, uint32_t first, uint32_t count, void *out)
{
    if (first >= segment->geometry.chunks_max || count > segment->geometry.chunks_max - first)
        return -EBADMSG;
    uint64_t offset = (uint64_t)segment->geometry.pool_page * FT_PAGE_BYTES + (uint64_t)first * FT_CHUNK_BYTES;
    return read_exactly(segment->fd, out, (size_t)count * FT_CHUNK_BYTES, offset);
}

struct ft_segment_position *ft_segment_position(struct ft_segment *segment, uint32_t chunk)
{
    if (chunk >= segment->positions_count) {
        uint32_t count = chunk + 1 < 8 ? 8 : (chunk + 1) * 2;
        if (count > segment->geometry.chunks_max)
            count = segment->geometry.chunks_max;
        struct ft_segment_position *positions = realloc(segment->positions, count * sizeof(*positions));
        if (!positions)
            return NULL;
        memset(positions + segment->positions_count, 0, (count - segment->positions_count) * sizeof(*positions));
        segment->positions = positions;
        segment->positions_count = count;
    }
    return &segment->positions[chunk];
}

// A failed write cannot be helped: the memory is the client's, and it is sealed against shrinking. What follows from a
// chunk that stays FULL is that the shim drops and counts.
static void write_words(const struct ft_segment *segment, const void *words, size_t bytes, uint64_t offset)
{
    ssize_t n = pwrite(segment->fd, words, bytes, (off_t)offset);
    (void)n;
}

void ft_segment_free_chunks(const struct ft_segment *segment, uint32_t first, uint32_t count)
{
    uint8_t states[FT_CHUNKS_MAX];
    if (first >= segment->geometry.chunks_max || count > segment->geometry.chunks_max - first)
        return;
    memset(states, FT_CHUNK_FREE, count);
    write_words(segment, states, count, offsetof(struct ft_head, chunk_state) + first);
}

static uint64_t offset_of_consumed(const struct ft_segment *segment, uint32_t chunk)
{
    uint64_t pool = (uint64_t)segment->geometry.pool_page * FT_PAGE_BYTES;
    return pool + (uint64_t)chunk * FT_CHUNK_BYTES + offsetof(struct ft_chunk_head, consumed);
}

void ft_segment_store_consumed(const struct ft_segment *segment, uint32_t chunk, uint64_t fill, uint32_t consumed)
{
    uint64_t word = FT_CONSUMED(fill, consumed);
    write_words(segment, &word, sizeof(word), offset_of_consumed(segment, chunk));
}

int ft_segment_read_consumed(const struct ft_segment *segment, uint32_t chunk, uint64_t *word)
{
    return read_exactly(segment->fd, word, sizeof(*word), offset_of_consumed(segment, chunk));
}

void ft_segment_allow(const struct ft_segment *segment, uint32_t count)
{
    write_words(segment, &count, sizeof(count), offsetof(struct ft_head, chunks_allowed));
}

uint32_t ft_segment_granted(const struct ft_segment *segment)
{
    return segment->chunks_granted > FT_CHUNKS_BY_SHIM ? segment->chunks_granted - FT_CHUNKS_BY_SHIM : 0;
}

int ft_segment_grant(struct ft_segment *segment, uint32_t count)
{
    uint8_t states[FT_CHUNKS_MAX];
    uint32_t first = FT_CHUNKS_BY_SHIM + ft_segment_granted(segment);
    if (first >= segment->geometry.chunks_max)
        return 0;
    count = count < segment->geometry.chunks_max - first ? first + count : segment->geometry.chunks_max;
    off_t at = (off_t)(segment->geometry.pool_page + first) * FT_PAGE_BYTES;
    if (fallocate(segment->fd, FALLOC_FL_KEEP_SIZE, at, (off_t)(count - first) * FT_CHUNK_BYTES) < 0)
        return -errno;
    memset(states, FT_CHUNK_FREE, count - first);
    write_words(segment, states, count - first, offsetof(struct ft_head, chunk_state) + first);
    segment->chunks_granted = count;
    write_words(segment, &count, sizeof(count), offsetof(struct ft_head, chunks_granted));
    return 0;
}

int ft_segment_restore_granted(struct ft_segment *segment)
{
    uint32_t granted;
    int r = read_exactly(segment->fd, &granted, sizeof(granted), offsetof(struct ft_head, chunks_granted));
    if (r < 0)
        return r;
    if (granted > segment->geometry.chunks_max)
        return -EBADMSG;
    segment->chunks_granted = granted;
    return 0;
}

int ft_segment_read_gaps(const struct ft_segment *segment, uint64_t *count, uint64_t *ring_calls)
{
    struct ft_hello hello;
    int r = read_exactly(segment->fd, &hello, sizeof(hello), (uint64_t)segment->geometry.hello_page * FT_PAGE_BYTES);
    for (unsigned i = 0; r == 0 && i < FT_SHIM_GAP_COUNT; i++)
        count[i] = hello.gap_count[i];
    if (r == 0)
        *ring_calls = hello.ring_calls;
    return r;
}

bool ft_segment_is_dispatched(const struct ft_segment *segment)
{
    uint32_t sandbox = 0;
    return read_exactly(segment->fd, &sandbox, sizeof(sandbox), offsetof(struct ft_head, sandbox)) == 0 &&
           sandbox == FT_SANDBOX_DISPATCH;
}

static void add_total(struct ft_total *rows, const struct ft_total *row)
{
    // A row of rows[] belongs to a call once its id stands there; rows are few and this runs once per process.
    unsigned at = 0;
    for (unsigned i = 1; row->call && i < FT_TOTALS_ROWS; i++)
        if (rows[i].call == row->call || !rows[i].call) {
            at = i;
            rows[i].call = row->call;
            break;
        }
    rows[at].count += row->count;
    rows[at].bytes += row->bytes;
    rows[at].ticks += row->ticks;
}

int ft_segment_read_totals(const struct ft_segment *segment, struct ft_total *rows)
{
    struct ft_total copy[FT_TOTALS_ROWS];
    memset(rows, 0, sizeof(copy));
    for (uint32_t i = 0; i < FT_TOTALS_COPIES; i++) {
        uint32_t page = i ? segment->geometry.totals_more_page + i - 1 : segment->geometry.totals_page;
        int r = read_exactly(segment->fd, copy, sizeof(copy), (uint64_t)page * FT_PAGE_BYTES);
        if (r < 0)
            return r;
        for (unsigned row = 0; row < FT_TOTALS_ROWS; row++)
            if (copy[row].count)
                add_total(rows, &copy[row]);
    }
    return 0;
}
