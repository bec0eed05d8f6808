// SPDX-License-Identifier: MIT
// fork_at burst|plain [limited]: 400 numbered writes; a handler of SIGUSR1 forks, and the child goes back into what was
// interrupted and makes the rest of them too. `plain` opens the file anew for each; `limited` leaves the child no
// descriptor to attach with.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t is_child, has_forked;

static void on_signal(int unused)
{
    (void)unused;
    if (has_forked)
        return;
    has_forked = 1;
    if (fork() == 0)
        is_child = 1;
}

int main(int argc, char **argv)
{
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    int is_plain = argc > 1 && !strcmp(argv[1], "plain"), status = 0;
    sigaction(SIGUSR1, &action, NULL);
    int fd = open("numbers", O_RDWR | O_CREAT, 0600);
    const struct rlimit none = {4, 4};
    if (argc > 2 && setrlimit(RLIMIT_NOFILE, &none))
        return 4;
    for (long i = 0; i < 400; i++) {
        if (is_plain) {
            close(fd);
            fd = open("numbers", O_RDWR);
        }
        if (pwrite(fd, &i, sizeof i, i * (long)sizeof i) != sizeof i)
            return 1;
    }
    if (is_child)
        _exit(0);
    if (has_forked && (wait(&status) < 0 || status != 0))
        return 2;
    return has_forked ? 0 : 3;
}
