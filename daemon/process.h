// SPDX-License-Identifier: MIT
//
// One process image: who it is, its segment, what became of its events.
//
// Made by the loop thread at admission; from ft_job_add() on it belongs to the worker that has its job, except for the
// fields marked "loop". The two speak through the atomics.
#ifndef FT_DAEMON_PROCESS_H
#define FT_DAEMON_PROCESS_H

#include <stdatomic.h>
#include <uv.h>

#include "daemon/clock.h"
#include "daemon/growth.h"
#include "daemon/identity.h"
#include "daemon/live.h"
#include "daemon/mode.h"
#include "daemon/names.h"
#include "daemon/rings.h"
#include "daemon/segment.h"
#include "daemon/tag_times.h"

// What is going on with a process image, in order: it only ever moves on.
enum ft_process_state {
    FT_PROCESS_ALIVE,
    FT_PROCESS_REPLACED, // by the image that its pid executed
    FT_PROCESS_ENDED,    // the pid is a zombie or gone
};

// The kernel's counters of a pid, which run on over exec and take in those of reaped children.
#define FT_PROCESS_COUNTERS(X) X(rchar) X(wchar) X(syscr) X(syscw) X(read_bytes) X(write_bytes) X(major_faults)
struct ft_process_counters {
    bool is_known;
#define X(name) uint64_t name;
    FT_PROCESS_COUNTERS(X)
#undef X
};
struct ft_process_counters_shared {
#define X(name) _Atomic uint64_t name;
    FT_PROCESS_COUNTERS(X)
#undef X
};

// What is about to be executed.
struct ft_process_exec {
    char *path;       // NULL: nothing
    uint8_t follow;   // enum ft_follow
    int64_t since_ns; // when the call began
};

// A vfork child, between VFORK begin and end; a vfork child may have one of its own.
struct ft_process_vfork_level {
    uint32_t pid; // 0 not known
    uint32_t process, thread, part;
    uint64_t rows;
    int64_t start_ns;
};
#define FT_PROCESS_VFORK_LEVELS 4 // told apart; deeper ones are the last

// What a thread line is about, from the records that were consumed of it.
struct ft_process_line {
    uint32_t tid, ordinal;
    uint32_t thread, thread_part;   // THREAD id in the trace file of that part
    uint32_t context, context_part; // CONTEXT id, made anew when context_version is not the process's
    uint32_t context_version;
    uint32_t vfork_depth;
    struct ft_process_vfork_level *vforks; // FT_PROCESS_VFORK_LEVELS, once there was one
    uint32_t tags_count;
    uint32_t *tags;                        // string ids
    const struct ft_tag_set *process_tags; // that the context has
    uint64_t process_tags_ticks;           // from when on this thread itself set one last
    struct ft_process_exec exec;           // of a vfork child
};

// A vfork child whose record a daemon before us began.
struct ft_process_vfork {
    uint32_t pid;
    int64_t start_ns;
    uint64_t rows;
};

// Totals of events that were dropped on the daemon's side.
struct ft_process_lost {
    uint16_t call;
    uint64_t count, bytes, time_ns;
};

struct ft_process {
    // what every pass looks at of every process: together, so that idle ones cost few cache lines
    struct ft_process *next, *previous; // in its job
    struct ft_job *job;
    _Atomic int64_t ended_ns;
    _Atomic int state; // enum ft_process_state; between loop and worker, released after what belongs to the end
    uint32_t trace_id, trace_part; // PROCESS id in the trace file of that part
    bool is_corrupt, is_final;
    bool is_left;       // final, and not over when that was said: what comes is for a daemon that follows
    bool is_cut_off;    // no more is read of it
    bool is_drained;    // it was over already when all that it had was copied: no more can come
    bool is_taken_over; // from a daemon before us
    bool is_lost;       // so, without its segment: nothing more is known of it
    bool is_pressed;    // under half of its chunks are free: what is full is to be written at once
    int64_t next_look_ns, look_interval_ns;
    int64_t next_more_ns; // until then a look that finds nothing new need look at nothing else
    int64_t oldest_ns;    // since when something waits in the segment, 0 nothing
    int64_t next_record_ns;
    struct ft_segment segment;

    // who: does not change
    uint32_t pid, ns_pid, parent_pid, uid, gid;
    uint32_t ns_parent_pid;      // as the process itself sees it
    uint32_t parent_pid_guessed; // the worker's: where parent_pid is not known (inside.h)
    _Atomic uint64_t start_time; // of the pid, clock ticks after boot; 0 unknown, until one looks
    uint64_t pid_namespace;
    int64_t start_ns;        // of the image
    uint64_t parent_segment; // 0 unknown
    uint64_t segment_before; // of the image before an exec
    bool is_exec;
    int pidfd;              // -1 where the kernel has none
    uint64_t pidfd_id;      // the kernel's identity of the pid (6.9); 0 unknown
    uint8_t *hello_bytes;   // the views below point into it
    uint32_t clock;         // enum ft_clock
    int64_t clock_ahead_ns; // of its nanoseconds, before ours (time_namespace.h)
    uint32_t image;         // enum ft_image
    struct ft_bytes exe, argv, environment, cgroup, cwd;
    bool is_argv_cut;
    struct ft_identity identity;
    struct ft_tag tags[FT_PROCESS_TAGS_MAX];
    size_t tags_count;
    unsigned tags_ignored;

