// SPDX-License-Identifier: MIT
//
// The daemon's view of one segment (proto/ring.h): a memfd that a client can write at any moment.
//
// Nothing is mapped but the lines of a process that rests (resting.h). Bytes are copied out with pread(2) and looked at in the copy; geometry, the fill and the slots
// that were consumed of each chunk are kept here, and every index is checked against them. Functions that return
// -EBADMSG say "corrupt": the client is cut off, what was read before is kept.
#ifndef FT_DAEMON_SEGMENT_H
#define FT_DAEMON_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/resting.h"
#include "proto/ring.h"

struct ft_segment_geometry {
    uint64_t bytes;
    uint32_t totals_page, totals_more_page, hello_page, hello_pages;
    uint32_t lines_page, lines_max, pool_page, chunks_max;
};

// Where the daemon is in one chunk.
struct ft_segment_position {
    uint64_t fill;      // filling that `consumed` speaks of; 0: none yet
    int64_t waiting_ns; // since when an unpublished slot keeps us from going on; 0: none does
    uint16_t consumed;  // slots
    bool has_holes;     // slots were passed over that may still be published: not freed while the process lives
    bool is_closed;     // consumed whole and not freed yet: this filling has nothing more to give
    bool was_deferred;  // the record at `consumed` had to wait for a name once
};

// Sums over the lines, and the live words, as of the last look.
struct ft_segment_counts {
    uint64_t emitted, dropped, limited;
    uint32_t lines_used, chunks_ready, chunks_wanted, names_lost, settings_ignored, sandbox;
    uint32_t chunks_used;  // not FREE
    uint32_t chunks_taken; // by the shim, as it says: at most FT_CHUNKS_BY_SHIM
};

struct ft_segment {
    int fd; // -1 when closed
    uint64_t id;
    uint32_t pid_claimed;
    uint32_t chunks_granted;
    struct ft_segment_geometry geometry;
    struct ft_segment_counts counts;
    struct ft_line *lines; // copies, counts.lines_used of them
    uint32_t lines_room;
    uint8_t *states; // copies, counts.chunks_ready of them
    struct ft_segment_position *positions;
    uint32_t positions_count;
    struct ft_resting resting;
};

// Reads and checks the head. Takes `fd` on success. -EBADMSG: no segment of ours; -EAGAIN: not ready; -EPROTO: another
// major version of the ABI.
int ft_segment_open(struct ft_segment *segment, int fd, uint64_t bytes);
void ft_segment_close(struct ft_segment *segment);

// One number from the two words that identify a segment.
uint64_t ft_segment_mix_id(const uint64_t id[2]);

// Copies the Hello with its items; *out is malloc'ed, *bytes at least sizeof(struct ft_hello).
int ft_segment_read_hello(const struct ft_segment *segment, uint8_t **out, size_t *bytes);

// Reads the lines, and, where they changed, the live words and chunk states. *changed tells.
int ft_segment_look(struct ft_segment *segment, bool *changed);
// Has what the next look needs brought near.
void ft_segment_fetch(const struct ft_segment *segment);

// The same, without asking whether anything changed: chunk states are as fresh as can be.
int ft_segment_look_again(struct ft_segment *segment);

// Copies chunks [first, first + count) to `out`.
int ft_segment_read_chunks(const struct ft_segment *segment, uint32_t first, uint32_t count, void *out);

// The daemon's position in a chunk; grows the table. NULL where there is no memory. `chunk` < geometry.chunks_max.
struct ft_segment_position *ft_segment_position(struct ft_segment *segment, uint32_t chunk);

// Notes how much of a chunk is in a file, for a successor / gives it back to the shim, which comes second.
void ft_segment_store_consumed(const struct ft_segment *segment, uint32_t chunk, uint64_t fill, uint32_t consumed);
void ft_segment_free_chunks(const struct ft_segment *segment, uint32_t first, uint32_t count);

// What was noted last: FT_CONSUMED, which a client may have overwritten. `chunk` < geometry.chunks_max.
int ft_segment_read_consumed(const struct ft_segment *segment, uint32_t chunk, uint64_t *word);

// How many chunks the shim may take on its own account.
void ft_segment_allow(const struct ft_segment *segment, uint32_t count);

// Puts memory behind `count` chunks more, as far as there are, on the daemon's account and tells the shim.
int ft_segment_grant(struct ft_segment *segment, uint32_t count);

// How many there are on the daemon's account.
uint32_t ft_segment_granted(const struct ft_segment *segment);

// What a daemon before us granted.
int ft_segment_restore_granted(struct ft_segment *segment);

// The gaps that the shim counted (enum ft_shim_gap), and the calls through io_uring rings that it knows of.
int ft_segment_read_gaps(const struct ft_segment *segment, uint64_t *count, uint64_t *ring_calls);
// Its gaps by sandboxes are of threads whose system calls are dispatched, and of nothing else.
bool ft_segment_is_dispatched(const struct ft_segment *segment);

// Adds up all copies of the totals into rows, which has FT_TOTALS_ROWS of them, by call; rows[0] is what found no row.
int ft_segment_read_totals(const struct ft_segment *segment, struct ft_total *rows);

#endif
