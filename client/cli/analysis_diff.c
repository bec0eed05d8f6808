// SPDX-License-Identifier: MIT
#include "client/cli/analysis_diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/analysis_job.h"
#include "client/cli/analysis_scan.h"
#include "client/cli/cli.h"

const char *ft_diff_change_name(enum ft_diff_change change)
{
#define NAME(id, name) name,
    static const char *const names[] = {FT_DIFF_CHANGES(NAME)};
#undef NAME
    return names[change];
}

static int64_t difference(uint64_t a, uint64_t b)
{
    int64_t limit = INT64_MAX / 4;
    int64_t from = a > (uint64_t)limit ? limit : (int64_t)a, to = b > (uint64_t)limit ? limit : (int64_t)b;
    return to - from;
}

static int64_t magnitude(int64_t value)
{
    return value < 0 ? -value : value;
}

void ft_diff_judge(struct ft_diff_row *row)
{
    const struct ft_sum *a = &row->of[0], *b = &row->of[1];
    int64_t change_ns = difference(a->time_ns, b->time_ns);
    row->by_count_ns = change_ns;
    if (a->count > 0 && b->count > 0) {
        __int128 more = (__int128)difference(a->count, b->count) * difference(0, a->time_ns) / difference(0, a->count);
        __int128 limit = INT64_MAX / 4;
        row->by_count_ns = (int64_t)(more > limit ? limit : more < -limit ? -limit : more);
    }
    row->by_speed_ns = change_ns - row->by_count_ns;
    bool is_in_a = a->count > 0 || row->processes[0] > 0, is_in_b = b->count > 0 || row->processes[1] > 0;
    if (!is_in_a || !is_in_b) {
        row->change = is_in_a == is_in_b ? FT_DIFF_SAME : is_in_b ? FT_DIFF_APPEARED : FT_DIFF_VANISHED;
    } else if (magnitude(row->by_speed_ns) > magnitude(row->by_count_ns)) {
        row->change = row->by_speed_ns > 0 ? FT_DIFF_SLOWED : FT_DIFF_SPED_UP;
    } else if (a->count != b->count) {
        row->change = b->count > a->count ? FT_DIFF_GREW : FT_DIFF_SHRANK;
    } else if (a->bytes != b->bytes) {
        row->change = b->bytes > a->bytes ? FT_DIFF_GREW : FT_DIFF_SHRANK;
    } else {
        row->change = FT_DIFF_SAME;
    }
}

static int64_t time_change(const struct ft_diff_row *row)
{
    return row->by_count_ns + row->by_speed_ns;
}

static int compare_bytes(struct ft_bytes x, struct ft_bytes y)
{
    size_t shorter = x.len < y.len ? x.len : y.len;
    int order = shorter ? memcmp(x.data, y.data, shorter) : 0;
    return order ? order : (x.len > y.len) - (x.len < y.len);
}

/* What matters first: the change of time, of bytes, of calls; then by name. */
static int compare(const void *a_untyped, const void *b_untyped)
{
    const struct ft_diff_row *a = a_untyped, *b = b_untyped;
    const int64_t keys[3][2] = {
        {magnitude(time_change(a)), magnitude(time_change(b))},
        {magnitude(difference(a->of[0].bytes, a->of[1].bytes)), magnitude(difference(b->of[0].bytes, b->of[1].bytes))},
        {magnitude(difference(a->of[0].count, a->of[1].count)), magnitude(difference(b->of[0].count, b->of[1].count))},
    };
    for (int i = 0; i < 3; i++) {
        if (keys[i][0] != keys[i][1]) {
            return keys[i][0] < keys[i][1] ? 1 : -1;
        }
    }
    int order = compare_bytes(a->name, b->name);
    return order ? order : compare_bytes(a->category, b->category);
}

/* Name and category as one key, each with a NUL. */
static char *make_key(struct ft_bytes name, struct ft_bytes category, size_t *bytes)
{
    *bytes = sizeof(name.len) + name.len + category.len + 2;
    char *key = ft_cli_alloc(*bytes), *at = key + sizeof(name.len);
    memcpy(key, &name.len, sizeof(name.len));
    memcpy(at, name.len ? name.data : "", name.len);
    memcpy(at + name.len + 1, category.len ? category.data : "", category.len);
    return key;
}

static void find_names(struct ft_diff_list *list, size_t i)
{
    struct ft_diff_row *row = &list->rows[i];
    uint32_t bytes;
    const char *key = (const char *)ft_intern_get(&list->names, (uint32_t)i + 1, &bytes);
    memcpy(&row->name.len, key, sizeof(row->name.len));
    row->name.data = key + sizeof(row->name.len);
    row->category.data = row->name.data + row->name.len + 1;
    row->category.len = bytes - sizeof(row->name.len) - row->name.len - 2;
}

