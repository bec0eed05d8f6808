// SPDX-License-Identifier: MIT
// apart cwd|raw-cwd|files|raw-files|range|raw-range|leader|raw-chdir|raw-filter|raw-rename|setns|failed-range|raw-failed|inner|once|
// filtered|renames: threads with a directory or descriptors of their own, and what else makes the kernel's answers those of one thread. Each file is written as many
// bytes as its name has. 77: not allowed here, or this kernel has it not.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_barrier_t together;
static pthread_t first;
static const char *how;

static void must(int is_so)
{
    if (!is_so)
        abort();
}

/* Of the calls that a container's filter or an old kernel refuses. */
static void must_be_had(int result)
{
    if (result != 0 && (errno == EPERM || errno == ENOSYS))
        _exit(77);
    must(result == 0);
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
    must_be_had(strncmp(how, "raw", 3) ? unshare(flags) : (int)syscall(SYS_unshare, flags));
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
        must_be_had(close_range((unsigned)fd, (unsigned)fd, 2));
    else if (!strcmp(how, "raw-range"))
        must_be_had((int)syscall(SYS_close_range, fd, fd, 2));
    else {
        take(CLONE_FILES);
        close(fd);
    }
    must(create("own") == fd); // of the same number as what the others share
    pthread_barrier_wait(&together);
    put(fd, "own");
    int folder = open("one", O_RDONLY), below = openat(folder, "below", O_CREAT | O_WRONLY, 0600);
    put(below, "below");
    FILE *stream = fopen("stream", "w"); // its memory is gone when the others flush all of theirs
    must(stream != NULL && fputs("stream", stream) >= 0 && fclose(stream) == 0);
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
    fflush(NULL);
}

static void *write_inner(void *fd)
{
    put(*(int *)fd, "inner");
    return NULL;
}

static void *take_and_start(void *shared)
{
    pthread_t thread;
    take(CLONE_FILES);
    close(*(int *)shared);
    must(create("inner") == *(int *)shared);
    must(pthread_create(&thread, NULL, write_inner, shared) == 0 && pthread_join(thread, NULL) == 0);
    return NULL;
}

/* A thread that one with its own descriptors starts has them, too. */
static void inner(void)
{
    pthread_t thread;
    int shared = create("shared");
    put(shared, "shared");
    must(pthread_create(&thread, NULL, take_and_start, &shared) == 0 && pthread_join(thread, NULL) == 0);
    put(shared, "shared");
}

static void *nothing(void *unused)
{
    access("/", R_OK);
    return unused;
}

/* Where no other thread is left, the table is that of those who start later. */
static void once(void)
{
    pthread_t thread;
    int fd = create("shared");
    put(fd, "shared");
    must(pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0);
    take_and_start(&fd);
}

static void *write_when_changed(void *fd)
{
    pthread_barrier_wait(&together);
    put(*(int *)fd, "second");
    return NULL;
}

/* What failed has taken nothing. */
static void failed(void)
{
    pthread_t thread;
    int fd = create("first");
    put(fd, "first");
    pthread_barrier_init(&together, NULL, 2);
    must(pthread_create(&thread, NULL, write_when_changed, &fd) == 0);
    must((strcmp(how, "raw-failed") ? close_range(9, 3, 2) : (int)syscall(SYS_unshare, CLONE_FILES | 1)) != 0);
    close(fd);
    must(create("second") == fd);
    pthread_barrier_wait(&together);
    pthread_join(thread, NULL);
}

static void *move_under_filter(void *unused)
{
    take(CLONE_FS);
    must(chdir("one") == 0);
    pthread_barrier_wait(&together);
    pthread_barrier_wait(&together);
    write_all("same");
    return unused;
}

static void put_in_filter(void)
{
    struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {1, code};
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

/* Under a filter nobody asks the kernel whose directory is which. */
static void filtered(void)
{
    pthread_t thread;
    mkdir("one", 0700);
    mkdir("two", 0700);
    pthread_barrier_init(&together, NULL, 2);
    must(pthread_create(&thread, NULL, move_under_filter, NULL) == 0);
    pthread_barrier_wait(&together);
    access("known", R_OK); // the directory that was asked for last is this thread's
    put_in_filter();
    pthread_barrier_wait(&together);
    pthread_join(thread, NULL);
    must(chdir("two") == 0);
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

/* What failed has moved nobody, and who moved is where it is: so it is known under a filter, too, where nobody can ask. */
static void raw_filter(void)
{
    mkdir("one", 0700);
    must(syscall(SYS_setns, -1, 0) != 0 && syscall(SYS_chdir, "none") != 0 && syscall(SYS_fchdir, -1) != 0);
    must(syscall(SYS_chdir, "one") == 0);
    put_in_filter();
    write_all("inside");
}

static int folder;

static void *rename_folder(void *is_raw)
{
    if (is_raw)
        must(syscall(SYS_renameat2, AT_FDCWD, "one", AT_FDCWD, "two", 0) == 0);
    else {
        take(CLONE_FILES);
        must(rename("one", "two") == 0);
    }
    return NULL;
}

/* A folder that is open has its new name for all, whoever gave it: here a thread that has descriptors of its own. */
static void renamed(int is_raw)
{
    pthread_t thread;
    mkdir("one", 0700);
    folder = open("one", O_RDONLY | O_DIRECTORY);
    must(pthread_create(&thread, NULL, rename_folder, is_raw ? &folder : NULL) == 0 && pthread_join(thread, NULL) == 0);
    int below = openat(folder, "below", O_CREAT | O_WRONLY, 0600);
    put(below, "below");
    if (is_raw)
        return;
    pid_t pid = vfork();
    if (pid == 0) {
        rename("two", "three");
        _exit(0);
    }
    must(pid > 0 && waitpid(pid, NULL, 0) == pid);
    put(openat(folder, "third", O_CREAT | O_WRONLY, 0600), "third");
}

/* Into the mount namespace that it is in: the directory is its root then. */
static void set_namespace(void)
{
    write_all("before");
    int space = open("/proc/self/ns/mnt", O_RDONLY), back = open(".", O_RDONLY);
    must_be_had(setns(space, CLONE_NEWNS));
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
    else if (!strcmp(how, "raw-filter"))
        raw_filter();
    else if (!strcmp(how, "raw-rename") || !strcmp(how, "renames"))
        renamed(how[0] == 'r' && how[1] == 'a');
    else if (!strcmp(how, "setns"))
        set_namespace();
    else if (!strcmp(how, "failed-range") || !strcmp(how, "raw-failed"))
        failed();
    else if (!strcmp(how, "inner"))
        inner();
    else if (!strcmp(how, "once"))
        once();
    else if (!strcmp(how, "filtered"))
        filtered();
    else
        files();
    return 0;
}
