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
    return ft_process.sandboxed ? ft_loose(&ft_process.ordinal) == 1 : ft_has_one_thread();
}

static void take_files(uint16_t how)
{
    if (ft_thread.vfork_depth != 0 || (ft_thread.why & FT_WHY_APART) || is_alone())
        return;
    ft_thread.why &= (uint16_t)~FT_WHY_UNSURE;
    ft_thread.why |= (uint16_t)(FT_WHY_FILES | how);
    ft_thread.mode = FT_MODE_SLOW;
}

uint16_t ft_apart_begin_take(void)
{
    uint16_t before = ft_thread.why;
    take_files(FT_WHY_APART);
    return before;
}

void ft_apart_end_take(uint16_t why_before, int is_taken)
{
    if (is_taken) {
        ft_process.files_apart |= (ft_thread.why & FT_WHY_APART) != 0;
        return;
    }
    ft_thread.why = why_before;
    ft_thread.mode = why_before != 0 ? FT_MODE_SLOW : FT_MODE_ON;
}

/* A raw call's result is not seen. */
static void may_take_files(void)
{
    take_files(FT_WHY_UNSURE);
    ft_process.files_apart |= (ft_thread.why & FT_WHY_UNSURE) != 0;
}

/* From here on it is asked for at each use, whoever moves it. */
static void note_directory(void)
{
    if (ft_thread.vfork_depth == 0)
        ft_process.cwd_shared = 1;
    else
        ft_thread.vfork_moved = 1;
}

static void note_directory_of(unsigned flags)
{
    if ((flags & OWN_CWD) && ft_thread.vfork_depth == 0 && !is_alone())
        note_directory();
}

FT_EXPORT(int, unshare, (int flags))
{
    FT_REAL(int, unshare, (int));
    int r = real(flags);
    if (r == 0 && ft_enter()) {
        if (flags & CLONE_FILES)
            ft_apart_end_take(ft_apart_begin_take(), 1);
        note_directory_of((unsigned)flags);
    }
    return r;
}

/* In another mount namespace the directory is its root. */
FT_EXPORT(int, setns, (int fd, int kind))
{
    FT_REAL(int, setns, (int, int));
    int r = real(fd, kind);
    if (r == 0 && (kind == 0 || (kind & CLONE_NEWNS)) && ft_enter())
        note_directory();
    return r;
}

void ft_apart_note_syscall(long number, long a, long c)
{
    switch (number) {
    case SYS_chdir:
    case SYS_fchdir:
    case SYS_chroot:
    case SYS_pivot_root:
    case SYS_setns:
        note_directory();
        break;
    case SYS_unshare:
        if (a & CLONE_FILES)
            may_take_files();
        note_directory_of((unsigned)a);
        break;
#ifdef SYS_close_range
    case SYS_close_range:
        if (c & FT_CLOSE_RANGE_UNSHARE)
            may_take_files();
        break;
#endif
    default:
        break;
    }
}
