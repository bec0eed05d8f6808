// SPDX-License-Identifier: MIT
// A library whose constructor and destructor make calls.
// CFLAGS: -fPIC
// LDFLAGS: -shared
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void touch(const char *name)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0 || write(fd, "x", 1) != 1 || close(fd))
        abort();
}

__attribute__((constructor)) static void begin(void)
{
    touch("library begins");
}

__attribute__((destructor)) static void end(void)
{
    touch("library ends");
}
