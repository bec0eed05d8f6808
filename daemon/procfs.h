// SPDX-License-Identifier: MIT
//
// The few things that the daemon asks the kernel about a process: pidfds, their exit information, /proc/PID/stat and
// io.
//
// Everything here is read between two looks at the same pid; who must be sure that the pid was not used again checks
// start_time, or that the pidfd still shows the process afterwards.
#ifndef FT_DAEMON_PROCFS_H
#define FT_DAEMON_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ft_procfs_stat {
    char state;
    uint32_t parent_pid, session;
    uint64_t major_faults, start_time;
    int32_t exit_code; // as wait(2) gives it; 0 where it may not be seen
};

struct ft_procfs_io {
    uint64_t rchar, wchar, syscr, syscw, read_bytes, write_bytes;
};

struct ft_procfs_exit {
    bool is_known;
    int32_t status; // as wait(2) gives it
};

int ft_procfs_stat(uint32_t pid, struct ft_procfs_stat *out);
int ft_procfs_parse_stat(char *text, struct ft_procfs_stat *out);
int ft_procfs_io(uint32_t pid, struct ft_procfs_io *out);

// Bytes read, or -errno. Not terminated.
int ft_procfs_read(uint32_t pid, const char *name, char *out, size_t room);

// -ENOSYS where the kernel has none (before 5.3), -ESRCH where the process is gone.
int ft_procfs_pidfd_open(uint32_t pid);
// The peer of a connected socket (6.5, of an ended process 6.16); -ENOPROTOOPT before.
int ft_procfs_peer_pidfd(int socket_fd);

// A number that no other process has while the machine is up; 0 before 6.9.
uint64_t ft_procfs_pidfd_id(int pidfd);

// True once the process has ended (zombie or reaped).
bool ft_procfs_has_ended(int pidfd);
// True until it is reaped: its pid is no other's yet. False also where the kernel does not let us ask.
bool ft_procfs_has_pid(int pidfd);

// Whether /proc/PID/stat shows us how a user's process ended, as long as it is not reaped: to who may not trace the process it
// shows 0, which would pass for success.
bool ft_procfs_shows_exit(uint32_t uid);

// Exit status of an ended process. PIDFD_GET_INFO knows it once it was reaped (6.15); before, /proc/PID/stat does.
struct ft_procfs_exit ft_procfs_exit_of(int pidfd, uint32_t pid, uint64_t start_time, uint32_t uid);

#endif
