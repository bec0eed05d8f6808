// SPDX-License-Identifier: MIT
// touch_all NAME…: each file is made and gets as many bytes as its place in the list.
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static char bytes[4096];
    for (int i = 1; i < argc; i++) {
        int fd = open(argv[i], O_WRONLY | O_CREAT, 0600);
        if (fd < 0 || write(fd, bytes, (size_t)i) != i || close(fd))
            return i;
    }
    return 0;
}
