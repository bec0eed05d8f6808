// SPDX-License-Identifier: MIT
// raw_kernel_text HOW: opens and reads files of /proc and /sys by syscall(), as allocators do; then, where HOW says so,
// what is no such file: "data" by a path below /proc, "path" that cannot be read, "none".
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int read_raw(const char *path, int flags)
{
    char bytes[64];
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
    if (fd < 0)
        return 0;
    int ok = syscall(SYS_read, fd, bytes, sizeof(bytes)) >= 0 && syscall(SYS_pread64, fd, bytes, sizeof(bytes), 0) >= 0;
    return syscall(SYS_close, fd) == 0 && ok;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "none";
    if (!read_raw("/proc/sys/vm/overcommit_memory", O_RDONLY) ||
        !read_raw("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY))
        return 1;
    if (strcmp(how, "data") == 0)
        return !read_raw("/proc/self/cwd/data", O_RDWR | O_CREAT);
    if (strcmp(how, "path") == 0)
        return syscall(SYS_openat, AT_FDCWD, (char *)16, O_RDONLY) != -1 || errno != EFAULT;
    return 0;
}
