// SPDX-License-Identifier: MIT
// early [quick|now|kill]: a file is written at each point where a program's own code can run, from the first to the last;
// "ends" tells how it goes: return, quick_exit, _exit, SIGKILL.
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* No buffer on the stack, no libc call but the three: a resolver runs before anything is set up. */
static inline __attribute__((always_inline)) void touch(const char *name)
{
    int fd = open(name, O_WRONLY | O_CREAT, 0600);
    if (fd < 0 || write(fd, "x", 1) != 1 || close(fd) != 0)
        _exit(99);
}

static int one(void)
{
    return 1;
}

/* The stack protector's canary may be missing here, and gcc's own instrumentation. */
__attribute__((used, no_stack_protector)) static int (*resolve(void))(void)
{
    touch("resolver");
    return one;
}

static int resolved(void) __attribute__((ifunc("resolve")));

static void in_preinit(void)
{
    touch("preinit");
}

__attribute__((section(".preinit_array"), used)) static void (*preinit)(void) = in_preinit;

__attribute__((constructor(101))) static void first_constructor(void)
{
    touch("constructor101");
}

__attribute__((constructor)) static void constructor(void)
{
    touch("constructor");
}

__attribute__((destructor)) static void destructor(void)
{
    touch("destructor");
}

__attribute__((destructor(101))) static void last_destructor(void)
{
    touch("destructor101");
}

static void at_exit(void)
{
    touch("atexit");
}

static void at_quick_exit_handler(void)
{
    touch("at_quick_exit");
}

static void on_exit_handler(int status, void *unused)
{
    (void)status;
    (void)unused;
    touch("on_exit");
}

int main(int argc, char **argv)
{
    const char *ends = argc > 1 ? argv[1] : "";
    if (atexit(at_exit) || on_exit(on_exit_handler, NULL) || at_quick_exit(at_quick_exit_handler))
        return 98;
    touch("main");
    FILE *late = fopen("late", "w");
    if (!late || fprintf(late, "%s", "12345") != 5 || putc('6', late) != '6' || resolved() != 1)
        return 97;
    if (strcmp(ends, "quick") == 0)
        quick_exit(3);
    if (strcmp(ends, "now") == 0)
        _exit(4);
    if (strcmp(ends, "kill") == 0)
        kill(getpid(), SIGKILL);
    return 5;
}
