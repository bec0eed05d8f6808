// SPDX-License-Identifier: MIT
/*
 * Streams. glibc's own reads and writes below a stream never pass through the wrappers, so a stream's calls say what
 * moved: for input what the call delivered plus the change of what is buffered; for output what the program handed
 * over, and what inlined putc put into the buffer since the last call that was seen.
 */
#ifndef FT_SHIM_STDIO_STATE_H
#define FT_SHIM_STDIO_STATE_H

#include "client/shim/hot.h"

#include <stdio.h>

struct ft_stdio {
    struct ft_call_state state;
    struct ft_args args;
    size_t buffered;                         /* input: read but not delivered yet */
    const char *pointer_before, *end_before; /* of the read buffer */
    int64_t offset_before;                   /* where glibc believes the descriptor to be, its output written */
    int64_t position_before;                 /* where the kernel says it is; -1: not asked */
    uint64_t unseen;                         /* output: put by inlined code since the last recorded call */
};

/* -1 where it has none: streams in memory have anything in the place where others keep it. */
int ft_stdio_descriptor(const FILE *stream);
/* With io->args given; fills args.fd from args.stream (which may be NULL: no stream). */
void ft_stdio_begin(struct ft_stdio *io, unsigned call);
/* `delivered`: bytes that the call itself gave to or took from the program. */
void ft_stdio_end_input(struct ft_stdio *io, unsigned call, long result, uint64_t delivered);
/* fgets: `delivered` is less than that where what was read holds zeros. */
void ft_stdio_end_line(struct ft_stdio *io, unsigned call, long result, uint64_t delivered);
/* fseek and its like: what they read ahead. */
void ft_stdio_end_seek(struct ft_stdio *io, unsigned call, long result);
/* scanf: how much it consumed is not told, and taken from the stream's own pointers. */
void ft_stdio_begin_scan(struct ft_stdio *io, unsigned call);
void ft_stdio_end_scan(struct ft_stdio *io, unsigned call, long result);
void ft_stdio_end_output(struct ft_stdio *io, unsigned call, long result, uint64_t delivered);
/* Of wide characters, which glibc keeps in a buffer of their own: what the call itself gave or took. */
void ft_stdio_end_wide(struct ft_stdio *io, unsigned call, long result, uint64_t bytes);
void ft_stdio_end(struct ft_stdio *io, unsigned call, long result);
/* fflush, also of all streams. */
void ft_stdio_end_flush(struct ft_stdio *io, unsigned call, long result);
/* Bytes in the write buffer that no recorded call has counted; then they count as recorded. */
uint64_t ft_stdio_take_unseen(FILE *stream);
/* Records it as an fflush of its own, before a call whose bytes are others. */
void ft_stdio_flush_unseen(FILE *stream);
/* At the process's orderly end, or when all streams are flushed: records what is still unseen in the streams that are known. */
void ft_stdio_finish(void);

#endif
