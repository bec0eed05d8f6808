// SPDX-License-Identifier: MIT
/* A program run for a look at what it says. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "client/cli/cli.h"
#include "client/cli/doctor.h"

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The program has the signal of the limit of files as we had it. */
static int set_signals(posix_spawnattr_t *attributes)
{
    sigset_t standard;
    sigemptyset(&standard);
    sigaddset(&standard, SIGXFSZ);
    int error = 0;
    if (ft_cli_has_default_file_limit()) {
        error = posix_spawnattr_setsigdefault(attributes, &standard);
        error = error ? error : posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF);
    }
    return error;
}

static int start(pid_t *pid, char *const *argv, char *const *environment, int output)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);
    if (error) {
        return -error;
    }
    error = posix_spawnattr_init(&attributes);
    if (error) {
        posix_spawn_file_actions_destroy(&actions);
        return -error;
    }
    error = set_signals(&attributes);
    error = error ? error : posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    error = error ? error : posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    error = error ? error : posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    error = error ? error : posix_spawn(pid, argv[0], &actions, &attributes, argv, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return -error;
}

/* Reads to the end or the deadline; what does not fit is read and left. False at the deadline. */
static bool read_to_end(int fd, char *text, size_t text_bytes, int deadline_ms)
{
    int64_t end = now_ms() + deadline_ms;
    size_t used = 0;
    for (;;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int64_t left = end - now_ms();
        int polled = poll(&ready, 1, left > 0 ? (int)left : 0);
        char rest[512];
        bool has_room = used + 1 < text_bytes;
        if (polled == 0) {
            return false;
        }
        if (polled < 0) {
            continue; /* EINTR */
        }
        ssize_t got = read(fd, has_room ? text + used : rest, has_room ? text_bytes - 1 - used : sizeof(rest));
        if (got == 0 || (got < 0 && errno != EINTR)) {
            return true;
        }
        used += got > 0 && has_room ? (size_t)got : 0;
        text[used] = '\0';
    }
}

int ft_doctor_run(char *const *argv, char *const *environment, char *text, size_t text_bytes, int deadline_ms)
{
    int output[2], wait_status = 0;
    pid_t pid = -1;
    text[0] = '\0';
    if (pipe2(output, O_CLOEXEC) < 0) {
        return -errno;
    }
    int status = start(&pid, argv, environment, output[1]);
    close(output[1]);
    bool has_ended = status == 0 && read_to_end(output[0], text, text_bytes, deadline_ms);
    close(output[0]);
    if (status < 0) {
        return status;
    }
    if (!has_ended) {
        kill(pid, SIGKILL);
    }
    while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR)
        ;
    return has_ended ? wait_status : -ETIMEDOUT;
}
