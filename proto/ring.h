// SPDX-License-Identifier: MIT
/*
 * The segment: shared memory between one traced process image (the shim) and flowtapd.
 *
 * A segment is a sealed memfd that the shim makes, fills and hands over. The shim maps it; the daemon never does: it
 * reads with pread(2) and writes single words with pwrite(2), so that nothing a client does to the memory can fault it.
 *
 *   page 0       fixed head (64 bytes, never changes meaning) | geometry and live words | one state byte per chunk
 *   page 1       totals, copy 0 (128 rows of 32 bytes)
 *   page 2..66   Hello: struct ft_hello, then items (exe, argv, ...) | thread lines (64 bytes each)
 *   then         room for a Hello that is longer, 64 KiB at most | totals, copies 1 to 3 | pool of chunks (4 KiB each)
 *
 * Only what is in use has memory behind it. At attach that is pages 0 to 3, which lie together so that one fault maps
 * them, and two chunks: 24 KiB. All offsets are in the geometry words, which the shim writes before the segment
 * is sent. Each side keeps its own private copy of the geometry and checks every index against that.
 *
 * States of a chunk (its byte in ft_head.chunk_state), with who moves it:
 *
 *   NONE --shim or daemon, once there is memory behind it--> FREE
 *   FREE --shim, compare-and-swap--> FILLING --shim, release store--> FULL --daemon, pwrite of the byte--> FREE
 *
 * The lowest free chunk is taken first, so that few are in use and these are in the cache. A shim that took a chunk and
 * then found that a signal handler had taken one meanwhile gives its own back unused (FILLING to FREE). What it takes is
 * charged to the job: FT_CHUNKS_UNASKED, and what the daemon allows (chunks_allowed, up and down) by what the job's memory
 * cgroups have left. From FT_CHUNKS_BY_SHIM on the daemon makes them when the ring gets full: fallocate, states to FREE,
 * then chunks_granted; between the two there may be a gap of NONE. A chunk has one writing line at a time. Taking it, the
 * shim raises `fill`, writes the chunk's head, then publishes records. The daemon knows the last fill that it has consumed
 * of each chunk, and ignores a head that is not newer: a chunk just taken, whose head still shows the fill before.
 * Publishing a record: a slot is reserved by one unlocked add on the thread's private cursor (chunk and slot in one
 * word, so that a signal handler which changes the chunk in between cannot mislead its victim); the record's words
 * 1.. are stored, then word 0 by a release store. Word 0 carries the low 16 bits of the chunk's fill: a slot whose
 * word 0 does not is not published. Partner of that release: the daemon looks at a chunk twice. The first pread says
 * how far it is published, the second takes these slots; a FULL chunk, whose state byte was read before, needs one.
 *
 * What a kill leaves, at each point:
 *   before the reservation             the line's `emitted` is one more than what was published: torn
 *   between reservation and publishing the same, and a slot without a valid word 0; the daemon waits for it for at
 *                                      most 1 s while the process lives, then looks for the next valid word 0 behind it
 *   at chunk change                    a chunk FILLING with less than its slots: read like any other. Or a chunk
 *                                      FILLING whose head is not newer: nothing in it
 *   during attach                      a segment whose `ready` is 0: nothing was emitted
 *   between DEFINE and CALL            a name that nobody uses
 *   inside a call                      the line's `call` is set: the process's in_call
 * What zeroed memory means: no segment (magic 0), not ready, chunk NONE, fill 0 = never used, line never used
 * (tid and emitted 0), slot not published (kind 0).
 *
 * Accounting: a line's `emitted` counts each event once, before its slot is reserved; `dropped` counts those for which
 * no chunk could be had, and these are added to the totals. At the process's end emitted = stored + dropped + torn.
 * A chunk or slot that was reserved by a handler's victim may be published late: the daemon does not free a chunk
 * with an unpublished slot before the last while the process lives.
 *
 * Integers are little-endian. Times are ticks: of the TSC or CNTVCT_EL0, or by policy ns of CLOCK_MONOTONIC (ft_clock).
 */
#ifndef FT_PROTO_RING_H
#define FT_PROTO_RING_H

#include <stddef.h>
#include <stdint.h>

#define FT_RING_MAGIC UINT64_C(0x31504154574f4c46) /* "FLOWTAP1" */
#define FT_RING_ABI_MAJOR 1u
#define FT_RING_ABI_MINOR 1u /* 1: chunks_allowed */

