// SPDX-License-Identifier: MIT
/* The files that most time was spent in: of millions, only those that are shown are put in order. */
#include <stdlib.h>

#include "client/cli/cli.h"
#include "client/cli/summary.h"

static const struct ft_scan *compared_scan;

static int hotter_first(const void *a_untyped, const void *b_untyped)
{
    uint32_t a = *(const uint32_t *)a_untyped, b = *(const uint32_t *)b_untyped;
    uint64_t a_time = ft_file_sums_time(&compared_scan->files, a), b_time = ft_file_sums_time(&compared_scan->files, b);
    return a_time != b_time ? (a_time < b_time ? 1 : -1) : (a > b) - (a < b);
}

/* In `heap` none is hotter than the one below which it stands: the first one is the coldest of those kept. */
static void sink(uint32_t *heap, size_t count, size_t at)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count) {
            return;
        }
        child += child + 1 < count && hotter_first(&heap[child + 1], &heap[child]) > 0;
        if (hotter_first(&heap[at], &heap[child]) > 0) {
            return;
        }
        uint32_t lower = heap[child];
        heap[child] = heap[at];
        heap[at] = lower;
        at = child;
    }
}

static void keep(uint32_t *heap, size_t *kept, size_t top, uint32_t file)
{
    if (*kept < top) {
        heap[(*kept)++] = file;
        for (size_t at = *kept / 2; *kept == top && at-- > 0;) {
            sink(heap, top, at);
        }
    } else if (top > 0 && hotter_first(&file, &heap[0]) < 0) {
        heap[0] = file;
        sink(heap, top, 0);
    }
}

static bool is_shown(const struct ft_scan *scan, uint32_t file)
{
    return ft_file_sums_has_events(&scan->files, file) && ft_file_sums_time(&scan->files, file) > 0 &&
           ft_file_kind_class(ft_entry_record(&scan->entries, &scan->entries.items[file]).kind) != FT_FILE_CLASS_OTHER;
}

uint32_t *ft_summary_hottest_files(const struct ft_summary *summary, size_t top, size_t *count)
{
    const struct ft_scan *scan = &summary->scan;
    size_t kept = 0;
    top = top < scan->file_count ? top : scan->file_count;
    uint32_t *heap = ft_cli_alloc(top * sizeof(*heap));
    compared_scan = scan;
    *count = 0;
    for (uint32_t f = 0; f < scan->file_count; f++) {
        if (is_shown(scan, f)) {
            (*count)++;
            keep(heap, &kept, top, f);
        }
    }
    if (kept > 1) {
        qsort(heap, kept, sizeof(*heap), hotter_first);
    }
    return heap;
}
