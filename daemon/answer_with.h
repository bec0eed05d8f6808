// SPDX-License-Identifier: MIT
//
// What answers that are given aside have in common: who may see what, and how an answer of any size is sent. Any thread, but
// the loop: names of groups are looked up.
#ifndef FT_DAEMON_ANSWER_WITH_H
#define FT_DAEMON_ANSWER_WITH_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct ft_daemon;
struct ft_question;

// Whether who asks is root, the daemon's own user or of the admin group.
bool ft_answer_sees_all(const struct ft_daemon *daemon, int socket_fd, const struct ucred *peer);

// One message with one descriptor (-1: none), which stays the caller's. What cannot be sent at once is not sent.
void ft_answer_send_with(int socket_fd, const void *bytes, size_t count, int fd);

// A message of up to 64 MiB for who asks: in memory of its own, whose descriptor goes with eight bytes, `count`. One that
// cannot be made is not answered, and counted.
void ft_answer_send_memory(struct ft_question *question, const ProtobufCMessage *message, uint64_t count);

#endif
