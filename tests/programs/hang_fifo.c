// SPDX-License-Identifier: MIT
// Reads from a FIFO that nobody writes to; says so on stdout by a byte before it does.
#include <fcntl.h>
#include <unistd.h>

int main(void)
{
    char c;
    int fd = open("fifo", O_RDWR);
    if (fd < 0 || write(1, "R", 1) != 1)
        return 1;
    return read(fd, &c, 1) != 1;
}
