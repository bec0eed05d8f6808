// SPDX-License-Identifier: MIT
// chroot_io [enter|stay]: goes into an empty root, twice, and writes there; needs root. enter: changes directory first.
// stay: the directory stays outside.
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int put(const char *name, const char *text)
{
    int fd = open(name, O_WRONLY | O_CREAT, 0600);
    return write(fd, text, strlen(text)) != (ssize_t)strlen(text) || close(fd);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (mkdir("root", 0755) || mkdir("root/second", 0755) || chroot("absent") != -1)
        return 2;
    if (!strcmp(how, "enter") && (chdir("root") || chroot(".")))
        return 2;
    if (strcmp(how, "enter") && chroot("root"))
        return 2;
    if (!strcmp(how, "stay") && put("outside", "out"))
        return 3;
    if (chdir("/"))
        return 2;
    int fd = open("inside", O_WRONLY | O_CREAT, 0600);
    for (int i = 0; i < 100; i++)
        if (write(fd, "x", 1) != 1)
            return 3;
    if (put("/absolute", "abs") || write(1, "printed\n", 8) != 8)
        return 3;
    pid_t pid = fork();
    if (pid == 0)
        _exit(put("of-child", "c") || put("/absolute-of-child", "c"));
    int status;
    if (waitpid(pid, &status, 0) != pid || status || chroot("second") || chdir("/"))
        return 4;
    return put("deep", "d") || put("/deep-absolute", "d");
}
