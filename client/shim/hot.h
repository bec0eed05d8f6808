// SPDX-License-Identifier: MIT
/*
 * The path of every recorded call: begin, the real function, end. It makes no system call, takes no lock, allocates
 * nothing and calls no function unless something is out of the ordinary.
 */
#ifndef FT_SHIM_HOT_H
#define FT_SHIM_HOT_H

#include "client/shim/clock.h"
#include "client/shim/fd.h"
#include "client/shim/shim.h"

#include <errno.h>
#include <limits.h>
#include <sys/types.h>
#include <sys/uio.h>

struct msghdr;
struct mmsghdr;

enum { FT_PREFETCH_SLOTS = 8 };

/* How a wrapper's result is to be read. */
enum ft_ret {
    FT_RET_STATUS,    /* 0, or -1 and errno */
    FT_RET_BYTES,     /* bytes moved, or -1 and errno */
    FT_RET_FD,        /* a new descriptor, or -1 and errno */
    FT_RET_VALUE,     /* a number that is no count of bytes moved, or -1 and errno */
    FT_RET_POSITION,  /* lseek */
    FT_RET_ERRNUM,    /* 0, or an errno value; errno itself is not set */
    FT_RET_NEGATIVE,  /* a number, or -errno (libaio) */
    FT_RET_POINTER,   /* NULL and errno where it failed */
    FT_RET_DIR,       /* the same, a directory stream */
    FT_RET_STREAM,    /* the same, a stream */
    FT_RET_MAPPING,   /* MAP_FAILED and errno where it failed */
    FT_RET_END,       /* NULL at the end, or with errno set where it failed */
    FT_RET_ITEMS,     /* a count of items; short counts have errno where the stream has an error */
    FT_RET_CHARACTER, /* a number, negative at the end or where it failed */
    FT_RET_NONE,      /* void, or does not return */
};

/* What a call asked for; constant but for the values, so that what is absent costs nothing. */
struct ft_args {
    int fd, fd2, dirfd, dirfd2;
    const char *path, *path2;
    int64_t size, offset;
    uint64_t arg;
    const struct iovec *vector;
    size_t vector_count;
    const struct msghdr *message;
    const struct mmsghdr *messages; /* as many as the result says */
    struct _IO_FILE *stream;
    const off_t *shifts, *shifts2;
    uint8_t has_stream, has_fd, has_fd2, has_path, has_path2, has_size, has_offset, has_arg;
    uint8_t moves;           /* at and past the descriptor's position */
    uint8_t opens;           /* the result is a new descriptor, named by path if there is one */
    uint8_t offset_or_moves; /* preadv2: offset -1 means the descriptor's position */
    uint8_t fresh;           /* `opens` a nameless file of its own, at position 0 */
    uint8_t appends;         /* at the end of the file, whatever `offset` says */
    uint8_t untracks;        /* the descriptor's position is not known after it */
    uint8_t receives;        /* `message` or `messages` came in */
    uint8_t no_bytes, renames;
    /* `shifts` (of fd), `shifts2` (of fd2) point to an offset that the call moves; NULL: the descriptor's position */
    uint8_t has_shifts, has_shifts2;
    uint8_t ret;
    uint8_t follow; /* enum ft_follow of what is started */
};

/* A call that is running; lives on the wrapper's stack. */
struct ft_call_state {
    uint64_t start;
    struct ft_line *line;
    struct ft_fd *slot; /* of args.fd; NULL: none */
    uint32_t generation;
    uint32_t file; /* 0: unknown */
    uint32_t call_before;
    uint8_t excluded;
    /* What the line showed before: another call that this one interrupts. Set only with call_before. */
    uint32_t file_before;
    int32_t fd_before;
    uint64_t start_before;
    const void *frame_before;
};

/* Everything of a finished call, for the paths that are not hot. */
struct ft_outcome {
    const struct ft_args *args;
    long result;
    uint64_t end, bytes;
    int error; /* errno, 0: ok; taken from the result and errno unless has_error */
    uint8_t has_error;
    uint8_t has_bytes;    /* `bytes` is not the result */
    uint8_t has_position; /* `position` is where the call was */
    int64_t position;
    uint32_t file2;
    struct ft_inode {
        uint64_t device, inode, birth;
        uint8_t kind, known;
    } inode;
    int fds[2];
    uint8_t has_fds;
    int is_cut;
};

/*
 * Ways off the hot path. Where its structs are handed on by value, it is because an address that is taken would keep
 * them in memory, constants and all.
 */
