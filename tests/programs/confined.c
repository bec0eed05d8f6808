// SPDX-License-Identifier: MIT
// confined HOW ACTION AFTER: shuts itself in, and then goes on.
//   HOW: prctl, seccomp, prctl-syscall, tsync: a filter, put in by that call      tsc: no time stamp counter
//   ACTION of the filter for what a tracer might want: kill, trap, errno, log
//   AFTER: writes, threads, fork, exec, system, popen, spawn; in-thread, in-child, in-vfork say who is shut in
#define _GNU_SOURCE
#include "counted.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

extern char **environ;
static const char *how;
static unsigned action;

static const unsigned denied[] = {SYS_memfd_create,  SYS_socket, SYS_connect, SYS_sendmsg,
                                  SYS_fallocate,     SYS_statx,  SYS_mremap,  SYS_readlinkat,
                                  SYS_clock_gettime, SYS_gettid, SYS_tgkill};
enum { COUNT = sizeof denied / sizeof *denied };

static void put_in_filter(void)
{
    struct sock_filter code[COUNT + 3];
    code[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned i = 0; i < COUNT; i++)
        code[i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, denied[i], (unsigned char)(COUNT - i), 0);
    code[COUNT + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[COUNT + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
    struct sock_fprog program = {COUNT + 3, code};
    CHECKED(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (!strcmp(how, "prctl"))
        CHECKED(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    else if (!strcmp(how, "prctl-syscall"))
        CHECKED(syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    else
        CHECKED(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, !strcmp(how, "tsync") ? SECCOMP_FILTER_FLAG_TSYNC : 0,
                        &program) == 0);
}

static void shut_in(void)
{
    if (!strcmp(how, "tsc"))
        CHECKED(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0);
    else
        put_in_filter();
}

static void lines(const char *name, int count)
{
    for (int i = 0; i < count; i++)
        counted_touch(name);
}

static void *thread_lines(void *unused)
{
    lines("thread", 5);
    return unused;
}

static void threads(int count)
{
    enum { AT_ONCE = 10 };
    pthread_t t[AT_ONCE];
    for (int i = 0; i < count; i++) {
        if (i >= AT_ONCE)
            CHECKED(pthread_join(t[i % AT_ONCE], NULL) == 0);
        CHECKED(pthread_create(&t[i % AT_ONCE], NULL, thread_lines, NULL) == 0);
    }
    for (int i = 0; i < AT_ONCE; i++)
        CHECKED(pthread_join(t[i], NULL) == 0);
}

static void *thread_shut_in(void *unused)
{
    shut_in();
    lines("thread", 100);
    return unused;
}

static void ended(pid_t pid)
{
    int status;
    CHECKED(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECKED(status == 0);
}

static const char shell_lines[] = "echo a > shell; cat shell > shell2";
static char *const shell[] = {"sh", "-c", (char *)shell_lines, NULL};

static void spawned(void)
{
    pid_t pid;
    CHECKED(posix_spawn(&pid, "/bin/sh", NULL, NULL, shell, environ) == 0);
    ended(pid);
}

static void piped(void)
{
    FILE *f = popen(shell_lines, "r");
    CHECKED(f != NULL && pclose(f) == 0);
}

static void forked(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        lines("child", 10);
        _exit(0);
    }
    ended(pid);
}

static void child_shut_in(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        shut_in();
        lines("child", 10);
        _exit(0);
    }
    ended(pid);
    lines("after", 10);
    forked();
}

/* Only the child is shut in: the parent goes on as it was, and what it forks is recorded. */
static void vfork_child_shut_in(void)
{
    pid_t pid = vfork();
    if (pid == 0) {
        shut_in();
        execve("/bin/sh", shell, environ);
        _exit(9);
    }
    ended(pid);
    lines("after", 10);
    forked();
    CHECKED(system("echo b > seen") == 0);
}

int main(int argc, char **argv)
{
    CHECKED(argc == 4);
    how = argv[1];
    action = !strcmp(argv[2], "kill")   ? SECCOMP_RET_KILL_PROCESS
             : !strcmp(argv[2], "trap") ? SECCOMP_RET_TRAP
             : !strcmp(argv[2], "log")  ? SECCOMP_RET_LOG
                                        : SECCOMP_RET_ERRNO | EPERM;
    const char *after = argv[3];
    counted_of("before");
    counted_of("after");
    counted_of("thread");
    counted_of("child");
    lines("before", 10);
    if (!strcmp(after, "in-child")) {
        child_shut_in();
    } else if (!strcmp(after, "in-vfork")) {
        vfork_child_shut_in();
    } else if (!strcmp(after, "in-thread")) {
        pthread_t t;
        CHECKED(pthread_create(&t, NULL, thread_shut_in, NULL) == 0 && pthread_join(t, NULL) == 0);
    } else {
        shut_in();
    }
    lines("after", 100);
    if (!strcmp(after, "threads"))
        threads(200);
    if (!strcmp(after, "fork"))
        forked();
    if (!strcmp(after, "system"))
        CHECKED(system(shell_lines) == 0);
    if (!strcmp(after, "popen"))
        piped();
    if (!strcmp(after, "spawn"))
        spawned();
    counted_print();
    if (!strcmp(after, "exec"))
        execv("/bin/sh", shell);
    return 0;
}
