// SPDX-License-Identifier: MIT
/*
 * flowtap-trace.h: reads the traces that Flowtap writes. Link with -lflowtap-trace (pkg-config: flowtap-trace).
 *
 *   flowtap_trace_open()                  files, and folders of many nodes' files, as one job
 *   flowtap_trace_select_create()         which events: by time, process, file, call, category, tag, or `--where`
 *   flowtap_trace_cursor_open(), _next()  their columns, a batch of up to 65,536 events at a time
 *   flowtap_trace_totals_read()           totals per call, from the heads of the blocks where these tell them
 *   everything else                       who and what the indices in the columns stand for
 *
 * Nothing here prints, ends the process, starts a thread or keeps state outside of its handles.
 *
 * Errors. A function that can fail returns 0 (or what it says) or -errno, and then fills `error`, which may be NULL: -ENODATA (no
 * trace in a folder, an empty file), -EBADMSG (no trace), -EPROTONOSUPPORT (of another major version), -EINVAL (an argument that
 * cannot be, a `where` that cannot be understood), -E2BIG (a selection with too many parts), -ENOMEM, others of the file system.
 * Out-parameters are written on success only. A trace that is damaged, cut off or hostile is no error: what can be read of
 * it is read, facts.is_partial is 1, and flowtap_trace_problem_get() lists the reasons.
 *
 * Units. Times are nanoseconds since the epoch, by the clock of the host that they were taken on (the order within a
 * thread is exact; parts state a bound of their clock's error). Durations are nanoseconds, sizes and offsets bytes.
 *
 * Indices. Hosts, processes, threads and files are numbered from 0 without holes, in the whole trace. Names, paths and sets
 * of tags have indices that only columns give; two of them may mean the same text. FLOWTAP_TRACE_NONE: none, or unknown.
 * They hold as long as the trace is open. One that is out of range gives an empty text, or -EINVAL.
 *
 * Texts are bytes: a file's name holds any byte but NUL. A NUL follows them, which they do not count.
 *
 * Ownership. What is created, opened or read here is given back by the function that is named with it, cursors and
 * selections before their trace. Texts and records belong to the trace, batches to their cursor.
 *
 * Memory. A trace keeps all that is not events: options.memory_max bounds what it reads of that, whatever the files say. A
 * cursor, and the reading of totals, takes room for the largest block, and touches what its blocks need.
 *
 * Threads. An open trace does not change: any number of threads may use it, and a selection, at once. A cursor and
 * totals belong to one thread at a time. So a program reads in parallel with a cursor for each thread, each with a share.
 *
 * Versions. Structs that a caller gives come with their size, and all of them may grow at their end: 0 is as before.
 */
#ifndef FLOWTAP_TRACE_H
#define FLOWTAP_TRACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
struct flowtap_trace;
struct flowtap_trace_select;
struct flowtap_trace_cursor;
struct flowtap_trace_totals;

#define FLOWTAP_TRACE_NONE UINT32_MAX

struct flowtap_trace_text {
    const char *bytes; /* never NULL */
    size_t count;
};

struct flowtap_trace_error {
    int code;       /* as returned */
    size_t at;      /* byte of `where` at which it was found */
    char text[480]; /* for a person: what, which file, why; ends with a NUL */
};

/* Version of this library, "MAJOR.MINOR.PATCH"; static storage. */
const char *flowtap_trace_version(void);

/* ---- opening ---- */

struct flowtap_trace_options {
    size_t memory_max; /* bytes for all that is not events; 0: 1 GiB */
    /* Called now and then while _open reads, by its thread; may be NULL. */
    void (*progress)(void *context, uint64_t done_bytes, uint64_t total_bytes);
    void *progress_context;
};

/*
 * Opens files and, in folders of any depth, every *.flow in them, as one job. A file that is named twice is read once, and of copies one. A path that
 * is named and cannot be read is an error; a file of a folder that is no trace is a problem. `options` may be NULL.
 */
int flowtap_trace_open(const char *const *paths, size_t path_count, const struct flowtap_trace_options *options,
                       size_t options_bytes, struct flowtap_trace **out, struct flowtap_trace_error *error);
void flowtap_trace_close(struct flowtap_trace *trace); /* NULL is fine */

