// SPDX-License-Identifier: MIT
/*
 * Attaching: when a process image, a child or a thread begins to record, and that it does not. The segment is made, filled
 * and sent to the daemon (segment.c, hello.c, handover.c), and both descriptors are closed again. No reply is awaited: a
 * process that has ended before the daemon looks is served all the same. On any error the process goes on untraced.
 */
#include "client/shim/attach.h"

#include "client/shim/annotate.h"
#include "client/shim/attach_limits.h"
#include "client/shim/fd.h"
#include "client/shim/forks.h"
#include "client/shim/levels.h"
#include "client/shim/name.h"
#include "client/shim/reach.h"
#include "client/shim/settings.h"
#include "client/shim/start.h"
#include "client/shim/tags.h"
#include "client/shim/uring.h"

#include <linux/stat.h>
#include <sys/mman.h>

__thread struct ft_thread ft_thread;
struct ft_process ft_process;
/* The last page of all: then the kernel divides the mapping once. */
FT_LAST_PAGE union ft_wiped_page ft_wiped_page;

void ft_turn_off(void)
{
    ft_annotate_is_off = 1;
    ft_process.wanted = 0;
    ft_wiped.base = 0;
    __atomic_store_n(&ft_wiped.attach, FT_ATTACH_OFF, __ATOMIC_RELEASE);
    ft_thread.mode = FT_MODE_OFF;
}

/* A child's failure is counted in its parent's segment, as long as that is still mapped here. */
static void tell_parent(long error)
{
    struct ft_process *p = &ft_process;
    if (!p->has_parents || p->base == 0)
        return;
    p->has_parents = 0;
    if (!ft_reach_bytes(&(struct ft_reach){0}, ft_hello(), sizeof(struct ft_hello)))
        return; /* the program has kept what it mapped shared from its children (MADV_DONTFORK) */
    enum ft_shim_gap gap = ft_limits_are_cause(error) ? FT_SHIM_GAP_RLIMIT : FT_SHIM_GAP_FORK_UNATTACHED;
    __atomic_fetch_add(&ft_hello()->gap_count[gap], 1, __ATOMIC_RELAXED);
}

static int attach_process(enum ft_image image)
{
    ft_process.lines_used = 1;
    if (image == FT_IMAGE_EXEC)
        ft_process.next_id = FT_FILE_FIRST;
    ft_process.first_id =
        ft_process.next_id; /* a child's go on: a call that the fork interrupted has one of its parent's */
    /* First: who forks meanwhile in another thread has a child that does not wait for this to be done. It is inherited. */
    if (image == FT_IMAGE_EXEC)
        ft_sys(SYS_madvise, &ft_wiped_page, FT_PAGE_BYTES, FT_MADV_WIPEONFORK);
    long error = ft_segment_make(image);
    if (error != 0) {
        ft_debug_say("not attached, errno", -error);
        tell_parent(error);
        ft_turn_off();
        return 0;
    }
    __atomic_store_n(&ft_wiped.base, ft_process.base, __ATOMIC_RELEASE);
    __atomic_store_n(&ft_wiped.attach, FT_ATTACH_DONE, __ATOMIC_RELEASE);
    FT_TEST_POINT(attached);
    return 1;
}

/* Events that no line of their own holds. */
static void count_on_shared_line(uint32_t count)
{
    struct ft_line *shared = ft_page(ft_process.lines_page);
    __atomic_fetch_add(&shared->emitted, count, __ATOMIC_RELAXED);
    __atomic_fetch_add(&shared->dropped_limit, count, __ATOMIC_RELAXED);
}

static void count_missed(void)
{
    if (ft_unlikely(__atomic_load_n(&ft_process.missed, __ATOMIC_RELAXED) != 0))
        count_on_shared_line(__atomic_exchange_n(&ft_process.missed, 0, __ATOMIC_RELAXED));
}

