// SPDX-License-Identifier: MIT
//
// linux/pidfd.h of 6.15: not in the headers of today's distributions. The kernel fills in as much as the size in the
// request's number says, and sets the bits of `mask` of what it knows.
#ifndef FT_DAEMON_PIDFD_INFO_H
#define FT_DAEMON_PIDFD_INFO_H

#include <stdint.h>
#include <sys/ioctl.h>

struct ft_pidfd_info {
    uint64_t mask;
    uint64_t cgroupid; // of the unified hierarchy
    uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
    int32_t exit_code;
};
_Static_assert(sizeof(struct ft_pidfd_info) == 64, "PIDFD_INFO_SIZE_VER0");

#define FT_PIDFD_INFO_CGROUPID (UINT64_C(1) << 2)
#define FT_PIDFD_INFO_EXIT (UINT64_C(1) << 3)
#define FT_PIDFD_GET_INFO _IOWR(0xff, 11, struct ft_pidfd_info)

#endif
