// SPDX-License-Identifier: MIT
#include "daemon/resting.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "daemon/clock.h"

#define QUIET_LOOKS 8
#define LONG_NS INT64_C(1000000)
#define LONG_LOOKS 8
// Mappings of a process are limited (vm.max_map_count, 65530), and the allocator needs some.
#define MAPPED_MAX 16384

static atomic_uint mapped_count;

void ft_resting_end(struct ft_resting *resting)
{
    if (!resting->lines)
        return;
    munmap((void *)(uintptr_t)resting->lines, FT_PAGE_BYTES);
    resting->lines = NULL;
    atomic_fetch_sub(&mapped_count, 1);
}

static void give_up(struct ft_resting *resting)
{
    ft_resting_end(resting);
    resting->is_given_up = true;
}

void ft_resting_note(struct ft_resting *resting, int fd, uint32_t page, bool has_news)
{
    if (resting->is_given_up || resting->lines)
        return;
    resting->quiet_looks = has_news ? 0 : (uint8_t)(resting->quiet_looks + 1);
    if (resting->quiet_looks < QUIET_LOOKS)
        return;
    resting->quiet_looks = 0;
    if (atomic_fetch_add(&mapped_count, 1) >= MAPPED_MAX) {
        atomic_fetch_sub(&mapped_count, 1);
        return;
    }
    void *lines = mmap(NULL, FT_PAGE_BYTES, PROT_READ, MAP_SHARED, fd, (off_t)page * FT_PAGE_BYTES);
    if (lines == MAP_FAILED) {
        atomic_fetch_sub(&mapped_count, 1);
        resting->is_given_up = true;
        return;
    }
    resting->lines = lines;
}

// Word by word, since the client may write: a word is the old one or a new one.
static bool is_same(const struct ft_line *lines, const struct ft_line *copies, uint32_t count)
{
    const uint64_t *live = (const uint64_t *)lines, *kept = (const uint64_t *)copies;
    uint64_t differ = 0;
    for (size_t i = 0; i < count * (sizeof(*lines) / sizeof(*live)); i++)
        differ |= __atomic_load_n(&live[i], __ATOMIC_RELAXED) ^ kept[i];
    return differ == 0;
}

static bool is_unused(const struct ft_line *line)
{
    return !__atomic_load_n(&line->tid, __ATOMIC_RELAXED) && !__atomic_load_n(&line->emitted, __ATOMIC_RELAXED);
}

// A page that was freed is made anew by looking at it, and where there is no memory for it (vm.overcommit_memory=2) that is
// SIGBUS: then there are zeros in its place, and whoever looks gives the mapping up.
static _Thread_local void *volatile looked_at;

static void on_bus(int number, siginfo_t *info, void *context)
{
    void *page = (void *)((uintptr_t)info->si_addr & ~(uintptr_t)(FT_PAGE_BYTES - 1));
    (void)context;
    if (page == looked_at &&
        mmap(page, FT_PAGE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page)
        looked_at = NULL;
    else
        signal(number, SIG_DFL); // it comes again
}

void ft_resting_init(void)
{
    struct sigaction action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
    sigaction(SIGBUS, &action, NULL);
}

// A busy machine makes a look long, too: that it was one time says nothing.
static void note_time(struct ft_resting *resting, int64_t ns)
{
    resting->long_looks = ns > LONG_NS ? (uint8_t)(resting->long_looks + 1) : 0;
    if (resting->long_looks == LONG_LOOKS)
        give_up(resting);
}

bool ft_resting_is_quiet(struct ft_resting *resting, const struct ft_line *copies, uint32_t used, uint32_t ahead)
{
    if (!resting->lines || used > FT_RESTING_LINES || ahead > FT_RESTING_LINES - used)
        return false;
    int64_t begin_ns = ft_clock_mono_ns();
    looked_at = (void *)(uintptr_t)resting->lines;
    bool is_quiet = is_same(resting->lines, copies, used);
    for (uint32_t i = used; is_quiet && i < used + ahead; i++)
        is_quiet = is_unused(&resting->lines[i]);
    bool was_there = looked_at != NULL;
    looked_at = NULL;
    if (was_there)
        note_time(resting, ft_clock_mono_ns() - begin_ns);
    else
        give_up(resting);
    return is_quiet && was_there;
}