enum {
    FT_PAGE_BYTES = 4096,
    FT_CHUNK_BYTES = 4096,
    FT_CHUNK_HEAD_BYTES = 64,
    FT_SLOT_BYTES = 32,
    FT_SLOT_WORDS = 4,
    FT_CHUNK_SLOTS = 126,
    FT_RECORD_SLOTS_MAX = 32,
    FT_LINE_BYTES = 64,
    FT_LINES_MAX = 4096,
    FT_CHUNKS_MAX = 3968,
    FT_HELLO_PAGES = 16,
    FT_TOTALS_ROWS = 128,
    FT_TOTALS_COPIES = 4,
    FT_HELLO_FIRST_PAGE = 2,
    FT_CHUNKS_AT_ATTACH = 2,   /* and as many in the first step; then */
    FT_CHUNKS_STEP = 16,       /* the shim takes memory in steps of 64 KiB, */
    FT_CHUNKS_UNASKED = 128,   /* up to so many before the daemon has said how many it may, */
    FT_CHUNKS_BY_SHIM = 1024,  /* up to 4 MiB in all; the daemon makes those from there on */
    FT_PATH_KEPT_BYTES = 4096, /* of a longer path a marked prefix is kept */
    FT_PATHS_PENDING = 16,     /* PATH names of a line that a reader keeps */
};

/* A segment as the shim makes it: head, totals, Hello, lines, chunks; a small one where RLIMIT_AS is below that. */
#define FT_LINE_PAGES (FT_LINES_MAX * FT_LINE_BYTES / FT_PAGE_BYTES)
#define FT_SEGMENT_BYTES_WHOLE \
    ((uint64_t)(2 + FT_TOTALS_COPIES + FT_LINE_PAGES + FT_HELLO_PAGES + FT_CHUNKS_MAX) * FT_PAGE_BYTES)
#define FT_SEGMENT_BYTES_SMALL (UINT64_C(1) << 20)
#define FT_ADDRESS_SPACE_SMALL (UINT64_C(1) << 30)

enum ft_chunk_state { FT_CHUNK_NONE = 0, FT_CHUNK_FREE = 1, FT_CHUNK_FILLING = 2, FT_CHUNK_FULL = 3 };

enum ft_clock { FT_CLOCK_TICKS = 1, FT_CLOCK_MONOTONIC_NS = 2 };

/* How the process image came to be. */
enum ft_image { FT_IMAGE_EXEC = 1, FT_IMAGE_FORK = 2, FT_IMAGE_RAW_FORK = 3 };
enum { FT_SANDBOX_DISPATCH = 4 }; /* of the head's `sandbox`: a thread's calls are dispatched to the program, or were */

/* Gaps that the shim itself can tell; counted in ft_hello.gap_count at this index. */
enum ft_shim_gap {
    FT_SHIM_GAP_SANDBOX,
    FT_SHIM_GAP_IO_URING,
    FT_SHIM_GAP_RAW_SYSCALL,
    FT_SHIM_GAP_DEEPBIND,
    FT_SHIM_GAP_CLONE_SHARED,
    FT_SHIM_GAP_ENV_CLEANED,
    FT_SHIM_GAP_RLIMIT,
    FT_SHIM_GAP_FORK_UNATTACHED,
    FT_SHIM_GAP_COUNT = 8,
};

/* Page 0. */
struct ft_head {
    /* The first 64 bytes keep their meaning in every version. */
    uint64_t magic;
    uint32_t abi_major;
    uint32_t abi_minor;
    uint64_t segment_bytes;
    uint32_t page_bytes;
    uint32_t pid;                          /* as the process itself sees it */
    uint64_t segment_id[2];                /* unique on a host while it is up: ticks at attach, pid and a counter */
    uint32_t ready;                        /* 1 when Hello is written; released after it */
    uint32_t chunks_allowed, reserved0[2]; /* by the daemon: the shim may take chunks below it; 0: it has not said */
    /* Geometry: written once, before the segment is sent. Pages and counts. */
    uint32_t totals_page, totals_more_page, hello_page, hello_pages;
    uint32_t lines_page, lines_max, pool_page, chunks_max;
    /* Live words. */
    uint32_t lines_used;     /* lines 0 .. lines_used-1 may have been used */
    uint32_t chunks_ready;   /* chunks at or above this were never used by the shim's own growth */
    uint32_t chunks_granted; /* written by the daemon: it made those from FT_CHUNKS_BY_SHIM to here; 0: none */
    uint32_t chunks_wanted;  /* raised by the shim when it found no chunk: counts refusals */
    uint32_t totals_copies;  /* copies of the totals in use, 1 to 4 */
    uint32_t names_lost;     /* definitions that found no slot and were not repeated */
    uint32_t settings_ignored;
    uint32_t sandbox; /* 0, or 1: a seccomp filter; 2: strict mode; 3: no counter; FT_SANDBOX_DISPATCH */
    uint8_t chunk_state[FT_CHUNKS_MAX];
};

