// SPDX-License-Identifier: MIT
#include "client/shim/stdio_state.h"

#include "proto/calls.h"

#include <fcntl.h>
#include <linux/stat.h>

/* glibc's struct _IO_FILE, as <bits/types/struct_FILE.h> shows it; the flags' values are in its libio.h. */
enum {
    STREAM_UNBUFFERED = 0x2,
    STREAM_NO_READS = 0x4,
    STREAM_ERROR = 0x20,
    STREAM_IN_BACKUP = 0x100,
    STREAM_WRITING = 0x800,
    STREAM_OF_FILE = 0x2000
};

int ft_stdio_descriptor(const FILE *stream)
{
    return (stream->_flags & STREAM_OF_FILE) && stream->_fileno >= 0 ? stream->_fileno : -1;
}

/* What ungetc put back counts too: it came out of the buffer before. The buffer itself stands aside meanwhile. */
static size_t buffered_input(const FILE *stream)
{
    size_t n = stream->_IO_read_end > stream->_IO_read_ptr ? (size_t)(stream->_IO_read_end - stream->_IO_read_ptr) : 0;
    if ((stream->_flags & STREAM_IN_BACKUP) && stream->_IO_save_end > stream->_IO_save_base)
        n += (size_t)(stream->_IO_save_end - stream->_IO_save_base);
    return n;
}

static size_t pending_output(const FILE *stream)
{
    if (!(stream->_flags & STREAM_WRITING))
        return 0;
    return stream->_IO_write_ptr > stream->_IO_write_base ? (size_t)(stream->_IO_write_ptr - stream->_IO_write_base)
                                                          : 0;
}

/* The table may be that of other threads, whose streams are on other files: what inlined putc puts is then not seen. */
static int is_table_ours(void)
{
    return (ft_thread.why & (FT_WHY_APART | FT_WHY_UNSURE)) == 0;
}

static struct ft_fd *slot_of(FILE *stream)
{
    if (!is_table_ours())
        return NULL;
    struct ft_fd *slot = ft_fd_find(ft_stdio_descriptor(stream));
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
    if (ft_loose(&ft_process.ordinal) == 1)
        return 1;
    const struct stream_lock *lock = (const void *)stream->_lock;
    return lock != NULL && __atomic_load_n(&lock->owner, __ATOMIC_RELAXED) == __builtin_thread_pointer();
}

static uint64_t take_unseen(FILE *stream, struct ft_fd *slot)
{
    if (slot == NULL || !(stream->_flags & STREAM_WRITING) || stream->_mode > 0)
        return 0; /* of wide characters, bytes are in the buffer only while they are written */
    size_t pending = pending_output(stream);
    /* Less than was counted: it was flushed by a call that was not on this stream, and all of it is new. */
    size_t counted = pending < slot->counted ? 0 : slot->counted;
    uint64_t unseen = is_ours(stream) ? pending - counted : 0;
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
    io->position_before = -1;
    FILE *stream = io->args.stream;
    if (stream != NULL && ft_stdio_descriptor(stream) >= 0) {
        io->args.has_fd = 1;
        io->args.fd = stream->_fileno;
    }
    ft_begin(&io->state, call, &io->args);
    if (stream == NULL)
        return;
    io->buffered = buffered_input(stream);
    io->pointer_before = stream->_IO_read_ptr;
    io->end_before = stream->_IO_read_end;
    io->offset_before = stream->_offset;
    if (stream->_offset >= 0 && (stream->_flags & STREAM_WRITING))
        io->offset_before += stream->_IO_write_ptr - stream->_IO_read_end; /* it goes back to what it read last */
    io->unseen = take_unseen(stream, slot_of(stream));
    if (io->state.slot == NULL && io->args.has_fd && is_table_ours())
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
    return ft_end_in_one_slot(&io->state, call, a, end, (uint64_t)result, flags, FT_ENDED(code, 0));
}