/* In FT_MODE_SLOW: forgets what a vfork child's own close or dup has made untrue. */
struct ft_call_state ft_begin_slow(struct ft_call_state state, int fd);
struct ft_call_state ft_begin_unknown(struct ft_call_state state, int fd);
struct ft_call_state ft_begin_nested(struct ft_call_state state, const void *frame);
void ft_end_nested(struct ft_call_state state);
void ft_end_rare(struct ft_call_state state, unsigned call, const struct ft_args *args, long result, uint64_t end,
                 int64_t position);
/* Finds files and error, and writes the record, with what extensions it needs. Both structs are used up. */
void ft_end_slow(struct ft_call_state *state, unsigned call, struct ft_outcome *outcome);
/* After a call that opened `fd`: its slot; kind and inode go to the outcome. */
void ft_note_opened(const struct ft_call_state *state, struct ft_outcome *outcome, int fd, int flags, int is_stream);
/* The last step of ft_end_slow, for wrappers that have found the files and the error themselves. */
void ft_record(const struct ft_call_state *state, unsigned call, const struct ft_outcome *outcome);

/* 1: record this call. */
FT_HOT int ft_enter(void)
{
    if (ft_likely(ft_thread.mode == FT_MODE_ON) && ft_likely(ft_wiped.base != 0))
        return 1;
    if (ft_thread.mode == FT_MODE_OFF)
        return 0;
    return ft_enter_slow();
}

/* Shows the call in the thread's line and takes the clock. */
FT_HOT void ft_begin(struct ft_call_state *state, unsigned call, const struct ft_args *args)
{
    struct ft_line *line = ft_thread.line;
    state->line = line;
    state->slot = NULL;
    state->file = 0;
    state->generation = 0;
    state->excluded = 0;
    if (args->has_fd) {
        struct ft_fd *slot = ft_fd_find(args->fd);
        if (ft_likely(slot != NULL)) {
            state->generation = __atomic_load_n(&slot->generation, __ATOMIC_RELAXED);
            state->file = __atomic_load_n(&slot->file, __ATOMIC_RELAXED);
            state->slot = slot;
        }
        if (ft_unlikely(ft_thread.mode != FT_MODE_ON))
            *state = ft_begin_slow(*state, args->fd);
        if (ft_unlikely(state->file - 1 >= FT_FILE_EXCLUDED - 1))
            *state = ft_begin_unknown(*state, args->fd);
    }
    state->call_before = line->call;
    if (ft_unlikely(state->call_before != 0))
        *state = ft_begin_nested(*state, __builtin_frame_address(0));
    ft_thread.call_frame = __builtin_frame_address(0);
    line->file = state->file;
    line->fd = args->has_fd ? args->fd : -1;
    state->start = ft_now();
    line->call_start = state->start;
    __asm__ volatile("" : : : "memory"); /* the call is shown last: what it shows is complete */
    line->call = call;
    FT_TEST_POINT(call_shown);
}

FT_HOT uint64_t ft_end_clock(const struct ft_call_state *state)
{
    uint64_t end = ft_now();
    if (ft_likely(state->call_before == 0))
        state->line->call = 0;
    else
        ft_end_nested(*state);
    FT_TEST_POINT(call_done);
    return end;
}

/*
 * The rest of ft_end for the ordinary case: one slot, no extension. The order matters (proto/ring.h): emitted, the
 * reservation, words 1 to 3, then word 0 by a release store. Returns 0 where it was not the ordinary case, having
 * reserved nothing and counted nothing.
 */
