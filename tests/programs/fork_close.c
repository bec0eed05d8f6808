// SPDX-License-Identifier: MIT
// fork_close N: N children, each starts a thread at once that opens a file (descriptor 3 whoever is first) while main
// loops over close_range from 4 on; every open has to get the number that it would get alone.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int stop, wrong;

static void *opens(void *unused)
{
    for (int i = 0; i < 100; i++) {
        int fd = open("opened", O_WRONLY | O_CREAT | O_APPEND, 0600);
        if (fd != 3 || write(fd, "x", 1) != 1)
            atomic_store(&wrong, 1);
        close(fd);
    }
    atomic_store(&stop, 1);
    return unused;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 20;
    close_range(3, ~0U, 0);
    for (int i = 0; i < count; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            pthread_t t;
            if (pthread_create(&t, NULL, opens, NULL))
                _exit(2);
            while (!atomic_load(&stop))
                close_range(4, ~0U, 0);
            pthread_join(t, NULL);
            _exit(atomic_load(&wrong) ? 3 : 0);
        }
        int status = 0;
        if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 4;
    }
    return 0;
}
