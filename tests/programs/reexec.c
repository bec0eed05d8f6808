// SPDX-License-Identifier: MIT
// reexec: closes all that it has open and executes itself, in each of seven ways, three times; each round appends a line.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;
enum { ROUNDS = 21, UNSHARE = 2, CLOEXEC = 4, ALL_SEALS = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };

/* Its own file as memory that nobody can change any more. */
static int sealed_copy(int self)
{
    char buffer[65536];
    ssize_t n;
    int copy = memfd_create("copy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    while ((n = read(self, buffer, sizeof buffer)) > 0)
        if (write(copy, buffer, (size_t)n) != n)
            return -1;
    return fcntl(copy, F_ADD_SEALS, ALL_SEALS) == 0 ? copy : -1;
}

static void close_by_folder(void)
{
    struct dirent *entry;
    DIR *folder = opendir("/proc/self/fd");
    while ((entry = readdir(folder)) != NULL)
        if (atoi(entry->d_name) > 2 && atoi(entry->d_name) != dirfd(folder))
            close(atoi(entry->d_name));
    closedir(folder);
}

static void go_on(int way, char **argv)
{
    char *none[] = {NULL};
    int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    switch (way) {
    case 0:
        closefrom(3);
        execv("/proc/self/exe", argv);
        break;
    case 1:
        close_range(3, ~0u, UNSHARE);
        execve("/proc/self/exe", argv, environ);
        break;
    case 2:
        close_range(3, ~0u, CLOEXEC);
        fexecve(self, argv, environ);
        break;
    case 3:
        close_range(3, ~0u, CLOEXEC);
        execveat(self, "", argv, environ, AT_EMPTY_PATH);
        break;
    case 4:
        fcntl(3, F_SETFD, FD_CLOEXEC);
        fexecve(sealed_copy(self), argv, environ);
        break;
    case 5:
        close_by_folder();
        clearenv();
        execv(argv[0], argv);
        break;
    default:
        for (int fd = 3; fd < 1024; fd++)
            syscall(SYS_close, fd);
        execve(argv[0], argv, none);
    }
}

int main(int argc, char **argv)
{
    int round = argc > 1 ? atoi(argv[1]) : 0;
    char next[16];
    if (open("rounds", O_CREAT | O_WRONLY | O_APPEND, 0600) != 3 || write(3, "round\n", 6) != 6)
        return 1;
    if (round == ROUNDS)
        return 0;
    snprintf(next, sizeof next, "%d", round + 1);
    go_on(round % 7, (char *[]){argv[0], next, NULL});
    return 2;
}
