// SPDX-License-Identifier: MIT
// fork_where PLACE: forks where few do. The child writes the file `child-N` (N: 1 for the first), the parent `parent`.
//   thread, threads (beside 70 others, from the last; the child starts ten more), generations (ten deep), handler (in
//   the middle of a read), nested (a callback of ftw), constructor, destructor, atfork (a handler forks once more)
// CFLAGS: -fno-builtin
#define _GNU_SOURCE
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *place = "";
static int pipe_fds[2];

static void touch(const char *kind, int n)
{
    char name[32];
    snprintf(name, sizeof name, n ? "%s-%d" : "%s", kind, n);
    int fd = open(name, O_WRONLY | O_CREAT, 0600);
    if (fd < 0 || write(fd, "four", 4) != 4 || close(fd))
        abort();
}

static void wait_for(pid_t pid)
{
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        abort();
}

static void *touch_thread(void *n)
{
    touch("thread", (int)(long)n);
    return NULL;
}

static void start_ten_threads(void)
{
    pthread_t threads[10];
    for (long i = 0; i < 10; i++)
        pthread_create(&threads[i], NULL, touch_thread, (void *)(100 + i));
    for (int i = 0; i < 10; i++)
        pthread_join(threads[i], NULL);
}

static void fork_once(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        touch("child", 1);
        if (!strcmp(place, "threads"))
            start_ten_threads();
        _exit(0);
    }
    wait_for(pid);
}

static void *fork_in_thread(void *unused)
{
    fork_once();
    return unused;
}

static pthread_barrier_t all_there, all_done;

static void *write_and_wait(void *n)
{
    touch("thread", (int)(long)n);
    pthread_barrier_wait(&all_there);
    if ((long)n == 70)
        fork_once();
    pthread_barrier_wait(&all_done);
    return NULL;
}

static void threads(void)
{
    pthread_t ids[70];
    pthread_barrier_init(&all_there, NULL, 70);
    pthread_barrier_init(&all_done, NULL, 70);
    for (long i = 0; i < 70; i++)
        pthread_create(&ids[i], NULL, write_and_wait, (void *)(i + 1));
    for (int i = 0; i < 70; i++)
        pthread_join(ids[i], NULL);
}

static void generation(int n)
{
    pid_t pid = fork();
    if (pid == 0) {
        touch("child", n);
        if (n < 10)
            generation(n + 1);
        exit(0);
    }
    wait_for(pid);
}

/* The child comes back from the handler into the read that was interrupted, as the parent does. */
static volatile pid_t forked = -1;
static void on_signal(int unused)
{
    (void)unused;
    forked = fork();
}

static atomic_int reader;
static void *fork_into_read(void *unused)
{
    char byte;
    atomic_store(&reader, (int)syscall(SYS_gettid));
    if (read(pipe_fds[0], &byte, 1) != -1)
        abort();
    if (forked == 0) {
        for (int i = 1; i <= 3; i++)
            touch("child", i);
        _exit(0);
    }
    wait_for(forked);
    return unused;
}

static int visited;
static int visit(const char *path, const struct stat *status, int type)
{
    (void)path;
    (void)status;
    (void)type;
    if (visited++ == 0 && (forked = fork()) != 0)
        wait_for(forked);
    return 0;
}

static void nested(void)
{
    if (ftw(".", visit, 8) != 0)
        abort();
    if (forked == 0) {
        touch("child", 1);
        exit(0);
    }
}

static void fork_again(void)
{
    static int depth;
    if (depth++ == 0)
        fork_once();
}

/* The kernel shows in which call a thread waits. */
static void until_it_waits_in_read(int tid)
{
    char path[64], text[256], want[16];
    int length = snprintf(want, sizeof want, "%d ", (int)SYS_read);
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", tid);
    do {
        int fd = open(path, O_RDONLY);
        if (fd < 0 || read(fd, text, sizeof text) <= 0 || close(fd))
            abort();
        usleep(1000);
    } while (strncmp(text, want, (size_t)length) != 0);
}

static void in_thread(void *(*function)(void *))
{
    const struct sigaction action = {.sa_handler = on_signal};
    pthread_t thread;
    sigaction(SIGUSR1, &action, NULL);
    if (pthread_create(&thread, NULL, function, NULL))
        abort();
    if (function == fork_into_read) {
        while (atomic_load(&reader) == 0)
            usleep(1000);
        until_it_waits_in_read(atomic_load(&reader));
        pthread_kill(thread, SIGUSR1);
    }
    if (pthread_join(thread, NULL))
        abort();
}

__attribute__((constructor)) static void construct(int argc, char **argv)
{
    place = argc > 1 ? argv[1] : "";
    if (!strcmp(place, "constructor"))
        fork_once();
}

__attribute__((destructor)) static void destruct(void)
{
    if (!strcmp(place, "destructor"))
        fork_once();
}

int main(void)
{
    if (pipe(pipe_fds))
        return 1;
    if (!strcmp(place, "thread"))
        in_thread(fork_in_thread);
    else if (!strcmp(place, "threads"))
        threads();
    else if (!strcmp(place, "generations"))
        generation(1);
    else if (!strcmp(place, "handler"))
        in_thread(fork_into_read);
    else if (!strcmp(place, "nested"))
        nested();
    else if (!strcmp(place, "atfork") && pthread_atfork(fork_again, NULL, NULL) == 0)
        wait_for(fork() ?: (touch("child", 2), _exit(0), 0));
    touch("parent", 0);
    return 0;
}
