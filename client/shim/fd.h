// SPDX-License-Identifier: MIT
/*
 * The shim's table of descriptors: for each number, which file it is now.
 *
 * A slot's generation changes whenever the number may change hands: before a close, after an open. A wrapper compares
 * it before and after its call. Descriptors that were dup'ed share a file id and a description (the position).
 */
#ifndef FT_SHIM_FD_H
#define FT_SHIM_FD_H

#include "client/shim/shim.h"

struct ft_call_state;

/*
 * A program that closes a number in one thread while it uses it in another makes these fields change under the reader,
 * which then records something of either file and says so (FT_CALL_RACED). Plain loads and stores, but not torn.
 */
#define ft_loose(place) __atomic_load_n((place), __ATOMIC_RELAXED)
#define ft_loose_set(place, value) __atomic_store_n((place), (value), __ATOMIC_RELAXED)

/* An open file description that this process opened. */
struct ft_description {
    int64_t position;                 /* -1: not known */
    uint32_t fork_count, spawn_count; /* ft_process's when opened: others may have moved it since where they differ */
    uint32_t references;
    uint32_t next, number; /* of the stack of free ones */
    uint8_t close_on_exec;
};

struct ft_fd {
    uint32_t generation;
    uint32_t file;                      /* 0: unknown; FT_FILE_EXCLUDED: not to be recorded */
    struct ft_description *description; /* NULL: position unknown */
    uint8_t kind;                       /* enum ft_file_kind_wire */
    uint8_t reserved[3];
    uint32_t
        counted;  /* streams: bytes in the buffer after the last call: written and recorded, or read and not taken */
    void *stream; /* FILE that was opened on it */
};

#define FT_FILE_EXCLUDED UINT32_MAX

enum { FT_FD_LEAF = 128, FT_FD_DIRECT = 1024, FT_FD_MAX = 1 << 26 };

/* Leaves of the first FT_FD_DIRECT descriptors; the others behind a radix tree. */
extern struct ft_fd *ft_fd_leaves[FT_FD_DIRECT / FT_FD_LEAF];

/* Slot of a descriptor at or above FT_FD_DIRECT; NULL where it has none yet. */
struct ft_fd *ft_fd_find_far(int fd);
/* Slot of a descriptor, made where it has none; NULL where there is no memory for it. */
struct ft_fd *ft_fd_make(int fd);

/* Slot of a descriptor below FT_FD_DIRECT; NULL where it has none yet, and for any other. */
FT_HOT struct ft_fd *ft_fd_find_near(int fd)
{
    if (ft_unlikely((unsigned)fd >= FT_FD_DIRECT))
        return NULL;
    struct ft_fd *leaf = __atomic_load_n(&ft_fd_leaves[(unsigned)fd / FT_FD_LEAF], __ATOMIC_ACQUIRE);
    return ft_likely(leaf != NULL) ? &leaf[(unsigned)fd % FT_FD_LEAF] : NULL;
}

FT_HOT struct ft_fd *ft_fd_find(int fd)
{
    return ft_likely((unsigned)fd < FT_FD_DIRECT) ? ft_fd_find_near(fd) : ft_fd_find_far(fd);
}

/* Names a descriptor that was not seen being opened (inherited, received, made by an unwrapped call), or marks the
 * call excluded. Keeps the call's state current. */
void ft_fd_first_use(struct ft_call_state *state, int fd);

/* What the table says of a descriptor; no slot and no file where that may be untrue for this thread. */
struct ft_call_state ft_fd_known(int fd);

/* Position before a call that moved it by `bytes`, and moves it; -1 where it is not known. */
FT_HOT int64_t ft_fd_move(struct ft_fd *slot, long bytes)
{
    if (slot == NULL)
        return -1;
    /* Acquire: partner is the exchange in set() (fd.c), after which the description is filled. */
    struct ft_description *description = __atomic_load_n(&slot->description, __ATOMIC_ACQUIRE);
    if (description == NULL || ft_loose(&description->fork_count) != ft_process.fork_count)
        return -1;
    if (!ft_loose(&description->close_on_exec) && ft_loose(&description->spawn_count) != ft_process.spawn_count)
        return -1;
    if (ft_loose(&description->position) < 0)
        return -1;
    if (ft_likely(ft_loose(&ft_process.ordinal) == 1)) /* one thread: no lock */
        return (int64_t)ft_local_add((uint64_t *)&description->position, (uint64_t)bytes);
    return __atomic_fetch_add(&description->position, bytes, __ATOMIC_RELAXED);
}

/* Names those of the first `count` descriptors that are open and have no name: later the kernel may not be asked. */
void ft_fd_name_all(int count);

/* The descriptor is a new file: after the call that made it. `position` -1: not to be followed. */
void ft_fd_opened(int fd, uint32_t file, uint8_t kind, int64_t position, int close_on_exec);
/* The number is about to be closed (or to become another file's). */
void ft_fd_closing(int fd);
void ft_fd_closing_range(unsigned first, unsigned last);
/* A stream is about to be closed: its memory is gone also for who has another table (a thread apart, a vfork's parent). */
void ft_fd_stream_closing(int fd, const void *stream);
/* `to` was made a duplicate of `from`. */
void ft_fd_duplicated(int from, int to);
/* lseek or the like put it there. */
FT_HOT void ft_fd_positioned(struct ft_fd *slot, int64_t position)
{
    struct ft_description *description = slot != NULL ? __atomic_load_n(&slot->description, __ATOMIC_ACQUIRE) : NULL;
    if (description != NULL && ft_loose(&description->position) >= 0)
        __atomic_store_n(&description->position, position, __ATOMIC_RELAXED);
}
/* A vfork child changes its own descriptors: the parent's table stays, and what the child touched has no name for it. */
void ft_fd_touch(int fd);
int ft_fd_is_touched(int fd);
void ft_fd_forget_touched(void); /* where they are its parent's too */
/* The position is not followed any more: something moves it unseen (a stream's buffer). */
void ft_fd_untrack(int fd);
/* After a rename, whose descriptors and directory however: what directories were called is not certain any more. A vfork child's
 * is heeded when its parent goes on. */
void ft_fd_forget_directories(void);
/* In a forked child: ids and positions of the parent's segment mean nothing here. */
void ft_fd_forget_all(void);

#endif
