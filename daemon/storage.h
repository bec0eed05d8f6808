// SPDX-License-Identifier: MIT
//
// The trace file of one job: encoding by proto/trace_writer.h, whole frames to the disk, rotation, a full disk.
//
// A file is created with the first process that has something to say, never opened again. On a full disk what was
// written in part is cut off again, blocks are refused (their rows are dropped as disk_full) and tried again once a
// second; records, which are small, take the spool's reserve.
//
// Belongs to the worker that has the job.
#ifndef FT_DAEMON_STORAGE_H
#define FT_DAEMON_STORAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/clock.h"
#include "daemon/detached.h"
#include "proto/trace_writer.h"

struct ft_daemon;
struct ft_job;

struct ft_storage {
    struct ft_trace_writer *writer; // NULL: no file yet
    int fd;
    uint32_t part;          // counts the files of this job, from 1: ids of another part mean nothing
    int64_t created_ns;     // CLOCK_MONOTONIC
    int64_t next_clock_ns;  // when the next CLOCK record is due
    int64_t retry_ns;       // the disk is full: blocks are not tried before; 0: it is not
    uint32_t number;        // n of the next file's name
    uint32_t first_number;  // n of the first file that this daemon made for the job, where part is not 0
    _Atomic uint64_t rows;  // in the file that is open, and events that it has as sums
    _Atomic uint64_t inode; // of that file; 0: none is
    struct ft_place place;  // of that file
    bool has_name;
    bool counts_links; // some file systems say 0 of every file
    bool has_failed;   // said once that no file can be made
    char path[4096];
};

// The spool folder, made where it is missing; -errno, after a message, where nothing can be written there.
int ft_storage_check_spool(const struct ft_daemon *daemon);

// Last component of the folder of a job's files.
void ft_storage_job_folder(const struct ft_job *job, char *out, size_t room);

// A writer for the job, with its file created; follows the last file with a new one where that is due.
int ft_storage_begin(struct ft_storage *storage, struct ft_job *job, int64_t now_ns);

// True where rows should not be encoded now: the disk is full and it is too early to try again.
bool ft_storage_is_full(struct ft_storage *storage, struct ft_job *job, int64_t now_ns);

// Writes what the writer has in its buffer. -ENOSPC (EDQUOT, EIO, ...): blocks are gone, *rows_lost of them, and the
// records are kept for later.
int ft_storage_write(struct ft_storage *storage, struct ft_job *job, int64_t now_ns, uint64_t *rows_lost);

// Notes how the clocks stand, now and then.
void ft_storage_note_clock(struct ft_storage *storage, struct ft_clock_pairs *clock, int64_t now_ns);

// Whether bytes wait that could not be written.
bool ft_storage_is_behind(const struct ft_storage *storage);

// Index and end; closes the file. Does nothing where there is none. False where not all of it could be written.
bool ft_storage_finish(struct ft_storage *storage, struct ft_job *job, int64_t now_ns);

// The file that is open and what is in it, of one moment; both 0 where there is none. Any thread.
void ft_storage_read_open(const struct ft_storage *storage, uint64_t *inode, uint64_t *rows);

// The last file has grown too large or too old: the next begin starts another.
bool ft_storage_wants_next(struct ft_storage *storage, const struct ft_job *job, int64_t now_ns);

#endif
