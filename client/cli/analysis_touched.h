// SPDX-License-Identifier: MIT
/*
 * Which files each process touched, in a few bytes for each pair however they are spread: for each process and each
 * 65,536 files a sorted list of 16-bit numbers, or a bit for each file where there are many. All threads add to one.
 */
#ifndef FT_CLI_ANALYSIS_TOUCHED_H
#define FT_CLI_ANALYSIS_TOUCHED_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FT_TOUCHED_LOCKS = 64 };

struct ft_touched_set {
    void *items; /* uint16_t in order, or bits where there is no `space` */
    uint32_t count, space;
};

struct ft_touched {
    struct ft_touched_set **sets; /* by process: NULL, or `set_count` sets */
    size_t process_count, set_count;
    pthread_mutex_t locks[FT_TOUCHED_LOCKS]; /* of processes by their number modulo this */
};

void ft_touched_init(struct ft_touched *touched, size_t process_count, size_t file_count);
void ft_touched_fini(struct ft_touched *touched);

/* Numbers are below the counts that were told; doubles are fine. Any thread. */
void ft_touched_add(struct ft_touched *touched, size_t process, const uint32_t *files, size_t count);

/* Calls for each file of a process, in order. No thread may add meanwhile. */
void ft_touched_each(const struct ft_touched *touched, size_t process, void (*call)(void *context, uint32_t file),
                     void *context);

#endif
