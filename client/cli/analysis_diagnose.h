// SPDX-License-Identifier: MIT
/*
 * What an expert would say of a trace: one table of checks, one of limits with a reason for each. A check looks at sums
 * per file and at the job's unions over time; what is found depends on counts and bytes, how severe it is on time.
 */
#ifndef FT_CLI_ANALYSIS_DIAGNOSE_H
#define FT_CLI_ANALYSIS_DIAGNOSE_H

#include <pthread.h>
#include <stddef.h>

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
    X(JUMP_BYTES, "jump_bytes", 131072, "read-ahead of the kernel has what lies nearer behind the read before")        \
    X(RANDOM_PERCENT, "random_percent", 50, "of the reads: below, what jumps are headers and indices")                 \
    X(RANDOM_BYTES, "random_bytes", 1048576, "a disk moves so much in the time in which it finds a place")             \
    X(PEERS_MIN, "peers_min", 4, "processes of one program: fewer have no middle that says something")                 \
    X(STRAGGLER_PERCENT, "straggler_percent", 200, "of the time of the one in the middle: twice is no chance")         \
    X(PEER_PERCENT, "peer_percent", 5, "of the slowest one's time: whose middle one has less does other work")         \
    X(READER_PERCENT, "reader_percent", 80, "of the bytes: others that read a fifth between them do not wait")         \
    X(READER_BYTES, "reader_bytes", 16777216, "less is a configuration that one reads for all")                        \
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
    uint64_t read_bytes, read_ns, written_bytes;
    uint64_t lookups, lookup_ns; /* opens, stats and the like */
    uint64_t syncs, sync_ns;
    uint64_t followed;                         /* reads of which it is known where the one before of the thread ended */
    uint64_t jumps, jump_bytes, jump_ns;       /* of these, that begin before it or far behind it; small ones alone */
    uint64_t stdio, stdio_bytes, stdio_ns;     /* writes to streams */
    uint64_t flushes, flush_ns, flushed_bytes; /* calls of fflush, and what these found in the buffer */
    uint64_t unbuffered;                       /* streams that were told to have no buffer */
    uint64_t lowest, highest;                  /* what placed reads span; lowest UINT64_MAX: nothing */
    uint64_t block_bytes;                      /* of a file, not of all; the last three are no sums */
};
enum { FT_DIAGNOSE_SUMS = offsetof(struct ft_diagnose_sum, lowest) / sizeof(uint64_t) };

/* What one process did to files, summed over its threads. */
struct ft_diagnose_process {
    uint64_t io_ns, read_ns, read_bytes;
};

struct ft_diagnose {
    const struct ft_trace_set *set;
    struct ft_entries entries;
    struct ft_diagnose_sum *files; /* by entry */
    struct ft_diagnose_sum total;
    struct ft_diagnose_process *processes; /* by process of the set */
    struct ft_interval *computing;         /* by process: from the first of its spans of category compute to the last */
    struct ft_timeline timeline;           /* of one bin: the unions, of I/O within `computing` */
    uint64_t lived_ns;                     /* of all processes together */
    uint64_t bad_blocks;
};

void ft_diagnose_read(struct ft_diagnose *diagnose, const struct ft_trace_set *set);
void ft_diagnose_fini(struct ft_diagnose *diagnose);

enum { FT_DIAGNOSE_LOCKS = 256 };

/* A thread's pass over the events: see analysis_pass.h. */
struct ft_diagnose_context {
    struct ft_diagnose *diagnose;
    uint8_t (*flags)[FT_TRACE_CALL_MAX];      /* of calls, by reader */
    pthread_mutex_t locks[FT_DIAGNOSE_LOCKS]; /* of a file's sums: that of its entry, modulo their number */
};
void ft_diagnose_rows_begin(struct ft_diagnose_context *context, const struct ft_trace_set *set);
void ft_diagnose_rows_end(struct ft_diagnose_context *context);
void *ft_diagnose_rows_open(struct ft_pass *pass);
void ft_diagnose_rows_close(void *state);
void ft_diagnose_rows_add(void *state, size_t reader, const struct ft_rows *rows);

/* How long a process lived, and since when (since the epoch). */
int64_t ft_diagnose_life(const struct ft_diagnose *diagnose, uint32_t process, int64_t *start_ns);

/* Bytes of a file that were surely read more than once: what was read beyond what the reads span. */
uint64_t ft_diagnose_reread(const struct ft_diagnose_sum *sum);
uint64_t ft_diagnose_block_bytes(const struct ft_entries *entries, uint32_t entry);

#endif
