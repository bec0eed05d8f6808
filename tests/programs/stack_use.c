// SPDX-License-Identifier: MIT
// stack_use: in a thread with the smallest stack, calls of every kind; prints for each how deep it went, in bytes.
// CFLAGS: -fno-builtin -U_FORTIFY_SOURCE
#define _GNU_SOURCE
#include "counted.h"

#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

extern char **environ;
static int file, other, pair[2];
static FILE *stream;
static DIR *directory;
static char buffer[4096];
static char *const argv_absent[] = {(char *)"absent", NULL};

static void in_open(void)
{
    CHECKED(close(open("opened", O_RDWR | O_CREAT, 0600)) == 0);
}

static void in_pwrite(void)
{
    CHECKED(pwrite(file, buffer, 100, 0) == 100);
}

static void in_pread(void)
{
    CHECKED(pread(file, buffer, 100, 0) == 100);
}

/* Not seen being opened: named at this first use. */
static void in_read_first(void)
{
    CHECKED(read(other, buffer, 1) == 1);
}

static void in_readv(void)
{
    struct iovec parts[2] = {{buffer, 10}, {buffer + 10, 10}};
    CHECKED(preadv(file, parts, 2, 0) == 20);
}

static void in_stat(void)
{
    struct stat status;
    CHECKED(stat("absent", &status) == -1);
}

static void in_rename(void)
{
    CHECKED(rename("absent", "absent too") == -1);
}

static void in_sendfile(void)
{
    off_t at = 0;
    CHECKED(sendfile(other, file, &at, 10) <= 10);
}

static void in_sendmsg(void)
{
    struct iovec part = {buffer, 10};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    CHECKED(sendmsg(pair[0], &message, 0) == 10);
}

static void in_fprintf(void)
{
    CHECKED(fprintf(stream, "%d %s\n", 1, "text") > 0);
}

static void in_fgets(void)
{
    rewind(stream);
    CHECKED(fgets(buffer, 10, stream) != NULL);
}

static void in_fopen(void)
{
    FILE *f = fopen("opened", "re");
    CHECKED(f != NULL && fclose(f) == 0);
}

static void in_readdir(void)
{
    CHECKED(readdir(directory) != NULL);
}

static void in_fcntl(void)
{
    CHECKED(fcntl(file, F_GETFL) >= 0);
}

static void in_mmap(void)
{
    void *memory = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
    CHECKED(memory != MAP_FAILED && munmap(memory, 4096) == 0);
}

static void in_execve(void)
{
    CHECKED(execve("/absent", argv_absent, environ) == -1);
}

static void in_execl(void)
{
    CHECKED(execl("/absent", "absent", (char *)NULL) == -1);
}

static void in_fork(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    CHECKED(pid > 0 && waitpid(pid, NULL, 0) == pid);
}

static void in_vfork(void)
{
    pid_t pid = vfork();
    if (pid == 0) {
        execve("/bin/true", argv_absent, environ);
        _exit(1);
    }
    CHECKED(pid > 0 && waitpid(pid, NULL, 0) == pid);
}

static void in_spawn(void)
{
    pid_t pid;
    CHECKED(posix_spawn(&pid, "/bin/true", NULL, NULL, argv_absent, environ) == 0 && waitpid(pid, NULL, 0) == pid);
}

static const struct {
    const char *name;
    void (*call)(void);
} kinds[] = {
    {"open", in_open},       {"pwrite", in_pwrite},   {"pread", in_pread},   {"read, first", in_read_first},
    {"readv", in_readv},     {"stat", in_stat},       {"rename", in_rename}, {"sendfile", in_sendfile},
    {"sendmsg", in_sendmsg}, {"fprintf", in_fprintf}, {"fgets", in_fgets},   {"fopen", in_fopen},
    {"readdir", in_readdir}, {"fcntl", in_fcntl},     {"mmap", in_mmap},     {"execve", in_execve},
    {"execl", in_execl},     {"fork", in_fork},       {"vfork", in_vfork},   {"spawn", in_spawn},
};
enum { COUNT = sizeof kinds / sizeof *kinds, PAINTED = 6000, PAINT = 0xa5 };

static long depth[COUNT + 1];

/* What a call has overwritten of paint laid below this frame. */
static long __attribute__((noinline)) deepest(void (*call)(void))
{
    unsigned char *top = __builtin_frame_address(0);
    unsigned char *low = top - 256 - PAINTED;
    for (unsigned char *at = low; at < top - 256; at++)
        *(volatile unsigned char *)at = PAINT;
    call();
    for (unsigned char *at = low; at < top - 256; at++)
        if (*(volatile unsigned char *)at != PAINT)
            return top - at;
    return 256;
}

static void *measure(void *unused)
{
    depth[COUNT] = deepest(in_pread); /* the thread's first */
    for (int i = 0; i < COUNT; i++)
        depth[i] = deepest(kinds[i].call);
    return unused;
}

int main(void)
{
    pthread_t t;
    pthread_attr_t smallest;
    file = open("file", O_RDWR | O_CREAT, 0600);
    CHECKED(ftruncate(file, 4096) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    other = (int)syscall(SYS_openat, AT_FDCWD, "file", O_RDWR);
    stream = fopen("stream", "w+e");
    directory = opendir(".");
    CHECKED(fprintf(stream, "%s", "warm\n") > 0 && readdir(directory) != NULL);
    pthread_attr_init(&smallest);
    CHECKED(pthread_attr_setstacksize(&smallest, (size_t)sysconf(_SC_THREAD_STACK_MIN)) == 0);
    /* Twice: the first time binds symbols and fills caches. */
    for (int i = 0; i < 2; i++) {
        other = dup(other);
        CHECKED(pthread_create(&t, &smallest, measure, NULL) == 0 && pthread_join(t, NULL) == 0);
    }
    printf("{\"first\": %ld", depth[COUNT]);
    for (int i = 0; i < COUNT; i++)
        printf(", \"%s\": %ld", kinds[i].name, depth[i]);
    printf("}\n");
    return 0;
}
