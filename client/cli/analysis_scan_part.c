// SPDX-License-Identifier: MIT
#include "client/cli/analysis_scan_part.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"

/* Runs in order of their processes. */
struct ft_scan_order {
    uint32_t process, run;
};

void ft_scan_part_init(struct ft_scan_part *part, struct ft_scan_work *work)
{
    memset(part, 0, sizeof(*part));
    part->work = work;
    part->processes = ft_cli_alloc(work->process_count * sizeof(*part->processes));
    part->busy.has_processes = work->parts & FT_SCAN_PROCESS_TIMES;
    ft_scan_files_init(&part->files, work->parts & (FT_SCAN_FILES | FT_SCAN_ACCESS) ? work->place_count : 0);
}

void ft_scan_part_fini(struct ft_scan_part *part)
{
    ft_scan_files_fini(&part->files);
    ft_busy_fini(&part->busy);
    free(part->run_files);
    free(part->order);
    free(part->accesses);
    free(part->processes);
    ft_reuse_marks_fini(&part->marks);
}

uint32_t ft_scan_part_columns(const struct ft_scan_work *work)
{
    unsigned parts = work->parts;
    uint32_t mask = FT_COL_START | FT_COL_DUR | FT_COL_CALL | FT_COL_FILE | FT_COL_FILE2 | FT_COL_BYTES | FT_COL_ERR;
    mask |= parts & (FT_SCAN_UNIONS | FT_SCAN_PROCESS_TIMES) ? FT_COL_NAME : 0;
    mask |= parts & FT_SCAN_ACCESS ? FT_COL_OFFSET : 0;
    mask |= parts & FT_SCAN_FILES && ft_scan_has_reuse(work, FT_REUSE_BY_FLAGS) ? FT_COL_ARG : 0;
    return mask;
}

static void begin_run(struct ft_scan_part *part, const struct ft_run *run)
{
    part->run++;
    part->run_file_count = 0;
    part->late_bytes = 0;
    ft_access_run_begin(&part->accesses[part->access_count],
                        ft_trace_set_thread(part->work->set, part->reader_index, run->thread));
}

static void add_run(struct ft_scan_part *part, const struct ft_rows *rows, const struct ft_run *run, uint32_t process)
{
    struct ft_process_sum sum = {.events = run->count};
    begin_run(part, run);
    ft_scan_rows_add(part, rows, run, &sum);
    part->access_count += part->accesses[part->access_count].tail_count > 0;
    if (process == FT_TRACE_SET_NONE) {
        return;
    }
    ft_process_sum_add(&part->processes[process], &sum);
    if (part->work->parts & FT_SCAN_FILES && part->run_file_count > 0) {
        ft_touched_add(&part->work->touched, process, part->run_files, part->run_file_count);
    }
}

/* Numbers of runs are never used again: what is left of other blocks is known by them. */
static void begin_runs(struct ft_scan_part *part, size_t count)
{
    if (count > UINT32_MAX - part->run) {
        part->run = 0;
        ft_scan_files_forget_runs(&part->files);
    }
}

static void begin_block(struct ft_scan_part *part, size_t reader, const struct ft_trace_block *head,
                        const struct ft_rows *rows)
{
    part->reader = ft_trace_set_reader(part->work->set, reader);
    part->reader_index = reader;
    part->calls = part->work->calls[reader]->calls;
    part->effects = part->work->calls[reader]->effects;
    part->access_count = 0;
    part->realtime_offset_ns = ft_trace_set_realtime_ns(part->work->set, reader, 0);
    struct ft_packed_form form = ft_packed_form_of(head->start_ns, head->end_ns);
    part->base_ns = form.base_ns;
    form.base_ns = ft_scan_part_realtime(part, form.base_ns);
    ft_scan_files_begin(&part->files, part->work->entries->of[reader], ft_trace_reader_file_max(part->reader));
    part->are_known = part->files.are_variants || ft_scan_are_known(&part->files, rows);
    ft_busy_begin(&part->busy, form, rows->count);
    begin_runs(part, rows->run_count);
    if (part->run_file_space < 2 * rows->count + 1) { /* one that is no entry is written, too */
        part->run_file_space = 2 * rows->count + 1;
        part->run_files = ft_cli_realloc(part->run_files, part->run_file_space, sizeof(*part->run_files));
    }
    if (rows->run_count > part->run_space) {
        part->run_space = rows->run_count * 2;
        part->order = ft_cli_realloc(part->order, part->run_space, sizeof(*part->order));
        part->accesses = ft_cli_realloc(part->accesses, part->run_space, sizeof(*part->accesses));
    }
}

static int compare(const void *a_untyped, const void *b_untyped)
{
    const struct ft_scan_order *a = a_untyped, *b = b_untyped;
    return a->process != b->process ? (a->process < b->process ? -1 : 1) : (a->run > b->run) - (a->run < b->run);
}

static void order_runs(struct ft_scan_part *part, const struct ft_rows *rows)
{
    bool is_ordered = true;
    for (uint32_t r = 0; r < rows->run_count; r++) {
        part->order[r].run = r;
        part->order[r].process =
            ft_trace_set_process_of_thread(part->work->set, part->reader_index, rows->runs[r].thread);
        is_ordered &= r == 0 || part->order[r].process >= part->order[r - 1].process;
    }
    if (!is_ordered) {
        qsort(part->order, rows->run_count, sizeof(*part->order), compare);
    }
}

void ft_scan_part_add(struct ft_scan_part *part, size_t reader, const struct ft_trace_block *head,
                      const struct ft_rows *rows)
{
    begin_block(part, reader, head, rows);
    order_runs(part, rows);
    for (size_t r = 0; r < rows->run_count; r++) {
        uint32_t process = part->order[r].process;
        add_run(part, rows, &rows->runs[part->order[r].run], process);
        if (r + 1 == rows->run_count || part->order[r + 1].process != process) {
            ft_busy_end_process(&part->busy, process);
        }
    }
    if (part->work->parts & FT_SCAN_FILES) {
        pthread_mutex_lock(&part->work->files_lock);
        ft_scan_files_add_to(&part->files, part->work->files, part->realtime_offset_ns);
        pthread_mutex_unlock(&part->work->files_lock);
    }
    if (part->work->parts & FT_SCAN_UNIONS) {
        ft_busy_end(&part->busy);
    }
    part->rows += rows->count;
}
