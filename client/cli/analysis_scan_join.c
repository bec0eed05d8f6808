// SPDX-License-Identifier: MIT
/* The end of a scan: paths of one file are put together. */
#include <stdlib.h>
#include <string.h>

#include "client/cli/analysis_scan_part.h"
#include "client/cli/cli.h"

struct member {
    uint32_t set_file, entry;
    int64_t first_ns;
};

static int compare(const void *a_untyped, const void *b_untyped)
{
    const struct member *a = a_untyped, *b = b_untyped;
    if (a->set_file != b->set_file) {
        return a->set_file < b->set_file ? -1 : 1;
    }
    if (a->first_ns != b->first_ns) {
        return a->first_ns < b->first_ns ? -1 : 1;
    }
    return a->entry < b->entry ? -1 : a->entry > b->entry;
}

static bool is_member(const struct ft_scan *scan, uint32_t entry)
{
    return ft_entry_path_id(&scan->entries, entry) != FT_ENTRY_NONE && ft_file_sums_has_events(&scan->files, entry);
}

/* Entries that share their file with others and have events, by file and in order of their first use. */
static struct member *find_members(const struct ft_scan *scan, size_t *count)
{
    size_t most = 0;
    for (uint32_t f = 0; f < scan->file_count; f++) {
        most += is_member(scan, f);
    }
    struct member *members = ft_cli_alloc(most * sizeof(*members));
    *count = 0;
    for (uint32_t f = 0; f < scan->file_count; f++) {
        if (is_member(scan, f)) {
            members[(*count)++] =
                (struct member){.set_file = ft_entry_set_file(&scan->entries, &scan->entries.items[f]),
                                .entry = f,
                                .first_ns = ft_file_sums_get(&scan->files, f).first_ns};
        }
    }
    if (*count > 1) {
        qsort(members, *count, sizeof(*members), compare);
    }
    return members;
}

static void join_group(struct ft_scan *scan, const struct member *members, size_t count)
{
    struct ft_reuse_path *paths = ft_cli_alloc(count * sizeof(*paths));
    for (size_t i = 0; i < count; i++) {
        const struct ft_entry *entry = &scan->entries.items[members[i].entry];
        const struct ft_trace_file record = ft_entry_record(&scan->entries, entry);
        paths[i] = (struct ft_reuse_path){.path = ft_entry_path(&scan->entries, entry),
                                          .path_id = ft_entry_path_id(&scan->entries, members[i].entry),
                                          .birth = record.birth,
                                          .is_exact = record.is_exact,
                                          .first_ns = members[i].first_ns};
    }
    ft_reuse_find(paths, count, &scan->marks);
    for (size_t i = 0; i < count; i++) {
        scan->roots[members[i].entry] = members[paths[i].root].entry;
    }
    free(paths);
}

static int compare_pairs(const void *a_untyped, const void *b_untyped)
{
    const struct ft_scan_pair *a = a_untyped, *b = b_untyped;
    if (a->entry != b->entry) {
        return a->entry < b->entry ? -1 : 1;
    }
    return (a->process > b->process) - (a->process < b->process);
}

/* Two paths of one file that a process touched count once. */
static void count_processes(struct ft_scan *scan, const struct ft_scan_pair *shared, size_t count)
{
    struct ft_scan_pair *pairs = ft_cli_alloc(count * sizeof(*pairs));
    for (size_t i = 0; i < count; i++) {
        pairs[i] = (struct ft_scan_pair){.process = shared[i].process,
                                         .entry = scan->roots ? scan->roots[shared[i].entry] : shared[i].entry};
    }
    if (count > 1) {
        qsort(pairs, count, sizeof(*pairs), compare_pairs);
    }
    for (size_t i = 0; i < count; i++) {
        scan->files.processes[pairs[i].entry] += i == 0 || compare_pairs(&pairs[i], &pairs[i - 1]) != 0;
    }
    free(pairs);
}

/* Of `whole` those that it found; where there are none, most often, nothing is kept. */
static void find_roots(struct ft_scan *scan, const struct ft_scan *whole)
{
    size_t count = 0, end;
    struct member *members = whole ? NULL : find_members(scan, &count);
    if (whole ? !whole->roots : count == 0) {
        free(members);
        return;
    }
    scan->roots = ft_cli_alloc(scan->file_count * sizeof(*scan->roots));
    for (uint32_t f = 0; f < scan->file_count; f++) {
        scan->roots[f] = whole ? whole->roots[f] : f;
    }
    ft_reuse_marks_sort(&scan->marks);
    for (size_t begin = 0; begin < count; begin = end) {
        end = begin + 1;
        while (end < count && members[end].set_file == members[begin].set_file) {
            end++;
        }
        join_group(scan, members + begin, end - begin);
    }
    free(members);
}

void ft_scan_join_files(struct ft_scan *scan, const struct ft_scan_pair *shared, size_t shared_count,
                        const struct ft_scan *whole)
{
    find_roots(scan, whole);
    for (uint32_t f = 0; f < scan->file_count && scan->roots; f++) {
        if (scan->roots[f] != f) {
            ft_file_sums_join(&scan->files, scan->roots[f], f);
        }
    }
    count_processes(scan, shared, shared_count);
}
