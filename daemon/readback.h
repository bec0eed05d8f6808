// SPDX-License-Identifier: MIT
//
// A trace file of a daemon before us, read back: who was in it, how much of each process it holds, what is to be known to
// go on. The file is as untrusted as any: it costs bounded memory, and what makes no sense in it is left out.
//
// The loop's, when the daemon starts.
#ifndef FT_DAEMON_READBACK_H
#define FT_DAEMON_READBACK_H

#include "daemon/process.h"
#include "proto/trace_resume.h"

struct ft_readback {
    struct ft_trace_reader *reader;
    struct ft_trace_decoder *decoder;
    uint32_t process_max;
    const struct ft_trace_resume **resumes; // the last one by process id; NULL where there is none
    uint64_t *rows;                         // by process id: in all blocks, what sums are of among them
    uint64_t *rows_after;                   // the same behind its resume record (a vfork child's: its parent's)
    uint64_t *capped_after;                 // likewise: of sums, dropped as CAPPED
    int64_t *replaced_ns;                   // by process id: when the image that it executed began; 0 none did
    struct ft_process **processes;          // by process id: that go on
    uint32_t *vforks;                       // process ids of vfork children
    uint32_t vfork_count;
};

// Whether a file was closed in order, by a look at its end alone.
bool ft_readback_is_closed(const char *path);

// Rows of a file that was closed in order, and how many events it has as sums, by its end alone; -errno, -EBADMSG of one
// that was not.
int ft_readback_closed_rows(const char *path, uint64_t *rows, uint64_t *profiled);

// Rows of a file of any kind: where it was not closed its frames are read.
int ft_readback_rows(const char *path, size_t memory_max, uint64_t *rows);

// A reader of the file's header alone.
int ft_readback_peek(const char *path, struct ft_trace_reader **out);

// 0 or -errno.
int ft_readback_open(struct ft_readback *readback, const char *path, size_t memory_max);
void ft_readback_close(struct ft_readback *readback);

// The process with a segment in which a vfork child's rows were; itself, of one that has a segment. 0 unknown.
uint32_t ft_readback_owner(const struct ft_readback *readback, uint32_t id);

// Whether it is in the record as one that runs. vfork children, who have no segment, are not.
bool ft_readback_is_running(const struct ft_readback *readback, uint32_t id);

// Who a process was and what became of its events, as the file tells it. The process is fresh: its segment may be open,
// nothing else was read of it. -ENOMEM, -EBADMSG.
int ft_readback_fill(struct ft_readback *readback, uint32_t id, struct ft_process *process);

// After all processes of the file that go on were filled: names, positions, lines and tags of those with a segment. A
// segment that contradicts itself makes its process corrupt.
void ft_readback_segments(struct ft_readback *readback);

#endif
