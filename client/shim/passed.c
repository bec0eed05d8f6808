// SPDX-License-Identifier: MIT
#include "client/shim/passed.h"

#include <sys/socket.h>

static void note_descriptors(const struct cmsghdr *head, int is_received)
{
    const int *fds = (const int *)(head + 1);
    size_t count = (head->cmsg_len - sizeof(*head)) / sizeof(*fds);
    for (size_t i = 0; i < count; i++) {
        if (is_received)
            ft_fd_closing(fds[i]);
        else
            ft_fd_untrack(fds[i]);
    }
}

static void note_message(const struct msghdr *message, int is_received)
{
    enum { ALIGN = sizeof(size_t) };
    const char *control = message->msg_control;
    size_t left = control != NULL ? message->msg_controllen : 0;
    while (left >= sizeof(struct cmsghdr)) {
        const struct cmsghdr *head = (const void *)control;
        size_t bytes = head->cmsg_len;
        if (bytes < sizeof(*head) || bytes > left)
            return;
        if (head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS)
            note_descriptors(head, is_received);
        size_t padded = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
        if (padded > left)
            return;
        control += padded;
        left -= padded;
    }
}

void ft_passed_note(const struct ft_args *args, struct ft_outcome *outcome)
{
    if (args->message != NULL)
        note_message(args->message, args->receives);
    if (args->messages == NULL)
        return;
    outcome->has_bytes = 1;
    for (long i = 0; i < outcome->result; i++) {
        outcome->bytes += args->messages[i].msg_len;
        note_message(&args->messages[i].msg_hdr, args->receives);
    }
}
