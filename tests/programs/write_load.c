// SPDX-License-Identifier: MIT
//
// write_load FOLDER PROCESSES FORK_EVERY [COUNT [hold]]: so many processes write numbered records until SIGTERM, or
// COUNT of them: the nth call of a process is pwrite(fd, "x", 1, n). With each FORK_EVERY of them a child writes a few
// into a file of its own and ends (0: none). When all is done, each says "PID COUNT PARENT" on stdout, children too; with
// "hold" they stay until SIGTERM then.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t is_over;
static int is_holding;

static void on_term(int number)
{
    (void)number;
    is_over = 1;
}

static void say(long count)
{
    char line[64];
    int bytes = snprintf(line, sizeof(line), "%d %ld %d\n", (int)getpid(), count, (int)getppid());
    if (write(STDOUT_FILENO, line, (size_t)bytes) != bytes)
        _exit(1);
}

static long write_numbered(const char *folder, const char *kind, long count, long fork_every)
{
    char path[4096];
    const struct timespec rest = {.tv_nsec = 1000000};
    snprintf(path, sizeof(path), "%s/%s-%d", folder, kind, (int)getpid());
    int fd = open(path, O_RDWR | O_CREAT, 0644);
    long i = 0;
    for (; !is_over && i < count; i++) {
        if (pwrite(fd, "x", 1, i) != 1)
            _exit(1);
        if (i % 8 == 7) // a record costs far less than a daemon's start: the ring is to hold what comes meanwhile
            nanosleep(&rest, NULL);
        if (fork_every && i % fork_every == fork_every - 1) {
            pid_t child = fork();
            if (child == 0) {
                signal(SIGTERM, SIG_IGN);
                is_over = is_holding = 0;
                say(write_numbered(folder, "child", 20 + i % 13, 0));
                _exit((int)(i % 7));
            }
            while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
                ;
        }
    }
    close(fd);
    while (is_holding && !is_over)
        pause();
    return i;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    long processes = atol(argv[2]), fork_every = atol(argv[3]), count = argc > 4 ? atol(argv[4]) : 1000000000;
    is_holding = argc > 5;
    signal(SIGTERM, on_term);
    for (long i = 0; i < processes; i++)
        if (fork() == 0) {
            say(write_numbered(argv[1], "worker", count, fork_every));
            _exit(0);
        }
    while (wait(NULL) > 0 || errno == EINTR)
        ;
    return 0;
}
