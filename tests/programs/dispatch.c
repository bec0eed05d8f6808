// SPDX-License-Identifier: MIT
// dispatch [filter|tsc|raw|twice|thread|exec|many]: system calls from other code than the C library's come back as SIGSYS (as for
// emulators), of which there are none; then no more, and a child in which there never were any. Prints how many came back.
//   filter, tsc: meanwhile it puts in a filter that kills what a tracer might want, or gives up the time stamp counter: these stay
//   raw: by syscall(2)     twice: a second time, in the same way     thread: in a thread that ends with it
//   exec: another image is executed in the end, while it is so     many: the child makes thousands of calls
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SET_DISPATCH = 59, DISPATCH_OFF = 0, DISPATCH_ON = 1, BLOCKS = 1, FILES = 50, MANY = 4000 };

static volatile char selector; // read by the kernel
static volatile int came_back;
static const char *how;

static void handle(int number)
{
    (void)number;
    selector = 0;
    came_back++;
}

static int find_libc(unsigned long *begin, unsigned long *end)
{
    char line[512];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        if (strstr(line, "libc.so") && strstr(line, " r-xp "))
            found |= sscanf(line, "%lx-%lx", begin, end) == 2;
    if (maps != NULL)
        fclose(maps);
    return found;
}

static void write_file(const char *kind, int number)
{
    char name[32];
    snprintf(name, sizeof name, "%s-%d", kind, number);
    int fd = open(name, O_CREAT | O_WRONLY, 0600);
    if (write(fd, "x", 1) != 1 || close(fd) != 0)
        _exit(3);
}

static void write_many(void)
{
    int fd = open("many", O_CREAT | O_WRONLY, 0600);
    for (int i = 0; i < MANY; i++)
        if (pwrite(fd, "x", 1, i) != 1)
            _exit(3);
}

static int filter(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_statx, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_readlinkat, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int shut_in(void)
{
    if (!strcmp(how, "filter"))
        return filter();
    return !strcmp(how, "tsc") && prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
}

static long set_dispatch(int is_on, unsigned long begin, unsigned long bytes)
{
    volatile char *where = is_on ? &selector : NULL;
    return strcmp(how, "raw") ? prctl(SET_DISPATCH, is_on, begin, bytes, where)
                              : syscall(SYS_prctl, SET_DISPATCH, is_on, begin, bytes, where);
}

static void *begin_dispatch(void *unused)
{
    unsigned long begin, end;
    if (!find_libc(&begin, &end) || set_dispatch(DISPATCH_ON, begin, end - begin) != 0)
        _exit(77);
    if (!strcmp(how, "twice") && set_dispatch(DISPATCH_ON, begin, end - begin) != 0)
        _exit(6);
    selector = BLOCKS;
    for (int i = 0; i < FILES; i++)
        write_file("inside", i);
    return unused;
}

static void begin_in_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, begin_dispatch, NULL) != 0 || pthread_join(thread, NULL) != 0)
        _exit(7);
}

int main(int argc, char **argv)
{
    int status = 0;
    how = argc > 1 ? argv[1] : "";
    signal(SIGSYS, handle);
    if (!strcmp(how, "thread"))
        begin_in_thread();
    else
        begin_dispatch(NULL);
    pid_t child = fork();
    if (child == 0) {
        write_file("child", 0);
        if (!strcmp(how, "many"))
            write_many();
        _exit(came_back);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 2;
    selector = 0;
    if (shut_in())
        return 5;
    if (strcmp(how, "thread") && strcmp(how, "exec") && set_dispatch(DISPATCH_OFF, 0, 0) != 0)
        return 4;
    for (int i = 0; i < FILES; i++)
        write_file("after", i);
    printf("%d %d\n", came_back, status);
    fflush(stdout);
    if (!strcmp(how, "exec"))
        execl("/bin/cat", "cat", "after-0", (char *)NULL);
    return 0;
}
