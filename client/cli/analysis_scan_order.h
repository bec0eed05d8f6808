// SPDX-License-Identifier: MIT
/*
 * The order in which blocks are taken: by their ends, the last one first; those of one job on a host in the reverse order
 * of its files and blocks, so that what a thread did comes from its last event to its first. A block's end counts as that
 * of a block before it in its job where that is later. (Not in its host: a folder of many jobs, whose parts are beside each
 * other in the set, would come in one piece, and all of its intervals would be pending.)
 */
#ifndef FT_CLI_ANALYSIS_SCAN_ORDER_H
#define FT_CLI_ANALYSIS_SCAN_ORDER_H

#include "proto/trace_set.h"

struct ft_scan_block {
    uint32_t reader, block, rows, host;
    int64_t end_ns;       /* since the epoch: nothing of it, or of a block of its host that comes later, is above */
    int64_t watermark_ns; /* nothing of its host's later ones is above; INT64_MIN: there is none */
};

/* A new array. */
struct ft_scan_block *ft_scan_order_blocks(const struct ft_trace_set *set, size_t *count);

/* Processes of each host, the last started first, to be taken when nothing of them can come any more. */
struct ft_scan_endings {
    uint32_t *processes; /* by host and start */
    int64_t *starts_ns;  /* since the epoch, of these */
    size_t *next, *end;  /* by host: positions in `processes` */
};

void ft_scan_endings_init(struct ft_scan_endings *endings, const struct ft_trace_set *set);
void ft_scan_endings_fini(struct ft_scan_endings *endings);
/* A process of the host that did nothing below the watermark; FT_TRACE_SET_NONE: no more. */
uint32_t ft_scan_endings_next(struct ft_scan_endings *endings, uint32_t host, int64_t watermark_ns);

#endif
