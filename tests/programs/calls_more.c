// SPDX-License-Identifier: MIT
// Calls by the names that libc exports beside the usual ones, descriptors of no file, message queues, handles, mount tables.
// CFLAGS: -fno-builtin -U_FORTIFY_SOURCE
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <mntent.h>
#include <mqueue.h>
#include <pty.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record.h"

int __open(const char *, int, ...);
int __open64(const char *, int, ...);
int __close(int);
ssize_t __read(int, void *, size_t);
ssize_t __write(int, const void *, size_t);
ssize_t __pread64(int, void *, size_t, off_t);
ssize_t __pwrite64(int, const void *, size_t, off_t);
off_t __lseek(int, off_t, int);
int __dup2(int, int);
int __pipe(int *);
int __fcntl(int, int, ...);
ssize_t __send(int, const void *, size_t, int);
int __connect(int, const struct sockaddr *, socklen_t);
int __statfs(const char *, struct statfs *);
pid_t __fork(void);
mqd_t __mq_open_2(const char *, int);

static char buffer[8192];

#define GIVES(value, ...) CHECK(CALL(__VA_ARGS__) == (value))
#define GOOD(...) GIVES(0, __VA_ARGS__)

static void other_names(void)
{
    int p[2];
    struct statfs s;
    int fd = CALL("__open", "data", NA, NA, NA, __open("data", O_RDWR | O_CREAT, 0600));
    CHECK(fd >= 0);
    GIVES(100, "__write", "data", fd, 100, 0, __write(fd, buffer, 100));
    GIVES(20, "__lseek", "data", fd, NA, 20, __lseek(fd, 20, SEEK_SET));
    GIVES(30, "__read", "data", fd, 30, 20, __read(fd, buffer, 30));
    GIVES(10, "__pwrite64", "data", fd, 10, 5L << 30, __pwrite64(fd, buffer, 10, 5L << 30));
    GIVES(10, "__pread64", "data", fd, 50, 5L << 30, __pread64(fd, buffer, 50, 5L << 30));
    GIVES(30, "__dup2", "data", fd, NA, NA, __dup2(fd, 30));
    GIVES(31, "__fcntl", "data", fd, NA, NA, __fcntl(fd, F_DUPFD, 31));
    GIVES(1, "write", "data", 31, 1, 50, write(31, buffer, 1));
    GOOD("__close", "data", fd, NA, NA, __close(fd));
    GIVES(1, "write", "data", 30, 1, 51, write(30, buffer, 1));
    GIVES(fd, "__open64", "data", NA, NA, NA, __open64("data", O_RDONLY));
    GIVES(1, "read", "data", fd, 1, 0, read(fd, buffer, 1));
    GOOD("__pipe", NULL, NA, NA, NA, __pipe(p));
    GOOD("__statfs", "data", NA, NA, NA, __statfs("data", &s));
    int sock = CALL("socket", NULL, NA, NA, NA, socket(AF_UNIX, SOCK_STREAM, 0));
    struct sockaddr_un nobody = {.sun_family = AF_UNIX, .sun_path = "nobody"};
    CHECK(CALL("__connect", NULL, sock, NA, NA, __connect(sock, (void *)&nobody, sizeof nobody)) == -1 &&
          errno == ENOENT);
    CHECK(CALL("__send", NULL, sock, 5, NA, __send(sock, buffer, 5, 0)) == -1 && errno == ENOTCONN);
    int64_t before = record_now();
    pid_t pid = __fork();
    if (pid == 0)
        _exit(0);
    struct record fork_record = {"__fork", NULL, NA, NA, NA, before};
    record_end(&fork_record, pid, 0, 0);
    CHECK(waitpid(pid, NULL, 0) == pid);
}

