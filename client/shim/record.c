// SPDX-License-Identifier: MIT
/* Ends of calls that are not on the hot path: names, second files, extensions. */
#include "client/shim/asked.h"
#include "client/shim/name.h"
#include "client/shim/passed.h"
#include "proto/calls.h"

#include <fcntl.h>

struct ft_call_state ft_begin_slow(struct ft_call_state state, int fd)
{
    if ((ft_thread.vfork_depth != 0 && ft_fd_is_touched(fd)) || (ft_thread.why & FT_WHY_FILES)) {
        state.slot = NULL;
        state.file = 0;
    }
    return state;
}

struct ft_call_state ft_begin_unknown(struct ft_call_state state, int fd)
{
    ft_fd_first_use(&state, fd);
    return state;
}

struct ft_call_state ft_begin_nested(struct ft_call_state state, const void *frame)
{
    /* The stack grows down: a call whose frame is not above this one was left by longjmp or an exception. */
    if ((uintptr_t)ft_thread.call_frame <= (uintptr_t)frame) {
        state.call_before = 0;
        return state;
    }
    state.file_before = state.line->file;
    state.fd_before = state.line->fd;
    state.start_before = state.line->call_start;
    state.frame_before = ft_thread.call_frame;
    state.path_before = ft_thread.call_path;
    return state;
}

void ft_end_nested(struct ft_call_state state)
{
    struct ft_line *line = state.line;
    line->call = 0;
    __asm__ volatile("" : : : "memory");
    line->file = state.file_before;
    line->fd = state.fd_before;
    line->call_start = state.start_before;
    ft_thread.call_frame = state.frame_before;
    ft_thread.call_path = state.path_before;
    __asm__ volatile("" : : : "memory"); /* shown last, when what belongs to it is there */
    line->call = state.call_before;
}

void ft_begin_other(struct ft_call_state *state, unsigned call, const struct ft_args *args, const void *frame)
{
    ft_begin_in(state, call, args, frame);
}

static void end_rare(struct ft_call_state *state, unsigned call, const struct ft_args *args, long result, uint64_t end,
                     int64_t position)
{
    struct ft_outcome outcome = {.args = args, .result = result, .end = end};
    outcome.has_position = position >= 0;
    outcome.position = position;
    ft_end_slow(state, call, &outcome);
}

/* No record; but what it did to other descriptors it did. */
static void end_excluded(const struct ft_call_state *state, unsigned call, const struct ft_args *args, long result)
{
    struct ft_call_state rare = *state;
    rare.file = FT_FILE_EXCLUDED;
    if (args->has_fd2 || args->opens || args->message != NULL || args->messages != NULL)
        end_rare(&rare, call, args, result, 0, -1);
}

void ft_end(const struct ft_call_state *state, unsigned call, const struct ft_args *args, long result)
{
    uint64_t end = ft_end_clock(state);
    int64_t position;
    if (ft_unlikely(state->excluded)) {
        end_excluded(state, call, args, result);
        return;
    }
    if (ft_likely(ft_thread.mode == FT_MODE_ON)) {
        if (ft_end_fast(state, call, args, result, end, &position))
            return;
    } else {
        position = ft_end_position(state, args, result);
    }
    struct ft_call_state rare = *state;
    end_rare(&rare, call, args, result, end, position);
}

void ft_end_other(struct ft_call_state state, unsigned call, const struct ft_args *args, long result, uint64_t end,
                  int64_t position)
{
    if (end == 0)
        ft_end(&state, call, args, result);
    else
        end_rare(&state, call, args, result, end, position);
}

/* A record under construction; extensions by the number of their bit. */
enum { EXT_BITS = 12, EXT_INODE_BIT = 8 };
struct draft {
    uint64_t word2, word3, second_inode;
    uint64_t ext[EXT_BITS];
    unsigned mask, flags, fd16;
};

static void extend(struct draft *draft, unsigned bit, uint64_t value)
{
    draft->ext[__builtin_ctz(bit)] = value;
    draft->mask |= bit;
}

