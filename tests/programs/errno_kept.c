// SPDX-License-Identifier: MIT
// Prints result and errno of calls that fail and of calls that succeed (which leave errno as it was).
// CFLAGS: -fno-builtin -U_FORTIFY_SOURCE
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char out[16384];
static size_t used;

static void note(const char *what, long result)
{
    used += (size_t)snprintf(out + used, sizeof out - used, "%s %ld %d\n", what, result, errno);
}

#define TRY(before, call)           \
    do {                            \
        errno = (before);           \
        long result = (long)(call); \
        note(#call, result);        \
    } while (0)

int main(void)
{
    char b[16];
    struct stat s;
    int p[2];
    TRY(0, pipe2(p, O_NONBLOCK));
    TRY(77, read(p[0], b, 1));
    TRY(77, write(p[1], b, 1));
    TRY(77, read(p[0], b, 1));
    TRY(77, open("absent", O_RDONLY));
    TRY(77, open("made", O_RDWR | O_CREAT, 0600) >= 0);
    TRY(77, stat("made", &s));
    TRY(77, stat("absent", &s));
    TRY(77, lseek(p[0], 0, SEEK_SET));
    TRY(77, close(-1));
    TRY(77, mkdir("made", 0700));
    TRY(77, rename("absent", "x"));
    TRY(77, unlink("absent"));
    TRY(77, fopen("absent", "r") != NULL);
    FILE *f = fopen("made", "w+");
    TRY(77, fwrite("abc", 1, 3, f));
    TRY(77, fflush(f));
    TRY(77, fseek(f, -5, SEEK_SET));
    TRY(77, fseek(f, 0, SEEK_SET));
    TRY(77, fread(b, 1, 10, f));
    TRY(77, fclose(f));
    TRY(77, dup(-1));
    TRY(77, fcntl(0, 9999, 0));
    TRY(77, execl("/absent", "x", (char *)NULL));
    TRY(77, isatty(p[0]));
    int full = open("/dev/full", O_WRONLY);
    TRY(77, write(full, b, 10));
    TRY(77, truncate("absent", 0));
    return write(1, out, used) != (ssize_t)used;
}
