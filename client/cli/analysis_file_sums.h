// SPDX-License-Identifier: MIT
/*
 * What a scan adds up for each file of a trace, of which there may be millions: in few bytes each, what is added to
 * together close together. Counts are kept in 32 bits; those of a file that has more are carried to where few are.
 */
#ifndef FT_CLI_ANALYSIS_FILE_SUMS_H
#define FT_CLI_ANALYSIS_FILE_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/cli/map.h"

/* All of one file. */
struct ft_file_sum {
    int64_t first_ns; /* first event that is known to be this file's, since the epoch; INT64_MAX: none was told */
    uint64_t events;  /* all of this file's, whatever they are */
    uint64_t errors, opens, metadata, metadata_time_ns;
    uint32_t processes; /* that touched it */
    uint64_t reads, read_bytes, read_time_ns;
    uint64_t writes, written_bytes, write_time_ns;
};

/* What calls add to files one by one; four numbers that are added at once. */
enum { FT_SCAN_EVENTS, FT_SCAN_ERRORS, FT_SCAN_OPENS, FT_SCAN_METADATA, FT_SCAN_COUNTS };
typedef uint32_t ft_scan_counts __attribute__((vector_size(FT_SCAN_COUNTS * sizeof(uint32_t))));

/* What a call adds to. METADATA and NONE are written too, so that there is no branch, and never read. */
enum ft_side { FT_SIDE_READ, FT_SIDE_WRITE, FT_SIDE_METADATA, FT_SIDE_NONE, FT_SIDE_COUNT };

/* What was read and written of a file. */
struct ft_scan_moved {
    uint64_t time_ns[FT_SIDE_COUNT], bytes[FT_SIDE_COUNT];
    uint32_t count[FT_SIDE_COUNT];
};

/* What is added up of each file, a line of the cache; all zeros: nothing. */
struct ft_file_line {
    uint32_t counts[FT_SCAN_COUNTS];
    uint64_t metadata_time_ns;
    uint64_t bytes[2], time_ns[2]; /* of reads, of writes */
    uint32_t moved[2];             /* how many of them */
};
_Static_assert(sizeof(struct ft_file_line) == 64, "a line of the cache");

struct ft_file_sums {
    void *memory; /* of the three arrays, by file; pages of them that nothing is added to are none */
    struct ft_file_line *lines;
    uint64_t *before_ns; /* how long before the end of time its first event was, see ft_file_sum */
    uint32_t *processes; /* as of ft_file_sum; whoever counts them puts them here */
    struct ft_map carried_of;
    struct ft_file_sum *carried; /* counts alone */
    size_t carried_space;
};

void ft_file_sums_init(struct ft_file_sums *sums, size_t count);
/* Almost all of the `count` files will be added to. */
void ft_file_sums_expect_all(struct ft_file_sums *sums, size_t count);
void ft_file_sums_fini(struct ft_file_sums *sums);
/* Fetches what an addition will need. */
static inline __attribute__((always_inline)) void ft_file_sums_prefetch(const struct ft_file_sums *sums, size_t file)
{
    __builtin_prefetch(&sums->lines[file], 1);
}
/* `first_ns` is asked for of few files: INT64_MAX of the others. */
void ft_file_sums_add(struct ft_file_sums *sums, uint32_t file, ft_scan_counts counts, uint64_t metadata_time_ns,
                      int64_t first_ns);
void ft_file_sums_add_moved(struct ft_file_sums *sums, uint32_t file, const struct ft_scan_moved *moved);
/* Counts of any size, as of sums. */
void ft_file_sums_add_counts(struct ft_file_sums *sums, uint32_t file, const struct ft_file_sum *counts);
/* Everything but `processes` of `from` goes to `to`; `from` is empty then, its processes too. */
void ft_file_sums_join(struct ft_file_sums *sums, uint32_t to, uint32_t from);

struct ft_file_sum ft_file_sums_get(const struct ft_file_sums *sums, uint32_t file);
bool ft_file_sums_has_events(const struct ft_file_sums *sums, uint32_t file);
uint64_t ft_file_sums_time(const struct ft_file_sums *sums, uint32_t file); /* of reads, writes and metadata */

/* Adds everything but `processes`. */
void ft_file_sum_add(struct ft_file_sum *to, const struct ft_file_sum *from);

#endif
