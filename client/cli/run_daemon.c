// SPDX-License-Identifier: MIT
#include "client/cli/run_daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/cli/cli.h"
#include "client/cli/run_environment.h"

extern char **environ;

enum { READY_MS = 20000, READY_FD = 3, HOLD_FD = 4, HIGH_FD = 10 };

/* After fork: the daemon's descriptors are 0 (nothing), 1 and 2 (the log), READY_FD and HOLD_FD, and no other. */
static bool place_descriptors(int log_fd, int ready_fd, int hold_fd)
{
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    int high[4] = {null_fd, log_fd, ready_fd, hold_fd};
    for (int i = 0; i < 4; i++) {
        high[i] = fcntl(high[i], F_DUPFD_CLOEXEC, HIGH_FD);
        if (high[i] < 0) {
            return false;
        }
    }
    bool is_done = dup2(high[0], STDIN_FILENO) >= 0 && dup2(high[1], STDOUT_FILENO) >= 0 &&
                   dup2(high[1], STDERR_FILENO) >= 0 && dup2(high[2], READY_FD) >= 0 && dup2(high[3], HOLD_FD) >= 0;
    for (int fd = HOLD_FD + 1; is_done && fd < HIGH_FD; fd++) {
        close(fd);
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

/* The daemon records others and is not recorded itself. */
static void clean_environment(struct ft_environment *environment, const char *library)
{
    ft_environment_init(environment, environ);
    char *preload = ft_environment_unload(ft_environment_get(environment, "LD_PRELOAD"), library);
    ft_environment_set(environment, "LD_PRELOAD", preload);
    ft_environment_set(environment, "FLOWTAP", NULL);
    ft_environment_set(environment, "FLOWTAP_SOCKET", NULL);
    free(preload);
}

static _Noreturn void become_daemon(const struct ft_run_daemon_options *options, char *const *environment, int log_fd,
                                    int ready_fd, int hold_fd)
{
    char socket[PATH_MAX + 16], spool[PATH_MAX + 16], command[PATH_MAX + 16], ready[32], hold[32];
    snprintf(socket, sizeof(socket), "socket=%s", options->socket);
    snprintf(spool, sizeof(spool), "spool_dir=%s", options->spool);
    snprintf(command, sizeof(command), "command=%s", options->command);
    snprintf(ready, sizeof(ready), "ready_fd=%d", READY_FD);
    snprintf(hold, sizeof(hold), "hold_fd=%d", HOLD_FD);
    const char *follow = options->follows_clean_env ? "follow_clean_env=yes" : "follow_clean_env=no";
    const char *argv[] = {options->program, "--set", "private=yes", "--set", socket,  "--set", spool, "--set", ready,
                          "--set",          hold,    "--set",       follow,  "--set", command, NULL};
    setsid();
    reset_signals();
    raise_files_limit();
    if (place_descriptors(log_fd, ready_fd, hold_fd)) {
        execve(options->program, (char *const *)(void *)argv, environment);
        dprintf(STDERR_FILENO, "cannot run %s: %s\n", options->program, strerror(errno));
    } else {
        dprintf(log_fd, "its descriptors cannot be placed: %s (ulimit -n)\n", strerror(errno));
    }
    _exit(127);
}

static void set_status_text(char *text, size_t bytes, int status)
{
    if (WIFSIGNALED(status)) {
        snprintf(text, bytes, "signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else {
        snprintf(text, bytes, "status %d", WEXITSTATUS(status));
    }
}

/* The log's last line, which says why; "" where there is none. */
static void read_last_line(const char *path, char *line, size_t line_bytes)
{
    char text[4096];
    line[0] = '\0';
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0) {
        return;
    }
    off_t from = st.st_size > (off_t)sizeof(text) - 1 ? st.st_size - (off_t)sizeof(text) + 1 : 0;
    ssize_t length = pread(fd, text, sizeof(text) - 1, from);
    close(fd);
    while (length > 0 && text[length - 1] == '\n') {
        length--;
    }
    text[length > 0 ? length : 0] = '\0';
    const char *last = strrchr(text, '\n');
    snprintf(line, line_bytes, "%.*s", (int)line_bytes - 1, last ? last + 1 : text);
}

static void remove_empty_log(const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0 && st.st_size == 0) {
        unlink(path);
    }
}

static pid_t wait_for(pid_t pid, int *status)
{
    pid_t waited;
    do {
        waited = waitpid(pid, status, 0);
    } while (waited < 0 && errno == EINTR);
    return waited;
}

/* Waits for the byte; the daemon's end or the deadline otherwise. */
static int wait_until_ready(const struct ft_run_daemon *daemon, int ready_fd, char *error, unsigned error_bytes)
{
    struct pollfd poll_fd = {.fd = ready_fd, .events = POLLIN};
    char byte = 0;
    int polled;
    do {
        polled = poll(&poll_fd, 1, READY_MS);
    } while (polled < 0 && errno == EINTR);
    if (polled > 0 && read(ready_fd, &byte, 1) == 1 && byte == 'R') {
        return 0;
    }
    char line[512], how[128] = "it did not start within 20 s";
    int status = 0;
    if (polled == 0) {
        kill(daemon->pid, SIGKILL);
        wait_for(daemon->pid, &status);
    } else if (wait_for(daemon->pid, &status) == daemon->pid) {
        set_status_text(how, sizeof(how), status);
    }
    read_last_line(daemon->log, line, sizeof(line));
    snprintf(error, error_bytes, "cannot start flowtapd: %s%s%s", how, line[0] ? ": " : "", line);
    return -EIO;
}

static int fork_daemon(struct ft_run_daemon *daemon, const struct ft_run_daemon_options *options, const int ready[2],
                       const int hold[2])
{
    int log_fd = open(daemon->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (log_fd < 0) {
        return -errno;
    }
    struct ft_environment environment;
    clean_environment(&environment, options->library);
    daemon->pid = fork();
    if (daemon->pid == 0) {
        become_daemon(options, environment.items, log_fd, ready[1], hold[0]);
    }
    int status = daemon->pid < 0 ? -errno : 0;
    ft_environment_fini(&environment);
    close(log_fd);
    return status;
}

int ft_run_daemon_start(struct ft_run_daemon *daemon, const struct ft_run_daemon_options *options, char *error,
                        unsigned error_bytes)
{
    int ready[2] = {-1, -1}, hold[2] = {-1, -1}, status = 0;
    snprintf(daemon->log, sizeof(daemon->log), "%.*s/flowtapd.log", PATH_MAX - 16, options->spool);
    if (pipe2(ready, O_CLOEXEC) < 0 || pipe2(hold, O_CLOEXEC) < 0) {
        status = -errno;
    }
    status = status == 0 ? fork_daemon(daemon, options, ready, hold) : status;
    if (status < 0) {
        snprintf(error, error_bytes, "cannot start flowtapd: %s", strerror(-status));
    }
    close(ready[1]);
    close(hold[0]);
    status = status == 0 ? wait_until_ready(daemon, ready[0], error, error_bytes) : status;
    close(ready[0]);
    if (status < 0) {
        close(hold[1]);
        unlink(daemon->log);
        return status;
    }
    daemon->hold_fd = hold[1];
    return 0;
}

int ft_run_daemon_end(struct ft_run_daemon *daemon, char *error, unsigned error_bytes)
{
    int status = 0;
    close(daemon->hold_fd);
    daemon->hold_fd = -1;
    if (wait_for(daemon->pid, &status) != daemon->pid || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
        remove_empty_log(daemon->log);
        return 0;
    }
    char how[128];
    set_status_text(how, sizeof(how), status);
    snprintf(error, error_bytes, "flowtapd ended with %s: the trace may lack events (see %s)", how, daemon->log);
    return -EIO;
}
