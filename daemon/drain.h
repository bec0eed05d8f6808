// SPDX-License-Identifier: MIT
//
// From records to events: the chunks that a batch holds of one process, in order, into the trace writer's block.
//
// Definitions are read first, of all chunks, since a name may be defined by one thread and used by another. A record
// that uses a name not yet seen waits for the next block once: its definition was published before it.
//
// Belongs to the worker that has the job.
#ifndef FT_DAEMON_DRAIN_H
#define FT_DAEMON_DRAIN_H

#include "daemon/batch.h"
#include "daemon/clock.h"
#include "daemon/live.h"
#include "daemon/lives.h"
#include "daemon/mounts.h"
#include "daemon/process.h"
#include "daemon/record.h"
#include "proto/trace_writer.h"

struct ft_drain {
    const struct ft_batch *batch;
    struct ft_trace_writer *writer; // NULL: there is no file
    bool no_news;                   // what a successor needs besides is not told now
    bool no_rows;                   // events are counted as lost by `cause`; so they are without a writer
    uint32_t part;                  // of the writer's file
    bool is_replay;                 // rows were lost: events are counted again, nothing else changes
    enum ft_cause cause;
    uint32_t block; // number of this block
    int64_t now_ns, torn_wait_ns;
    struct ft_clock_view *view;
    struct ft_mounts *mounts;
    struct ft_lives *lives;
    uint64_t rows_max;    // of one block
    struct ft_live *live; // what is added up for who watches; NULL: nobody does
    bool must_not_wait;   // a last drain: what is not there will not come

    // where the files of the latest device lie
    struct {
        uint64_t dev;
        uint32_t mount, fstype, block_size;
        bool is_known;
    } place;

    // of the process being drained
    uint32_t cached_id, cached_file;

    // when the call began whose path is to be looked up
    int64_t asked_ns;
};

enum ft_drain_result { FT_DRAIN_DONE, FT_DRAIN_BLOCK_FULL, FT_DRAIN_LATE };

// What the takers of a record return, besides 0 and -EBADMSG: it may not be consumed yet.
#define FT_DRAIN_WAIT 1

// Reads the definitions in pieces [from, to) of one process. -EBADMSG: corrupt.
int ft_drain_names(struct ft_drain *drain, const struct ft_batch *batch, size_t from, size_t to);

// Adds the events of a piece, from piece->to on, and moves that. FT_DRAIN_BLOCK_FULL: end the block, then call again.
// FT_DRAIN_LATE: the rest, and what follows of its line, is for the next batch.
// -EBADMSG: corrupt, what was added is good.
int ft_drain_piece(struct ft_drain *drain, struct ft_piece *piece);

static inline bool ft_drain_keeps_rows(const struct ft_drain *drain)
{
    return drain->writer && !drain->no_rows;
}

// Whether what is missing of this process may still come.
bool ft_drain_may_come(const struct ft_drain *drain, struct ft_process *process);

// Times and what the record tells of itself, but for bytes.
void ft_drain_fill_event(struct ft_drain *drain, const struct ft_process *process, const struct ft_record_event *record,
                         struct ft_event *event);
// Adds the row, or counts it as lost.
int ft_drain_add_row(struct ft_drain *drain, struct ft_process *process, struct ft_event *event);

// Whether what is missing at slot piece->to may still come; begins the wait for it.
bool ft_drain_may_wait(struct ft_drain *drain, const struct ft_piece *piece);

// Adds to the totals of what the daemon itself dropped.
void ft_drain_add_lost(struct ft_process *process, uint16_t call, uint64_t count, uint64_t bytes, uint64_t time_ns);

#endif
