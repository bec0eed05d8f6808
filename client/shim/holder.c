// SPDX-License-Identifier: MIT
#include "client/shim/holder.h"

#include <errno.h>

/* What has ended executes no file any more. No descriptor is needed to ask. */
static int executes_file(const char *path)
{
    char byte;
    return ft_sys(SYS_readlinkat, FT_AT_FDCWD, path, &byte, sizeof(byte)) == sizeof(byte);
}

/*
 * The first thread stays, to be signalled, when it has ended before the others: /proc/self is its own then as before. 0 also
 * where /proc does not tell.
 */
static int has_first_ended(void)
{
    if (!__atomic_load_n(&ft_process.first_ended, __ATOMIC_RELAXED) && executes_file("/proc/thread-self/exe") &&
        !executes_file("/proc/self/exe"))
        __atomic_store_n(&ft_process.first_ended, 1, __ATOMIC_RELAXED);
    return ft_process.first_ended;
}

int ft_holder_thread_has_ended(uint64_t tid)
{
    if (tid == ft_process.pid)
        return has_first_ended();
    return ft_sys(SYS_tgkill, ft_process.pid, tid, 0) == -ESRCH;
}
