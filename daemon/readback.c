// SPDX-License-Identifier: MIT
#include "daemon/readback.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/restore.h"
#include "proto/frame.h"

// What a header of ours takes, and more.
#define HEADER_BYTES_MAX 8192

int ft_readback_peek(const char *path, struct ft_trace_reader **out)
{
    uint8_t bytes[HEADER_BYTES_MAX];
    struct ft_frame frame;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return -errno;
    ssize_t n = pread(fd, bytes, sizeof(bytes), 0);
    close(fd);
    if (n < FT_FRAME_HEADER_BYTES || ft_frame_decode(bytes, &frame) < 0 || frame.kind != FT_FRAME_HEADER ||
        frame.data_len || frame.head_len > (size_t)n - FT_FRAME_HEADER_BYTES)
        return -EBADMSG;
    return ft_trace_reader_open_memory(bytes, FT_FRAME_HEADER_BYTES + frame.head_len, NULL, out);
}

static void find_resumes(struct ft_readback *readback)
{
    size_t count;
    const struct ft_trace_resume *resumes = ft_trace_reader_resumes(readback->reader, &count);
    for (size_t i = 0; i < count; i++)
        if (resumes[i].process <= readback->process_max)
            readback->resumes[resumes[i].process] = &resumes[i];
}

static void find_relatives(struct ft_readback *readback)
{
    for (uint32_t id = 1; id <= readback->process_max; id++) {
        const struct ft_trace_process *record = ft_trace_reader_process(readback->reader, id);
        if (record && !record->segment)
            readback->vforks[readback->vfork_count++] = id;
        if (record && record->is_exec && record->parent <= readback->process_max)
            readback->replaced_ns[record->parent] = record->start_ns;
    }
}

// A vfork child may have one of its own; a circle of parents is a damaged file's.
#define LEVELS_MAX 64

uint32_t ft_readback_owner(const struct ft_readback *readback, uint32_t id)
{
    const struct ft_trace_process *record = ft_trace_reader_process(readback->reader, id);
    for (int level = 0; record && !record->segment && level < LEVELS_MAX; level++) {
        id = record->parent;
        record = ft_trace_reader_process(readback->reader, id);
    }
    return record && record->segment ? id : 0;
}

// Whose resume record tells from where a process's rows count.
static const struct ft_trace_resume *resume_of(const struct ft_readback *readback, uint32_t id)
{
    return readback->resumes[ft_readback_owner(readback, id)];
}

// So many more events of a thread stand at `offset` in the file; `capped`: these are dropped ones.
static void count_events(struct ft_readback *readback, uint32_t thread, uint64_t offset, uint64_t count,
                         uint64_t capped)
{
    uint32_t id = ft_trace_reader_thread_process(readback->reader, thread);
    const struct ft_trace_resume *resume = id <= readback->process_max ? resume_of(readback, id) : NULL;
    if (id > readback->process_max)
        return;
    readback->rows[id] += count;
    if (resume && offset <= resume->offset)
        return;
    readback->rows_after[id] += count;
    readback->capped_after[id] += capped;
}

static int count_sums(struct ft_readback *readback)
{
    size_t block_count;
    const struct ft_trace_block *blocks = ft_trace_reader_profiles(readback->reader, &block_count);
    for (size_t block = 0; block < block_count; block++) {
        struct ft_rows rows;
        int r = ft_trace_decoder_rows(readback->decoder, readback->reader, FT_TRACE_PROFILE | block,
                                      FT_COL_ARG | FT_COL_FLAGS, &rows);
        if (r < 0)
            return r;
        for (size_t run = 0; run < rows.run_count; run++)
            for (size_t i = rows.runs[run].first; i < rows.runs[run].first + (size_t)rows.runs[run].count; i++) {
                bool is_capped = rows.flags[i] & FT_EVENT_F_CAPPED;
                count_events(readback, rows.runs[run].thread, blocks[block].offset, is_capped ? 0 : rows.arg[i],
                             is_capped ? rows.arg[i] : 0);
            }
    }
    return 0;
}

static int count_rows(struct ft_readback *readback)
{
    size_t block_count, count;
    const struct ft_trace_block *blocks = ft_trace_reader_blocks(readback->reader, &block_count);
    for (size_t block = 0; block < block_count; block++) {
        const struct ft_run *runs;
        int r = ft_trace_decoder_runs(readback->decoder, readback->reader, block, &runs, &count);
        if (r < 0)
            return r;
        for (size_t i = 0; i < count; i++)
            count_events(readback, runs[i].thread, blocks[block].offset, runs[i].count, 0);
    }
    return count_sums(readback);
}

