// SPDX-License-Identifier: MIT
//
// Prints all that a program can see of the process that it is, so that a traced run can be compared with an untraced one.
// Numbers that are different in each run (pids, inodes of pipes) are printed as what they are to each other.
// LDFLAGS: -lm
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

enum { FDS_MAX = 4096 };

extern char **environ;

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

// The nth different thing without a name: two descriptors of one pipe have the same number.
static unsigned ordinal(unsigned long inode)
{
    static unsigned long seen[FDS_MAX];
    static unsigned count;
    for (unsigned i = 0; i < count; i++)
        if (seen[i] == inode)
            return i;
    seen[count] = inode;
    return count < FDS_MAX - 1 ? count++ : count;
}

static void print_fd(int fd)
{
    char link[64], target[4096];
    struct stat status;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, target, sizeof(target) - 1);
    if (n < 0 || fstat(fd, &status) < 0)
        return;
    target[n] = 0;
    char *number = strchr(target, '['), *nameless = strstr(target, "/#");
    if (number && target[0] != '/')
        snprintf(number, 20, "[%u]", ordinal((unsigned long)status.st_ino));
    if (nameless) // O_TMPFILE
        snprintf(nameless, 20, "/#%u", ordinal((unsigned long)status.st_ino));
    printf("fd %d: %s, descriptor %x, flags %x, mode %o, at %lld\n", fd, target, (unsigned)fcntl(fd, F_GETFD),
           (unsigned)fcntl(fd, F_GETFL), status.st_mode, (long long)lseek(fd, 0, SEEK_CUR));
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void print_fds(void)
{
    int fds[FDS_MAX], count = 0;
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *entry; folder && (entry = readdir(folder)) && count < FDS_MAX;)
        if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(folder))
            fds[count++] = atoi(entry->d_name);
    if (folder)
        closedir(folder);
    qsort(fds, (size_t)count, sizeof(*fds), by_number);
    for (int i = 0; i < count; i++)
        print_fd(fds[i]);
    int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    printf("next fd: %d\n", next);
    close(next);
}

static void print_limits(void)
{
    for (int which = 0; which < RLIM_NLIMITS; which++) {
        struct rlimit limit;
        if (getrlimit((__rlimit_resource_t)which, &limit) == 0)
            printf("limit %d: %llx %llx\n", which, (unsigned long long)limit.rlim_cur,
                   (unsigned long long)limit.rlim_max);
    }
}

static void print_status(void)
{
    static const char *const kept[] = {
        "Umask:",     "Uid:",    "Gid:",        "FDSize:",      "Groups:",      "VmLck:",      "VmPin:",
        "Threads:",   "SigPnd:", "ShdPnd:",     "SigBlk:",      "SigIgn:",      "SigCgt:",     "Cap",
        "NoNewPrivs", "Seccomp", "Speculation", "Cpus_allowed", "Mems_allowed", "CoreDumping", "THP_enabled"};
    char line[4096];
    FILE *status = fopen("/proc/self/status", "re");
    while (status && fgets(line, sizeof(line), status)) {
        if (begins(line, "TracerPid:"))
            printf("debugger: %s\n", atoi(line + strlen("TracerPid:")) ? "one" : "none");
        for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
            if (begins(line, kept[i]))
                fputs(line, stdout);
    }
    if (status)
        fclose(status);
}

static void print_signals(void)
{
    sigset_t pending, blocked;
    stack_t stack;
    sigpending(&pending);
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    for (int number = 1; number <= SIGRTMAX; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) < 0)
            continue;
        const char *what = action.sa_handler == SIG_DFL   ? "default"
                           : action.sa_handler == SIG_IGN ? "ignored"
                                                          : "handled";
        if (action.sa_handler != SIG_DFL || action.sa_flags || sigismember(&pending, number) ||
            sigismember(&blocked, number))
            printf("signal %d: %s, flags %x, pending %d, blocked %d\n", number, what, (unsigned)action.sa_flags,
                   sigismember(&pending, number), sigismember(&blocked, number));
    }
    if (sigaltstack(NULL, &stack) == 0)
        printf("alternate stack: %x %zu\n", (unsigned)stack.ss_flags, stack.ss_size);
    for (int which = ITIMER_REAL; which <= ITIMER_PROF; which++) {
        struct itimerval value;
        if (getitimer((__itimer_which_t)which, &value) == 0)
            printf("timer %d: %s\n", which, value.it_value.tv_sec || value.it_value.tv_usec ? "runs" : "stands");
    }
}