static enum ft_result result_of(struct draft *draft, const struct ft_outcome *o, int fd, int has_size, uint64_t size,
                                int has_offset, int64_t offset)
{
    if (o->args->ret == FT_RET_NONE)
        return FT_RESULT_NONE;
    if (o->result == -1)
        return FT_RESULT_ERROR;
    if (o->result == 0)
        return FT_RESULT_ZERO;
    if (o->args->ret == FT_RET_FD && o->result == fd)
        return FT_RESULT_FD;
    if (has_size && (uint64_t)o->result == size)
        return FT_RESULT_SIZE;
    if (has_offset && o->result == offset)
        return FT_RESULT_OFFSET;
    if (!has_offset && (uint64_t)o->result <= FT_OFFSET_MAX)
        return FT_RESULT_SMALL;
    extend(draft, FT_EXT_RESULT, (uint64_t)o->result);
    return FT_RESULT_EXT;
}

/* Words of the extension behind its mask. */
static unsigned extension_words(unsigned mask)
{
    return (unsigned)__builtin_popcount(mask) + (mask & FT_EXT_INODE ? 1 : 0);
}

static void write_extension(uint64_t *to, const struct draft *draft)
{
    *to++ = draft->mask;
    for (unsigned mask = draft->mask; mask != 0; mask &= mask - 1) {
        unsigned bit = (unsigned)__builtin_ctz(mask);
        *to++ = draft->ext[bit];
        if (bit == EXT_INODE_BIT)
            *to++ = draft->second_inode;
    }
}

/* Apart from ft_record(), so that its locals are not in the frame when memory is asked about, which goes deepest. */
static __attribute__((noinline)) void write_record(unsigned call, const struct draft *draft, uint64_t duration,
                                                   uint64_t end, uint64_t bytes)
{
    struct ft_event event = {.end = end, .bytes = bytes, .ticks = duration, .call = call, .slots = 1};
    if (draft->mask != 0)
        event.slots += (1 + extension_words(draft->mask) + FT_SLOT_WORDS - 1) / FT_SLOT_WORDS;
    uint64_t *word = ft_event_begin(&event);
    if (word == NULL)
        return;
    word[1] = (end - event.chunk->base_ticks) | (duration >= FT_DURATION_EXT ? FT_DURATION_EXT : duration) << 40;
    word[2] = draft->word2;
    word[3] = draft->word3;
    if (event.slots > 1)
        write_extension(word + FT_SLOT_WORDS, draft);
    ft_event_end(&event, word, FT_W0(FT_RECORD_CALL, event.slots, call, draft->flags, event.chunk->fill, draft->fd16));
}

static void put_fd(struct draft *draft, int has_fd, int fd)
{
    draft->fd16 = FT_FD16_NONE;
    if (!has_fd || fd < 0)
        return;
    if ((unsigned)fd < FT_FD16_EXT) {
        draft->fd16 = (unsigned)fd;
    } else {
        draft->fd16 = FT_FD16_EXT;
        extend(draft, FT_EXT_FD, (uint32_t)fd);
    }
}

static void put_size_and_arg(struct draft *draft, const struct ft_args *a, int has_size, uint64_t size)
{
    if (has_size) {
        draft->flags |= FT_CALL_SIZE;
        if (size >> 32 != 0)
            extend(draft, FT_EXT_SIZE, size);
        else
            draft->word2 |= size << 32;
    }
    if (!a->has_arg)
        return;
    if (!has_size && a->arg >> 32 == 0) {
        draft->flags |= FT_CALL_ARG;
        draft->word2 |= a->arg << 32;
    } else {
        extend(draft, FT_EXT_ARG, a->arg);
    }
}

static void put_bytes(struct draft *draft, const struct ft_outcome *o, int has_size, uint64_t size)
{
    if (!o->has_bytes) {
        if (o->args->no_bytes || o->args->ret != FT_RET_BYTES)
            draft->flags |= FT_CALL_NO_BYTES;
    } else if (o->bytes == 0) {
        draft->flags |= FT_CALL_NO_BYTES;
    } else if (has_size && o->bytes == size) {
        draft->flags |= FT_CALL_BYTES_SIZE;
    } else {
        extend(draft, FT_EXT_BYTES, o->bytes);
    }
}

