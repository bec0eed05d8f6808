/* SPDX-License-Identifier: MIT */
/*
 * Questions to a running daemon over its socket (proto/control.h). The reply is untrusted: it is bounded, and decoded by
 * protobuf-c alone.
 */
#ifndef FT_CLI_DAEMON_ASK_H
#define FT_CLI_DAEMON_ASK_H

#include <stdbool.h>
#include <sys/types.h>

#include "proto/control.h"
#include "proto/status.pb-c.h"

enum { FT_ASK_TIMEOUT_MS = 5000, FT_ASK_AGAIN_MS = 2000 };

/* Where the daemon is to be found: `given`, else FLOWTAP_SOCKET, else the site's. Not to be freed. */
const char *ft_ask_socket_path(const char *given);

/*
 * Asks the daemon at `path` how it does. 0 and *status, to be released with flowtap__status__free_unpacked(); else -errno:
 * -ENAMETOOLONG for a path that no socket can have, -ENOENT, -ECONNREFUSED: nobody listens, -EACCES, -ETIMEDOUT: it does
 * not answer, -EBADMSG: what it answers is nothing that we know, or our question nothing that it knows, -ECONNRESET: it
 * ended the connection without a word. What it refuses (struct ft_refusal) is -EBUSY, -EUSERS, -ENOBUFS, -ENODATA or -EOPNOTSUPP; what
 * passes of that is asked again, for FT_ASK_AGAIN_MS.
 */
int ft_ask_status(const char *path, Flowtap__Status **status);
/* The same over a connection, which stays open; asked once. */
int ft_ask_status_over(int fd, Flowtap__Status **status);

/* The same for its configuration; to be released with flowtap__config__free_unpacked(). */
int ft_ask_config(const char *path, Flowtap__Config **config);

/* A connection, or such an error. */
int ft_ask_connect(const char *path);

/*
 * One question over a connection of its own, whose reply may bring a descriptor: its length in bytes, or such an error. *fd
 * is -1 where there came none.
 */
ssize_t ft_ask_with_fd(const char *path, const struct ft_attach *question, uint8_t *bytes, size_t room, int *fd);

/*
 * The same of a question whose reply is in memory of any size up to FT_ASK_MEMORY_MAX: 0 and *reply, to be released with
 * protobuf_c_message_free_unpacked().
 */
#define FT_ASK_MEMORY_MAX ((off_t)256 << 20)
int ft_ask_memory(const char *path, const struct ft_attach *question, const ProtobufCMessageDescriptor *type,
                  ProtobufCMessage **reply);

/* Whether such an error may be none when asked again: the daemon is over a limit at the moment. */
bool ft_ask_is_passing(int error);

/* A reply's message, to be released with protobuf_c_message_free_unpacked(); 0 or -EBADMSG. */
int ft_ask_unpack(const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t count, ProtobufCMessage **reply);

/* A question of a kind; what else it says is to be filled in. */
struct ft_attach ft_ask_question(enum ft_message kind);

/* What such an error means, and what to do; static storage. */
const char *ft_ask_explain(int error);

#endif
