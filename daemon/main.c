// SPDX-License-Identifier: MIT
//
// flowtapd: collects what traced programs record. See daemon/flowtapd.8.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/policy.h"
#include "daemon/workers.h"

// Nothing, or what is wrong, line by line. What is odd only does not keep the daemon from starting.
static int load(const struct ft_options *options, struct ft_config *config)
{
    struct ft_config_report report = {.tell = ft_log_config, .only_check = options->only_check};
    int r = ft_options_load(options, config, &report);
    return r < 0 || (options->only_check && report.odd) ? 1 : 0;
}

// For who starts the daemon: as root, where that is another user.
static int write_policy(struct ft_daemon *daemon)
{
    ft_clock_init(&daemon->clock, daemon->config.clock_interval_ns);
    int r = ft_policy_make_folder(daemon);
    if (r == 0)
        r = ft_policy_write(daemon);
    ft_clock_fini(&daemon->clock);
    return r;
}

// A descriptor that we open must never take the place of a standard one that is closed: it would get the log, and libuv
// ends a program that closes such a one.
static void occupy_standard_fds(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", O_RDWR | O_CLOEXEC);
}

// What job_finished_command runs is a site's, and the name of a job is a user's: what lets us look at everybody's processes
// and files is not for it.
static void keep_capabilities_from_commands(void)
{
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0L, 0L, 0L);
}

int main(int argc, char **argv)
{
    static struct ft_daemon daemon;
    occupy_standard_fds();
    keep_capabilities_from_commands();
    struct ft_options options;
    enum ft_options_result result = ft_options_parse(&options, argc, argv);
    if (result != FT_OPTIONS_GO)
        return result == FT_OPTIONS_EXIT_OK ? 0 : 2;
    ft_log_init(FT_LOG_INFO);
    int status = load(&options, &daemon.config);
    if (status || options.only_check) {
        ft_config_fini(&daemon.config);
        return status;
    }
    umask(0022);
    if (options.only_policy) {
        status = write_policy(&daemon) < 0 ? 1 : 0;
        ft_config_fini(&daemon.config);
        return status;
    }
    daemon.options = &options;
    status = ft_workers_init(daemon.config.private) < 0 ? 1 : 0;
    if (status == 0) {
        status = ft_daemon_init(&daemon) < 0 ? 1 : ft_daemon_run(&daemon);
        ft_daemon_fini(&daemon);
    }
    ft_config_fini(&daemon.config);
    return status;
}
