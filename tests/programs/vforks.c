// SPDX-License-Identifier: MIT
// vforks HOW: what a vfork child may do on its parent's memory, and that it leaves nothing behind there.
//   changes (descriptors, directory, signals), killed (in the middle of an open), nested (three deep), pointer, threads
//   (beside four that write), clone (CLONE_VM | CLONE_VFORK with a stack of its own), many (200 times)
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int fd, other;

static void put(int to, const char *text)
{
    if (write(to, text, strlen(text)) != (ssize_t)strlen(text))
        _exit(3);
}

static int status_of(pid_t pid)
{
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, __WALL) != pid)
        abort();
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int change_all(void *unused)
{
    (void)unused;
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGUSR1, &ignore, NULL);
    close(fd);
    if (dup2(other, fd) != fd || chdir("below") != 0)
        _exit(4);
    put(fd, "child");
    int own = open("inner", O_WRONLY | O_CREAT, 0600);
    put(own, "inside");
    execl("/absent/program", "x", (char *)NULL);
    _exit(127);
}

static void changes(void)
{
    pid_t pid = vfork();
    if (pid == 0)
        change_all(NULL);
    if (status_of(pid) != 127)
        abort();
}

static void clones(void)
{
    static char stack[256 * 1024] __attribute__((aligned(64)));
    if (status_of(clone(change_all, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL)) != 127)
        abort();
}

static void killed(void)
{
    pid_t pid = vfork();
    if (pid == 0) {
        alarm(1);
        int fifo = open("fifo", O_RDONLY);
        _exit(fifo);
    }
    if (status_of(pid) != 128 + SIGALRM)
        abort();
}

static void nested(void)
{
    pid_t pid = vfork();
    if (pid == 0) {
        put(other, "one");
        pid_t inner = vfork();
        if (inner == 0) {
            put(other, "three");
            pid_t innermost = vfork();
            if (innermost == 0) {
                put(other, "fives");
                _exit(5);
            }
            put(other, "fourth");
            _exit(status_of(innermost));
        }
        put(other, "two-two");
        _exit(status_of(inner));
    }
    if (status_of(pid) != 5)
        abort();
}

static void by_pointer(void)
{
    pid_t (*volatile pointer)(void) = vfork;
    pid_t pid = pointer();
    if (pid == 0) {
        put(other, "child");
        execl("/bin/true", "true", (char *)NULL);
        _exit(127);
    }
    if (status_of(pid) != 0)
        abort();
}

static atomic_int stop;

static void *write_on(void *unused)
{
    int own = open("threads", O_WRONLY | O_CREAT | O_APPEND, 0600);
    for (int i = 0; i < 1000 || !stop; i++) {
        put(own, "t");
        for (volatile int k = 0; k < (i < 10000 ? 20000 : 2000000); k++) /* what the ring holds, then slowly */
            ;
    }
    return unused;
}

__attribute__((noinline)) static void once(void)
{
    pid_t pid = vfork();
    if (pid == 0) {
        put(other, "child");
        _exit(7);
    }
    if (status_of(pid) != 7)
        abort();
}

static void many(int count)
{
    while (count-- > 0)
        once();
}

static void *many_in_thread(void *unused)
{
    many(100);
    return unused;
}

static void threads(void)
{
    pthread_t ids[6];
    for (int i = 0; i < 6; i++)
        pthread_create(&ids[i], NULL, i < 4 ? write_on : many_in_thread, NULL);
    for (int i = 5; i >= 0; i--) {
        pthread_join(ids[i], NULL);
        stop = i < 5;
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "changes";
    mkdir("below", 0700);
    mkfifo("fifo", 0600);
    fd = open("mine", O_WRONLY | O_CREAT, 0600);
    other = open("other", O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (!strcmp(how, "changes"))
        changes();
    else if (!strcmp(how, "clone"))
        clones();
    else if (!strcmp(how, "killed"))
        killed();
    else if (!strcmp(how, "nested"))
        nested();
    else if (!strcmp(how, "pointer"))
        by_pointer();
    else if (!strcmp(how, "threads"))
        threads();
    else
        many(200);
    put(fd, "parent!");
    int after = open("after", O_WRONLY | O_CREAT, 0600);
    put(after, "last");
    if (!strcmp(how, "killed"))
        kill(getpid(), SIGKILL);
    return 0;
}
