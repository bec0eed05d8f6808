// SPDX-License-Identifier: MIT
#include "client/cli/analysis_job.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/analysis_count.h"
#include "client/cli/analysis_parents.h"
#include "client/cli/cli.h"
#include "client/cli/map.h"
#include "client/cli/report.h"
#include "client/trace/starts.h"
#include "proto/calls.h"

/* A circle of images in a damaged file ends here. */
enum { IMAGES_MAX = 1000 };

uint64_t ft_job_dropped(const struct ft_trace_process *process)
{
    uint64_t dropped = 0;
    for (int cause = 0; cause < FT_CAUSE_COUNT; cause++) {
        dropped += process->dropped[cause];
    }
    return dropped;
}

bool ft_job_drops_io(const struct ft_trace_set *set, uint32_t process)
{
    const struct ft_trace_set_process *known = ft_trace_set_process(set, process);
    const struct ft_trace_reader *reader = ft_trace_set_reader(set, known->reader);
    for (size_t i = 0; i < known->record->dropped_calls_count; i++) {
        unsigned call = known->record->dropped_calls[i].call;
        if (known->record->dropped_calls[i].count > 0 && ft_count_has_category(ft_call_name_category(reader, call)) &&
            ft_count_of(ft_call_name_group(reader, call), FT_FILE_CLASS_STORAGE, FT_FILE_CLASS_STORAGE) & FT_COUNT_IO) {
            return true;
        }
    }
    return false;
}

uint64_t ft_job_emitted(const struct ft_trace_set *set, const struct ft_scan *scan, uint32_t process)
{
    const struct ft_trace_set_process *known = ft_trace_set_process(set, process);
    uint64_t found = scan->processes[process].events + ft_job_dropped(known->record);
    bool is_whole = ft_trace_set_is_ended(set, known->reader) && !ft_trace_set_is_partial(set);
    return is_whole || known->record->emitted > found ? known->record->emitted : found;
}

uint64_t ft_job_missing(const struct ft_trace_set *set, uint32_t process, uint64_t events)
{
    const struct ft_trace_set_process *known = ft_trace_set_process(set, process);
    uint64_t found = events + ft_job_dropped(known->record);
    bool is_known = ft_trace_set_is_ended(set, known->reader) && known->record->emitted > found;
    return is_known ? known->record->emitted - found : 0;
}

uint64_t ft_job_missing_in_all(const struct ft_trace_set *set, const struct ft_scan *scan, uint64_t *beyond)
{
    uint64_t missing = 0, owned = 0;
    for (uint32_t p = 0; p < ft_trace_set_process_count(set); p++) {
        missing += ft_job_missing(set, p, scan->processes[p].events);
        owned += scan->processes[p].events;
    }
    uint64_t ownerless = scan->rows > owned ? scan->rows - owned : 0;
    *beyond = ownerless > missing ? ownerless - missing : 0;
    return missing > ownerless ? missing - ownerless : 0;
}

static struct ft_bytes bytes_or_empty(struct ft_bytes bytes)
{
    return bytes.len ? bytes : (struct ft_bytes){.data = "", .len = 0};
}

/* A key of several fields; each is preceded by its length, so that no two lists of fields are alike. */
static char *make_key(const struct ft_bytes *fields, size_t count, const uint64_t *numbers, size_t number_count,
                      size_t *bytes)
{
    *bytes = number_count * sizeof(*numbers);
    for (size_t i = 0; i < count; i++) {
        *bytes += sizeof(fields[i].len) + fields[i].len;
    }
    char *key = ft_cli_alloc(*bytes), *at = key;
    memcpy(at, numbers, number_count * sizeof(*numbers));
    at += number_count * sizeof(*numbers);
    for (size_t i = 0; i < count; i++) {
        memcpy(at, &fields[i].len, sizeof(fields[i].len));
        at += sizeof(fields[i].len);
        memcpy(at, bytes_or_empty(fields[i]).data, fields[i].len);
        at += fields[i].len;
    }
    return key;
}

/* True where the key was not in the map yet; *at: its index. */
static bool intern(struct ft_map *map, const struct ft_bytes *fields, size_t count, const uint64_t *numbers,
                   size_t number_count, uint32_t *at)
{
    size_t bytes;
    bool is_new;
    char *key = make_key(fields, count, numbers, number_count, &bytes);
    *at = ft_map_intern(map, key, bytes, (uint32_t)map->count, &is_new);
    free(key);
    return is_new;
}

