// SPDX-License-Identifier: MIT
// Children open a library while another thread asks for symbols; the last that was opened, by a thread that ended, nobody asked for.
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "library.h"

static atomic_int is_over;

static void *open_one(void *data)
{
    dlopen("libutil.so.1", RTLD_NOW);
    return data;
}

static void *ask(void *data)
{
    while (!is_over)
        dlsym(RTLD_DEFAULT, "read");
    return data;
}

int main(void)
{
    pthread_t thread;
    int failed = 0;
    lib_none();
    pthread_create(&thread, NULL, open_one, NULL);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, ask, NULL);
    for (int i = 0; i < 200; i++) {
        int status = 1;
        pid_t child = fork();
        if (child == 0)
            _exit(dlopen("libm.so.6", RTLD_NOW) == NULL);
        failed += waitpid(child, &status, 0) != child || status != 0;
    }
    is_over = 1;
    pthread_join(thread, NULL);
    printf("%d\n", failed);
    fprintf(stderr, "1\n");
    return failed;
}
