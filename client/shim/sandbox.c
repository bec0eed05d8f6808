// SPDX-License-Identifier: MIT
/*
 * Calls after which a process may do less than before. Once a seccomp filter is in, or the counter is taken away, no
 * code here makes a system call in that process any more; some memory is taken just before. Of one that fails nothing is
 * left.
 */
#include "client/shim/sandbox.h"
#include "client/shim/clock.h"
#include "client/shim/environment.h"
#include "client/shim/levels.h"
#include "client/shim/name.h"
#include "client/shim/shapes.h"
#include "client/shim/tags.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum {
    CHUNKS_TAKEN = 128, /* 512 KiB */
    LINES_TAKEN = 256,
    FDS_NAMED = 256,
    SECCOMP_STRICT = 1,
    SECCOMP_FILTER = 2,
    SANDBOX_FILTER = 1,
    SANDBOX_STRICT = 2,
    SANDBOX_NO_COUNTER = 3,
    SANDBOX_DISPATCH =
        FT_SANDBOX_DISPATCH, /* system calls from other code than the program says come back to it as SIGSYS */
    SET_DISPATCH = 59,       /* PR_SET_SYSCALL_USER_DISPATCH: <linux/prctl.h> of Linux 5.11 */
    DISPATCH_OFF = 0,
    SECCOMP_TSYNC = 1,
    SECCOMP_NEW_LISTENER = 8, /* <linux/seccomp.h> of Linux 5.0 */
};

static void use_coarse_clock(void)
{
    ft_clock_prepare_coarse();
    ft_thread.coarse++;
    ft_thread.why |= FT_WHY_COARSE;
    ft_thread.mode = FT_MODE_SLOW;
}

/* What can only be asked for while system calls may be made: memory, and what things are called. */
static void prepare(void)
{
    if (ft_is_shut_in())
        return;
    ft_ring_prepare(CHUNKS_TAKEN);
    ft_thread_prepare(LINES_TAKEN);
    ft_tags_prepare();
    ft_levels_prepare();
    ft_name_cwd();
    ft_fd_name_all(FDS_NAMED);
}

/* For all threads, by writes to memory alone. */
static void close_all(struct ft_sandbox *entered)
{
    if (entered->is_of_all)
        return;
    entered->is_of_all = 1;
    __atomic_fetch_add(&ft_process.coarse, entered->coarse, __ATOMIC_RELAXED);
    if (entered->closed == 0)
        return;
    __atomic_fetch_add(&ft_process.sandboxed, entered->closed, __ATOMIC_RELAXED);
    ft_environment_off();
}

/*
 * Before the call: afterwards it could be too late for this thread, and for all where the filter is to be that of all. The
 * others are told when it has worked: it may be refused, again and again. What it counts it counts in `entered` too, for
 * ft_sandbox_leave: who goes out of one sandbox stays in those that were entered meanwhile, by whichever thread. A clock
 * that may need a system call is as little to be had under a filter as the counter in strict mode.
 */
static void enter(int kind, int is_of_all, struct ft_sandbox *entered)
{
    prepare();
    ft_clock_prepare_coarse(); /* also where it is not used yet: it may be later (PR_SET_TSC) */
    if (kind != SANDBOX_FILTER || ft_process.clock != FT_CLOCK_TICKS) {
        entered->coarse++;
        use_coarse_clock();
    }
    if (kind != SANDBOX_NO_COUNTER) {
        entered->closed++;
        entered->is_closing = (ft_thread.why & FT_WHY_CLOSING) == 0;
        ft_thread.why |= FT_WHY_CLOSING;
    }
    if (is_of_all)
        close_all(entered);
}

static void forget_coarse(uint32_t count)
{
    ft_thread.coarse -= count;
    if (ft_thread.coarse == 0)
        ft_thread.why &= (uint16_t)~FT_WHY_COARSE;
    if (ft_thread.why == 0)
        ft_thread.mode = FT_MODE_ON;
}

/*
 * Dispatching is a thread's own, is not inherited, and can end. What it allows is the C library's code, at most, and never
 * ours: while a thread has it, none of our system calls is made there. Its ring is made larger by the daemon from then on.
 * 1: it is new to this thread, which may have it already in another way.
 */
static int begin_dispatch(void)
{
    if (ft_thread.why & FT_WHY_DISPATCH)
        return 0;
    prepare();
    ft_thread.why |= FT_WHY_DISPATCH;
    ft_thread.mode = FT_MODE_SLOW;
    if (ft_process.clock != FT_CLOCK_TICKS)
        use_coarse_clock();
    return 1;
}

static void end_dispatch(void)
{
    if (!(ft_thread.why & FT_WHY_DISPATCH))
        return;
    ft_thread.why &= (uint16_t)~FT_WHY_DISPATCH;
    forget_coarse(ft_process.clock != FT_CLOCK_TICKS);
}

/* Only what worked has shut anything in. It is told by writes to memory: system calls there may be none any more. */
static void tell(int kind)
{
    int is_vfork_childs = kind == SANDBOX_DISPATCH && ft_thread.vfork_depth != 0;
    if ((kind != SANDBOX_DISPATCH || ft_head()->sandbox == 0) && !is_vfork_childs)
        ft_head()->sandbox = (uint32_t)kind;
    ft_process.daemon_grows |= kind == SANDBOX_DISPATCH && !is_vfork_childs;
    ft_gap(FT_SHIM_GAP_SANDBOX);
}

