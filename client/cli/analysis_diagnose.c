// SPDX-License-Identifier: MIT
#include "client/cli/analysis_diagnose.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/analysis_count.h"
#include "client/cli/cli.h"
#include "client/cli/report.h"
#include "proto/calls.h"

#define ROW(id, name, value, reason) {name, value, reason},
const struct ft_diagnose_limit_row ft_diagnose_limits[FT_LIMIT_COUNT] = {FT_DIAGNOSE_LIMITS(ROW)};
#undef ROW

enum { IS_LOOKUP = 1, IS_SYNC = 2, IS_POSIX = 4 };

/* What all threads share; the sums of files are added to atomically. */
struct context {
    struct ft_diagnose *diagnose;
    uint8_t (*flags)[FT_TRACE_CALL_MAX]; /* of calls, by reader */
};

struct state {
    struct ft_pass *pass;
    struct context *context;
};

static bool has_part(const char *name, const char *const *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strstr(name, parts[i])) {
            return true;
        }
    }
    return false;
}

static uint8_t flags_of(const char *name, const char *category)
{
    static const char *const lookups[] = {"stat", "access", "opendir", "scandir", "readlink"};
    uint8_t flags = strcmp(category, "POSIX") == 0 ? IS_POSIX : 0;
    if (ft_count_is_open(name) || has_part(name, lookups, sizeof(lookups) / sizeof(lookups[0]))) {
        flags |= IS_LOOKUP;
    }
    return strstr(name, "sync") && !strstr(name, "msync") ? flags | IS_SYNC : flags;
}

static uint8_t (*make_flags(const struct ft_trace_set *set))[FT_TRACE_CALL_MAX]
{
    size_t readers = ft_trace_set_reader_count(set);
    uint8_t(*flags)[FT_TRACE_CALL_MAX] = ft_cli_alloc((readers ? readers : 1) * sizeof(*flags));
    for (size_t r = 0; r < readers; r++) {
        const struct ft_trace_reader *reader = ft_trace_set_reader(set, r);
        for (unsigned call = 0; call < FT_TRACE_CALL_MAX; call++) {
            char room[32];
            flags[r][call] =
                flags_of(ft_call_name_find(reader, call, room, sizeof(room)), ft_call_name_category(reader, call));
        }
    }
    return flags;
}

uint64_t ft_diagnose_block_bytes(const struct ft_entries *entries, uint32_t entry)
{
    uint32_t told = ft_entry_record(entries, &entries->items[entry])->block_size;
    return told ? told : ft_diagnose_limit(FT_LIMIT_BLOCK_BYTES);
}

static void add(uint64_t *to, uint64_t amount)
{
    __atomic_fetch_add(to, amount, __ATOMIC_RELAXED);
}

