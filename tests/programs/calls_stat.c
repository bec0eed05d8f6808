// SPDX-License-Identifier: MIT
// Every way to ask for or change what a file is: stat, access, modes, owners, times, attributes.
// CFLAGS: -fno-builtin -U_FORTIFY_SOURCE
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "record.h"

// What programs linked before glibc 2.33 import.
int old_xstat(int, const char *, struct stat *);
int old_lxstat(int, const char *, struct stat *);
int old_fxstat(int, int, struct stat *);
int old_fxstatat(int, int, const char *, struct stat *, int);
#if defined(__x86_64__)
__asm__(".symver old_xstat, __xstat@GLIBC_2.2.5\n.symver old_lxstat, __lxstat@GLIBC_2.2.5\n"
        ".symver old_fxstat, __fxstat@GLIBC_2.2.5\n.symver old_fxstatat, __fxstatat@GLIBC_2.4\n");
#endif

static int fd, dir;
static struct stat s;
static struct stat64 s64;

#define GOOD(...) CHECK(CALL(__VA_ARGS__) == 0)

static void stats(void)
{
    struct statx sx;
    GOOD("stat", "data", NA, NA, NA, stat("data", &s));
    GOOD("stat64", "data", NA, NA, NA, stat64("data", &s64));
    GOOD("lstat", "link", NA, NA, NA, lstat("link", &s));
    CHECK(S_ISLNK(s.st_mode));
    GOOD("lstat64", "link", NA, NA, NA, lstat64("link", &s64));
    GOOD("fstat", "data", fd, NA, NA, fstat(fd, &s));
    GOOD("fstat64", "data", fd, NA, NA, fstat64(fd, &s64));
    CHECK(s64.st_size == 10);
    GOOD("fstatat", "dir/inner", NA, NA, NA, fstatat(dir, "inner", &s, 0));
    GOOD("fstatat64", "dir/inner", NA, NA, NA, fstatat64(dir, "inner", &s64, AT_SYMLINK_NOFOLLOW));
    GOOD("statx", "dir/inner", NA, NA, NA, statx(dir, "inner", 0, STATX_SIZE, &sx));
    CHECK(sx.stx_size == 5);
    CHECK(CALL("stat", "absent", NA, NA, NA, stat("absent", &s)) == -1 && errno == ENOENT);
    CHECK(CALL("lstat", "data/x", NA, NA, NA, lstat("data/x", &s)) == -1 && errno == ENOTDIR);
    CHECK(CALL("fstat", NULL, 77, NA, NA, fstat(77, &s)) == -1 && errno == EBADF);
    CHECK(CALL("statx", "absent", NA, NA, NA, statx(AT_FDCWD, "absent", 0, STATX_SIZE, &sx)) == -1 && errno == ENOENT);
}

static void old_stats(void)
{
#if defined(__x86_64__)
    GOOD("__xstat", "data", NA, NA, NA, old_xstat(1, "data", &s));
    GOOD("__lxstat", "link", NA, NA, NA, old_lxstat(1, "link", &s));
    GOOD("__fxstat", "data", fd, NA, NA, old_fxstat(1, fd, &s));
    GOOD("__fxstatat", "dir/inner", NA, NA, NA, old_fxstatat(1, dir, "inner", &s, 0));
#endif
}

static void accesses(void)
{
    char text[64];
    GOOD("access", "data", NA, NA, NA, access("data", R_OK));
    CHECK(CALL("access", "absent", NA, NA, NA, access("absent", R_OK)) == -1 && errno == ENOENT);
    GOOD("faccessat", "dir/inner", NA, NA, NA, faccessat(dir, "inner", F_OK, 0));
    GOOD("euidaccess", "data", NA, NA, NA, euidaccess("data", W_OK));
    GOOD("eaccess", "data", NA, NA, NA, eaccess("data", W_OK));
    CHECK(CALL("readlink", "link", NA, NA, NA, readlink("link", text, sizeof text)) == 4);
    CHECK(CALL("readlinkat", "link", NA, NA, NA, readlinkat(AT_FDCWD, "link", text, sizeof text)) == 4);
    CHECK(CALL("readlink", "data", NA, NA, NA, readlink("data", text, sizeof text)) == -1 && errno == EINVAL);
}

static void changes(void)
{
    struct timespec now[2] = {{1, 2}, {3, 4}};
    struct timeval old[2] = {{1, 2}, {3, 4}};
    struct utimbuf older = {1, 2};
    GOOD("chmod", "data", NA, NA, NA, chmod("data", 0640));
    GOOD("fchmod", "data", fd, NA, NA, fchmod(fd, 0600));
    GOOD("fchmodat", "dir/inner", NA, NA, NA, fchmodat(dir, "inner", 0644, 0));
    GOOD("chown", "data", NA, NA, NA, chown("data", geteuid(), getegid()));
    GOOD("fchown", "data", fd, NA, NA, fchown(fd, geteuid(), getegid()));
    GOOD("lchown", "link", NA, NA, NA, lchown("link", geteuid(), getegid()));
    GOOD("fchownat", "dir/inner", NA, NA, NA, fchownat(dir, "inner", geteuid(), getegid(), 0));
    GOOD("utime", "data", NA, NA, NA, utime("data", &older));
    GOOD("utimes", "data", NA, NA, NA, utimes("data", old));
    GOOD("lutimes", "link", NA, NA, NA, lutimes("link", old));
    GOOD("futimes", "data", fd, NA, NA, futimes(fd, old));
    GOOD("futimesat", "dir/inner", NA, NA, NA, futimesat(dir, "inner", old));
    GOOD("utimensat", "dir/inner", NA, NA, NA, utimensat(dir, "inner", now, 0));
    GOOD("futimens", "data", fd, NA, NA, futimens(fd, now));
    CHECK(CALL("chmod", "absent", NA, NA, NA, chmod("absent", 0600)) == -1 && errno == ENOENT);
}

static void systems(void)
{
    struct statfs f;
    struct statvfs v;
    GOOD("statfs", "data", NA, NA, NA, statfs("data", &f));
    GOOD("fstatfs", "data", fd, NA, NA, fstatfs(fd, &f));
    GOOD("statvfs", "data", NA, NA, NA, statvfs("data", &v));
    GOOD("fstatvfs", "data", fd, NA, NA, fstatvfs(fd, &v));
}

static void nodes(void)
{
    GOOD("mkfifo", "fifo", NA, NA, NA, mkfifo("fifo", 0600));
    GOOD("mkfifoat", "dir/fifo", NA, NA, NA, mkfifoat(dir, "fifo", 0600));
    GOOD("mknod", "node", NA, NA, NA, mknod("node", S_IFREG | 0600, 0));
    GOOD("mknodat", "dir/node", NA, NA, NA, mknodat(dir, "node", S_IFREG | 0600, 0));
    CHECK(CALL("mkfifo", "fifo", NA, NA, NA, mkfifo("fifo", 0600)) == -1 && errno == EEXIST);
}

int main(void)
{
    fresh_file("data", "0123456789");
    CHECK(mkdir("dir", 0755) == 0 && symlink("data", "link") == 0);
    fresh_file("dir/inner", "inner");
    fd = open("data", O_RDWR);
    dir = open("dir", O_RDONLY | O_DIRECTORY);
    CHECK(fd >= 0 && dir >= 0);
    record_open();
    stats();
    old_stats();
    accesses();
    changes();
    systems();
    nodes();
    return 0;
}
