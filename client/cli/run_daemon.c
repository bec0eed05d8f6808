// SPDX-License-Identifier: MIT
#include "client/cli/run_daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/cli/cli.h"
#include "client/cli/run_become.h"

/* One that is killed again and again is no help. */
enum { READY_MS = 20000, FOLLOWERS_MAX = 5, LINE_BYTES = 512 };

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

static pid_t wait_for(pid_t pid, int *status)
{
    pid_t waited;
    do {
        waited = waitpid(pid, status, 0);
    } while (waited < 0 && errno == EINTR);
    return waited;
}

/* What keeps even the log empty; "" nothing. */
static const char *why_silent(void)
{
    struct rlimit size;
    bool is_small = getrlimit(RLIMIT_FSIZE, &size) == 0 && size.rlim_max < LINE_BYTES;
    return is_small ? "files may not grow (ulimit -f)" : "";
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
    char line[LINE_BYTES], how[128] = "it did not start within 20 s";
    int status = 0;
    if (polled == 0) {
        kill(daemon->pid, SIGKILL);
        wait_for(daemon->pid, &status);
    } else if (wait_for(daemon->pid, &status) == daemon->pid) {
        set_status_text(how, sizeof(how), status);
    }
    read_last_line(daemon->log, line, sizeof(line));
    const char *why = line[0] ? line : why_silent();
    snprintf(error, error_bytes, "cannot start flowtapd: %s%s%s", how, why[0] ? ": " : "", why);
    return -EIO;
}

