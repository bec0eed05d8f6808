// SPDX-License-Identifier: MIT
//
// Tells who asks why there is no answer (proto/control.h).
#ifndef FT_DAEMON_REFUSAL_H
#define FT_DAEMON_REFUSAL_H

#include "proto/control.h"

// Where it cannot be sent at once, it is not. Any thread's.
void ft_refusal_send(int socket_fd, enum ft_refusal_reason reason);

#endif
