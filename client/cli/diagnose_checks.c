// SPDX-License-Identifier: MIT
/* The table of checks. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"
#include "client/cli/diagnose.h"
#include "client/cli/units.h"

static bool is_share(uint64_t part, uint64_t whole, enum ft_diagnose_limit percent)
{
    return whole > 0 && (double)part * 100 >= (double)whole * (double)ft_diagnose_limit(percent);
}

/* What of the time is saved where `needed` of `done` calls would do. */
static uint64_t spared(uint64_t time_ns, uint64_t needed, uint64_t done)
{
    return needed < done ? (uint64_t)((double)time_ns * (double)(done - needed) / (double)done) : 0;
}

static uint64_t weight(const struct ft_diagnose_file *file)
{
    return file->time_ns;
}

/* Keeps the files that matter most, in order. */
static void add_file(struct ft_diagnose_finding *finding, struct ft_diagnose_file file)
{
    size_t at = finding->file_count;
    if (at == FT_DIAGNOSE_FILES_MAX && weight(&file) <= weight(&finding->files[at - 1])) {
        return;
    }
    at -= at == FT_DIAGNOSE_FILES_MAX;
    for (; at > 0 && weight(&finding->files[at - 1]) < weight(&file); at--) {
        finding->files[at] = finding->files[at - 1];
    }
    finding->files[at] = file;
    finding->file_count += finding->file_count < FT_DIAGNOSE_FILES_MAX;
}

static uint64_t blocks_needed(const struct ft_diagnose *diagnose, uint32_t entry)
{
    uint64_t block_bytes = ft_diagnose_block_bytes(&diagnose->entries, entry);
    return diagnose->files[entry].small_bytes / block_bytes + 1;
}

static bool find_small(const struct ft_diagnose *diagnose, struct ft_diagnose_finding *finding)
{
    const struct ft_diagnose_sum *total = &diagnose->total;
    struct ft_unit_text share, count, size;
    if (total->small < ft_diagnose_limit(FT_LIMIT_CALLS_MIN) ||
        !is_share(total->small, total->requests, FT_LIMIT_SMALL_PERCENT)) {
        return false;
    }
    for (uint32_t f = 0; f < diagnose->entries.count; f++) {
        const struct ft_diagnose_sum *sum = &diagnose->files[f];
        if (sum->small > 0) {
            finding->saving_ns += spared(sum->small_ns, blocks_needed(diagnose, f), sum->small);
            add_file(finding, (struct ft_diagnose_file){f, sum->small, sum->small_bytes, sum->small_ns});
        }
    }
    finding->figure = ft_cli_format(
        "%s of %s reads and writes moved less than a block of the file system, %s on average",
        ft_units_share(&share, (double)total->small, (double)total->requests), ft_units_count(&count, total->requests),
        ft_units_bytes(&size, total->small_bytes / total->small));
    return true;
}

static char *look_small(const struct ft_diagnose *diagnose, const struct ft_diagnose_finding *finding)
{
    uint64_t bytes = finding->file_count ? ft_diagnose_block_bytes(&diagnose->entries, finding->files[0].entry)
                                         : ft_diagnose_limit(FT_LIMIT_BLOCK_BYTES);
    return ft_cli_format("files --sort calls --where 'cat=POSIX && bytes>0 && bytes<%" PRIu64 "'", bytes);
}

static bool find_rereads(const struct ft_diagnose *diagnose, struct ft_diagnose_finding *finding)
{
    struct ft_unit_text again, all;
    uint64_t reread = 0, read = 0;
    for (uint32_t f = 0; f < diagnose->entries.count; f++) {
        const struct ft_diagnose_sum *sum = &diagnose->files[f];
        uint64_t here = sum->written_bytes == 0 ? ft_diagnose_reread(sum) : 0; /* what was written may have changed */
        read += sum->placed_bytes;
        if (here > 0) {
            uint64_t time_ns = (uint64_t)((double)sum->placed_ns * (double)here / (double)sum->placed_bytes);
            reread += here;
            finding->saving_ns += time_ns;
            add_file(finding, (struct ft_diagnose_file){f, 0, here, time_ns});
        }
    }
    if (reread < ft_diagnose_limit(FT_LIMIT_REREAD_BYTES) || !is_share(reread, read, FT_LIMIT_REREAD_PERCENT)) {
        return false;
    }
    finding->figure = ft_cli_format("at least %s of %s that were read had been read before",
                                    ft_units_bytes(&again, reread), ft_units_bytes(&all, read));
    return true;
}

