// SPDX-License-Identifier: MIT
#include "client/shim/fd.h"

#include "client/shim/hot.h"
#include "client/shim/name.h"
#include "client/shim/uring.h"

enum { MID = 512, DESCRIPTIONS_PER_PAGE = FT_PAGE_BYTES / sizeof(struct ft_description), DESCRIPTION_PAGES = 512 };

_Static_assert(sizeof(struct ft_fd) * FT_FD_LEAF == FT_PAGE_BYTES, "a leaf is a page");

struct ft_fd *ft_fd_leaves[FT_FD_DIRECT / FT_FD_LEAF];

/* Descriptors from FT_FD_DIRECT on: root -> page of leaf pointers -> leaf. FT_FD_MAX = MID * MID * FT_FD_LEAF * 2. */
FT_TABLE static struct ft_fd **far_pages[FT_FD_MAX / (MID * FT_FD_LEAF)];
static uint32_t far_count; /* pages at and above it were never made */

/* Free descriptions, a stack: number of the first + 1 | tag << 32, so that a number taken and put back is noticed. */
static uint64_t free_descriptions;
FT_TABLE static struct ft_description *description_pages[DESCRIPTION_PAGES];
static uint32_t description_count;

/* A pointer that whoever comes first sets to a page of memory. */
static void *page_at(void *place)
{
    void **pointer = place;
    void *page = __atomic_load_n(pointer, __ATOMIC_ACQUIRE);
    if (page != NULL)
        return page;
    void *made = ft_arena_page();
    if (made == NULL)
        return NULL;
    if (__atomic_compare_exchange_n(pointer, &page, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return made;
    return page;
}

struct ft_fd *ft_fd_find_far(int fd)
{
    if (fd < 0 || fd >= FT_FD_MAX)
        return NULL;
    unsigned leaf = (unsigned)fd / FT_FD_LEAF;
    struct ft_fd **page = __atomic_load_n(&far_pages[leaf / MID], __ATOMIC_ACQUIRE);
    if (page == NULL)
        return NULL;
    struct ft_fd *slots = __atomic_load_n(&page[leaf % MID], __ATOMIC_ACQUIRE);
    return slots != NULL ? &slots[(unsigned)fd % FT_FD_LEAF] : NULL;
}

struct ft_fd *ft_fd_make(int fd)
{
    if (fd < 0 || fd >= FT_FD_MAX)
        return NULL;
    unsigned leaf = (unsigned)fd / FT_FD_LEAF;
    struct ft_fd *slots;
    if (fd < FT_FD_DIRECT) {
        slots = page_at(&ft_fd_leaves[leaf]);
    } else {
        struct ft_fd **page = page_at(&far_pages[leaf / MID]);
        uint32_t count = __atomic_load_n(&far_count, __ATOMIC_RELAXED);
        while (count <= leaf / MID && !__atomic_compare_exchange_n(&far_count, &count, leaf / MID + 1, 0,
                                                                   __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        }
        slots = page != NULL ? page_at(&page[leaf % MID]) : NULL;
    }
    return slots != NULL ? &slots[(unsigned)fd % FT_FD_LEAF] : NULL;
}

static struct ft_description *description_at(uint32_t number)
{
    return &description_pages[number / DESCRIPTIONS_PER_PAGE][number % DESCRIPTIONS_PER_PAGE];
}

static struct ft_description *description_get(void)
{
    uint64_t seen = __atomic_load_n(&free_descriptions, __ATOMIC_ACQUIRE);
    while ((uint32_t)seen != 0) {
        struct ft_description *first = description_at((uint32_t)seen - 1);
        uint64_t next = (uint64_t)__atomic_load_n(&first->next, __ATOMIC_RELAXED) | ((seen >> 32) + 1) << 32;
        if (__atomic_compare_exchange_n(&free_descriptions, &seen, next, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return first;
    }
    uint32_t number = __atomic_fetch_add(&description_count, 1, __ATOMIC_RELAXED);
    if (number >= DESCRIPTION_PAGES * DESCRIPTIONS_PER_PAGE) {
        __atomic_fetch_sub(&description_count, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    struct ft_description *page = page_at(&description_pages[number / DESCRIPTIONS_PER_PAGE]);
    if (page == NULL)
        return NULL;
    page[number % DESCRIPTIONS_PER_PAGE].number = number;
    return &page[number % DESCRIPTIONS_PER_PAGE];
}

static void description_put(struct ft_description *description)
{
    if (description == NULL || __atomic_sub_fetch(&description->references, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    uint64_t seen = __atomic_load_n(&free_descriptions, __ATOMIC_ACQUIRE);
    uint64_t first;
    do {
        __atomic_store_n(&description->next, (uint32_t)seen, __ATOMIC_RELAXED);
        first = (uint64_t)(description->number + 1) | ((seen >> 32) + 1) << 32;
    } while (!__atomic_compare_exchange_n(&free_descriptions, &seen, first, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
}

/*
 * The slot's description with one more reference; NULL where it has none, or another thread is just closing it: one
 * whose last reference went is on the stack already and must not be put there twice.
 */
static struct ft_description *description_share(const struct ft_fd *slot)
{
    struct ft_description *description = __atomic_load_n(&slot->description, __ATOMIC_ACQUIRE);
    uint32_t references = description != NULL ? __atomic_load_n(&description->references, __ATOMIC_RELAXED) : 0;
    do {
        if (references == 0)
            return NULL;
    } while (!__atomic_compare_exchange_n(&description->references, &references, references + 1, 0, __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED));
    if (__atomic_load_n(&slot->description, __ATOMIC_ACQUIRE) == description)
        return description;
    description_put(description); /* it became another file's meanwhile */
    return NULL;
}

static int is_frozen(void)
{
    return ft_thread.vfork_depth != 0; /* a vfork child's descriptors are not its parent's */
}

static int is_apart(void)
{
    return (ft_thread.why & FT_WHY_APART) != 0;
}

static int is_unsure(void)
{
    return (ft_thread.why & FT_WHY_UNSURE) != 0;
}

static uint64_t touched_bit(int fd)
{
    return UINT64_C(1) << (fd < 0 || fd > 63 ? 63 : fd);
}

void ft_fd_touch(int fd)
{
    ft_thread.vfork_touched |= touched_bit(fd);
}

int ft_fd_is_touched(int fd)
{
    return (ft_thread.vfork_touched & touched_bit(fd)) != 0;
}

void ft_fd_forget_touched(void)
{
    for (int fd = 0; fd < 63; fd++)
        if (ft_fd_is_touched(fd))
            ft_fd_closing(fd);
    if (ft_fd_is_touched(63))
        ft_fd_closing_range(63, UINT32_MAX);
}

/* Whoever uses it next asks. A stream on it stays: it is the process's, and what of it was counted is so still. */
static void doubt(struct ft_fd *slot)
{
    struct ft_description *old = __atomic_exchange_n(&slot->description, NULL, __ATOMIC_ACQ_REL);
    ft_loose_set(&slot->kind, FT_FILE_WIRE_UNKNOWN);
    ft_loose_set(&slot->file, 0);
    __atomic_fetch_add(&slot->generation, 1, __ATOMIC_RELEASE);
    description_put(old);
}

/* 1 where the table is not to be changed: in a vfork child, which then has touched the descriptor. */
static int is_frozen_for(int fd)
{
    if (is_frozen())
        ft_fd_touch(fd);
    else if (is_unsure() && ft_fd_find(fd) != NULL)
        doubt(ft_fd_find(fd));
    return is_frozen() || is_apart() || is_unsure();
}

static void set(struct ft_fd *slot, uint32_t file, uint8_t kind, struct ft_description *description)
{
    struct ft_description *old = __atomic_exchange_n(&slot->description, description, __ATOMIC_ACQ_REL);
    ft_loose_set(&slot->kind, kind);
    ft_loose_set(&slot->counted, 0);
    ft_loose_set(&slot->stream, NULL);
    ft_loose_set(&slot->file, file);
    __atomic_fetch_add(&slot->generation, 1, __ATOMIC_RELEASE);
    description_put(old);
}

void ft_fd_opened(int fd, uint32_t file, uint8_t kind, int64_t position, int close_on_exec)
{
    if (is_frozen_for(fd))
        return;
    struct ft_fd *slot = ft_fd_make(fd);
    if (slot == NULL)
        return;
    struct ft_description *description = position >= 0 ? description_get() : NULL;
    if (description != NULL) {
        ft_loose_set(&description->position, position);
        ft_loose_set(&description->fork_count, ft_process.fork_count);
        ft_loose_set(&description->spawn_count, ft_process.spawn_count);
        ft_loose_set(&description->close_on_exec, close_on_exec != 0);
        __atomic_store_n(&description->references, 1, __ATOMIC_RELEASE);
    }
    set(slot, file, kind, description);
}

void ft_fd_closing(int fd)
{
    if (ft_unlikely(ft_uring_rings != 0))
        ft_uring_closing((unsigned)fd, (unsigned)fd);
    if (is_frozen_for(fd))
        return;
    struct ft_fd *slot = ft_fd_find(fd);
    if (slot != NULL)
        set(slot, 0, FT_FILE_WIRE_UNKNOWN, NULL);
}

void ft_fd_closing_range(unsigned first, unsigned last)
{
    if (ft_unlikely(ft_uring_rings != 0))
        ft_uring_closing(first, last < INT_MAX ? last : INT_MAX);
    if (is_frozen()) {
        for (unsigned fd = first; fd <= last && fd < 64; fd++)
            ft_fd_touch((int)fd);
        ft_fd_touch(63);
    }
    if (is_frozen() || is_apart())
        return;
    for (unsigned fd = first; fd <= last && fd < FT_FD_MAX;) {
        struct ft_fd *slot = ft_fd_find((int)fd);
        if (slot != NULL) {
            if (is_unsure())
                doubt(slot);
            else
                set(slot, 0, FT_FILE_WIRE_UNKNOWN, NULL);
            fd++;
        } else if (fd >= FT_FD_DIRECT && far_pages[fd / (MID * FT_FD_LEAF)] == NULL) {
            fd = (fd / (MID * FT_FD_LEAF) + 1) * (MID * FT_FD_LEAF);
        } else {
            fd = (fd / FT_FD_LEAF + 1) * FT_FD_LEAF;
        }
    }
}

void ft_fd_duplicated(int from, int to)
{
    if (from == to || is_frozen_for(to))
        return;
    struct ft_fd *source = ft_fd_find(from);
    struct ft_fd *target = ft_fd_make(to);
    if (target == NULL)
        return;
    if (source == NULL) {
        set(target, 0, FT_FILE_WIRE_UNKNOWN, NULL);
        return;
    }
    set(target, ft_loose(&source->file), ft_loose(&source->kind), description_share(source));
}

void ft_fd_stream_closing(int fd, const void *stream)
{
    struct ft_fd *slot = ft_fd_find(fd);
    if (slot != NULL && ft_loose(&slot->stream) == stream)
        ft_loose_set(&slot->stream, NULL);
}

void ft_fd_untrack(int fd)
{
    struct ft_fd *slot = is_apart() ? NULL : ft_fd_find(fd);
    struct ft_description *description = slot != NULL ? __atomic_load_n(&slot->description, __ATOMIC_ACQUIRE) : NULL;
    if (description != NULL)
        ft_loose_set(&description->position, -1);
}

/* An excluded one has no id: it is excluded in a child, too, but not for its name where that is another now. */
static int is_to_forget(struct ft_fd *slot, int fd, int directories_only)
{
    uint32_t file = ft_loose(&slot->file);
    if (directories_only && file == FT_FILE_EXCLUDED && ft_loose(&slot->kind) == FT_FILE_WIRE_UNKNOWN) {
        struct ft_inode inode; /* nobody has asked for what no event speaks of */
        ft_name_inode(fd, &inode);
        ft_loose_set(&slot->kind, inode.kind);
    }
    if (directories_only)
        return file != 0 && ft_loose(&slot->kind) == FT_FILE_WIRE_DIRECTORY;
    return file != 0 && file != FT_FILE_EXCLUDED;
}

static void forget_leaf(struct ft_fd *leaf, int first, int directories_only)
{
    for (int i = 0; leaf != NULL && i < FT_FD_LEAF; i++)
        if (is_to_forget(&leaf[i], first + i, directories_only))
            ft_loose_set(&leaf[i].file, 0);
}

static void forget(int directories_only)
{
    for (int i = 0; i < FT_FD_DIRECT / FT_FD_LEAF; i++)
        forget_leaf(ft_fd_leaves[i], i * FT_FD_LEAF, directories_only);
    for (uint32_t i = 0; i < __atomic_load_n(&far_count, __ATOMIC_RELAXED); i++)
        for (int j = 0; far_pages[i] != NULL && j < MID; j++)
            forget_leaf(far_pages[i][j], ((int)i * MID + j) * FT_FD_LEAF, directories_only);
}

void ft_fd_forget_all(void)
{
    forget(0);
}

void ft_fd_forget_directories(void)
{
    if (is_frozen()) {
        ft_thread.vfork_renamed = 1;
        return;
    }
    forget(1);
    __atomic_store_n(&ft_process.cwd_file, 0, __ATOMIC_RELAXED);
}

static void name_slot(struct ft_call_state *state, int fd)
{
    struct ft_inode inode;
    int is_not_ours = is_apart() || is_unsure();
    struct ft_fd *slot = state->slot != NULL ? state->slot : is_not_ours ? NULL : ft_fd_make(fd);
    if (slot == NULL) {
        state->file = is_not_ours ? ft_name_descriptor(fd, &inode) : 0;
        return;
    }
    uint32_t generation = __atomic_load_n(&slot->generation, __ATOMIC_ACQUIRE);
    uint32_t file = ft_name_descriptor(fd, &inode);
    if (file == 0)
        return;
    state->file = file;
    state->slot = slot;
    state->generation = generation;
    /* Only where it has no name: who opened it again meanwhile knows better. */
    uint32_t none = 0;
    if (__atomic_load_n(&slot->generation, __ATOMIC_ACQUIRE) == generation &&
        __atomic_compare_exchange_n(&slot->file, &none, file, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ft_loose_set(&slot->kind, inode.kind);
}

struct ft_call_state ft_fd_known(int fd)
{
    struct ft_call_state state = {0};
    if ((is_frozen() && ft_fd_is_touched(fd)) || (ft_thread.why & FT_WHY_FILES))
        return state;
    state.slot = ft_fd_find(fd);
    if (state.slot != NULL)
        state.file = __atomic_load_n(&state.slot->file, __ATOMIC_RELAXED);
    return state;
}

void ft_fd_first_use(struct ft_call_state *state, int fd)
{
    if (state->file == 0) {
        if (fd < 0 || ft_is_shut_in() || is_frozen())
            return;
        name_slot(state, fd);
    }
    if (state->file == FT_FILE_EXCLUDED) {
        state->excluded = 1;
        state->file = 0;
    }
}

void ft_fd_name_all(int count)
{
    for (int fd = 0; fd < count; fd++) {
        struct ft_call_state state = ft_fd_known(fd);
        if (state.file == 0)
            ft_fd_first_use(&state, fd);
    }
}
