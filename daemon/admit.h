// SPDX-License-Identifier: MIT
//
// Taking a client in: its one message, its segment, who it is.
#ifndef FT_DAEMON_ADMIT_H
#define FT_DAEMON_ADMIT_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "proto/control.h"

struct ft_client;
struct ft_daemon;
struct ft_process;

// Reads a connected client's message and admits the process, or answers its request. 0: done, or refused and counted; -EAGAIN: it has not
// sent yet. The caller closes the socket. `arrival`, the client's entry among the arrivals, is taken but for -EAGAIN. One that closed
// without a word is a gap where it is a program of ours.
int ft_admit(struct ft_daemon *daemon, int socket_fd, uint32_t arrival, const struct ft_client *client);

// One attach message with its descriptors, as recvmsg(2) left them. All descriptors but a good one's are closed.
struct ft_admit_message {
    struct ft_attach attach;
    int fd; // -1: none
};

// 0 and a descriptor that may be a segment, or none with a request; -EAGAIN; -ENODATA: it has closed, or sent nothing in a message;
// -EBADMSG: no attach message of ours; -EPROTO: another version; -EMFILE:
// no room for its descriptor.
int ft_admit_receive(int socket_fd, struct ft_admit_message *out);

// Whether fd is a sealed memfd of that size and of `bytes_max` at most.
int ft_admit_check_memory(int fd, uint64_t bytes, uint64_t bytes_max);

// A process of the memory in `fd`, whose sender the kernel (or whoever asked it) names. 0, and it takes the descriptor; or
// -EBADMSG: no segment of ours; -ENOMEM.
int ft_admit_create(int fd, uint64_t bytes, const struct ucred *peer, struct ft_process **out);

// Takes the pidfd of its pid, or what there is instead: -ENOPROTOOPT it is to be opened by the pid's number, -ENOSYS there
// are none, other errors: it is gone.
void ft_admit_take_pidfd(struct ft_process *process, int pidfd);

// Finds its job and hands it over. `stored_name`: the service manager holds it already, under this malloc'ed name, which is
// taken; else NULL. -EUSERS, -ENOMEM: it has no job (job.h), and nothing was taken or changed.
int ft_admit_join(struct ft_daemon *daemon, struct ft_process *process, char *stored_name);

// Tells of a process that was not admitted for that error: in the log, a counter and a gap.
void ft_admit_note_refused(struct ft_daemon *daemon, const struct ucred *peer, int error);

#endif
