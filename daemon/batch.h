// SPDX-License-Identifier: MIT
//
// Copies of the chunks that one block is made of.
//
// ft_batch_collect() copies what a segment has to give, in the order of its lines and, within a line, of its chunks. A
// chunk being filled is read twice (proto/ring.h): the first read says how far it is published, the second is kept.
// After the block is in the file, ft_batch_commit() frees what was consumed.
//
// Belongs to the worker that has the job.
#ifndef FT_DAEMON_BATCH_H
#define FT_DAEMON_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/ring.h"

enum { FT_BATCH_SLAB_CHUNKS = 64 };

struct ft_process;

struct ft_piece {
    struct ft_process *process;
    const uint8_t *bytes; // copy of the chunk
    struct ft_chunk_head head;
    uint32_t chunk;
    uint16_t from, to; // slots: consumed before, consumed now
    uint16_t end;      // nothing behind this slot is looked at
    uint16_t written;  // slots that earlier ranges of this batch cover
    uint8_t state;     // enum ft_chunk_state, read before the copy
    bool has_holes;
    bool has_names;       // there are DEFINE or TAGS records in it
    uint64_t dropped[2];  // slots whose events found no room in the block: they are counted, whatever becomes of it
    uint64_t until_ticks; // what ends later may have come after something that is not in the batch
};

struct ft_batch {
    struct ft_piece *pieces;
    size_t count, room;
    uint8_t **slabs; // copies, FT_BATCH_SLAB_CHUNKS in each
    size_t slabs_count, chunks_used;
};

void ft_batch_fini(struct ft_batch *batch);
void ft_batch_reset(struct ft_batch *batch);

// Appends pieces of `process`; the first is *first. -EBADMSG: corrupt. -ENOMEM: not all fitted, what is there is good.
int ft_batch_collect(struct ft_batch *batch, struct ft_process *process, size_t *first);

// Pieces [from, to) are in the file as far as `to` of each says (or are given up): positions move on, chunks are freed.
void ft_batch_commit(struct ft_batch *batch, size_t from, size_t to);

// Gives memory back where it stands idle.
void ft_batch_trim(struct ft_batch *batch);
// How much that would be.
size_t ft_batch_memory(const struct ft_batch *batch);

#endif
