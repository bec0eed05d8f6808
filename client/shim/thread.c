// SPDX-License-Identifier: MIT
/* A thread's first event: its line. */
#include "client/shim/clock.h"
#include "client/shim/shim.h"
#include "client/shim/tags.h"

#include <errno.h>

enum { WRITERS_PER_PAGE = FT_PAGE_BYTES / sizeof(struct ft_writer), LINES_PER_PAGE = FT_PAGE_BYTES / FT_LINE_BYTES };

/* Those of the first threads lie here, the others on pages that are taken as they are reached. */
static struct ft_writer first_writers[4] __attribute__((aligned(64)));
static struct ft_writer *writer_pages[FT_LINES_MAX / WRITERS_PER_PAGE];

_Static_assert(sizeof(struct ft_writer) == 64, "writer");
_Static_assert(sizeof(struct ft_thread) <= 128, "static TLS");

static struct ft_line *line_at(uint32_t index)
{
    return (struct ft_line *)ft_page(ft_process.lines_page) + index;
}

/* The writer of a line that has had one; else NULL. */
static struct ft_writer *known_writer(uint32_t index)
{
    if (index < sizeof(first_writers) / sizeof(first_writers[0]))
        return &first_writers[index];
    struct ft_writer *page = __atomic_load_n(&writer_pages[index / WRITERS_PER_PAGE], __ATOMIC_ACQUIRE);
    return page != NULL ? &page[index % WRITERS_PER_PAGE] : NULL;
}

