// SPDX-License-Identifier: MIT
// Every way to open a file by name, each closed again.
// CFLAGS: -fno-builtin -U_FORTIFY_SOURCE
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record.h"

int __open_2(const char *, int);
int __open64_2(const char *, int);
int __openat_2(int, const char *, int);
int __openat64_2(int, const char *, int);

static void closed(int fd, const char *path)
{
    CHECK(fd >= 0);
    CHECK(CALL("close", path, fd, NA, NA, close(fd)) == 0);
}

static void mode_is(const char *path, unsigned mode)
{
    struct stat s;
    CHECK(CALL("stat", path, NA, NA, NA, stat(path, &s)) == 0);
    CHECK((s.st_mode & 07777) == mode);
}

static void plain(void)
{
    closed(CALL("open", "data", NA, NA, NA, open("data", O_RDONLY)), "data");
    closed(CALL("open", "made", NA, NA, NA, open("made", O_CREAT | O_WRONLY, 0640)), "made");
    mode_is("made", 0640);
    closed(CALL("open64", "made64", NA, NA, NA, open64("made64", O_CREAT | O_EXCL | O_RDWR, 0604)), "made64");
    mode_is("made64", 0604);
    closed(CALL("creat", "created", NA, NA, NA, creat("created", 0600)), "created");
    closed(CALL("creat64", "created64", NA, NA, NA, creat64("created64", 0611)), "created64");
    mode_is("created64", 0611);
    closed(CALL("__open_2", "data", NA, NA, NA, __open_2("data", O_RDONLY)), "data");
    closed(CALL("__open64_2", "data", NA, NA, NA, __open64_2("data", O_RDWR)), "data");
    closed(CALL("open", "dir", NA, NA, NA, open("dir", O_RDONLY | O_DIRECTORY)), "dir");
    closed(CALL("open", "data", NA, NA, NA, open("data", O_PATH | O_CLOEXEC)), "data");
}

static void at_forms(void)
{
    int dir = CALL("open", "dir", NA, NA, NA, open("dir", O_RDONLY | O_DIRECTORY));
    closed(CALL("openat", "dir/inner", NA, NA, NA, openat(dir, "inner", O_RDONLY)), "dir/inner");
    closed(CALL("openat", "dir/new", NA, NA, NA, openat(dir, "new", O_CREAT | O_WRONLY, 0620)), "dir/new");
    mode_is("dir/new", 0620);
    closed(CALL("openat64", "data", NA, NA, NA, openat64(AT_FDCWD, "data", O_RDONLY)), "data");
    closed(CALL("openat64", "dir/new64", NA, NA, NA, openat64(dir, "new64", O_CREAT | O_WRONLY, 0602)), "dir/new64");
    mode_is("dir/new64", 0602);
    closed(CALL("__openat_2", "dir/inner", NA, NA, NA, __openat_2(dir, "inner", O_RDONLY)), "dir/inner");
    closed(CALL("__openat64_2", "dir/inner", NA, NA, NA, __openat64_2(dir, "./inner", O_RDONLY)), "dir/inner");
    closed(CALL("openat", "data", NA, NA, NA, openat(dir, absolute("data"), O_RDONLY)), "data");
    closed(dir, "dir");
}

static void nameless(void)
{
    int fd = CALL("open", NULL, NA, NA, NA, open("dir", O_TMPFILE | O_RDWR, 0642));
    struct stat s;
    CHECK(fd >= 0);
    CHECK(CALL("fstat", NULL, fd, NA, NA, fstat(fd, &s)) == 0);
    CHECK((s.st_mode & 07777) == 0642);
    closed(fd, NULL);
}

static void failing(void)
{
    CHECK(CALL("open", "absent", NA, NA, NA, open("absent", O_RDONLY)) == -1 && errno == ENOENT);
    CHECK(CALL("open", "data/below", NA, NA, NA, open("data/below", O_RDONLY)) == -1 && errno == ENOTDIR);
    CHECK(CALL("open", "dir", NA, NA, NA, open("dir", O_WRONLY)) == -1 && errno == EISDIR);
    CHECK(CALL("open", "made", NA, NA, NA, open("made", O_CREAT | O_EXCL | O_WRONLY, 0600)) == -1 && errno == EEXIST);
    CHECK(CALL("open", "loop", NA, NA, NA, open("loop", O_RDONLY)) == -1 && errno == ELOOP);
    CHECK(CALL("openat", NULL, NA, NA, NA, openat(77, "x", O_RDONLY)) == -1 && errno == EBADF);
    CHECK(CALL("openat64", "dir/absent", NA, NA, NA, openat64(AT_FDCWD, "dir/absent", O_RDONLY)) == -1 &&
          errno == ENOENT);
    CHECK(CALL("creat", "dir", NA, NA, NA, creat("dir", 0600)) == -1 && errno == EISDIR);
    CHECK(CALL("open", NULL, NA, NA, NA, open("", O_RDONLY)) == -1 && errno == ENOENT);
}

int main(void)
{
    umask(0);
    fresh_file("data", "0123456789");
    CHECK(mkdir("dir", 0755) == 0 && symlink("loop", "loop") == 0);
    fresh_file("dir/inner", "inner");
    record_open();
    plain();
    at_forms();
    nameless();
    failing();
    return 0;
}
