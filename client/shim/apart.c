// SPDX-License-Identifier: MIT
#include "client/shim/apart.h"

#include "client/shim/fd.h"
#include "client/shim/real.h"
#include "client/shim/shapes.h"

#include <sched.h>
#include <sys/syscall.h>

/* With these a thread gets a working directory of its own. */
#define OWN_CWD (CLONE_FS | CLONE_NEWNS | CLONE_NEWUSER)

static int is_alone(void)
{
    return ft_is_shut_in() ? ft_loose(&ft_process.ordinal) == 1 : ft_has_one_thread();
}

static void take_files(void)
{
    if (ft_thread.vfork_depth != 0 || (ft_thread.why & FT_WHY_APART) || is_alone())
        return;
    ft_thread.why &= (uint16_t)~FT_WHY_UNSURE;
    ft_thread.why |= FT_WHY_FILES | FT_WHY_APART;
    ft_thread.mode = FT_MODE_SLOW;
}

/* Before a call that makes this thread's descriptors its own; nothing where no other thread runs. For end_take. */
static uint16_t begin_take(void)
{
    uint16_t before = ft_thread.why;
    take_files();
    return before;
}

/* After it: where it failed, all is as before. */
static void end_take(uint16_t why_before, int is_taken)
{
    if (is_taken) {
        ft_process.files_apart |= (ft_thread.why & FT_WHY_APART) != 0;
        return;
    }
    ft_thread.why = why_before;
    ft_thread.mode = why_before != 0 ? FT_MODE_SLOW : FT_MODE_ON;
}

void ft_apart_moved(void)
{
    if (ft_thread.vfork_depth == 0)
        __atomic_store_n(&ft_process.cwd_file, 0, __ATOMIC_RELAXED);
    else
        ft_thread.vfork_moved = 1;
}

static void note_unshared(int flags)
{
    if (flags & CLONE_FILES)
        end_take(begin_take(), 1);
    if (!(flags & OWN_CWD) || ft_thread.vfork_depth != 0 || is_alone())
        return;
    ft_process.cwd_shared = 1; /* from here on it is asked for at each use, whoever moves it */
}

/* In another mount namespace the directory is its root. Who goes there shares it with no other. */
static void note_namespace(int kind)
{
    if (kind == 0 || (kind & CLONE_NEWNS))
        ft_apart_moved();
}

FT_EXPORT(int, unshare, (int flags))
{
    FT_REAL(int, unshare, (int));
    int r = real(flags);
    if (r == 0 && ft_enter())
        note_unshared(flags);
    return r;
}

FT_EXPORT(int, setns, (int fd, int kind))
{
    FT_REAL(int, setns, (int, int));
    int r = real(fd, kind);
    if (r == 0 && ft_enter())
        note_namespace(kind);
    return r;
}

uint16_t ft_apart_begin_close_range(unsigned first, unsigned last, int flags)
{
    uint16_t why_before = flags & FT_CLOSE_RANGE_UNSHARE ? begin_take() : 0;
    if (!(flags & ~FT_CLOSE_RANGE_UNSHARE) && first <= last) /* else it marks them, or knows not what to do */
        ft_fd_closing_range(first, last);
    return why_before;
}

void ft_apart_end_close_range(int flags, uint16_t why_before, int has_worked)
{
    if (flags & FT_CLOSE_RANGE_UNSHARE)
        end_take(why_before, has_worked);
}

static int is_rename(long number)
{
    switch (number) {
#ifdef SYS_rename
    case SYS_rename:
#endif
#ifdef SYS_renameat
    case SYS_renameat:
#endif
    case SYS_renameat2:
        return 1;
    default:
        return 0;
    }
}

static void note_worked(long number, long a, long b)
{
    switch (number) {
    case SYS_unshare:
        note_unshared((int)a);
        break;
    case SYS_setns:
        note_namespace((int)b);
        break;
    default:
        if (is_rename(number))
            ft_fd_forget_directories();
        else
            ft_apart_moved();
        break;
    }
}

static long call(long number, long a, long b, long c, long d, long e, long f)
{
    ft_raw_function *real = (ft_raw_function *)ft_real(FT_CALL_ID_syscall);
    long r = real(number, a, b, c, d, e, f);
    if (r == 0 && ft_enter())
        note_worked(number, a, b);
    return r;
}

#ifdef SYS_close_range
static long call_close_range(long number, long first, long last, long flags)
{
    ft_raw_function *real = (ft_raw_function *)ft_real(FT_CALL_ID_syscall);
    uint16_t why_before = ft_apart_begin_close_range((unsigned)first, (unsigned)last, (int)flags);
    long r = real(number, first, last, flags);
    ft_apart_end_close_range((int)flags, why_before, r == 0);
    return r;
}
#endif

ft_function *ft_apart_function(long number, ft_function *real)
{
    switch (number) {
    case SYS_chdir:
    case SYS_fchdir:
    case SYS_chroot:
    case SYS_pivot_root:
    case SYS_setns:
    case SYS_unshare:
        return (ft_function *)call;
#ifdef SYS_close_range
    case SYS_close_range:
        return (ft_function *)call_close_range;
#endif
    default:
        return is_rename(number) ? (ft_function *)call : real;
    }
}
