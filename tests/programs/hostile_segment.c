// SPDX-License-Identifier: MIT
// CFLAGS: -Wno-missing-field-initializers
// Segments that contradict themselves, and segments that change while the daemon reads them. See hostile.h.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>

#include "hostile.h"

static void geometry(void)
{
    static const uint32_t values[] = {0, 1, 2, 21, 22, 4095, 4097, 65536, INT32_MAX, UINT32_MAX};
    for (size_t word = offsetof(struct ft_head, totals_page); word < offsetof(struct ft_head, lines_used); word += 4)
        for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
            struct maker maker;
            fill(&maker);
            memcpy((uint8_t *)maker.map + word, &values[i], 4);
            offer(maker.fd, maker.bytes);
            maker_fini(&maker);
        }
}

static void live_words(void)
{
    for (size_t word = offsetof(struct ft_head, lines_used); word < offsetof(struct ft_head, chunk_state); word += 4) {
        struct maker maker;
        fill(&maker);
        memset((uint8_t *)maker.map + word, 0xff, 4);
        offer(maker.fd, maker.bytes);
        maker_fini(&maker);
    }
}

static void lines_that_lie(void)
{
    struct maker maker;
    fill(&maker);
    maker.head->lines_used = MAKER_LINES;
    maker.head->totals_copies = FT_TOTALS_COPIES;
    for (uint32_t i = 0; i < MAKER_LINES; i++) {
        maker.lines[i].emitted = i % 2 ? UINT64_MAX - i : i;
        maker.lines[i].dropped = i % 3 ? UINT64_MAX / 2 + i : 0;
        maker.lines[i].call = i * 77;
        maker.lines[i].call_start = UINT64_MAX - i;
        maker.lines[i].dropped_limit = UINT32_MAX;
        maker.lines[i].tid = i % 2 ? 1 : UINT32_MAX;
    }
    struct ft_total *totals = (void *)(maker.map + FT_PAGE_BYTES);
    for (uint32_t i = 0; i < FT_TOTALS_ROWS; i++)
        totals[i] = (struct ft_total){.call = i * 9, .count = UINT64_MAX, .bytes = UINT64_MAX - 1, .ticks = UINT64_MAX};
    offer(maker.fd, maker.bytes);
    maker_fini(&maker);
}

static void hello_items(void)
{
    static const uint32_t lengths[] = {0,         1, 3, 7, 65535, 65536 - 256, 65536 - 255, INT32_MAX, UINT32_MAX - 7,
                                       UINT32_MAX};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
        for (uint16_t type = 0; type < 7; type++) {
            struct maker maker;
            fill(&maker);
            maker_hello_item(&maker, type, "xxxxxxxx", 8);
            struct ft_hello_item_head head = {.type = type, .bytes = lengths[i]};
            memcpy((uint8_t *)(maker.hello + 1) + 16, &head, sizeof(head));
            if (i % 2)
                maker.hello->items_bytes = lengths[i];
            offer(maker.fd, maker.bytes);
            maker_fini(&maker);
        }
}

// Names of jobs that are paths, ids of others, and a cgroup that is somebody else's.
static void claims(void)
{
    static const char *const settings[] = {
        "FLOWTAP_JOB=../../../../etc/flowtap",
        "FLOWTAP_JOB=/etc",
        "FLOWTAP_JOB=..",
        "FLOWTAP_JOB=.",
        "FLOWTAP_JOB=a\nb",
        "FLOWTAP_JOB=\xff\xfe",
        "SLURM_JOB_ID=1\0SLURM_PROCID=99999999999999999999",
        "PBS_JOBID=-1",
        "FLOWTAP_TAGS====,,,=,a=",
        "FLOWTAP_JOB=",
    };
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        struct maker maker;
        fill(&maker);
        maker_hello_item(&maker, FT_HELLO_ENV, settings[i], (uint32_t)strlen(settings[i]) + 1);
        maker_hello_item(&maker, FT_HELLO_CGROUP, "0::/system.slice/slurmstepd.scope/job_1/step_0\n", 47);
        maker.hello->pid = maker.head->pid = 1;
        maker.hello->ppid = 1;
        maker.hello->start_time = UINT64_MAX;
        maker.hello->attach_ticks = i % 2 ? UINT64_MAX : 0;
        maker.hello->attach_mono_ns = i % 3 ? INT64_MAX : INT64_MIN;
        offer(maker.fd, maker.bytes);
        maker_fini(&maker);
    }
}

