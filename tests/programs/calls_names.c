// SPDX-License-Identifier: MIT
// Names: rename, link, symlink, unlink, directories, relative names after chdir, a renamed directory with its dirfd.
// CFLAGS: -fno-builtin -U_FORTIFY_SOURCE
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record.h"

#define GOOD(...) CHECK(CALL(__VA_ARGS__) == 0)
#define FAILS(error, ...) CHECK(CALL(__VA_ARGS__) == -1 && errno == (error))

static int dir;

static void links(void)
{
    GOOD("link", "data", NA, NA, NA, link("data", "second"));
    GOOD("linkat", "dir/inner", NA, NA, NA, linkat(dir, "inner", dir, "inner2", 0));
    GOOD("symlink", "soft", NA, NA, NA, symlink("data", "soft"));
    GOOD("symlinkat", "dir/soft", NA, NA, NA, symlinkat("inner", dir, "soft"));
    GOOD("rename", "second", NA, NA, NA, rename("second", "third"));
    GOOD("renameat", "dir/inner2", NA, NA, NA, renameat(dir, "inner2", dir, "inner3"));
    GOOD("renameat2", "dir/inner3", NA, NA, NA, renameat2(dir, "inner3", AT_FDCWD, "fourth", 0));
    FAILS(EEXIST, "renameat2", "third", NA, NA, NA, renameat2(AT_FDCWD, "third", AT_FDCWD, "fourth", RENAME_NOREPLACE));
    FAILS(ENOENT, "rename", "absent", NA, NA, NA, rename("absent", "x"));
    FAILS(EEXIST, "symlink", "soft", NA, NA, NA, symlink("data", "soft"));
    GOOD("unlink", "third", NA, NA, NA, unlink("third"));
    GOOD("unlinkat", "dir/soft", NA, NA, NA, unlinkat(dir, "soft", 0));
    GOOD("remove", "fourth", NA, NA, NA, remove("fourth"));
    FAILS(ENOENT, "unlink", "third", NA, NA, NA, unlink("third"));
}

static void directories(void)
{
    GOOD("mkdir", "new", NA, NA, NA, mkdir("new", 0755));
    GOOD("mkdirat", "dir/new", NA, NA, NA, mkdirat(dir, "new", 0755));
    FAILS(EEXIST, "mkdir", "new", NA, NA, NA, mkdir("new", 0755));
    FAILS(ENOTEMPTY, "rmdir", "dir", NA, NA, NA, rmdir("dir"));
    GOOD("unlinkat", "dir/new", NA, NA, NA, unlinkat(dir, "new", AT_REMOVEDIR));
    GOOD("rmdir", "new", NA, NA, NA, rmdir("new"));
}

static void opens(const char *seen, int at, const char *name)
{
    int fd = CALL("openat", seen, NA, NA, NA, openat(at, name, O_RDONLY));
    CHECK(fd >= 0);
    GOOD("close", seen, fd, NA, NA, close(fd));
}

static void working_directory(void)
{
    GOOD("chdir", "dir", NA, NA, NA, chdir("dir"));
    opens("dir/inner", AT_FDCWD, "inner");
    opens("dir/inner", AT_FDCWD, "./inner");
    opens("dir/inner", AT_FDCWD, ".//.//inner");
    GOOD("chdir", "dir/sub", NA, NA, NA, chdir("sub"));
    opens("dir/sub/deep", AT_FDCWD, "deep");
    GOOD("fchdir", "dir", dir, NA, NA, fchdir(dir));
    opens("dir/sub/deep", AT_FDCWD, "sub/deep");
    FAILS(ENOENT, "chdir", "dir/absent", NA, NA, NA, chdir("absent"));
    opens("dir/inner", AT_FDCWD, "inner");
    GOOD("chdir", NULL, NA, NA, NA, chdir(record_base));
    opens("data", AT_FDCWD, "data");
}

// What was opened as `dir` is called `moved` now; a name below its descriptor has to follow or keep the name at open.
static void renamed_directory(void)
{
    GOOD("rename", "dir", NA, NA, NA, rename("dir", "moved"));
    int fd = CALL("openat", NULL, NA, NA, NA, openat(dir, "inner", O_RDONLY));
    CHECK(fd >= 0);
    GOOD("close", NULL, fd, NA, NA, close(fd));
    GOOD("close", NULL, dir, NA, NA, close(dir));
}

static void real_names(void)
{
    char *name = CALL("realpath", "soft", NA, NA, NA, realpath("soft", NULL));
    CHECK(name && !strcmp(name, absolute("data")));
    free(name);
    CHECK(CALL("realpath", "absent", NA, NA, NA, realpath("absent", NULL)) == NULL && errno == ENOENT);
    name = CALL("canonicalize_file_name", "soft", NA, NA, NA, canonicalize_file_name("soft"));
    CHECK(name && !strcmp(name, absolute("data")));
    free(name);
}

int main(void)
{
    fresh_file("data", "0123456789");
    CHECK(mkdir("dir", 0755) == 0 && mkdir("dir/sub", 0755) == 0);
    fresh_file("dir/inner", "inner");
    fresh_file("dir/sub/deep", "deep");
    record_open();
    dir = CALL("open", "dir", NA, NA, NA, open("dir", O_RDONLY | O_DIRECTORY));
    CHECK(dir >= 0);
    links();
    directories();
    working_directory();
    real_names();
    renamed_directory();
    return 0;
}
