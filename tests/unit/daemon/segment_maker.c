// SPDX-License-Identifier: MIT
#include "segment_maker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { TOTALS_PAGE = 1, HELLO_PAGE = 2, TOTALS_MORE_PAGE = 18, LINES_PAGE = 21, POOL_PAGE = 22 };

uint64_t maker_ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#endif
}

static void must(int ok, const char *what)
{
    if (ok)
        return;
    perror(what);
    abort();
}

void maker_init(struct maker *maker)
{
    static atomic_uint counter;
    memset(maker, 0, sizeof(*maker));
    maker->bytes = (uint64_t)(POOL_PAGE + MAKER_CHUNKS) * FT_PAGE_BYTES;
    maker->fd = memfd_create("segment", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    must(maker->fd >= 0 && ftruncate(maker->fd, (off_t)maker->bytes) == 0, "memfd");
    must(fcntl(maker->fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW) == 0, "seals");
    maker->map = mmap(NULL, maker->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, maker->fd, 0);
    must(maker->map != MAP_FAILED, "mmap");
    maker->head = (void *)maker->map;
    maker->hello = (void *)(maker->map + HELLO_PAGE * FT_PAGE_BYTES);
    maker->lines = (void *)(maker->map + LINES_PAGE * FT_PAGE_BYTES);
    *maker->head = (struct ft_head){
        .magic = FT_RING_MAGIC,
        .abi_major = FT_RING_ABI_MAJOR,
        .segment_bytes = maker->bytes,
        .page_bytes = FT_PAGE_BYTES,
        .pid = (uint32_t)getpid(),
        .segment_id = {maker_ticks(), ((uint64_t)getpid() << 32) + atomic_fetch_add(&counter, 1)},
        .totals_page = TOTALS_PAGE,
        .totals_more_page = TOTALS_MORE_PAGE,
        .hello_page = HELLO_PAGE,
        .hello_pages = FT_HELLO_PAGES,
        .lines_page = LINES_PAGE,
        .lines_max = MAKER_LINES,
        .pool_page = POOL_PAGE,
        .chunks_max = MAKER_CHUNKS,
        .chunks_ready = FT_CHUNKS_BY_SHIM,
        .totals_copies = 1,
        .ready = 1,
    };
    memset(maker->head->chunk_state, FT_CHUNK_FREE, FT_CHUNKS_BY_SHIM); // the daemon makes the others
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    maker->hello->pid = maker->hello->tid = (uint32_t)getpid();
    maker->hello->ppid = (uint32_t)getppid();
    maker->hello->image = FT_IMAGE_EXEC;
    maker->hello->clock = FT_CLOCK_TICKS;
    maker->hello->attach_ticks = maker_ticks();
    maker->hello->attach_mono_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
    for (uint32_t i = 0; i < MAKER_LINES; i++)
        maker->chunk[i] = UINT32_MAX;
}

void maker_fini(struct maker *maker)
{
    munmap(maker->map, maker->bytes);
    close(maker->fd);
}

void maker_hello_item(struct maker *maker, uint16_t type, const void *bytes, uint32_t count)
{
    uint8_t *at = (uint8_t *)(maker->hello + 1) + maker->hello_used;
    struct ft_hello_item_head head = {.type = type, .bytes = count};
    memcpy(at, &head, sizeof(head));
    memcpy(at + sizeof(head), bytes, count);
    maker->hello_used += (uint32_t)sizeof(head) + ((count + 3) & ~3u);
    maker->hello->items_bytes = maker->hello_used;
}

struct ft_chunk_head *maker_chunk(struct maker *maker, uint32_t chunk)
{
    return (void *)(maker->map + (size_t)(POOL_PAGE + chunk) * FT_PAGE_BYTES);
}

uint64_t *maker_slot(struct maker *maker, uint32_t chunk, uint32_t slot)
{
    return (void *)((uint8_t *)maker_chunk(maker, chunk) + FT_CHUNK_HEAD_BYTES + (size_t)slot * FT_SLOT_BYTES);
}

static void publish(uint64_t *record, unsigned kind, uint32_t slots, unsigned call, unsigned flags, uint64_t fill,
                    unsigned fd)
{
    __atomic_store_n(&record[0], FT_W0(kind, slots, call, flags, fill, fd), __ATOMIC_RELEASE);
}

static void leave_chunk(struct maker *maker, uint32_t line)
{
    uint32_t chunk = maker->chunk[line];
    uint64_t fill = maker_chunk(maker, chunk)->fill;
    while (maker->slot[line] < FT_CHUNK_SLOTS) {
        uint32_t left = FT_CHUNK_SLOTS - maker->slot[line];
        uint32_t slots = left < FT_RECORD_SLOTS_MAX ? left : FT_RECORD_SLOTS_MAX;
        publish(maker_slot(maker, chunk, maker->slot[line]), FT_RECORD_PAD, slots, 0, 0, fill, 0);
        maker->slot[line] += slots;
    }
    __atomic_store_n(&maker->head->chunk_state[chunk], FT_CHUNK_FULL, __ATOMIC_RELEASE);
    maker->chunk[line] = UINT32_MAX;
}

static int take_chunk(struct maker *maker, uint32_t line, uint64_t ticks)
{
    for (uint32_t chunk = 0; chunk < MAKER_CHUNKS; chunk++) {
        uint8_t free_state = FT_CHUNK_FREE;
        if (!__atomic_compare_exchange_n(&maker->head->chunk_state[chunk], &free_state, FT_CHUNK_FILLING, 0,
                                         __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            continue;
        struct ft_chunk_head *head = maker_chunk(maker, chunk);
        head->fill++;
        head->line = line;
        head->tid = (uint32_t)getpid() + line;
        head->ordinal = line + 1;
        head->base_ticks = ticks;
        head->sequence = ++maker->sequence[line];
        maker->chunk[line] = chunk;
        maker->slot[line] = 0;
        return 1;
    }
    return 0;
}

uint64_t *maker_reserve(struct maker *maker, uint32_t line, uint32_t slots, uint64_t ticks, uint64_t *fill)
{
    if (maker->chunk[line] != UINT32_MAX && maker->slot[line] + slots > FT_CHUNK_SLOTS)
        leave_chunk(maker, line);
    if (maker->chunk[line] == UINT32_MAX && !take_chunk(maker, line, ticks))
        return NULL;
    if (maker->head->lines_used <= line)
        maker->head->lines_used = line + 1;
    maker->lines[line].tid = (uint32_t)getpid() + line;
    maker->lines[line].ordinal = line + 1;
    *fill = maker_chunk(maker, maker->chunk[line])->fill;
    uint64_t *record = maker_slot(maker, maker->chunk[line], maker->slot[line]);
    maker->slot[line] += slots;
    return record;
}

int maker_call(struct maker *maker, uint32_t line, unsigned call, uint32_t file, uint32_t size, uint64_t offset,
               uint64_t end_ticks, uint64_t duration_ticks)
{
    uint64_t fill;
    __atomic_fetch_add(&maker->lines[line].emitted, 1, __ATOMIC_RELAXED);
    uint64_t *record = maker_reserve(maker, line, 1, end_ticks - duration_ticks, &fill);
    if (!record) {
        __atomic_fetch_add(&maker->lines[line].dropped, 1, __ATOMIC_RELAXED);
        return 0;
    }
    record[1] = (end_ticks - maker_chunk(maker, maker->chunk[line])->base_ticks) | duration_ticks << 40;
    record[2] = (uint64_t)size << 32 | file;
    record[3] = offset | (uint64_t)FT_RESULT_SIZE << 60;
    publish(record, FT_RECORD_CALL, 1, call, FT_CALL_OFFSET | FT_CALL_SIZE, fill, 5);
    return 1;
}

void maker_define(struct maker *maker, uint32_t line, uint32_t id, uint32_t base, unsigned define, const char *name)
{
    uint64_t fill, bytes = strlen(name);
    uint32_t slots = 1 + (uint32_t)((bytes + FT_SLOT_BYTES - 1) / FT_SLOT_BYTES);
    uint64_t *record = maker_reserve(maker, line, slots, maker_ticks(), &fill);
    if (!record)
        return;
    record[1] = id | (uint64_t)base << 32;
    record[2] = bytes | bytes << 32 | (uint64_t)define << 48;
    record[3] = FT_FILE_WIRE_REGULAR;
    memcpy(record + FT_SLOT_WORDS, name, bytes);
    publish(record, FT_RECORD_DEFINE, slots, 0, 0, fill, 0);
}

void maker_call_words(struct maker *maker, uint32_t line, unsigned call, unsigned flags, uint64_t word2, uint64_t word3)
{
    uint64_t fill, now = maker_ticks();
    maker->lines[line].emitted++;
    uint64_t *record = maker_reserve(maker, line, 1, now, &fill);
    must(record != NULL, "a chunk");
    record[1] = now - maker_chunk(maker, maker->chunk[line])->base_ticks;
    record[2] = word2;
    record[3] = word3;
    publish(record, FT_RECORD_CALL, 1, call, flags, fill, FT_FD16_NONE);
}

int maker_record(struct maker *maker, uint32_t line, unsigned kind, unsigned call, unsigned flags,
                 const uint64_t *words_from_1, unsigned words)
{
    bool is_event = kind == FT_RECORD_SPAN || kind == FT_RECORD_INSTANT || kind == FT_RECORD_COUNTER;
    uint32_t slots = 1 + words / FT_SLOT_WORDS;
    uint64_t fill;
    maker->lines[line].emitted += is_event;
    uint64_t *record = maker_reserve(maker, line, slots, maker_ticks(), &fill);
    if (!record) {
        maker->lines[line].dropped += is_event;
        return 0;
    }
    memset(record + 1, 0, (size_t)slots * FT_SLOT_BYTES - sizeof(uint64_t));
    memcpy(record + 1, words_from_1, words * sizeof(uint64_t));
    publish(record, kind, slots, call, flags, fill, FT_FD16_NONE);
    return 1;
}

uint64_t maker_end(struct maker *maker, uint32_t line)
{
    uint32_t chunk = maker->chunk[line];
    bool is_new = chunk == UINT32_MAX || maker->slot[line] + FT_RECORD_SLOTS_MAX > FT_CHUNK_SLOTS;
    return is_new ? 0 : maker_ticks() - maker_chunk(maker, chunk)->base_ticks;
}

void maker_vfork(struct maker *maker, uint32_t line, unsigned is_begin, uint32_t pid)
{
    uint64_t fill;
    uint64_t *record = maker_reserve(maker, line, 1, maker_ticks(), &fill);
    must(record != NULL, "a chunk");
    record[1] = pid;
    record[2] = maker_ticks();
    record[3] = 0;
    publish(record, FT_RECORD_VFORK, 1, is_begin, 0, fill, FT_FD16_NONE);
}

int maker_attach(const struct maker *maker, const char *socket_path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", socket_path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    struct ft_attach attach = {
        .magic = FT_ATTACH_MAGIC,
        .kind = FT_MESSAGE_ATTACH,
        .abi_major = FT_RING_ABI_MAJOR,
        .segment_bytes = maker->bytes,
        .pid = (uint32_t)getpid(),
    };
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    struct iovec from = {.iov_base = &attach, .iov_len = sizeof(attach)};
    struct msghdr message = {
        .msg_iov = &from, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    struct cmsghdr *part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(part), &maker->fd, sizeof(int));
    int r = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
                    sendmsg(fd, &message, MSG_NOSIGNAL) == sizeof(attach)
                ? 0
                : -errno;
    close(fd);
    return r;
}
