// SPDX-License-Identifier: MIT
#include "client/cli/analysis_diagnose.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"
#include "client/cli/report.h"

#define ROW(id, name, value, reason) {name, value, reason},
const struct ft_diagnose_limit_row ft_diagnose_limits[FT_LIMIT_COUNT] = {FT_DIAGNOSE_LIMITS(ROW)};
#undef ROW

uint64_t ft_diagnose_block_bytes(const struct ft_entries *entries, uint32_t entry)
{
    uint32_t told = ft_entry_record(entries, &entries->items[entry]).block_size;
    return told ? told : ft_diagnose_limit(FT_LIMIT_BLOCK_BYTES);
}

uint64_t ft_diagnose_reread(const struct ft_diagnose_sum *sum)
{
    uint64_t spanned = sum->highest > sum->lowest ? sum->highest - sum->lowest : 0;
    return sum->placed_bytes > spanned ? sum->placed_bytes - spanned : 0;
}

/* All sums are of 64 bits, one behind the other. */
static void add_up(struct ft_diagnose *diagnose)
{
    for (size_t f = 0; f < diagnose->entries.count; f++) {
        const uint64_t *from = (const uint64_t *)(const void *)&diagnose->files[f];
        uint64_t *to = (uint64_t *)(void *)&diagnose->total;
        for (size_t i = 0; i < FT_DIAGNOSE_SUMS; i++) {
            to[i] += from[i];
        }
    }
}

int64_t ft_diagnose_life(const struct ft_diagnose *diagnose, uint32_t process, int64_t *start_ns)
{
    const struct ft_trace_set_process *of = ft_trace_set_process(diagnose->set, process);
    int64_t end_ns = of->record->end_ns ? ft_trace_set_realtime_ns(diagnose->set, of->reader, of->record->end_ns)
                                        : diagnose->timeline.end_ns;
    *start_ns = ft_trace_set_realtime_ns(diagnose->set, of->reader, of->record->start_ns);
    return end_ns > *start_ns ? end_ns - *start_ns : 0;
}

static uint64_t sum_lives(const struct ft_diagnose *diagnose)
{
    uint64_t lived_ns = 0;
    for (uint32_t p = 0; p < ft_trace_set_process_count(diagnose->set); p++) {
        int64_t start_ns;
        lived_ns += (uint64_t)ft_diagnose_life(diagnose, p, &start_ns);
    }
    return lived_ns;
}

/* A process that computes nothing itself works for the one that started it; else for the whole job. */
static void find_windows(struct ft_diagnose *diagnose)
{
    size_t count = ft_trace_set_process_count(diagnose->set);
    struct ft_interval whole = {.start = INT64_MAX, .end = INT64_MIN};
    for (size_t p = 0; p < count; p++) {
        const struct ft_interval *own = &diagnose->computing[p];
        whole.start = own->start < whole.start ? own->start : whole.start;
        whole.end = own->end > whole.end ? own->end : whole.end;
    }
    /* Those on the way have what is found: the next one that comes by goes no further. */
    for (uint32_t p = 0; p < count && whole.start != INT64_MAX; p++) {
        uint32_t of = p;
        while (of != FT_TRACE_SET_NONE && diagnose->computing[of].start == INT64_MAX) {
            of = ft_trace_set_process(diagnose->set, of)->parent;
        }
        struct ft_interval window = of != FT_TRACE_SET_NONE ? diagnose->computing[of] : whole;
        for (uint32_t at = p; at != of; at = ft_trace_set_process(diagnose->set, at)->parent) {
            diagnose->computing[at] = window;
        }
    }
}

void ft_diagnose_read(struct ft_diagnose *diagnose, const struct ft_trace_set *set)
{
    struct ft_timeline_wish wish = {.bins = 1, .without_categories = true};
    struct ft_diagnose_context context = {.diagnose = diagnose};
    struct ft_progress progress;
    memset(diagnose, 0, sizeof(*diagnose));
    diagnose->set = set;
    ft_diagnose_rows_begin(&context, set);
    ft_entries_read(&diagnose->entries, set);
    diagnose->processes = ft_cli_alloc((ft_trace_set_process_count(set) + 1) * sizeof(*diagnose->processes));
    diagnose->files = ft_cli_alloc(diagnose->entries.count * sizeof(*diagnose->files));
    for (size_t f = 0; f < diagnose->entries.count; f++) {
        diagnose->files[f].lowest = UINT64_MAX;
        diagnose->files[f].block_bytes = ft_diagnose_block_bytes(&diagnose->entries, (uint32_t)f);
    }
    size_t processes = ft_trace_set_process_count(set);
    diagnose->computing = ft_cli_alloc((processes + 1) * sizeof(*diagnose->computing));
    for (size_t p = 0; p < processes; p++) {
        diagnose->computing[p] = (struct ft_interval){.start = INT64_MAX, .end = INT64_MIN};
    }
    ft_progress_begin(&progress, "reading events", ft_trace_set_events(set));
    struct ft_pass pass = {.set = set,
                           .columns = FT_COL_DUR | FT_COL_CALL | FT_COL_FILE | FT_COL_FILE2 | FT_COL_BYTES |
                                      FT_COL_OFFSET | FT_COL_ARG | FT_COL_HAS | FT_COL_START | FT_COL_NAME,
                           .progress = &progress,
                           .context = &context,
                           .begin = ft_diagnose_rows_open,
                           .add = ft_diagnose_rows_add,
                           .end = ft_diagnose_rows_close};
    ft_pass_run(&pass);
    ft_progress_end(&progress);
    add_up(diagnose);
    find_windows(diagnose);
    wish.windows = diagnose->computing;
    bool is_timed = ft_timeline_read(&diagnose->timeline, set, NULL, &wish) == 0;
    diagnose->bad_blocks = pass.bad_blocks + !is_timed;
    diagnose->lived_ns = sum_lives(diagnose);
    ft_diagnose_rows_end(&context);
}

void ft_diagnose_fini(struct ft_diagnose *diagnose)
{
    free(diagnose->files);
    free(diagnose->processes);
    free(diagnose->computing);
    ft_entries_fini(&diagnose->entries);
    ft_timeline_fini(&diagnose->timeline);
}
