// SPDX-License-Identifier: MIT
// opener PLUGIN TIMES: opens the plugin, lets it call the library ten times and closes it again, TIMES times, in two threads.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static const char *plugin;
static long times;

static void *run(void *data)
{
    long sum = 0;
    (void)data;
    for (long i = 0; i < times; i++) {
        void *opened = dlopen(plugin, i % 2 ? RTLD_NOW : RTLD_LAZY);
        long (*call)(int) = opened != NULL ? (long (*)(int))dlsym(opened, "plugin_run") : NULL;
        if (call == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            exit(1);
        }
        sum += call(5);
        dlclose(opened);
    }
    return (void *)sum;
}

int main(int argc, char **argv)
{
    pthread_t other;
    void *sum = NULL;
    if (argc < 4)
        return 2;
    plugin = argv[1];
    times = atol(argv[2]);
    if (argv[3][0] == '2')
        pthread_create(&other, NULL, run, NULL);
    long own = (long)run(NULL);
    if (argv[3][0] == '2')
        pthread_join(other, &sum);
    printf("%ld %ld\n", own, (long)sum);
    fflush(stdout);
    fprintf(stderr, "%ld\n", 10 * times * (argv[3][0] - '0'));
    return 0;
}