/* One line per writing thread. A line (and its chunk) of a thread that ended goes to a later one: THREAD record. */
struct ft_line {
    uint32_t tid;           /* 0: unknown (attached under a filter), or line not in use */
    uint32_t ordinal;       /* 1, 2, ...: order of first event among the threads of this image */
    uint64_t emitted;       /* events, whether kept or not */
    uint64_t dropped;       /* of these: no chunk could be had (ring_full) */
    uint32_t call;          /* call that is running now; 0: none */
    uint32_t file;          /* its file id; 0: none */
    uint64_t call_start;    /* ticks */
    int32_t fd;             /* of the running call; -1: none */
    uint32_t dropped_limit; /* of emitted: this thread had no line of its own (line 0 only) */
    uint64_t reserved[2];
};
/* Line 0 is shared, with atomic adds, by threads that found no line; all they do is dropped (daemon_limit). */

/* Totals of dropped events. A row belongs to the call whose id was swapped into it; row 0 takes what finds no row. */
struct ft_total {
    uint32_t call;
    uint32_t reserved;
    uint64_t count, bytes, ticks;
};

struct ft_chunk_head {
    uint64_t fill; /* how often this chunk was taken; 0: never */
    uint32_t line;
    uint32_t tid;
    uint32_t ordinal;
    uint32_t reserved0;
    uint64_t base_ticks; /* CALL and SPAN records give their end relative to it */
    uint64_t sequence;   /* 1, 2, ...: order of the chunks of one line */
    uint64_t consumed;   /* written by the daemon, for a successor: FT_CONSUMED of what is in a file */
    uint32_t vfork_pid;  /* not 0: the line was between VFORK begin and end: child's pid (UINT32_MAX: not known) */
    uint32_t reserved[3];
};

/*
 * How far the daemon is with a chunk, in one word, so that no kill finds half of it: slots below `slots` of filling
 * `fill` are in a file, or accounted for. It is written after the file and before the chunk is FREE, so that a chunk
 * that was taken and whose head still shows the fill before is never read again.
 */
#define FT_CONSUMED(fill, slots) (((uint64_t)(slots) << 56) | ((uint64_t)(fill) & FT_CONSUMED_FILL_MAX))
#define FT_CONSUMED_FILL_MAX ((UINT64_C(1) << 56) - 1)
#define FT_CONSUMED_FILL(w) ((uint64_t)(w) & FT_CONSUMED_FILL_MAX)
#define FT_CONSUMED_SLOTS(w) ((unsigned)((uint64_t)(w) >> 56))

struct ft_hello {
    uint32_t pid, ppid, tid;
    uint32_t image;       /* enum ft_image */
    uint32_t clock;       /* enum ft_clock */
    uint32_t items_bytes; /* used by the items behind this struct */
    uint32_t items_cut;   /* 1: some were left out or shortened */
    uint32_t shim_version;
    uint64_t start_time;   /* field 22 of /proc/self/stat (clock ticks after boot); 0: not asked for */
    uint64_t attach_ticks; /* clock pair taken at attach */
    int64_t attach_mono_ns;
    uint64_t parent_segment_id[2]; /* of a forked child: its parent's */
    uint64_t pid_namespace;        /* inode of /proc/self/ns/pid; 0: not asked for */
    uint32_t gap_count[FT_SHIM_GAP_COUNT];
    uint64_t ring_calls;    /* of io_uring, as far as the shim knows */
    int64_t attach_real_ns; /* CLOCK_REALTIME of the pair, alike in all time namespaces; 0: `clock` is the counter */
    uint32_t reserved[32];
};

/* Items behind struct ft_hello: type, bytes, padded to 4. */
enum ft_hello_item {
    FT_HELLO_EXE = 1,    /* readlink of /proc/self/exe */
    FT_HELLO_ARGV = 2,   /* NUL-separated */
    FT_HELLO_ENV = 3,    /* NUL-separated claims: FLOWTAP_*, and the workload managers' own */
    FT_HELLO_CGROUP = 4, /* text of /proc/self/cgroup */
    FT_HELLO_CWD = 5,    /* defines file id FT_FILE_CWD */
};
struct ft_hello_item_head {
    uint16_t type;
    uint16_t flags; /* 1: cut */
    uint32_t bytes;
};
#define FT_HELLO_ITEM_CUT 1u

