// SPDX-License-Identifier: MIT
// rings HOW COUNT: reads its own program file COUNT times through an io_uring ring.
//   raw: by syscall()      inline: by instructions of its own, then waits for the end of stdin
//   polled: a kernel thread takes them      closed: closes the ring before it ends      several: three rings
//   child: a forked child makes the ring    inherited: a forked child uses its parent's      killed: kills itself
// Exits with 77 where the kernel gives no ring.
#include <fcntl.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct ring {
    int fd, is_inline;
    struct io_uring_params params;
    char *submitted, *completed;
    struct io_uring_sqe *entries;
};

static long call(int is_inline, long number, long a, long b, long c, long d)
{
#if defined(__x86_64__)
    if (is_inline) {
        long r;
        register long r10 __asm__("r10") = d, r8 __asm__("r8") = 0, r9 __asm__("r9") = 0;
        __asm__ volatile("syscall"
                         : "=a"(r)
                         : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                         : "rcx", "r11", "memory");
        return r;
    }
#endif
    return syscall(number, a, b, c, d, 0L, 0L);
}

static void *mapped(int fd, size_t bytes, off_t offset)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, offset);
    if (at == MAP_FAILED)
        abort();
    return at;
}

static struct ring make(int is_inline, unsigned flags)
{
    struct ring r = {.is_inline = is_inline, .params = {.flags = flags, .sq_thread_idle = 1000}};
    r.fd = (int)call(is_inline, SYS_io_uring_setup, 8, (long)&r.params, 0, 0);
    if (r.fd < 0)
        exit(77);
    const struct io_uring_params *p = &r.params;
    r.submitted = mapped(r.fd, p->sq_off.array + p->sq_entries * 4, IORING_OFF_SQ_RING);
    r.completed = mapped(r.fd, p->cq_off.cqes + p->cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
    r.entries = mapped(r.fd, p->sq_entries * sizeof(*r.entries), IORING_OFF_SQES);
    return r;
}

static unsigned *word(char *ring, unsigned offset)
{
    return (unsigned *)(void *)(ring + offset);
}

static void read_once(struct ring *r, int file)
{
    static char buffer[64];
    const struct io_uring_params *p = &r->params;
    unsigned *tail = word(r->submitted, p->sq_off.tail), at = *tail & *word(r->submitted, p->sq_off.ring_mask);
    r->entries[at] = (struct io_uring_sqe){
        .opcode = IORING_OP_READ, .fd = file, .addr = (unsigned long)buffer, .len = sizeof(buffer)};
    word(r->submitted, p->sq_off.array)[at] = at;
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    unsigned flags = IORING_ENTER_GETEVENTS;
    int is_polled = (p->flags & IORING_SETUP_SQPOLL) != 0;
    if (is_polled && (__atomic_load_n(word(r->submitted, p->sq_off.flags), __ATOMIC_SEQ_CST) & IORING_SQ_NEED_WAKEUP))
        flags |= IORING_ENTER_SQ_WAKEUP;
    if (call(r->is_inline, SYS_io_uring_enter, r->fd, is_polled ? 0 : 1, 1, flags) < 0)
        abort();
    unsigned *head = word(r->completed, p->cq_off.head);
    while (__atomic_load_n(word(r->completed, p->cq_off.tail), __ATOMIC_ACQUIRE) == *head)
        ;
    __atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
}

static void read_all(struct ring *r, int count)
{
    int file = open("/proc/self/exe", O_RDONLY);
    while (count-- > 0)
        read_once(r, file);
    close(file);
}

static int in_child(struct ring *inherited, int count)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        struct ring own = inherited ? *inherited : make(0, 0);
        read_all(&own, count);
        exit(0);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[1] : "raw";
    int count = argc > 2 ? atoi(argv[2]) : 5;
    if (!strcmp(how, "child"))
        return in_child(NULL, count);
    struct ring ring = make(!strcmp(how, "inline"), !strcmp(how, "polled") ? IORING_SETUP_SQPOLL : 0);
    if (!strcmp(how, "inherited"))
        return in_child(&ring, count);
    read_all(&ring, count);
    for (int i = 0; !strcmp(how, "several") && i < 2; i++) {
        struct ring more = make(0, 0);
        read_all(&more, count);
    }
    if (!strcmp(how, "closed"))
        close(ring.fd);
    if (!strcmp(how, "killed"))
        raise(SIGKILL);
    char byte;
    return !strcmp(how, "inline") ? read(0, &byte, 1) != 0 : 0;
}
