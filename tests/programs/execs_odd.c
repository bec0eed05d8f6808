// SPDX-License-Identifier: MIT
// execs_odd HOW: writes `before`, then becomes `execs_odd done …`, which writes `after` and says what it was given.
//   many (300 arguments), empty (no argument), null (no list), no_name (a list with NULL first), no_environment, thread
//   (from a thread beside three that write), memfd, deleted, script (an interpreter that is a script), failures (ten
//   kinds of exec that fail before), largest (the longest list and environment that fit)
// CFLAGS: -fno-builtin -Wno-nonnull
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;
static const char *self;

static void touch(const char *name)
{
    int fd = open(name, O_WRONLY | O_CREAT, 0700);
    if (fd < 0 || write(fd, name, strlen(name)) < 0)
        abort();
    close(fd);
}

#define TEN(x) x "0", x "1", x "2", x "3", x "4", x "5", x "6", x "7", x "8", x "9"
#define HUNDRED(x)                                                                                              \
    TEN(x "0"), TEN(x "1"), TEN(x "2"), TEN(x "3"), TEN(x "4"), TEN(x "5"), TEN(x "6"), TEN(x "7"), TEN(x "8"), \
        TEN(x "9")

static char *const done[] = {"execs_odd", "done", NULL};

static void *write_on(void *unused)
{
    for (;;)
        touch("busy");
    return unused;
}

static void *become(void *unused)
{
    execv(self, done);
    return unused;
}

static void from_thread(void)
{
    pthread_t thread;
    for (int i = 0; i < 3; i++)
        pthread_create(&thread, NULL, write_on, NULL);
    pthread_create(&thread, NULL, become, NULL);
    pthread_join(thread, NULL);
}

static void copy_self(int to)
{
    char buffer[65536];
    int from = open("/proc/self/exe", O_RDONLY);
    for (ssize_t n; (n = read(from, buffer, sizeof buffer)) > 0;)
        if (write(to, buffer, (size_t)n) != n)
            abort();
    close(from);
}

static void from_memory(void)
{
    int fd = memfd_create("program", MFD_CLOEXEC);
    copy_self(fd);
    fexecve(fd, done, environ);
}

static void deleted(void)
{
    int fd = open("copy", O_WRONLY | O_CREAT, 0700);
    copy_self(fd);
    close(fd);
    fd = open("copy", O_PATH | O_CLOEXEC);
    unlink("copy");
    execveat(fd, "", done, environ, AT_EMPTY_PATH);
}

static void write_script(const char *name, const char *interpreter)
{
    char text[4200];
    int fd = open(name, O_WRONLY | O_CREAT, 0700), n = snprintf(text, sizeof text, "#!%s done\n", interpreter);
    if (write(fd, text, (size_t)n) != n || close(fd))
        abort();
}

static void scripts(void)
{
    char first[4200], folder[4096];
    if (!getcwd(folder, sizeof folder))
        abort();
    snprintf(first, sizeof first, "%s/first", folder);
    write_script("first", self);
    write_script("second", first);
    execv("./second", (char *[]){"second", NULL});
}

static void failures(void)
{
    static char path[5000];
    memset(path, 'x', sizeof path - 1);
    mkdir("folder", 0700);
    close(open("plain", O_WRONLY | O_CREAT, 0600));
    close(open("empty", O_WRONLY | O_CREAT, 0700));
    if (symlink("loop", "loop") != 0)
        abort();
    const char *const paths[] = {"/absent", "folder", "plain", "empty", path, "plain/x", "loop", "", NULL, (char *)1};
    const int errors[] = {ENOENT, EACCES, EACCES, ENOEXEC, ENAMETOOLONG, ENOTDIR, ELOOP, ENOENT, EFAULT, EFAULT};
    for (int i = 0; i < 10; i++)
        if (execve(paths[i], done, environ) != -1 || errno != errors[i])
            abort();
    touch("between");
    become(NULL);
}

/* The kernel takes arguments before it looks into the file: an empty one tells whether they are too many. */
static int is_too_much(char **list, char **variables)
{
    if (execve("./empty", list, variables) != -1 || (errno != E2BIG && errno != ENOEXEC))
        abort();
    return errno == E2BIG;
}

/* So long that a variable more is too much. */
static void largest(void)
{
    static char *list[40] = {"execs_odd", "done"}, *clean[] = {"KEPT=yes", NULL}, text[100000];
    size_t count = 2, low = 0, high = sizeof text - 1;
    close(open("empty", O_WRONLY | O_CREAT, 0700));
    if (symlink(self, "again") != 0) /* a name as long, which is counted too */
        abort();
    memset(text, 'y', sizeof text - 1);
    while (count < 39 && !is_too_much(list, clean))
        list[count++] = text;
    char *last = strdup(text);
    list[count - 1] = last;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        last[middle] = 0;
        if (is_too_much(list, clean))
            high = middle;
        else
            low = middle;
        last[middle] = 'y';
    }
    last[low] = 0;
    execve("./again", list, clean);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    static char own[4096];
    if (argc < 2 || !strcmp(how, "done")) {
        touch("after");
        printf("%d %zu\n", argc, argc > 2 ? strlen(argv[argc - 1]) : 0);
        return 0;
    }
    if (readlink("/proc/self/exe", own, sizeof own - 1) < 0)
        return 1;
    self = own;
    touch("before");
    if (!strcmp(how, "many"))
        execlp(self, "execs_odd", "done", HUNDRED("1"), HUNDRED("2"), HUNDRED("3"), (char *)NULL);
    else if (!strcmp(how, "empty"))
        execv(self, (char *[]){NULL});
    else if (!strcmp(how, "null"))
        execve(self, NULL, environ);
    else if (!strcmp(how, "no_environment"))
        execve(self, done, NULL);
    else if (!strcmp(how, "thread"))
        from_thread();
    else if (!strcmp(how, "memfd"))
        from_memory();
    else if (!strcmp(how, "deleted"))
        deleted();
    else if (!strcmp(how, "script"))
        scripts();
    else if (!strcmp(how, "failures"))
        failures();
    else if (!strcmp(how, "largest"))
        largest();
    return 6;
}
