// SPDX-License-Identifier: MIT
// cancel HOW: threads that are cancelled in calls; cleanup handlers make calls too. Prints what happened to each.
//   pending: the cancellation waits when the call is made     blocked: the call waits when the cancellation comes
//   async N: asynchronously, at any instruction of a loop of calls
#define _GNU_SOURCE
#include "counted.h"

#include <aio.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>

static int pipe_in, full_out, file, listener;
static FILE *stream;
static char buffer[65536];
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

static const struct way {
    const char *name;
    void (*run)(void);
} waiting[] = {
    {"read", wait_read},   {"readv", wait_readv},   {"write", wait_write}, {"open", wait_open},
    {"fopen", wait_fopen}, {"poll", wait_poll},     {"recv", wait_recv},   {"fgetc", wait_getc},
    {"lock", wait_lock},   {"system", wait_system}, {"wait", wait_wait},   {"sleep", wait_sleep},
};

/* Calls that do not wait, with a cancellation that does. */
static struct stat status;
static struct aiocb request;

static void do_pread(void)
{
    (void)!pread(file, buffer, 1, 0);
}

static void do_pwrite(void)
{
    (void)!pwrite(file, buffer, 1, 0);
}

static void do_write(void)
{
    (void)!write(file, buffer, 1);
}

static void do_open(void)
{
    (void)!open("other", O_RDONLY);
}

static void do_openat(void)
{
    (void)!openat(AT_FDCWD, "other", O_RDONLY | O_CREAT, 0600);
}

static void do_creat(void)
{
    (void)!creat("other", 0600);
}

static void do_close(void)
{
    close(-1);
}

static void do_fsync(void)
{
    fsync(file);
}

static void do_fdatasync(void)
{
    fdatasync(file);
}

static void do_msync(void)
{
    msync(buffer, 0, MS_SYNC);
}

static void do_suspend(void)
{
    const struct aiocb *list[] = {&request};
    aio_suspend(list, 1, NULL);
}

static void do_fprintf(void)
{
    FILE *f = fopen("/dev/null", "we");
    fprintf(f, "%d\n", 1);
    fclose(f);
}

static void do_splice(void)
{
    (void)!splice(pipe_in, NULL, file, NULL, 1, SPLICE_F_NONBLOCK);
}

static void do_stat(void)
{
    stat("other", &status);
    pthread_testcancel();
}

static void do_tcdrain(void)
{
    tcdrain(file);
}

static void do_lockf(void)
{
    (void)!lockf(file, F_LOCK, 0);
}

static void do_sync_range(void)
{
    sync_file_range(file, 0, 1, SYNC_FILE_RANGE_WRITE);
}

static void do_fallocate(void)
{
    fallocate(file, 0, 0, 1);
}

static void do_pclose(void)
{
    pclose(popen("exec true", "r"));
    pthread_testcancel();
}

static int visit(const char *path, const struct stat *s, int kind, struct FTW *where)
{
    (void)s;
    (void)kind;
    (void)where;
    return open(path, O_RDONLY | O_NONBLOCK) < 0;
}

static void do_nftw(void)
{
    nftw(".", visit, 10, FTW_PHYS);
}

static int choose(const struct dirent *entry)
{
    return open(entry->d_name, O_RDONLY | O_NONBLOCK) >= 0;
}

static void do_scandir(void)
{
    struct dirent **found;
    scandir(".", &found, choose, NULL);
}

static int fail(const char *path, int error)
{
    (void)path;
    pthread_testcancel();
    return error;
}

static void do_glob(void)
{
    glob_t found;
    glob("file/*", 0, fail, &found);
    pthread_testcancel();
}

static ssize_t write_cookie(void *cookie, const char *bytes, size_t n)
{
    (void)cookie;
    return write(file, bytes, n);
}

static void do_cookie(void)
{
    FILE *f = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_cookie});
    fprintf(f, "%d\n", 1);
    fclose(f);
}

static void do_listio(void)
{
    struct aiocb one = {.aio_fildes = file, .aio_buf = buffer, .aio_nbytes = 1, .aio_lio_opcode = LIO_WRITE},
                 *list[] = {&one};
    lio_listio(LIO_WAIT, list, 1, NULL);
    pthread_testcancel();
}

static void do_recvmmsg(void)
{
    struct mmsghdr one = {.msg_len = 0};
    recvmmsg(listener, &one, 1, MSG_DONTWAIT, NULL);
}

static void do_allocate(void)
{
    posix_fallocate(file, 0, 1);
    pthread_testcancel();
}

static void do_preadv2(void)
{
    struct iovec one = {buffer, 1};
    (void)!preadv2(file, &one, 1, -1, 0);
}

static void do_forkpty(void)
{
    int side;
    if (forkpty(&side, NULL, NULL, NULL) == 0)
        _exit(1);
}

static void do_copy(void)
{
    (void)!copy_file_range(file, NULL, file, NULL, 0, 0);
}

static const struct way pending[] = {
    {"pread", do_pread},           {"pwrite", do_pwrite},       {"write", do_write},       {"open", do_open},
    {"openat", do_openat},         {"creat", do_creat},         {"close", do_close},       {"fsync", do_fsync},
    {"fdatasync", do_fdatasync},   {"msync", do_msync},         {"aio", do_suspend},       {"fprintf", do_fprintf},
    {"splice", do_splice},         {"stat", do_stat},           {"tcdrain", do_tcdrain},   {"lockf", do_lockf},
    {"sync_range", do_sync_range}, {"fallocate", do_fallocate}, {"copy", do_copy},         {"forkpty", do_forkpty},
    {"pclose", do_pclose},         {"nftw", do_nftw},           {"scandir", do_scandir},   {"glob", do_glob},
    {"cookie", do_cookie},         {"listio", do_listio},       {"recvmmsg", do_recvmmsg}, {"allocate", do_allocate},
    {"preadv2", do_preadv2},
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
