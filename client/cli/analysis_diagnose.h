// SPDX-License-Identifier: MIT
/*
 * What an expert would say of a trace: one table of checks, one of limits with a reason for each. A check looks at sums
 * per file and at the job's unions over time; what is found depends on counts and bytes, how severe it is on time.
 */
#ifndef FT_CLI_ANALYSIS_DIAGNOSE_H
#define FT_CLI_ANALYSIS_DIAGNOSE_H

#include "client/cli/analysis_entries.h"
#include "client/cli/analysis_timeline.h"

/* name, value, reason */
#define FT_DIAGNOSE_LIMITS(X)                                                                                          \
    X(CALLS_MIN, "calls_min", 1000, "fewer calls cost a millisecond or so, whatever they are")                         \
    X(BLOCK_BYTES, "block_bytes", 4096, "the page size; taken where a file system's block size is not known")          \
    X(SMALL_PERCENT, "small_percent", 50, "below, most requests are well sized, and the small ones are headers")       \
    X(REREAD_BYTES, "reread_bytes", 1048576, "less fits into any cache and costs nothing to speak of")                 \
    X(REREAD_PERCENT, "reread_percent", 20, "a few percent come from headers and indices that are read anew")          \
    X(BYTES_PER_LOOKUP, "bytes_per_lookup", 65536, "a network file system moves so much in the time of one look-up")   \
    X(SYNCS_MIN, "syncs_min", 50, "a job that makes its results durable now and then does so less often")              \
    X(BYTES_PER_SYNC, "bytes_per_sync", 4194304, "a disk writes so much in the time that it takes to flush its cache") \
    X(IO_PERCENT, "io_percent", 5, "of the wall time: less is not worth a change of the program")                      \
    X(OVERLAP_PERCENT, "overlap_percent", 50,                                                                          \
      "of what could overlap: readers ahead of the computing reach 80 and more")                                       \
    X(MISALIGNED_PERCENT, "misaligned_percent", 50, "below, the odd ones are the ends of files")                       \
    X(READ_BACK_BYTES, "read_back_bytes", 16777216, "less is a program that looks at its own small files")             \
    X(HIGH_PERCENT, "high_percent", 10,                                                                                \
      "of the time that processes lived: more than noise between runs, a gain to feel")                                \
    X(MEDIUM_PERCENT, "medium_percent", 2, "of the time that processes lived: can be measured")

#define FT_DIAGNOSE_ENUM(id, name, value, reason) FT_LIMIT_##id,
enum ft_diagnose_limit { FT_DIAGNOSE_LIMITS(FT_DIAGNOSE_ENUM) FT_LIMIT_COUNT };
#undef FT_DIAGNOSE_ENUM
struct ft_diagnose_limit_row {
    const char *name;
    uint64_t value;
    const char *reason;
};
extern const struct ft_diagnose_limit_row ft_diagnose_limits[FT_LIMIT_COUNT];
static inline uint64_t ft_diagnose_limit(enum ft_diagnose_limit limit)
{
    return ft_diagnose_limits[limit].value;
}

/* What was done to one file, or to all. Only calls that count as I/O on files. */
struct ft_diagnose_sum {
    uint64_t requests, request_bytes, request_ns; /* POSIX reads and writes that moved something */
    uint64_t small, small_bytes, small_ns;        /* of these, smaller than a block */
    uint64_t odd, odd_ns;                         /* of these, at least a block long and not at a multiple of one */
    uint64_t placed_bytes, placed_ns;             /* reads whose offset is known */
    uint64_t lowest, highest;                     /* what they span; lowest UINT64_MAX: nothing */
    uint64_t read_bytes, read_ns, written_bytes;
    uint64_t lookups, lookup_ns; /* opens, stats and the like */
    uint64_t syncs, sync_ns;
};

struct ft_diagnose {
    const struct ft_trace_set *set;
    struct ft_entries entries;
    struct ft_diagnose_sum *files; /* by entry */
    struct ft_diagnose_sum total;
    struct ft_timeline timeline; /* of one bin: the unions */
    uint64_t lived_ns;           /* of all processes together */
    uint64_t bad_blocks;
};

void ft_diagnose_read(struct ft_diagnose *diagnose, const struct ft_trace_set *set);
void ft_diagnose_fini(struct ft_diagnose *diagnose);

/* Bytes of a file that were surely read more than once: what was read beyond what the reads span. */
uint64_t ft_diagnose_reread(const struct ft_diagnose_sum *sum);
uint64_t ft_diagnose_block_bytes(const struct ft_entries *entries, uint32_t entry);

#endif
