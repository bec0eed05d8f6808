// SPDX-License-Identifier: MIT
// Calls that are given pointers to nowhere, and fail, many of them before the pointer is looked at: prints what they say.
// CFLAGS: -fno-builtin -U_FORTIFY_SOURCE -Wno-nonnull -Wno-unknown-warning-option -Wno-stringop-overflow -Wno-stringop-overread
#define _GNU_SOURCE
#include <aio.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "record.h"

static char out[65536];
static size_t used;

#define SAY(call)                                                                                      \
    do {                                                                                               \
        errno = 77;                                                                                    \
        long result_ = (long)(call);                                                                   \
        used += (size_t)snprintf(out + used, sizeof out - used, "%s %ld %d\n", #call, result_, errno); \
    } while (0)

static int fd, pipes[2];
static void *bad;         // changes: one, a page that may not be read, an unended string before such a page
static char *at_page_end; // "data" with its end as the last byte before such a page

static void paths(void)
{
    struct stat s;
    struct statx sx;
    char text[16];
    SAY(open(bad, O_RDONLY));
    SAY(open(bad, O_RDONLY | O_TMPFILE));
    SAY(open(bad, O_RDONLY | O_CREAT | O_DIRECTORY, 0600));
    SAY(openat(77, bad, O_RDONLY));
    SAY(openat(AT_FDCWD, bad, O_RDONLY | O_TMPFILE));
    SAY(creat(bad, 0600));
    SAY(truncate(bad, -1));
    SAY(truncate(bad, 0));
    SAY(stat(bad, &s));
    SAY(lstat(bad, &s));
    SAY(fstatat(AT_FDCWD, bad, &s, 0x7f000000));
    SAY(statx(AT_FDCWD, bad, 0x7f000000, 0, &sx));
    SAY(statx(AT_FDCWD, bad, 0, ~0u, &sx));
    SAY(access(bad, R_OK));
    SAY(access(bad, 0xff));
    SAY(faccessat(AT_FDCWD, bad, 0xff, 0));
    SAY(euidaccess(bad, 0xff));
    SAY(chmod(bad, 0));
    SAY(fchmodat(AT_FDCWD, bad, 0, 0xff));
    SAY(chown(bad, 0, 0));
    SAY(fchownat(AT_FDCWD, bad, 0, 0, 0x7f000000));
    SAY(utimensat(AT_FDCWD, bad, bad, 0));
    SAY(utimensat(AT_FDCWD, bad, NULL, 0x7f000000));
    SAY(unlink(bad));
    SAY(unlinkat(AT_FDCWD, bad, 0xffff));
    SAY(remove(bad));
    SAY(rmdir(bad));
    SAY(mkdir(bad, 0700));
    SAY(mknod(bad, S_IFDIR, 0));
    SAY(mknodat(AT_FDCWD, bad, S_IFMT, 0));
    SAY(mkfifo(bad, 0600));
    SAY(rename(bad, bad));
    SAY(rename("data", bad));
    SAY(renameat2(AT_FDCWD, bad, AT_FDCWD, bad, 0xff));
    SAY(link(bad, bad));
    SAY(linkat(AT_FDCWD, bad, AT_FDCWD, bad, 0xffff));
    SAY(symlink(bad, "x"));
    SAY(symlink("x", bad));
    SAY(readlink(bad, text, 16));
    SAY(readlink(bad, text, 0));
    SAY(chdir(bad));
    SAY(chroot(bad));
    SAY(statfs(bad, (struct statfs *)&s));
    SAY(getxattr(bad, "", text, 16));
    SAY(setxattr(bad, "user.x", "", 0, 0xff));
    SAY(setxattr(bad, "user.x", "", 1 << 20, 0));
    SAY(removexattr(bad, ""));
    SAY(fopen(bad, "no mode") != NULL);
    SAY(realpath(NULL, NULL) != NULL);
    SAY(execve(bad, bad, bad));
    SAY(execv(bad, bad));
    SAY(execveat(AT_FDCWD, bad, bad, bad, 0xffff));
}

static void second_pointers(void)
{
    struct statx sx;
    SAY(stat("data", bad));
    SAY(stat(at_page_end, bad));
    SAY(statx(AT_FDCWD, at_page_end, 0x7f000000, 0, &sx));
    SAY(truncate(at_page_end, -1));
    SAY(open(at_page_end, O_RDONLY | O_TMPFILE));
    SAY(statfs("data", bad));
    SAY(readlink("soft", bad, 16));
    SAY(getxattr("data", bad, NULL, 0));
    SAY(utimensat(AT_FDCWD, "data", bad, 0));
    SAY(memfd_create(bad, 0));
    SAY(memfd_create(bad, 0xffff));
    SAY(execve("/absent", bad, bad));
    SAY(execve("/bin/true", bad, NULL));
    char *const some[] = {(char *)(uintptr_t)"A=1", bad, NULL};
    SAY(execve("/bin/true", some, some));
    pid_t pid;
    SAY(posix_spawn(&pid, "/absent", NULL, NULL, some + 2, some));
    SAY(posix_spawn(&pid, bad, NULL, NULL, some + 2, some));
}

static void vectors(void)
{
    struct iovec one = {bad, 10};
    struct msghdr message = {.msg_iov = bad, .msg_iovlen = 3};
    SAY(read(fd, bad, 3));
    SAY(write(fd, bad, 3));
    SAY(pread(fd, bad, 3, -1));
    SAY(readv(-1, bad, 1));
    SAY(writev(77, bad, 3));
    SAY(readv(fd, bad, 1));
    SAY(readv(fd, &one, 1));
    SAY(readv(fd, bad, 0));
    SAY(readv(fd, bad, -1));
    SAY(writev(fd, bad, 100000));
    SAY(preadv(pipes[0], bad, 3, 0));
    SAY(pwritev(fd, bad, 3, -5));
    SAY(preadv2(fd, bad, 3, 0, 0x7fffffff));
    SAY(vmsplice(pipes[1], bad, 1, 0xffff));
    SAY(vmsplice(77, bad, 1, 0));
    SAY(recvmsg(-1, bad, 0));
    SAY(recvmsg(fd, bad, 0));
    SAY(sendmsg(77, bad, 0));
    SAY(sendmsg(fd, &message, 0));
    SAY(recvmmsg(fd, bad, 3, 0, NULL));
    SAY(sendmmsg(fd, bad, 3, 0));
}

static void others(void)
{
    off_t *at = bad;
    SAY(sendfile(-1, -1, at, 10));
    SAY(copy_file_range(-1, at, -1, at, 10, 0));
    SAY(copy_file_range(fd, at, -1, at, 10, 0));
    SAY(copy_file_range(fd, NULL, fd, at, 0, 0));
    SAY(splice(fd, at, pipes[1], NULL, 0, 0));
    SAY(splice(pipes[0], at, fd, at, 10, 0));
    SAY(pipe(bad));
    SAY(pipe2(bad, 0xffff));
    SAY(socketpair(AF_UNIX, SOCK_STREAM, 0, bad));
    SAY(socketpair(99, 1, 0, bad));
    SAY(aio_fsync(999, bad));
    SAY(aio_fsync(999, NULL));
    SAY(lio_listio(77, bad, 1, NULL));
    SAY(lio_listio(LIO_WAIT, bad, 0, NULL));
    SAY(aio_cancel(-1, NULL));
    SAY(fcntl(fd, F_SETLK, bad));
    SAY(ioctl(fd, 0x5401, bad));
}

int main(void)
{
    fresh_file("data", "0123456789");
    char *pages = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED && mprotect(pages + 4096, 4096, PROT_NONE) == 0 &&
          mprotect(pages + 3 * 4096, 4096, PROT_NONE) == 0);
    memset(pages, 'n', 4096);
    at_page_end = pages + 3 * 4096 - 5;
    fd = open("data", O_RDWR);
    CHECK(fd >= 0 && pipe(pipes) == 0 && symlink("data", "soft") == 0);
    strcpy(at_page_end, "data");
    void *const places[] = {(void *)1, (void *)4095, pages + 4096, pages + 4096 - 3, (void *)(1UL << 62), (void *)-9};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        bad = places[i];
        paths();
        second_pointers();
        vectors();
        others();
        raw_call(RAW_WRITE, 1, (long)out, (long)used, 0, 0, 0);
        used = 0;
    }
    return 0;
}