/* ---- records ---- */

enum ft_record {
    FT_RECORD_NONE = 0,
    FT_RECORD_CALL = 1,
    FT_RECORD_DEFINE = 2,
    FT_RECORD_THREAD = 3,
    FT_RECORD_VFORK = 4,
    FT_RECORD_SPAN = 5,
    FT_RECORD_INSTANT = 6,
    FT_RECORD_COUNTER = 7,
    FT_RECORD_TAGS = 8,
    FT_RECORD_LOSS = 9,
    FT_RECORD_PAD = 10, /* fills a chunk's rest; its slot count may be the largest that fits, repeated */
    FT_RECORD_GAP = 11,
}; /* others: skipped by their slot count */

/*
 * Word 0 of every record:   0-3 kind | 4-8 slots-1 | 9-18 call | 19-31 flags | 32-47 fill | 48-63 fd
 * fd: FT_FD16_NONE none, FT_FD16_EXT in the extension.
 */
#define FT_W0(kind, slots, call, flags, fill, fd16)                                                            \
    ((uint64_t)(kind) | ((uint64_t)((slots) - 1) << 4) | ((uint64_t)(call) << 9) | ((uint64_t)(flags) << 19) | \
     ((uint64_t)(uint16_t)(fill) << 32) | ((uint64_t)(uint16_t)(fd16) << 48))
#define FT_W0_KIND(w) ((unsigned)(w) & 15u)
#define FT_W0_SLOTS(w) (((unsigned)((w) >> 4) & 31u) + 1u)
#define FT_W0_CALL(w) ((unsigned)((w) >> 9) & 1023u)
#define FT_W0_FLAGS(w) ((unsigned)((w) >> 19) & 8191u)
#define FT_W0_FILL(w) ((uint16_t)((w) >> 32))
#define FT_W0_FD(w) ((uint16_t)((w) >> 48))
#define FT_FD16_NONE 0xffffu
#define FT_FD16_EXT 0xfffeu

/*
 * CALL, SPAN. One slot:
 *   word 1   0-39 end, ticks after the chunk's base_ticks (a record is written when the call has ended, so the end is
 *            never before the chunk was taken; the start may be) | 40-63 duration in ticks (FT_DURATION_EXT: extension)
 *   word 2   0-31 file id (SPAN: name id) | 32-63 size as asked, or with FT_CALL_ARG the argument
 *            (SPAN: category id)
 *   word 3   0-47 offset | 48-59 errno (0: the call did not fail) | 60-63 enum ft_result
 * Bytes moved: FT_EXT_BYTES; else with FT_CALL_BYTES_SIZE the size; else with FT_CALL_NO_BYTES none; else the result.
 * The result of a call that returns a stream or a directory stream is its descriptor; of mmap, 0; of readdir and
 * fgets, 1 or 0 (NULL).
 * A longer record goes on with an extension: word 4 is a mask of enum ft_ext, then one word for each bit set, in
 * the order of the bits (FT_EXT_INODE: device, inode).
 */
#define FT_END_MAX ((UINT64_C(1) << 40) - 1)
#define FT_DURATION_EXT ((UINT64_C(1) << 24) - 1)
#define FT_OFFSET_MAX ((UINT64_C(1) << 48) - 1)
#define FT_W3_ERRNO(w) ((unsigned)((w) >> 48) & 4095u)
#define FT_W3_RESULT(w) ((unsigned)((w) >> 60))

enum ft_call_flags {
    FT_CALL_OFFSET = 1,       /* offset is present (word 3, or FT_EXT_OFFSET) */
    FT_CALL_SIZE = 2,         /* size is present (word 2, or FT_EXT_SIZE) */
    FT_CALL_COARSE = 4,       /* times are of CLOCK_MONOTONIC_COARSE */
    FT_CALL_RACED = 8,        /* the descriptor changed hands while the call ran: file is what it was before */
    FT_CALL_CUT = 16,         /* a path was longer than FT_PATH_KEPT_BYTES */
    FT_CALL_VFORK = 32,       /* made by a vfork child: see VFORK */
    FT_CALL_NO_BYTES = 64,    /* the result is no count of bytes moved */
    FT_CALL_ARG = 128,        /* no size: word 2 bits 32-63 are the argument word (as FT_EXT_ARG) */
    FT_CALL_BYTES_SIZE = 256, /* bytes moved are `size`, whatever the result says (STDIO) */
    FT_CALL_FOLLOW = 7 << 9,  /* enum ft_follow of what the call starts */
    FT_CALL_EXACT = 1 << 12,  /* the birth in FT_EXT_KIND is exact (birth.h) */
};

