// SPDX-License-Identifier: MIT
#include "client/cli/analysis_file_sums.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/analysis_large.h"
#include "client/cli/cli.h"

/* Two counts without this bit have a sum that fits. */
#define LARGE (UINT32_C(1) << 31)

enum { LINE_BYTES = 64 };

void ft_file_sums_init(struct ft_file_sums *sums, size_t count)
{
    size_t each = sizeof(*sums->lines) + sizeof(*sums->before_ns) + sizeof(*sums->processes);
    memset(sums, 0, sizeof(*sums));
    /* Pages of files that no event is of stay untouched. */
    sums->memory = ft_cli_alloc((count + 1) * each + LINE_BYTES);
    uintptr_t begin = ((uintptr_t)sums->memory + LINE_BYTES - 1) & ~(uintptr_t)(LINE_BYTES - 1);
    sums->lines = (struct ft_file_line *)begin;
    sums->before_ns = (uint64_t *)(sums->lines + count);
    sums->processes = (uint32_t *)(sums->before_ns + count);
    ft_map_init(&sums->carried_of);
}

void ft_file_sums_expect_all(struct ft_file_sums *sums, size_t count)
{
    ft_large_advise(sums->lines, count * sizeof(*sums->lines));
}

void ft_file_sums_fini(struct ft_file_sums *sums)
{
    free(sums->memory);
    free(sums->carried);
    ft_map_fini(&sums->carried_of);
    memset(sums, 0, sizeof(*sums));
}

static struct ft_file_sum *carried(struct ft_file_sums *sums, uint32_t file)
{
    bool is_new;
    uint32_t at = ft_map_intern(&sums->carried_of, &file, sizeof(file), (uint32_t)sums->carried_of.count, &is_new);
    if (at >= sums->carried_space) {
        sums->carried_space = sums->carried_space ? sums->carried_space * 2 : 16;
        sums->carried = ft_cli_realloc(sums->carried, sums->carried_space, sizeof(*sums->carried));
    }
    if (is_new) {
        sums->carried[at] = (struct ft_file_sum){.first_ns = INT64_MAX};
    }
    return &sums->carried[at];
}

static const struct ft_file_sum *find_carried(const struct ft_file_sums *sums, uint32_t file)
{
    static const struct ft_file_sum none = {.first_ns = INT64_MAX};
    uint32_t at;
    if (sums->carried_of.count == 0 || !ft_map_find(&sums->carried_of, &file, sizeof(file), &at)) {
        return &none;
    }
    return &sums->carried[at];
}

static __attribute__((noinline)) void carry(struct ft_file_sums *sums, uint32_t file)
{
    struct ft_file_sum *to = carried(sums, file);
    struct ft_file_line *line = &sums->lines[file];
    to->events += line->counts[FT_SCAN_EVENTS];
    to->errors += line->counts[FT_SCAN_ERRORS];
    to->opens += line->counts[FT_SCAN_OPENS];
    to->metadata += line->counts[FT_SCAN_METADATA];
    to->reads += line->moved[FT_SIDE_READ];
    to->writes += line->moved[FT_SIDE_WRITE];
    memset(line->counts, 0, sizeof(line->counts));
    memset(line->moved, 0, sizeof(line->moved));
}

static inline bool are_large(ft_scan_counts counts)
{
    return (counts[0] | counts[1] | counts[2] | counts[3]) >= LARGE;
}

void ft_file_sums_add(struct ft_file_sums *sums, uint32_t file, ft_scan_counts counts, uint64_t metadata_time_ns,
                      int64_t first_ns)
{
    struct ft_file_line *to = &sums->lines[file];
    uint64_t before_ns = (uint64_t)INT64_MAX - (uint64_t)first_ns;
    ft_scan_counts sum;
    memcpy(&sum, to->counts, sizeof(sum));
    if (__builtin_expect(are_large(sum | counts), false)) {
        carry(sums, file);
        sum = (ft_scan_counts){0};
    }
    sum += counts;
    memcpy(to->counts, &sum, sizeof(sum));
    to->metadata_time_ns += metadata_time_ns;
    if (before_ns > 0 && before_ns > sums->before_ns[file]) {
        sums->before_ns[file] = before_ns;
    }
}

static void add_count(struct ft_file_sums *sums, uint32_t file, int side, uint32_t count)
{
    if (__builtin_expect((sums->lines[file].moved[side] | count) >= LARGE, false)) {
        carry(sums, file);
    }
    sums->lines[file].moved[side] += count;
}

