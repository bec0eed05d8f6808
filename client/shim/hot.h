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
    const char *path_before;
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
        uint8_t kind, known, is_exact;
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
void ft_begin_other(struct ft_call_state *state, unsigned call, const struct ft_args *args, const void *frame);
/* What ft_end_plain left; `end` 0: even the clock. */
void ft_end_other(struct ft_call_state state, unsigned call, const struct ft_args *args, long result, uint64_t end,
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

/* Where a call is on the stack, the same for all that a wrapper is made of: above it is what the caller passed. */
#define FT_FRAME() __builtin_dwarf_cfa()

/* Shows the call in the thread's line and takes the clock. */
FT_HOT void ft_begin_in(struct ft_call_state *state, unsigned call, const struct ft_args *args, const void *frame)
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
        *state = ft_begin_nested(*state, frame);
    ft_thread.call_frame = frame;
    line->file = state->file;
    line->fd = args->has_fd ? args->fd : -1;
    state->start = ft_now();
    line->call_start = state->start;
    __asm__ volatile("" : : : "memory"); /* the call is shown last: what it shows is complete */
    line->call = call;
    FT_TEST_POINT(call_shown);
}

FT_HOT void ft_begin(struct ft_call_state *state, unsigned call, const struct ft_args *args)
{
    ft_begin_in(state, call, args, FT_FRAME());
}

/*
 * The same where the mode is FT_MODE_ON and nothing else is out of the ordinary: a descriptor whose file is known, and no
 * call that this one interrupts. 0: something is, and the call has not begun. Since it calls nothing, all that it knows
 * stays in registers; and what it has seen the end need not look at again.
 */