/* A new thread of an attached process. */
static int start_thread(void)
{
    struct ft_thread *thread = &ft_thread;
    thread->why = 0;
    thread->coarse = ft_process.coarse != 0;
    if (thread->coarse != 0)
        thread->why |= FT_WHY_COARSE;
    if (ft_process.clock != FT_CLOCK_TICKS)
        thread->why |= FT_WHY_CLOCK;
    if (ft_process.files_shared)
        thread->why |= FT_WHY_FILES;
    if (ft_process.files_apart) /* who started it is not known */
        thread->why |= FT_WHY_FILES | FT_WHY_UNSURE;
    int error = ft_thread_start();
    count_missed();
    if (error != 0) { /* more threads than lines: counted where all of them can */
        count_on_shared_line(1);
        return 0;
    }
    thread->mode = thread->why != 0 ? FT_MODE_SLOW : FT_MODE_ON;
    return 1;
}

/* A handler that forks in between would have a child that goes on with what is its parent's. */
static int start_thread_undisturbed(void)
{
    if (ft_is_shut_in())
        return start_thread();
    uint64_t before = ft_block_signals();
    int is_started = ft_thread.mode == FT_MODE_NEW ? start_thread() : ft_thread.mode != FT_MODE_OFF;
    ft_unblock_signals(before);
    return is_started;
}

/* The first thread of an image; of a forked child, with the tags that its parent's had. */
static int start_image(void)
{
    if (!start_thread())
        return 0;
    if (ft_unlikely(ft_tags_are_set))
        ft_tags_inherit();
    return 1;
}