void ft_file_sums_add_moved(struct ft_file_sums *sums, uint32_t file, const struct ft_scan_moved *moved)
{
    struct ft_file_line *to = &sums->lines[file];
    for (int side = FT_SIDE_READ; side <= FT_SIDE_WRITE; side++) {
        add_count(sums, file, side, moved->count[side]);
        to->bytes[side] += moved->bytes[side];
        to->time_ns[side] += moved->time_ns[side];
    }
}

void ft_file_sums_add_counts(struct ft_file_sums *sums, uint32_t file, const struct ft_file_sum *counts)
{
    ft_file_sum_add(carried(sums, file), counts);
}

static int64_t first_ns(const struct ft_file_sums *sums, uint32_t file)
{
    return (int64_t)((uint64_t)INT64_MAX - sums->before_ns[file]);
}

void ft_file_sums_join(struct ft_file_sums *sums, uint32_t to, uint32_t from)
{
    const struct ft_file_line *line = &sums->lines[from];
    struct ft_file_sum more = *find_carried(sums, from);
    if (more.events | more.errors | more.opens | more.metadata | more.reads | more.writes) {
        ft_file_sum_add(carried(sums, to), &more);
        *carried(sums, from) = (struct ft_file_sum){.first_ns = INT64_MAX};
    }
    ft_scan_counts counts;
    memcpy(&counts, line->counts, sizeof(counts));
    ft_file_sums_add(sums, to, counts, line->metadata_time_ns, first_ns(sums, from));
    for (int side = FT_SIDE_READ; side <= FT_SIDE_WRITE; side++) {
        add_count(sums, to, side, line->moved[side]);
        sums->lines[to].bytes[side] += line->bytes[side];
        sums->lines[to].time_ns[side] += line->time_ns[side];
    }
    sums->lines[from] = (struct ft_file_line){0};
    sums->before_ns[from] = 0;
    sums->processes[from] = 0;
}

struct ft_file_sum ft_file_sums_get(const struct ft_file_sums *sums, uint32_t file)
{
    const struct ft_file_line *line = &sums->lines[file];
    struct ft_file_sum sum = *find_carried(sums, file);
    ft_file_sum_add(&sum, &(struct ft_file_sum){.first_ns = first_ns(sums, file),
                                                .events = line->counts[FT_SCAN_EVENTS],
                                                .errors = line->counts[FT_SCAN_ERRORS],
                                                .opens = line->counts[FT_SCAN_OPENS],
                                                .metadata = line->counts[FT_SCAN_METADATA],
                                                .metadata_time_ns = line->metadata_time_ns,
                                                .reads = line->moved[FT_SIDE_READ],
                                                .read_bytes = line->bytes[FT_SIDE_READ],
                                                .read_time_ns = line->time_ns[FT_SIDE_READ],
                                                .writes = line->moved[FT_SIDE_WRITE],
                                                .written_bytes = line->bytes[FT_SIDE_WRITE],
                                                .write_time_ns = line->time_ns[FT_SIDE_WRITE]});
    sum.processes = sums->processes[file];
    return sum;
}

bool ft_file_sums_has_events(const struct ft_file_sums *sums, uint32_t file)
{
    return sums->lines[file].counts[FT_SCAN_EVENTS] > 0 || find_carried(sums, file)->events > 0;
}

uint64_t ft_file_sums_time(const struct ft_file_sums *sums, uint32_t file)
{
    const struct ft_file_line *line = &sums->lines[file];
    return sums->lines[file].metadata_time_ns + line->time_ns[FT_SIDE_READ] + line->time_ns[FT_SIDE_WRITE];
}

void ft_file_sum_add(struct ft_file_sum *to, const struct ft_file_sum *from)
{
    to->first_ns = from->first_ns < to->first_ns ? from->first_ns : to->first_ns;
    to->events += from->events;
    to->reads += from->reads;
    to->writes += from->writes;
    to->metadata += from->metadata;
    to->opens += from->opens;
    to->errors += from->errors;
    to->read_bytes += from->read_bytes;
    to->written_bytes += from->written_bytes;
    to->read_time_ns += from->read_time_ns;
    to->write_time_ns += from->write_time_ns;
    to->metadata_time_ns += from->metadata_time_ns;
}
