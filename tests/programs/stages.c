// SPDX-License-Identifier: MIT
/*
 * stages FIFO N: for each byte that comes through FIFO, N preads of one byte; says "done" and a line feed after each
 * stage. Calls in all: 2 opens, 1 read and 1 write a stage, N preads a stage, 1 read of the end. Offsets are numbers.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    int count = atoi(argv[2]), file = open("/dev/zero", O_RDONLY), fifo = open(argv[1], O_RDONLY);
    char c;
    off_t number = 0;
    while (read(fifo, &c, 1) == 1) {
        for (int i = 0; i < count; i++)
            if (pread(file, &c, 1, number++) != 1)
                abort();
        if (write(1, "done\n", 5) != 5)
            return 1;
    }
    return 0;
}
