// SPDX-License-Identifier: MIT
#include "client/cli/analysis_diff.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/analysis_job.h"
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

/* The row of a name, new where there is none; valid until the next one is made. */
static struct ft_diff_row *row_of(struct ft_diff_list *list, struct ft_bytes name, struct ft_bytes category)
{
    bool is_new;
    size_t bytes = sizeof(name.len) + name.len + category.len;
    char *key = ft_cli_alloc(bytes);
    memcpy(key, &name.len, sizeof(name.len));
    memcpy(key + sizeof(name.len), name.len ? name.data : "", name.len);
    memcpy(key + sizeof(name.len) + name.len, category.len ? category.data : "", category.len);
    uint32_t at = ft_map_intern(&list->index, key, bytes, (uint32_t)list->count, &is_new);
    free(key);
    if (is_new) {
        if (list->count == list->space) {
            list->space = list->space ? 2 * list->space : 64;
            list->rows = ft_cli_realloc(list->rows, list->space, sizeof(*list->rows));
        }
        list->rows[list->count++] = (struct ft_diff_row){.name = name, .category = category};
    }
    return &list->rows[at];
}

static void add(struct ft_sum *to, uint64_t count, uint64_t bytes, uint64_t time_ns)
{
    to->count += count;
    to->bytes += bytes;
    to->time_ns += time_ns;
}

static void read_run(struct ft_diff_run *run)
{
    const struct ft_timeline_wish wish = {.bins = 1};
    struct ft_scan scan;
    size_t processes = ft_trace_set_process_count(run->set);
    ft_calls_init(&run->calls);
    ft_calls_read(&run->calls, run->set);
    ft_files_read(&run->files, run->set, NULL, NULL);
    bool is_timed = ft_timeline_read(&run->timeline, run->set, NULL, &wish) == 0;
    ft_scan_read(&scan, run->set, FT_SCAN_PROCESSES, NULL);
    run->events = ft_cli_alloc(processes * sizeof(*run->events));
    for (uint32_t p = 0; p < processes; p++) {
        run->events[p] = ft_job_emitted(run->set, &scan, p);
    }
    run->processes = scan.processes;
    scan.processes = NULL;
    run->state = ft_state_of(run->set, scan.bad_blocks | run->calls.bad_blocks | run->files.scan.bad_blocks);
    run->state.is_partial |= !is_timed || run->timeline.bad_blocks;
    ft_scan_fini(&scan);
}

static void add_run(struct ft_diff *diff, int side)
{
    const struct ft_diff_run *run = &diff->runs[side];
    for (size_t i = 0; i < run->calls.count; i++) {
        const struct ft_call_sum *call = &run->calls.items[i];
        struct ft_diff_row *row =
            row_of(call->is_span ? &diff->spans : &diff->calls, FT_BYTES(call->name), FT_BYTES(call->category));
        add(&row->of[side], call->sum.count, call->sum.bytes, call->sum.time_ns);
    }
    for (size_t i = 0; i < run->files.count; i++) {
        const struct ft_file_sum *sum = &run->files.rows[i].sum;
        struct ft_diff_row *row = row_of(&diff->files, run->files.rows[i].name, FT_BYTES(""));
        add(&row->of[side], sum->events, sum->read_bytes + sum->written_bytes,
            sum->read_time_ns + sum->write_time_ns + sum->metadata_time_ns);
    }
    for (uint32_t p = 0; p < ft_trace_set_process_count(run->set); p++) {
        const struct ft_process_sum *sum = &run->processes[p];
        struct ft_diff_row *row = row_of(&diff->programs, ft_trace_set_process(run->set, p)->record->exe, FT_BYTES(""));
        add(&row->of[side], run->events[p], sum->read_bytes + sum->written_bytes, sum->io_time_ns);
        row->processes[side]++;
    }
}

static void finish(struct ft_diff_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        ft_diff_judge(&list->rows[i]);
    }
    if (list->count > 1) {
        qsort(list->rows, list->count, sizeof(*list->rows), compare);
    }
}

void ft_diff_read(struct ft_diff *diff, struct ft_trace_set *a, struct ft_trace_set *b)
{
    struct ft_diff_list *const lists[] = {&diff->calls, &diff->spans, &diff->files, &diff->programs};
    memset(diff, 0, sizeof(*diff));
    diff->runs[0].set = a;
    diff->runs[1].set = b;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        ft_map_init(&lists[i]->index);
    }
    for (int side = 0; side < 2; side++) {
        read_run(&diff->runs[side]);
        add_run(diff, side);
    }
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        finish(lists[i]);
    }
}

void ft_diff_fini(struct ft_diff *diff)
{
    struct ft_diff_list *const lists[] = {&diff->calls, &diff->spans, &diff->files, &diff->programs};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        free(lists[i]->rows);
        ft_map_fini(&lists[i]->index);
    }
    for (int side = 0; side < 2; side++) {
        struct ft_diff_run *run = &diff->runs[side];
        ft_calls_fini(&run->calls);
        ft_files_fini(&run->files);
        ft_timeline_fini(&run->timeline);
        free(run->processes);
        free(run->events);
        ft_trace_set_close(run->set);
    }
}