static void end_closing(const struct ft_sandbox *entered)
{
    if (!entered->is_closing)
        return;
    ft_thread.why &= (uint16_t)~FT_WHY_CLOSING;
    if (ft_thread.why == 0 && ft_thread.mode == FT_MODE_SLOW)
        ft_thread.mode = FT_MODE_ON;
}

void ft_sandbox_leave(const struct ft_sandbox *entered)
{
    if (!entered->is_of_all) {
        forget_coarse(entered->coarse);
        if (entered->is_dispatched)
            end_dispatch();
        return;
    }
    if (entered->closed != 0 && __atomic_sub_fetch(&ft_process.sandboxed, entered->closed, __ATOMIC_RELAXED) == 0) {
        ft_head()->sandbox = ft_process.daemon_grows ? SANDBOX_DISPATCH : 0;
        ft_environment_on();
    }
    __atomic_fetch_sub(&ft_process.coarse, entered->coarse, __ATOMIC_RELAXED);
    forget_coarse(entered->coarse);
    if (entered->is_dispatched)
        end_dispatch();
}

/* What a vfork child shuts itself into, its parent is not in: undone when that goes on. */
static void stay(const struct ft_sandbox *entered)
{
    struct ft_sandbox *own = &ft_thread.vfork_sandbox;
    if (ft_thread.vfork_depth == 0)
        return;
    own->closed = (uint16_t)(own->closed + entered->closed);
    own->coarse = (uint16_t)(own->coarse + entered->coarse);
    own->is_dispatched |= entered->is_dispatched;
    own->is_of_all |= entered->is_of_all;
}

static int sandbox_of_prctl(long option, unsigned long a)
{
    if (option == PR_SET_SECCOMP)
        return a == SECCOMP_STRICT ? SANDBOX_STRICT : a == SECCOMP_FILTER ? SANDBOX_FILTER : 0;
    if (option == PR_SET_TSC && a == PR_TSC_SIGSEGV)
        return SANDBOX_NO_COUNTER;
    return option == SET_DISPATCH ? SANDBOX_DISPATCH : 0;
}

static int sandbox_of_syscall(long number, long a, long b)
{
    if (number == SYS_prctl)
        return sandbox_of_prctl(a, (unsigned long)b);
#ifdef SYS_seccomp
    if (number == SYS_seccomp)
        return a == 0 ? SANDBOX_STRICT : a == 1 ? SANDBOX_FILTER : 0;
#endif
    return 0;
}

/* A clone that has our memory without being one of our threads (FT_WHY_SHARED) counts too. */
static int may_enter(void)
{
    return ft_enter() || (ft_wiped.base != 0 && (ft_thread.why & FT_WHY_SHARED));
}

/* Before the call: 1 where it will be looked at afterwards, by end_enter. */
static int begin_enter(int kind, unsigned long a, int is_of_all, struct ft_sandbox *entered)
{
    if (kind == 0 || !may_enter())
        return 0;
    if (kind != SANDBOX_DISPATCH)
        enter(kind, is_of_all, entered);
    else if (a != DISPATCH_OFF)
        entered->is_dispatched = (uint8_t)begin_dispatch();
    return 1;
}

static void end_enter(int kind, unsigned long a, struct ft_sandbox *entered, int has_worked)
{
    if (!has_worked) {
        ft_sandbox_leave(entered);
    } else if (kind == SANDBOX_DISPATCH && a == DISPATCH_OFF) {
        if (ft_thread.vfork_depth == 0 ||
            ft_thread.vfork_sandbox.is_dispatched) /* what is its parent's has not ended */
            end_dispatch();
        ft_thread.vfork_sandbox.is_dispatched = 0;
    } else {
        close_all(entered);
        if (entered->closed != 0 || entered->is_dispatched)
            tell(kind);
        stay(entered);
    }
    end_closing(entered);
}

FT_EXPORT(int, prctl, (int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d))
{
    FT_REAL(int, prctl, (int, unsigned long, unsigned long, unsigned long, unsigned long));
    struct ft_sandbox entered = {0};
    int kind = sandbox_of_prctl(option, a);
    if (!begin_enter(kind, a, 0, &entered))
        return real(option, a, b, c, d);
    int r = real(option, a, b, c, d);
    end_enter(kind, a, &entered, r == 0);
    return r;
}

/* What seccomp gives is a descriptor where one was asked for; else the thread that hindered it. */
static int has_worked(long number, long flags, long r)
{
    int gives_descriptor = number != SYS_prctl && (flags & SECCOMP_NEW_LISTENER);
    return r == 0 || (r > 0 && gives_descriptor);
}

/* Stands before a raw system call that may shut in. */
static long call(long number, long a, long b, long c, long d, long e, long f)
{
    ft_raw_function *real = (ft_raw_function *)ft_real(FT_CALL_ID_syscall);
    int kind = sandbox_of_syscall(number, a, b);
    struct ft_sandbox entered = {0};
    if (!begin_enter(kind, (unsigned long)b, number != SYS_prctl && (b & SECCOMP_TSYNC), &entered))
        return real(number, a, b, c, d, e, f);
    long r = real(number, a, b, c, d, e, f);
    end_enter(kind, (unsigned long)b, &entered, has_worked(number, b, r));
    return r;
}

ft_function *ft_sandbox_function(long number, long a, long b, ft_function *real)
{
    return sandbox_of_syscall(number, a, b) != 0 ? (ft_function *)call : real;
}