struct flowtap_trace_facts {
    uint64_t events;          /* that cursors give without a selection */
    uint64_t profiled_events; /* recorded in profile mode, as sums: only totals have them */
    uint64_t bytes;           /* of all files */
    int64_t start_ns, end_ns; /* first start, last end of events and processes; both 0 where there are none */
    uint64_t part_count, gap_count, problem_count; /* files; what could not be seen; what is wrong with the files */
    uint32_t host_count, process_count, thread_count, file_count;
    uint32_t is_partial; /* events or records are missing or damaged: problems say which */
};

/* `out_bytes` is sizeof(*out), here and below. */
int flowtap_trace_facts_get(const struct flowtap_trace *trace, struct flowtap_trace_facts *out, size_t out_bytes);

/* ---- texts ---- */

struct flowtap_trace_text flowtap_trace_host_name(const struct flowtap_trace *trace, uint32_t host);
/* Of a name or category in a batch or in totals. */
struct flowtap_trace_text flowtap_trace_name_text(const struct flowtap_trace *trace, uint32_t name);
/* Of a path in a batch: the path by which that event knew its file. */
struct flowtap_trace_text flowtap_trace_path_text(const struct flowtap_trace *trace, uint32_t path);
/* Calls have numbers that never change, below this. */
#define FLOWTAP_TRACE_CALLS 1024
struct flowtap_trace_text flowtap_trace_call_name(const struct flowtap_trace *trace, uint32_t call);
struct flowtap_trace_text flowtap_trace_call_category(const struct flowtap_trace *trace, uint32_t call);

struct flowtap_trace_tag {
    struct flowtap_trace_text key, value;
};

/* A set of tags in a batch: those that held when the event was recorded, without those of its process. */
size_t flowtap_trace_tag_count(const struct flowtap_trace *trace, uint32_t tags);
/* Tag i of the set, 0 <= i < count; a later one of the same key holds. */
struct flowtap_trace_tag flowtap_trace_tag_get(const struct flowtap_trace *trace, uint32_t tags, size_t i);
/* What a tag was for an event of this process with this set; bytes "" and count 0 where it was not set. */
struct flowtap_trace_text flowtap_trace_tag_value(const struct flowtap_trace *trace, uint32_t process, uint32_t tags,
                                                  const char *key);

/* ---- records ---- */

/* Why events that happened are not in the trace: ring_full torn daemon_limit disk_full capped corrupt. */
#define FLOWTAP_TRACE_CAUSES 6
const char *flowtap_trace_cause_name(uint32_t cause); /* "unknown" out of range; static storage */

/* One image of a program: an exec makes another one of the same pid. Counts are those of its last record. */
struct flowtap_trace_process {
    uint32_t host, parent;            /* parent: process, or the image before an exec */
    uint32_t pid, ns_pid, parent_pid; /* on the host, in its own pid namespace; 0 unknown */
    uint32_t uid;
    int64_t start_ns, end_ns; /* end: 0 while it ran */
    struct flowtap_trace_text exe, cwd, user, job, step, workflow;
    const char *job_source;         /* cgroup environment session unknown */
    int32_t rank, local_rank;       /* -1 unknown */
    const char *exit, *exit_source; /* none code signal exec; unknown pidfd taskstats parent */
    int32_t exit_value;             /* code or signal's number */
    uint32_t is_exec;
    uint32_t argument_count, tag_count, in_call_count;
    uint32_t is_kernel_known;                                     /* the six below */
    uint64_t rchar, wchar, read_bytes, write_bytes, syscr, syscw; /* /proc/PID/io */
    uint64_t emitted, stored, dropped[FLOWTAP_TRACE_CAUSES];
};

int flowtap_trace_process_get(const struct flowtap_trace *trace, uint32_t process, struct flowtap_trace_process *out,
                              size_t out_bytes);
struct flowtap_trace_text flowtap_trace_argument_get(const struct flowtap_trace *trace, uint32_t process, size_t i);
/* Tags that it began with: they hold for all of its events. */
struct flowtap_trace_tag flowtap_trace_process_tag_get(const struct flowtap_trace *trace, uint32_t process, size_t i);

/* What a thread was in when it was last looked at. */
struct flowtap_trace_in_call {
    uint32_t tid, call;
    uint32_t path;
    int64_t since_ns;
};
int flowtap_trace_in_call_get(const struct flowtap_trace *trace, uint32_t process, size_t i,
                              struct flowtap_trace_in_call *out, size_t out_bytes);

