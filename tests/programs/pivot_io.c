// SPDX-License-Identifier: MIT
// pivot_io below|away: makes a folder its root by pivot_root, by number, since libc has no function for it, and writes there; the
// root before stays below it, or is put away. 77: no mount namespace here.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int put(const char *name, const char *text)
{
    int fd = open(name, O_WRONLY | O_CREAT, 0600);
    return write(fd, text, strlen(text)) != (ssize_t)strlen(text) || close(fd);
}

static int pivot(int stays_below)
{
    if (stays_below)
        return syscall(SYS_pivot_root, "root", "root/before") || chdir("/");
    /* The directory is the same then, by another name. */
    return chdir("root") || put("within", "in") || syscall(SYS_pivot_root, ".", ".");
}

int main(int argc, char **argv)
{
    if (argc < 2 || mkdir("root", 0755) || mkdir("root/before", 0755))
        return 1;
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("root", "root", NULL, MS_BIND, NULL))
        return 77;
    int held = open("held", O_WRONLY | O_CREAT, 0600);
    if (put("outside", "out") || syscall(SYS_pivot_root, "absent", "absent") != -1 || pivot(!strcmp(argv[1], "below")))
        return 2;
    int fd = open("inside", O_WRONLY | O_CREAT, 0600);
    if (!strcmp(argv[1], "away") && (umount2(".", MNT_DETACH) || chdir("/")))
        return 2;
    for (int i = 0; i < 100; i++)
        if (write(fd, "x", 1) != 1)
            return 3;
    if (write(held, "held", 4) != 4 || put("/absolute", "abs") || mkdir("sub", 0755) || chdir("sub") ||
        put("deep", "d"))
        return 3;
    pid_t pid = fork();
    if (pid == 0)
        _exit(put("of-child", "c"));
    int status;
    return waitpid(pid, &status, 0) != pid || status ? 4 : fd - held - 1;
}