/* A word of a shell's command line. */
static char *shell_word(const char *text)
{
    char *word = ft_cli_alloc(4 * strlen(text) + 3), *at = word;
    *at++ = '\'';
    for (; *text; text++) {
        if (*text == '\'') {
            memcpy(at, "'\\''", 4);
            at += 4;
        } else {
            *at++ = *text;
        }
    }
    *at = '\'';
    return word;
}

/* Events of the finding's first file, with a condition more. */
static char *look_at_file(const struct ft_diagnose *diagnose, const struct ft_diagnose_finding *finding,
                          const char *condition)
{
    const struct ft_entries *entries = &diagnose->entries;
    struct ft_bytes path =
        finding->file_count ? ft_entry_path(entries, &entries->items[finding->files[0].entry]) : FT_BYTES("");
    char *quoted = ft_cli_memory(ft_filter_quote(path.len ? path.data : "", path.len));
    char *where = ft_cli_format("path=%s && %s", quoted, condition), *word = shell_word(where);
    char *options = ft_cli_format("events --where %s", word);
    free(quoted);
    free(where);
    free(word);
    return options;
}

static char *look_rereads(const struct ft_diagnose *diagnose, const struct ft_diagnose_finding *finding)
{
    return look_at_file(diagnose, finding, "bytes>0");
}

static bool find_lookups(const struct ft_diagnose *diagnose, struct ft_diagnose_finding *finding)
{
    const struct ft_diagnose_sum *total = &diagnose->total;
    struct ft_unit_text count, size;
    uint64_t moved = total->read_bytes + total->written_bytes;
    if (total->lookups < ft_diagnose_limit(FT_LIMIT_CALLS_MIN) ||
        moved / total->lookups >= ft_diagnose_limit(FT_LIMIT_BYTES_PER_LOOKUP)) {
        return false;
    }
    for (uint32_t f = 0; f < diagnose->entries.count; f++) {
        const struct ft_diagnose_sum *sum = &diagnose->files[f];
        if (sum->lookups > 0) {
            add_file(finding,
                     (struct ft_diagnose_file){f, sum->lookups, sum->read_bytes + sum->written_bytes, sum->lookup_ns});
        }
    }
    finding->saving_ns = spared(total->lookup_ns, moved / ft_diagnose_limit(FT_LIMIT_BYTES_PER_LOOKUP), total->lookups);
    finding->figure =
        ft_cli_format("%s opens, stats and the like, one for each %s that were moved",
                      ft_units_count(&count, total->lookups), ft_units_bytes(&size, moved / total->lookups));
    return true;
}

static char *look_lookups(const struct ft_diagnose *diagnose, const struct ft_diagnose_finding *finding)
{
    (void)diagnose;
    (void)finding;
    return ft_cli_strdup(
        "files --by folder --sort calls --where 'call~\"*open*\" || call~\"*stat*\" || call~\"*access*\"'");
}

static bool find_syncs(const struct ft_diagnose *diagnose, struct ft_diagnose_finding *finding)
{
    const struct ft_diagnose_sum *total = &diagnose->total;
    struct ft_unit_text count, size, time;
    if (total->syncs < ft_diagnose_limit(FT_LIMIT_SYNCS_MIN) ||
        total->written_bytes / total->syncs >= ft_diagnose_limit(FT_LIMIT_BYTES_PER_SYNC)) {
        return false;
    }
    for (uint32_t f = 0; f < diagnose->entries.count; f++) {
        const struct ft_diagnose_sum *sum = &diagnose->files[f];
        if (sum->syncs > 0) {
            add_file(finding, (struct ft_diagnose_file){f, sum->syncs, sum->written_bytes, sum->sync_ns});
        }
    }
    finding->saving_ns =
        spared(total->sync_ns, total->written_bytes / ft_diagnose_limit(FT_LIMIT_BYTES_PER_SYNC) + 1, total->syncs);
    finding->figure =
        ft_cli_format("%s calls wait for the disk, one for each %s written, %s in all",
                      ft_units_count(&count, total->syncs), ft_units_bytes(&size, total->written_bytes / total->syncs),
                      ft_units_time(&time, total->sync_ns > INT64_MAX ? INT64_MAX : (int64_t)total->sync_ns));
    return true;
}

