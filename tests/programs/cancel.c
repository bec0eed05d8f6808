// SPDX-License-Identifier: MIT
// cancel HOW: threads that are cancelled in calls; cleanup handlers make calls too. Prints what happened to each.
//   pending: the cancellation waits when the call is made     blocked: the call waits when the cancellation comes
//   async N: asynchronously, at any instruction of a loop of calls
#define _GNU_SOURCE
#include "cancel_calls.h"
#include "counted.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

static int full_out;
static FILE *stream;
static atomic_int is_ready;

static void cleanup(void *unused)
{
    (void)unused;
    counted_touch("cleanup");
}

/* Calls that may wait: on an empty pipe, for a reader of a fifo, for a lock that main holds. */
static void wait_read(void)
{
    (void)!read(pipe_in, buffer, 1);
}

static void wait_readv(void)
{
    struct iovec one = {buffer, 1};
    (void)!readv(pipe_in, &one, 1);
}

static void wait_write(void)
{
    for (;;)
        if (write(full_out, buffer, sizeof buffer) < 0)
            abort();
}

static void wait_open(void)
{
    (void)!open("fifo", O_WRONLY);
}

static void wait_fopen(void)
{
    (void)!fopen("fifo", "we");
}

static void wait_poll(void)
{
    struct pollfd one = {pipe_in, POLLIN, 0};
    poll(&one, 1, -1);
}

static void wait_recv(void)
{
    (void)!recv(listener, buffer, 1, 0);
}

static void wait_getc(void)
{
    (void)!fgetc(stream);
}

static void wait_lock(void)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    (void)!fcntl(file, F_OFD_SETLKW, &lock);
}

static void wait_system(void)
{
    (void)!system("exec sleep 100");
}

static void wait_sleep(void)
{
    sleep(100);
}

static void wait_wait(void)
{
    wait(NULL);
}

static const struct way waiting[] = {
    {"read", wait_read},   {"readv", wait_readv},   {"write", wait_write}, {"open", wait_open},
    {"fopen", wait_fopen}, {"poll", wait_poll},     {"recv", wait_recv},   {"fgetc", wait_getc},
    {"lock", wait_lock},   {"system", wait_system}, {"wait", wait_wait},   {"sleep", wait_sleep},
};

static void *wait_in(void *way)
{
    counted_touch("before");
    pthread_cleanup_push(cleanup, NULL);
    atomic_store(&is_ready, (int)syscall(SYS_gettid));
    ((const struct way *)way)->run();
    pthread_cleanup_pop(0);
    return NULL;
}

static void *cancelled_before(void *way)
{
    counted_touch("before");
    pthread_cleanup_push(cleanup, NULL);
    pthread_cancel(pthread_self());
    ((const struct way *)way)->run();
    pthread_cleanup_pop(0);
    return NULL;
}

/* The kernel shows what a thread waits in; a thread that waits shows no 'R'. */
static void until_it_sleeps(int tid)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
    for (int seen = 0; seen < 3;) {
        int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY);
        ssize_t n = syscall(SYS_read, fd, text, sizeof text - 1);
        syscall(SYS_close, fd);
        const char *at = n > 0 ? strrchr(text, ')') : NULL;
        seen = at && at[2] == 'S' ? seen + 1 : 0;
        struct timespec some = {0, 1000000};
        nanosleep(&some, NULL);
    }
}

static void run_all(const struct way *ways, size_t count, int is_waiting)
{
    for (size_t i = 0; i < count; i++) {
        pthread_t t;
        void *end = NULL;
        atomic_store(&is_ready, 0);
        CHECKED(pthread_create(&t, NULL, is_waiting ? wait_in : cancelled_before, (void *)(uintptr_t)&ways[i]) == 0);
        if (is_waiting) {
            while (atomic_load(&is_ready) == 0)
                sched_yield();
            until_it_sleeps(atomic_load(&is_ready));
            CHECKED(pthread_cancel(t) == 0);
        }
        CHECKED(pthread_join(t, &end) == 0);
        dprintf(1, "%s %s\n", ways[i].name, end == PTHREAD_CANCELED ? "cancelled" : "returned");
        counted_touch("after");
    }
}

static atomic_long calls;

static void *loop(void *unused)
{
    struct stat s;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (int i = 0; i < 60; i++) { /* of all threads no more than the ring holds by itself */
        stat("absent", &s);
        atomic_fetch_add(&calls, 1);
    }
    for (;;)
        __asm__ volatile("");
    return unused;
}

/* Each thread may have made one call more than it counted. */
static void at_any_instruction(int threads)
{
    for (int i = 0; i < threads; i++) {
        pthread_t t;
        long before = atomic_load(&calls);
        CHECKED(pthread_create(&t, NULL, loop, NULL) == 0);
        while (atomic_load(&calls) < before + 20)
            sched_yield();
        for (volatile int j = 0; j < i * 11; j++)
            ;
        CHECKED(pthread_cancel(t) == 0 && pthread_join(t, NULL) == 0);
        counted_touch("after");
        stat("hidden", &status);
    }
    dprintf(1, "%ld\n", atomic_load(&calls));
}

static void prepare(void)
{
    int fds[2], full[2], pair[2];
    CHECKED(pipe(fds) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    pipe_in = fds[0];
    CHECKED(pipe(full) == 0);
    full_out = full[1];
    listener = pair[0];
    CHECKED(mkfifo("fifo", 0600) == 0);
    file = open("file", O_RDWR | O_CREAT, 0600);
    int other = open("file", O_RDWR);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    CHECKED(fcntl(other, F_OFD_SETLK, &lock) == 0);
    stream = fdopen(fds[0], "r");
    pid_t pid = fork();
    if (pid == 0)
        for (;;)
            pause();
    atomic_store(&is_ready, pid);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "pending";
    counted_of("before");
    counted_of("cleanup");
    counted_of("after");
    prepare();
    pid_t child = atomic_load(&is_ready);
    if (!strcmp(how, "pending"))
        run_all(pending, sizeof pending / sizeof *pending, 0);
    else if (!strcmp(how, "blocked"))
        run_all(waiting, sizeof waiting / sizeof *waiting, 1);
    else
        at_any_instruction(argc > 2 ? atoi(argv[2]) : 100);
    kill(child, SIGKILL);
    counted_print();
    return 0;
}
