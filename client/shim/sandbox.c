// SPDX-License-Identifier: MIT
/*
 * Calls after which a process may do less than before. Once a seccomp filter is in, or the counter is taken away, no
 * code here makes a system call in that process any more; some memory is taken just before.
 */
#include "client/shim/clock.h"
#include "client/shim/environment.h"
#include "client/shim/levels.h"
#include "client/shim/name.h"
#include "client/shim/real.h"
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
    SANDBOX_DISPATCH = 4, /* system calls from other code than the program says come back to it as SIGSYS */
    SET_DISPATCH = 59,    /* PR_SET_SYSCALL_USER_DISPATCH: <linux/prctl.h> of Linux 5.11 */
};

static void use_coarse_clock(struct ft_sandbox *entered)
{
    ft_clock_prepare_coarse();
    __atomic_fetch_add(&ft_process.coarse, 1, __ATOMIC_RELAXED);
    ft_thread.coarse++;
    entered->coarse++;
    ft_thread.why |= FT_WHY_COARSE;
    ft_thread.mode = FT_MODE_SLOW;
}

/* What can only be asked for while system calls may be made: memory, and what things are called. */
static void prepare(void)
{
    ft_ring_prepare(CHUNKS_TAKEN);
    ft_thread_prepare(LINES_TAKEN);
    ft_tags_prepare();
    ft_levels_prepare();
    ft_name_cwd();
    ft_fd_name_all(FDS_NAMED);
}

/*
 * Before the call: afterwards it could be too late. What it counts it counts in `entered` too, for ft_sandbox_leave: who
 * goes out of one sandbox stays in those that were entered meanwhile, by whichever thread. A clock that may need a system
 * call is as little to be had under a filter as the counter in strict mode.
 */
static void enter_sandbox(int kind, struct ft_sandbox *entered)
{
    if (ft_wiped.base == 0)
        return;
    if (!ft_process.sandboxed)
        prepare();
    if (kind != SANDBOX_FILTER || ft_process.clock != FT_CLOCK_TICKS)
        use_coarse_clock(entered);
    else
        ft_clock_prepare_coarse(); /* it may bring PR_SET_TSC's rule with it */
    if (kind == SANDBOX_NO_COUNTER)
        return;
    entered->closed++;
    __atomic_fetch_add(&ft_process.sandboxed, 1, __ATOMIC_RELAXED);
    if (kind != SANDBOX_DISPATCH || ft_head()->sandbox == 0)
        ft_head()->sandbox = (uint32_t)kind;
    ft_environment_off();
    ft_gap(FT_SHIM_GAP_SANDBOX);
}

void ft_sandbox_leave(const struct ft_sandbox *entered)
{
    if (entered->closed != 0 && __atomic_sub_fetch(&ft_process.sandboxed, entered->closed, __ATOMIC_RELAXED) == 0) {
        ft_head()->sandbox = 0;
        ft_environment_on();
    }
    __atomic_fetch_sub(&ft_process.coarse, entered->coarse, __ATOMIC_RELAXED);
    ft_thread.coarse -= entered->coarse;
    if (ft_thread.coarse == 0)
        ft_thread.why &= (uint16_t)~FT_WHY_COARSE;
    if (ft_thread.why == 0)
        ft_thread.mode = FT_MODE_ON;
}

static int sandbox_of_prctl(long option, unsigned long a)
{
    if (option == PR_SET_SECCOMP)
        return a == SECCOMP_STRICT ? SANDBOX_STRICT : a == SECCOMP_FILTER ? SANDBOX_FILTER : 0;
    if (option == PR_SET_TSC && a == PR_TSC_SIGSEGV)
        return SANDBOX_NO_COUNTER;
    return option == SET_DISPATCH && a != 0 ? SANDBOX_DISPATCH : 0;
}

/*
 * Dispatching is a thread's own and can end. Until no thread has it any more, the process is as under a filter: what it
 * allows is the C library's code, at most, and never ours. A thread that ends while it dispatches tells nobody: then the
 * process stays as it is. So do threads that started meanwhile: their clock is the coarse one, their number unknown.
 */
static const struct ft_sandbox of_dispatch = {.closed = 1, .coarse = 1};

static void begin_dispatch(const struct ft_sandbox *entered)
{
    if (ft_thread.why & FT_WHY_DISPATCH) { /* in another way than before, but counted already */
        ft_sandbox_leave(entered);
    } else if (entered->closed != 0) {
        ft_thread.why |= FT_WHY_DISPATCH;
        ft_thread.mode = FT_MODE_SLOW;
    }
}

static void end_dispatch(void)
{
    if (!(ft_thread.why & FT_WHY_DISPATCH))
        return;
    ft_thread.why &= (uint16_t)~FT_WHY_DISPATCH;
    ft_sandbox_leave(&of_dispatch);
}

/* What a vfork child shuts itself into, its parent is not in: undone when that goes on. */
static void stay(const struct ft_sandbox *entered)
{
    struct ft_sandbox *own = &ft_thread.vfork_sandbox;
    if (ft_thread.vfork_depth == 0)
        return;
    own->closed += entered->closed;
    own->coarse += entered->coarse;
}

/* A clone that has our memory without being one of our threads (FT_WHY_SHARED) counts too. */
static int may_enter(void)
{
    return ft_enter() || (ft_wiped.base != 0 && (ft_thread.why & FT_WHY_SHARED));
}

FT_EXPORT(int, prctl, (int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d))
{
    FT_REAL(int, prctl, (int, unsigned long, unsigned long, unsigned long, unsigned long));
    int kind = sandbox_of_prctl(option, a), r;
    if (kind == 0 || !may_enter()) {
        r = real(option, a, b, c, d);
        if (option == SET_DISPATCH && r == 0)
            end_dispatch();
        return r;
    }
    struct ft_sandbox entered = {0};
    enter_sandbox(kind, &entered);
    r = real(option, a, b, c, d);
    if (r != 0)
        ft_sandbox_leave(&entered);
    else if (kind == SANDBOX_DISPATCH && ft_thread.vfork_depth == 0)
        begin_dispatch(&entered);
    else
        stay(&entered);
    return r;
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

void ft_sandbox_note_syscall(long number, long a, long b)
{
    int kind = sandbox_of_syscall(number, a, b);
    if (kind == 0 || !may_enter())
        return;
    struct ft_sandbox entered = {0};
    enter_sandbox(kind, &entered); /* whether it fails is not seen */
    stay(&entered);
}