struct flowtap_trace_thread {
    uint32_t process;
    uint32_t tid;     /* 0 unknown */
    uint32_t ordinal; /* nth thread of its process, from 0 */
    struct flowtap_trace_text name;
};
int flowtap_trace_thread_get(const struct flowtap_trace *trace, uint32_t thread, struct flowtap_trace_thread *out,
                             size_t out_bytes);

/* A file is what has this device, inode and birth, on its host and mount; without the former two, what has this path. */
struct flowtap_trace_file {
    uint32_t host;
    uint32_t block_size;            /* of the file system, 0 unknown */
    struct flowtap_trace_text path; /* the first that was seen */
    struct flowtap_trace_text mount, file_system;
    const char *kind;              /* regular directory block char tty pipe socket memfd memory other unknown */
    uint64_t device, inode, birth; /* birth: 56 bits that tell files of one inode number apart; 0 unknown */
};
int flowtap_trace_file_get(const struct flowtap_trace *trace, uint32_t file, struct flowtap_trace_file *out,
                           size_t out_bytes);

/* One trace file. */
struct flowtap_trace_part {
    struct flowtap_trace_text path, boot_id, user, job, workflow, writer;
    uint32_t host, uid;
    uint32_t number; /* n of <host>-<boot>-<n>.flow */
    uint32_t clock_count;
    uint32_t is_partial, is_closed; /* not closed: its writer runs still, or was killed */
    uint64_t bytes, events;
    int64_t created_ns;
    int64_t realtime_offset_ns; /* what was added to CLOCK_MONOTONIC to get the times here; never adjusted later */
    uint64_t clock_error_ns;    /* bound of the error of starts and durations among each other */
};
int flowtap_trace_part_get(const struct flowtap_trace *trace, size_t part, struct flowtap_trace_part *out,
                           size_t out_bytes);

/* The clocks, looked at now and then: how CLOCK_REALTIME moved against CLOCK_MONOTONIC. */
struct flowtap_trace_clock {
    int64_t time_ns;            /* by this part's offset */
    int64_t realtime_offset_ns; /* as it was then */
    uint64_t ticks;             /* of the processor's counter */
};
int flowtap_trace_clock_get(const struct flowtap_trace *trace, size_t part, size_t i, struct flowtap_trace_clock *out,
                            size_t out_bytes);

/* What could not be seen. */
struct flowtap_trace_gap {
    const char *kind; /* not_attached not_admitted sandbox rlimit static secure_exec foreign_elf env_cleaned container
                         io_uring raw_syscall deepbind clone_shared still_running daemon_stopped unknown */
    uint32_t host, process;
    uint32_t pid;    /* 0 unknown */
    uint64_t count;  /* how many times, at least 1 */
    int64_t when_ns; /* 0 unknown */
    struct flowtap_trace_text exe, reason;
};
int flowtap_trace_gap_get(const struct flowtap_trace *trace, size_t gap, struct flowtap_trace_gap *out,
                          size_t out_bytes);

/* What is wrong with a file. */
struct flowtap_trace_problem {
    struct flowtap_trace_text path; /* of the file */
    const char *text;               /* for a person */
    uint32_t is_damage;             /* something is missing; 0: good to know, or memory_max was */
    uint64_t offset, length;        /* bytes of the file; 0, 0 where it is the whole file */
    uint64_t count;                 /* how many such, at least 1 */
};
int flowtap_trace_problem_get(const struct flowtap_trace *trace, size_t problem, struct flowtap_trace_problem *out,
                              size_t out_bytes);

/* ---- selecting ---- */

struct flowtap_trace_wanted_tag {
    const char *key, *value;
};

/*
 * Events that fulfil every criterion that is given; within a list, one of it is enough, but all tags must hold. 0 and NULL: no
 * criterion. Only read by _create.
 */
struct flowtap_trace_criteria {
    int64_t start_ns, end_ns; /* that start at start_ns or later, and before end_ns */
    const char *where;        /* an expression, as `flowtap events --where` takes it: see flowtap(1); functions of
                                 instrumented programs have the names that the trace has, with addresses, not symbols */
    const uint32_t *processes;
    size_t process_count;
    const uint32_t *files; /* the first or the second file of a call */
    size_t file_count;
    const char *const *calls; /* names, such as "pread64" */
    size_t call_count;
    const char *const *categories; /* names, such as "STDIO" or "compute" */
    size_t category_count;
    const struct flowtap_trace_wanted_tag *tags;
    size_t tag_count;
};

