// SPDX-License-Identifier: MIT
#include "client/shim/uring.h"

#include "client/shim/hot.h"
#include "proto/calls.h"

#include <fcntl.h>
#include <sys/syscall.h>

enum { RINGS_MAX = 16, TEXT_BYTES = 512, ENTER_REGISTERED = 16 };

uint32_t ft_uring_rings;

FT_TABLE static struct ring {
    int32_t fd;       /* -1: closed */
    uint8_t is_ours;  /* made here: what its kernel head counts is ours alone */
    uint64_t counted; /* calls that are in Hello */
} rings[RINGS_MAX];

static void count(struct ring *ring, uint64_t calls)
{
    __atomic_fetch_add(&ring->counted, calls, __ATOMIC_RELAXED);
    if (ft_wiped.base != 0)
        __atomic_fetch_add(&ft_hello()->ring_calls, calls, __ATOMIC_RELAXED);
}

static struct ring *find(int fd)
{
    for (uint32_t i = 0; i < ft_uring_rings && i < RINGS_MAX; i++)
        if (__atomic_load_n(&rings[i].fd, __ATOMIC_ACQUIRE) == fd)
            return &rings[i];
    return NULL;
}

/* Of more rings than there is room for the last one stands for the rest. */
static struct ring *add(int fd, int is_ours)
{
    uint32_t at = __atomic_fetch_add(&ft_uring_rings, 1, __ATOMIC_RELAXED);
    struct ring *ring = &rings[at < RINGS_MAX ? at : RINGS_MAX - 1];
    ft_gap(FT_SHIM_GAP_IO_URING);
    ring->counted = 0;
    ring->is_ours = (uint8_t)(is_ours && at < RINGS_MAX);
    __atomic_store_n(&ring->fd, fd, __ATOMIC_RELEASE);
    return ring;
}

static long setup_ring(long number, long entries, long parameters)
{
    ft_raw_function *real = (ft_raw_function *)ft_real(FT_CALL_ID_syscall);
    long r = real(number, entries, parameters);
    if (r >= 0 && ft_enter())
        add((int)r, 1);
    return r;
}

static long enter_ring(long number, long fd, long submitted, long completed, long flags, long argument, long size)
{
    ft_raw_function *real = (ft_raw_function *)ft_real(FT_CALL_ID_syscall);
    long r = real(number, fd, submitted, completed, flags, argument, size);
    if (r <= 0 || (unsigned)submitted == 0 || (flags & ENTER_REGISTERED) || !ft_enter())
        return r;
    struct ring *ring = find((int)fd);
    count(ring != NULL ? ring : add((int)fd, 0), (uint64_t)r);
    return r;
}

ft_function *ft_uring_function(long number, ft_function *real)
{
#ifdef SYS_io_uring_setup
    if (number == SYS_io_uring_setup)
        return (ft_function *)setup_ring;
    if (number == SYS_io_uring_enter)
        return (ft_function *)enter_ring;
#else
    (void)number;
#endif
    return real;
}

/* The number behind `key` in a text of lines; 0 where it is not there. */
static uint64_t number_of(const char *text, size_t n, const char *key)
{
    size_t length = ft_length(key);
    for (size_t at = 0; at + length < n; at++) {
        if ((at > 0 && text[at - 1] != '\n') || !ft_is_equal(text + at, key, length))
            continue;
        uint64_t value = 0;
        for (at += length; at < n && text[at] != '\n'; at++)
            if (text[at] >= '0' && text[at] <= '9')
                value = value * 10 + (uint64_t)(text[at] - '0');
        return value;
    }
    return 0;
}

/* What the kernel has taken from the ring's submission queue: with a polling thread there is no other count. */
static uint64_t taken_from(int ring)
{
    char path[48] = "/proc/thread-self/fdinfo/", text[TEXT_BYTES], digits[12];
    size_t at = sizeof("/proc/thread-self/fdinfo/") - 1;
    int count_digits = 0;
    unsigned rest = (unsigned)ring;
    do
        digits[count_digits++] = (char)('0' + rest % 10);
    while ((rest /= 10) != 0);
    while (count_digits > 0)
        path[at++] = digits[--count_digits];
    path[at] = 0;
    long fd = ft_sys(SYS_openat, FT_AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    long n = ft_sys(SYS_read, fd, text, sizeof(text));
    ft_sys(SYS_close, fd);
    return n > 0 ? number_of(text, (size_t)n, "SqHead:") : 0;
}

void ft_uring_closing(unsigned first, unsigned last)
{
    if (ft_is_shut_in() || ft_thread.vfork_depth != 0 || ft_wiped.base == 0)
        return;
    for (uint32_t i = 0; i < ft_uring_rings && i < RINGS_MAX; i++) {
        struct ring *ring = &rings[i];
        int fd = __atomic_load_n(&ring->fd, __ATOMIC_ACQUIRE);
        if (fd < 0 || (unsigned)fd < first || (unsigned)fd > last || !ring->is_ours)
            continue;
        uint64_t taken = taken_from(fd);
        if (taken > ring->counted)
            count(ring, taken - ring->counted);
        if (last != UINT32_MAX)
            __atomic_store_n(&ring->fd, -1, __ATOMIC_RELEASE);
    }
}

/* The kernel's count will hold the child's calls as well; that of ours is right where we saw them being submitted. */
void ft_uring_forking(void)
{
    for (uint32_t i = 0; i < ft_uring_rings && i < RINGS_MAX; i++)
        if (__atomic_load_n(&rings[i].counted, __ATOMIC_RELAXED) != 0)
            rings[i].is_ours = 0;
}

void ft_uring_reset(void)
{
    ft_uring_rings = 0;
}
