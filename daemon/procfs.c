// SPDX-License-Identifier: MIT
#include "daemon/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

// linux/pidfd.h of 6.15: not in the headers of today's distributions. The kernel fills in as much as the size in the
// request's number says.
struct pidfd_info {
    uint64_t mask;
    uint64_t cgroupid;
    uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
    int32_t exit_code;
};
_Static_assert(sizeof(struct pidfd_info) == 64, "PIDFD_INFO_SIZE_VER0");
#define INFO_EXIT (UINT64_C(1) << 3)
#define GET_INFO _IOWR(0xff, 11, struct pidfd_info)

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

int ft_procfs_read(uint32_t pid, const char *name, char *out, size_t room)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%" PRIu32 "/%s", pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    size_t used = 0;
    int r = 0;
    // seq files hand out what they have: usually all of it, then nothing.
    while (used < room) {
        ssize_t n = read(fd, out + used, room - used);
        if (n < 0)
            r = -errno;
        if (n <= 0)
            break;
        used += (size_t)n;
        if ((size_t)n < room / 2)
            break;
    }
    close(fd);
    return r < 0 ? r : (int)used;
}

int ft_procfs_parse_stat(char *text, struct ft_procfs_stat *out)
{
    // The command's name may hold blanks and parentheses; the last one ends it.
    char *at = strrchr(text, ')');
    if (!at || at[1] != ' ' || !at[2])
        return -EBADMSG;
    at += 2;
    uint64_t fields[53] = {0}; // numbered as in proc(5)
    out->state = *at++;
    for (unsigned field = 4; field < 53 && *at; field++)
        fields[field] = (uint64_t)strtoll(at, &at, 10);
    out->parent_pid = (uint32_t)fields[4];
    out->session = (uint32_t)fields[6];
    out->major_faults = fields[12];
    out->start_time = fields[22];
    out->exit_code = (int32_t)fields[52];
    return 0;
}

int ft_procfs_stat(uint32_t pid, struct ft_procfs_stat *out)
{
    char text[1024];
    int n = ft_procfs_read(pid, "stat", text, sizeof(text) - 1);
    if (n < 0)
        return n;
    text[n] = '\0';
    return ft_procfs_parse_stat(text, out);
}

int ft_procfs_io(uint32_t pid, struct ft_procfs_io *out)
{
    char text[512];
    int n = ft_procfs_read(pid, "io", text, sizeof(text) - 1);
    if (n < 0)
        return n;
    text[n] = '\0';
    int found = sscanf(text,
                       "rchar: %" SCNu64 " wchar: %" SCNu64 " syscr: %" SCNu64 " syscw: %" SCNu64 " read_bytes: %" SCNu64
                       " write_bytes: %" SCNu64,
                       &out->rchar, &out->wchar, &out->syscr, &out->syscw, &out->read_bytes, &out->write_bytes);
    return found == 6 ? 0 : -EBADMSG;
}

int ft_procfs_pidfd_open(uint32_t pid)
{
    long fd = syscall(SYS_pidfd_open, pid, 0);
    return fd < 0 ? -errno : (int)fd;
}

int ft_procfs_peer_pidfd(int socket_fd)
{
    int fd;
    socklen_t bytes = sizeof(fd);
    return getsockopt(socket_fd, SOL_SOCKET, SO_PEERPIDFD, &fd, &bytes) < 0 ? -errno : fd;
}

bool ft_procfs_has_ended(int pidfd)
{
    struct pollfd look = {.fd = pidfd, .events = POLLIN};
    return poll(&look, 1, 0) > 0 && (look.revents & (POLLIN | POLLHUP));
}

struct ft_procfs_exit ft_procfs_exit_of(int pidfd, uint32_t pid, uint64_t start_time)
{
    struct pidfd_info info = {.mask = INFO_EXIT};
    if (pidfd >= 0 && ioctl(pidfd, GET_INFO, &info) == 0 && (info.mask & INFO_EXIT))
        return (struct ft_procfs_exit){.is_known = true, .status = info.exit_code};
    struct ft_procfs_stat stat;
    bool is_zombie = start_time && ft_procfs_stat(pid, &stat) == 0 && stat.start_time == start_time &&
                     (stat.state == 'Z' || stat.state == 'X');
    if (!is_zombie) {
        // It may have been reaped between the two looks.
        info = (struct pidfd_info){.mask = INFO_EXIT};
        if (pidfd >= 0 && ioctl(pidfd, GET_INFO, &info) == 0 && (info.mask & INFO_EXIT))
            return (struct ft_procfs_exit){.is_known = true, .status = info.exit_code};
        return (struct ft_procfs_exit){.is_known = false};
    }
    // exit_code is shown as 0 to who may not trace it; as that is also the commonest status, only our own kind is asked.
    return (struct ft_procfs_exit){.is_known = true, .status = stat.exit_code};
}
