// SPDX-License-Identifier: MIT
// Variadic calls whose third and later arguments matter: the program checks what came of them.
// CFLAGS: -fno-builtin -U_FORTIFY_SOURCE
#define _GNU_SOURCE
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record.h"

static void fcntls(int fd)
{
    int p[2];
    CHECK(pipe(p) == 0 && fcntl(p[0], F_SETPIPE_SZ, 65536 * 2) == 65536 * 2 && fcntl(p[0], F_GETPIPE_SZ) == 65536 * 2);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 5, .l_len = 10};
    CHECK(fcntl(fd, F_OFD_SETLK, &lock) == 0);
    int other = open("data", O_RDWR);
    struct flock asked = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 100};
    CHECK(fcntl(other, F_OFD_GETLK, &asked) == 0 && asked.l_type == F_WRLCK && asked.l_start == 5 && asked.l_len == 10);
    struct f_owner_ex owner = {F_OWNER_PID, (pid_t)raw_getpid()}, back = {0};
    CHECK(fcntl(fd, F_SETOWN_EX, &owner) == 0 && fcntl(fd, F_GETOWN_EX, &back) == 0 && back.pid == owner.pid);
    uint64_t hint = 3, got = 0;
    CHECK(fcntl(fd, F_SET_RW_HINT, &hint) == 0 && fcntl(fd, F_GET_RW_HINT, &got) == 0 && got == 3);
    int m = memfd_create("m", MFD_ALLOW_SEALING);
    CHECK(fcntl(m, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) == 0 &&
          fcntl(m, F_GET_SEALS) == (F_SEAL_GROW | F_SEAL_SHRINK));
    CHECK(fcntl64(fd, F_SETFD, FD_CLOEXEC) == 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC);
}

static void ioctls(int fd)
{
    int p[2], n = 0;
    CHECK(pipe(p) == 0 && write(p[1], "12345", 5) == 5 && ioctl(p[0], FIONREAD, &n) == 0 && n == 5);
    CHECK(ioctl(fd, 0x5401, &n) == -1 && errno == ENOTTY);
}

static void others(void)
{
    char name[32], attribute[64];
    snprintf(name, sizeof name, "/flowtap-%ld", raw_getpid());
    struct mq_attr a = {.mq_maxmsg = 3, .mq_msgsize = 77}, b = {0};
    mqd_t q = mq_open(name, O_RDWR | O_CREAT, 0600, &a);
    if (q != (mqd_t)-1) {
        CHECK(mq_getattr(q, &b) == 0 && b.mq_maxmsg == 3 && b.mq_msgsize == 77 && mq_unlink(name) == 0);
    }
    CHECK(prctl(PR_SET_NAME, "variadic-name", 0, 0, 0) == 0 && prctl(PR_GET_NAME, attribute, 0, 0, 0) == 0);
    CHECK(!strcmp(attribute, "variadic-name"));
    char *m = (char *)syscall(SYS_mmap, 0L, 8192L, PROT_READ, MAP_SHARED, open("data", O_RDWR), 4096L);
    CHECK(m != MAP_FAILED && m[0] == 'A');
    struct {
        uint64_t flags, mode, resolve;
    } how = {O_RDONLY, 0, 0};
    CHECK(syscall(437, AT_FDCWD, "data", &how, sizeof how) >= 0);
    CHECK(syscall(-1) == -1 && errno == ENOSYS);
    void *grown = mremap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096, 8192, MREMAP_MAYMOVE);
    CHECK(grown != MAP_FAILED);
}

int main(void)
{
    int fd = open("data", O_RDWR | O_CREAT, 0600);
    CHECK(fd >= 0 && pwrite(fd, "A", 1, 4096) == 1 && ftruncate(fd, 8192) == 0);
    fcntls(fd);
    ioctls(fd);
    others();
    return 0;
}
