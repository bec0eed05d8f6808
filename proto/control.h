// SPDX-License-Identifier: MIT
/*
 * What goes over the daemon's socket, and the policy file beside it.
 *
 * The socket is SOCK_SEQPACKET. A client connects (non-blocking), sends one message and closes; no reply is awaited:
 *
 *   struct ft_attach, with one descriptor as SCM_RIGHTS: the segment, a memfd sealed with
 *   F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL and no seal against writing, of segment_bytes
 *
 * Before it connects it binds its socket to an abstract name of its own (unix(7)), struct ft_client_name, which the daemon
 * finds there also when the client was killed before it sent anything: such a process is a gap. Who has no such name and
 * says nothing is no program of ours, and is told nowhere. Where the name cannot be had, the client goes on without.
 *
 * A message of another size, magic or major version, with no or more than one descriptor, is refused and counted.
 *
 * With kind FT_MESSAGE_STATUS and no descriptor the same struct asks how the daemon does: the reply is one message
 * flowtap.Status (status.proto) of FT_STATUS_BYTES_MAX at most, then the connection is closed. FT_MESSAGE_CONFIG asks in the
 * same way for its configuration: flowtap.Config.
 *
 * FT_MESSAGE_JOBS asks which jobs there are: the reply is a message of eight bytes with a descriptor, which holds a
 * flowtap.Jobs. FT_MESSAGE_FETCH asks for file number `flags` of the job that has id `segment_bytes` there and belongs to
 * user `pid`: the reply is a flowtap.TraceFile with the file's descriptor, read-only; without one where it is not to be had.
 *
 * FT_MESSAGE_TOP asks what goes on, by job, process or file as `flags` says (enum ft_top_view), and says in `segment_bytes`
 * after how many nanoseconds it will be asked again: the reply is as of FT_MESSAGE_JOBS, a flowtap.Top. From the first
 * question on, until nobody asks any more, the daemon adds up what it needs for the next answers.
 *
 * A question that is not answered has a struct ft_refusal as its reply, as far as it can be sent. Who connected to attach
 * may be sent one, too, and reads nothing.
 *
 * The policy file is `<socket path>.policy`: one message flowtap.Policy (policy.proto), world-readable, replaced by
 * rename. The shim reads it at attach; it takes at most FT_POLICY_BYTES_MAX and ignores fields that it does not know.
 * No policy file means no daemon: the program runs untraced.
 */
#ifndef FT_PROTO_CONTROL_H
#define FT_PROTO_CONTROL_H

#include <stdint.h>

#define FT_ATTACH_MAGIC UINT32_C(0x31417446) /* "FtA1" */

enum ft_message {
    FT_MESSAGE_ATTACH = 1,
    FT_MESSAGE_STATUS = 2,
    FT_MESSAGE_CONFIG = 3,
    FT_MESSAGE_JOBS = 4,
    FT_MESSAGE_FETCH = 5,
    FT_MESSAGE_TOP = 6
};

/* Why a question is not answered. */
enum ft_refusal_reason {
    FT_REFUSAL_QUESTIONS = 1, /* too many are asked at a time: max_questions, max_questions_per_user */
    FT_REFUSAL_CONNECTIONS =
        2,                    /* too many have connected and sent nothing: max_connections, max_connections_per_user */
    FT_REFUSAL_RESOURCES = 3, /* the daemon lacks memory, descriptors or threads for the answer */
    FT_REFUSAL_PRIVATE = 4,   /* it serves one command, and knows of no jobs */
    FT_REFUSAL_UNKNOWN = 5,   /* the message is nothing that it knows, or of another major version */
    FT_REFUSAL_NOTHING = 6    /* FT_MESSAGE_FETCH: there is no such job of that user, or no file of it, for who asks */
};

#define FT_REFUSAL_MAGIC UINT32_C(0x314E7446) /* "FtN1" */

struct ft_refusal {
    uint32_t magic;
    uint32_t reason; /* enum ft_refusal_reason; one that is not known is as good as none */
};

/* What FT_MESSAGE_TOP asks for, in `flags`. */
enum ft_top_view { FT_TOP_JOBS = 0, FT_TOP_PROCESSES = 1, FT_TOP_FILES = 2, FT_TOP_VIEWS };

struct ft_attach {
    uint32_t magic;
    uint32_t kind; /* enum ft_message */
    uint32_t abi_major, abi_minor;
    uint64_t segment_bytes;
    uint32_t pid; /* a claim; the kernel's credentials decide */
    uint32_t flags;
};

/* Behind sun_family. All of it is a claim. */
struct ft_client_name {
    char magic[7]; /* FT_CLIENT_MAGIC: the zero of an abstract name, and what it begins with */
    uint8_t image; /* enum ft_image */
    uint64_t segment_id[2];
    char exe[80]; /* the program's path, or its last component where that is too long; zeros behind it */
};
#define FT_CLIENT_MAGIC "\0FtCn1"

#define FT_SOCKET_DEFAULT "/run/flowtap/flowtapd.sock"
#define FT_POLICY_SUFFIX ".policy"
#define FT_BACKLOG 4096
enum { FT_SOCKET_PATH_MAX = 100, FT_POLICY_BYTES_MAX = 4096, FT_STATUS_BYTES_MAX = 65536 };

/* Sizes of a segment that a daemon accepts. */
#define FT_SEGMENT_BYTES_MIN (UINT64_C(512) * 1024)
#define FT_SEGMENT_BYTES_MAX (UINT64_C(32) * 1024 * 1024)

_Static_assert(sizeof(struct ft_attach) == 32, "attach message");
_Static_assert(sizeof(struct ft_client_name) == 104, "fits in a sun_path");
_Static_assert(sizeof(struct ft_refusal) == 8, "refusal");

#endif