int flowtap_trace_select_create(const struct flowtap_trace *trace, const struct flowtap_trace_criteria *criteria,
                                size_t criteria_bytes, struct flowtap_trace_select **out,
                                struct flowtap_trace_error *error);
void flowtap_trace_select_destroy(struct flowtap_trace_select *select); /* NULL is fine */

/* ---- events ---- */

/* Which columns a batch has. */
enum {
    FLOWTAP_TRACE_START = 1 << 0,
    FLOWTAP_TRACE_DURATION = 1 << 1,
    FLOWTAP_TRACE_CALL = 1 << 2, /* call and kind */
    FLOWTAP_TRACE_NAME = 1 << 3, /* name and category */
    FLOWTAP_TRACE_PROCESS = 1 << 4,
    FLOWTAP_TRACE_THREAD = 1 << 5,
    FLOWTAP_TRACE_FILE = 1 << 6,  /* file and path */
    FLOWTAP_TRACE_FILE2 = 1 << 7, /* file2 and path2 */
    FLOWTAP_TRACE_FD = 1 << 8,
    FLOWTAP_TRACE_SIZE = 1 << 9,
    FLOWTAP_TRACE_OFFSET = 1 << 10,
    FLOWTAP_TRACE_RESULT = 1 << 11,
    FLOWTAP_TRACE_BYTES = 1 << 12,
    FLOWTAP_TRACE_WORD = 1 << 13,
    FLOWTAP_TRACE_ERROR = 1 << 14,
    FLOWTAP_TRACE_TAGS = 1 << 15,
    FLOWTAP_TRACE_FLAGS = 1 << 16,
    FLOWTAP_TRACE_HAS = 1 << 17,
    FLOWTAP_TRACE_ARGS = 1 << 18, /* arg_count, first_arg, args */
    FLOWTAP_TRACE_ALL = (1 << 19) - 1
};

/* `kind` of an event. */
enum { FLOWTAP_TRACE_KIND_CALL, FLOWTAP_TRACE_KIND_SPAN, FLOWTAP_TRACE_KIND_INSTANT, FLOWTAP_TRACE_KIND_COUNTER };

/* `has` of an event: which of its values are known; unknown ones are 0. */
enum { FLOWTAP_TRACE_HAS_SIZE = 1, FLOWTAP_TRACE_HAS_OFFSET = 2, FLOWTAP_TRACE_HAS_RESULT = 4 };
enum { FLOWTAP_TRACE_HAS_BYTES = 8, FLOWTAP_TRACE_HAS_WORD = 16, FLOWTAP_TRACE_HAS_ERROR = 32 };

/* `flags` of an event; others may come. */
enum {
    FLOWTAP_TRACE_COARSE_TIME = 1 << 0, /* of a clock that steps by milliseconds */
    FLOWTAP_TRACE_RACED = 1 << 1,       /* the descriptor changed under the call */
    FLOWTAP_TRACE_PATH_CUT = 1 << 2,    /* the path is a prefix of the real one */
    FLOWTAP_TRACE_VFORK_CHILD = 1 << 3, /* made by a vfork child, in its parent's thread */
    FLOWTAP_TRACE_DOUBLE = 1 << 5,      /* a counter's word holds the bits of a double */
    FLOWTAP_TRACE_ARGS_CUT = 1 << 6     /* arguments were shortened or left out */
};

/* An argument of an application's event. */
enum { FLOWTAP_TRACE_INTEGER = 1, FLOWTAP_TRACE_DOUBLE_NUMBER = 2, FLOWTAP_TRACE_TEXT = 3 };
struct flowtap_trace_arg {
    uint32_t key;  /* name */
    uint32_t type; /* others may come */
    union {
        int64_t integer;
        double number;
        uint32_t text; /* name */
    } value;
};

