// SPDX-License-Identifier: MIT
// Calls that glibc has in several versions, which differ in what they do: linked, and found by dlsym in three ways.
#define _GNU_SOURCE
#include <aio.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct table {
    __typeof__(posix_spawn) *spawn, *spawnp;
    __typeof__(realpath) *realpath;
    __typeof__(fmemopen) *fmemopen;
    __typeof__(lio_listio) *lio_listio;
    __typeof__(shm_open) *shm_open;
    __typeof__(mq_open) *mq_open;
    __typeof__(quick_exit) *quick_exit;
};

extern char **environ;

/* Text without #!: since 2.15 that is ENOEXEC; before, a shell ran it. */
static void spawn_text(const char *which, __typeof__(posix_spawn) *spawn)
{
    char *argv[] = {"text", NULL};
    pid_t pid;
    int error = spawn(&pid, "./text", NULL, NULL, argv, environ), status = -1;
    if (error == 0)
        waitpid(pid, &status, 0);
    printf("%s: %s, status %d\n", which, error ? strerror(error) : "runs", status);
}

static void use_memory(__typeof__(fmemopen) *open_memory)
{
    char bytes[8] = "abc\0def";
    FILE *f = open_memory(bytes, sizeof(bytes), "r");
    if (f == NULL)
        exit(9);
    char got[16];
    size_t n = fread(got, 1, sizeof(got), f); /* since 2.22 a NUL does not end it */
    long end = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    printf("fmemopen: %zu bytes, end %ld\n", n, end);
    fclose(f);
    f = open_memory(NULL, 0, "w+"); /* since 2.22 allowed */
    printf("fmemopen of nothing: %s\n", f ? "opens" : strerror(errno));
    if (f)
        fclose(f);
}

static void use_rest(const struct table *t)
{
    char *path = t->realpath("text", NULL); /* since 2.3 allocates */
    printf("realpath: %s\n", path ? strrchr(path, '/') : strerror(errno));
    free(path);
    char letter = 'x';
    int fd = open("listed", O_RDWR | O_CREAT, 0600);
    struct aiocb one = {.aio_fildes = fd, .aio_buf = &letter, .aio_nbytes = 1, .aio_lio_opcode = LIO_WRITE};
    struct aiocb *list[] = {&one, NULL};
    int r = t->lio_listio(LIO_WAIT, list, 2, NULL);
    printf("lio_listio: %d, %zd\n", r, aio_return(&one));
    close(fd);
    char name[64];
    snprintf(name, sizeof(name), "/flowtap-test-%d", getpid());
    fd = t->shm_open(name, O_RDWR | O_CREAT, 0640);
    struct stat st = {0};
    printf("shm_open: %d\n", fd >= 0 && fstat(fd, &st) == 0 ? (int)(st.st_mode & 0777) : -errno);
    close(fd);
    shm_unlink(name);
    struct mq_attr attributes = {.mq_maxmsg = 3, .mq_msgsize = 77}, got = {0};
    mqd_t queue = t->mq_open(name, O_RDWR | O_CREAT, 0600, &attributes);
    r = queue != (mqd_t)-1 ? mq_getattr(queue, &got) : -errno;
    printf("mq_open: %d, %ld of %ld\n", r, got.mq_maxmsg, got.mq_msgsize);
    mq_close(queue);
    mq_unlink(name);
}

static void *find(void *from, const char *name)
{
    void *found = dlsym(from, name);
    if (found == NULL)
        exit(8);
    return found;
}

static struct table table_of(void *from)
{
    return (struct table){
        .spawn = find(from, "posix_spawn"),
        .spawnp = find(from, "posix_spawnp"),
        .realpath = find(from, "realpath"),
        .fmemopen = find(from, "fmemopen"),
        .lio_listio = find(from, "lio_listio"),
        .shm_open = find(from, "shm_open"),
        .mq_open = find(from, "mq_open"),
        .quick_exit = find(from, "quick_exit"),
    };
}

static void at_quick(void)
{
    printf("at_quick_exit\n");
    fflush(stdout);
}

int main(void)
{
    int fd = open("text", O_WRONLY | O_CREAT, 0700);
    if (fd < 0 || write(fd, "exit 3\n", 7) != 7 || close(fd))
        return 7;
    struct table tables[] = {
        {posix_spawn, posix_spawnp, realpath, fmemopen, lio_listio, shm_open, mq_open, quick_exit},
        table_of(RTLD_DEFAULT),
        table_of(RTLD_NEXT),
        table_of(dlopen("libc.so.6", RTLD_NOW)),
    };
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        spawn_text("posix_spawn", tables[i].spawn);
        spawn_text("posix_spawnp", tables[i].spawnp);
        use_memory(tables[i].fmemopen);
        use_rest(&tables[i]);
    }
    at_quick_exit(at_quick);
    fflush(stdout);
    tables[0].quick_exit(6);
}