static char *look_syncs(const struct ft_diagnose *diagnose, const struct ft_diagnose_finding *finding)
{
    (void)diagnose;
    (void)finding;
    return ft_cli_strdup("files --sort calls --where 'call~\"*sync*\"'");
}

static bool find_serial(const struct ft_diagnose *diagnose, struct ft_diagnose_finding *finding)
{
    const struct ft_timeline *timeline = &diagnose->timeline;
    int64_t wall_ns = timeline->end_ns - timeline->start_ns, io_ns = timeline->total.io_ns;
    int64_t compute_ns = timeline->total.compute_ns, both_ns = timeline->total.overlap_ns;
    int64_t most_ns = io_ns < compute_ns ? io_ns : compute_ns;
    struct ft_unit_text io, compute, both;
    if (compute_ns <= 0 || !is_share((uint64_t)io_ns, (uint64_t)wall_ns, FT_LIMIT_IO_PERCENT) ||
        is_share((uint64_t)both_ns, (uint64_t)most_ns, FT_LIMIT_OVERLAP_PERCENT)) {
        return false;
    }
    finding->saving_ns = (uint64_t)(most_ns - both_ns);
    finding->figure =
        ft_cli_format("%s of I/O and %s of computing, of which only %s at the same time", ft_units_time(&io, io_ns),
                      ft_units_time(&compute, compute_ns), ft_units_time(&both, both_ns));
    return true;
}

static char *look_serial(const struct ft_diagnose *diagnose, const struct ft_diagnose_finding *finding)
{
    (void)diagnose;
    (void)finding;
    return ft_cli_strdup("timeline");
}

static bool find_odd(const struct ft_diagnose *diagnose, struct ft_diagnose_finding *finding)
{
    const struct ft_diagnose_sum *total = &diagnose->total;
    struct ft_unit_text share, count;
    if (total->odd < ft_diagnose_limit(FT_LIMIT_CALLS_MIN) ||
        !is_share(total->odd, total->requests, FT_LIMIT_MISALIGNED_PERCENT)) {
        return false;
    }
    for (uint32_t f = 0; f < diagnose->entries.count; f++) {
        const struct ft_diagnose_sum *sum = &diagnose->files[f];
        if (sum->odd > 0) {
            /* One block too many of those that the request touches. */
            uint64_t blocks = sum->request_bytes / sum->requests / ft_diagnose_block_bytes(&diagnose->entries, f);
            finding->saving_ns += sum->odd_ns / (blocks + 2);
            add_file(finding, (struct ft_diagnose_file){f, sum->odd, sum->request_bytes, sum->odd_ns});
        }
    }
    finding->figure = ft_cli_format("%s of %s reads and writes begin inside a block of the file system",
                                    ft_units_share(&share, (double)total->odd, (double)total->requests),
                                    ft_units_count(&count, total->requests));
    return true;
}

static char *look_odd(const struct ft_diagnose *diagnose, const struct ft_diagnose_finding *finding)
{
    return look_at_file(diagnose, finding, "bytes>0 && offset>0");
}

static bool find_read_back(const struct ft_diagnose *diagnose, struct ft_diagnose_finding *finding)
{
    struct ft_unit_text size;
    uint64_t back = 0;
    for (uint32_t f = 0; f < diagnose->entries.count; f++) {
        const struct ft_diagnose_sum *sum = &diagnose->files[f];
        uint64_t here = sum->read_bytes < sum->written_bytes ? sum->read_bytes : sum->written_bytes;
        if (here > 0) {
            uint64_t time_ns = (uint64_t)((double)sum->read_ns * (double)here / (double)sum->read_bytes);
            back += here;
            finding->saving_ns += time_ns;
            add_file(finding, (struct ft_diagnose_file){f, 0, here, time_ns});
        }
    }
    if (back < ft_diagnose_limit(FT_LIMIT_READ_BACK_BYTES)) {
        return false;
    }
    finding->figure =
        ft_cli_format("up to %s were read from files that the job wrote itself", ft_units_bytes(&size, back));
    return true;
}

