// SPDX-License-Identifier: MIT
// calls_process HOW: one way to make a process; the child opens, writes and closes a file of its own under its own pid.
// CFLAGS: -fno-builtin -U_FORTIFY_SOURCE
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/sched.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utmp.h>

#include "record.h"

extern char **environ;
pid_t _Fork(void);
pid_t __vfork(void) __attribute__((returns_twice));

static char *const cat[] = {"cat", "seed", NULL};

static void touch(const char *name)
{
    int fd = CALL("open", name, NA, NA, NA, open(name, O_WRONLY | O_CREAT, 0600));
    CHECK(fd >= 0);
    CHECK(CALL("write", name, fd, 5, 0, write(fd, "child", 5)) == 5);
    CHECK(CALL("close", name, fd, NA, NA, close(fd)) == 0);
}

static int child(void *unused)
{
    (void)unused;
    touch("child-file");
    return 0;
}

static void wait_for(pid_t pid)
{
    int status = 0;
    CHECK(pid > 0 && waitpid(pid, &status, __WALL) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void forks(const char *how)
{
    pid_t pid = -2;
    if (!strcmp(how, "fork"))
        pid = fork();
    else if (!strcmp(how, "_Fork"))
        pid = _Fork();
    else if (!strcmp(how, "syscall"))
        pid = (pid_t)syscall(SYS_fork);
    else if (!strcmp(how, "syscall_clone"))
        pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    else if (!strcmp(how, "syscall_clone3"))
        pid = (pid_t)syscall(SYS_clone3, &(struct clone_args){.exit_signal = SIGCHLD}, sizeof(struct clone_args));
    else if (!strcmp(how, "raw"))
        pid = (pid_t)raw_call(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
    CHECK(pid >= -1);
    if (pid == 0) {
        child(NULL);
        _exit(0);
    }
    wait_for(pid);
}

static void clones(void)
{
    static char stack[256 * 1024] __attribute__((aligned(64)));
    wait_for(clone(child, stack + sizeof stack, SIGCHLD, NULL));
}

static void vforks(const char *how)
{
    pid_t pid = strcmp(how, "vfork") ? __vfork() : vfork();
    if (pid == 0) {
        execv("/bin/cat", cat);
        _exit(127);
    }
    wait_for(pid);
}

// The child is at a terminal of its own; what it writes there comes out at the other side.
static void terminals(const char *how)
{
    int main_side, other_side;
    char text[8] = {0};
    pid_t pid;
    if (!strcmp(how, "forkpty")) {
        pid = forkpty(&main_side, NULL, NULL, NULL);
    } else {
        CHECK(openpty(&main_side, &other_side, NULL, NULL, NULL) == 0);
        pid = fork();
        if (pid == 0)
            CHECK(close(main_side) == 0 && login_tty(other_side) == 0);
    }
    if (pid == 0) {
        CHECK(isatty(0) && isatty(1));
        touch("child-file");
        _exit(write(1, "hello", 5) != 5);
    }
    CHECK(read(main_side, text, 5) == 5 && !strcmp(text, "hello"));
    wait_for(pid);
}

static void spawns(const char *how)
{
    pid_t pid = 0;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "spawned", O_WRONLY | O_CREAT, 0600);
    if (!strcmp(how, "posix_spawn"))
        CHECK(posix_spawn(&pid, "/bin/cat", &actions, NULL, cat, environ) == 0);
    else
        CHECK(posix_spawnp(&pid, "cat", &actions, NULL, cat, environ) == 0);
    wait_for(pid);
    CHECK(posix_spawn(&pid, "/absent", NULL, NULL, cat, environ) == ENOENT);
}

static void commands(const char *how)
{
    if (!strcmp(how, "system")) {
        CHECK(system("cat seed > copied") == 0);
    } else {
        char text[64];
        FILE *f = popen("cat seed", "r");
        CHECK(f && fgets(text, sizeof text, f) && CALL("pclose", NULL, NA, NA, NA, pclose(f)) == 0);
    }
}

static void daemons(void)
{
    int p[2];
    char done;
    CHECK(pipe(p) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        CHECK(daemon(1, 1) == 0);
        touch("child-file");
        CHECK(write(p[1], "d", 1) == 1);
        _exit(0);
    }
    wait_for(pid);
    CHECK(read(p[0], &done, 1) == 1);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "fork";
    fresh_file("seed", "seed\n");
    record_open();
    touch("parent-before");
    if (!strcmp(how, "clone"))
        clones();
    else if (!strcmp(how, "vfork") || !strcmp(how, "__vfork"))
        vforks(how);
    else if (!strcmp(how, "forkpty") || !strcmp(how, "login_tty"))
        terminals(how);
    else if (!strncmp(how, "posix_spawn", 11))
        spawns(how);
    else if (!strcmp(how, "system") || !strcmp(how, "popen"))
        commands(how);
    else if (!strcmp(how, "daemon"))
        daemons();
    else
        forks(how);
    touch("parent-after");
    return 0;
}
