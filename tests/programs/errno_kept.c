// SPDX-License-Identifier: MIT
// errno_kept [full]: prints result and errno of calls that fail and of calls that succeed (which leave errno as it was).
// With `full` the trace's memory is used up first, where nobody empties it.
// CFLAGS: -fno-builtin -U_FORTIFY_SOURCE
#define _GNU_SOURCE
#include <aio.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <wchar.h>

static char out[65536];
static size_t used;

static void note(const char *what, long result)
{
    used += (size_t)snprintf(out + used, sizeof out - used, "%s %ld %d\n", what, result, errno);
}

#define TRY(call)                   \
    do {                            \
        errno = 77;                 \
        long result = (long)(call); \
        note(#call, result);        \
    } while (0)

static char b[64];
static int p[2], made;
static struct stat s;
static struct iovec part = {b, 5};

static void descriptors(void)
{
    int full = open("/dev/full", O_WRONLY);
    TRY(read(p[0], b, 1));
    TRY(write(p[1], b, 1));
    TRY(read(p[0], b, 1));
    TRY(readv(p[0], &part, 1));
    TRY(writev(p[1], &part, 1));
    TRY(write(full, b, 10));
    TRY(pwrite(made, b, 10, 5));
    TRY(pread(made, b, 10, 5));
    TRY(pread(p[0], b, 10, 5));
    TRY(pwritev2(made, &part, 1, 0, 0x7fffffff));
    TRY(lseek(p[0], 0, SEEK_SET));
    TRY(lseek(made, 3, SEEK_SET));
    TRY(close(-1));
    TRY(close(777));
    TRY(dup(-1));
    TRY(dup(made) >= 0);
    TRY(dup2(777, 5));
    TRY(dup2(made, 50));
    TRY(dup3(made, made, 0));
    TRY(close_range(9, 8, 0));
    TRY(fcntl(0, 9999, 0));
    TRY(fcntl(made, F_GETFD));
    TRY(ioctl(made, 0x5401, b) == 0);
    TRY(fstat(777, &s));
    TRY(fstat(made, &s));
    TRY(fsync(p[0]));
    TRY(fsync(made));
    TRY(ftruncate(made, -1));
    TRY(ftruncate(made, 100));
    TRY(fallocate(p[0], 0, 0, 10));
    TRY(posix_fallocate(p[0], 0, 10));
    TRY(posix_fadvise(made, 0, 10, 99));
    TRY(flock(777, LOCK_EX));
    TRY(sendfile(made, 777, NULL, 10));
    TRY(copy_file_range(made, NULL, 777, NULL, 10, 0));
    TRY(splice(777, NULL, p[1], NULL, 10, 0));
    TRY(mmap(NULL, 10, PROT_READ, MAP_SHARED, 777, 0) == MAP_FAILED);
    TRY(mmap(NULL, 10, PROT_READ, MAP_SHARED, made, 0) == MAP_FAILED);
    TRY(isatty(p[0]));
    TRY(fgetxattr(made, "user.none", b, 10));
    TRY(eventfd(0, 99));
    TRY(epoll_create(-1));
    TRY(socket(99, 0, 0));
    TRY(send(made, b, 1, 0));
    TRY(recv(made, b, 1, 0));
    TRY(accept(made, NULL, NULL));
}

static void paths(void)
{
    struct statfs f;
    TRY(open("absent", O_RDONLY));
    TRY(open("made", O_RDWR) >= 0);
    TRY(openat(777, "absent", O_RDONLY));
    TRY(creat(".", 0600));
    TRY(stat("made", &s));
    TRY(stat("absent", &s));
    TRY(lstat("made/x", &s));
    TRY(access("made", R_OK));
    TRY(access("absent", R_OK));
    TRY(mkdir("made", 0700));
    TRY(mkdir("fresh", 0700));
    TRY(rmdir("fresh"));
    TRY(rmdir("made"));
    TRY(rename("absent", "x"));
    TRY(rename("made", "made"));
    TRY(link("absent", "x"));
    TRY(symlink("x", "made"));
    TRY(readlink("made", b, 10));
    TRY(unlink("absent"));
    TRY(truncate("absent", 0));
    TRY(truncate("made", 50));
    TRY(chmod("absent", 0600));
    TRY(chmod("made", 0600));
    TRY(chdir("absent"));
    TRY(chdir("."));
    TRY(statfs("absent", &f));
    TRY(statfs(".", &f));
    TRY(getxattr("made", "user.none", b, 10));
    TRY(realpath("absent", NULL) != NULL);
    TRY(mkstemp(b + 1));
    TRY(opendir("absent") != NULL);
    DIR *d = opendir(".");
    TRY(readdir(d) != NULL);
    TRY(closedir(d));
}

static void streams(void)
{
    char *line = NULL;
    size_t n = 0;
    TRY(fopen("absent", "r") != NULL);
    FILE *f = fopen("made", "w+");
    TRY(fwrite("abc", 1, 3, f));
    TRY(fputs("def", f) >= 0);
    TRY(fprintf(f, "%d", 5));
    TRY(fflush(f));
    TRY(fseek(f, -5, SEEK_SET));
    TRY(fseek(f, 0, SEEK_SET));
    TRY(fread(b, 1, 2, f));
    TRY(fgetc(f));
    TRY(ungetc('x', f));
    TRY(ftell(f));
    TRY(getline(&line, &n, f));
    TRY(getline(&line, &n, f));
    TRY(fread(b, 1, 10, f));
    TRY(fclose(f));
    f = fopen("/dev/full", "w");
    TRY(fputs("text", f) >= 0);
    TRY(fflush(f));
    TRY(fclose(f));
    f = fopen("made", "r");
    TRY(fputc('x', f));
    TRY(fscanf(f, "%*d"));
    TRY(fgetwc(f) != WEOF);
    TRY(fclose(f));
    TRY(fdopen(777, "r") != NULL);
    TRY(dprintf(777, "x"));
    TRY(fmemopen(NULL, 0, "no mode") != NULL);
    TRY(pclose(popen("exit 3", "r")));
}

static void processes(void)
{
    pid_t pid;
    char *const none[] = {NULL};
    struct aiocb request = {.aio_fildes = 777};
    TRY(execl("/absent", "x", (char *)NULL));
    TRY(execv("/", none));
    TRY(execvp("absent-command", none));
    TRY(posix_spawn(&pid, "/absent", NULL, NULL, none, none));
    TRY(fork() == 0 ? (_exit(5), 0) : 1);
    TRY(waitpid(-1, NULL, 0) > 0);
    TRY(vfork() == 0 ? (_exit(5), 0) : 1);
    TRY(waitpid(-1, NULL, 0) > 0);
    TRY(system("exit 7"));
    TRY(aio_fsync(99, &request));
    TRY(aio_cancel(777, NULL));
}

int main(int argc, char **argv)
{
    made = open("made", O_RDWR | O_CREAT, 0600);
    if (pipe2(p, O_NONBLOCK) || made < 0)
        return 2;
    for (int i = 0; argc > 1 && !strcmp(argv[1], "full") && i < 300000; i++)
        lseek(made, 0, SEEK_CUR);
    descriptors();
    paths();
    streams();
    processes();
    return write(1, out, used) != (ssize_t)used;
}
