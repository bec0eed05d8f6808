// SPDX-License-Identifier: MIT
// Names at and beyond the limit: an absolute name of 4095 bytes that exists, and names of 4,100 and 65,536 bytes that
// every call refuses with ENAMETOOLONG.
// CFLAGS: -fno-builtin -U_FORTIFY_SOURCE
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "record.h"

static void refused(const char *name)
{
    struct stat s;
    struct statfs f;
    char text[16];
#define REFUSED(call) CHECK((call) == -1 && errno == ENAMETOOLONG)
    REFUSED(open(name, O_RDONLY));
    REFUSED(openat(AT_FDCWD, name, O_CREAT | O_WRONLY, 0600));
    REFUSED(creat(name, 0600));
    REFUSED(stat(name, &s));
    REFUSED(lstat(name, &s));
    REFUSED(access(name, R_OK));
    REFUSED(readlink(name, text, sizeof text));
    REFUSED(unlink(name));
    REFUSED(rmdir(name));
    REFUSED(mkdir(name, 0700));
    REFUSED(rename(name, "x"));
    REFUSED(rename("short", name));
    REFUSED(link("short", name));
    REFUSED(symlink("short", name));
    REFUSED(chmod(name, 0600));
    REFUSED(truncate(name, 0));
    REFUSED(chdir(name));
    REFUSED(statfs(name, &f));
    REFUSED(execl(name, "x", (char *)NULL));
    CHECK(fopen(name, "r") == NULL && errno == ENAMETOOLONG);
    CHECK(opendir(name) == NULL && errno == ENAMETOOLONG);
    CHECK(realpath(name, NULL) == NULL);
}

static void longest(void)
{
    static char part[201], name[PATH_MAX];
    memset(part, 'd', 200);
    size_t n = (size_t)snprintf(name, sizeof name, "%s", record_base);
    while (n + 201 + 202 < PATH_MAX - 1) {
        n += (size_t)snprintf(name + n, sizeof name - n, "/%s", part);
        CHECK(mkdir(part, 0700) == 0 && chdir(part) == 0);
    }
    name[n++] = '/';
    size_t rest = PATH_MAX - 1 - n;
    CHECK(rest <= 255 + 201);
    if (rest > 255) {
        memset(name + n, 'e', 200);
        name[n + 200] = 0;
        CHECK(mkdir(name + n, 0700) == 0);
        n += 200;
        name[n++] = '/';
        rest -= 201;
    }
    memset(name + n, 'f', rest);
    name[n + rest] = 0;
    CHECK(strlen(name) == PATH_MAX - 1);
    int fd = open(name, O_WRONLY | O_CREAT, 0600);
    CHECK(fd >= 0 && write(fd, "longest", 7) == 7);
}

int main(void)
{
    static char name[65537];
    record_open();
    fresh_file("short", "");
    memset(name, 'n', 65536);
    for (int i = 100; i < 65536; i += 200)
        name[i] = '/';
    refused(name);
    name[4100] = 0;
    refused(name);
    longest();
    return 0;
}