/* What keeps the process or image that a call starts (fork, exec, spawn, system, popen) from being traced, if anything. */
enum ft_follow {
    FT_FOLLOW_ORDINARY = 0,    /* it is expected to attach */
    FT_FOLLOW_CLEANED = 1,     /* variables are missing in its environment and were not put back */
    FT_FOLLOW_OFF = 2,         /* its environment turns tracing off: FLOWTAP or FLOWTAP_MODE */
    FT_FOLLOW_ELSEWHERE = 3,   /* its FLOWTAP_SOCKET names another daemon */
    FT_FOLLOW_UNREACHABLE = 4, /* this library cannot be opened by the path it has */
    FT_FOLLOW_SANDBOX = 5,     /* it is under a seccomp filter */
    FT_FOLLOW_LIMIT = 6,       /* limits of the process may not let it attach */
    FT_FOLLOW_NO_SOCKET = 7,   /* the daemon's socket cannot be reached from where it is */
};
#define FT_FOLLOW_SHIFT 9
#define FT_FOLLOW_OF(flags) (((unsigned)(flags) & FT_CALL_FOLLOW) >> FT_FOLLOW_SHIFT)

enum ft_result {
    FT_RESULT_NONE = 0,   /* the call returns nothing, or has not returned (exec, _exit) */
    FT_RESULT_ZERO = 1,   /* 0 */
    FT_RESULT_SIZE = 2,   /* what was asked: size */
    FT_RESULT_ERROR = 3,  /* -1 (a NULL or MAP_FAILED pointer counts as -1). errno is in word 3, with any result */
    FT_RESULT_FD = 4,     /* the fd of word 0 */
    FT_RESULT_EXT = 5,    /* FT_EXT_RESULT */
    FT_RESULT_OFFSET = 6, /* equal to offset */
    FT_RESULT_SMALL = 7,  /* no offset: word 3 bits 0-47 are the result */
};

enum ft_ext {
    FT_EXT_DURATION = 1,
    FT_EXT_RESULT = 2, /* signed */
    FT_EXT_SIZE = 4,
    FT_EXT_OFFSET = 8,
    FT_EXT_BYTES = 16,  /* what moved, where it is not the result (STDIO) */
    FT_EXT_ARG = 32,    /* flags, whence, command, child pid, ...: see calls.def */
    FT_EXT_FILE2 = 64,  /* 0-31 second file id | 32-63 second fd, signed */
    FT_EXT_FD = 128,    /* signed 32-bit */
    FT_EXT_INODE = 256, /* two words: device (major << 32 | minor), inode of `file` */
    FT_EXT_KIND = 512,  /* 0-7 enum ft_file_kind_wire of `file`: the name becomes the descriptor's | 8-63 birth.h */
    FT_EXT_CORRELATION = 1024,
    FT_EXT_FDS = 2048, /* pipe, socketpair: 0-31 first, 32-63 second descriptor */
    FT_EXT_ALL = 4095,
};

/* Order is fixed; the trace file has the same kinds by name. */
enum ft_file_kind_wire {
    FT_FILE_WIRE_UNKNOWN,
    FT_FILE_WIRE_REGULAR,
    FT_FILE_WIRE_DIRECTORY,
    FT_FILE_WIRE_BLOCK,
    FT_FILE_WIRE_CHAR,
    FT_FILE_WIRE_TTY,
    FT_FILE_WIRE_PIPE,
    FT_FILE_WIRE_SOCKET,
    FT_FILE_WIRE_MEMFD,
    FT_FILE_WIRE_MEMORY,
    FT_FILE_WIRE_OTHER,
};

