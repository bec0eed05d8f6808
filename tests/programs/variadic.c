// SPDX-License-Identifier: MIT
// Variadic calls whose third and later arguments matter: the program checks what came of them.
// CFLAGS: -fno-builtin -U_FORTIFY_SOURCE
#define _GNU_SOURCE
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
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
    CHECK(fcntl(fd, F_DUPFD, 60) == 60 && fcntl(fd, F_DUPFD_CLOEXEC, 61) == 61 && fcntl(61, F_GETFD) == FD_CLOEXEC);
    int dir = open(".", O_RDONLY);
    CHECK(fcntl(dir, F_NOTIFY, (unsigned long)DN_CREATE | DN_MULTISHOT) == 0 && fcntl(dir, F_NOTIFY, 0) == 0);
    CHECK(fcntl(fd, F_SETSIG, SIGURG) == 0 && fcntl(fd, F_GETSIG) == SIGURG);
    CHECK(fcntl(fd, F_SETFL, O_APPEND | O_NONBLOCK) == 0 && (fcntl(fd, F_GETFL) & O_APPEND));
}

static void ioctls(int fd)
{
    int p[2], n = 0;
    CHECK(pipe(p) == 0 && write(p[1], "12345", 5) == 5 && ioctl(p[0], FIONREAD, &n) == 0 && n == 5);
    CHECK(ioctl(fd, 0x5401, &n) == -1 && errno == ENOTTY);
    CHECK(ioctl(fd, FIOCLEX) == 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC && ioctl(fd, FIONCLEX) == 0);
    int main_side = posix_openpt(O_RDWR | O_NOCTTY);
    struct winsize size = {.ws_row = 12, .ws_col = 345}, back = {0};
    CHECK(ioctl(main_side, TIOCSWINSZ, &size) == 0 && ioctl(main_side, TIOCGWINSZ, &back) == 0 && back.ws_col == 345);
}

static void modes(void)
{
    struct stat s;
    umask(0);
    CHECK(fstat(open(".", O_TMPFILE | O_RDWR, 0631), &s) == 0 && (s.st_mode & 07777) == 0631);
    CHECK(fstat(open64(".", O_TMPFILE | O_WRONLY, 0632), &s) == 0 && (s.st_mode & 07777) == 0632);
    CHECK(fstat(openat(AT_FDCWD, ".", O_TMPFILE | O_RDWR, 0633), &s) == 0 && (s.st_mode & 07777) == 0633);
    CHECK(fstat(open("made", O_CREAT | O_RDWR, 04751), &s) == 0 && (s.st_mode & 07777) == 04751);
}

static void semaphores(void)
{
    union {
        int value;
        unsigned short *array;
    } three = {.value = 3}, all = {.array = (unsigned short[2]){4, 5}};
    int id = semget(IPC_PRIVATE, 2, 0600);
    if (id < 0)
        return;
    CHECK(semctl(id, 1, SETVAL, three) == 0 && semctl(id, 1, GETVAL) == 3);
    CHECK(semctl(id, 0, SETALL, all) == 0 && semctl(id, 0, GETVAL) == 4 && semctl(id, 0, IPC_RMID) == 0);
}

static int collected(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vfprintf(stdout, format, list);
    va_end(list);
    return n;
}

// Integers and floating point in registers and on the stack.
static void formats(void)
{
    int a[3];
    double d[9];
    CHECK(printf("%d %d %d %d %d %d %d %g %g %g %g %g %g %g %g %g\n", 1, 2, 3, 4, 5, 6, 7, .1, .2, .3, .4, .5, .6, .7,
                 .8, .9) == 50);
    CHECK(collected("%s %d %.1f %ld %s\n", "x", 1, 2.5, 3L, "y") > 0);
    CHECK(dprintf(1, "%*d|%-*d|%Lf\n", 5, 1, 5, 2, 1.5L) > 0);
    FILE *f = fopen("numbers", "w+");
    CHECK(fprintf(f, "1 2 3 .1 .2 .3 .4 .5 .6 .7 .8 .9") > 0 && fseek(f, 0, SEEK_SET) == 0);
    CHECK(fscanf(f, "%d %d %d %lf %lf %lf %lf %lf %lf %lf %lf %lf", a, a + 1, a + 2, d, d + 1, d + 2, d + 3, d + 4,
                 d + 5, d + 6, d + 7, d + 8) == 12 &&
          a[2] == 3 && d[8] == .9);
}

// Three hundred arguments and an environment behind them.
#define TEN "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"
#define HUNDRED TEN, TEN, TEN, TEN, TEN, TEN, TEN, TEN, TEN, TEN
static void many_arguments(void)
{
    for (int i = 0; i < 3; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            const char *script =
                i == 0 ? "test $# = 300 -a ${300} = 10 -a ${291} = 1" : "test $# = 300 -a $ONLY = this";
            char *const only[] = {(char *)(uintptr_t)"ONLY=this", NULL};
            if (i == 0)
                execl("/bin/sh", "sh", "-c", script, "sh", HUNDRED, HUNDRED, HUNDRED, (char *)NULL);
            if (i == 1)
                execle("/bin/sh", "sh", "-c", script, "sh", HUNDRED, HUNDRED, HUNDRED, (char *)NULL, only);
            setenv("ONLY", "this", 1);
            execlp("sh", "sh", "-c", script, "sh", HUNDRED, HUNDRED, HUNDRED, (char *)NULL);
            _exit(9);
        }
        int status = 1;
        CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    }
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
    char *place = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(mremap(grown, 8192, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, place) == place);
    CHECK(prctl(PR_SET_MM, PR_SET_MM_MAP_SIZE, &b, 0, 0) <= 0);
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 7) == -1 && errno == EINVAL);
    // six arguments, the sixth is looked at
    off_t from = 0, to = 10;
    CHECK(syscall(SYS_copy_file_range, open("data", O_RDONLY), &from, open("copy", O_CREAT | O_WRONLY, 0600), &to, 5L,
                  1L) == -1 &&
          errno == EINVAL);
}

int main(void)
{
    int fd = open("data", O_RDWR | O_CREAT, 0600);
    CHECK(fd >= 0 && pwrite(fd, "A", 1, 4096) == 1 && ftruncate(fd, 8192) == 0);
    fcntls(fd);
    ioctls(fd);
    modes();
    semaphores();
    formats();
    many_arguments();
    others();
    return 0;
}
