// SPDX-License-Identifier: MIT
// stdio_bulk write BYTES | read | inline: much data in small pieces, without fclose; the size of the file is the truth.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int writes(long total)
{
    FILE *f = fopen("bulk", "w");
    if (!f)
        return 1;
    while (total > 0) {
        size_t n = total < 7 ? (size_t)total : 7;
        if (fwrite("0123456", 1, n, f) != n)
            return 1;
        total -= (long)n;
    }
    return 0;
}

static int reads(void)
{
    char piece[11];
    long total = 0;
    FILE *f = fopen("bulk", "r");
    if (!f)
        return 1;
    for (size_t n; (n = fread(piece, 1, sizeof piece, f)) > 0;)
        total += (long)n;
    return printf("%ld\n", total) < 0;
}

// putc_unlocked and getc_unlocked are inlined by the compiler: no call until the buffer is full or empty.
static int inlined(long total)
{
    FILE *f = fopen("inlined", "w");
    if (!f)
        return 1;
    for (long i = 0; i < total; i++)
        putc_unlocked((int)(i & 127), f);
    if (fclose(f))
        return 1;
    f = fopen("inlined", "r");
    long n = 0;
    while (f && getc_unlocked(f) != EOF)
        n++;
    return n != total;
}

int main(int argc, char **argv)
{
    if (argc > 2 && !strcmp(argv[1], "write"))
        return writes(atol(argv[2]));
    if (argc > 2 && !strcmp(argv[1], "inline"))
        return inlined(atol(argv[2]));
    return reads();
}
