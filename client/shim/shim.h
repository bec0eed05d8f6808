// SPDX-License-Identifier: MIT
/*
 * What the parts of the shim know of each other. Read proto/ring.h first.
 *
 * A call goes: wrapper (wrap_*.c, made from calls.def by shapes.h) -> begin (hot.h) -> the real function -> end (hot.h)
 * -> a record in the thread's chunk. Everything else is off that path: attaching (attach.c, hello.c), a thread's first
 * event and changes of chunk (ring.c), names (name.c), descriptors (fd.c).
 *
 * Rules for everything in this folder: no libc call but the wrapped function itself; raw system calls only (sys.h), and
 * none at all once `sandboxed`; errno is the program's; nothing waits; what fails turns tracing off for the process,
 * the thread or the event, and is counted.
 */
#ifndef FT_SHIM_SHIM_H
#define FT_SHIM_SHIM_H

#include "client/shim/sys.h"
#include "client/shim/test_point.h"
#include "proto/ring.h"

/* Reported by tools that ask which shim is loaded; in Hello as shim_version. */
#define FT_SHIM_VERSION 100u

/* Mode of a thread, tested once per call. */
enum ft_mode {
    FT_MODE_NEW = 0,  /* no call yet: a zeroed thread */
    FT_MODE_OFF = 1,  /* wrappers do nothing */
    FT_MODE_ON = 2,   /* the ordinary path */
    FT_MODE_SLOW = 3, /* recording, with some of FT_WHY_ to look at */
};

/* Why a thread is in FT_MODE_SLOW. */
enum ft_why {
    FT_WHY_VFORK = 1,  /* a vfork child runs on this thread's memory */
    FT_WHY_COARSE = 2, /* no counter here: times from the vDSO's coarse clock */
    FT_WHY_SHARED = 4, /* a clone without its own thread storage may run here: check who it is */
    FT_WHY_CLOCK = 8,  /* the kernel does not trust the counter: clock_gettime */
    FT_WHY_FILES = 16, /* another process may change our descriptors: each is asked for at each use */
    FT_WHY_APART = 32, /* its descriptors are not those of the other threads: it leaves their table alone (apart.h) */
    FT_WHY_DISPATCH = 64, /* its system calls are dispatched to the program (sandbox.c) */
    FT_WHY_UNSURE = 128,  /* its descriptors may be its own or those of the others: what it changes is unknown to all */
    FT_WHY_CLOSING = 256, /* it is just trying to shut the process in (sandbox.c) */
};

/*
 * A line and its writer. Private: one 64-byte entry per line, so that a later thread can take over where one ended. Who
 * writes a record finds all of the segment that it needs by the writer: see ft_recording_begin.
 */
struct ft_writer {
    uint64_t cursor; /* chunk << 32 | next slot */
    uint64_t sequence;
    uint64_t retry_ticks; /* ring full: do not look for a chunk before */
    struct ft_line *line;
    char *pool; /* where the segment's chunks are */
    uint32_t index;
    uint32_t vfork_pid;
    const struct ft_thread *owner; /* last thread that took the line, by where its storage is */
    uint64_t is_orphan;            /* see ft_thread_orphan */
};

/* What entering sandboxes has added to the counts of that name. */
struct ft_sandbox {
    uint16_t closed;       /* ft_process.sandboxed */
    uint16_t coarse;       /* of the thread and of the process */
    uint8_t is_dispatched; /* FT_WHY_DISPATCH */
    uint8_t is_closing;    /* FT_WHY_CLOSING */
    uint8_t is_of_all;     /* the process's counts have it */
};

/* A vfork child may vfork: levels that are told apart; deeper ones count as the last. */
enum { FT_VFORK_LEVELS = 4 };