/* The writer of a line; NULL where there is no memory for it. */
static struct ft_writer *writer_at(uint32_t index)
{
    struct ft_writer *known = known_writer(index), *page = NULL;
    if (known != NULL)
        return known;
    struct ft_writer *made = ft_arena_page();
    if (made == NULL)
        return NULL;
    if (!__atomic_compare_exchange_n(&writer_pages[index / WRITERS_PER_PAGE], &page, made, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        made = page;
    return &made[index % WRITERS_PER_PAGE];
}

/* Tells a later reader of the chunk that another thread writes on. */
static void publish_thread(struct ft_writer *writer)
{
    struct ft_chunk_head *chunk;
    uint64_t now = ft_now();
    uint8_t before = ft_recording_begin();
    uint64_t *word = ft_ring_reserve(writer, 1, now, &chunk);
    if (word != NULL) { /* else the next chunk's head says it */
        word[1] = (uint64_t)writer->line->tid | (uint64_t)writer->line->ordinal << 32;
        word[2] = now;
        word[3] = 0;
        __atomic_store_n(&word[0], FT_W0(FT_RECORD_THREAD, 1, 0, 0, chunk->fill, FT_FD16_NONE), __ATOMIC_RELEASE);
    }
    ft_recording_end(before);
}

/* Without asking the kernel: the line of a thread whose storage is this one's now. Stacks are used again at once. */
static uint32_t line_of_same_storage(uint32_t used, uint32_t tid)
{
    for (uint32_t index = 1; index < used; index++) {
        const struct ft_writer *writer = known_writer(index);
        if (writer == NULL || writer->owner != &ft_thread)
            continue;
        __atomic_store_n(&line_at(index)->tid, tid, __ATOMIC_RELAXED);
        return index;
    }
    return 0;
}

/*
 * A line whose thread has ended, now owned by `tid`; 0 where none was found. A few lines are looked at each time, so
 * that a program that makes and ends many threads keeps few lines.
 */
static uint32_t inherit_line(uint32_t tid)
{
    uint32_t used = __atomic_load_n(&ft_process.lines_used, __ATOMIC_RELAXED);
    if (used > ft_process.lines_max)
        used = ft_process.lines_max;
    if (used <= 1)
        return 0;
    if (ft_is_shut_in())
        return line_of_same_storage(used, tid);
    for (int i = 0; i < 4; i++) {
        uint32_t index = 1 + __atomic_fetch_add(&ft_process.lines_hand, 1, __ATOMIC_RELAXED) % (used - 1);
        struct ft_line *line = line_at(index);
        uint32_t owner = __atomic_load_n(&line->tid, __ATOMIC_RELAXED);
        if (owner == 0)
            continue;
        /* A line with this thread's own number is a predecessor's: this thread had none until now. */
        if (owner != tid && ft_sys(SYS_tgkill, ft_process.pid, owner, 0) != -ESRCH)
            continue;
        if (__atomic_compare_exchange_n(&line->tid, &owner, tid, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return index;
    }
    return 0;
}

/* Lines below it have memory. */
static uint32_t lines_ready;

static int has_memory(uint32_t index)
{
    uint32_t ready = __atomic_load_n(&lines_ready, __ATOMIC_ACQUIRE);
    if (index < ready)
        return 1;
    uint32_t page = index / LINES_PER_PAGE * LINES_PER_PAGE;
    if (ft_populate(line_at(page), FT_PAGE_BYTES) != 0)
        return 0;
    if (ready == page)
        __atomic_compare_exchange_n(&lines_ready, &ready, page + LINES_PER_PAGE, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    return 1;
}

void ft_thread_attached(uint32_t lines)
{
    lines_ready = lines;
}

void ft_thread_prepare(uint32_t lines)
{
    uint32_t first = ft_process.lines_used;
    for (uint32_t i = first; i < first + lines && i < ft_process.lines_max; i++)
        if (!has_memory(i) || writer_at(i) == NULL)
            return;
}

FT_TABLE static union {
    struct ft_chunk_head head;
    uint64_t words[FT_CHUNK_BYTES / 8];
} sink;
FT_TABLE static struct ft_line sink_line;

int ft_thread_orphan(void)
{
    struct ft_writer *writer = ft_thread.writer;
    ft_thread.line = &sink_line; /* until it has another, or for good where it does not attach */
    if (writer == NULL || !ft_thread.is_recording)
        return 0;
    writer->cursor = FT_CURSOR_NONE;
    writer->line = &sink_line;
    writer->owner = NULL;
    writer->is_orphan = 1;
    return 1;
}

/* A line whose writer leads nowhere; it has no memory that another could have. */
static int is_orphaned(uint32_t index)
{
    const struct ft_writer *writer = known_writer(index);
    return writer != NULL && writer->is_orphan;
}

uint64_t *ft_thread_sink(struct ft_chunk_head **chunk)
{
    *chunk = &sink.head;
    return sink.words + FT_CHUNK_HEAD_BYTES / sizeof(uint64_t);
}

static uint32_t new_line(uint32_t tid)
{
    uint32_t index;
    do
        index = __atomic_fetch_add(&ft_process.lines_used, 1, __ATOMIC_RELAXED);
    while (index < ft_process.lines_max && is_orphaned(index));
    if (index >= ft_process.lines_max) {
        __atomic_store_n(&ft_process.lines_used, ft_process.lines_max, __ATOMIC_RELAXED);
        return 0;
    }
    if (!has_memory(index))
        return 0;
    __atomic_store_n(&line_at(index)->tid, tid, __ATOMIC_RELAXED);
    return index;
}

int ft_thread_start(void)
{
    struct ft_thread *thread = &ft_thread;
    uint32_t tid = ft_is_shut_in() ? 0 : (uint32_t)ft_sys(SYS_gettid);
    uint32_t index = inherit_line(tid);
    int is_inherited = index != 0;
    if (!is_inherited)
        index = new_line(tid);
    struct ft_writer *writer = index != 0 ? writer_at(index) : NULL;
    if (writer == NULL)
        return -ENOMEM;
    struct ft_line *line = line_at(index);
    if (!is_inherited) {
        *writer =
            (struct ft_writer){.cursor = FT_CURSOR_NONE, .index = index, .line = line, .pool = (char *)ft_chunk(0)};
    }
    writer->vfork_pid = 0;
    writer->owner = thread;
    FT_TEST_POINT(thread_line);
    line->call = 0;
    line->ordinal = __atomic_add_fetch(&ft_process.ordinal, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&ft_head()->lines_used, __atomic_load_n(&ft_process.lines_used, __ATOMIC_RELAXED),
                     __ATOMIC_RELEASE);
    thread->tid = tid;
    thread->writer = writer;
    thread->line = line;
    thread->call_frame = NULL;
    if (ft_unlikely(ft_tags_are_set))
        ft_tags_start_thread(index);
    if (is_inherited)
        publish_thread(writer);
    return 0;
}