    // the worker's
    struct ft_names names;
    struct ft_process_line *lines;
    uint32_t lines_count;
    struct ft_tag_times tags_all; // that hold for the whole process
    uint32_t context_version;
    uint32_t context_version_told;            // to a successor
    uint64_t stored, dropped[FT_CAUSE_COUNT]; // stored: rows that are in the file
    uint64_t vfork_rows;                      // of these: rows of vfork children, which have records of their own
    uint64_t rows_pending;                    // rows added to a block that is not in the file yet
    uint64_t vfork_rows_pending;              // of these
    uint64_t capped_pending;                  // of sums: likewise, dropped as CAPPED
    struct ft_live_sum live;                  // while somebody watches
    int64_t known_ns;                         // what was published until then is drained
    enum ft_mode mode;                        // TRACE, or PROFILE: sums alone
    bool is_capped;                           // its job passed its cap
    uint32_t sums_thread, sums_part;          // THREAD id that its sums stand under, in the trace file of that part
    struct ft_process_vfork *vforks_before;
    uint32_t vforks_before_count;
    struct ft_process_lost *lost;
    uint32_t lost_count;
    uint32_t chunks_wanted; // of the last look
    struct ft_growth growth;
    struct ft_process_exec exec;
    uint64_t gap_stated[FT_SHIM_GAP_COUNT];
    struct ft_rings rings;
    bool has_counts;     // of rings, not told yet
    uint32_t named_gaps; // told by GAP records
    int64_t next_counters_ns, last_event_ns;
    struct ft_process_counters first_counters, counters;
    int64_t end_ns;            // once is_final; 0: it lives on
    uint32_t parent_id;        // PROCESS id of the parent in part trace_part
    uint8_t exit, exit_source; // enum ft_exit, enum ft_exit_source
    int32_t exit_value;
    size_t quota_bytes;   // charged to the user: ring memory, and
    size_t charged_bytes; // what the daemon itself holds for it
    uint64_t names_forgotten;

    // of the end: written by the loop before `state` moves on, read by the worker after
    int64_t parent_since_ns; // its parent is traced since then; 0: there is none, or it is not known
    bool has_done_all;       // where first_counters are not known, end_counters are all the process's own
    struct ft_process_counters end_counters;    // read when it had ended and was not reaped yet
    struct ft_process_counters_shared children; // of reaped children that have records of their own
    bool has_traced_parent;                     // which will have its counters
    int32_t end_status;                         // likewise, as of wait(2); -1 not known
    bool was_dead;                              // it had ended before it was admitted

    // the loop's
    int64_t admitted_ns;
    uint32_t arrival;       // its entry among the arrivals, 0 none
    bool is_stored_at_once; // as soon as the service manager reads
    int store_fd;           // of its segment, while that is to be handed to the service manager; else -1
    char *stored_name;      // NULL: the service manager does not hold it
    struct ft_process *next_of_pid;
    uv_poll_t watch;
    bool has_watch;
};

// A client's own nanoseconds may be any number; sums and differences of two of these, and what they are ahead, are still ones.
static inline int64_t ft_process_claimed_ns(uint64_t ns)
{
    return ns < INT64_MAX / 4 ? (int64_t)ns : INT64_MAX / 4;
}

// What the process's clock said, on ours.
static inline int64_t ft_process_ns(const struct ft_process *process, struct ft_clock_view *view, uint64_t ticks)
{
    if (process->clock == FT_CLOCK_TICKS)
        return ft_clock_view_ns(view, ticks);
    return ft_process_claimed_ns(ticks) - process->clock_ahead_ns;
}

// Reads the Hello into the process: views, cwd, claims. -EBADMSG where it makes no sense. Takes no descriptor.
int ft_process_read_hello(struct ft_process *process);

// The start by the processor's counter, where CLOCK_MONOTONIC says something else: in a time namespace it is another clock.
void ft_process_check_start(struct ft_process *process, struct ft_clock_pairs *clock);

// What /proc and the pidfd tell: parent, start time, counters, job. `relative`: the process that made it, or its image
// before an exec, NULL unknown. `is_private`: every process belongs to the session of the daemon's starter unless it names a job.
void ft_process_identify(struct ft_process *process, const struct ft_process *relative, bool is_private);

// `parent`: its first image's, NULL where that is not traced. `is_private`: the command that the daemon serves counts as
// traced from its fork. Of an image that follows another of its pid this is not told.
void ft_process_note_parent(struct ft_process *process, const struct ft_process *parent, bool is_private);

// The same of a process of which nothing but its pid is known; `out` points to nothing of it.
void ft_process_identify_stranger(uint32_t pid, struct ft_identity *out);

// Session that a private daemon serves. The loop's thread only; asked for first when the daemon starts.
uint32_t ft_process_private_session(void);

// Reads the counters of its pid, if that is still its own. The worker's.
void ft_process_read_counters(struct ft_process *process);

// Whether a pid that was made then can be its own, where that is not known for sure.
bool ft_process_may_be(const struct ft_process *process, uint64_t start_time);

// Reads what is only to be had of a zombie: its parent may reap it at any moment, so this comes first.
void ft_process_catch_end(struct ft_process *process, int state);

// Moves the state on: what belongs to the end is written by now.
void ft_process_note_end(struct ft_process *process, int state, int64_t now_ns);

void ft_process_destroy(struct ft_process *process);

#endif
