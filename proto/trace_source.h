// SPDX-License-Identifier: MIT
//
// Where a trace is read from: a file, never mapped (a file that is cut while it
// is mapped kills its reader), or bytes in memory.
#ifndef FT_PROTO_TRACE_SOURCE_H
#define FT_PROTO_TRACE_SOURCE_H

#include "proto/buffer.h"

#include <stdbool.h>
#include <sys/types.h>

struct ft_source {
    char *path; // NULL: memory
    const uint8_t *memory;
    uint64_t size;   // at open; what is appended later is not seen
    uint64_t serial; // never the same for two sources
    dev_t dev;
    ino_t inode;
};

// A view of a source by one thread, with a buffer of its own.
struct ft_window {
    const struct ft_source *source;
    uint64_t serial; // of the source, which may be gone
    int fd;          // -1 none
    struct ft_buffer buffer;
    uint64_t offset;    // of the buffer's bytes in the source
    size_t ahead_bytes; // how much to read at least
};

// Regular files only: -EISDIR, -EINVAL for others. The descriptor goes to the window.
int ft_source_open(struct ft_source *source, const char *path, struct ft_window *window);
void ft_source_open_memory(struct ft_source *source, const void *bytes, uint64_t len, struct ft_window *window);
void ft_source_close(struct ft_source *source);

// Turns a window (zeroed with fd -1 before its first use) to a source. -ESTALE
// where the path holds another file now, or this one is shorter than it was.
int ft_window_attach(struct ft_window *window, const struct ft_source *source);
void ft_window_detach(struct ft_window *window); // closes and frees

// `len` bytes at `offset`, valid until the next _get; more may be read ahead.
// The caller has checked that they lie within the source. 0, -ESTALE where the
// file became shorter, or -errno.
int ft_window_get(struct ft_window *window, uint64_t offset, size_t len, const uint8_t **out);
// Where bytes that were written begin, at or after `offset`: in between the source is a hole, all zero. Its size where
// there are none.
uint64_t ft_window_skip_hole(const struct ft_window *window, uint64_t offset);

// How many bytes the last _get, which was for this offset, gave in all.
size_t ft_window_available(const struct ft_window *window, uint64_t offset);

#endif