static void lower(uint64_t *to, uint64_t value)
{
    uint64_t now = __atomic_load_n(to, __ATOMIC_RELAXED);
    while (value < now && !__atomic_compare_exchange_n(to, &now, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

static void raise_to(uint64_t *to, uint64_t value)
{
    uint64_t now = __atomic_load_n(to, __ATOMIC_RELAXED);
    while (value > now && !__atomic_compare_exchange_n(to, &now, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

static void add_place(struct ft_diagnose_sum *sum, const struct ft_rows *rows, size_t i, uint64_t dur_ns)
{
    if (rows->has[i] & FT_HAS_OFFSET && rows->offset[i] >= 0 && rows->bytes[i] <= INT64_MAX) {
        uint64_t offset = (uint64_t)rows->offset[i];
        add(&sum->placed_bytes, rows->bytes[i]);
        add(&sum->placed_ns, dur_ns);
        lower(&sum->lowest, offset);
        raise_to(&sum->highest, offset + rows->bytes[i]);
    }
}

static void add_request(struct ft_diagnose_sum *sum, const struct ft_rows *rows, size_t i, uint64_t dur_ns,
                        uint64_t block_bytes)
{
    uint64_t bytes = rows->bytes[i];
    add(&sum->requests, 1);
    add(&sum->request_bytes, bytes);
    add(&sum->request_ns, dur_ns);
    if (bytes < block_bytes) {
        add(&sum->small, 1);
        add(&sum->small_bytes, bytes);
        add(&sum->small_ns, dur_ns);
    } else if (rows->has[i] & FT_HAS_OFFSET && (uint64_t)rows->offset[i] % block_bytes != 0) {
        add(&sum->odd, 1);
        add(&sum->odd_ns, dur_ns);
    }
}

static void add_call(struct state *state, size_t reader, const struct ft_rows *rows, size_t i, unsigned mask)
{
    struct ft_diagnose *diagnose = state->context->diagnose;
    uint32_t entry = diagnose->entries.of[reader][rows->file[i]].entry;
    struct ft_diagnose_sum *sum = &diagnose->files[entry];
    uint64_t dur_ns = rows->dur_ns[i] > 0 ? (uint64_t)rows->dur_ns[i] : 0;
    uint8_t flags = state->context->flags[reader][rows->call[i] < FT_TRACE_CALL_MAX ? rows->call[i] : 0];
    bool moves = mask & (FT_COUNT_READ | FT_COUNT_WRITE) && rows->bytes[i] > 0;
    if (moves && flags & IS_POSIX) {
        add_request(sum, rows, i, dur_ns, ft_diagnose_block_bytes(&diagnose->entries, entry));
    }
    if (mask & FT_COUNT_READ) {
        add(&sum->read_bytes, rows->bytes[i]);
        add(&sum->read_ns, dur_ns);
        if (moves) {
            add_place(sum, rows, i, dur_ns);
        }
    }
    add(&sum->written_bytes, mask & FT_COUNT_WRITE ? rows->bytes[i] : 0);
    if (mask & FT_COUNT_METADATA && flags & IS_LOOKUP) {
        add(&sum->lookups, 1);
        add(&sum->lookup_ns, dur_ns);
    }
    if (mask & FT_COUNT_METADATA && flags & IS_SYNC) {
        add(&sum->syncs, 1);
        add(&sum->sync_ns, dur_ns);
    }
}

static void add_rows(void *state_untyped, size_t reader, const struct ft_rows *rows)
{
    struct state *state = state_untyped;
    uint32_t file_max = ft_trace_reader_file_max(ft_trace_set_reader(state->pass->set, reader));
    for (size_t i = 0; i < rows->count; i++) {
        if (rows->kind[i] != FT_EVENT_CALL || rows->file[i] == 0 || rows->file[i] > file_max) {
            continue;
        }
        unsigned mask = ft_pass_mask(state->pass, reader, rows, i) & FT_COUNT_IO;
        if (mask && state->context->diagnose->entries.of[reader][rows->file[i]].entry != FT_ENTRY_NONE) {
            add_call(state, reader, rows, i, mask);
        }
    }
}

static void *begin(struct ft_pass *pass)
{
    struct state *state = ft_cli_alloc(sizeof(*state));
    *state = (struct state){.pass = pass, .context = pass->context};
    return state;
}

uint64_t ft_diagnose_reread(const struct ft_diagnose_sum *sum)
{
    uint64_t spanned = sum->highest > sum->lowest ? sum->highest - sum->lowest : 0;
    return sum->placed_bytes > spanned ? sum->placed_bytes - spanned : 0;
}

/* All sums are of 64 bits, one behind the other, but for the two bounds. */
static void add_up(struct ft_diagnose *diagnose)
{
    for (size_t f = 0; f < diagnose->entries.count; f++) {
        const uint64_t *from = (const uint64_t *)(const void *)&diagnose->files[f];
        uint64_t *to = (uint64_t *)(void *)&diagnose->total;
        for (size_t i = 0; i < sizeof(diagnose->total) / sizeof(uint64_t); i++) {
            to[i] += from[i];
        }
    }
    diagnose->total.lowest = diagnose->total.highest = 0;
}

static uint64_t sum_lives(const struct ft_trace_set *set, const struct ft_timeline *timeline)
{
    uint64_t lived_ns = 0;
    for (uint32_t p = 0; p < ft_trace_set_process_count(set); p++) {
        const struct ft_trace_set_process *process = ft_trace_set_process(set, p);
        int64_t end_ns = process->record->end_ns
                             ? ft_trace_set_realtime_ns(set, process->reader, process->record->end_ns)
                             : timeline->end_ns;
        int64_t start_ns = ft_trace_set_realtime_ns(set, process->reader, process->record->start_ns);
        lived_ns += end_ns > start_ns ? (uint64_t)end_ns - (uint64_t)start_ns : 0;
    }
    return lived_ns;
}

void ft_diagnose_read(struct ft_diagnose *diagnose, const struct ft_trace_set *set)
{
    const struct ft_timeline_wish wish = {.bins = 1};
    struct context context = {.diagnose = diagnose, .flags = make_flags(set)};
    struct ft_progress progress;
    memset(diagnose, 0, sizeof(*diagnose));
    diagnose->set = set;
    ft_entries_read(&diagnose->entries, set);
    diagnose->files = ft_cli_alloc(diagnose->entries.count * sizeof(*diagnose->files));
    for (size_t f = 0; f < diagnose->entries.count; f++) {
        diagnose->files[f].lowest = UINT64_MAX;
    }
    ft_progress_begin(&progress, "reading events", ft_trace_set_events(set));
    struct ft_pass pass = {.set = set,
                           .columns = FT_COL_DUR | FT_COL_CALL | FT_COL_FILE | FT_COL_FILE2 | FT_COL_BYTES |
                                      FT_COL_OFFSET | FT_COL_HAS,
                           .progress = &progress,
                           .context = &context,
                           .begin = begin,
                           .add = add_rows,
                           .end = free};
    ft_pass_run(&pass);
    ft_progress_end(&progress);
    add_up(diagnose);
    bool is_timed = ft_timeline_read(&diagnose->timeline, set, NULL, &wish) == 0;
    diagnose->bad_blocks = pass.bad_blocks + !is_timed;
    diagnose->lived_ns = sum_lives(set, &diagnose->timeline);
    free(context.flags);
}

void ft_diagnose_fini(struct ft_diagnose *diagnose)
{
    free(diagnose->files);
    ft_entries_fini(&diagnose->entries);
    ft_timeline_fini(&diagnose->timeline);
}
