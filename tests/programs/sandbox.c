// SPDX-License-Identifier: MIT
// sandbox HOW: shuts itself in, then writes 1000 lines to a file that was opened before.
//   strict: seccomp strict mode     filter: a filter that kills what a tracer might want     tsc: no time stamp counter
//   filter-fork: as filter, then a child writes 10 more     filter-exec: as filter, then /bin/cat of the file
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void filter(void)
{
    static const unsigned killed[] = {SYS_memfd_create, SYS_socket,  SYS_connect,  SYS_sendmsg, SYS_gettid,
                                      SYS_fallocate,    SYS_madvise, SYS_readlink, SYS_statx};
    enum { COUNT = sizeof killed / sizeof *killed };
    struct sock_filter code[COUNT + 3];
    code[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned i = 0; i < COUNT; i++)
        code[i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, killed[i], (unsigned char)(COUNT - i), 0);
    code[COUNT + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[COUNT + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = {COUNT + 3, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        abort();
}

static void lines(int fd, int count)
{
    for (int i = 0; i < count; i++)
        if (write(fd, "line\n", 5) != 5)
            syscall(SYS_exit, 9);
}

static int waited(pid_t pid)
{
    int status = 0;
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 8;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "strict";
    int fd = open("lines", O_WRONLY | O_CREAT | O_APPEND, 0600);
    lines(fd, 10);
    if (!strcmp(how, "strict"))
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    else if (!strcmp(how, "tsc"))
        prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
    else
        filter();
    lines(fd, 1000);
    if (!strcmp(how, "filter-fork")) {
        pid_t pid = fork();
        if (pid == 0) {
            lines(fd, 10);
            _exit(0);
        }
        return waited(pid);
    }
    if (!strcmp(how, "filter-exec"))
        execl("/bin/true", "true", (char *)NULL);
    syscall(SYS_exit, 0);
    return 1;
}
