// SPDX-License-Identifier: MIT
// One thread opens file after file under one number, another reads whatever has that number: prints which file each
// read was of, as its content says; -1 where there was none.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 4000, READS = 20000 };

static int number, was[READS];
static int has_begun, done;

static void *reads(void *unused)
{
    for (int i = 0; i < READS; i++) {
        char text[8] = {0};
        was[i] = pread(number, text, 7, 0) > 0 ? atoi(text) : -1;
        __atomic_store_n(&has_begun, 1, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
    return unused;
}

int main(void)
{
    char name[16];
    pthread_t thread;
    for (int i = 0; i < ROUNDS; i++) {
        snprintf(name, sizeof name, "%d", i);
        int fd = open(name, O_WRONLY | O_CREAT, 0600);
        if (fd < 0 || write(fd, name, sizeof name) < 1 || close(fd))
            return 1;
    }
    number = open("0", O_RDONLY);
    pthread_create(&thread, NULL, reads, NULL);
    while (!__atomic_load_n(&has_begun, __ATOMIC_ACQUIRE)) /* one read at least is of a file */
        sched_yield();
    for (int i = 1; i < ROUNDS && !__atomic_load_n(&done, __ATOMIC_ACQUIRE); i++) {
        close(number);
        snprintf(name, sizeof name, "%d", i);
        if (open(name, O_RDONLY) != number)
            return 2;
    }
    pthread_join(thread, NULL);
    for (int i = 0; i < READS; i++)
        printf("%d\n", was[i]);
    return 0;
}
