// SPDX-License-Identifier: MIT
/* The table of checks. */
#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"
#include "client/cli/diagnose.h"

const struct ft_diagnose_check ft_diagnose_checks[] = {
    {"small_requests", "Small requests",
     "read or write larger pieces: a buffer of some blocks, one request for neighbouring pieces, a format that packs them",
     false, ft_diagnose_find_small, ft_diagnose_look_small},
    {"rereads", "The same bytes read again",
     "keep them in memory, or copy the files to local storage first; where each epoch reads all, a cache pays from the second on",
     false, ft_diagnose_find_rereads, ft_diagnose_look_rereads},
    {"lookups", "Many opens and stats for few bytes",
     "pack small files into few large ones, keep files open, list a folder once instead of asking for each name", false,
     ft_diagnose_find_lookups, ft_diagnose_look_lookups},
    {"syncs", "Many waits for the disk",
     "make data durable once at the end of a unit of work, not after each record; group several records", false,
     ft_diagnose_find_syncs, ft_diagnose_look_syncs},
    {"serial", "I/O and computing take turns",
     "fetch the next batch while this one is computed: more loader workers, prefetching, checkpoints in the background",
     true, ft_diagnose_find_serial, ft_diagnose_look_serial},
    {"misaligned", "Requests that begin inside a block",
     "begin at multiples of the block size: pad records or headers, choose chunk sizes that are multiples of it", false,
     ft_diagnose_find_odd, ft_diagnose_look_odd},
    {"read_back", "Files that are written and read back",
     "hand the data on in memory or by a local disk, where whoever reads them runs on the same node", false,
     ft_diagnose_find_read_back, ft_diagnose_look_read_back},
    {"random_reads", "Reads that jump about in their files",
     "read in the order in which the data lie: sort requests by offset, shuffle in memory what was read in large pieces, or tell "
     "the kernel what comes (posix_fadvise)",
     false, ft_diagnose_find_random, ft_diagnose_look_random},
    {"unbuffered", "Streams without a buffer to speak of",
     "flush where a unit of work ends, not after each line, and leave streams their buffer (no setvbuf with _IONBF)",
     false, ft_diagnose_find_unbuffered, ft_diagnose_look_unbuffered},
    {"stragglers", "One process takes longer than others of its kind",
     "share out bytes and files, not numbers of tasks; see whether its files lie elsewhere or its node is slower", true,
     ft_diagnose_find_stragglers, ft_diagnose_look_stragglers},
    {"lone_reader", "One process reads for all",
     "let each process read its part, by collective calls (MPI-IO, HDF5) or from files of its own, or read ahead while others compute",
     true, ft_diagnose_find_reader, ft_diagnose_look_reader},
};
const size_t ft_diagnose_check_count = sizeof(ft_diagnose_checks) / sizeof(ft_diagnose_checks[0]);

/* Of the time that processes lived, or of that which the job took. */
static enum ft_diagnose_severity severity_of(const struct ft_diagnose *diagnose, bool saves_wall, uint64_t saving_ns)
{
    uint64_t wall_ns = (uint64_t)(diagnose->timeline.end_ns - diagnose->timeline.start_ns);
    uint64_t whole_ns = saves_wall ? wall_ns : diagnose->lived_ns;
    return ft_diagnose_is_share(saving_ns, whole_ns, FT_LIMIT_HIGH_PERCENT)     ? FT_DIAGNOSE_HIGH
           : ft_diagnose_is_share(saving_ns, whole_ns, FT_LIMIT_MEDIUM_PERCENT) ? FT_DIAGNOSE_MEDIUM
                                                                                : FT_DIAGNOSE_LOW;
}

static char *command_of(char *options, const struct ft_strings *paths)
{
    char *command = ft_cli_format("flowtap %s", options);
    free(options);
    for (size_t i = 0; i < paths->count; i++) {
        char *path = ft_cli_format("%s%s", paths->items[i][0] == '-' ? "./" : "", paths->items[i]); /* no option */
        char *word = ft_diagnose_shell_word(path), *longer = ft_cli_format("%s %s", command, word);
        free(path);
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
            finding->severity = severity_of(diagnose, finding->check->saves_wall, finding->saving_ns);
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
