// SPDX-License-Identifier: MIT
//
// Children that a job's processes made or executed, by their parents' records: who of them does not attach is a gap.
//
// Only processes of the daemon's own pid namespace can be followed this way: elsewhere a fork returns a number that
// means nothing here.
//
// Belongs to the worker that has the job.
#ifndef FT_DAEMON_CHILDREN_H
#define FT_DAEMON_CHILDREN_H

#include "daemon/drain.h"
#include "daemon/record.h"
#include "proto/calls.h"

enum { FT_CHILDREN_EXPECTED_MAX = 4096, FT_CHILDREN_PATH_MAX = 512 };

struct ft_children_expected {
    struct ft_children_expected *next;
    uint32_t pid;
    int64_t due_ns;
    bool is_env_cleaned;
    char path[FT_CHILDREN_PATH_MAX]; // what it executed; that of its parent where it was forked
};

struct ft_children {
    struct ft_children_expected *expected; // newest first
    uint32_t expected_count;
    uint32_t told_part; // file that they are told in, for a successor
    uint32_t *seen;     // pids that attached, open addressing, 0 empty
    uint32_t seen_room, seen_count;
};

struct ft_job;

void ft_children_fini(struct ft_children *children);
void ft_children_note_attached(struct ft_children *children, uint32_t pid);

// Tells a file those that are expected, once.
void ft_children_put(struct ft_children *children, struct ft_drain *drain);
// One that a daemon before us expected.
struct ft_trace_expected;
void ft_children_restore(struct ft_children *children, const struct ft_trace_expected *expected, int64_t now_ns);

// Whether a call makes or replaces a process.
static inline bool ft_children_concern(unsigned call)
{
    return call - FT_CALL_ID_fork <= FT_CALL_ID_pidfd_spawnp - FT_CALL_ID_fork;
}

// A finished call of that kind; and the end of a vfork, which tells the child's pid.
void ft_children_note_call(struct ft_drain *drain, struct ft_process *process, struct ft_process_line *line,
                           const struct ft_record_event *record);
// Of an exec alone: what is about to be executed.
void ft_children_note_exec(struct ft_process *process, struct ft_process_line *line,
                           const struct ft_record_event *record);
void ft_children_note_vfork_end(struct ft_drain *drain, struct ft_process *process, struct ft_process_line *line,
                                uint32_t pid);

// Gaps for those that had their time, or for all (`all`). Returns when the next one is due, INT64_MAX none.
int64_t ft_children_check(struct ft_job *job, struct ft_trace_writer *writer, int64_t now_ns, bool all);

#endif
