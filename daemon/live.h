// SPDX-License-Identifier: MIT
//
// What goes on in a job now, for who watches (flowtap top): sums by process and file since somebody began to. Nobody
// watches: nothing is added up and nothing is kept.
//
// Sums of a job and its files are those of what is new: what a process did long before a picture that was made without it,
// since it was taken in late, would be told as done in an instant, and is in the process's own sum alone.
//
// A sum and its time begin together: what had ended before somebody began to watch is in none, though it is drained later.
//
// The worker adds up while it drains and, five times a second at most, leaves a picture for the loop: of bounded size, never
// changed again, given back by the last who has it. So whoever asks waits for no worker, and no worker for him.
#ifndef FT_DAEMON_LIVE_H
#define FT_DAEMON_LIVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/buffer.h"
#include "proto/intern.h"
#include "proto/trace_writer.h"

struct ft_drain;
struct ft_job;
struct ft_process;

// Processes that a picture shows; files of a job that are told apart at a time.
enum { FT_LIVE_PROCESSES_MAX = 4096, FT_LIVE_FILES_MAX = 1024 };
// Files of all jobs that are told apart at a time, and bytes of a path that are kept: how much memory that is for whoever
// names his jobs and files so.
enum { FT_LIVE_FILES_OF_ALL_MAX = 32768, FT_LIVE_PATH_MAX = 512 };
// At least so long between two pictures.
#define FT_LIVE_EVERY_NS INT64_C(200000000)
// So late may it be: short processes are taken in by the dozen.
#define FT_LIVE_LATE_NS INT64_C(1000000000)

// Calls on whatever; bytes and time of those that move data of files (or of what is not known).
struct ft_live_sum {
    uint64_t ops, read_bytes, written_bytes, io_ns;
};

// A text in the picture.
struct ft_live_text {
    uint32_t at, bytes;
};

struct ft_live_row {
    uint64_t id;
    struct ft_live_sum sum;
    uint64_t events, dropped; // of a process or a job: in all
    int64_t since_ns;         // what happened from then on is in the sum, up to the picture's as_of_ns
    uint32_t pid;
    struct ft_live_text name;
    uint32_t call;   // the call that one of its threads is in for longest; 0 none
    int64_t call_ns; // for so long, when the picture was made
    struct ft_live_text call_path;
};

struct ft_live_picture {
    atomic_uint references;
    int64_t as_of_ns;
    struct ft_live_row job;
    struct ft_live_row *processes, *files;
    size_t process_count, file_count;
    uint64_t processes_left_out, calls_left_out; // of files: calls, of which the job's sum alone knows
    struct ft_buffer text;
};

struct ft_live {
    _Atomic int64_t until_ns; // somebody watches until then; the loop sets it
    // the worker's
    bool is_on;
    int64_t since_ns, as_of_ns, made_ns; // as_of_ns: of the last picture
    struct ft_live_sum sum;
    uint64_t shown_ops;                   // of the sum, in the last picture
    uint64_t ended_events, ended_dropped; // of processes that are gone
    struct ft_intern paths;
    struct ft_live_sum *files; // by id of `paths` - 1
    size_t files_room;
    uint32_t *path_of_file; // by FILE id of part `part`: id of `paths`, UINT32_MAX none
    size_t path_of_file_room;
    uint32_t part;
    uint64_t calls_left_out; // on files that had no room
    // between loop and worker, under the job's lock
    struct ft_live_picture *picture;
};

// All that it has; nobody works on the job.
void ft_live_fini(struct ft_live *live);

// The worker's: begins or ends watching as is due. The job's, or NULL: nobody watches.
struct ft_live *ft_live_check(struct ft_job *job, int64_t now_ns);

// An event that was taken in.
void ft_live_add(struct ft_drain *drain, struct ft_process *process, const struct ft_event *event);

// A process is gone.
void ft_live_note_gone(struct ft_live *live, const struct ft_process *process);

// Events of a process that were dropped.
uint64_t ft_live_dropped_of(const struct ft_process *process);
// Where there is no room for another file, the half that did least goes.
void ft_live_make_room(struct ft_live *live);

// At the end of a pass: leaves a picture where one is due. When the next one is: INT64_MAX where it would be the same.
int64_t ft_live_show(struct ft_job *job, int64_t now_ns);

// The loop's: the last picture, to be given back; NULL where there is none.
struct ft_live_picture *ft_live_take(struct ft_job *job);
void ft_live_give_back(struct ft_live_picture *picture);

#endif
