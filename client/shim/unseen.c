// SPDX-License-Identifier: MIT
/*
 * Ways past the wrappers: raw system calls, objects that find libc before the shim. Their calls make no events; that
 * they were there is a gap, and what they do to descriptors is followed as far as it can be.
 */
#include "client/shim/apart.h"
#include "client/shim/levels.h"
#include "client/shim/name.h"
#include "client/shim/reach.h"
#include "client/shim/sandbox.h"
#include "client/shim/shapes.h"
#include "client/shim/uring.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/sched.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

/* Raw calls that would be events if they were made by their functions: those that name files and those that move data. */
FT_LATER static const uint16_t io_calls[] = {
#define X(name) SYS_##name,
#include "client/shim/raw_calls.def"
#undef X
};

static int is_io(long number)
{
    for (size_t i = 0; i < sizeof(io_calls) / sizeof(io_calls[0]); i++)
        if (io_calls[i] == number)
            return 1;
    return 0;
}

static int begins_with(const char *path, const char *prefix)
{
    struct ft_reach reach = {0};
    for (; *prefix != 0; path++, prefix++) /* what is behind the first byte may be on a page that cannot be read */
        if (!ft_reach_bytes(&reach, path, 1) || *path != *prefix)
            return 0;
    return 1;
}

/*
 * Whether a raw call only asks the kernel about itself: allocators do, in every process, before there is a libc to ask
 * (mimalloc, which Python has from 3.13 on, reads /proc/sys/vm/overcommit_memory). No data of anybody's is moved. Not
 * asked any more once there is a gap: programs that make many raw calls pay for it once.
 */
static int is_about_kernel(long number, long a, long b)
{
    struct statfs where;
    if (ft_is_shut_in() || ft_wiped.base == 0 || ft_thread.vfork_depth != 0 ||
        __atomic_load_n(&ft_hello()->gap_count[FT_SHIM_GAP_RAW_SYSCALL], __ATOMIC_RELAXED) != 0)
        return 0;
    switch (number) {
#ifdef SYS_open
    case SYS_open:
        return begins_with((const char *)a, "/proc/") || begins_with((const char *)a, "/sys/");
#endif
    case SYS_openat:
        return begins_with((const char *)b, "/proc/") || begins_with((const char *)b, "/sys/");
    case SYS_read:
    case SYS_pread64:
        return ft_sys(SYS_fstatfs, a, &where) == 0 && (where.f_type == PROC_SUPER_MAGIC || where.f_type == SYSFS_MAGIC);
    default:
        return 0;
    }
}

/* Descriptors that the raw call takes away; what it gives is found at first use. */
static void note_closed(long number, long a, long b)
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

/* A gap with the name of what makes it: counted, and written where there is room. */
static void put_named_gap(enum ft_shim_gap gap, const char *name)
{
    struct ft_chunk_head *chunk;
    ft_gap(gap);
    uint32_t id = ft_name_string(name, ft_length_most(name, FT_PATH_KEPT_BYTES), 0);
    uint8_t before = ft_recording_begin();
    uint64_t *word = id != 0 ? ft_ring_reserve(ft_thread.writer, 1, ft_now(), &chunk) : NULL;
    if (word != NULL) {
        word[1] = 1 | (uint64_t)id << 32;
        word[2] = ft_now();
        word[3] = 0;
        __atomic_store_n(&word[0], FT_W0(FT_RECORD_GAP, 1, gap, 0, chunk->fill, FT_FD16_NONE), __ATOMIC_RELEASE);
    }
    ft_recording_end(before);
}

/* A new process by clone; flags that share memory without being a thread or a vfork child are a gap. */
static void note_clone(unsigned long flags)
{
    ft_process.fork_count++;
    if ((flags & CLONE_VM) && !(flags & (CLONE_VFORK | CLONE_SETTLS)))
        ft_gap(FT_SHIM_GAP_CLONE_SHARED);
}

static void note_process(long number, long a)
{
    switch (number) {
#ifdef SYS_fork
    case SYS_fork:
    case SYS_vfork:
        ft_process.fork_count++;
        break;
#endif
    case SYS_clone:
        note_clone((unsigned long)a);
        break;
#ifdef SYS_clone3
    case SYS_clone3:
        if (ft_reach_bytes(&(struct ft_reach){0}, (const void *)a, sizeof(uint64_t)))
            note_clone(*(const uint64_t *)a);
        break;
#endif
    default:
        break;
    }
}

ft_function *ft_hook_syscall(long number, long a, long b, long c);
ft_function *ft_hook_dlopen(const char *path, int flags);
ft_function *ft_hook_dlmopen(long space, const char *path, int flags);

/* Looks at a raw system call before it is made; returns the function that makes it. Keeps errno. */
__attribute__((visibility("hidden"))) ft_function *ft_hook_syscall(long number, long a, long b, long c)
{
    ft_function *real = ft_real(FT_CALL_ID_syscall);
    ft_function *sandbox = ft_sandbox_function(number, a, b, real);
    if (sandbox != real || !ft_enter())
        return sandbox;
    if (is_io(number) && !is_about_kernel(number, a, b))
        ft_gap(FT_SHIM_GAP_RAW_SYSCALL);
    note_process(number, a);
    ft_function *apart = ft_apart_function(number, real);
    if (apart != real)
        return apart;
    if (ft_thread.vfork_depth == 0)
        note_closed(number, a, b);
    note_moved(number, a, b, c);
    return ft_uring_function(number, real);
}

/* Whether opening it is worth a gap: one that is not there will not be loaded. */
static int may_load(const char *path, int flags)
{
    if (path == NULL || path[0] == 0 || (flags & RTLD_NOLOAD) || !ft_enter())
        return 0;
    for (size_t i = 0; path[i] != 0; i++)
        if (path[i] == '/')
            return ft_is_shut_in() || ft_sys(SYS_faccessat, FT_AT_FDCWD, path, R_OK) == 0;
    return 1;
}

/* An object opened with RTLD_DEEPBIND finds libc before the shim: what it calls is not seen. */
__attribute__((visibility("hidden"))) ft_function *ft_hook_dlopen(const char *path, int flags)
{
    if ((flags & RTLD_DEEPBIND) && may_load(path, flags))
        put_named_gap(FT_SHIM_GAP_DEEPBIND, path);
    ft_levels_opening();
    return ft_real(FT_CALL_ID_dlopen);
}

/* In a name space of its own there is another libc, and no shim. */
__attribute__((visibility("hidden"))) ft_function *ft_hook_dlmopen(long space, const char *path, int flags)
{
    if ((space != LM_ID_BASE || (flags & RTLD_DEEPBIND)) && may_load(path, flags))
        put_named_gap(FT_SHIM_GAP_DEEPBIND, path);
    return ft_real(FT_CALL_ID_dlmopen);
}
