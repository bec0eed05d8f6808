// SPDX-License-Identifier: MIT
#include "client/shim/stdio_state.h"

#include "proto/calls.h"

/* glibc's struct _IO_FILE, as <bits/types/struct_FILE.h> shows it; the flags' values are in its libio.h. */
enum { STREAM_ERROR = 0x20, STREAM_WRITING = 0x800 };

static size_t buffered_input(const FILE *stream)
{
    return stream->_IO_read_end > stream->_IO_read_ptr ? (size_t)(stream->_IO_read_end - stream->_IO_read_ptr) : 0;
}

static size_t pending_output(const FILE *stream)
{
    if (!(stream->_flags & STREAM_WRITING))
        return 0;
    return stream->_IO_write_ptr > stream->_IO_write_base ? (size_t)(stream->_IO_write_ptr - stream->_IO_write_base)
                                                          : 0;
}

static struct ft_fd *slot_of(FILE *stream)
{
    struct ft_fd *slot = stream->_fileno >= 0 ? ft_fd_find(stream->_fileno) : NULL;
    if (slot == NULL || ft_thread.vfork_depth != 0)
        return slot;
    if (slot->stream != stream) {
        slot->stream = stream;
        slot->counted = 0;
        if (slot->description != NULL)
            slot->description->position = -1; /* its buffer moves it unseen */
    }
    return slot;
}

/* glibc's lock of a stream (its stdio-lock.h): a thread that calls the unlocked forms beside others holds it. */
struct stream_lock {
    int lock, count;
    const void *owner;
};

/* Whether what happens to the stream between two looks at it is this thread's alone. */
static int is_ours(const FILE *stream)
{
    if (ft_process.ordinal == 1)
        return 1;
    const struct stream_lock *lock = (const void *)stream->_lock;
    return lock != NULL && __atomic_load_n(&lock->owner, __ATOMIC_RELAXED) == __builtin_thread_pointer();
}

static uint64_t take_unseen(FILE *stream, struct ft_fd *slot)
{
    if (slot == NULL || !(stream->_flags & STREAM_WRITING))
        return 0;
    size_t pending = pending_output(stream);
    uint64_t unseen = pending > slot->counted && is_ours(stream) ? pending - slot->counted : 0;
    slot->counted = (uint32_t)pending;
    return unseen;
}

uint64_t ft_stdio_take_unseen(FILE *stream)
{
    return take_unseen(stream, slot_of(stream));
}

void ft_stdio_begin(struct ft_stdio *io, unsigned call)
{
    io->buffered = 0;
    io->unseen = 0;
    FILE *stream = io->args.stream;
    if (stream != NULL && stream->_fileno >= 0) {
        io->args.has_fd = 1;
        io->args.fd = stream->_fileno;
    }
    ft_begin(&io->state, call, &io->args);
    if (stream == NULL)
        return;
    io->buffered = buffered_input(stream);
    io->pointer_before = stream->_IO_read_ptr;
    io->end_before = stream->_IO_read_end;
    io->unseen = take_unseen(stream, slot_of(stream));
    if (io->state.slot == NULL && io->args.has_fd)
        io->state.slot = ft_fd_find(io->args.fd);
}

static int stream_error(const FILE *stream)
{
    return stream != NULL && (stream->_flags & STREAM_ERROR) ? errno : 0;
}

/* Most calls on streams: nothing or all that was asked moved, or as much as the result says, and no error. */
static int end_in_one_slot(struct ft_stdio *io, unsigned call, uint64_t end, long result, uint64_t bytes)
{
    const struct ft_args *a = &io->args;
    if (ft_thread.mode != FT_MODE_ON || result < 0 || (uint64_t)result > FT_OFFSET_MAX)
        return 0;
    if (a->ret != FT_RET_ITEMS && a->ret != FT_RET_CHARACTER)
        return 0;
    if (a->ret == FT_RET_ITEMS && (io->args.stream->_flags & STREAM_ERROR))
        return 0;
    unsigned flags = 0;
    if (bytes == 0)
        flags = FT_CALL_NO_BYTES;
    else if (a->has_size && bytes == (uint64_t)a->size)
        flags = FT_CALL_BYTES_SIZE;
    else if (bytes != (uint64_t)result)
        return 0;
    if (io->state.slot != NULL &&
        __atomic_load_n(&io->state.slot->generation, __ATOMIC_RELAXED) != io->state.generation)
        flags |= FT_CALL_RACED;
    unsigned code = result == 0 ? FT_RESULT_ZERO : FT_RESULT_SMALL;
    return ft_end_in_one_slot(&io->state, call, a, end, (uint64_t)result, flags, code, 0);
}

