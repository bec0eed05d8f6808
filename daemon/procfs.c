// SPDX-License-Identifier: MIT
#include "daemon/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "daemon/pidfd_info.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#define PIDFS_MAGIC 0x50494446
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

enum { STAT_START_TIME = 22 }; // the last of the fields, numbered as in proc(5), that stand in a row

int ft_procfs_parse_stat(char *text, struct ft_procfs_stat *out)
{
    // The command's name may hold blanks and parentheses; the last one ends it.
    char *at = strrchr(text, ')');
    if (!at || at[1] != ' ' || !at[2])
        return -EBADMSG;
    at += 2;
    uint64_t fields[STAT_START_TIME + 1] = {0};
    out->state = *at++;
    for (unsigned field = 4; field <= STAT_START_TIME && *at; field++)
        fields[field] = (uint64_t)strtoll(at, &at, 10);
    out->parent_pid = (uint32_t)fields[4];
    out->session = (uint32_t)fields[6];
    out->major_faults = fields[12];
    out->start_time = fields[STAT_START_TIME];
    // Field 52 is the last one.
    char *last = strrchr(at, ' ');
    out->exit_code = last ? (int32_t)strtol(last, NULL, 10) : 0;
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
    uint64_t *const fields[] = {&out->rchar, &out->wchar,      &out->syscr,
                                &out->syscw, &out->read_bytes, &out->write_bytes};
    const char *at = text;
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (!(at = strchr(at, ':')))
            return -EBADMSG;
        *fields[i] = strtoull(++at, NULL, 10);
    }
    return 0;
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

uint64_t ft_procfs_pidfd_id(int pidfd)
{
    struct stat status;
    struct statfs fs;
    static _Atomic int is_pidfs; // 0 not asked yet, 1, -1
    // On pidfs the inode is the pid's; before that all pidfds share one inode.
    if (!is_pidfs)
        is_pidfs = fstatfs(pidfd, &fs) == 0 && fs.f_type == PIDFS_MAGIC ? 1 : -1;
    return is_pidfs > 0 && fstat(pidfd, &status) == 0 ? status.st_ino : 0;
}

bool ft_procfs_has_ended(int pidfd)
{
    struct pollfd look = {.fd = pidfd, .events = POLLIN};
    return poll(&look, 1, 0) > 0 && (look.revents & (POLLIN | POLLHUP));
}

bool ft_procfs_has_pid(int pidfd)
{
    return syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) == 0;
}

static bool exit_from_pidfd(int pidfd, struct ft_procfs_exit *out)
{
    struct ft_pidfd_info info = {.mask = FT_PIDFD_INFO_EXIT};
    if (pidfd < 0 || ioctl(pidfd, FT_PIDFD_GET_INFO, &info) < 0 || !(info.mask & FT_PIDFD_INFO_EXIT))
        return false;
    *out = (struct ft_procfs_exit){.is_known = true, .status = info.exit_code};
    return true;
}

// Root without it is nobody's: in a container it mostly is.
static bool has_ptrace(void)
{
    static _Atomic int has; // 0 not asked yet, 1, -1
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {0};
    if (!has)
        has = syscall(SYS_capget, &head, sets) == 0 && (sets[0].effective & (1u << CAP_SYS_PTRACE)) ? 1 : -1;
    return has > 0;
}

bool ft_procfs_shows_exit(uint32_t uid)
{
    return geteuid() == uid || has_ptrace();
}

struct ft_procfs_exit ft_procfs_exit_of(int pidfd, uint32_t pid, uint64_t start_time, uint32_t uid)
{
    struct ft_procfs_exit found = {.is_known = false};
    if (exit_from_pidfd(pidfd, &found))
        return found;
    struct ft_procfs_stat stat;
    if (ft_procfs_shows_exit(uid) && start_time && ft_procfs_stat(pid, &stat) == 0 && stat.start_time == start_time &&
        (stat.state == 'Z' || stat.state == 'X'))
        return (struct ft_procfs_exit){.is_known = true, .status = stat.exit_code};
    exit_from_pidfd(pidfd, &found); // it may have been reaped between the two looks
    return found;
}