FT_HOT int ft_end_in_one_slot(const struct ft_call_state *state, unsigned call, const struct ft_args *args,
                              uint64_t end, uint64_t offset, unsigned flags, unsigned result, unsigned error)
{
    uint64_t duration = end - state->start;
    uint64_t size = args->has_size ? (uint64_t)args->size : args->has_arg ? args->arg : 0;
    if (ft_unlikely((duration >= FT_DURATION_EXT) | (offset > FT_OFFSET_MAX) | (size >> 32 != 0)))
        return 0;
    if (args->has_size && args->has_arg)
        return 0;
    unsigned fd16 = FT_FD16_NONE;
    if (args->has_fd) {
        if (ft_unlikely((unsigned)args->fd >= FT_FD16_EXT))
            return 0;
        fd16 = (unsigned)args->fd;
    }
    flags |= (args->has_size ? FT_CALL_SIZE : 0u) | (args->has_arg ? FT_CALL_ARG : 0u);
    uint8_t before = ft_recording_begin();
    struct ft_writer *writer = ft_thread.writer;
    struct ft_line *line = writer->line;
    FT_TEST_POINT(line_known);
    ft_local_increment(&line->emitted);
    FT_TEST_POINT(emitted);
    uint64_t cursor = ft_local_add(&writer->cursor, 1);
    struct ft_chunk_head *chunk = ft_chunk_of(writer, (uint32_t)(cursor >> 32));
    uint64_t *word;
    if (ft_likely((uint32_t)cursor < FT_CHUNK_SLOTS) && ft_likely(end - chunk->base_ticks <= FT_END_MAX)) {
        word = (uint64_t *)((char *)chunk + FT_CHUNK_HEAD_BYTES + (size_t)(uint32_t)cursor * FT_SLOT_BYTES);
    } else {
        word = ft_ring_reserve_more(writer, cursor, 1, end, &chunk);
        if (word == NULL) {
            uint64_t moved = result == FT_RESULT_SIZE || (flags & FT_CALL_BYTES_SIZE) ? size
                             : result == FT_RESULT_SMALL                              ? offset
                                                                                      : 0;
            ft_ring_drop(writer, call, flags & FT_CALL_NO_BYTES ? 0 : moved, duration);
            ft_recording_end(before);
            return 1;
        }
    }
    FT_TEST_POINT(reserved);
    ft_prefetch(word + FT_PREFETCH_SLOTS * FT_SLOT_WORDS); /* the daemon's core has read these lines last */
    word[1] = (end - chunk->base_ticks) | duration << 40;
    word[2] = (uint64_t)state->file | size << 32;
    word[3] = offset | (uint64_t)error << 48 | (uint64_t)result << 60;
    FT_TEST_POINT(written);
    /* Release: whoever sees word 0 (flowtapd's second pread) sees words 1 to 3. */
    __atomic_store_n(&word[0], FT_W0(FT_RECORD_CALL, 1, call, flags, chunk->fill, fd16), __ATOMIC_RELEASE);
    FT_TEST_POINT(published);
    ft_recording_end(before);
    return 1;
}

/*
 * Ends a call on a descriptor where it is ordinary. 0: it is not (or its constants say that it never is), and
 * ft_end_rare shall do it, with *end_out and *position_out. The wrapper names its arguments again for that, so that here
 * they need no place in memory.
 */
FT_HOT int ft_end_fast(const struct ft_call_state *state, unsigned call, const struct ft_args *args, long result,
                       uint64_t *end_out, int64_t *position_out)
{
    uint64_t end = ft_end_clock(state);
    if (ft_unlikely(state->excluded))
        return 1;
    int64_t position = -1;
    if ((args->moves || (args->offset_or_moves && args->offset == -1 && !args->appends)) && result >= 0)
        position = ft_fd_move(state->slot, result);
    if (args->ret == FT_RET_POSITION && result >= 0)
        ft_fd_positioned(state->slot, result);
    if (ft_likely(ft_thread.mode == FT_MODE_ON) && !args->has_fd2 && !args->vector && !args->message &&
        !args->messages && !args->opens && args->ret != FT_RET_FD) {
        unsigned code = FT_RESULT_EXT, error = 0, flags = 0;
        uint64_t offset = 0;
        if (args->ret == FT_RET_NONE)
            code = FT_RESULT_NONE;
        else if (result == 0 && args->ret != FT_RET_END)
            code = FT_RESULT_ZERO;
        else if (args->ret == FT_RET_BYTES && args->has_size && result == args->size)
            code = FT_RESULT_SIZE;
        else if (args->ret == FT_RET_POSITION && result == args->offset)
            code = FT_RESULT_OFFSET;
        else if ((args->ret == FT_RET_BYTES || args->ret == FT_RET_VALUE) && result > 0 && position < 0 &&
                 !args->has_offset && (uint64_t)result <= FT_OFFSET_MAX) {
            code = FT_RESULT_SMALL;
            offset = (uint64_t)result;
        } else if ((args->ret == FT_RET_STATUS || args->ret == FT_RET_BYTES || args->ret == FT_RET_VALUE ||
                    args->ret == FT_RET_POSITION) &&
                   result == -1) {
            code = FT_RESULT_ERROR;
            error = (unsigned)errno;
        }
        if (args->no_bytes || args->ret != FT_RET_BYTES)
            flags |= FT_CALL_NO_BYTES;
        if (position >= 0) {
            offset = (uint64_t)position;
            flags |= FT_CALL_OFFSET;
        } else if (args->has_offset && !(args->offset_or_moves && args->offset == -1)) {
            offset = (uint64_t)args->offset;
            flags |= FT_CALL_OFFSET;
        }
        if (state->slot != NULL && __atomic_load_n(&state->slot->generation, __ATOMIC_RELAXED) != state->generation)
            flags |= FT_CALL_RACED;
        if (ft_likely(code != FT_RESULT_EXT) &&
            ft_likely(ft_end_in_one_slot(state, call, args, end, offset, flags, code, error)))
            return 1;
    }
    *end_out = end;
    *position_out = position;
    return 0;
}

/* Both in one, for wrappers written by hand. */
void ft_end(const struct ft_call_state *state, unsigned call, const struct ft_args *args, long result);

#endif