static void end(struct ft_stdio *io, unsigned call, long result, uint64_t bytes, int has_bytes)
{
    uint64_t now = ft_end_clock(&io->state);
    if (io->state.excluded)
        return;
    if (has_bytes && end_in_one_slot(io, call, now, result, bytes))
        return;
    struct ft_outcome o = {.args = &io->args, .result = result, .end = now};
    o.has_bytes = has_bytes != 0;
    o.bytes = bytes;
    if (io->args.ret == FT_RET_ITEMS || io->args.ret == FT_RET_CHARACTER || io->args.ret == FT_RET_END) {
        int failed = io->args.ret == FT_RET_ITEMS ? 1 : io->args.ret == FT_RET_CHARACTER ? result < 0 : result == 0;
        o.has_error = 1;
        o.error = failed ? stream_error(io->args.stream) : 0;
        if (io->args.ret == FT_RET_END)
            o.result = result != 0;
    }
    ft_end_slow(&io->state, call, &o);
}

/*
 * What was buffered before is what this thread saw before its call, or, where other threads use the stream, what the last
 * of their calls left: then each refill is counted once, if not always by the call that caused it.
 */
void ft_stdio_end_input(struct ft_stdio *io, unsigned call, long result, uint64_t delivered)
{
    FILE *stream = io->args.stream;
    size_t after = buffered_input(stream), before = io->buffered;
    struct ft_fd *slot = io->state.slot;
    if (slot != NULL && !(stream->_flags & STREAM_WRITING) && ft_thread.vfork_depth == 0) {
        uint32_t last = __atomic_exchange_n(&slot->counted, (uint32_t)after, __ATOMIC_RELAXED);
        if (!is_ours(stream))
            before = last;
    }
    int64_t moved = (int64_t)delivered + (int64_t)after - (int64_t)before;
    end(io, call, result, moved > 0 ? (uint64_t)moved : 0, 1);
}

void ft_stdio_end_scan(struct ft_stdio *io, unsigned call, long result)
{
    /* Consumed is what left the buffer; where the buffer was filled again, the whole of that came in. */
    const FILE *f = io->args.stream;
    int64_t now = f->_IO_read_end - f->_IO_read_ptr, before = (int64_t)io->buffered;
    int is_refilled = f->_IO_read_end != io->end_before || f->_IO_read_ptr < io->pointer_before;
    int64_t moved = is_refilled ? f->_IO_read_end - f->_IO_read_base : 0;
    ft_stdio_end_input(io, call, result, (uint64_t)(moved + before - now));
}

void ft_stdio_end_output(struct ft_stdio *io, unsigned call, long result, uint64_t delivered)
{
    struct ft_fd *slot = io->state.slot;
    if (slot != NULL && slot->stream == io->args.stream && ft_thread.vfork_depth == 0)
        __atomic_store_n(&slot->counted, (uint32_t)pending_output(io->args.stream), __ATOMIC_RELAXED);
    end(io, call, result, delivered + io->unseen, 1);
}

void ft_stdio_end(struct ft_stdio *io, unsigned call, long result)
{
    if (io->unseen != 0)
        ft_stdio_end_output(io, call, result, 0);
    else
        end(io, call, result, 0, 0);
}

static void finish_stream(FILE *stream)
{
    uint64_t unseen = ft_stdio_take_unseen(stream);
    if (unseen == 0)
        return;
    struct ft_stdio io = {.args = {.has_stream = 1, .stream = stream, .ret = FT_RET_STATUS}};
    ft_stdio_begin(&io, FT_CALL_ID_fflush);
    io.unseen = unseen;
    ft_stdio_end_output(&io, FT_CALL_ID_fflush, 0, 0);
}

void ft_stdio_finish(void)
{
    if (stdout != NULL)
        ft_fd_make(stdout->_fileno);
    for (int fd = 0; fd < FT_FD_DIRECT; fd++) {
        struct ft_fd *slot = ft_fd_find(fd);
        if (slot == NULL) {
            fd |= FT_FD_LEAF - 1;
            continue;
        }
        if (fd == 1 && slot->stream == NULL && stdout != NULL && stdout->_fileno == 1)
            slot->stream = stdout;
        FILE *stream = slot->stream;
        if (stream != NULL && stream->_fileno == fd)
            finish_stream(stream);
    }
}