static uint64_t moved_bytes(const struct ft_outcome *o)
{
    if (o->has_bytes)
        return o->bytes;
    return o->args->ret == FT_RET_BYTES && !o->args->no_bytes && o->result > 0 ? (uint64_t)o->result : 0;
}

static unsigned state_flags(const struct ft_call_state *state, const struct ft_outcome *o)
{
    unsigned flags = o->is_cut ? FT_CALL_CUT : 0u;
    if (ft_thread.why & FT_WHY_COARSE)
        flags |= FT_CALL_COARSE;
    if (ft_thread.vfork_depth != 0)
        flags |= FT_CALL_VFORK;
    if (state->slot != NULL && __atomic_load_n(&state->slot->generation, __ATOMIC_RELAXED) != state->generation)
        flags |= FT_CALL_RACED;
    return flags;
}

/* 0 in a child that did not attach, where a call ends that its parent began: lines and chunks are its parent's. */
static int is_attached(void)
{
    return ft_wiped.base != 0 && ft_thread.mode != FT_MODE_OFF;
}

void ft_record(const struct ft_call_state *state, unsigned call, const struct ft_outcome *o)
{
    if (!is_attached())
        return;
    const struct ft_args *a = o->args;
    struct draft draft; /* its extensions are set where the mask says so */
    draft.mask = 0;
    draft.flags = state_flags(state, o) | (unsigned)a->follow << FT_FOLLOW_SHIFT;
    draft.word2 = state->file;
    draft.second_inode = 0;
    uint64_t size = 0, duration = o->end - state->start;
    int64_t offset = 0;
    int opened = a->ret == FT_RET_FD && o->result >= 0;
    int fd = opened ? (int)o->result : a->fd;
    int has_size = ft_asked_size(o, &size), has_offset = ft_asked_offset(o, &offset);
    put_fd(&draft, a->has_fd || opened, fd);
    put_size_and_arg(&draft, a, has_size, size);
    put_bytes(&draft, o, has_size, size);
    if (duration >= FT_DURATION_EXT)
        extend(&draft, FT_EXT_DURATION, duration);
    enum ft_result result = result_of(&draft, o, fd, has_size, size, has_offset, offset);
    uint64_t low = result == FT_RESULT_SMALL ? (uint64_t)o->result : 0;
    if (has_offset) {
        draft.flags |= FT_CALL_OFFSET;
        if ((uint64_t)offset > FT_OFFSET_MAX)
            extend(&draft, FT_EXT_OFFSET, (uint64_t)offset);
        else
            low = (uint64_t)offset;
    }
    draft.word3 = low | (uint64_t)(o->error & 4095) << 48 | (uint64_t)result << 60;
    if (a->has_fd2 || o->file2 != 0)
        extend(&draft, FT_EXT_FILE2, o->file2 | (uint64_t)(uint32_t)(a->has_fd2 ? a->fd2 : -1) << 32);
    if (o->inode.known) {
        extend(&draft, FT_EXT_INODE, o->inode.device);
        draft.second_inode = o->inode.inode;
        extend(&draft, FT_EXT_KIND, o->inode.kind | o->inode.birth << 8);
        draft.flags |= o->inode.is_exact ? FT_CALL_EXACT : 0u;
    }
    if (o->has_fds)
        extend(&draft, FT_EXT_FDS, (uint32_t)o->fds[0] | (uint64_t)(uint32_t)o->fds[1] << 32);
    write_record(call, &draft, duration, o->end, moved_bytes(o));
}

/* Errno of a failed call, 0 where it did not fail; the result becomes what is stored. */
static int error_of(enum ft_ret ret, long *result, int error)
{
    long r = *result;
    switch (ret) {
    case FT_RET_STATUS:
    case FT_RET_BYTES:
    case FT_RET_FD:
    case FT_RET_VALUE:
    case FT_RET_POSITION:
        return r == -1 ? error : 0;
    case FT_RET_ERRNUM:
        return (int)r;
    case FT_RET_NEGATIVE:
        if (r >= 0)
            return 0;
        *result = -1;
        return (int)-r;
    case FT_RET_POINTER:
        *result = r == 0 ? -1 : 0;
        return r == 0 ? error : 0;
    case FT_RET_MAPPING:
        if (r != -1)
            *result = 0;
        return r == -1 ? error : 0;
    case FT_RET_END:
        *result = r != 0;
        return 0;
    default:
        return 0;
    }
}