static void records_of_every_kind(void)
{
    for (unsigned kind = 0; kind < 16; kind++)
        for (unsigned slots = 1; slots <= FT_RECORD_SLOTS_MAX; slots += 5) {
            struct maker maker;
            fill(&maker);
            uint64_t fill_number, *record = maker_reserve(&maker, 0, slots, maker_ticks(), &fill_number);
            memset(record + 1, 0xff, slots * FT_SLOT_BYTES - 8);
            maker.lines[0].emitted++;
            record[0] = FT_W0(kind, slots, 1023, 8191, fill_number, 1000);
            offer(maker.fd, maker.bytes);
            maker_fini(&maker);
        }
}

static void chunk_heads(void)
{
    for (size_t word = 0; word < FT_CHUNK_HEAD_BYTES; word += 4)
        for (unsigned byte = 1; byte < 256; byte += 127) {
            struct maker maker;
            fill(&maker);
            memset((uint8_t *)maker_chunk(&maker, 0) + word, (int)byte, 4);
            offer(maker.fd, maker.bytes);
            maker_fini(&maker);
        }
}

// Names without end, bases in a circle, tags and threads without end: more than any program has.
static void growth(void)
{
    struct maker maker;
    fill(&maker);
    offer(maker.fd, maker.bytes);
    for (uint32_t id = 16; id < 60000; id++) {
        char name[64];
        snprintf(name, sizeof(name), "key%u=value/%u/%u", id, id * 7919u, id);
        maker_define(&maker, id % 4, id, id % 2 ? id + 1 : id - 1, 1 + id % 4, name);
        maker_call(&maker, id % 4, FT_CALL_ID_pread64, id, 1, id, maker_ticks(), 1);
        uint64_t number, *record = maker_reserve(&maker, id % 4, 1, maker_ticks(), &number);
        if (record == NULL)
            continue;
        record[1] = id | (uint64_t)id << 32;
        record[2] = id;
        record[0] = FT_W0(id % 2 ? FT_RECORD_TAGS : FT_RECORD_THREAD, 1, 0, 0, number, FT_FD16_NONE);
    }
    maker_fini(&maker);
}

// Wants a larger ring.
static void press(struct maker *maker)
{
    maker_call(maker, 0, FT_CALL_ID_pread64, FT_FILE_CWD, 1, 0, maker_ticks(), 1);
    __atomic_fetch_add(&maker->head->chunks_wanted, 1, __ATOMIC_RELAXED);
}

static uint64_t given_to(const struct maker *maker)
{
    uint32_t to = __atomic_load_n(&maker->head->chunks_granted, __ATOMIC_RELAXED);
    return to > FT_CHUNKS_BY_SHIM ? (uint64_t)(to - FT_CHUNKS_BY_SHIM) * FT_CHUNK_BYTES : 0;
}

// What there is of it: all the memory that is taken but what we wrote to ourselves. What nobody has written to is no data yet.
static uint64_t kept_by(const struct maker *maker)
{
    struct stat status;
    off_t end = (off_t)maker->bytes - (off_t)(MAKER_CHUNKS - FT_CHUNKS_BY_SHIM) * FT_CHUNK_BYTES, own = 0, hole = 0,
          data;
    if (fstat(maker->fd, &status) != 0)
        abort();
    while ((data = lseek(maker->fd, hole, SEEK_DATA)) >= 0 && data < end) {
        hole = lseek(maker->fd, data, SEEK_HOLE);
        own += (hole < end ? hole : end) - data;
    }
    return (uint64_t)status.st_blocks * 512 - (uint64_t)own;
}