int ft_readback_open(struct ft_readback *readback, const char *path, size_t memory_max)
{
    const struct ft_trace_reader_options options = {.memory_max = memory_max, .keep_resume = true};
    memset(readback, 0, sizeof(*readback));
    int r = ft_trace_reader_open(path, &options, &readback->reader);
    if (r == 0)
        r = ft_trace_decoder_create(&readback->decoder);
    if (r < 0) {
        ft_readback_close(readback);
        return r;
    }
    readback->process_max = ft_trace_reader_process_max(readback->reader);
    size_t count = (size_t)readback->process_max + 1;
    readback->resumes = calloc(count, sizeof(*readback->resumes));
    readback->rows = calloc(count, sizeof(*readback->rows));
    readback->rows_after = calloc(count, sizeof(*readback->rows_after));
    readback->capped_after = calloc(count, sizeof(*readback->capped_after));
    readback->replaced_ns = calloc(count, sizeof(*readback->replaced_ns));
    readback->processes = calloc(count, sizeof(*readback->processes));
    readback->vforks = calloc(count, sizeof(*readback->vforks));
    if (!readback->vforks || !readback->resumes || !readback->rows || !readback->rows_after ||
        !readback->capped_after || !readback->replaced_ns || !readback->processes) {
        ft_readback_close(readback);
        return -ENOMEM;
    }
    find_resumes(readback);
    find_relatives(readback);
    r = count_rows(readback);
    if (r < 0)
        ft_readback_close(readback);
    return r;
}

void ft_readback_close(struct ft_readback *readback)
{
    ft_trace_decoder_destroy(readback->decoder);
    ft_trace_reader_close(readback->reader);
    free(readback->resumes);
    free(readback->rows);
    free(readback->rows_after);
    free(readback->capped_after);
    free(readback->replaced_ns);
    free(readback->processes);
    free(readback->vforks);
    memset(readback, 0, sizeof(*readback));
}

bool ft_readback_is_running(const struct ft_readback *readback, uint32_t id)
{
    const struct ft_trace_process *record = ft_trace_reader_process(readback->reader, id);
    return record && record->segment && !record->end_ns && record->exit == FT_EXIT_NONE;
}

static struct ft_process *process_of(const struct ft_readback *readback, uint32_t id)
{
    struct ft_process *process = id <= readback->process_max ? readback->processes[id] : NULL;
    return process && process->segment.fd >= 0 ? process : NULL;
}

static void restore_names(struct ft_readback *readback)
{
    size_t count;
    const struct ft_trace_known *known = ft_trace_reader_known(readback->reader, &count);
    for (size_t i = 0; i < count; i++) {
        struct ft_process *process = process_of(readback, known[i].process);
        if (process)
            ft_names_restore(&process->names, &known[i]);
    }
}

static int by_segment(const void *a, const void *b)
{
    uint64_t x = (*(struct ft_process *const *)a)->segment.id, y = (*(struct ft_process *const *)b)->segment.id;
    return (x > y) - (x < y);
}

// Processes that go on with a segment, sorted by it.
static struct ft_process **list_segments(const struct ft_readback *readback, size_t *count)
{
    struct ft_process **list = calloc((size_t)readback->process_max + 1, sizeof(*list));
    *count = 0;
    for (uint32_t id = 1; list && id <= readback->process_max; id++)
        if (process_of(readback, id))
            list[(*count)++] = readback->processes[id];
    if (*count)
        qsort(list, *count, sizeof(*list), by_segment);
    return list;
}

static int restore_positions_of(struct ft_readback *readback, size_t block, struct ft_process **list, size_t list_count)
{
    const struct ft_trace_range *ranges;
    size_t count;
    int r = ft_trace_decoder_ranges(readback->decoder, readback->reader, block, &ranges, &count);
    for (size_t i = 0; r >= 0 && i < count; i++) {
        struct ft_process key = {.segment.id = ranges[i].segment}, *wanted = &key;
        struct ft_process **found = bsearch(&wanted, list, list_count, sizeof(*list), by_segment);
        if (found)
            ft_restore_note_range(&(*found)->segment, &ranges[i]);
    }
    return r;
}

static int restore_positions(struct ft_readback *readback, struct ft_process **list, size_t list_count)
{
    size_t block_count, profile_count;
    int r = 0;
    ft_trace_reader_blocks(readback->reader, &block_count);
    ft_trace_reader_profiles(readback->reader, &profile_count);
    for (size_t block = 0; r >= 0 && block < block_count; block++)
        r = restore_positions_of(readback, block, list, list_count);
    for (size_t block = 0; r >= 0 && block < profile_count; block++)
        r = restore_positions_of(readback, FT_TRACE_PROFILE | block, list, list_count);
    return r;
}

void ft_readback_segments(struct ft_readback *readback)
{
    size_t count, tagged_count;
    struct ft_process **list = list_segments(readback, &count);
    restore_names(readback);
    int r = list ? restore_positions(readback, list, count) : -ENOMEM;
    for (size_t i = 0; list && i < count; i++)
        if (r < 0 || ft_restore_chunks(list[i]) < 0)
            list[i]->is_corrupt = true;
    const struct ft_trace_tagged *tagged = ft_trace_reader_tagged(readback->reader, &tagged_count);
    for (size_t i = 0; i < tagged_count; i++) {
        struct ft_process *process = process_of(readback, tagged[i].process);
        if (process)
            ft_restore_tags(process, &tagged[i]);
    }
    free(list);
}