static int is_position_kind(uint8_t kind)
{
    return kind == FT_FILE_WIRE_REGULAR || kind == FT_FILE_WIRE_BLOCK;
}

void ft_note_opened(const struct ft_call_state *state, struct ft_outcome *o, int fd, int flags, int is_stream)
{
    if (ft_thread.vfork_depth != 0) {
        ft_fd_touch(fd);
        return;
    }
    if (o->args->fresh) {
        ft_fd_opened(fd, 0, FT_FILE_WIRE_UNKNOWN, 0, flags & 1); /* MFD_CLOEXEC */
        return;
    }
    int is_parents = state->file >= FT_FILE_FIRST && state->file < ft_process.first_id;
    if (o->args->has_fd || state->file == 0 || is_parents) {
        ft_fd_closing(fd); /* no path of its own (accepted, a socket): named at first use */
        return;
    }
    if (state->file == FT_FILE_EXCLUDED) {
        ft_fd_opened(fd, FT_FILE_EXCLUDED, flags & O_DIRECTORY ? FT_FILE_WIRE_DIRECTORY : FT_FILE_WIRE_UNKNOWN, -1, 0);
        return;
    }
    if ((flags & O_TMPFILE) == O_TMPFILE) { /* the path is its directory's; it has a name of the kernel's */
        ft_fd_opened(fd, 0, FT_FILE_WIRE_UNKNOWN, flags & O_APPEND ? -1 : 0, (flags & O_CLOEXEC) != 0);
        return;
    }
    ft_name_inode(fd, &o->inode);
    int follow = is_position_kind(o->inode.kind) && !(flags & O_APPEND) && !is_stream && !ft_process.files_shared;
    ft_fd_opened(fd, state->file, o->inode.kind, follow ? 0 : -1, (flags & O_CLOEXEC) != 0);
}

/* The second descriptor of sendfile and its like, and where the first one was. */
static void note_transfer(const struct ft_call_state *state, struct ft_outcome *o, unsigned call)
{
    const struct ft_args *a = o->args;
    struct ft_call_state other = ft_fd_known(a->fd2);
    if (other.file - 1 >= FT_FILE_EXCLUDED - 1)
        ft_fd_first_use(&other, a->fd2);
    o->file2 = other.file;
    if (o->result <= 0 || call == FT_CALL_ID_tee)
        return;
    if (!a->has_shifts2 || a->shifts2 == NULL)
        ft_fd_move(other.slot, o->result);
    if (a->has_shifts && a->shifts == NULL) {
        o->position = ft_fd_move(state->slot, o->result);
        o->has_position = o->position >= 0;
    }
}

void ft_end_slow(struct ft_call_state *state, unsigned call, struct ft_outcome *o)
{
    const struct ft_args *a = o->args;
    if (!is_attached())
        return;
    if (!o->has_error)
        o->error = error_of(a->ret, &o->result, errno);
    if (a->has_path && ft_asked_path(o, a->path)) {
        state->slot = NULL;
        state->file = ft_name_path(a->dirfd, a->path, &o->is_cut);
    }
    if (a->has_path2 && ft_asked_path(o, a->path2))
        o->file2 = ft_name_path(a->dirfd2, a->path2, &o->is_cut);
    if (o->file2 == FT_FILE_EXCLUDED)
        o->file2 = 0;
    if (a->opens && o->error == 0)
        ft_note_opened(state, o, (int)o->result, (int)a->arg, 0);
    if (a->untracks && o->error == 0)
        ft_fd_untrack(a->fd);
    if ((a->message != NULL || a->messages != NULL) && o->result >= 0)
        ft_passed_note(a, o);
    if (a->renames && o->error == 0)
        ft_fd_forget_directories();
    if (a->has_fd2)
        note_transfer(state, o, call);
    if (state->file == FT_FILE_EXCLUDED)
        return;
    ft_record(state, call, o);
}
