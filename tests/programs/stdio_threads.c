// SPDX-License-Identifier: MIT
// 8 threads open, print to and close streams of their own, and print to one that they share.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static FILE *shared;

static void *work(void *argument)
{
    long n = (long)argument;
    char name[32];
    snprintf(name, sizeof name, "own-%ld", n);
    for (int round = 0; round < 20; round++) {
        FILE *f = fopen(name, "a");
        if (!f)
            abort();
        for (int i = 0; i < 50; i++)
            if (fprintf(f, "%ld %d\n", n, i) < 0 || fprintf(shared, "thread %ld line %d\n", n, i) < 0)
                abort();
        fclose(f);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[8];
    shared = fopen("shared", "w");
    for (long i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    return fclose(shared);
}
