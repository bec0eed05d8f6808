/* SPDX-License-Identifier: MIT */
/* What commands that ask the daemon once and print what it says have in common. */
#ifndef FT_CLI_DAEMON_REPORT_H
#define FT_CLI_DAEMON_REPORT_H

#include <protobuf-c/protobuf-c.h>

#include "client/cli/options.h"

#define FT_OPTION_SOCKET(values, member)                                                                           \
    {FT_OPTION_STRING,         0,   "socket", "PATH", "the daemon's socket; else FLOWTAP_SOCKET, else the site's", \
     offsetof(values, member), NULL}
#define FT_OPTION_JSON(values, member) \
    {FT_OPTION_FLAG, 0, "json", NULL, "print one JSON document", offsetof(values, member), NULL}

struct ft_daemon_report {
    /* As ft_ask_status(). */
    int (*ask)(const char *socket, ProtobufCMessage **reply);
    void (*print_text)(const ProtobufCMessage *reply, const char *socket);
    void (*print_json)(const ProtobufCMessage *reply, const char *socket);
};

/* Asks the daemon at `socket` (NULL: wherever it is to be found) and prints. The exit status. */
int ft_daemon_report(const struct ft_daemon_report *report, const char *socket, bool as_json);

#endif
