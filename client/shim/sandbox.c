// SPDX-License-Identifier: MIT
/*
 * Calls after which a process may do less than before. Once a seccomp filter is in, or the counter is taken away, no
 * code here makes a system call in that process any more; some memory is taken just before.
 */
#include "client/shim/clock.h"
#include "client/shim/real.h"
#include "client/shim/shapes.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum {
    CHUNKS_TAKEN = 64, /* 256 KiB */
    SECCOMP_STRICT = 1,
    SECCOMP_FILTER = 2,
    SANDBOX_FILTER = 1,
    SANDBOX_STRICT = 2,
    SANDBOX_NO_COUNTER = 3,
};

static void use_coarse_clock(void)
{
    ft_clock_prepare_coarse();
    ft_process.coarse = 1;
    ft_thread.why |= FT_WHY_COARSE;
    ft_thread.mode = FT_MODE_SLOW;
}

/* Before the call: afterwards it could be too late. */
static void enter_sandbox(int kind)
{
    if (ft_wiped.base == 0)
        return;
    ft_ring_prepare(CHUNKS_TAKEN);
    if (kind == SANDBOX_FILTER)
        ft_clock_prepare_coarse(); /* it may bring PR_SET_TSC's rule with it */
    if (kind != SANDBOX_FILTER)
        use_coarse_clock();
    if (kind == SANDBOX_NO_COUNTER)
        return;
    ft_process.sandboxed = 1;
    ft_head()->sandbox = (uint32_t)kind;
    ft_gap(FT_SHIM_GAP_SANDBOX);
}

static int sandbox_of_prctl(long option, unsigned long a)
{
    if (option == PR_SET_SECCOMP)
        return a == SECCOMP_STRICT ? SANDBOX_STRICT : a == SECCOMP_FILTER ? SANDBOX_FILTER : 0;
    if (option == PR_SET_TSC && a == PR_TSC_SIGSEGV)
        return SANDBOX_NO_COUNTER;
    return 0;
}

static void leave_sandbox(int kind, int was_sandboxed)
{
    ft_process.sandboxed = (uint8_t)was_sandboxed;
    if (!was_sandboxed)
        ft_head()->sandbox = 0;
    if (kind == SANDBOX_FILTER)
        return;
    ft_process.coarse = 0;
    ft_thread.why &= (uint8_t)~FT_WHY_COARSE;
    if (ft_thread.why == 0)
        ft_thread.mode = FT_MODE_ON;
}

FT_EXPORT(int, prctl, (int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d))
{
    FT_REAL(int, prctl, (int, unsigned long, unsigned long, unsigned long, unsigned long));
    int kind = sandbox_of_prctl(option, a);
    if (kind == 0 || !ft_enter())
        return real(option, a, b, c, d);
    int was_sandboxed = ft_process.sandboxed;
    enter_sandbox(kind);
    int r = real(option, a, b, c, d);
    if (r != 0)
        leave_sandbox(kind, was_sandboxed);
    return r;
}

static int is_io(long number)
{
    switch (number) {
    case SYS_read:
    case SYS_write:
    case SYS_pread64:
    case SYS_pwrite64:
    case SYS_readv:
    case SYS_writev:
    case SYS_preadv:
    case SYS_pwritev:
    case SYS_preadv2:
    case SYS_pwritev2:
    case SYS_openat:
    case SYS_sendfile:
    case SYS_copy_file_range:
    case SYS_splice:
    case SYS_io_submit:
    case SYS_fsync:
    case SYS_fdatasync:
#ifdef SYS_open
    case SYS_open:
#endif
#ifdef SYS_openat2
    case SYS_openat2:
#endif
        return 1;
    default:
        return 0;
    }
}

/* Descriptors that the raw call takes away; what it gives is found at first use. */
static void note_closed(long number, long a, long b, long c)
{
    switch (number) {
    case SYS_close:
        ft_fd_closing((int)a);
        break;
    case SYS_dup3:
        ft_fd_closing((int)b);
        break;
#ifdef SYS_dup2
    case SYS_dup2:
        ft_fd_closing((int)b);
        break;
#endif
#ifdef SYS_close_range
    case SYS_close_range:
        if (c == 0)
            ft_fd_closing_range((unsigned)a, (unsigned)b);
        break;
#endif
    default:
        break;
    }
}

