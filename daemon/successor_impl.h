// SPDX-License-Identifier: MIT
//
// What the files of the successor share.
#ifndef FT_DAEMON_SUCCESSOR_IMPL_H
#define FT_DAEMON_SUCCESSOR_IMPL_H

#include "daemon/daemon.h"
#include "daemon/readback.h"
#include "daemon/stored_name.h"
#include "proto/intern.h"

// A segment that the service manager gave back.
struct ft_stored {
    struct ft_stored_name id;
    char *name;
    int fd;                     // -1: given to its process, or no segment
    struct ft_process *process; // once it was found in a file
    bool is_done;               // all of its process is in a file
    int64_t born_ns;            // of its memory, CLOCK_REALTIME; no file before can tell of it
};

struct ft_successor {
    struct ft_daemon *daemon;
    struct ft_stored *stored;
    size_t stored_count;
    struct ft_process **processes; // that go on, or are lost; each has its job
    size_t process_count, process_room;
};

// The files of one job in a folder.
struct ft_successor_chain {
    char job[FT_IDENTITY_JOB_MAX + 1];
    struct ft_job *made;   // once there is something to be told of it
    uint32_t next_part;    // behind the newest file
    struct ft_intern seen; // segments that newer files have a record of
    bool is_done;
};

// Reads the spool (successor_files.c).
void ft_successor_read_spool(struct ft_successor *successor);

// One file of a chain (successor_file.c). Of a chain that is done it is asked for what is held alone: processes of which
// all is written, and the service manager was not told any more.
void ft_successor_read_file(struct ft_successor *successor, struct ft_successor_chain *chain,
                            struct ft_readback *readback, bool is_newest);

// A segment of this process that nobody has taken yet; NULL where there is none.
struct ft_stored *ft_successor_find(const struct ft_successor *successor, const struct ft_trace_process *record);

#endif