/* The row of a name, new where there is none; valid until the next one is made. */
static struct ft_diff_row *row_of(struct ft_diff_list *list, struct ft_bytes name, struct ft_bytes category)
{
    size_t bytes;
    char *key = make_key(name, category, &bytes);
    int64_t id = bytes <= UINT32_MAX ? ft_intern_add(&list->names, key, (uint32_t)bytes) : -ENOMEM;
    free(key);
    if (id < 0) {
        ft_cli_memory(NULL);
    }
    if ((size_t)id > list->count) {
        if (list->count == list->space) {
            list->space = list->space ? 2 * list->space : 64;
            list->rows = ft_cli_realloc(list->rows, list->space, sizeof(*list->rows));
        }
        list->rows[list->count++] = (struct ft_diff_row){0};
    }
    return &list->rows[id - 1];
}

static void add(struct ft_sum *to, uint64_t count, uint64_t bytes, uint64_t time_ns)
{
    to->count += count;
    to->bytes += bytes;
    to->time_ns += time_ns;
}

static void add_calls(struct ft_diff *diff, int side)
{
    const struct ft_calls *calls = &diff->runs[side].calls;
    for (size_t i = 0; i < calls->count; i++) {
        const struct ft_call_sum *call = &calls->items[i];
        struct ft_diff_row *row =
            row_of(call->is_span ? &diff->spans : &diff->calls, FT_BYTES(call->name), FT_BYTES(call->category));
        add(&row->of[side], call->sum.count, call->sum.bytes, call->sum.time_ns);
    }
}

static void add_files(struct ft_diff *diff, int side, const struct ft_scan *scan)
{
    for (uint32_t f = 0; f < scan->file_count; f++) {
        const struct ft_file_sum sum = ft_file_sums_get(&scan->files, f);
        if (sum.events > 0) {
            struct ft_bytes name = ft_entry_path(&scan->entries, &scan->entries.items[f]);
            add(&row_of(&diff->files, name, FT_BYTES(""))->of[side], sum.events, sum.read_bytes + sum.written_bytes,
                sum.read_time_ns + sum.write_time_ns + sum.metadata_time_ns);
            diff->runs[side].file_count++;
        }
    }
}

static void add_programs(struct ft_diff *diff, int side, const struct ft_trace_set *set, const struct ft_scan *scan)
{
    for (uint32_t p = 0; p < ft_trace_set_process_count(set); p++) {
        const struct ft_process_sum *sum = &scan->processes[p];
        struct ft_diff_row *row = row_of(&diff->programs, ft_trace_set_process(set, p)->record->exe, FT_BYTES(""));
        add(&row->of[side], ft_job_emitted(set, scan, p), sum->read_bytes + sum->written_bytes, sum->io_time_ns);
        row->processes[side]++;
    }
}

void ft_diff_add(struct ft_diff *diff, int side, const struct ft_trace_set *set)
{
    struct ft_diff_run *run = &diff->runs[side];
    struct ft_progress progress;
    struct ft_scan scan;
    ft_calls_read(&run->calls, set);
    ft_progress_begin(&progress, "reading events", ft_trace_set_events(set));
    ft_scan_read(&scan, set, FT_SCAN_FILES | FT_SCAN_PROCESSES | FT_SCAN_UNIONS, &progress);
    ft_progress_end(&progress);
    ft_trace_set_span(set, &run->start_ns, &run->end_ns);
    run->times = scan.sweep.totals;
    run->profiled = ft_trace_set_profiled(set);
    run->stored = scan.rows;
    uint64_t beyond;
    run->missing = ft_job_missing_in_all(set, &scan, &beyond);
    run->process_count = ft_trace_set_process_count(set);
    run->bad_blocks = scan.bad_blocks | run->calls.bad_blocks;
    run->state = ft_state_of(set, run->bad_blocks);
    add_calls(diff, side);
    add_files(diff, side, &scan);
    add_programs(diff, side, set, &scan);
    ft_scan_fini(&scan);
}

static void finish(struct ft_diff_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        find_names(list, i);
        ft_diff_judge(&list->rows[i]);
    }
    if (list->count > 1) {
        qsort(list->rows, list->count, sizeof(*list->rows), compare);
    }
}

void ft_diff_init(struct ft_diff *diff)
{
    struct ft_diff_list *const lists[] = {&diff->calls, &diff->spans, &diff->files, &diff->programs};
    memset(diff, 0, sizeof(*diff));
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        if (ft_intern_init(&lists[i]->names) < 0) {
            ft_cli_memory(NULL);
        }
    }
    for (int side = 0; side < 2; side++) {
        ft_calls_init(&diff->runs[side].calls);
    }
}

void ft_diff_finish(struct ft_diff *diff)
{
    finish(&diff->calls);
    finish(&diff->spans);
    finish(&diff->files);
    finish(&diff->programs);
}

void ft_diff_fini(struct ft_diff *diff)
{
    struct ft_diff_list *const lists[] = {&diff->calls, &diff->spans, &diff->files, &diff->programs};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        free(lists[i]->rows);
        ft_intern_fini(&lists[i]->names);
    }
    for (int side = 0; side < 2; side++) {
        ft_calls_fini(&diff->runs[side].calls);
    }
}
