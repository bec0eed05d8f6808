// SPDX-License-Identifier: MIT
#include "client/shim/attach_limits.h"

#include "client/shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

/* Attaching holds two descriptors; with more than this to choose from nobody has them all in use. */
enum { NEEDED = 2, MANY_DESCRIPTORS = 1024 };
#define SMALL_ADDRESS_SPACE (UINT64_C(1) << 30)

/* Descriptors below `most` that will be free after an exec, as far as that matters. */
static unsigned count_free(unsigned most)
{
    unsigned free = 0;
    for (unsigned fd = 0; fd < most && free < NEEDED; fd++) {
        long flags = ft_sys(SYS_fcntl, fd, F_GETFD);
        free += flags < 0 || (flags & FD_CLOEXEC);
    }
    return free;
}

int ft_limits_may_forbid(void)
{
    struct rlimit files = {0}, size = {RLIM_INFINITY, RLIM_INFINITY}, space = {RLIM_INFINITY, RLIM_INFINITY};
    if (ft_sys(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, &files) == 0 && files.rlim_max < MANY_DESCRIPTORS &&
        count_free((unsigned)files.rlim_max) < NEEDED)
        return 1;
    ft_sys(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, &size);
    ft_sys(SYS_prlimit64, 0, RLIMIT_AS, 0, &space);
    return size.rlim_max < ft_process.bytes || space.rlim_cur < SMALL_ADDRESS_SPACE;
}

int ft_limits_are_cause(long error)
{
    return error == -EMFILE || error == -EFBIG || error == -ETOOMANYREFS;
}
