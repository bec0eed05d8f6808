// SPDX-License-Identifier: MIT
// Attributes, locks, control, large-file and old names of metadata calls.
// CFLAGS: -fno-builtin -U_FORTIFY_SOURCE -Wno-deprecated-declarations
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "record.h"

// What programs linked before glibc 2.33 import.
int old_xstat64(int, const char *, struct stat64 *);
int old_lxstat64(int, const char *, struct stat64 *);
int old_fxstat64(int, int, struct stat64 *);
int old_fxstatat64(int, int, const char *, struct stat64 *, int);
int old_xmknod(int, const char *, mode_t, dev_t *);
int old_xmknodat(int, int, const char *, mode_t, dev_t *);
off64_t old_llseek(int, off64_t, int);
#if defined(__x86_64__)
__asm__(".symver old_xstat64, __xstat64@GLIBC_2.2.5\n.symver old_lxstat64, __lxstat64@GLIBC_2.2.5\n"
        ".symver old_fxstat64, __fxstat64@GLIBC_2.2.5\n.symver old_fxstatat64, __fxstatat64@GLIBC_2.4\n"
        ".symver old_xmknod, __xmknod@GLIBC_2.2.5\n.symver old_xmknodat, __xmknodat@GLIBC_2.4\n"
        ".symver old_llseek, llseek@GLIBC_2.2.5\n");
#endif

static int fd, dir;

#define GIVES(value, ...) CHECK(CALL(__VA_ARGS__) == (value))
#define GOOD(...) GIVES(0, __VA_ARGS__)

static void old_names(void)
{
#if defined(__x86_64__)
    struct stat64 s;
    dev_t none = 0;
    GOOD("__xstat64", "data", NA, NA, NA, old_xstat64(1, "data", &s));
    GOOD("__lxstat64", "link", NA, NA, NA, old_lxstat64(1, "link", &s));
    GOOD("__fxstat64", "data", fd, NA, NA, old_fxstat64(1, fd, &s));
    GOOD("__fxstatat64", "dir/inner", NA, NA, NA, old_fxstatat64(1, dir, "inner", &s, 0));
    GOOD("__xmknod", "node", NA, NA, NA, old_xmknod(0, "node", S_IFREG | 0600, &none));
    GOOD("__xmknodat", "dir/node", NA, NA, NA, old_xmknodat(0, dir, "node", S_IFREG | 0600, &none));
    GIVES(5, "llseek", "data", fd, NA, 5, old_llseek(fd, 5, SEEK_SET));
#endif
}

static void systems(void)
{
    struct statfs64 f;
    struct statvfs64 v;
    GOOD("statfs64", "data", NA, NA, NA, statfs64("data", &f));
    GOOD("fstatfs64", "data", fd, NA, NA, fstatfs64(fd, &f));
    GOOD("statvfs64", "data", NA, NA, NA, statvfs64("data", &v));
    GOOD("fstatvfs64", "data", fd, NA, NA, fstatvfs64(fd, &v));
    CALL("lchmod", "data", NA, NA, NA, lchmod("data", 0600));
    CALL("chroot", "absent", NA, NA, NA, chroot("absent"));
    CALL("sync", NULL, NA, NA, NA, (sync(), 0));
}

// Where the file system has no such attributes, the calls fail and are events all the same.
static void attributes(void)
{
    char value[16] = "value";
    CALL("setxattr", "data", NA, 5, NA, setxattr("data", "user.x", value, 5, 0));
    CALL("lsetxattr", "data", NA, 5, NA, lsetxattr("data", "user.y", value, 5, 0));
    CALL("fsetxattr", "data", fd, 5, NA, fsetxattr(fd, "user.z", value, 5, 0));
    CALL("getxattr", "data", NA, 16, NA, getxattr("data", "user.x", value, 16));
    CALL("lgetxattr", "data", NA, 16, NA, lgetxattr("data", "user.y", value, 16));
    CALL("fgetxattr", "data", fd, 16, NA, fgetxattr(fd, "user.none", value, 16));
    CALL("listxattr", "data", NA, 16, NA, listxattr("data", value, 16));
    CALL("llistxattr", "link", NA, 16, NA, llistxattr("link", value, 16));
    CALL("flistxattr", "data", fd, 16, NA, flistxattr(fd, value, 16));
    CALL("removexattr", "data", NA, NA, NA, removexattr("data", "user.x"));
    CALL("lremovexattr", "data", NA, NA, NA, lremovexattr("data", "user.y"));
    CALL("fremovexattr", "data", fd, NA, NA, fremovexattr(fd, "user.z"));
}

static void locks(void)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 3, .l_len = 4};
    int n;
    GOOD("flock", "data", fd, NA, NA, flock(fd, LOCK_EX));
    GOOD("flock", "data", fd, NA, NA, flock(fd, LOCK_UN));
    GOOD("lockf", "data", fd, 10, NA, lockf(fd, F_LOCK, 10));
    GOOD("lockf64", "data", fd, 5L << 30, NA, lockf64(fd, F_TLOCK, 5L << 30));
    GOOD("lockf", "data", fd, 0, NA, lockf(fd, F_ULOCK, 0));
    GOOD("fcntl", "data", fd, NA, NA, fcntl(fd, F_SETLK, &lock));
    GOOD("fcntl", "data", fd, NA, NA, fcntl(fd, F_GETLK, &lock));
    GOOD("fcntl", "data", fd, NA, NA, fcntl(fd, F_OFD_SETLK, &(struct flock){.l_type = F_RDLCK, .l_len = 2}));
    GOOD("ioctl", "data", fd, NA, NA, ioctl(fd, FIONREAD, &n));
}

static void entries(void)
{
    DIR *d = CALL("opendir", "dir", NA, NA, NA, opendir("dir"));
    struct dirent entry, *result;
    struct dirent64 entry64, *result64;
    GOOD("readdir_r", "dir", NA, NA, NA, readdir_r(d, &entry, &result));
    GOOD("readdir64_r", "dir", NA, NA, NA, readdir64_r(d, &entry64, &result64));
    GOOD("closedir", "dir", NA, NA, NA, closedir(d));
}

int main(void)
{
    fresh_file("data", "0123456789");
    CHECK(mkdir("dir", 0755) == 0 && symlink("data", "link") == 0);
    fresh_file("dir/inner", "inner");
    fd = open("data", O_RDWR);
    dir = open("dir", O_RDONLY | O_DIRECTORY);
    record_open();
    old_names();
    systems();
    attributes();
    locks();
    entries();
    return 0;
}
