// SPDX-License-Identifier: MIT
#include "daemon/refusal.h"

#include <sys/socket.h>

void ft_refusal_send(int socket_fd, enum ft_refusal_reason reason)
{
    const struct ft_refusal refusal = {.magic = FT_REFUSAL_MAGIC, .reason = reason};
    (void)!send(socket_fd, &refusal, sizeof(refusal), MSG_DONTWAIT | MSG_NOSIGNAL);
}
