// SPDX-License-Identifier: MIT
// dispatch [filter|tsc]: system calls from other code than the C library's come back as SIGSYS (as for emulators), of which there
// are none; then no more, and a child in which there never were any. Prints how many came back. Meanwhile it puts in a filter that
// kills what a tracer might want, or gives up the time stamp counter: these stay.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SET_DISPATCH = 59, DISPATCH_OFF = 0, DISPATCH_ON = 1, BLOCKS = 1, FILES = 50 };

static volatile char selector; // read by the kernel
static volatile int came_back;

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

static int shut_in(const char *how)
{
    if (!strcmp(how, "filter"))
        return filter();
    return !strcmp(how, "tsc") && prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
}

int main(int argc, char **argv)
{
    unsigned long begin, end;
    int status = 0;
    signal(SIGSYS, handle);
    if (!find_libc(&begin, &end) || prctl(SET_DISPATCH, DISPATCH_ON, begin, end - begin, &selector) != 0)
        return 77;
    selector = BLOCKS;
    for (int i = 0; i < FILES; i++)
        write_file("inside", i);
    pid_t child = fork();
    if (child == 0) {
        write_file("child", 0);
        _exit(came_back);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 2;
    selector = 0;
    if (shut_in(argc > 1 ? argv[1] : ""))
        return 5;
    if (prctl(SET_DISPATCH, DISPATCH_OFF, 0, 0, 0) != 0)
        return 4;
    for (int i = 0; i < FILES; i++)
        write_file("after", i);
    printf("%d %d\n", came_back, status);
    return 0;
}