/* `count` events: one array for each column that was asked for, else NULL. */
struct flowtap_trace_batch {
    size_t count;
    uint32_t host, part;
    const int64_t *start_ns, *duration_ns; /* duration: 0 of instants and counters */
    const uint16_t *call;                  /* 0 of an application's event */
    const uint8_t *kind;
    const uint32_t *name, *category;
    const uint32_t *process, *thread;
    const uint32_t *file, *path, *file2, *path2; /* second: of rename, link, copies between files */
    const int32_t *fd;                           /* -1 none */
    const int64_t *size;                         /* as asked for */
    const int64_t *offset;
    const int64_t *result; /* of a call; tid of the thread that began an asynchronous span */
    const uint64_t *bytes; /* what moved */
    const uint64_t *word;  /* flags, whence, mode of a call; value of a counter; id of an asynchronous span */
    const int32_t *error;  /* errno of a call, 0 */
    const uint32_t *tags;
    const uint16_t *flags;
    const uint8_t *has; /* also where a column that it speaks of was asked for */
    /* Of event i: args[first_arg[i]] and those behind it, arg_count[i] in all. Of equal keys the last holds. */
    const uint8_t *arg_count;
    const uint32_t *first_arg;
    const struct flowtap_trace_arg *args;
};

/*
 * `columns` are FLOWTAP_TRACE_START and the like. `select` may be NULL: all events; it must outlive the cursor. The trace's
 * blocks are dealt out to `share_count` cursors, of which this is number `share`, from 0: 0, 1 for all of them.
 */
int flowtap_trace_cursor_open(const struct flowtap_trace *trace, const struct flowtap_trace_select *select,
                              uint32_t columns, uint32_t share, uint32_t share_count, struct flowtap_trace_cursor **out,
                              struct flowtap_trace_error *error);
void flowtap_trace_cursor_close(struct flowtap_trace_cursor *cursor); /* NULL is fine */

/*
 * 1 and a batch, valid until the cursor's next use; 0 at the end; -errno where a file could not be read any more (-ESTALE: it was
 * replaced or cut after _open), and the next call goes on behind that. A batch is of one part, a thread's events together
 * in it, by their starts; what encloses others, as spans do, may come in a later one.
 */
int flowtap_trace_cursor_next(struct flowtap_trace_cursor *cursor, const struct flowtap_trace_batch **out,
                              struct flowtap_trace_error *error);
/* Blocks of events, so far: passed over since their heads show that nothing in them is chosen; damaged, and left out. */
uint64_t flowtap_trace_cursor_skipped(const struct flowtap_trace_cursor *cursor);
uint64_t flowtap_trace_cursor_damaged(const struct flowtap_trace_cursor *cursor);

/* ---- totals ---- */

/* What a call was about: no file; a regular file, directory or block device; another kind of file; one of unknown kind. */
enum { FLOWTAP_TRACE_CLASS_NONE, FLOWTAP_TRACE_CLASS_STORAGE, FLOWTAP_TRACE_CLASS_OTHER, FLOWTAP_TRACE_CLASS_UNKNOWN };

/* Bucket 0 counts zeros, bucket b counts from 2^(b-1) to below 2^b. */
#define FLOWTAP_TRACE_BUCKETS 65

/* Of all events that have this kind, name, category and classes of files. */
struct flowtap_trace_total {
    uint32_t kind, call; /* call: 0 of an application's event */
    uint32_t name, category;
    uint32_t file_class, file2_class;
    uint64_t count, errors, bytes;
    uint64_t time_ns, min_ns, max_ns;      /* of the durations */
    uint64_t sizes[FLOWTAP_TRACE_BUCKETS]; /* of bytes, where it is known */
    uint64_t durations[FLOWTAP_TRACE_BUCKETS];
};

/*
 * Adds up. Without a selection the heads of the blocks tell it all, and events that were recorded in profile mode are counted too;
 * with one, only blocks whose heads do not decide are decoded, and what profile mode added up is left out.
 */
int flowtap_trace_totals_read(const struct flowtap_trace *trace, const struct flowtap_trace_select *select,
                              struct flowtap_trace_totals **out, struct flowtap_trace_error *error);
void flowtap_trace_totals_destroy(struct flowtap_trace_totals *totals); /* NULL is fine */
size_t flowtap_trace_totals_count(const struct flowtap_trace_totals *totals);
/* 0 <= i < count; NULL out of range. */
const struct flowtap_trace_total *flowtap_trace_totals_get(const struct flowtap_trace_totals *totals, size_t i);
/* Blocks of events that are damaged, and left out; blocks that had to be decoded. */
uint64_t flowtap_trace_totals_damaged(const struct flowtap_trace_totals *totals);
uint64_t flowtap_trace_totals_decoded(const struct flowtap_trace_totals *totals);

#ifdef __cplusplus
}
#endif

#endif
