// SPDX-License-Identifier: MIT
// LDFLAGS: -shared -fPIC
// CFLAGS: -fPIC
/*
 * A library to preload into flowtapd, which makes calls fail as the file FAULT_CONTROL says at that moment. Its text:
 *   NAME=ERRNO      write, open, fallocate, mkdir, ftruncate on files below FAULT_BELOW fail with that errno
 *   short=1         write writes half of what it is given
 *   memory=BYTES    malloc, calloc and realloc of that much and more fail
 *   allocation=N    the Nth of these calls fails, and no other
 *   opendir=1       opendir of a folder below FAULT_BELOW does not return until the file says so no more
 *   no_opendir=ERRNO  opendir below FAULT_BELOW fails with that errno
 *   statvfs=1       as opendir=1, of statvfs
 *   realtime=S      CLOCK_REALTIME stands so many seconds from what it is
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char *control;

static void __attribute__((constructor)) start(void)
{
    const char *path = getenv("FAULT_CONTROL");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *map = fd >= 0 ? mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (fd >= 0)
        syscall(SYS_close, fd);
    if (map != MAP_FAILED)
        control = map;
}

/* The number that the file gives a name at this moment; 0: none. */
static long wish(const char *name)
{
    const char *found = control ? strstr(control, name) : NULL;
    size_t n = strlen(name);
    while (found && !((found == control || found[-1] == '\n') && found[n] == '='))
        found = strstr(found + 1, name);
    return found ? atol(found + n + 1) : 0;
}

static int is_below(const char *path)
{
    const char *below = getenv("FAULT_BELOW");
    return below && strncmp(path, below, strlen(below)) == 0;
}

static int is_fd_below(int fd)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof(path) - 1);
    path[n > 0 ? n : 0] = 0;
    return is_below(path);
}

static int fails(const char *name, int is_meant)
{
    long error = is_meant ? wish(name) : 0;
    if (error)
        errno = (int)error;
    return error != 0;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *bytes, size_t count)
{
    int is_meant = control && is_fd_below(fd);
    if (fails("write", is_meant))
        return -1;
    if (is_meant && wish("short") && count > 1)
        count /= 2;
    return syscall(SYS_write, fd, bytes, count);
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    unsigned mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, unsigned) : 0;
    va_end(args);
    int makes = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
    if (fails("open", makes && is_below(path)))
        return -1;
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int fallocate(int fd, int mode, off_t offset, off_t bytes)
{
    return fails("fallocate", control && is_fd_below(fd)) ? -1 : (int)syscall(SYS_fallocate, fd, mode, offset, bytes);
}

int ftruncate(int fd, off_t bytes)
{
    return fails("ftruncate", control && is_fd_below(fd)) ? -1 : (int)syscall(SYS_ftruncate, fd, bytes);
}

DIR *opendir(const char *path)
{
    static __typeof__(&opendir) real;
    while (is_below(path) && wish("opendir"))
        poll(NULL, 0, 5);
    if (fails("no_opendir", is_below(path)))
        return NULL;
    if (!real)
        real = REAL(opendir);
    return real(path);
}

int statvfs(const char *restrict path, struct statvfs *restrict out)
{
    static __typeof__(&statvfs) real;
    while (is_below(path) && wish("statvfs"))
        poll(NULL, 0, 5);
    if (!real)
        real = REAL(statvfs);
    return real(path, out);
}

int mkdir(const char *path, mode_t mode)
{
    return fails("mkdir", is_below(path)) ? -1 : (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}

static int has_no_memory(size_t bytes)
{
    static _Atomic long allocations;
    long least = wish("memory"), nth = wish("allocation");
    int is_nth = nth && ++allocations == nth;
    if (!is_nth && (least == 0 || bytes < (size_t)least))
        return 0;
    errno = ENOMEM;
    return 1;
}

extern void *__libc_malloc(size_t bytes), *__libc_calloc(size_t count, size_t bytes), *__libc_realloc(void *, size_t);

void *malloc(size_t bytes)
{
    return has_no_memory(bytes) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return has_no_memory(count * bytes) ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    return has_no_memory(bytes) ? NULL : __libc_realloc(old, bytes);
}

int clock_gettime(clockid_t id, struct timespec *now)
{
    static __typeof__(&clock_gettime) real;
    if (!real)
        real = REAL(clock_gettime);
    int r = real(id, now);
    if (id == CLOCK_REALTIME && r == 0)
        now->tv_sec += wish("realtime");
    return r;
}
