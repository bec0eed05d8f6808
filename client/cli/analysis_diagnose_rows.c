// SPDX-License-Identifier: MIT
/*
 * The sums of files and processes, event by event. A thread adds to sums of its own for a few files, and gives one to its
 * file when another needs the place.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/analysis_count.h"
#include "client/cli/analysis_diagnose.h"
#include "client/cli/cli.h"
#include "client/cli/report.h"
#include "proto/calls.h"

enum { IS_LOOKUP = 1, IS_SYNC = 2, IS_POSIX = 4, IS_STDIO = 8, IS_FLUSH = 16, IS_SETVBUF = 32 };

/* Where reads ended, by files of a run; of two that share a place the later one has it. */
enum { PLACES = 1024 };

/* Sums of files that are on hand; of two that share a place the earlier one's is given to its file. */
enum { ON_HAND = 64, CACHE_LINE = 64 };

struct on_hand {
    uint32_t entry; /* FT_ENTRY_NONE: of none */
    struct ft_diagnose_sum sum;
};

struct place {
    uint32_t entry, run;
    uint64_t end; /* of the last read */
};

struct state {
    struct ft_pass *pass;
    struct ft_diagnose_context *context;
    struct on_hand on_hand[ON_HAND];
    struct ft_diagnose_process process;
    uint32_t run; /* its number, from 1 */
    struct place places[PLACES];
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
    uint8_t flags = strcmp(category, "POSIX") == 0 ? IS_POSIX : strcmp(category, "STDIO") == 0 ? IS_STDIO : 0;
    if (strncmp(name, "fflush", strlen("fflush")) == 0) {
        flags |= IS_FLUSH;
    } else if (strcmp(name, "setvbuf") == 0) {
        flags |= IS_SETVBUF;
    }
    if (ft_count_is_open(name) || has_part(name, lookups, sizeof(lookups) / sizeof(lookups[0]))) {
        flags |= IS_LOOKUP;
    }
    return strstr(name, "sync") && !strstr(name, "msync") ? flags | IS_SYNC : flags;
}

void ft_diagnose_rows_begin(struct ft_diagnose_context *context, const struct ft_trace_set *set)
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
    context->flags = flags;
    for (size_t i = 0; i < FT_DIAGNOSE_LOCKS; i++) {
        pthread_mutex_init(&context->locks[i], NULL);
    }
}

void ft_diagnose_rows_end(struct ft_diagnose_context *context)
{
    for (size_t i = 0; i < FT_DIAGNOSE_LOCKS; i++) {
        pthread_mutex_destroy(&context->locks[i]);
    }
    free(context->flags);
}

static void add(uint64_t *to, uint64_t amount)
{
    __atomic_fetch_add(to, amount, __ATOMIC_RELAXED);
}

