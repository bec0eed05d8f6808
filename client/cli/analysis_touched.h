// SPDX-License-Identifier: MIT
/*
 * Which files each process touched: a list for each process at work, or a bit for each file where that takes less. What a
 * process that is done touched is taken out at once. All threads add to one.
 */
#ifndef FT_CLI_ANALYSIS_TOUCHED_H
#define FT_CLI_ANALYSIS_TOUCHED_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FT_TOUCHED_LOCKS = 64 };

struct ft_touched_set {
    uint32_t *files;                 /* some stand there several times */
    uint64_t *bits;                  /* instead of them, by file */
    uint32_t count, space, distinct; /* distinct: of the files of one addition, or when doubles were taken out last */
};

struct ft_touched {
    struct ft_touched_set *sets; /* by process */
    size_t process_count, file_count;
    uint64_t *seen;                          /* by file: a bit, of ft_touched_take() while it works */
    pthread_mutex_t locks[FT_TOUCHED_LOCKS]; /* of processes by their number modulo this */
};

void ft_touched_init(struct ft_touched *touched, size_t process_count, size_t file_count);
void ft_touched_fini(struct ft_touched *touched);

/* Numbers are below the counts that were told; doubles are fine. Any thread. */
void ft_touched_add(struct ft_touched *touched, size_t process, const uint32_t *files, size_t count);

/*
 * What a process touched, each once, in any order, and forgets it. One thread at a time. free() the result; NULL where
 * there is nothing.
 */
uint32_t *ft_touched_take(struct ft_touched *touched, size_t process, size_t *count);

#endif