static void no_files(void)
{
    int a, b;
    sigset_t set;
    uint64_t value;
    sigemptyset(&set);
    int fd = CALL("eventfd", NULL, NA, NA, NA, eventfd(1, 0));
    GOOD("eventfd_read", NULL, fd, NA, NA, eventfd_read(fd, &value));
    GOOD("eventfd_write", NULL, fd, NA, NA, eventfd_write(fd, 7));
    GIVES(8, "read", NULL, fd, 8, NONE, read(fd, &value, 8));
    GOOD("close", NULL, fd, NA, NA, close(fd));
    GIVES(fd, "epoll_create", NULL, NA, NA, NA, epoll_create(1));
    GOOD("close", NULL, fd, NA, NA, close(fd));
    GIVES(fd, "epoll_create1", NULL, NA, NA, NA, epoll_create1(0));
    GOOD("close", NULL, fd, NA, NA, close(fd));
    GIVES(fd, "timerfd_create", NULL, NA, NA, NA, timerfd_create(CLOCK_MONOTONIC, 0));
    GOOD("close", NULL, fd, NA, NA, close(fd));
    GIVES(fd, "signalfd", NULL, NA, NA, NA, signalfd(-1, &set, 0));
    GOOD("close", NULL, fd, NA, NA, close(fd));
    GIVES(fd, "inotify_init", NULL, NA, NA, NA, inotify_init());
    GOOD("close", NULL, fd, NA, NA, close(fd));
    GIVES(fd, "inotify_init1", NULL, NA, NA, NA, inotify_init1(IN_CLOEXEC));
    GOOD("close", NULL, fd, NA, NA, close(fd));
    CALL("fanotify_init", NULL, NA, NA, NA, fanotify_init(0xffffffff, 0));
    GIVES(fd, "pidfd_open", NULL, NA, NA, NA, pidfd_open((pid_t)raw_getpid(), 0));
    int copy = CALL("pidfd_getfd", NULL, fd, NA, NA, pidfd_getfd(fd, 30, 0));
    CHECK(copy >= 0);
    GIVES(1, "write", "data", copy, 1, NONE, write(copy, buffer, 1));
    GOOD("close", NULL, fd, NA, NA, close(fd));
    GIVES(fd, "posix_openpt", NULL, NA, NA, NA, posix_openpt(O_RDWR | O_NOCTTY));
    GOOD("close", NULL, fd, NA, NA, close(fd));
    GIVES(fd, "getpt", NULL, NA, NA, NA, getpt());
    GOOD("close", NULL, fd, NA, NA, close(fd));
    GOOD("openpty", NULL, NA, NA, NA, openpty(&a, &b, NULL, NULL, NULL));
    GIVES(2, "write", NULL, a, 2, NONE, write(a, "x\n", 2));
    GIVES(2, "read", NULL, b, 10, NONE, read(b, buffer, 10));
    GOOD("close", NULL, a, NA, NA, close(a));
    GOOD("close", NULL, b, NA, NA, close(b));
}

static void queues(void)
{
    char name[32];
    unsigned priority;
    struct timespec until = {1L << 40, 0};
    struct mq_attr attributes = {.mq_maxmsg = 3, .mq_msgsize = 77};
    snprintf(name, sizeof name, "/flowtap-%ld", raw_getpid());
    int q = CALL("mq_open", NULL, NA, NA, NA, mq_open(name, O_RDWR | O_CREAT, 0600, &attributes));
    if (q < 0)
        return;
    GOOD("mq_send", NULL, q, 5, NA, mq_send(q, "hello", 5, 1));
    GOOD("mq_timedsend", NULL, q, 6, NA, mq_timedsend(q, "hello2", 6, 1, &until));
    GIVES(5, "mq_receive", NULL, q, 77, NA, mq_receive(q, buffer, 77, &priority));
    GIVES(6, "mq_timedreceive", NULL, q, 77, NA, mq_timedreceive(q, buffer, 77, &priority, &until));
    GOOD("mq_close", NULL, q, NA, NA, mq_close(q));
    GIVES(q, "__mq_open_2", NULL, NA, NA, NA, __mq_open_2(name, O_RDONLY));
    GOOD("mq_close", NULL, q, NA, NA, mq_close(q));
    GOOD("mq_unlink", NULL, NA, NA, NA, mq_unlink(name));
    int s = CALL("shm_open", NULL, NA, NA, NA, shm_open(name, O_RDWR | O_CREAT, 0600));
    GOOD("shm_unlink", NULL, NA, NA, NA, shm_unlink(name));
    GOOD("close", NULL, s, NA, NA, close(s));
}

static void more_of_files(void)
{
    struct {
        struct file_handle head;
        char room[MAX_HANDLE_SZ];
    } handle = {.head.handle_bytes = MAX_HANDLE_SZ};
    int mount;
    off_t base = 0;
    CALL("name_to_handle_at", "data", NA, NA, NA, name_to_handle_at(AT_FDCWD, "data", &handle.head, &mount, 0));
    CHECK(CALL("open_by_handle_at", NULL, 77, NA, NA, open_by_handle_at(77, &handle.head, O_RDONLY)) == -1);
    int dir = CALL("open", ".", NA, NA, NA, open(".", O_RDONLY));
    CHECK(CALL("getdirentries", ".", dir, 4096, NA, getdirentries(dir, buffer, 4096, &base)) > 0);
    CHECK(CALL("getdirentries64", ".", dir, 4096, NA, getdirentries64(dir, buffer, 4096, &base)) >= 0);
    CHECK(CALL("getdents64", ".", dir, 4096, NA, getdents64(dir, buffer, 4096)) >= 0);
    GOOD("close", ".", dir, NA, NA, close(dir));
    FILE *f = CALL("setmntent", "table", NA, NA, NA, setmntent("table", "r"));
    CHECK(f && getmntent(f));
    GIVES(1, "endmntent", "table", NA, NA, NA, endmntent(f));
}

int main(void)
{
    fresh_file("table", "tmpfs /tmp tmpfs rw 0 0\n");
    record_open();
    other_names();
    no_files();
    queues();
    more_of_files();
    return 0;
}