static int attach_once(enum ft_image image)
{
    uint32_t expected = FT_ATTACH_NONE;
    if (__atomic_compare_exchange_n(&ft_wiped.attach, &expected, FT_ATTACH_BUSY, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return attach_process(image) && start_image();
    if (expected == FT_ATTACH_OFF)
        ft_thread.mode = FT_MODE_OFF;
    if (expected == FT_ATTACH_BUSY)
        __atomic_fetch_add(&ft_process.missed, 1, __ATOMIC_RELAXED);
    return expected == FT_ATTACH_DONE ? start_thread() : 0;
}

/* Handlers wait until it is done, so that their calls are recorded too. */
static int attach_image(void)
{
    uint64_t before = ft_block_signals();
    int is_attached = attach_once(FT_IMAGE_EXEC);
    ft_unblock_signals(before);
    return is_attached;
}

static void forget_parent(void)
{
    struct ft_process *p = &ft_process;
    ft_wiped.base = 0;
    ft_wiped.attach = FT_ATTACH_NONE;
    p->ordinal = 0;
    p->cwd_file = 0;
    p->lines_hand = 0;
    p->growth = FT_GROWTH_FREE;
    p->unlock_pages = 0; /* locks are not inherited */
    p->missed = 0;
    ft_forks_reset();
    p->files_apart = 0; /* one thread, one table */
    p->has_parents = 1;
    p->first_ended = 0;
    p->daemon_grows = 0;
    p->growth_retry_ticks = 0;
    p->was_room_asked = p->has_room = 0;
    p->fork_count++;
    ft_fd_forget_all();
    if (ft_unlikely(ft_uring_rings != 0))
        ft_uring_reset();
    ft_name_reset();
    if (ft_unlikely(ft_tags_are_set))
        ft_tags_fork();
    ft_async_forget();
    p->is_interrupted = (uint8_t)ft_thread_orphan();
    ft_thread = (struct ft_thread){.mode = FT_MODE_NEW,
                                   .line = ft_thread.line,
                                   .writer = ft_thread.writer,
                                   .has_opened = ft_thread.has_opened,
                                   .opened_at = ft_thread.opened_at,
                                   .is_recording = ft_thread.is_recording}; /* what goes on here will end it */
}

/* Handlers wait from before the look whether one of them has attached. */
static int attach_child(enum ft_image image)
{
    uint64_t before = ft_block_signals();
    if (ft_wiped.base == 0) {
        forget_parent();
        FT_TEST_POINT(child_new);
        attach_once(image);
        if (ft_wiped.base == 0)
            ft_segment_leave(ft_process.base);
    }
    ft_unblock_signals(before);
    return ft_thread.mode == FT_MODE_ON || ft_thread.mode == FT_MODE_SLOW;
}

/* A call that the parent began and that ends here is recorded nowhere. */
static void turn_child_off(void)
{
    ft_thread_orphan();
    ft_turn_off();
}

/* Writes what is there: in a child the page is new, and a read before the first write would be a fault of its own. */
static int is_unattached(void)
{
    uint64_t none = 0;
    return __atomic_compare_exchange_n(&ft_wiped.base, &none, 0, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void ft_attach_child(enum ft_image image)
{
    if (!ft_process.wanted || !is_unattached())
        return;
    if (ft_is_closed())
        turn_child_off(); /* no system call may be made here; the parent has counted the gap */
    else
        attach_child(image);
}

/* 0: that cannot be told. */
static uint32_t count_threads(void)
{
    struct statx st;
    if (ft_is_shut_in() || ft_sys(SYS_statx, FT_AT_FDCWD, "/proc/self/task", 0, STATX_NLINK, &st) != 0)
        return 0;
    return st.stx_nlink - 2;
}

int ft_has_one_thread(void)
{
    return count_threads() == 1;
}

/* A fork that a jump has left goes on, it seems, for who calls deeper: such a child may have threads, as may one of a raw fork. */
static int is_forked_alone(int is_forking)
{
    uint32_t threads = count_threads();
    return threads == 1 || (threads == 0 && is_forking && !ft_is_shut_in());
}

static int attach_late(void)
{
    if (!ft_process.decided)
        ft_settings_decide();
    if (!ft_process.wanted) {
        if (ft_process.decided)
            ft_thread.mode = ft_annotate_is_off = FT_MODE_OFF;
        return 0;
    }
    if (ft_process.base == 0)
        return attach_image();
    ft_thread.why &= (uint16_t)~FT_WHY_DISPATCH; /* a child: it has not inherited that */
    if (__atomic_load_n(&ft_wiped.attach, __ATOMIC_ACQUIRE) == FT_ATTACH_BUSY) {
        __atomic_fetch_add(&ft_process.missed, 1, __ATOMIC_RELAXED);
        return 0;
    }
    int is_forking = ft_fork_is_own(__builtin_frame_address(0));
    if (is_forked_alone(is_forking))
        return attach_child(is_forking ? FT_IMAGE_FORK : FT_IMAGE_RAW_FORK);
    /* A child whose making nobody saw may have threads by now; then it is too late to open descriptors unnoticed. */
    if (!is_forking || !ft_is_shut_in()) {
        ft_process.has_parents = 1;
        tell_parent(-EBUSY);
    }
    turn_child_off();
    if (!ft_is_shut_in())
        ft_segment_leave(ft_process.base);
    return 0;
}

int ft_enter_slow(void)
{
    if (!ft_start_is_relocated())
        return 0;
    struct ft_thread *thread = &ft_thread;
    if (!ft_is_attached())
        return attach_late();
    if (thread->mode == FT_MODE_NEW)
        return start_thread_undisturbed();
    if (thread->mode == FT_MODE_OFF)
        return 0;
    if (thread->vfork_depth != 0 && !ft_vfork_is_announced())
        ft_vfork_announce();
    if ((thread->why & FT_WHY_SHARED) && (ft_is_shut_in() || (uint32_t)ft_sys(SYS_gettid) != thread->tid))
        return 0;
    return 1;
}

void ft_gap(enum ft_shim_gap gap)
{
    if (ft_wiped.base != 0)
        __atomic_fetch_add(&ft_hello()->gap_count[gap], 1, __ATOMIC_RELAXED);
}

void ft_gap_not(enum ft_shim_gap gap)
{
    if (ft_wiped.base != 0)
        __atomic_fetch_sub(&ft_hello()->gap_count[gap], 1, __ATOMIC_RELAXED);
}
