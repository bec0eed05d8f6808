// SPDX-License-Identifier: MIT
// Directory streams; what libc does below them is not the program's.
// CFLAGS: -fno-builtin -U_FORTIFY_SOURCE
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record.h"

#define GOOD(...) CHECK(CALL(__VA_ARGS__) == 0)

static int everything(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

static int visited;

static int visit(const char *name, const struct stat *s, int type, struct FTW *where)
{
    (void)name, (void)s, (void)type, (void)where;
    return visited++, 0;
}

static void streams(void)
{
    int n = 0;
    DIR *d = CALL("opendir", "dir", NA, NA, NA, opendir("dir"));
    CHECK(d);
    for (int i = 0; i < 5; i++)
        n += CALL("readdir", "dir", NA, NA, NA, readdir(d)) != NULL;
    CHECK(n == 5 && CALL("readdir", "dir", NA, NA, NA, readdir(d)) == NULL);
    CALL("rewinddir", "dir", NA, NA, NA, (rewinddir(d), 0));
    CHECK(CALL("readdir64", "dir", NA, NA, NA, readdir64(d)));
    GOOD("closedir", "dir", NA, NA, NA, closedir(d));
    CHECK(CALL("opendir", "absent", NA, NA, NA, opendir("absent")) == NULL && errno == ENOENT);
    int fd = CALL("open", "dir", NA, NA, NA, open("dir", O_RDONLY | O_DIRECTORY));
    d = CALL("fdopendir", "dir", fd, NA, NA, fdopendir(fd));
    CHECK(d && CALL("readdir", "dir", NA, NA, NA, readdir(d)));
    GOOD("closedir", "dir", NA, NA, NA, closedir(d));
}

// scandir, nftw and glob are libc's own walks: no event is owed for what they do, and none of ours may break them.
static void walks(void)
{
    struct dirent **list;
    glob_t found;
    CHECK(scandir("dir", &list, everything, alphasort) == 3);
    for (int i = 0; i < 3; i++)
        free(list[i]);
    free(list);
    CHECK(nftw("dir", visit, 4, FTW_PHYS) == 0 && visited == 4);
    CHECK(glob("dir/f*", 0, NULL, &found) == 0 && found.gl_pathc == 3);
    globfree(&found);
    GOOD("access", "dir/f1", NA, NA, NA, access("dir/f1", R_OK));
}

int main(void)
{
    CHECK(mkdir("dir", 0755) == 0);
    fresh_file("dir/f1", "1");
    fresh_file("dir/f2", "2");
    fresh_file("dir/f3", "3");
    record_open();
    streams();
    walks();
    return 0;
}