/* Static TLS: at most 128 bytes. */
struct ft_thread {
    uint8_t mode; /* enum ft_mode */
    uint8_t vfork_depth;
    uint16_t why; /* enum ft_why */
    uint32_t tid;
    uint8_t is_recording;  /* see ft_recording_begin */
    uint8_t vfork_moved;   /* the vfork child changed its working directory */
    uint8_t vfork_renamed; /* it renamed what may be a directory */
    uint32_t coarse;       /* FT_WHY_COARSE: for how many reasons */
    struct ft_writer *writer;
    struct ft_line *line;
    const void *call_frame; /* frame of the call that the line shows as running */
    uint64_t vfork_start[FT_VFORK_LEVELS];
    uint32_t vfork_call;             /* what the line showed when the outermost vfork began */
    uint8_t vfork_announced;         /* VFORK begin is written; a bit for each level */
    struct ft_sandbox vfork_sandbox; /* what the vfork child has shut itself into */
    uint64_t vfork_touched;          /* descriptors that the vfork child changed, by number; 63: any from there on */
    void *vfork_pages;               /* taken by the child for what it was about to become */
    uint64_t vfork_pages_bytes;
    uint8_t tags_untold;   /* its tags or the process's are not all in the segment yet */
    uint8_t has_opened;    /* libraries that it has not looked at (levels_scan.c) */
    uint32_t opened_at;    /* what others had looked at by then */
    const char *call_path; /* of the call that the line shows, where it is an ordinary one on a path (relay.h) */
};

/* This page is wiped in a child, however it was made: base is 0 there until the child has attached. */
struct ft_wiped {
    uint64_t base;   /* of the segment's mapping; 0: not attached */
    uint32_t attach; /* enum ft_attach_state */
};

union ft_wiped_page {
    struct ft_wiped wiped;
    char bytes[FT_PAGE_BYTES];
};
#define ft_wiped (ft_wiped_page.wiped)

enum ft_attach_state { FT_ATTACH_NONE = 0, FT_ATTACH_BUSY = 1, FT_ATTACH_DONE = 2, FT_ATTACH_OFF = 3 };

/*
 * Growth of the pool. limits.c moves it from FREE to DECIDING, looks how far the pool is in use, makes it FIXED, maps no
 * more than that, and moves it back. Who takes a chunk or moves chunks_high looks at it afterwards: FREE then means that
 * limits.c will see what was taken.
 */
enum ft_growth { FT_GROWTH_FREE = 0, FT_GROWTH_DECIDING = 1, FT_GROWTH_FIXED = 2 };

#define FT_NO_CHUNK UINT32_C(0x7fffffff)
#define FT_CURSOR_NONE (((uint64_t)FT_NO_CHUNK << 32) | FT_CHUNK_SLOTS)

enum { FT_FORKS_MAX = 8 };

/* State of the process; written at attach and by what each word says. Private memory: a copy goes to a forked child. */
struct ft_process {
    uint64_t base;  /* as in ft_wiped: where the segment is, also for the child that maps its own over it */
    uint64_t bytes; /* mapped */
    uint32_t totals_page, totals_more_page, hello_page, lines_page, pool_page;
    uint32_t lines_max, chunks_max, chunks_by_shim;
    uint64_t segment_id[2], parent_id[2]; /* of this image's segment, of its parent's where it was forked */
    uint32_t chunks_high;                 /* next range of chunks that growth takes (atomic) */
    uint32_t lines_used;                  /* atomic */
    uint32_t lines_hand;                  /* where the search for lines of ended threads goes on */
    uint32_t totals_ready;                /* copies 0 .. n-1 have memory */
    uint32_t first_id;                    /* ids below it are the parent's */
    uint32_t next_id;                     /* file and string ids (atomic) */
    uint32_t ordinal;                     /* of threads (atomic) */
    uint32_t pid;
    uint32_t cwd_file;                /* file id of the working directory; 0: ask the kernel at next use */
    uint32_t fork_count, spawn_count; /* descriptions opened before are shared with a child */
    uint32_t sandboxed;               /* seccomp filters that are in, and their like (atomic): no system call of ours */
    uint32_t coarse;                  /* what makes threads start with FT_WHY_COARSE (atomic) */
    uint8_t clock;                    /* enum ft_clock */
    uint8_t decided;                  /* settings were read */
    uint8_t wanted;                   /* FLOWTAP=1 and nothing against it */
    uint8_t filtered;                 /* include or exclude globs are set */
    uint8_t follow_clean_env;
    uint8_t has_parents;     /* what is mapped at base is the parent's segment */
    uint8_t growth;          /* enum ft_growth */
    uint8_t unlock_pages;    /* mlockall(MCL_FUTURE): what is mapped for us is not to stay locked */
    uint8_t files_shared;    /* with another process that runs (clone with CLONE_FILES) */
    uint8_t files_apart;     /* some thread has descriptors of its own: who starts later may be that one's */
    uint8_t cwd_shared;      /* the same (CLONE_FS), or some threads have one of their own: asked for at each use */
    uint8_t daemon_grows;    /* the ring: some thread is dispatched, or was */
    uint8_t want_start_time; /* the policy asks for it */
    uint8_t is_interrupted;  /* in a forked child: a record of its parent's was begun, and goes on here */
    uint8_t was_room_asked;  /* for what the groups leave, by ourselves (headroom.h) */
    uint8_t has_room;        /* it is much: what growth takes unasked is all of the shim's share */
    uint8_t first_ended;     /* the first thread: others go on without it */
    uint32_t settings_ignored;
    uint32_t chunks_fixed;        /* in FT_GROWTH_FIXED no chunk beyond them is taken */
    uint32_t missed;              /* calls while another thread was attaching: counted once that is done */
    uint64_t forks[FT_FORKS_MAX]; /* that are on their way (atomic): their holders (forks.h) */
    uint32_t forks_lines;         /* below it lines may have more of them (atomic) */
    uint32_t forks_beyond;        /* how many more, of threads without a line (atomic) */
    uint64_t growth_retry_ticks;
    uint32_t hello_items_bytes; /* of the items that a forked child takes over */
    uint8_t hello_items_cut;
    uint8_t hello_is_kept;    /* these are in private memory, too */
    uint8_t inherited_filter; /* whether a seccomp filter was there at the start: 0 not asked, 1 no, 2 yes (atomic) */
    uint64_t
        pair_ticks; /* clock pair of attach, and the counter's rate once a coarse clock has to be turned to ticks */
    int64_t pair_mono_ns, pair_real_ns; /* the latter where the counter is not all there is to it, else 0 */
    uint64_t ticks_per_second;
};