/* Positions that the raw call moves, unseen. */
static void note_moved(long number, long a, long b, long c)
{
    switch (number) {
    case SYS_read:
    case SYS_write:
    case SYS_readv:
    case SYS_writev:
    case SYS_preadv2:
    case SYS_pwritev2:
    case SYS_lseek:
        ft_fd_untrack((int)a);
        break;
    case SYS_fcntl:
        if (b == F_SETFL)
            ft_fd_untrack((int)a);
        break;
    case SYS_sendfile:
        ft_fd_untrack((int)a);
        ft_fd_untrack((int)b);
        break;
    case SYS_copy_file_range:
    case SYS_splice:
        ft_fd_untrack((int)a);
        ft_fd_untrack((int)c);
        break;
    default:
        break;
    }
}

ft_function *ft_hook_syscall(long number, long a, long b, long c);
ft_function *ft_hook_dlopen(const char *path, int flags);

/* Looks at a raw system call before it is made; returns the function that makes it. Keeps errno. */
__attribute__((visibility("hidden"))) ft_function *ft_hook_syscall(long number, long a, long b, long c)
{
    ft_function *real = ft_real(FT_CALL_ID_syscall);
    if (!ft_enter())
        return real;
    int kind = 0;
    if (number == SYS_prctl)
        kind = sandbox_of_prctl(a, (unsigned long)b);
#ifdef SYS_seccomp
    if (number == SYS_seccomp)
        kind = a == 0 ? SANDBOX_STRICT : a == 1 ? SANDBOX_FILTER : 0;
#endif
    if (kind != 0)
        enter_sandbox(kind);
#ifdef SYS_io_uring_setup
    if (number == SYS_io_uring_setup)
        ft_gap(FT_SHIM_GAP_IO_URING);
#endif
    if (is_io(number))
        ft_gap(FT_SHIM_GAP_RAW_SYSCALL);
#ifdef SYS_fork
    if (number == SYS_fork)
        ft_process.fork_count++;
#endif
    if (number == SYS_clone)
        ft_process.fork_count++;
    if (ft_thread.vfork_depth == 0)
        note_closed(number, a, b, c);
    note_moved(number, a, b, c);
    return real;
}

/* An object opened with RTLD_DEEPBIND finds libc before the shim: what it calls is not seen. */
__attribute__((visibility("hidden"))) ft_function *ft_hook_dlopen(const char *path, int flags)
{
    if (path != NULL && (flags & RTLD_DEEPBIND) && ft_enter())
        ft_gap(FT_SHIM_GAP_DEEPBIND);
    return ft_real(FT_CALL_ID_dlopen);
}

/*
 * mlockall makes everything that is mapped resident and counts it against RLIMIT_MEMLOCK: for that time the segment is
 * no larger than what has memory already, and it is unlocked afterwards.
 */
FT_EXPORT(int, mlockall, (int flags))
{
    FT_REAL(int, mlockall, (int));
    if (ft_process.sandboxed || ft_thread.vfork_depth != 0 || !ft_enter())
        return real(flags);
    struct ft_process *p = &ft_process;
    __atomic_store_n(&p->no_growth, 1, __ATOMIC_SEQ_CST);
    uint32_t chunks = __atomic_load_n(&p->chunks_high, __ATOMIC_SEQ_CST);
    uint32_t granted = __atomic_load_n(&ft_head()->chunks_granted, __ATOMIC_ACQUIRE);
    if (granted > p->chunks_max)
        granted = p->chunks_max;
    if (granted > chunks)
        chunks = granted;
    uint64_t used = (uint64_t)(p->pool_page + chunks) * FT_PAGE_BYTES;
    if (used < p->bytes)
        ft_sys(SYS_mremap, p->base, p->bytes, used, 0);
    int r = real(flags);
    ft_sys(SYS_munlock, p->base, used);
    long grown = used < p->bytes ? ft_sys(SYS_mremap, p->base, used, p->bytes, 0) : 0;
    if (grown < 0 && grown > -4096) { /* its place was taken meanwhile: it stays as it is */
        p->bytes = used;
        p->chunks_max = chunks;
        p->chunks_by_shim = chunks;
    }
    __atomic_store_n(&p->no_growth, 0, __ATOMIC_SEQ_CST);
    return r;
}
