// SPDX-License-Identifier: MIT
// CFLAGS: -Wno-missing-field-initializers
// Messages of every shape, descriptors of every kind. See hostile.h.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "hostile.h"

// ------------------------------------------------------------------------------------------------------------- messages

static void message_lengths(void)
{
    static uint8_t bytes[65536];
    memset(bytes, 0xff, sizeof(bytes));
    for (size_t n = 0; n < 100; n++) {
        int socket = connected();
        struct ft_attach attach = good_message(1 << 20);
        memcpy(bytes, &attach, sizeof(attach));
        send_to(socket, bytes, n, NULL, 0);
        close(socket);
    }
    int socket = connected();
    send_to(socket, bytes, sizeof(bytes), NULL, 0);
    close(socket);
}

static void message_words(void)
{
    struct maker maker;
    fill(&maker);
    for (unsigned word = 0; word < 8; word++)
        for (unsigned bit = 0; bit < 32; bit += 5) {
            struct ft_attach attach = good_message(maker.bytes);
            uint32_t value;
            memcpy(&value, (uint8_t *)&attach + word * 4, 4);
            value ^= 1u << bit;
            memcpy((uint8_t *)&attach + word * 4, &value, 4);
            int socket = connected();
            send_to(socket, &attach, sizeof(attach), &maker.fd, 1);
            close(socket);
        }
    maker_fini(&maker);
}

static void message_descriptors(void)
{
    static const size_t counts[] = {0, 2, 3, 4, 5, 6, 64, FDS_MAX};
    struct maker maker;
    fill(&maker);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        int fds[FDS_MAX], socket = connected();
        for (size_t n = 0; n < counts[i]; n++)
            fds[n] = maker.fd;
        struct ft_attach attach = good_message(maker.bytes);
        send_to(socket, &attach, sizeof(attach), fds, counts[i]);
        close(socket);
    }
    maker_fini(&maker);
}

static void message_twice(void)
{
    struct maker maker;
    fill(&maker);
    struct ft_attach attach = good_message(maker.bytes);
    int socket = connected();
    for (int i = 0; i < 50; i++)
        send_to(socket, &attach, sizeof(attach), &maker.fd, 1);
    close(socket);
    for (int i = 0; i < 50; i++)
        offer(maker.fd, maker.bytes); // one memory as many processes
    maker_fini(&maker);
}

static void connections_that_say_nothing(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    for (int i = 0; i < 2000; i++)
        close(connected());
    for (int i = 0; i < 1000; i++)
        (void)connected(); // held until the end
    hold_until_told();
}

// A descriptor in flight that holds the daemon's own socket, and a chain of sockets that hold each other.
static void sockets_in_sockets(void)
{
    for (int i = 0; i < 200; i++) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) != 0)
            return;
        send_to(pair[0], "x", 1, &pair[1], 1);
        offer(pair[0], 1 << 20);
        close(pair[0]);
        close(pair[1]);
    }
}

// ------------------------------------------------------------------------------------------------------------- memories

static void descriptors_of_every_kind(void)
{
    int pipes[2] = {-1, -1};
    int kinds[] = {open("/dev/zero", O_RDWR),
                   open("/dev/null", O_RDWR),
                   open("/", O_PATH),
                   open("/", O_RDONLY),
                   open("/proc/self/mem", O_RDWR),
                   open("/proc/self/maps", O_RDONLY),
                   connected(),
                   socket(AF_INET, SOCK_STREAM, 0),
                   epoll_create1(0),
                   open("/dev/tty", O_RDWR),
                   open(".", O_TMPFILE | O_RDWR, 0600)};
    if (pipe(pipes) != 0)
        return;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (kinds[i] >= 0) {
            offer(kinds[i], 1 << 20);
            offer(kinds[i], 0);
        }
    offer(pipes[0], 1 << 20);
    offer(pipes[1], 1 << 20);
}

static int memory(unsigned flags, off_t bytes, int seals)
{
    int fd = memfd_create("hostile", MFD_CLOEXEC | MFD_ALLOW_SEALING | flags);
    if (fd >= 0 && (ftruncate(fd, bytes) != 0 || (seals != 0 && fcntl(fd, F_ADD_SEALS, seals) != 0))) {
        close(fd);
        return -1;
    }
    return fd;
}

// A segment in order, but for its seals.
static void offer_sealed(const struct maker *maker, int seals)
{
    int fd = memory(0, (off_t)maker->bytes, 0);
    (void)!pwrite(fd, maker->map, 30 * FT_PAGE_BYTES, 0); // what is used of it
    (void)!fcntl(fd, F_ADD_SEALS, seals);
    offer(fd, maker->bytes);
    close(fd);
}

static void seals_of_every_kind(void)
{
    struct maker maker;
    fill(&maker);
    static const int all = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW;
    static const int seals[] = {0,
                                F_SEAL_SHRINK,
                                F_SEAL_GROW,
                                F_SEAL_SHRINK | F_SEAL_GROW,
                                F_SEAL_SEAL,
                                F_SEAL_SEAL | F_SEAL_SHRINK,
                                F_SEAL_SEAL | F_SEAL_GROW};
    for (size_t i = 0; i < sizeof(seals) / sizeof(seals[0]); i++)
        offer_sealed(&maker, seals[i]);
    offer(memory(MFD_HUGETLB, 2 << 20, all), 2 << 20);
    static const off_t sizes[] = {
        0, 1, 4095, 4096, 512 * 1024 - 1, 512 * 1024, 8 << 20, INT64_C(1) << 31, INT64_C(1) << 40};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        int fd = memory(0, sizes[i], all);
        offer(fd, (uint64_t)sizes[i]);
        offer(fd, 8 << 20);
        offer(fd, UINT64_MAX);
        close(fd);
    }
    char name[64];
    snprintf(name, sizeof(name), "/proc/self/fd/%d", maker.fd);
    offer(open(name, O_RDONLY), maker.bytes);
    maker_fini(&maker);
}

// Those that are asked for, and one against our writes: that its chunks are read, nobody can tell it.
static void sealed_against_writes(void)
{
    struct maker maker;
    fill(&maker);
    offer_sealed(&maker, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
    offer_sealed(&maker, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE);
    maker_fini(&maker);
}

// The pages go while the daemon reads: what is not there reads as nothing, and what it takes itself is limited.
static void holes(void)
{
    struct maker maker;
    fill(&maker);
    offer(maker.fd, maker.bytes);
    maker.head->chunks_wanted = 1u << 30;
    for (int round = 0; round < 300; round++) {
        (void)!fallocate(maker.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(round % 22) * 4096,
                         (off_t)(maker.bytes - 22 * 4096));
        maker.head->chunks_wanted += 1000;
        memset(maker.head->chunk_state, round, FT_CHUNKS_MAX);
    }
    maker_fini(&maker);
}

static const struct hostile_case cases[] = {
    CASE(message_lengths),
    CASE(message_words),
    CASE(message_descriptors),
    CASE(message_twice),
    CASE(connections_that_say_nothing),
    CASE(sockets_in_sockets),
    CASE(descriptors_of_every_kind),
    CASE(seals_of_every_kind),
    CASE(sealed_against_writes),
    CASE(holes),
};

int main(int argc, char **argv)
{
    return hostile_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
