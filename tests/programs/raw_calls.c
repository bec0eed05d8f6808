// SPDX-License-Identifier: MIT
// raw_calls: writes and reads ten times by syscall(), and asks for what is no I/O.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
    char bytes[4];
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "raw", O_RDWR | O_CREAT, 0600);
    for (int i = 0; i < 10; i++)
        if (syscall(SYS_pwrite64, fd, "raw", 3, 0) != 3 || syscall(SYS_pread64, fd, bytes, 3, 0) != 3)
            return 1;
    for (int i = 0; i < 100; i++)
        if (syscall(SYS_gettid) <= 0 || syscall(SYS_getpid) <= 0)
            return 2;
    return syscall(SYS_close, fd) != 0;
}