static void add_gaps(struct ft_job *job, const struct ft_trace_set *set, const struct ft_starts *starts, size_t r,
                     struct ft_map *map)
{
    size_t count;
    const struct ft_trace_gap *gaps = ft_trace_reader_gaps(ft_trace_set_reader(set, r), &count);
    struct ft_bytes host = ft_trace_set_host_name(set, ft_trace_set_reader_host(set, r));
    for (size_t i = 0; i < count; i++) {
        struct ft_bytes fields[] = {host, gaps[i].exe, gaps[i].reason};
        uint64_t numbers[] = {gaps[i].kind, gaps[i].pid};
        uint32_t at;
        if (ft_starts_is_gone_on_with(starts, set, r, &gaps[i])) {
            continue;
        }
        if (intern(map, fields, 3, numbers, 2, &at)) {
            job->gaps = ft_cli_realloc(job->gaps, job->gap_count + 1, sizeof(*job->gaps));
            job->gaps[job->gap_count++] = (struct ft_job_gap){
                .host = host, .exe = gaps[i].exe, .reason = gaps[i].reason, .kind = gaps[i].kind, .pid = gaps[i].pid};
        }
        job->gaps[at].count += gaps[i].count ? gaps[i].count : 1;
    }
}

static void add_name(struct ft_job *job, const struct ft_trace_job *from, struct ft_bytes user, struct ft_map *map)
{
    struct ft_bytes fields[] = {from->id, user, from->workflow};
    uint64_t numbers[] = {from->source};
    uint32_t at;
    if (!intern(map, fields, 3, numbers, 1, &at)) {
        return;
    }
    job->names = ft_cli_realloc(job->names, job->name_count + 1, sizeof(*job->names));
    job->names[job->name_count++] =
        (struct ft_job_name){.id = from->id, .user = user, .workflow = from->workflow, .source = from->source};
}

static void add_tags(struct ft_job *job, const struct ft_trace_process *process, struct ft_map *map)
{
    for (size_t i = 0; i < process->tags_count; i++) {
        struct ft_bytes fields[] = {process->tags[i].key, process->tags[i].value};
        uint64_t numbers[] = {0};
        uint32_t at;
        if (intern(map, fields, 2, numbers, 1, &at)) {
            job->tags = ft_cli_realloc(job->tags, job->tag_count + 1, sizeof(*job->tags));
            job->tags[job->tag_count++] = process->tags[i];
        }
    }
}

static void add_processes(struct ft_job *job, const struct ft_trace_set *set, const struct ft_scan *scan)
{
    struct ft_map names, tags;
    ft_map_init(&names);
    ft_map_init(&tags);
    for (uint32_t p = 0; p < ft_trace_set_process_count(set); p++) {
        const struct ft_trace_set_process *process = ft_trace_set_process(set, p);
        const struct ft_trace_header *header = ft_trace_reader_header(ft_trace_set_reader(set, process->reader));
        const struct ft_trace_process *record = process->record;
        bool has_job = record->job.id.len > 0;
        struct ft_bytes user = record->user.len ? record->user : header->user;
        add_name(job, has_job ? &record->job : &header->job, user, &names);
        add_tags(job, record, &tags);
        job->emitted += ft_job_emitted(set, scan, p);
        for (int cause = 0; cause < FT_CAUSE_COUNT; cause++) {
            job->dropped_by_cause[cause] += record->dropped[cause];
        }
        job->dropped += ft_job_dropped(record);
        job->names_lost += record->names_lost;
        job->bad_values += record->bad_values;
    }
    uint64_t beyond;
    job->missing = ft_job_missing_in_all(set, scan, &beyond);
    job->emitted += beyond;
    for (size_t r = 0; job->name_count == 0 && r < ft_trace_set_reader_count(set); r++) {
        const struct ft_trace_header *header = ft_trace_reader_header(ft_trace_set_reader(set, r));
        if (header->job.id.len > 0) {
            add_name(job, &header->job, header->user, &names);
        }
    }
    ft_map_fini(&names);
    ft_map_fini(&tags);
}

/* What rchar + wchar hold of the dropped events. */
static uint64_t dropped_kernel_like(const struct ft_trace_set *set, const struct ft_trace_set_process *process)
{
    const struct ft_trace_reader *reader = ft_trace_set_reader(set, process->reader);
    uint64_t bytes = 0;
    for (size_t i = 0; i < process->record->dropped_calls_count; i++) {
        const struct ft_trace_dropped *dropped = &process->record->dropped_calls[i];
        char room[32];
        const char *name = ft_call_name_find(reader, dropped->call, room, sizeof(room));
        bytes += ft_count_kernel_sides(name, (unsigned)ft_call_group(dropped->call)) * dropped->bytes;
    }
    return bytes;
}

static void find_coverage(struct ft_job *job, const struct ft_trace_set *set, const struct ft_scan *scan)
{
    size_t count = ft_trace_set_process_count(set);
    struct ft_coverage_image *images = ft_cli_alloc(count * sizeof(*images));
    for (uint32_t p = 0; p < count; p++) {
        const struct ft_trace_set_process *process = ft_trace_set_process(set, p);
        const struct ft_trace_process *record = process->record;
        images[p] = (struct ft_coverage_image){
            .parent = job->parents[p],
            .is_exec = ft_parents_is_exec(set, job->parents, p),
            .is_known = record->kernel.is_known,
            .end_ns = record->end_ns ? ft_trace_set_realtime_ns(set, process->reader, record->end_ns) : 0,
            .kernel_bytes = record->kernel.rchar + record->kernel.wchar,
            .traced_bytes = scan->processes[p].kernel_like_bytes + dropped_kernel_like(set, process),
        };
    }
    ft_coverage_find(images, count, &job->coverage);
    free(images);
}