// Prints what the daemon gave them in all, and what there is of it. It goes from an older to a newer one, so the newest is asked first.
static void tell_and_end(struct maker *makers, int count)
{
    uint64_t given = 0, kept = 0;
    for (int i = count - 1; i >= 0; i--) {
        kept += kept_by(&makers[i]);
        given += given_to(&makers[i]);
    }
    for (int i = 0; i < count; i++)
        maker_fini(&makers[i]);
    printf("%llu %llu\n", (unsigned long long)given, (unsigned long long)kept);
}

enum { SEGMENTS = 6 };

// Rings that are never large enough, until nobody writes to our stdin any more.
static void rings_without_end(void)
{
    enum { ROUNDS_LEAST = 200 };
    struct maker makers[SEGMENTS];
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    for (int i = 0; i < SEGMENTS; i++) {
        fill(&makers[i]);
        offer(makers[i].fd, makers[i].bytes);
    }
    for (int round = 0; round < ROUNDS_LEAST || poll(&input, 1, 1) == 0; round++)
        for (int i = 0; i < SEGMENTS; i++)
            press(&makers[i]);
    tell_and_end(makers, SEGMENTS);
}

// Each is of an image that replaces the one before, once that was given something, and all are kept.
static void rings_in_turn(void)
{
    enum { ROUNDS_MOST = 10000 };
    struct maker makers[SEGMENTS];
    for (int i = 0; i < SEGMENTS; i++) {
        fill(&makers[i]);
        offer(makers[i].fd, makers[i].bytes);
        for (int round = 0; round < ROUNDS_MOST && given_to(&makers[i]) == 0; round++) {
            press(&makers[i]);
            poll(NULL, 0, 1);
        }
    }
    tell_and_end(makers, SEGMENTS);
}

static struct timespec deadline;

static int is_over(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec > deadline.tv_sec || (now.tv_sec == deadline.tv_sec && now.tv_nsec >= deadline.tv_nsec);
}

static void *scribble(void *given)
{
    struct maker *maker = given;
    uint64_t state = 88172645463325252u + (uintptr_t)pthread_self();
    size_t words = maker->bytes / 8, pool = 22 * FT_PAGE_BYTES / 8;
    while (!is_over())
        for (int i = 0; i < 4096; i++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            // Head and first chunks more often than what is far out.
            size_t word = i % 4 == 0 ? state % 512 : i % 4 == 1 ? state % words : pool + state % (16 * 512);
            uint64_t value = i % 3 ? state * UINT64_C(0x9e3779b97f4a7c15) : state & 0x0303030303030303u;
            __atomic_store_n((uint64_t *)(void *)maker->map + word, value, __ATOMIC_RELAXED);
        }
    return NULL;
}

// Two threads write anything anywhere while the daemon reads, for a second and a half; the fixed head is put back.
static void scribbled_while_read(void)
{
    enum { SEGMENTS = 4 };
    static struct maker makers[SEGMENTS];
    pthread_t threads[SEGMENTS];
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += 1;
    deadline.tv_nsec += 500000000;
    deadline.tv_sec += deadline.tv_nsec / 1000000000;
    deadline.tv_nsec %= 1000000000;
    for (int i = 0; i < SEGMENTS; i++) {
        fill(&makers[i]);
        offer(makers[i].fd, makers[i].bytes);
        pthread_create(&threads[i], NULL, scribble, &makers[i]);
    }
    for (int i = 0; i < SEGMENTS; i++)
        pthread_join(threads[i], NULL);
}

static const struct hostile_case cases[] = {
    CASE(geometry),
    CASE(live_words),
    CASE(lines_that_lie),
    CASE(hello_items),
    CASE(claims),
    CASE(records_of_every_kind),
    CASE(chunk_heads),
    CASE(growth),
    CASE(rings_without_end),
    CASE(rings_in_turn),
    CASE(scribbled_while_read),
};

int main(int argc, char **argv)
{
    return hostile_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