extern __thread struct ft_thread ft_thread;
extern union ft_wiped_page ft_wiped_page;
extern struct ft_process ft_process;

/* 1: no system call of ours in this thread; under a filter in none. */
static inline int ft_is_shut_in(void)
{
    return ft_process.sandboxed != 0 || (ft_thread.why & (FT_WHY_DISPATCH | FT_WHY_CLOSING)) != 0;
}

/* 1: what comes of this thread is shut in, too: children and what is executed. */
static inline int ft_is_closed(void)
{
    return ft_process.sandboxed != 0 || (ft_thread.why & FT_WHY_CLOSING) != 0;
}

/* Off the hot path: where there never was a segment, the other page is not touched. */
static inline int ft_is_attached(void)
{
    return ft_process.base != 0 && ft_wiped.base != 0;
}

static inline struct ft_head *ft_head(void)
{
    return (struct ft_head *)(uintptr_t)ft_process.base;
}

static inline void *ft_page(uint32_t page)
{
    return (void *)(uintptr_t)(ft_process.base + (uint64_t)page * FT_PAGE_BYTES);
}

static inline struct ft_chunk_head *ft_chunk(uint32_t chunk)
{
    return ft_page(ft_process.pool_page + chunk);
}

static inline struct ft_hello *ft_hello(void)
{
    return ft_page(ft_process.hello_page);
}

static inline struct ft_chunk_head *ft_chunk_of(const struct ft_writer *writer, uint32_t chunk)
{
    return (struct ft_chunk_head *)(void *)(writer->pool + (size_t)chunk * FT_CHUNK_BYTES);
}

/*
 * From before a thread looks at its writer until what it writes is published, or dropped: ft_recording_begin is the first
 * step, ft_recording_end, with what it gave, the last. A handler that comes in between may fork, and in the child this goes
 * on when the handler returns, with the addresses that it has: then the child's segment is laid elsewhere, and what is
 * written here leads nowhere (ft_thread_orphan). So between the two the segment is reached by the writer alone.
 * A handler leaves it as it was; a jump out of it leaves it set, which costs a later fork a little.
 */
FT_HOT uint8_t ft_recording_begin(void)
{
    uint8_t before = ft_thread.is_recording;
    ft_thread.is_recording = 1;
    __asm__ volatile("" : : : "memory");
    FT_TEST_POINT(recording);
    return before;
}

FT_HOT void ft_recording_end(uint8_t before)
{
    __asm__ volatile("" : : : "memory");
    ft_thread.is_recording = before;
}

