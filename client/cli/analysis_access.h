// SPDX-License-Identifier: MIT
/*
 * Sequential and random access. A request (a read or write of POSIX or STDIO on a file, that did not fail) with a known
 * offset is sequential where it begins at the file's begin, or where the request of the same thread and direction on the
 * same file before it ended; a thread remembers FT_ACCESS_FILES files and directions, those it used last.
 *
 * Blocks are read by several threads, so a run of a thread cannot know what came before it: it leaves its first requests
 * open (its head) and what it remembers at its end (its tail). Runs are then put together from the last one to the first.
 */
#ifndef FT_CLI_ANALYSIS_ACCESS_H
#define FT_CLI_ANALYSIS_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FT_ACCESS_FILES = 8 };

struct ft_access_counts {
    uint64_t sequential[2], random[2]; /* of reads, of writes */
};

struct ft_access_place {
    uint64_t file; /* entry << 1 | is a write */
    uint64_t offset;
};

/* Of one run. */
struct ft_access_run {
    uint32_t thread; /* of the set */
    uint32_t head_count, tail_count;
    struct ft_access_place head[FT_ACCESS_FILES]; /* open: the nth has n other files before it, and begins there */
    struct ft_access_place tail[FT_ACCESS_FILES]; /* the latest first, and ended there */
};

/* What is still open of each thread. */
struct ft_access_open {
    uint32_t count;
    struct ft_access_place head[FT_ACCESS_FILES];
};

struct ft_access {
    struct ft_access_open **open; /* by thread of the set; NULL: nothing yet */
    size_t thread_count;
    struct ft_access_counts counts;
};

void ft_access_init(struct ft_access *access, size_t thread_count);
void ft_access_fini(struct ft_access *access);
/* A run that comes before all that were added of its thread. */
void ft_access_add(struct ft_access *access, const struct ft_access_run *run);
/* What is open has nothing before it. */
void ft_access_end(struct ft_access *access);

void ft_access_run_begin(struct ft_access_run *run, uint32_t thread);
/* A request on a file that is not the latest one. */
void ft_access_run_find(struct ft_access_run *run, struct ft_access_counts *counts, uint64_t file, uint64_t offset,
                        uint64_t end);

static inline void ft_access_run_add(struct ft_access_run *run, struct ft_access_counts *counts, uint32_t entry,
                                     bool is_write, uint64_t offset, uint64_t end)
{
    uint64_t file = (uint64_t)entry << 1 | is_write;
    if (run->tail_count > 0 && run->tail[0].file == file) {
        bool is_sequential = offset == 0 || offset == run->tail[0].offset;
        counts->sequential[is_write] += is_sequential;
        counts->random[is_write] += !is_sequential;
        run->tail[0].offset = end;
        return;
    }
    ft_access_run_find(run, counts, file, offset, end);
}

#endif
