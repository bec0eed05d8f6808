// SPDX-License-Identifier: MIT
// Data that moves without read and write: between descriptors, by mappings, by size, by advice; unnamed files.
// CFLAGS: -fno-builtin -U_FORTIFY_SOURCE
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "record.h"

static char buffer[8192];

#define GIVES(value, ...) CHECK(CALL(__VA_ARGS__) == (value))
#define GOOD(...) GIVES(0, __VA_ARGS__)

static void between(int in, int out)
{
    off_t at = 100, to = 5000;
    int p[2], q[2];
    GIVES(1000, "sendfile", "in", in, 1000, NA, sendfile(out, in, &at, 1000));
    CHECK(at == 1100);
    GIVES(500, "sendfile64", "in", in, 500, NA, sendfile64(out, in, &at, 500));
    at = 0;
    GIVES(2000, "copy_file_range", "in", in, 2000, NA, copy_file_range(in, &at, out, &to, 2000, 0));
    GOOD("pipe", NULL, NA, NA, NA, pipe(p));
    GOOD("pipe", NULL, NA, NA, NA, pipe(q));
    at = 7;
    GIVES(300, "splice", "in", in, 300, NA, splice(in, &at, p[1], NULL, 300, 0));
    GIVES(300, "tee", NULL, p[0], 4096, NA, tee(p[0], q[1], 4096, 0));
    GIVES(300, "splice", NULL, p[0], 4096, NA, splice(p[0], NULL, out, NULL, 4096, 0));
    struct iovec part = {buffer, 77};
    GIVES(77, "vmsplice", NULL, p[1], 77, NA, vmsplice(p[1], &part, 1, 0));
    at = -1;
    CHECK(CALL("copy_file_range", "in", in, 10, NA, copy_file_range(in, NULL, 77, NULL, 10, 0)) == -1 &&
          errno == EBADF);
    for (int i = 0; i < 2; i++) {
        GOOD("close", NULL, p[i], NA, NA, close(p[i]));
        GOOD("close", NULL, q[i], NA, NA, close(q[i]));
    }
}

static void mappings(int in)
{
    char *m = CALL("mmap", "in", in, 4096, 0, mmap(NULL, 4096, PROT_READ, MAP_SHARED, in, 0));
    CHECK(m != MAP_FAILED);
    char *n = CALL("mmap64", "in", in, 4096, 4096, mmap64(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, in, 4096));
    CHECK(n != MAP_FAILED);
    n[0] = m[1];
    GOOD("msync", NULL, NA, 4096, NA, msync(n, 4096, MS_SYNC));
    munmap(m, 4096);
    munmap(n, 4096);
    CHECK(CALL("mmap", "in", in, 0, 0, mmap(NULL, 0, PROT_READ, MAP_SHARED, in, 0)) == MAP_FAILED && errno == EINVAL);
}

static void sizes(int out)
{
    GOOD("ftruncate", "out", out, NA, NA, ftruncate(out, 100));
    GOOD("ftruncate64", "out", out, NA, NA, ftruncate64(out, 200));
    GOOD("truncate", "out", NA, NA, NA, truncate("out", 300));
    GOOD("truncate64", "out", NA, NA, NA, truncate64("out", 5L << 30));
    GOOD("truncate", "out", NA, NA, NA, truncate("out", 300));
    GOOD("fallocate", "out", out, 4096, 0, fallocate(out, 0, 0, 4096));
    GOOD("fallocate64", "out", out, 4096, 8192, fallocate64(out, FALLOC_FL_KEEP_SIZE, 8192, 4096));
    GOOD("posix_fallocate", "out", out, 100, 10, posix_fallocate(out, 10, 100));
    GOOD("posix_fallocate64", "out", out, 100, 10, posix_fallocate64(out, 10, 100));
    GOOD("posix_fadvise", "out", out, 4096, 0, posix_fadvise(out, 0, 4096, POSIX_FADV_WILLNEED));
    GOOD("posix_fadvise64", "out", out, 4096, 0, posix_fadvise64(out, 0, 4096, POSIX_FADV_DONTNEED));
    GOOD("readahead", "out", out, 4096, 0, readahead(out, 0, 4096));
    CHECK(CALL("truncate", "absent", NA, NA, NA, truncate("absent", 0)) == -1 && errno == ENOENT);
    CHECK(CALL("ftruncate", "out", out, NA, NA, ftruncate(out, -1)) == -1 && errno == EINVAL);
}

static void unnamed(void)
{
    int m = CALL("memfd_create", NULL, NA, NA, NA, memfd_create("scratch", MFD_CLOEXEC));
    GIVES(100, "write", NULL, m, 100, 0, write(m, buffer, 100));
    GOOD("close", NULL, m, NA, NA, close(m));
    char name[64];
    snprintf(name, sizeof name, "/flowtap-test-%ld", raw_getpid());
    int s = CALL("shm_open", NULL, NA, NA, NA, shm_open(name, O_RDWR | O_CREAT, 0600));
    CHECK(s >= 0 && shm_unlink(name) == 0);
    GIVES(10, "pwrite", NULL, s, 10, 0, pwrite(s, buffer, 10, 0));
    GOOD("close", NULL, s, NA, NA, close(s));
}

int main(void)
{
    memset(buffer, 'x', sizeof buffer - 1);
    fresh_file("in", buffer);
    record_open();
    int in = CALL("open", "in", NA, NA, NA, open("in", O_RDWR));
    int out = CALL("open", "out", NA, NA, NA, open("out", O_RDWR | O_CREAT, 0600));
    CHECK(in >= 0 && out >= 0);
    between(in, out);
    mappings(in);
    sizes(out);
    unnamed();
    return 0;
}