static void widen(struct ft_interval *to, const struct ft_interval *by)
{
    int64_t start = __atomic_load_n(&to->start, __ATOMIC_RELAXED), end = __atomic_load_n(&to->end, __ATOMIC_RELAXED);
    while (by->start < start &&
           !__atomic_compare_exchange_n(&to->start, &start, by->start, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    while (by->end > end &&
           !__atomic_compare_exchange_n(&to->end, &end, by->end, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

/* Of a million files the sum is in no cache: it is on its way until what is on hand is given to it. */
static void fetch_ahead(const struct ft_diagnose_sum *sum)
{
    for (size_t at = 0; at < sizeof(*sum); at += CACHE_LINE) {
        __builtin_prefetch((const char *)sum + at, 1);
    }
}

static void give(struct ft_diagnose_context *context, const struct on_hand *on_hand)
{
    struct ft_diagnose_sum *file = &context->diagnose->files[on_hand->entry];
    const uint64_t *from = (const uint64_t *)(const void *)&on_hand->sum;
    uint64_t *to = (uint64_t *)(void *)file;
    pthread_mutex_t *lock = &context->locks[on_hand->entry % FT_DIAGNOSE_LOCKS];
    pthread_mutex_lock(lock);
    for (size_t i = 0; i < FT_DIAGNOSE_SUMS; i++) {
        to[i] += from[i];
    }
    file->lowest = on_hand->sum.lowest < file->lowest ? on_hand->sum.lowest : file->lowest;
    file->highest = on_hand->sum.highest > file->highest ? on_hand->sum.highest : file->highest;
    pthread_mutex_unlock(lock);
}

static struct on_hand *on_hand_of(struct state *state, uint32_t entry)
{
    struct on_hand *on_hand = &state->on_hand[entry % ON_HAND];
    if (on_hand->entry == entry) {
        return on_hand;
    }
    if (on_hand->entry != FT_ENTRY_NONE) {
        give(state->context, on_hand);
    }
    *on_hand = (struct on_hand){.entry = entry, .sum.lowest = UINT64_MAX};
    fetch_ahead(&state->context->diagnose->files[entry]);
    return on_hand;
}

static void add_place(struct state *state, struct on_hand *on_hand, const struct ft_rows *rows, size_t i,
                      uint64_t dur_ns)
{
    struct ft_diagnose_sum *sum = &on_hand->sum;
    uint64_t offset = (uint64_t)rows->offset[i], bytes = rows->bytes[i], end = offset + bytes;
    if (!(rows->has[i] & FT_HAS_OFFSET) || rows->offset[i] < 0 || bytes > INT64_MAX) {
        return;
    }
    sum->placed_bytes += bytes;
    sum->placed_ns += dur_ns;
    sum->lowest = offset < sum->lowest ? offset : sum->lowest;
    sum->highest = end > sum->highest ? end : sum->highest;
    struct place *place = &state->places[on_hand->entry % PLACES];
    if (place->run == state->run && place->entry == on_hand->entry) {
        /* From the begin again is another pass over the file, no jump. */
        bool is_jump =
            offset != 0 && (offset < place->end || offset - place->end > ft_diagnose_limit(FT_LIMIT_JUMP_BYTES));
        sum->followed++;
        if (is_jump && bytes < ft_diagnose_limit(FT_LIMIT_RANDOM_BYTES)) {
            sum->jumps++;
            sum->jump_bytes += bytes;
            sum->jump_ns += dur_ns;
        }
    }
    *place = (struct place){.entry = on_hand->entry, .run = state->run, .end = end};
}

static void add_request(struct ft_diagnose_sum *sum, const struct ft_rows *rows, size_t i, uint64_t dur_ns,
                        uint64_t block_bytes)
{
    uint64_t bytes = rows->bytes[i];
    sum->requests++;
    sum->request_bytes += bytes;
    sum->request_ns += dur_ns;
    if (bytes < block_bytes) {
        sum->small++;
        sum->small_bytes += bytes;
        sum->small_ns += dur_ns;
    } else if (rows->has[i] & FT_HAS_OFFSET && (uint64_t)rows->offset[i] % block_bytes != 0) {
        sum->odd++;
        sum->odd_ns += dur_ns;
    }
}

static void add_read(struct state *state, struct on_hand *on_hand, const struct ft_rows *rows, size_t i,
                     uint64_t dur_ns)
{
    on_hand->sum.read_bytes += rows->bytes[i];
    on_hand->sum.read_ns += dur_ns;
    state->process.read_bytes += rows->bytes[i];
    state->process.read_ns += dur_ns;
    if (rows->bytes[i] > 0) {
        add_place(state, on_hand, rows, i, dur_ns);
    }
}

static void add_stream(struct ft_diagnose_sum *sum, const struct ft_rows *rows, size_t i, unsigned mask, uint8_t flags,
                       uint64_t dur_ns)
{
    if (mask & FT_COUNT_WRITE) {
        sum->stdio++;
        sum->stdio_bytes += rows->bytes[i];
        sum->stdio_ns += dur_ns;
    } else if (flags & IS_FLUSH) {
        sum->flushes++;
        sum->flush_ns += dur_ns;
        sum->flushed_bytes += rows->bytes[i];
    } else if (flags & IS_SETVBUF) {
        sum->unbuffered += rows->has[i] & FT_HAS_ARG && rows->arg[i] == _IONBF;
    }
}

static void add_call(struct state *state, size_t reader, const struct ft_rows *rows, size_t i, unsigned mask)
{
    struct ft_diagnose *diagnose = state->context->diagnose;
    uint32_t entry = diagnose->entries.of[reader][rows->file[i]].entry;
    uint64_t dur_ns = rows->dur_ns[i] > 0 ? (uint64_t)rows->dur_ns[i] : 0;
    uint8_t flags = state->context->flags[reader][rows->call[i] < FT_TRACE_CALL_MAX ? rows->call[i] : 0];
    struct on_hand *on_hand = on_hand_of(state, entry);
    struct ft_diagnose_sum *sum = &on_hand->sum;
    state->process.io_ns += dur_ns;
    if (mask & (FT_COUNT_READ | FT_COUNT_WRITE) && rows->bytes[i] > 0 && flags & IS_POSIX) {
        add_request(sum, rows, i, dur_ns, diagnose->files[entry].block_bytes);
    }
    if (mask & FT_COUNT_READ) {
        add_read(state, on_hand, rows, i, dur_ns);
    }
    sum->written_bytes += mask & FT_COUNT_WRITE ? rows->bytes[i] : 0;
    if (flags & IS_STDIO) {
        add_stream(sum, rows, i, mask, flags, dur_ns);
    }
    if (mask & FT_COUNT_METADATA && flags & IS_LOOKUP) {
        sum->lookups++;
        sum->lookup_ns += dur_ns;
    }
    if (mask & FT_COUNT_METADATA && flags & IS_SYNC) {
        sum->syncs++;
        sum->sync_ns += dur_ns;
    }
}

static void add_compute(struct state *state, size_t reader, const struct ft_rows *rows, size_t i,
                        struct ft_interval *computing)
{
    const struct ft_trace_set *set = state->pass->set;
    struct ft_bytes category = ft_trace_reader_name(ft_trace_set_reader(set, reader), rows->category[i]);
    int64_t start_ns = ft_trace_set_realtime_ns(set, reader, rows->start_ns[i]);
    if (category.len == strlen("compute") && memcmp(category.data, "compute", category.len) == 0) {
        computing->start = start_ns < computing->start ? start_ns : computing->start;
        computing->end = start_ns + rows->dur_ns[i] > computing->end ? start_ns + rows->dur_ns[i] : computing->end;
    }
}

/* As ft_pass_mask(), by what the entries know: of a million files their records are in no cache. */
static unsigned mask_of(const struct state *state, size_t reader, const struct ft_rows *rows, size_t i,
                        uint32_t file_max)
{
    const struct ft_pass_call *call =
        &state->pass->calls[reader][rows->call[i] < FT_TRACE_CALL_MAX ? rows->call[i] : 0];
    const struct ft_entry_ref *of = state->context->diagnose->entries.of[reader];
    if (!call->is_counted) {
        return 0;
    }
    unsigned file2_class = rows->file2[i] <= file_max ? of[rows->file2[i]].file_class : FT_FILE_CLASS_UNKNOWN;
    return ft_count_of(call->group, of[rows->file[i]].file_class, file2_class);
}

static void add_run(struct state *state, size_t reader, const struct ft_rows *rows, const struct ft_run *run,
                    uint32_t file_max, struct ft_interval *computing)
{
    const struct ft_diagnose *diagnose = state->context->diagnose;
    for (size_t i = run->first, end = i + run->count; i < end; i++) {
        if (rows->kind[i] == FT_EVENT_SPAN) {
            add_compute(state, reader, rows, i, computing);
        }
        if (rows->kind[i] != FT_EVENT_CALL || rows->file[i] == 0 || rows->file[i] > file_max) {
            continue;
        }
        unsigned mask = mask_of(state, reader, rows, i, file_max) & FT_COUNT_IO;
        if (mask && diagnose->entries.of[reader][rows->file[i]].entry != FT_ENTRY_NONE) {
            add_call(state, reader, rows, i, mask);
        }
    }
}

void ft_diagnose_rows_add(void *state_untyped, size_t reader, const struct ft_rows *rows)
{
    struct state *state = state_untyped;
    struct ft_diagnose *diagnose = state->context->diagnose;
    uint32_t file_max = ft_trace_reader_file_max(ft_trace_set_reader(diagnose->set, reader));
    for (size_t r = 0; r < rows->run_count; r++) {
        uint32_t process = ft_trace_set_process_of_thread(diagnose->set, reader, rows->runs[r].thread);
        state->process = (struct ft_diagnose_process){0};
        state->run++;
        struct ft_interval computing = {.start = INT64_MAX, .end = INT64_MIN};
        add_run(state, reader, rows, &rows->runs[r], file_max, &computing);
        if (process != FT_TRACE_SET_NONE) {
            add(&diagnose->processes[process].io_ns, state->process.io_ns);
            add(&diagnose->processes[process].read_ns, state->process.read_ns);
            add(&diagnose->processes[process].read_bytes, state->process.read_bytes);
            widen(&diagnose->computing[process], &computing);
        }
    }
}

void *ft_diagnose_rows_open(struct ft_pass *pass)
{
    struct state *state = ft_cli_alloc(sizeof(*state));
    state->pass = pass;
    state->context = pass->context;
    for (size_t i = 0; i < ON_HAND; i++) {
        state->on_hand[i].entry = FT_ENTRY_NONE;
    }
    return state;
}

void ft_diagnose_rows_close(void *state_untyped)
{
    struct state *state = state_untyped;
    for (size_t i = 0; i < ON_HAND; i++) {
        if (state->on_hand[i].entry != FT_ENTRY_NONE) {
            give(state->context, &state->on_hand[i]);
        }
    }
    free(state);
}
