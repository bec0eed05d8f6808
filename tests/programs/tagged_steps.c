// SPDX-License-Identifier: MIT
// LDFLAGS: -lflowtap
//
// Tags of a process that has two threads, main and worker; each writes into a file of its own, FOLDER/main and
// FOLDER/worker, and step n is pwrite(fd, "x", 1, n).
//   tagged_steps FOLDER handover COUNT   they take turns in setting the process's tag "round" to n; then both write. In each
//                                        eighth step the other one has a span "around", begun before and ended after.
//   tagged_steps FOLDER steps            each goes on until SIGTERM: the thread's tag "epoch" is n / 50, a scope's tag
//                                        "batch" is n, and main sets the process's tag "phase" to n / 80; with each 100th
//                                        step main forks a child that writes three into FOLDER/child. Then both say "NAME COUNT".
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "flowtap.h"

static volatile sig_atomic_t is_over;
static pthread_barrier_t barrier;
static const char *folder;
static long rounds;

static void on_term(int number)
{
    (void)number;
    is_over = 1;
}

static int open_file(const char *name)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT, 0644);
    if (fd < 0)
        _exit(1);
    return fd;
}

static void write_step(int fd, long n)
{
    if (pwrite(fd, "x", 1, n) != 1)
        _exit(1);
}

static void set_number(void (*set)(const char *, const char *), const char *key, long n)
{
    char value[24];
    snprintf(value, sizeof(value), "%ld", n);
    set(key, value);
}

static void hand_over(int fd, int is_worker)
{
    for (long n = 0; n < rounds; n++) {
        int is_setter = n % 2 == is_worker, has_span = !is_setter && n % 8 < 2;
        flowtap_span span;
        if (has_span)
            flowtap_begin(&span, "steps", "around");
        pthread_barrier_wait(&barrier);
        if (is_setter)
            set_number(flowtap_process_tag, "round", n);
        pthread_barrier_wait(&barrier);
        write_step(fd, n);
        if (has_span) {
            flowtap_arg_integer(&span, "step", n);
            flowtap_end(&span);
        }
        pthread_barrier_wait(&barrier);
    }
}

static void fork_child(void)
{
    pid_t child = fork();
    if (child == 0) {
        int fd = open_file("child");
        for (long n = 0; n < 3; n++)
            write_step(fd, n);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void go_on(int fd, int is_worker)
{
    const struct timespec rest = {.tv_nsec = 1000000};
    long n = 0;
    for (; !is_over; n++) {
        if (n % 50 == 0)
            set_number(flowtap_tag, "epoch", n / 50);
        if (n % 80 == 0 && !is_worker)
            set_number(flowtap_process_tag, "phase", n / 80);
        char batch[24];
        snprintf(batch, sizeof(batch), "%ld", n);
        flowtap_tagged tagged;
        flowtap_tag_begin(&tagged, "batch", batch);
        write_step(fd, n);
        flowtap_tag_end(&tagged);
        if (n % 100 == 99 && !is_worker)
            fork_child();
        if (n % 2 == 1) // its ring lasts for some seconds without a daemon
            nanosleep(&rest, NULL);
    }
    char line[64];
    int bytes = snprintf(line, sizeof(line), "%s %ld\n", is_worker ? "worker" : "main", n);
    if (write(STDOUT_FILENO, line, (size_t)bytes) != bytes)
        _exit(1);
}

static void run(int is_worker)
{
    int fd = open_file(is_worker ? "worker" : "main");
    if (rounds)
        hand_over(fd, is_worker);
    else
        go_on(fd, is_worker);
    close(fd);
}

static void *work(void *ignored)
{
    (void)ignored;
    run(1);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t worker;
    if (argc < 3)
        return 2;
    folder = argv[1];
    rounds = strcmp(argv[2], "handover") == 0 ? atol(argv[3]) : 0;
    signal(SIGTERM, on_term);
    pthread_barrier_init(&barrier, NULL, 2);
    if (pthread_create(&worker, NULL, work, NULL) != 0)
        return 1;
    run(0);
    return pthread_join(worker, NULL) != 0;
}
