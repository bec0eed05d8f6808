// SPDX-License-Identifier: MIT
// Names at and beyond the limit: an absolute name of 4095 bytes that exists, and names of 4,100 and 65,536 bytes that
// every call refuses with ENAMETOOLONG.
// CFLAGS: -fno-builtin -U_FORTIFY_SOURCE
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "record.h"

static int refusals;

#define REFUSED(call) CHECK((call) == -1 && errno == ENAMETOOLONG && ++refusals)
#define NOTHING(call) CHECK((call) == NULL && errno == ENAMETOOLONG && ++refusals)

static void looks_and_makes(const char *name)
{
    struct stat s;
    struct statx sx;
    char text[16];
    REFUSED(open(name, O_RDONLY));
    REFUSED(open64(name, O_RDWR | O_TMPFILE, 0600));
    REFUSED(openat(AT_FDCWD, name, O_CREAT | O_WRONLY, 0600));
    REFUSED(openat64(AT_FDCWD, name, O_RDONLY));
    REFUSED(creat(name, 0600));
    REFUSED(creat64(name, 0600));
    REFUSED(stat(name, &s));
    REFUSED(lstat(name, &s));
    REFUSED(fstatat(AT_FDCWD, name, &s, 0));
    REFUSED(statx(AT_FDCWD, name, 0, 0, &sx));
    REFUSED(access(name, R_OK));
    REFUSED(faccessat(AT_FDCWD, name, R_OK, 0));
    REFUSED(euidaccess(name, R_OK));
    REFUSED(readlink(name, text, sizeof text));
    REFUSED(readlinkat(AT_FDCWD, name, text, sizeof text));
    REFUSED(unlink(name));
    REFUSED(unlinkat(AT_FDCWD, name, 0));
    REFUSED(remove(name));
    REFUSED(rmdir(name));
    REFUSED(mkdir(name, 0700));
    REFUSED(mkdirat(AT_FDCWD, name, 0700));
    REFUSED(mknod(name, S_IFREG, 0));
    REFUSED(mknodat(AT_FDCWD, name, S_IFREG, 0));
    REFUSED(mkfifo(name, 0600));
    REFUSED(mkfifoat(AT_FDCWD, name, 0600));
}

static void names_and_changes(const char *name)
{
    struct timespec now[2] = {{1, 2}, {3, 4}};
    struct timeval old[2] = {{1, 2}, {3, 4}};
    struct utimbuf older = {1, 2};
    REFUSED(rename(name, "x"));
    REFUSED(rename("short", name));
    REFUSED(renameat(AT_FDCWD, name, AT_FDCWD, "x"));
    REFUSED(renameat2(AT_FDCWD, "short", AT_FDCWD, name, 0));
    REFUSED(link(name, "x"));
    REFUSED(link("short", name));
    REFUSED(linkat(AT_FDCWD, name, AT_FDCWD, "x", 0));
    REFUSED(symlink("short", name));
    REFUSED(symlinkat("short", AT_FDCWD, name));
    REFUSED(chmod(name, 0600));
    REFUSED(fchmodat(AT_FDCWD, name, 0600, 0));
    REFUSED(chown(name, 0, 0));
    REFUSED(lchown(name, 0, 0));
    REFUSED(fchownat(AT_FDCWD, name, 0, 0, 0));
    REFUSED(utime(name, &older));
    REFUSED(utimes(name, old));
    REFUSED(lutimes(name, old));
    REFUSED(futimesat(AT_FDCWD, name, old));
    REFUSED(utimensat(AT_FDCWD, name, now, 0));
}

static void others(const char *name)
{
    struct statfs f;
    struct statvfs v;
    char text[16], *const arguments[] = {text, NULL};
    pid_t pid;
    REFUSED(truncate(name, 0));
    REFUSED(truncate64(name, 0));
    REFUSED(chdir(name));
    REFUSED(chroot(name));
    REFUSED(statfs(name, &f));
    REFUSED(statvfs(name, &v));
    REFUSED(getxattr(name, "user.x", text, sizeof text));
    REFUSED(lgetxattr(name, "user.x", text, sizeof text));
    REFUSED(setxattr(name, "user.x", text, 1, 0));
    REFUSED(lsetxattr(name, "user.x", text, 1, 0));
    REFUSED(listxattr(name, text, sizeof text));
    REFUSED(llistxattr(name, text, sizeof text));
    REFUSED(removexattr(name, "user.x"));
    REFUSED(lremovexattr(name, "user.x"));
    REFUSED(execl(name, "x", (char *)NULL));
    REFUSED(execv(name, arguments));
    REFUSED(execve(name, arguments, arguments + 1));
    REFUSED(execveat(AT_FDCWD, name, arguments, arguments + 1, 0));
    REFUSED(posix_spawn(&pid, name, NULL, NULL, arguments, arguments + 1) == ENAMETOOLONG ? -1 : 0);
    NOTHING(fopen(name, "r"));
    NOTHING(fopen64(name, "w"));
    NOTHING(opendir(name));
    CHECK(realpath(name, NULL) == NULL && canonicalize_file_name(name) == NULL); // part by part: another error
    FILE *stream = fopen("short", "r");
    NOTHING(freopen(name, "r", stream));
}

static void refused(const char *name)
{
    looks_and_makes(name);
    names_and_changes(name);
    others(name);
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
    return printf("%d\n", refusals) < 0;
}
