// SPDX-License-Identifier: MIT
// fork_at HOW N [limited]: N numbered writes; a handler of SIGUSR1 forks, and the child goes back into what was interrupted
// and makes the rest of them too. `limited` leaves the child no descriptor to attach with.
//   burst: writes alone      plain: the file is opened anew for each
//   deep: the child writes 40 numbers in the handler, into a file of its depth, and forks there if the signal comes again
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEEPEST = 3, IN_HANDLER = 40 };

static volatile sig_atomic_t depth, has_forked, is_deep;
static int files[DEEPEST + 1];

static void put(int file, long i)
{
    if (pwrite(file, &i, sizeof i, i * (long)sizeof i) != sizeof i)
        abort();
}

static void on_signal(int unused)
{
    (void)unused;
    if (has_forked || depth == (is_deep ? DEEPEST : 1))
        return;
    has_forked = 1;
    if (fork() != 0)
        return;
    has_forked = 0;
    depth++;
    for (long i = 0, file = files[depth]; is_deep && i < IN_HANDLER; i++)
        put((int)file, i);
}

static void prepare(int is_limited)
{
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_NODEFER};
    const struct rlimit none = {4, 4};
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 1; is_deep && i <= DEEPEST; i++) {
        char name[16];
        snprintf(name, sizeof name, "depth-%d", i);
        files[i] = open(name, O_RDWR | O_CREAT, 0600);
    }
    files[0] = open("numbers", O_RDWR | O_CREAT, 0600);
    if (is_limited && setrlimit(RLIMIT_NOFILE, &none))
        abort();
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "burst";
    long count = argc > 2 ? atol(argv[2]) : 400;
    int is_plain = !strcmp(how, "plain"), status = 0;
    is_deep = !strcmp(how, "deep");
    prepare(argc > 3);
    for (long i = 0; i < count; i++) {
        if (is_plain) {
            close(files[0]);
            files[0] = open("numbers", O_RDWR);
        }
        put(files[0], i);
    }
    if (has_forked && (wait(&status) < 0 || status != 0))
        _exit(2);
    _exit(depth > 0 || has_forked ? 0 : 3);
}
