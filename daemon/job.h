// SPDX-License-Identifier: MIT
//
// A job on this node: its processes, its trace file, and the work that is done for it.
//
// The loop thread owns the list of jobs, adds processes through the inbox and decides when a worker takes a job; one
// worker at a time has it, and everything below "the worker's" is its own. ft_pass_run() is that work.
#ifndef FT_DAEMON_JOB_H
#define FT_DAEMON_JOB_H

#include <pthread.h>
#include <stdatomic.h>
#include <uv.h>

#include "daemon/batch.h"
#include "daemon/children.h"
#include "daemon/clock.h"
#include "daemon/headroom.h"
#include "daemon/live.h"
#include "daemon/lives.h"
#include "daemon/process.h"
#include "daemon/queues.h"
#include "daemon/refused.h"
#include "daemon/spool.h"
#include "daemon/storage.h"
#include "proto/trace_resume.h"

struct ft_daemon;

struct ft_job {
    struct ft_job *next;
    struct ft_daemon *daemon;
    uint32_t uid;
    char key[FT_IDENTITY_JOB_MAX + 1];
    struct ft_identity identity;

    // between loop and worker
    pthread_mutex_t lock;
    struct ft_process *inbox; // under the lock
    uint32_t inbox_count;     // likewise
    struct ft_process *done;  // under the lock: final, to be taken back by the loop
    _Atomic bool is_finishing;
    struct ft_refused refused;  // under the lock
    bool must_have_file;        // also without a process: a private daemon's
    int64_t realtime_offset_ns; // of all of the job's files
    struct ft_queues queues;    // what waits; see queues.h
    struct ft_live live;        // what goes on, for who watches
    _Atomic int64_t wake_ns;    // a pass is wanted at this time, whatever the last one said

    // the loop's
    uv_timer_t timer;
    uv_work_t work;
    bool is_running, is_closing, is_finished;
    uint32_t process_count;
    int64_t empty_since_ns; // no process; 0: there is one
    int64_t wanted_ns;      // when a pass is due for other reasons than the inbox, INT64_MAX never

    // the worker's
    struct ft_process *processes;
    uint32_t worker_count;
    struct ft_storage storage;
    struct ft_batch batch;
    struct ft_children children;
    struct ft_clock_view *view; // of the pass that is on
    struct ft_lives lives;
    struct ft_headroom_cache headroom;
    uint32_t block_number;
    uint64_t events;       // rows in its files
    uint64_t bytes_before; // of its files but the one being written
    bool has_earlier;      // both have what was there before this daemon had the job (earlier.h)
    bool is_capped;        // passed max_events_per_job, max_bytes_per_job or max_user_stored
    bool has_counts;       // of some process
    int64_t next_pass_ns;  // what the pass tells the loop: when the next one is due, INT64_MAX never
    bool has_had_process;
    int64_t next_records_ns;                // records of new processes are not written before
    bool has_records;                       // there are some that wait for it
    bool is_unwritten;                      // what was to be in the file is not: the disk is full
    struct ft_trace_taken_over *taken_over; // files that the next file goes on from
    size_t taken_over_count;
    bool is_all_written; // finishing: nothing is left to do
};

// The job of a process, made where there is none. `is_held`: a daemon before us had the process, and what a user may have is
// not asked. 0; -EUSERS: over max_jobs or max_jobs_per_user; -ENOMEM.
int ft_job_get(struct ft_daemon *daemon, const struct ft_process *process, bool is_held, struct ft_job **out);

// One that is here and is not finishing: of that name, or (NULL) any of the user's. NULL: there is none.
struct ft_job *ft_job_find(struct ft_daemon *daemon, const char *key, uint32_t uid);

// Whether a user has as many jobs as one may (max_jobs_per_user). What a daemon before us had is gone on with all the same.
bool ft_job_has_its_share(const struct ft_daemon *daemon, uint32_t uid);

// The job of that name and user, which a daemon before us had, made where there is none. NULL where it cannot be had
// (max_jobs, memory).
struct ft_job *ft_job_make(struct ft_daemon *daemon, uint32_t uid, const struct ft_identity *identity);

// The private daemon's only job, made where there is none yet.
struct ft_job *ft_job_get_private(struct ft_daemon *daemon);

// Adds the jobs that are here, of one user or (UINT32_MAX) of all, with what they have stored; a private daemon has none.
// 0, -ENOMEM.
int ft_job_list_running(struct ft_daemon *daemon, uint32_t uid, struct ft_spool_list *list);

// Hands a process over and wakes the job.
void ft_job_add(struct ft_job *job, struct ft_process *process);

// A pass as soon as a worker is free; at `when_ns` at the latest.
void ft_job_wake(struct ft_job *job, int64_t when_ns);

// Everything is to be written and the file closed; alive processes become gaps.
void ft_job_finish(struct ft_job *job);

#endif
