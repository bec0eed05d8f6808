// SPDX-License-Identifier: MIT
#include "client/cli/analysis_scan_order.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"

/* A first event may be a little older than what its process's record calls its start. */
#define START_MARGIN_NS INT64_C(1000000000)

static int compare(const void *a_untyped, const void *b_untyped)
{
    const struct ft_scan_block *a = a_untyped, *b = b_untyped;
    if (a->end_ns != b->end_ns) {
        return a->end_ns < b->end_ns ? 1 : -1;
    }
    if (a->reader != b->reader) {
        return a->reader < b->reader ? 1 : -1;
    }
    return a->block < b->block ? 1 : -1;
}

static void put_watermarks(struct ft_scan_block *blocks, size_t count, size_t host_count)
{
    int64_t *below = ft_cli_alloc(host_count * sizeof(*below));
    for (size_t h = 0; h < host_count; h++) {
        below[h] = INT64_MIN;
    }
    for (size_t i = count; i-- > 0;) {
        blocks[i].watermark_ns = below[blocks[i].host];
        below[blocks[i].host] = blocks[i].end_ns;
    }
    free(below);
}

/* A file of a job on a host: its process's later events can be in the job's later files alone. */
struct file {
    uint32_t reader, host, uid;
    struct ft_bytes job;
};

static int compare_jobs(const struct file *a, const struct file *b)
{
    if (a->host != b->host || a->uid != b->uid || a->job.len != b->job.len) {
        return a->host != b->host ? (a->host < b->host ? -1 : 1)
               : a->uid != b->uid ? (a->uid < b->uid ? -1 : 1)
                                  : (a->job.len < b->job.len ? -1 : 1);
    }
    return a->job.len ? memcmp(a->job.data, b->job.data, a->job.len) : 0;
}

static int compare_files(const void *a, const void *b)
{
    return compare_jobs(a, b);
}

/* For each file the number of its job, below the count of files. */
static uint32_t *number_jobs(const struct ft_trace_set *set)
{
    size_t count = ft_trace_set_reader_count(set);
    struct file *files = ft_cli_alloc(count * sizeof(*files));
    uint32_t *jobs = ft_cli_alloc(count * sizeof(*jobs)), job = 0;
    for (uint32_t r = 0; r < count; r++) {
        const struct ft_trace_header *header = ft_trace_reader_header(ft_trace_set_reader(set, r));
        files[r] = (struct file){r, ft_trace_set_reader_host(set, r), header->uid, header->job.id};
    }
    if (count > 1) {
        qsort(files, count, sizeof(*files), compare_files);
    }
    for (size_t i = 0; i < count; i++) {
        job += i > 0 && compare_jobs(&files[i - 1], &files[i]) != 0;
        jobs[files[i].reader] = job;
    }
    free(files);
    return jobs;
}

struct ft_scan_block *ft_scan_order_blocks(const struct ft_trace_set *set, size_t *count)
{
    size_t file_count = ft_trace_set_reader_count(set), used = 0;
    uint32_t *jobs = number_jobs(set);
    int64_t *latest = ft_cli_alloc(file_count * sizeof(*latest)); /* of each job */
    ft_trace_set_blocks(set, count);
    struct ft_scan_block *ordered = ft_cli_alloc(*count * sizeof(*ordered));
    for (size_t job = 0; job < file_count; job++) {
        latest[job] = INT64_MIN;
    }
    for (uint32_t r = 0; r < file_count; r++) {
        size_t in_reader;
        const struct ft_trace_block *heads = ft_trace_reader_blocks(ft_trace_set_reader(set, r), &in_reader);
        uint32_t host = ft_trace_set_reader_host(set, r);
        for (uint32_t b = 0; b < in_reader && used < *count; b++) {
            int64_t end_ns = ft_trace_set_realtime_ns(set, r, heads[b].end_ns);
            int64_t *last = &latest[jobs[r]];
            *last = end_ns > *last ? end_ns : *last;
            ordered[used++] =
                (struct ft_scan_block){.reader = r, .block = b, .rows = heads[b].rows, .host = host, .end_ns = *last};
        }
    }
    *count = used;
    free(latest);
    free(jobs);
    if (used > 1) {
        qsort(ordered, used, sizeof(*ordered), compare);
    }
    put_watermarks(ordered, used, ft_trace_set_host_count(set));
    return ordered;
}

struct started {
    uint32_t host, process;
    int64_t start_ns;
};

static int compare_started(const void *a_untyped, const void *b_untyped)
{
    const struct started *a = a_untyped, *b = b_untyped;
    if (a->host != b->host) {
        return a->host < b->host ? -1 : 1;
    }
    return a->start_ns != b->start_ns ? (a->start_ns < b->start_ns ? 1 : -1) : 0;
}

void ft_scan_endings_init(struct ft_scan_endings *endings, const struct ft_trace_set *set)
{
    size_t count = ft_trace_set_process_count(set), hosts = ft_trace_set_host_count(set);
    struct started *all = ft_cli_alloc(count * sizeof(*all));
    *endings = (struct ft_scan_endings){.processes = ft_cli_alloc(count * sizeof(*endings->processes)),
                                        .starts_ns = ft_cli_alloc(count * sizeof(*endings->starts_ns)),
                                        .next = ft_cli_alloc(hosts * sizeof(*endings->next)),
                                        .end = ft_cli_alloc(hosts * sizeof(*endings->end))};
    for (uint32_t p = 0; p < count; p++) {
        const struct ft_trace_set_process *process = ft_trace_set_process(set, p);
        int64_t start_ns = process->record->start_ns;
        all[p] = (struct started){.host = process->host,
                                  .process = p,
                                  .start_ns = start_ns ? ft_trace_set_realtime_ns(set, process->reader, start_ns) -
                                                             START_MARGIN_NS
                                                       : INT64_MIN};
    }
    if (count > 1) {
        qsort(all, count, sizeof(*all), compare_started);
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t host = all[i].host;
        endings->processes[i] = all[i].process;
        endings->starts_ns[i] = all[i].start_ns;
        endings->next[host] = i == 0 || all[i - 1].host != host ? i : endings->next[host];
        endings->end[host] = i + 1;
    }
    free(all);
}

void ft_scan_endings_fini(struct ft_scan_endings *endings)
{
    free(endings->processes);
    free(endings->starts_ns);
    free(endings->next);
    free(endings->end);
}

uint32_t ft_scan_endings_next(struct ft_scan_endings *endings, uint32_t host, int64_t watermark_ns)
{
    size_t at = endings->next[host];
    if (at == endings->end[host] || (endings->starts_ns[at] <= watermark_ns && watermark_ns != INT64_MIN)) {
        return FT_TRACE_SET_NONE;
    }
    endings->next[host]++;
    return endings->processes[at];
}