/* `ready_fd` -1: nobody waits for it. */
static int fork_daemon(struct ft_run_daemon *daemon, int ready_fd, int hold_fd)
{
    int log_fd = open(daemon->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (log_fd < 0) {
        return -errno;
    }
    const struct ft_run_become become = {.options = daemon->options,
                                         .log_fd = log_fd,
                                         .ready_fd = ready_fd,
                                         .hold_fd = hold_fd,
                                         .files_fd = daemon->files_fd,
                                         .killed_by = daemon->ended_with};
    struct ft_environment environment;
    ft_run_become_environment(&environment, daemon->options->library);
    pid_t pid = fork();
    if (pid == 0) {
        ft_run_become(&become, environment.items);
    }
    int status = pid < 0 ? -errno : 0;
    daemon->pid = pid < 0 ? 0 : pid;
    ft_environment_fini(&environment);
    close(log_fd);
    return status;
}

/* Runs into one folder have one each: what one removes, no other writes to. */
static void choose_log(struct ft_run_daemon *daemon)
{
    char host[HOST_NAME_MAX + 1] = "", own[HOST_NAME_MAX + 32] = "flowtapd.log";
    gethostname(host, sizeof(host) - 1);
    for (int i = 0; i < 2 && !daemon->made_log; i++) {
        snprintf(daemon->log, sizeof(daemon->log), "%.*s/%s", PATH_MAX - (int)sizeof(own) - 2, daemon->options->spool,
                 own);
        int fd = open(daemon->log, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0) {
            daemon->made_log = true;
            close(fd);
        } else if (errno != EEXIST) {
            return; /* who wants to write to it will say why not */
        }
        snprintf(own, sizeof(own), "flowtapd-%s-%ld.log", host, (long)getpid());
    }
}

static void remove_log(const struct ft_run_daemon *daemon)
{
    if (daemon->made_log) {
        unlink(daemon->log);
    }
}

int ft_run_daemon_start(struct ft_run_daemon *daemon, const struct ft_run_daemon_options *options, char *error,
                        unsigned error_bytes)
{
    int ready[2] = {-1, -1}, hold[2] = {-1, -1}, status = 0;
    *daemon = (struct ft_run_daemon){.options = options, .files_fd = memfd_create("flowtap-files", MFD_CLOEXEC)};
    choose_log(daemon);
    if (daemon->files_fd < 0 || pipe2(ready, O_CLOEXEC) < 0 || pipe2(hold, O_CLOEXEC) < 0) {
        status = -errno;
    }
    status = status == 0 ? fork_daemon(daemon, ready[1], hold[0]) : status;
    if (status < 0) {
        snprintf(error, error_bytes, "cannot start flowtapd: %s", strerror(-status));
    }
    close(ready[1]);
    close(hold[0]);
    status = status == 0 ? wait_until_ready(daemon, ready[0], error, error_bytes) : status;
    close(ready[0]);
    daemon->hold_fd = hold[1];
    if (status < 0) {
        close(daemon->hold_fd);
        close(daemon->files_fd);
        daemon->hold_fd = daemon->files_fd = -1;
        remove_log(daemon);
    }
    return status;
}

/* Whether it has ended; who waits for it waits here. */
static bool has_ended(struct ft_run_daemon *daemon, int flags)
{
    pid_t waited;
    do {
        waited = daemon->pid ? waitpid(daemon->pid, &daemon->status, flags) : 0;
    } while (waited < 0 && errno == EINTR);
    if (waited != 0) {
        daemon->status = waited < 0 ? 0 : daemon->status; /* nobody knows */
        daemon->pid = 0;
    }
    return daemon->pid == 0;
}

/* The one that has ended is followed by another; false where none can be. */
static bool follow(struct ft_run_daemon *daemon)
{
    int hold[2];
    set_status_text(daemon->ended_with, sizeof(daemon->ended_with), daemon->status);
    if (pipe2(hold, O_CLOEXEC) < 0) {
        return false;
    }
    close(daemon->hold_fd);
    daemon->hold_fd = hold[1];
    daemon->followers++;
    int status = fork_daemon(daemon, -1, hold[0]);
    close(hold[0]);
    return status == 0;
}

/* However it ended: a batch system that ends a step signals all of its processes, and a daemon that is told to ends
   with status 0. */
void ft_run_daemon_look(struct ft_run_daemon *daemon)
{
    if (daemon->pid && has_ended(daemon, WNOHANG) && daemon->followers < FOLLOWERS_MAX) {
        follow(daemon);
    }
}

/* Waits for its end; false where a signal came first. */
static bool wait_for_end(struct ft_run_daemon *daemon, struct ft_run_signals *signals)
{
    if (!signals) {
        return has_ended(daemon, 0);
    }
    sigset_t waited = signals->ending;
    sigaddset(&waited, SIGCHLD);
    while (!has_ended(daemon, WNOHANG)) {
        int number = sigwaitinfo(&waited, NULL);
        if (number <= 0 || number == SIGCHLD) {
            continue;
        }
        if (sigismember(&signals->forgiven, number) != 1) {
            return false;
        }
        sigdelset(&signals->forgiven, number);
    }
    return true;
}

/* What is to be said of how it went; "" nothing. */
static void tell(const struct ft_run_daemon *daemon, bool is_followed, char *error, unsigned error_bytes)
{
    char how[128], line[LINE_BYTES] = "", see[PATH_MAX + 16] = "";
    struct stat st;
    error[0] = '\0';
    set_status_text(how, sizeof(how), daemon->status);
    bool is_silent = stat(daemon->log, &st) == 0 && st.st_size == 0;
    if (is_silent && !daemon->pid) {
        remove_log(daemon);
    } else if (!is_silent && daemon->options->is_trial) {
        read_last_line(daemon->log, line, sizeof(line));
    } else if (!is_silent) {
        snprintf(see, sizeof(see), " (see %s)", daemon->log);
    }
    if (daemon->pid) {
        snprintf(error, error_bytes, "flowtapd has not stored everything yet and goes on: the trace may lack events%s",
                 see);
    } else if (daemon->status != 0 || !is_followed) {
        snprintf(error, error_bytes, "flowtapd ended with %s: the trace may lack events%s%s%s", how, see,
                 line[0] ? ": " : "", line);
    } else if (daemon->ended_with[0]) {
        snprintf(error, error_bytes, "flowtapd ended with %s, another went on: the trace lacks events%s",
                 daemon->ended_with, see);
    }
}

int ft_run_daemon_end(struct ft_run_daemon *daemon, const struct ft_run_signals *signals, char *error,
                      unsigned error_bytes)
{
    struct ft_run_signals left, *patience = signals ? &left : NULL;
    bool is_early = has_ended(daemon, WNOHANG), is_followed = true;
    if (signals) {
        left = *signals;
    }
    close(daemon->hold_fd);
    daemon->hold_fd = -1;
    if (wait_for_end(daemon, patience) && (is_early || WIFSIGNALED(daemon->status))) {
        is_followed = follow(daemon); /* once more, so that the trace says so */
        if (daemon->hold_fd >= 0) {
            close(daemon->hold_fd);
            daemon->hold_fd = -1;
        }
        wait_for_end(daemon, patience);
    }
    tell(daemon, is_followed, error, error_bytes);
    return error[0] ? -EIO : 0;
}

void ft_run_daemon_files(struct ft_run_daemon *daemon, struct ft_strings *paths)
{
    char *names = NULL;
    struct stat st;
    if (fstat(daemon->files_fd, &st) == 0 && st.st_size > 0) {
        names = ft_cli_alloc((size_t)st.st_size + 1);
        ssize_t got = pread(daemon->files_fd, names, (size_t)st.st_size, 0);
        names[got > 0 ? got : 0] = '\0';
    }
    char *rest = names;
    for (char *name; rest && (name = strsep(&rest, "\n"));) {
        char *path = ft_cli_format("%s/%s", daemon->options->spool, name);
        if (!*name || access(path, F_OK) < 0) { /* somebody removed it */
            free(path);
            continue;
        }
        paths->items = ft_cli_realloc(paths->items, paths->count + 1, sizeof(*paths->items));
        paths->items[paths->count++] = path;
    }
    free(names);
    close(daemon->files_fd);
    daemon->files_fd = -1;
}