/* The first image of the process. */
static uint32_t first_image(const struct ft_job *job, const struct ft_trace_set *set, uint32_t p)
{
    for (int step = 0; step < IMAGES_MAX; step++) {
        uint32_t before = job->parents[p];
        if (!ft_parents_is_exec(set, job->parents, p) || before == FT_TRACE_SET_NONE) {
            break;
        }
        p = before;
    }
    return p;
}

static void count_threads(struct ft_job *job, const struct ft_trace_set *set)
{
    struct ft_map map;
    ft_map_init(&map);
    for (size_t r = 0; r < ft_trace_set_reader_count(set); r++) {
        const struct ft_trace_reader *reader = ft_trace_set_reader(set, r);
        for (uint32_t t = 1; t <= ft_trace_reader_thread_max(reader); t++) {
            const struct ft_trace_thread *thread = ft_trace_reader_thread(reader, t);
            uint32_t process = ft_trace_set_process_of_thread(set, r, t);
            if (!thread || process == FT_TRACE_SET_NONE) {
                continue;
            }
            uint32_t key[3] = {first_image(job, set, process), thread->tid, thread->ordinal};
            ft_map_intern(&map, key, sizeof(key), 0, NULL);
        }
    }
    job->thread_count = map.count;
    ft_map_fini(&map);
}

static void add_cap(struct ft_job *job, const struct ft_trace_set *set, size_t r)
{
    size_t count;
    const struct ft_trace_loss *losses = ft_trace_reader_losses(ft_trace_set_reader(set, r), &count);
    for (size_t i = 0; i < count; i++) {
        if (losses[i].cause == FT_CAUSE_CAPPED && losses[i].process == 0) {
            int64_t since_ns = ft_trace_set_realtime_ns(set, r, losses[i].when_ns);
            bool is_first = job->capped_since_ns == 0 || since_ns < job->capped_since_ns;
            job->capped_since_ns = is_first ? since_ns : job->capped_since_ns;
        }
    }
}

static void read_gaps(struct ft_job *job, const struct ft_trace_set *set)
{
    struct ft_map gaps;
    struct ft_starts starts;
    ft_map_init(&gaps);
    if (ft_starts_read(&starts, set) < 0) {
        ft_cli_memory(NULL);
    }
    for (size_t r = 0; r < ft_trace_set_reader_count(set); r++) {
        add_gaps(job, set, &starts, r, &gaps);
    }
    ft_map_fini(&gaps);
    ft_starts_fini(&starts);
}

size_t ft_job_count_gaps(const struct ft_trace_set *set)
{
    struct ft_job job = {0};
    read_gaps(&job, set);
    ft_job_fini(&job);
    return job.gap_count;
}

struct ft_gap_group *ft_job_group_gaps(const struct ft_job *job, size_t *count)
{
    struct ft_map map;
    struct ft_gap_group *groups = ft_cli_alloc(job->gap_count * sizeof(*groups));
    ft_map_init(&map);
    for (size_t i = 0; i < job->gap_count; i++) {
        struct ft_bytes fields[] = {job->gaps[i].exe, job->gaps[i].reason};
        uint64_t kind = job->gaps[i].kind;
        uint32_t at;
        if (intern(&map, fields, 2, &kind, 1, &at)) {
            groups[at] = (struct ft_gap_group){.first = &job->gaps[i]};
        }
        groups[at].count += job->gaps[i].count;
    }
    *count = map.count;
    ft_map_fini(&map);
    return groups;
}

void ft_job_read(struct ft_job *job, const struct ft_trace_set *set, const struct ft_scan *scan)
{
    memset(job, 0, sizeof(*job));
    read_gaps(job, set);
    for (size_t r = 0; r < ft_trace_set_reader_count(set); r++) {
        uint64_t error = ft_trace_reader_header(ft_trace_set_reader(set, r))->clock_error_ns;
        job->clock_error_ns = error > job->clock_error_ns ? error : job->clock_error_ns;
        add_cap(job, set, r);
    }
    job->stored = scan->rows;
    job->profiled = ft_trace_set_profiled(set);
    job->parents = ft_parents_find(set);
    add_processes(job, set, scan);
    find_coverage(job, set, scan);
    count_threads(job, set);
    job->has_span = ft_trace_set_span(set, &job->start_ns, &job->end_ns);
}

void ft_job_fini(struct ft_job *job)
{
    free(job->names);
    free(job->parents);
    free(job->tags);
    free(job->gaps);
}