static void end(struct ft_stdio *io, unsigned call, long result, uint64_t bytes, int has_bytes)
{
    uint64_t now = ft_end_clock(&io->state);
    if (io->state.excluded)
        return;
    if (!io->args.has_fd)
        bytes = 0; /* in memory, or to functions of the program's own, whose calls are seen */
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

/* Where a stream that reads byte by byte is: next to its own system calls, two more are no cost. */
static int64_t unbuffered_position(const FILE *stream)
{
    if (stream == NULL || ft_stdio_descriptor(stream) < 0 || !(stream->_flags & STREAM_UNBUFFERED) || ft_is_shut_in())
        return -1;
    return ft_sys(SYS_lseek, stream->_fileno, 0, SEEK_CUR);
}

/* Bytes that the last refill brought; 0 where it cannot be told that there was one. */
static uint64_t refilled(const struct ft_stdio *io)
{
    const FILE *f = io->args.stream;
    int is_backup = f->_IO_save_base != NULL;
    int is_refilled = f->_IO_read_end != io->end_before || f->_IO_read_ptr < io->pointer_before;
    return is_refilled && !is_backup ? (uint64_t)(f->_IO_read_end - f->_IO_read_base) : 0;
}

void ft_stdio_end_line(struct ft_stdio *io, unsigned call, long result, uint64_t delivered)
{
    uint64_t after = buffered_input(io->args.stream), came = refilled(io);
    if (delivered + after < io->buffered + came)
        delivered = io->buffered + came - after;
    ft_stdio_end_input(io, call, result, delivered);
}

void ft_stdio_begin_scan(struct ft_stdio *io, unsigned call)
{
    ft_stdio_begin(io, call);
    io->position_before = unbuffered_position(io->args.stream);
}

void ft_stdio_end_scan(struct ft_stdio *io, unsigned call, long result)
{
    /* Consumed is what left the buffer; where the buffer was filled again, the whole of that came in. */
    uint64_t came = refilled(io);
    int64_t position = io->position_before >= 0 ? unbuffered_position(io->args.stream) : -1;
    if (position >= io->position_before && position >= 0)
        came = (uint64_t)(position - io->position_before);
    ft_stdio_end_input(io, call, result, came + io->buffered - buffered_input(io->args.stream));
}

/*
 * glibc reads the whole block of the new place, and where the file ends before that place it forgets what it read:
 * then the file's size says how much that was.
 */
static uint64_t read_and_forgotten(const FILE *stream)
{
    int64_t block = stream->_IO_buf_end - stream->_IO_buf_base, place = stream->_offset;
    if (block <= 1 || place % block == 0 || (stream->_flags & STREAM_NO_READS) || ft_is_shut_in())
        return 0;
    struct statx st;
    if (ft_sys(SYS_statx, stream->_fileno, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_SIZE, &st) != 0)
        return 0;
    int64_t begin = place - place % block, end = (int64_t)st.stx_size;
    return end > begin && end < place ? (uint64_t)(end - begin) : 0;
}

/* It has read where it knows of another place of the descriptor, or has another buffer. */
void ft_stdio_end_seek(struct ft_stdio *io, unsigned call, long result)
{
    const FILE *stream = io->args.stream;
    uint64_t moved = 0;
    int is_new = stream->_offset != io->offset_before || stream->_IO_read_end != io->end_before;
    if (result == 0 && is_new && io->args.has_fd && !(stream->_flags & STREAM_WRITING) && stream->_mode <= 0) {
        moved = (uint64_t)(stream->_IO_read_end - stream->_IO_read_base);
        if (moved == 0 && stream->_offset != io->offset_before)
            moved = read_and_forgotten(stream);
    }
    if (io->state.slot != NULL && ft_thread.vfork_depth == 0)
        __atomic_store_n(&io->state.slot->counted, (uint32_t)buffered_input(stream), __ATOMIC_RELAXED);
    end(io, call, result, moved, moved != 0);
}

void ft_stdio_end_output(struct ft_stdio *io, unsigned call, long result, uint64_t delivered)
{
    struct ft_fd *slot = io->state.slot;
    if (slot != NULL && slot->stream == io->args.stream && ft_thread.vfork_depth == 0)
        __atomic_store_n(&slot->counted, (uint32_t)pending_output(io->args.stream), __ATOMIC_RELAXED);
    end(io, call, result, delivered + io->unseen, 1);
}

void ft_stdio_end_wide(struct ft_stdio *io, unsigned call, long result, uint64_t bytes)
{
    end(io, call, result, bytes, 1);
}

void ft_stdio_end(struct ft_stdio *io, unsigned call, long result)
{
    if (io->unseen != 0)
        ft_stdio_end_output(io, call, result, 0);
    else
        end(io, call, result, 0, 0);
}

void ft_stdio_flush_unseen(FILE *stream)
{
    uint64_t unseen = ft_stdio_take_unseen(stream);
    if (unseen == 0)
        return;
    struct ft_stdio io = {.args = {.has_stream = 1, .stream = stream, .ret = FT_RET_STATUS}};
    ft_stdio_begin(&io, FT_CALL_ID_fflush);
    io.unseen = unseen;
    ft_stdio_end_output(&io, FT_CALL_ID_fflush, 0, 0);
}

/* All streams that are known, each with the slot of its descriptor. */
static void visit_streams(void (*visit)(FILE *, struct ft_fd *))
{
    if (stdout != NULL && pending_output(stdout) != 0) /* by putc alone, maybe: then nothing has made its slot */
        ft_fd_make(ft_stdio_descriptor(stdout));
    for (int fd = 0; fd < FT_FD_DIRECT; fd++) {
        struct ft_fd *slot = ft_fd_find(fd);
        if (slot == NULL) {
            fd |= FT_FD_LEAF - 1;
            continue;
        }
        if (fd == 1 && slot->stream == NULL && stdout != NULL && ft_stdio_descriptor(stdout) == 1)
            slot->stream = stdout;
        FILE *stream = slot->stream;
        if (stream != NULL && ft_stdio_descriptor(stream) == fd)
            visit(stream, slot);
    }
}

static void finish(FILE *stream, struct ft_fd *slot)
{
    (void)slot;
    ft_stdio_flush_unseen(stream);
}

void ft_stdio_finish(void)
{
    visit_streams(finish);
}

static void settle(FILE *stream, struct ft_fd *slot)
{
    if (stream->_flags & STREAM_WRITING)
        __atomic_store_n(&slot->counted, (uint32_t)pending_output(stream), __ATOMIC_RELAXED);
}

void ft_stdio_end_flush(struct ft_stdio *io, unsigned call, long result)
{
    struct ft_fd *slot = io->state.slot;
    ft_stdio_end(io, call, result);
    if (io->args.stream == NULL)
        visit_streams(settle);
    else if (slot != NULL && slot->stream == io->args.stream && ft_thread.vfork_depth == 0)
        settle(io->args.stream, slot);
}
