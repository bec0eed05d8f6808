// SPDX-License-Identifier: MIT
/* What tests/programs/cancel.c calls while a cancellation waits. */
#ifndef FT_TEST_CANCEL_CALLS_H
#define FT_TEST_CANCEL_CALLS_H

#include <aio.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <pthread.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <termios.h>
#include <unistd.h>

struct way {
    const char *name;
    void (*run)(void);
};

static int pipe_in, file, listener;
static char buffer[65536];

/* Calls that do not wait, with a cancellation that does. */
static struct stat status;
static struct aiocb request;

static void do_pread(void)
{
    (void)!pread(file, buffer, 1, 0);
}

static void do_pwrite(void)
{
    (void)!pwrite(file, buffer, 1, 0);
}

static void do_write(void)
{
    (void)!write(file, buffer, 1);
}

static void do_open(void)
{
    (void)!open("other", O_RDONLY);
}

static void do_openat(void)
{
    (void)!openat(AT_FDCWD, "other", O_RDONLY | O_CREAT, 0600);
}

static void do_creat(void)
{
    (void)!creat("other", 0600);
}

static void do_close(void)
{
    close(-1);
}

static void do_fsync(void)
{
    fsync(file);
}

static void do_fdatasync(void)
{
    fdatasync(file);
}

static void do_msync(void)
{
    msync(buffer, 0, MS_SYNC);
}

static void do_suspend(void)
{
    const struct aiocb *list[] = {&request};
    aio_suspend(list, 1, NULL);
}

static void do_fprintf(void)
{
    FILE *f = fopen("/dev/null", "we");
    fprintf(f, "%d\n", 1);
    fclose(f);
}

static void do_splice(void)
{
    (void)!splice(pipe_in, NULL, file, NULL, 1, SPLICE_F_NONBLOCK);
}

static void do_stat(void)
{
    stat("other", &status);
    pthread_testcancel();
}

static void do_tcdrain(void)
{
    tcdrain(file);
}

static void do_lockf(void)
{
    (void)!lockf(file, F_LOCK, 0);
}

static void do_sync_range(void)
{
    sync_file_range(file, 0, 1, SYNC_FILE_RANGE_WRITE);
}

static void do_fallocate(void)
{
    fallocate(file, 0, 0, 1);
}

static void do_pclose(void)
{
    pclose(popen("exec true", "r"));
    pthread_testcancel();
}

static int visit(const char *path, const struct stat *s, int kind, struct FTW *where)
{
    (void)s;
    (void)kind;
    (void)where;
    return open(path, O_RDONLY | O_NONBLOCK) < 0;
}

static void do_nftw(void)
{
    nftw(".", visit, 10, FTW_PHYS);
}

static int choose(const struct dirent *entry)
{
    return open(entry->d_name, O_RDONLY | O_NONBLOCK) >= 0;
}

static void do_scandir(void)
{
    struct dirent **found;
    scandir(".", &found, choose, NULL);
}

static int fail(const char *path, int error)
{
    (void)path;
    pthread_testcancel();
    return error;
}

static void do_glob(void)
{
    glob_t found;
    glob("file/*", 0, fail, &found);
    pthread_testcancel();
}

static ssize_t write_cookie(void *cookie, const char *bytes, size_t n)
{
    (void)cookie;
    return write(file, bytes, n);
}

static void do_cookie(void)
{
    FILE *f = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_cookie});
    fprintf(f, "%d\n", 1);
    fclose(f);
}

static void do_listio(void)
{
    struct aiocb one = {.aio_fildes = file, .aio_buf = buffer, .aio_nbytes = 1, .aio_lio_opcode = LIO_WRITE},
                 *list[] = {&one};
    lio_listio(LIO_WAIT, list, 1, NULL);
    pthread_testcancel();
}

static void do_recvmmsg(void)
{
    struct mmsghdr one = {.msg_len = 0};
    recvmmsg(listener, &one, 1, MSG_DONTWAIT, NULL);
}

static void do_allocate(void)
{
    posix_fallocate(file, 0, 1);
    pthread_testcancel();
}

static void do_preadv2(void)
{
    struct iovec one = {buffer, 1};
    (void)!preadv2(file, &one, 1, -1, 0);
}

static void do_forkpty(void)
{
    int side;
    if (forkpty(&side, NULL, NULL, NULL) == 0)
        _exit(1);
}

static void do_copy(void)
{
    (void)!copy_file_range(file, NULL, file, NULL, 0, 0);
}

static const struct way pending[] = {
    {"pread", do_pread},           {"pwrite", do_pwrite},       {"write", do_write},       {"open", do_open},
    {"openat", do_openat},         {"creat", do_creat},         {"close", do_close},       {"fsync", do_fsync},
    {"fdatasync", do_fdatasync},   {"msync", do_msync},         {"aio", do_suspend},       {"fprintf", do_fprintf},
    {"splice", do_splice},         {"stat", do_stat},           {"tcdrain", do_tcdrain},   {"lockf", do_lockf},
    {"sync_range", do_sync_range}, {"fallocate", do_fallocate}, {"copy", do_copy},         {"forkpty", do_forkpty},
    {"pclose", do_pclose},         {"nftw", do_nftw},           {"scandir", do_scandir},   {"glob", do_glob},
    {"cookie", do_cookie},         {"listio", do_listio},       {"recvmmsg", do_recvmmsg}, {"allocate", do_allocate},
    {"preadv2", do_preadv2},
};

#endif