/* attach.c. Called in a forked child before it returns to the program; `image` says how it was made. */
void ft_attach_child(enum ft_image image);
/* A wrapper's slow entry (mode NEW or SLOW, or unattached): 1 when the call shall be recorded. */
int ft_enter_slow(void);
/* wrap_process.c: before a vfork child's first record, says whose it is. */
int ft_vfork_is_announced(void);
void ft_vfork_announce(void);
/* jump.c. This thread leaves the calls that it is in: its line shows none. */
void ft_calls_left(void);
/* The same where the process ends; lines of threads that have ended show none either. */
void ft_calls_ending(void);
/* 1 where no other thread runs. Makes a system call; 0 in a sandbox. */
int ft_has_one_thread(void);
/* Counts a gap that the shim knows of; does nothing when not attached. */
void ft_gap(enum ft_shim_gap gap);
void ft_gap_not(enum ft_shim_gap gap); /* what was counted did not happen */
/* Lets this process record nothing from here on. */
void ft_turn_off(void);

/* settings.c. Reads the environment and the policy file once. */
void ft_settings_read(char *const *envp);
extern char ft_socket_path[108];
/* 1 when the program's absolute path is to be recorded. */
int ft_settings_wants(const char *path, size_t n);

/* hello.c. Fills Hello of the segment mapped at ft_process.base. */
void ft_hello_fill(enum ft_image image);
/* In a forked child: copies what it shares with its parent, whose segment is still mapped, into the new memfd. */
long ft_hello_inherit(int memfd);
/* Before a fork: puts them where a child reads them at no cost. */
void ft_hello_keep(void);

/* sandbox.c. Takes back what entering counted, in the thread that entered. */
void ft_sandbox_leave(const struct ft_sandbox *entered);

/* thread.c. A line for this thread; 0 or -errno. */
int ft_thread_start(void);
/*
 * In a forked child, before it attaches. The fork may have been made by a handler, above a call of the parent's that goes
 * on here when the handler returns. Its event is the parent's if the parent had begun to record it (ft_recording_begin):
 * then its writer leads nowhere from here on and is used by nobody else. 1: so it is.
 */
int ft_thread_orphan(void);
/* Where an orphan's record goes. */
uint64_t *ft_thread_sink(struct ft_chunk_head **chunk);
/* At attach: so many lines have memory. */
void ft_thread_attached(uint32_t lines);
/* Takes memory for `lines` lines now (before a sandbox); what fails is left. */
void ft_thread_prepare(uint32_t lines);

/* ring.c */
/* Reserves `slots` consecutive slots in a chunk whose base is not too old for `now`. NULL: no chunk to be had. */
uint64_t *ft_ring_reserve(struct ft_writer *writer, uint32_t slots, uint64_t now, struct ft_chunk_head **chunk);
/* The same, after a reservation at `cursor` that did not fit. */
uint64_t *ft_ring_reserve_more(struct ft_writer *writer, uint64_t cursor, uint32_t slots, uint64_t now,
                               struct ft_chunk_head **chunk);
/* An event that is to be written in `slots`, ended at `end`; what it adds to the totals where it is dropped. */
struct ft_event {
    uint64_t end, bytes, ticks;
    unsigned call; /* 0: of the application */
    uint32_t slots;
    struct ft_chunk_head *chunk; /* set by ft_event_begin, as is what ft_recording_end is to be given */
    uint8_t recording_before;
};

/* Counts the event and reserves its slots, inside ft_recording_begin. NULL: it is dropped, and all is ended. */
uint64_t *ft_event_begin(struct ft_event *event);
/* Its first word, when all else is written. */
void ft_event_end(const struct ft_event *event, uint64_t *word, uint64_t value);
/* Adds an event that found no slot to the line and the totals. */
void ft_ring_drop(struct ft_writer *writer, unsigned call, uint64_t bytes, uint64_t ticks);
/* Takes memory for `chunks` more chunks now (before a sandbox); what fails is left. */
void ft_ring_prepare(uint32_t chunks);
/* Memory behind [from, from + bytes), or -errno. */
int ft_populate(void *from, size_t bytes);

/* arena.c. Private pages for tables: zeroed, with memory behind them; NULL where there is none. Never freed. */
void *ft_arena_page(void);

#endif
