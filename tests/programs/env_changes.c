// SPDX-License-Identifier: MIT
// env_changes CHANGE MAKER: changes its own environment, then runs `cat text` by execv, execve, system, popen,
// posix_spawn or vfork. Prints what getenv and environ say of the variables first, then what cat read.
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static char *const cat[] = {"cat", "text", NULL};

static void change(const char *how)
{
    static char other[] = "LD_PRELOAD=", *own[] = {"PATH=/usr/bin:/bin", NULL};
    if (!strcmp(how, "unsetenv"))
        unsetenv("LD_PRELOAD");
    else if (!strcmp(how, "unset_all"))
        unsetenv("LD_PRELOAD"), unsetenv("FLOWTAP"), unsetenv("FLOWTAP_SOCKET");
    else if (!strcmp(how, "setenv"))
        setenv("LD_PRELOAD", "libm.so.6", 1);
    else if (!strcmp(how, "putenv"))
        putenv(other);
    else if (!strcmp(how, "clearenv"))
        clearenv();
    else if (!strcmp(how, "null"))
        environ = NULL;
    else if (!strcmp(how, "own"))
        environ = own;
}

static int run(const char *how)
{
    char line[100] = "";
    int status = 1;
    pid_t pid = 0;
    if (!strcmp(how, "execv"))
        return execv("/bin/cat", cat);
    if (!strcmp(how, "execve"))
        return execve("/bin/cat", cat, environ);
    if (!strcmp(how, "system"))
        return system("/bin/cat text");
    if (!strcmp(how, "popen")) {
        FILE *f = popen("/bin/cat text", "r");
        if (!f || !fgets(line, sizeof line, f) || pclose(f) != 0)
            return 1;
        fputs(line, stdout);
        return 0;
    }
    if (!strcmp(how, "vfork")) {
        pid = vfork();
        if (pid == 0) {
            execv("/bin/cat", cat);
            _exit(127);
        }
    } else if (posix_spawn(&pid, "/bin/cat", NULL, NULL, cat, environ) != 0) {
        return 1;
    }
    return waitpid(pid, &status, 0) != pid || status != 0;
}

static void print_environment(void)
{
    const char *path = getenv("PATH");
    printf("PATH %s\n", path ? path : "none");
    for (char **e = environ; e && *e; e++)
        if (strncmp(*e, "FLOWTAP", 7) != 0 && strncmp(*e, "LD_PRELOAD=", 11) != 0)
            printf("%s\n", *e);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    change(argv[1]);
    char **before = environ;
    print_environment();
    if (strncmp(argv[2], "exec", 4) != 0) {
        int status = run(argv[2]);
        print_environment();
        return before != environ ? 9 : status;
    }
    return run(argv[2]);
}