const struct ft_diagnose_check ft_diagnose_checks[] = {
    {"small_requests", "Small requests",
     "read or write larger pieces: a buffer of some blocks, one request for neighbouring pieces, a format that packs them",
     "summed over all threads", find_small, look_small},
    {"rereads", "The same bytes read again",
     "keep them in memory, or copy the files to local storage first; where each epoch reads all, a cache pays from the second on",
     "summed over all threads", find_rereads, look_rereads},
    {"lookups", "Many opens and stats for few bytes",
     "pack small files into few large ones, keep files open, list a folder once instead of asking for each name",
     "summed over all threads", find_lookups, look_lookups},
    {"syncs", "Many waits for the disk",
     "make data durable once at the end of a unit of work, not after each record; group several records",
     "summed over all threads", find_syncs, look_syncs},
    {"serial", "I/O and computing take turns",
     "fetch the next batch while this one is computed: more loader workers, prefetching, checkpoints in the background",
     "of the wall time", find_serial, look_serial},
    {"misaligned", "Requests that begin inside a block",
     "begin at multiples of the block size: pad records or headers, choose chunk sizes that are multiples of it",
     "summed over all threads", find_odd, look_odd},
    {"read_back", "Files that are written and read back",
     "hand the data on in memory or by a local disk, where whoever reads them runs on the same node",
     "summed over all threads", find_read_back, look_rereads},
};
const size_t ft_diagnose_check_count = sizeof(ft_diagnose_checks) / sizeof(ft_diagnose_checks[0]);

static enum ft_diagnose_severity severity_of(const struct ft_diagnose *diagnose, uint64_t saving_ns)
{
    return is_share(saving_ns, diagnose->lived_ns, FT_LIMIT_HIGH_PERCENT)     ? FT_DIAGNOSE_HIGH
           : is_share(saving_ns, diagnose->lived_ns, FT_LIMIT_MEDIUM_PERCENT) ? FT_DIAGNOSE_MEDIUM
                                                                              : FT_DIAGNOSE_LOW;
}

static char *command_of(char *options, const struct ft_strings *paths)
{
    char *command = ft_cli_format("flowtap %s", options);
    free(options);
    for (size_t i = 0; i < paths->count; i++) {
        char *word = shell_word(paths->items[i]), *longer = ft_cli_format("%s %s", command, word);
        free(word);
        free(command);
        command = longer;
    }
    return command;
}

static int compare(const void *a_untyped, const void *b_untyped)
{
    const struct ft_diagnose_finding *a = a_untyped, *b = b_untyped;
    if (a->severity != b->severity) {
        return a->severity < b->severity ? 1 : -1;
    }
    return a->saving_ns != b->saving_ns ? (a->saving_ns < b->saving_ns ? 1 : -1)
                                        : strcmp(a->check->name, b->check->name);
}

struct ft_diagnose_finding *ft_diagnose_find(const struct ft_diagnose *diagnose, const struct ft_strings *paths,
                                             size_t *count)
{
    struct ft_diagnose_finding *findings = ft_cli_alloc(ft_diagnose_check_count * sizeof(*findings));
    *count = 0;
    for (size_t i = 0; i < ft_diagnose_check_count; i++) {
        struct ft_diagnose_finding *finding = &findings[*count];
        *finding = (struct ft_diagnose_finding){.check = &ft_diagnose_checks[i]};
        if (ft_diagnose_checks[i].find(diagnose, finding)) {
            finding->severity = severity_of(diagnose, finding->saving_ns);
            finding->command = command_of(ft_diagnose_checks[i].look(diagnose, finding), paths);
            ++*count;
        }
    }
    if (*count > 1) {
        qsort(findings, *count, sizeof(*findings), compare);
    }
    return findings;
}

void ft_diagnose_free(struct ft_diagnose_finding *findings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(findings[i].figure);
        free(findings[i].command);
    }
    free(findings);
}
