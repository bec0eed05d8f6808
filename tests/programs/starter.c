// SPDX-License-Identifier: MIT
// starter WAY PROGRAM [ENVIRONMENT]: starts PROGRAM in a child in that way, waits, prints nothing, returns its status.
//   ENVIRONMENT: kept (default), empty, null, unset (our variables alone), cleared (clearenv)
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

extern char **environ;

static char **environment;

static void become(const char *how, const char *path, char **argv)
{
    if (!strcmp(how, "execve"))
        execve(path, argv, environment);
    else if (!strcmp(how, "execv"))
        execv(path, argv);
    else if (!strcmp(how, "execvp"))
        execvp(path, argv);
    else if (!strcmp(how, "execvpe"))
        execvpe(path, argv, environment);
    else if (!strcmp(how, "execl"))
        execl(path, argv[0], (char *)NULL);
    else if (!strcmp(how, "execlp"))
        execlp(path, argv[0], (char *)NULL);
    else if (!strcmp(how, "execle"))
        execle(path, argv[0], (char *)NULL, environment);
    else if (!strcmp(how, "execveat"))
        execveat(AT_FDCWD, path, argv, environment, 0);
    else if (!strcmp(how, "execveat-fd"))
        execveat(open(path, O_PATH), "", argv, environment, AT_EMPTY_PATH);
    else if (!strcmp(how, "fexecve"))
        fexecve(open(path, O_RDONLY), argv, environment);
    else if (!strcmp(how, "raw-execve"))
        syscall(SYS_execve, path, argv, environment);
    else
        _exit(90);
    _exit(91);
}

static int waited(pid_t pid)
{
    int status = 0;
    if (pid <= 0 || waitpid(pid, &status, 0) != pid)
        return 92;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 93;
}

static int status_of(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 94;
}

static int start(const char *how, const char *path, char **argv)
{
    pid_t pid = 0;
    if (!strcmp(how, "posix_spawn"))
        return posix_spawn(&pid, path, NULL, NULL, argv, environment) ? 95 : waited(pid);
    if (!strcmp(how, "posix_spawnp"))
        return posix_spawnp(&pid, path, NULL, NULL, argv, environment) ? 95 : waited(pid);
    if (!strcmp(how, "system"))
        return status_of(system(path));
    if (!strcmp(how, "wordexp")) { // its command's status is not told
        char text[512];
        wordexp_t words;
        snprintf(text, sizeof(text), "$((1 + 1)) $(%s)", path);
        return wordexp(text, &words, WRDE_SHOWERR) ? 98 : (int)words.we_wordc - 1;
    }
    if (!strcmp(how, "popen")) {
        FILE *f = popen(path, "w");
        return f ? status_of(pclose(f)) : 96;
    }
    if (!strncmp(how, "vfork-", 6)) {
        pid = vfork();
        if (pid == 0)
            become(how + 6, path, argv);
        return waited(pid);
    }
    if (!strncmp(how, "self-", 5))
        become(how + 5, path, argv);
    pid = fork();
    if (pid == 0)
        become(how, path, argv);
    return waited(pid);
}

int main(int argc, char **argv)
{
    static char *none[] = {NULL};
    const char *what = argc > 3 ? argv[3] : "kept";
    char *args[] = {argc > 2 ? argv[2] : "", NULL};
    if (argc < 3)
        return 97;
    if (!strcmp(what, "cleared"))
        clearenv();
    if (!strcmp(what, "unset"))
        unsetenv("LD_PRELOAD");
    if (!strcmp(what, "replaced"))
        setenv("LD_PRELOAD", "/absent/other.so", 1);
    environment = !strcmp(what, "empty") ? none : !strcmp(what, "null") ? NULL : environ;
    return start(argv[1], argv[2], args);
}
