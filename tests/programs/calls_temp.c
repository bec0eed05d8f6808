// SPDX-License-Identifier: MIT
// Files and directories under made-up names: the name that came out is the one in the trace.
// CFLAGS: -fno-builtin -U_FORTIFY_SOURCE
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "record.h"

// The record is made after the call, when the template holds the name.
#define MADE(name_, template_, call_)                                \
    do {                                                             \
        char t[64] = template_;                                      \
        int fd = CALL(name_, t, NA, NA, NA, call_);                  \
        CHECK(fd >= 0);                                              \
        CHECK(CALL("write", t, fd, 3, 0, write(fd, "abc", 3)) == 3); \
        CHECK(CALL("close", t, fd, NA, NA, close(fd)) == 0);         \
    } while (0)

int main(void)
{
    record_open();
    MADE("mkstemp", "a-XXXXXX", mkstemp(t));
    MADE("mkstemp64", "b-XXXXXX", mkstemp64(t));
    MADE("mkostemp", "c-XXXXXX", mkostemp(t, O_CLOEXEC));
    MADE("mkostemp64", "d-XXXXXX", mkostemp64(t, O_CLOEXEC));
    MADE("mkstemps", "e-XXXXXX.txt", mkstemps(t, 4));
    MADE("mkstemps64", "f-XXXXXX.txt", mkstemps64(t, 4));
    MADE("mkostemps", "g-XXXXXX.txt", mkostemps(t, 4, O_CLOEXEC));
    MADE("mkostemps64", "h-XXXXXX.txt", mkostemps64(t, 4, O_CLOEXEC));
    char wrong[] = "no-template";
    CHECK(CALL("mkstemp", NULL, NA, NA, NA, mkstemp(wrong)) == -1 && errno == EINVAL);
    char dir[] = "dir-XXXXXX";
    CHECK(CALL("mkdtemp", NULL, NA, NA, NA, mkdtemp(dir)));
    FILE *f = CALL("tmpfile", NULL, NA, NA, NA, tmpfile());
    CHECK(f && CALL("fclose", NULL, NA, NA, NA, fclose(f)) == 0);
    return 0;
}