// LD_PRELOAD without Flowtap's own entry, nothing where that is the only one.
static void print_preload(void)
{
    char copy[4096];
    const char *list = getenv("LD_PRELOAD");
    snprintf(copy, sizeof(copy), "%s", list ? list : "");
    for (char *one = strtok(copy, ": "); one; one = strtok(NULL, ": "))
        if (!strstr(one, "/libflowtap-preload.so"))
            printf("preloaded: %s\n", one);
}

// Without Flowtap's own variables.
static void print_environment(char **argv)
{
    for (char **one = argv; *one; one++)
        printf("argument: %s\n", one == argv ? "(program)" : *one);
    for (char **one = environ; *one; one++)
        if (!begins(*one, "LD_PRELOAD=") && !begins(*one, "FLOWTAP"))
            printf("variable: %s\n", *one);
    print_preload();
}

static void print_file(const char *path)
{
    char text[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
    printf("%s: %zd %.*s\n", path, n, n < 0 ? 0 : (int)n, text);
    if (fd >= 0)
        close(fd);
}

static void print_link(const char *path)
{
    char target[4096];
    ssize_t n = readlink(path, target, sizeof(target));
    printf("%s -> %.*s\n", path, n < 0 ? 0 : (int)n, target);
}

static void print_locks(void)
{
    char line[512], mine[32];
    FILE *locks = fopen("/proc/locks", "re");
    snprintf(mine, sizeof(mine), " %d ", (int)getpid());
    while (locks && fgets(line, sizeof(line), locks))
        if (strstr(line, mine))
            printf("lock: %.30s\n", strchr(line, ':'));
    if (locks)
        fclose(locks);
}

static void print_prctl(void)
{
    static const struct {
        const char *name;
        int option;
    } values[] = {
        {"dumpable", PR_GET_DUMPABLE},     {"keepcaps", PR_GET_KEEPCAPS},         {"timerslack", PR_GET_TIMERSLACK},
        {"securebits", PR_GET_SECUREBITS}, {"no_new_privs", PR_GET_NO_NEW_PRIVS}, {"thp_disable", PR_GET_THP_DISABLE},
        {"timing", PR_GET_TIMING},         {"mce_kill", PR_MCE_KILL_GET}};
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
        printf("%s: %d\n", values[i].name, prctl(values[i].option, 0, 0, 0, 0));
    int death = 0, reaper = 0, tsc = 0;
    char name[17] = "";
    prctl(PR_GET_PDEATHSIG, &death);
    prctl(PR_GET_CHILD_SUBREAPER, &reaper);
    prctl(PR_GET_TSC, &tsc);
    prctl(PR_GET_NAME, name);
    printf("death signal %d, subreaper %d, tsc %d, name %s\n", death, reaper, tsc, name);
}

static void print_scheduling(void)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    sched_getaffinity(0, sizeof(cpus), &cpus);
    errno = 0;
    printf("scheduler %d, nice %d, cpus %d, io priority %ld\n", sched_getscheduler(0), getpriority(PRIO_PROCESS, 0),
           CPU_COUNT(&cpus), syscall(SYS_ioprio_get, 1, 0));
    printf("personality %x, secure %lu, rounding %d\n", (unsigned)personality(0xffffffff), getauxval(AT_SECURE),
           fegetround());
}

static void print_family(void)
{
    char path[64];
    int tty = open("/dev/tty", O_RDWR | O_CLOEXEC);
    printf("terminal: %s\n", tty < 0 ? strerror(errno) : "one");
    if (tty >= 0) {
        printf("in its foreground: %d\n", tcgetpgrp(tty) == getpgrp());
        close(tty);
    }
    printf("leads: session %d, group %d; thread is process %d\n", getsid(0) == getpid(), getpgrp() == getpid(),
           gettid() == getpid());
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char text[4096];
    printf("children: %zd bytes\n", fd < 0 ? -1 : read(fd, text, sizeof(text)));
    if (fd >= 0)
        close(fd);
}

int main(int argc, char **argv)
{
    int first_errno = errno;
    (void)argc;
    print_fds();
    printf("errno: %d\n", first_errno);
    print_limits();
    print_status();
    print_signals();
    print_environment(argv);
    print_prctl();
    print_scheduling();
    print_family();
    print_locks();
    static const char *const files[] = {"oom_score_adj",   "cgroup", "loginuid", "sessionid",
                                        "coredump_filter", "timers", "comm",     "setgroups"};
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        char path[64];
        snprintf(path, sizeof(path), "/proc/self/%s", files[i]);
        print_file(path);
    }
    print_link("/proc/self/cwd");
    print_link("/proc/self/root");
    fflush(stdout);
    return 0;
}
