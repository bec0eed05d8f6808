// SPDX-License-Identifier: MIT
//
// What a client's socket is called (proto/control.h, struct ft_client_name): whether it is a program of ours that connected,
// known before it has sent anything, and after it was killed.
#ifndef FT_DAEMON_CLIENT_H
#define FT_DAEMON_CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "proto/control.h"

struct ft_client {
    bool is_program; // of ours; else the rest is nothing
    uint8_t image;   // enum ft_image
    char exe[sizeof(((struct ft_client_name *)0)->exe) + 1];
};

// From the address that accept(2) gave.
void ft_client_read(const struct sockaddr_un *address_untrusted, socklen_t bytes, struct ft_client *out);

#endif
