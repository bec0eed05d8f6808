// SPDX-License-Identifier: MIT
// apart cwd|raw-cwd|files|raw-files|range|raw-range|leader|raw-chdir|setns: threads with a directory or descriptors of their own, and
// what else makes the kernel's answers those of one thread. Each file is written as many bytes as its name has.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_barrier_t together;
static pthread_t first;
static const char *how;

static void must(int is_so)
{
    if (!is_so)
        abort();
}

static int create(const char *name)
{
    int fd = open(name, O_CREAT | O_WRONLY | O_APPEND, 0600);
    must(fd >= 0);
    return fd;
}

static void put(int fd, const char *name)
{
    must(write(fd, name, strlen(name)) == (ssize_t)strlen(name));
}

static void write_all(const char *name)
{
    int fd = create(name);
    put(fd, name);
    close(fd);
}

static void take(int flags)
{
    must((strncmp(how, "raw", 3) ? unshare(flags) : (int)syscall(SYS_unshare, flags)) == 0);
}

static void *with_own_cwd(void *folder)
{
    take(CLONE_FS);
    must(chdir(folder) == 0);
    pthread_barrier_wait(&together);
    write_all("same");
    return NULL;
}

static void cwd(void)
{
    pthread_t threads[2];
    char *folders[] = {"one", "two"};
    pthread_barrier_init(&together, NULL, 3);
    for (int i = 0; i < 2; i++)
        must(mkdir(folders[i], 0700) == 0 && pthread_create(&threads[i], NULL, with_own_cwd, folders[i]) == 0);
    pthread_barrier_wait(&together);
    write_all("same");
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

static void *with_own_files(void *shared)
{
    int fd = *(int *)shared;
    if (!strcmp(how, "range"))
        must(close_range((unsigned)fd, (unsigned)fd, 2) == 0);
    else if (!strcmp(how, "raw-range"))
        must(syscall(SYS_close_range, fd, fd, 2) == 0);
    else {
        take(CLONE_FILES);
        close(fd);
    }
    must(create("own") == fd); // of the same number as what the others share
    pthread_barrier_wait(&together);
    put(fd, "own");
    int folder = open("one", O_RDONLY), below = openat(folder, "below", O_CREAT | O_WRONLY, 0600);
    put(below, "below");
    pthread_barrier_wait(&together);
    close(fd);
    return NULL;
}

static void files(void)
{
    pthread_t thread;
    int shared = create("shared");
    mkdir("one", 0700);
    pthread_barrier_init(&together, NULL, 2);
    must(pthread_create(&thread, NULL, with_own_files, &shared) == 0);
    pthread_barrier_wait(&together);
    int other = create("other");
    put(shared, "shared");
    put(other, "other");
    pthread_barrier_wait(&together);
    pthread_join(thread, NULL);
    put(shared, "shared");
    put(other, "other");
}

/* With the first thread gone, /proc/self has neither descriptors nor a directory. */
static void *after_the_first(void *unused)
{
    (void)unused;
    pthread_join(first, NULL);
    int inherited = fcntl(STDOUT_FILENO, F_DUPFD, 20);
    put(inherited, "to stdout\n");
    int memfd = (int)syscall(SYS_memfd_create, "unseen", 0);
    put(memfd, "to unseen");
    must(chdir("gone") == 0 && rmdir("../gone") == 0);
    must(openat(AT_FDCWD, "late", O_CREAT | O_WRONLY, 0600) < 0);
    exit(0);
}

static void leader(void)
{
    pthread_t thread;
    first = pthread_self();
    mkdir("gone", 0700);
    must(pthread_create(&thread, NULL, after_the_first, NULL) == 0);
    pthread_exit(NULL);
}

static void raw_chdir(void)
{
    mkdir("one", 0700);
    write_all("before");
    must(syscall(SYS_chdir, "one") == 0);
    write_all("inside");
    int up = open("..", O_RDONLY);
    must(syscall(SYS_fchdir, up) == 0);
    write_all("after");
}

/* Into the mount namespace that it is in: the directory is its root then. */
static void set_namespace(void)
{
    write_all("before");
    int space = open("/proc/self/ns/mnt", O_RDONLY), back = open(".", O_RDONLY);
    must(setns(space, CLONE_NEWNS) == 0);
    access("etc", R_OK);
    must(fchdir(back) == 0);
    write_all("after");
}

int main(int argc, char **argv)
{
    how = argc > 1 ? argv[1] : "cwd";
    if (!strcmp(how, "cwd") || !strcmp(how, "raw-cwd"))
        cwd();
    else if (!strcmp(how, "leader"))
        leader();
    else if (!strcmp(how, "raw-chdir"))
        raw_chdir();
    else if (!strcmp(how, "setns"))
        set_namespace();
    else
        files();
    return 0;
}
