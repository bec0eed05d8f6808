// SPDX-License-Identifier: MIT
#include "client/cli/daemon_report.h"

#include "client/cli/cli.h"
#include "client/cli/daemon_ask.h"

int ft_daemon_report(const struct ft_daemon_report *report, const char *given, bool as_json)
{
    const char *socket = ft_ask_socket_path(given);
    ProtobufCMessage *reply;
    int error = report->ask(socket, &reply);
    if (error != 0) {
        return ft_cli_fail("%s: %s", socket, ft_ask_explain(error));
    }
    (as_json ? report->print_json : report->print_text)(reply, socket);
    protobuf_c_message_free_unpacked(reply, NULL);
    return ft_cli_finish_output(FT_STATUS_DONE);
}
