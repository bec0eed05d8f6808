// SPDX-License-Identifier: MIT
//
// Processes and images that a job's processes start, by their records: who of them does not attach is a gap.
//
// A record says what is known to keep the new one away (enum ft_follow); its file may (daemon/exe.h); and of a child that
// failed, or of an exec that left our variables out, a count in its parent's segment. A gap is written when it is known:
// of one that lives and gives no reason that is when it has ended, since it may attach yet.
//
// In another pid namespace than the daemon's a fork returns a number that means nothing here: its children are looked for
// among all that attached from such places with that number.
//
// Belongs to the worker that has the job.
#ifndef FT_DAEMON_CHILDREN_H
#define FT_DAEMON_CHILDREN_H

#include "daemon/drain.h"
#include "daemon/exe.h"
#include "daemon/record.h"
#include "daemon/seen.h"
#include "proto/calls.h"

enum {
    FT_CHILDREN_EXPECTED_MAX = 4096,
    FT_CHILDREN_PATH_MAX = 512,
    FT_CHILDREN_VERDICTS = 64,
    FT_CHILDREN_FOLLOWS = (FT_CALL_FOLLOW >> FT_FOLLOW_SHIFT) + 1,
};

enum ft_children_way { FT_CHILDREN_FORKED, FT_CHILDREN_SPAWNED, FT_CHILDREN_EXECUTED };

struct ft_children_expected {
    struct ft_children_expected *next;
    uint32_t pid, uid, gid;
    uint8_t way;    // enum ft_children_way; executed: by this very pid
    uint8_t follow; // enum ft_follow
    bool is_inside; // pid is a number of its parent's pid namespace, which is not ours
    bool has_come;  // another job has it
    bool has_failed_gap;
    enum ft_shim_gap failed_gap; // what the parent's segment says of it
    uint64_t parent;             // segment of the process whose record it is
    uint32_t parent_pid;
    struct ft_exe_verdict at_first; // what its file told when its record came: later it may be gone
    int64_t since_ns;               // what attaches from then on may be it
    int64_t due_ns;
    char path[FT_CHILDREN_PATH_MAX]; // what it executed; that of its parent where it was forked
};

struct ft_children {
    struct ft_children_expected *expected; // newest first
    uint32_t expected_count;
    int64_t due_ns;                       // when the next one is to be looked at, INT64_MAX none
    uint64_t shells[FT_CHILDREN_FOLLOWS]; // of system, popen, wordexp, by enum ft_follow, that are to be told as gaps
    uint32_t told_part;                   // file that they are told in, for a successor
    struct ft_seen seen;
    struct ft_seen seen_inside; // those of other pid namespaces, by their numbers there
    struct ft_exe_known known[FT_CHILDREN_VERDICTS];
};

struct ft_job;

void ft_children_init(struct ft_children *children);
void ft_children_fini(struct ft_children *children);
void ft_children_note_attached(struct ft_children *children, uint32_t pid, uint32_t ns_pid, int64_t attached_ns,
                               struct ft_bytes exe);

// Tells a file those that are expected, once.
void ft_children_put(struct ft_children *children, struct ft_drain *drain);
// One that a daemon before us expected.
struct ft_trace_expected;
void ft_children_restore(struct ft_children *children, const struct ft_trace_expected *expected, int64_t now_ns);

// Whether a call makes or replaces a process.
static inline bool ft_children_concern(unsigned call)
{
    return call - FT_CALL_ID_fork <= FT_CALL_ID_forkpty - FT_CALL_ID_fork || call == FT_CALL_ID___fork ||
           call == FT_CALL_ID_popen || call == FT_CALL_ID_wordexp;
}

// A finished call of that kind that began at `start_ns`; and the end of a vfork, which tells the child's pid.
void ft_children_note_call(struct ft_drain *drain, struct ft_process *process, struct ft_process_line *line,
                           const struct ft_record_event *record, int64_t start_ns);
// Of an exec alone: what is about to be executed.
void ft_children_note_exec(struct ft_process *process, struct ft_process_line *line,
                           const struct ft_record_event *record, int64_t start_ns);
void ft_children_note_vfork_end(struct ft_drain *drain, struct ft_process *process, struct ft_process_line *line,
                                uint32_t pid);

// A process is over: what its segment says of children that are waited for is taken from it.
void ft_children_note_over(struct ft_drain *drain, struct ft_process *process);

// Gaps for those that had their time, or for all (`all`).
void ft_children_check(struct ft_job *job, struct ft_trace_writer *writer, int64_t now_ns, bool all);

#endif
