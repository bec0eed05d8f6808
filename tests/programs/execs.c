// SPDX-License-Identifier: MIT
// execs HOW: writes a file, then becomes `execs done 1 2 … 20`, which checks its arguments and writes another.
// CFLAGS: -fno-builtin -U_FORTIFY_SOURCE
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

#define TWENTY \
    "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19", "20"

static void touch(const char *name)
{
    int fd = open(name, O_WRONLY | O_CREAT, 0600);
    if (fd < 0 || write(fd, name, strlen(name)) < 0)
        abort();
    close(fd);
}

static int done(int argc, char **argv)
{
    char want[8];
    for (int i = 2; i < argc; i++) {
        snprintf(want, sizeof want, "%d", i - 1);
        if (strcmp(argv[i], want))
            return 9;
    }
    touch("after");
    return argc == 22 && getenv("KEPT") && !strcmp(getenv("KEPT"), "yes") ? 0 : 8;
}

static void become(const char *how, const char *self)
{
    char *argv[] = {"execs", "done", TWENTY, NULL};
    if (!strcmp(how, "execl"))
        execl(self, "execs", "done", TWENTY, (char *)NULL);
    else if (!strcmp(how, "execlp"))
        execlp(self, "execs", "done", TWENTY, (char *)NULL);
    else if (!strcmp(how, "execle"))
        execle(self, "execs", "done", TWENTY, (char *)NULL, environ);
    else if (!strcmp(how, "execv"))
        execv(self, argv);
    else if (!strcmp(how, "execve"))
        execve(self, argv, environ);
    else if (!strcmp(how, "execvp"))
        execvp(self, argv);
    else if (!strcmp(how, "execvpe"))
        execvpe(self, argv, environ);
    else if (!strcmp(how, "fexecve"))
        fexecve(open(self, O_RDONLY | O_CLOEXEC), argv, environ);
    else if (!strcmp(how, "execveat"))
        execveat(AT_FDCWD, self, argv, environ, 0);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "done"))
        return done(argc, argv);
    touch("before");
    setenv("KEPT", "yes", 1);
    if (execl("/absent/program", "x", (char *)NULL) != -1 || errno != ENOENT)
        return 7;
    touch("between");
    if (argc > 1)
        become(argv[1], "/proc/self/exe");
    return 6;
}
