// SPDX-License-Identifier: MIT
//
// What answers that workers give have in common: who may see what, and how an answer of any size is sent. Any thread, but
// the loop: names of groups are looked up.
#ifndef FT_DAEMON_ANSWER_WITH_H
#define FT_DAEMON_ANSWER_WITH_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct ft_daemon;

// Whether who asks is root, the daemon's own user or of the admin group.
bool ft_answer_sees_all(const struct ft_daemon *daemon, int socket_fd, const struct ucred *peer);

// One message with one descriptor (-1: none), which stays the caller's. What cannot be sent at once is not sent.
void ft_answer_send_with(int socket_fd, const void *bytes, size_t count, int fd);

// A message of any size for `uid`: in memory of its own, whose descriptor goes with eight bytes, `count`.
void ft_answer_send_memory(int socket_fd, uint32_t uid, const ProtobufCMessage *message, uint64_t count);

#endif