/*
 * DEFINE: gives a file id (or a string id) its name.
 *   word 1   0-31 id | 32-63 base: file id that a relative name is joined to; 0: none
 *   word 2   0-15 bytes in all | 16-31 first byte of this part | 32-47 bytes in this part | 48-55 enum ft_define
 *            | 56-63 flags
 *   word 3   0-7 enum ft_file_kind_wire | 8-63 birth (birth.h)
 *   then     device, inode (with FT_DEFINE_INODE), then the bytes of this part
 * A name too long for one record comes in parts: consecutive records of one thread, each with the same id.
 *
 * Ids are per segment, counted up, never used twice. A PATH is a call's argument: written after the call has returned
 * (a path that the kernel refused with EFAULT is not touched) and just before its CALL record, of the same thread; a
 * signal handler's records may come in between, so a reader keeps the last FT_PATHS_PENDING of each line. If the CALL
 * has FT_EXT_KIND, the id becomes a descriptor's name and lives on, as FD and CWD names do, until a close record with
 * that file id (dup'ed descriptors share an id: other closes may follow, and records of other threads that ran before).
 */
enum ft_define {
    FT_DEFINE_PATH = 1,   /* as passed by the program: source `lexical` */
    FT_DEFINE_FD = 2,     /* readlink of /proc/self/fd/N: source `kernel` */
    FT_DEFINE_CWD = 3,    /* working directory after a chdir, from the kernel */
    FT_DEFINE_STRING = 4, /* name or category of a span, key=value of a tag */
};
#define FT_DEFINE_INODE 1u /* device and inode follow word 3 */
#define FT_DEFINE_CUT 2u
#define FT_DEFINE_ONCE 4u  /* STRING: the next record alone uses it */
#define FT_DEFINE_EXACT 8u /* the birth is exact */

#define FT_FILE_NONE 0u
#define FT_FILE_CWD 1u    /* working directory at attach: Hello */
#define FT_FILE_FIRST 16u /* first id that is counted */

/* THREAD: the line's owner from here on.    word 1: 0-31 tid | 32-63 ordinal    word 2: ticks */
/* VFORK:  `call` of word 0: 1 begin, 0 end. word 1: child's pid, 0: not known. word 2: ticks. Begin comes with the child's
 *         first record (a child that does nothing but exec has it before the exec), end when the parent goes on. */
/* INSTANT: words 1 to 3 as SPAN, duration 0. COUNTER: as INSTANT, FT_EXT_RESULT holds the value. More: annotate.h. */
/* TAGS: word 1: 0-31 string id "key=value" (empty value: cleared), of this record alone | 32 process-wide. word 2: ticks.
 *      Hold for the thread's later records; process-wide, also for what other threads begin from then on. */
#define FT_TAGS_OF_PROCESS (UINT64_C(1) << 32)
/* GAP: `call` of word 0: enum ft_shim_gap, which is counted in gap_count too. word 1: 0-31 count | 32-63 string id of the
 *      object that makes it. word 2: ticks */
/* LOSS: word 1: count, `call` of word 0: 1 names lost. */

_Static_assert(sizeof(struct ft_head) == FT_PAGE_BYTES, "head is one page");
_Static_assert(offsetof(struct ft_head, ready) == 48 && offsetof(struct ft_head, chunks_allowed) == 52, "fixed part");
_Static_assert(offsetof(struct ft_head, totals_page) == 64, "fixed part is 64 bytes");
_Static_assert(offsetof(struct ft_head, lines_used) == 96, "live words");
_Static_assert(offsetof(struct ft_head, chunks_granted) == 104, "written by the daemon");
_Static_assert(offsetof(struct ft_head, chunk_state) == 128, "states");
_Static_assert(sizeof(struct ft_line) == FT_LINE_BYTES, "line");
_Static_assert(offsetof(struct ft_line, emitted) == 8 && offsetof(struct ft_line, dropped) == 16, "line counts");
_Static_assert(offsetof(struct ft_line, call) == 24 && offsetof(struct ft_line, call_start) == 32, "line call");
_Static_assert(sizeof(struct ft_total) == 32, "total");
_Static_assert(sizeof(struct ft_total) * FT_TOTALS_ROWS == FT_PAGE_BYTES, "totals are one page");
_Static_assert(sizeof(struct ft_chunk_head) == FT_CHUNK_HEAD_BYTES, "chunk head");
_Static_assert(offsetof(struct ft_chunk_head, consumed) == 40, "written by the daemon");
_Static_assert(FT_CHUNK_SLOTS < 256, "slots fit FT_CONSUMED");
_Static_assert(FT_CHUNK_HEAD_BYTES + FT_CHUNK_SLOTS * FT_SLOT_BYTES == FT_CHUNK_BYTES, "chunk");
_Static_assert(sizeof(struct ft_hello) == 256 && sizeof(struct ft_hello_item_head) == 8, "hello, item");

#endif
