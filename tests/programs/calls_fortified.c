// SPDX-License-Identifier: MIT
// What the compiler makes of ordinary calls under _FORTIFY_SOURCE where sizes are not known when it compiles.
// CFLAGS: -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <unistd.h>

#include "record.h"

#ifndef __OPTIMIZE__
#error fortified calls need optimisation
#endif

static char buffer[4096];
static volatile size_t many = 100;
static volatile int flags = O_RDONLY;

#define GIVES(value, ...) CHECK(CALL(__VA_ARGS__) == (value))

static void descriptors(void)
{
    int fd = CALL("__open_2", "data", NA, NA, NA, open("data", flags));
    CHECK(fd >= 0);
    GIVES(100, "__read_chk", "data", fd, 100, 0, read(fd, buffer, many));
    GIVES(100, "__pread_chk", "data", fd, 100, 7, pread(fd, buffer, many, 7));
    GIVES(100, "__pread64_chk", "data", fd, 100, 9, pread64(fd, buffer, many, 9));
    GIVES(0, "close", "data", fd, NA, NA, close(fd));
    fd = CALL("__open64_2", "data", NA, NA, NA, open64("data", flags));
    GIVES(0, "close", "data", fd, NA, NA, close(fd));
    fd = CALL("__openat_2", "data", NA, NA, NA, openat(AT_FDCWD, "data", flags));
    GIVES(0, "close", "data", fd, NA, NA, close(fd));
    fd = CALL("__openat64_2", "data", NA, NA, NA, openat64(AT_FDCWD, "data", flags));
    GIVES(0, "close", "data", fd, NA, NA, close(fd));
    GIVES(4, "__readlink_chk", "link", NA, NA, NA, readlink("link", buffer, many));
    GIVES(4, "__readlinkat_chk", "link", NA, NA, NA, readlinkat(AT_FDCWD, "link", buffer, many));
    CHECK(CALL("__realpath_chk", "link", NA, NA, NA, realpath("link", buffer)));
}

static void sockets(void)
{
    int s[2];
    CHECK(CALL("socketpair", NULL, NA, NA, NA, socketpair(AF_UNIX, SOCK_STREAM, 0, s)) == 0);
    GIVES(200, "send", NULL, s[0], 200, NA, send(s[0], buffer, 200, 0));
    GIVES(100, "__recv_chk", NULL, s[1], 100, NA, recv(s[1], buffer, many, 0));
    GIVES(100, "__recvfrom_chk", NULL, s[1], 100, NA, recvfrom(s[1], buffer, many, 0, NULL, NULL));
}

// Memory whose size only the third level knows.
static void third_level(void)
{
    char *room = malloc(many);
    int fd = CALL("__open_2", "data", NA, NA, NA, open("data", flags));
    GIVES(100, "__read_chk", "data", fd, 100, 0, read(fd, room, many));
    GIVES(0, "close", "data", fd, NA, NA, close(fd));
    FILE *f = CALL("fopen", "data", NA, NA, NA, fopen("data", "r"));
    GIVES(100UL, "__fread_chk", "data", NA, 100, NA, fread(room, 1, many, f));
    CHECK(CALL("__fgets_chk", "data", NA, NA, NA, fgets(room, (int)many, f)));
    GIVES(0, "fclose", "data", NA, NA, NA, fclose(f));
    free(room);
}

static int vprint(FILE *f, const char *format, ...)
{
    va_list a;
    va_start(a, format);
    int n = CALL("__vfprintf_chk", "out", NA, NA, NA, vfprintf(f, format, a));
    va_end(a);
    return n;
}

static void streams(void)
{
    FILE *f = CALL("fopen", "data", NA, NA, NA, fopen("data", "r"));
    CHECK(f);
    GIVES(100UL, "__fread_chk", "data", NA, 100, NA, fread(buffer, 1, many, f));
    GIVES(100UL, "__fread_unlocked_chk", "data", NA, 100, NA, fread_unlocked(buffer, 1, many, f));
    CHECK(CALL("__fgets_chk", "data", NA, NA, NA, fgets(buffer, (int)many, f)));
    CHECK(CALL("__fgets_unlocked_chk", "data", NA, NA, NA, fgets_unlocked(buffer, (int)many, f)));
    GIVES(0, "fclose", "data", NA, NA, NA, fclose(f));
    f = CALL("fopen", "out", NA, NA, NA, fopen("out", "w"));
    GIVES(7, "__fprintf_chk", "out", NA, NA, NA, fprintf(f, "%d %d\n", 10, (int)many));
    CHECK(vprint(f, "%d\n", 7) == 2);
    GIVES(0, "fclose", "out", NA, NA, NA, fclose(f));
    int fd = CALL("open", "out", NA, NA, NA, open("out", O_WRONLY | O_CREAT, 0600));
    CHECK(fd >= 0);
    GIVES(7, "__dprintf_chk", "out", fd, NA, NA, dprintf(fd, "%d %d\n", 10, (int)many));
    GIVES(0, "close", "out", fd, NA, NA, close(fd));
}

int main(void)
{
    CHECK(symlink("data", "link") == 0);
    for (int i = 0; i < 1000; i++)
        buffer[i] = i % 10 == 9 ? '\n' : 'x';
    fresh_file("data", buffer);
    record_open();
    descriptors();
    sockets();
    third_level();
    streams();
    return 0;
}
