// SPDX-License-Identifier: MIT
#include "client/cli/run_become.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client/cli/cli.h"

extern char **environ;

enum { READY_FD = 3, HOLD_FD = 4, FILES_FD = 5, HIGH_FD = 6 };

/* The daemon's descriptors are 0 (nothing), 1 and 2 (the log), READY_FD (nothing, where nobody waits), HOLD_FD and
   FILES_FD, and no other. */
static bool place_descriptors(const struct ft_run_become *become)
{
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    const int from[] = {null_fd,         become->log_fd,
                        become->log_fd,  become->ready_fd < 0 ? null_fd : become->ready_fd,
                        become->hold_fd, become->files_fd};
    enum { COUNT = sizeof(from) / sizeof(from[0]) };
    int high[COUNT];
    _Static_assert((int)COUNT == FILES_FD + 1 && (int)COUNT == HIGH_FD, "each has its place");
    for (int i = 0; i < COUNT; i++) {
        high[i] = fcntl(from[i], F_DUPFD_CLOEXEC, HIGH_FD);
        if (high[i] < 0) {
            return false;
        }
    }
    bool is_done = true;
    for (int i = 0; i < COUNT; i++) {
        is_done = is_done && dup2(high[i], i) >= 0;
    }
    /* The copies close themselves; so must what the caller left open, or its readers would wait for us. */
    if (syscall(SYS_close_range, HIGH_FD, ~0U, 0) < 0) {
        long most = sysconf(_SC_OPEN_MAX);
        for (int fd = HIGH_FD; fd < (most < 65536 ? most : 65536); fd++) {
            close(fd);
        }
    }
    return is_done;
}

/* The descriptors are placed above those of the command, which may have few. */
static void raise_files_limit(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

static void reset_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    for (int number = 1; number < NSIG; number++) {
        signal(number, SIG_DFL);
    }
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void ft_run_become_environment(struct ft_environment *environment, const char *library)
{
    ft_environment_init(environment, environ);
    char *preload = ft_environment_unload(ft_environment_get(environment, "LD_PRELOAD"), library);
    ft_environment_set(environment, "LD_PRELOAD", preload);
    ft_environment_set(environment, "FLOWTAP", NULL);
    ft_environment_set(environment, "FLOWTAP_SOCKET", NULL);
    free(preload);
}

void ft_run_become(const struct ft_run_become *become, char *const *environment)
{
    const struct ft_run_daemon_options *options = become->options;
    char *settings[] = {
        ft_cli_strdup("private=yes"),
        ft_cli_format("socket=%s", options->socket),
        ft_cli_format("spool_dir=%s", options->spool),
        ft_cli_format("command=%s", options->command ? options->command : ""),
        ft_cli_format("ready_fd=%d", READY_FD),
        ft_cli_format("hold_fd=%d", HOLD_FD),
        ft_cli_format("files_fd=%d", FILES_FD),
        ft_cli_format("follow_clean_env=%s", options->follows_clean_env ? "yes" : "no"),
        ft_cli_format("killed_by=%s", become->killed_by),
    };
    enum { COUNT = sizeof(settings) / sizeof(settings[0]) };
    const char *argv[1 + 2 * COUNT + 1] = {options->program};
    for (int i = 0; i < COUNT; i++) {
        argv[1 + 2 * i] = "--set";
        argv[2 + 2 * i] = settings[i];
    }
    setsid();
    reset_signals();
    raise_files_limit();
    if (place_descriptors(become)) {
        execve(options->program, (char *const *)(void *)argv, environment);
        dprintf(STDERR_FILENO, "cannot run %s: %s\n", options->program, strerror(errno));
    } else {
        dprintf(become->log_fd, "its descriptors cannot be placed: %s (ulimit -n)\n", strerror(errno));
    }
    _exit(127);
}