FT_HOT int ft_begin_plain(struct ft_call_state *state, unsigned call, const struct ft_args *args)
{
    struct ft_line *line = ft_thread.line;
    state->line = line;
    state->slot = NULL;
    state->file = 0;
    state->generation = 0;
    if (args->has_fd) {
        struct ft_fd *slot = ft_fd_find_near(args->fd);
        if (ft_unlikely(slot == NULL))
            return 0;
        state->generation = __atomic_load_n(&slot->generation, __ATOMIC_RELAXED);
        state->file = __atomic_load_n(&slot->file, __ATOMIC_RELAXED);
        state->slot = slot;
        if (ft_unlikely(state->file - 1 >= FT_FILE_EXCLUDED - 1))
            return 0;
    }
    if (ft_unlikely(line->call != 0))
        return 0;
    ft_thread.call_frame = FT_FRAME();
    line->file = state->file;
    line->fd = args->has_fd ? args->fd : -1;
    if (ft_unlikely(ft_thread.mode != FT_MODE_ON)) /* a handler came: there may be no counter any more */
        return 0;
    state->start = ft_ticks();
    line->call_start = state->start;
    __asm__ volatile("" : : : "memory"); /* as above */
    line->call = call;
    FT_TEST_POINT(call_shown);
    return 1;
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

/* How a call ended, as word 3 has it beside the offset. */
#define FT_ENDED(code, error) ((uint64_t)(error) << 48 | (uint64_t)(code) << 60)

/*
 * The rest of ft_end for the ordinary case: one slot, no extension. The order matters (proto/ring.h): emitted, the
 * reservation, words 1 to 3, then word 0 by a release store. Returns 0 where it was not the ordinary case, having
 * reserved nothing and counted nothing.
 */
FT_HOT int ft_end_in_one_slot(const struct ft_call_state *state, unsigned call, const struct ft_args *args,
                              uint64_t end, uint64_t offset, unsigned flags, uint64_t ended)
{
    uint64_t duration = end - state->start;
    uint64_t size = args->has_size ? (uint64_t)args->size : args->has_arg ? args->arg : 0;
    _Static_assert(FT_OFFSET_MAX == (UINT64_C(1) << 48) - 1, "an offset has 48 bits");
    if (ft_unlikely((offset >> 48 | size >> 32) != 0) || ft_unlikely(duration >= FT_DURATION_EXT))
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
            unsigned code = FT_W3_RESULT(ended);
            uint64_t moved = code == FT_RESULT_SIZE || (flags & FT_CALL_BYTES_SIZE) ? size
                             : code == FT_RESULT_SMALL                              ? offset
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
    word[3] = offset | ended;
    FT_TEST_POINT(written);
    /* Release: whoever sees word 0 (flowtapd's second pread) sees words 1 to 3. */
    __atomic_store_n(&word[0], FT_W0(FT_RECORD_CALL, 1, call, flags, chunk->fill, fd16), __ATOMIC_RELEASE);
    FT_TEST_POINT(published);
    ft_recording_end(before);
    return 1;
}

/* Where the call was in its file, which it moves; -1: that is not known, or it does not. */
FT_HOT int64_t ft_end_position(const struct ft_call_state *state, const struct ft_args *args, long result)
{
    if (args->ret == FT_RET_POSITION && result >= 0)
        ft_fd_positioned(state->slot, result);
    if ((args->moves || (args->offset_or_moves && args->offset == -1 && !args->appends)) && result >= 0)
        return ft_fd_move(state->slot, result);
    return -1;
}

/*
 * Ends a call on a descriptor where it is ordinary, once its second clock is taken. 0: it is not (or its constants say
 * that it never is), and ft_end_slow shall do it, with *position_out.
 */
FT_HOT int ft_end_fast(const struct ft_call_state *state, unsigned call, const struct ft_args *args, long result,
                       uint64_t end, int64_t *position_out)
{
    int64_t position = *position_out = ft_end_position(state, args, result);
    if (args->has_fd2 || args->vector || args->message || args->messages || args->opens || args->ret == FT_RET_FD)
        return 0;
    if (state->slot != NULL &&
        ft_unlikely(__atomic_load_n(&state->slot->generation, __ATOMIC_RELAXED) != state->generation))
        return 0;
    uint64_t offset = 0, ended;
    unsigned flags = 0;
    if (args->ret == FT_RET_NONE) {
        ended = FT_ENDED(FT_RESULT_NONE, 0);
    } else if (args->ret == FT_RET_BYTES && args->has_size && ft_likely(result == args->size) &&
               ft_likely(result != 0)) {
        ended = FT_ENDED(FT_RESULT_SIZE, 0);
    } else if (result == 0 && args->ret != FT_RET_END) {
        ended = FT_ENDED(FT_RESULT_ZERO, 0);
    } else if (args->ret == FT_RET_POSITION && result == args->offset) {
        ended = FT_ENDED(FT_RESULT_OFFSET, 0);
    } else if ((args->ret == FT_RET_BYTES || args->ret == FT_RET_VALUE) && result > 0 && position < 0 &&
               !args->has_offset && (uint64_t)result <= FT_OFFSET_MAX) {
        ended = FT_ENDED(FT_RESULT_SMALL, 0);
        offset = (uint64_t)result;
    } else if ((args->ret == FT_RET_STATUS || args->ret == FT_RET_BYTES || args->ret == FT_RET_VALUE ||
                args->ret == FT_RET_POSITION) &&
               result == -1) {
        ended = FT_ENDED(FT_RESULT_ERROR, (unsigned)errno);
    } else {
        return 0;
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
    return ft_end_in_one_slot(state, call, args, end, offset, flags, ended);
}

/*
 * Ends a call that ft_begin_plain began. 0: ft_end_other shall do it, with *end_out and *position_out. The wrapper names
 * its arguments again for that, so that here they need no place in memory.
 */
FT_HOT int ft_end_plain(const struct ft_call_state *state, unsigned call, const struct ft_args *args, long result,
                        uint64_t *end_out, int64_t *position_out)
{
    if (ft_unlikely(ft_thread.mode != FT_MODE_ON))
        return 0;
    uint64_t end = *end_out = ft_ticks();
    state->line->call = 0;
    FT_TEST_POINT(call_done);
    return ft_end_fast(state, call, args, result, end, position_out);
}

/* All of what ft_begin_plain has found, for ft_end_other: what it has not looked at is as it was. */
FT_HOT struct ft_call_state ft_plain_state(const struct ft_call_state *state)
{
    return (struct ft_call_state){.start = state->start,
                                  .line = state->line,
                                  .slot = state->slot,
                                  .generation = state->generation,
                                  .file = state->file};
}

/* Both in one, for wrappers written by hand. */
void ft_end(const struct ft_call_state *state, unsigned call, const struct ft_args *args, long result);

#endif
