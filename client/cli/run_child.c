// SPDX-License-Identifier: MIT
#include "client/cli/run_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/cli/cli.h"

static const int ignored[] = {SIGINT, SIGQUIT}, passed_on[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

enum {
    IGNORED_COUNT = sizeof(ignored) / sizeof(ignored[0]),
    PASSED_COUNT = sizeof(passed_on) / sizeof(passed_on[0]),
};

/* What the command shall find as we found it. */
struct signals {
    sigset_t mask;
    struct sigaction ignored_before[IGNORED_COUNT], child_before;
};

static void set_passed_on(sigset_t *passed)
{
    sigemptyset(passed);
    for (int i = 0; i < PASSED_COUNT; i++) {
        sigaddset(passed, passed_on[i]);
    }
}

static void take_signals(struct signals *signals, sigset_t *waited)
{
    set_passed_on(waited);
    sigaddset(waited, SIGCHLD);
    sigprocmask(SIG_BLOCK, waited, &signals->mask);
    struct sigaction ignore = {.sa_handler = SIG_IGN}, standard = {.sa_handler = SIG_DFL};
    for (int i = 0; i < IGNORED_COUNT; i++) {
        sigaction(ignored[i], &ignore, &signals->ignored_before[i]);
    }
    /* With SIGCHLD ignored there would be no status to wait for. */
    sigaction(SIGCHLD, &standard, &signals->child_before);
}

static void give_back_actions(const struct signals *signals)
{
    for (int i = 0; i < IGNORED_COUNT; i++) {
        sigaction(ignored[i], &signals->ignored_before[i], NULL);
    }
}

/* Forgets those that wait. What was sent to our group (timeout(1) does) was meant for the command, and may come after its
   end; `taken` has them, too, then. */
static void take_late_ones(sigset_t *taken)
{
    sigset_t passed;
    int number;
    set_passed_on(&passed);
    while ((number = sigtimedwait(&passed, NULL, &(const struct timespec){0})) > 0) {
        sigaddset(taken, number);
    }
}

static void let_signals_through(struct ft_run_child *child)
{
    take_late_ones(&child->signals.forgiven);
    sigaction(SIGCHLD, &child->child_before, NULL);
    sigprocmask(SIG_SETMASK, &child->mask, NULL);
}

/* The signal that the command ended with, also where it says so by its status. */
static int signal_of(const siginfo_t *ended)
{
    bool is_killed = ended->si_code == CLD_KILLED || ended->si_code == CLD_DUMPED;
    int number = is_killed ? ended->si_status : ended->si_status - 128;
    return number > 0 && number < NSIG ? number : SIGCHLD;
}

static void wait_for_end(pid_t pid, const sigset_t *waited, struct ft_run_daemon *daemon, sigset_t *taken)
{
    for (;;) {
        ft_run_daemon_look(daemon);
        siginfo_t ended = {0}, info;
        if (waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT) < 0 ? errno != EINTR : ended.si_pid == pid) {
            sigaddset(taken, signal_of(&ended));
            return;
        }
        int number = sigwaitinfo(waited, &info);
        if (number <= 0 || number == SIGCHLD) {
            continue;
        }
        sigaddset(taken, number);
        /* What the command did to itself or its group has reached it already. */
        if (info.si_pid != pid) {
            kill(pid, number);
        }
    }
}

int ft_run_child_status_of(int exec_error)
{
    return exec_error == ENOENT ? 127 : 126;
}

void ft_run_child_reap(struct ft_run_child *child)
{
    int status = 0;
    pid_t ended;
    do {
        ended = waitpid(child->pid, &status, 0);
    } while (ended < 0 && errno == EINTR);
    if (child->exec_error) {
        child->status = ft_run_child_status_of(child->exec_error);
    } else if (ended != child->pid) {
        child->status = 1;
    } else {
        child->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    let_signals_through(child);
}

static _Noreturn void become_command(char *const *argv, char *const *environment, const struct signals *signals,
                                     int error_fd)
{
    give_back_actions(signals);
    sigaction(SIGCHLD, &signals->child_before, NULL);
    sigprocmask(SIG_SETMASK, &signals->mask, NULL);
    ft_cli_give_back_file_limit();
    execvpe(argv[0], argv, environment);
    int error = errno;
    (void)!write(error_fd, &error, sizeof(error));
    _exit(127);
}

int ft_run_child(struct ft_run_child *child, char *const *argv, char *const *environment, struct ft_run_daemon *daemon)
{
    int error_pipe[2];
    struct signals signals;
    sigset_t waited;
    if (pipe2(error_pipe, O_CLOEXEC) < 0) {
        return -errno;
    }
    take_signals(&signals, &waited);
    child->pid = fork();
    if (child->pid == 0) {
        become_command(argv, environment, &signals, error_pipe[1]);
    }
    int status = child->pid < 0 ? -errno : 0;
    close(error_pipe[1]);
    child->exec_error = 0;
    set_passed_on(&child->signals.ending);
    sigemptyset(&child->signals.forgiven);
    if (status == 0) {
        ssize_t got;
        do {
            got = read(error_pipe[0], &child->exec_error, sizeof(child->exec_error));
        } while (got < 0 && errno == EINTR);
        child->exec_error = got == (ssize_t)sizeof(child->exec_error) ? child->exec_error : 0;
        wait_for_end(child->pid, &waited, daemon, &child->signals.forgiven);
        take_late_ones(&child->signals.forgiven);
    }
    close(error_pipe[0]);
    give_back_actions(&signals);
    child->mask = signals.mask;
    child->child_before = signals.child_before;
    if (status < 0) {
        let_signals_through(child);
    }
    return status;
}
