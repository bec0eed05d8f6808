// SPDX-License-Identifier: MIT
// Functions as spans: recursion, threads, a library that is loaded at run time, longjmp, fork. Argument: that library.
// CFLAGS: -O0 -fPIE -finstrument-functions
// LDFLAGS: -pie -lflowtap-functions -Wl,--build-id=sha1
#include "instrumented.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static jmp_buf back;

static int recurse(int depth)
{
    return depth == 0 ? 0 : 1 + recurse(depth - 1);
}

static void read_file(void)
{
    char byte;
    int fd = open("/etc/passwd", O_RDONLY);
    if (read(fd, &byte, 1) != 1)
        abort();
    close(fd);
}

static void jump(void)
{
    longjmp(back, 1);
}

static void jumps_over(void)
{
    if (setjmp(back) == 0)
        jump();
}

static void jump_from_below(void)
{
    jump();
}

static void in_loop(void)
{
}

/* More often than there is room for what is open. */
static void leaves_often(void)
{
    for (volatile int i = 0; i < 3000; i++) {
        if (setjmp(back) == 0)
            i % 2 == 0 ? jump() : jump_from_below();
        in_loop();
    }
}

static void *in_thread(void *arg)
{
    for (int i = 0; i < 10; i++)
        recurse(3);
    return arg;
}

static void in_child(void)
{
    recurse(1);
}

PLAIN static void use_library(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    int (*outer)(int) = library != NULL ? (int (*)(int))dlsym(library, "library_outer") : NULL;
    if (outer == NULL || outer(5) != 15)
        abort();
}

PLAIN static void use_threads(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, in_thread, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    read_file();
    recurse(20);
    recurse(2000); /* deeper than is recorded */
    jumps_over();
    leaves_often();
    use_threads();
    if (argc > 1)
        use_library(argv[1]);
    pid_t child = fork();
    if (child == 0) {
        in_child();
        _exit(0);
    }
    waitpid(child, NULL, 0);
    puts("done");
    return 0;
}
