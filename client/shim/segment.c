// SPDX-License-Identifier: MIT
/* Making a segment: the memfd, its memory, its head. */
#include "client/shim/attach.h"

#include "client/shim/clock.h"
#include "client/shim/handover.h"

#include <errno.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { SMALL_LINES = 256, CHUNKS_WITHOUT_GROWTH = 64, LINE_PAGES_WITHOUT_GROWTH = 4 };

/* Address and size of the geometry, from what there is room for. */
static void choose_geometry(void)
{
    struct rlimit space = {RLIM_INFINITY, RLIM_INFINITY};
    ft_sys(SYS_prlimit64, 0, RLIMIT_AS, 0, &space);
    int is_small = space.rlim_cur < FT_ADDRESS_SPACE_SMALL;
    struct ft_process *p = &ft_process;
    p->lines_max = is_small ? SMALL_LINES : FT_LINES_MAX;
    p->totals_page = 1;
    p->hello_page = FT_HELLO_FIRST_PAGE;
    p->lines_page = FT_HELLO_FIRST_PAGE + 1; /* so what each process uses from the start lies together */
    p->totals_more_page = p->lines_page + p->lines_max / (FT_PAGE_BYTES / FT_LINE_BYTES) + FT_HELLO_PAGES;
    p->pool_page = p->totals_more_page + FT_TOTALS_COPIES - 1;
    uint32_t most = (uint32_t)(FT_SEGMENT_BYTES_SMALL / FT_PAGE_BYTES) - p->pool_page;
    if (is_small && p->chunks_max > most)
        p->chunks_max = most;
    p->bytes = (uint64_t)(p->pool_page + p->chunks_max) * FT_PAGE_BYTES;
    p->chunks_by_shim = p->chunks_max < FT_CHUNKS_BY_SHIM ? p->chunks_max : FT_CHUNKS_BY_SHIM;
}

static int make_memfd(void)
{
    long fd = ft_sys(SYS_memfd_create, "flowtap", FT_MFD_CLOEXEC | FT_MFD_ALLOW_SEALING | FT_MFD_NOEXEC_SEAL);
    if (fd == -EINVAL)
        fd = ft_sys(SYS_memfd_create, "flowtap", FT_MFD_CLOEXEC | FT_MFD_ALLOW_SEALING);
    if (fd < 0)
        return (int)fd;
    /* Sealed against shrinking first: a descriptor that another thread made something else fails here, unharmed. */
    long error = ft_sys(SYS_fcntl, fd, FT_F_ADD_SEALS, FT_SEAL_SHRINK);
    if (error == 0)
        error = ft_sys(SYS_ftruncate, fd, ft_process.bytes);
    if (error == 0)
        error = ft_sys(SYS_fcntl, fd, FT_F_ADD_SEALS, FT_SEAL_GROW | FT_SEAL_SEAL);
    if (error == 0)
        return (int)fd;
    ft_sys(SYS_close, fd);
    return (int)error;
}

extern const char __ehdr_start[]
    __attribute__((visibility("hidden"))); /* the linker's: this library, as it is mapped */

/*
 * The first pages are written, with whatever is at hand, and cleared where they are mapped. Memory that fallocate takes is not
 * ready: each page is a fault then, which clears it. Of what was written one fault maps all. MADV_POPULATE_WRITE goes
 * through a fault for each page, too, and costs most.
 */
static long write_pages(int fd, uint32_t pages)
{
    long bytes = (long)pages * FT_PAGE_BYTES;
    long written = ft_sys(SYS_pwrite64, fd, __ehdr_start, bytes, 0);
    if (written != bytes)
        return written < 0 ? written : -ENOSPC;
    (void)*(volatile uint64_t *)ft_head(); /* a read maps the pages behind it too, a write but one */
    ft_clear(ft_head(), (size_t)bytes);
    return 0;
}

/*
 * Memory for what is used from the start. Chunks by fallocate: then a first touch finds its page and cannot fail, and one
 * that a short process does not reach costs no more. Where the kernel has no MADV_POPULATE_WRITE there is no growth later,
 * so more is taken.
 */
static long take_memory(int fd)
{
    const struct ft_process *p = &ft_process;
    int can_grow = ft_sys(SYS_madvise, ft_head(), 0, FT_MADV_POPULATE_WRITE) == 0; /* of nothing: only asks */
    uint32_t chunks = can_grow ? FT_CHUNKS_AT_ATTACH : CHUNKS_WITHOUT_GROWTH;
    if (chunks > p->chunks_max)
        chunks = p->chunks_max;
    uint32_t line_pages = can_grow ? 1 : LINE_PAGES_WITHOUT_GROWTH;
    long error = write_pages(fd, p->lines_page + line_pages);
    if (error == 0)
        error = ft_sys(SYS_fallocate, fd, 0, (uint64_t)p->pool_page * FT_PAGE_BYTES, (uint64_t)chunks * FT_PAGE_BYTES);
    if (error != 0)
        return error;
    ft_process.chunks_high = chunks;
    ft_thread_attached(line_pages * (FT_PAGE_BYTES / FT_LINE_BYTES));
    ft_process.totals_ready = 1;
    return 0;
}

static void fill_head(void)
{
    static uint32_t attaches;
    struct ft_process *p = &ft_process;
    struct ft_head *head = ft_head();
    p->parent_id[0] = p->segment_id[0];
    p->parent_id[1] = p->segment_id[1];
    p->segment_id[0] = ft_process.pair_ticks;
    if (p->coarse) /* two images of a process may have the same time */
        p->segment_id[0] ^= *(const uint64_t *)(uintptr_t)getauxval(AT_RANDOM);
    p->segment_id[1] = (uint64_t)p->pid << 32 | ++attaches;
    head->magic = FT_RING_MAGIC;
    head->abi_major = FT_RING_ABI_MAJOR;
    head->abi_minor = FT_RING_ABI_MINOR;
    head->segment_bytes = p->bytes;
    head->page_bytes = FT_PAGE_BYTES;
    head->pid = p->pid;
    head->segment_id[0] = p->segment_id[0];
    head->segment_id[1] = p->segment_id[1];
    head->totals_page = p->totals_page;
    head->totals_more_page = p->totals_more_page;
    head->lines_page = p->lines_page;
    head->lines_max = p->lines_max;
    head->pool_page = p->pool_page;
    head->chunks_max = p->chunks_max;
    head->lines_used = 1;
    head->chunks_ready = p->chunks_high;
    head->totals_copies = 1;
    head->settings_ignored = p->settings_ignored;
    for (uint32_t i = 0; i < p->chunks_high; i++)
        head->chunk_state[i] = FT_CHUNK_FREE;
}

void ft_segment_leave(uint64_t base)
{
    ft_sys(SYS_mmap, base, ft_process.bytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

/*
 * Where the segment lies. A forked child maps it over its parent's: pointers into it stay good, and the parent's is out of
 * reach. But what would go on with a record that its parent began must not find it: memory of nobody takes its place.
 */
static long map(int memfd)
{
    struct ft_process *p = &ft_process;
    uint64_t parents = p->has_parents ? p->base : 0;
    uint64_t place = p->is_interrupted ? 0 : parents;
    long base =
        ft_sys(SYS_mmap, place, p->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | (place != 0 ? MAP_FIXED : 0), memfd, 0);
    if (base < 0 && base > -4096)
        return base;
    if (parents != 0 && place == 0)
        ft_segment_leave(parents);
    ft_sys(SYS_madvise, base, p->bytes, FT_MADV_DONTDUMP);
    p->base = (uint64_t)base;
    p->has_parents = 0;
    return 0;
}

/* Maps the memfd, fills it and hands it over. What a child reads in its parent's Hello goes through the descriptor first. */
static long deliver(int memfd, int socket, enum ft_image image, struct ft_raised *files)
{
    FT_TEST_POINT(memfd_made);
    long error = ft_process.has_parents ? ft_hello_inherit(memfd) : 0;
    if (error == 0)
        error = map(memfd);
    if (error != 0)
        return error;
    error = take_memory(memfd);
    if (error == 0) {
        FT_TEST_POINT(memory_taken);
        fill_head();
        ft_hello_fill(image);
        FT_TEST_POINT(head_filled);
        /* Release: whoever sees `ready` sees Hello and geometry. */
        __atomic_store_n(&ft_head()->ready, 1, __ATOMIC_RELEASE);
        FT_TEST_POINT(ready);
        error = ft_hand_over(socket, memfd, image, files);
    }
    if (error != 0 && image == FT_IMAGE_EXEC) {
        ft_sys(SYS_munmap, ft_process.base, ft_process.bytes);
        ft_process.base = 0;
    }
    return error;
}

long ft_segment_make(enum ft_image image)
{
    struct ft_raised files = {0}, size = {0};
    ft_process.pid = (uint32_t)ft_sys(SYS_getpid);
    if (image == FT_IMAGE_EXEC)
        choose_geometry();
    ft_clock_pair(image);
    ft_raise_limit(&size, RLIMIT_FSIZE, ft_process.bytes); /* else ftruncate would send SIGXFSZ */
    if (size.before.rlim_cur < ft_process.bytes && !size.is_raised)
        return -EFBIG;
    int memfd = make_memfd();
    if (memfd == -EMFILE) {
        ft_raise_limit(&files, RLIMIT_NOFILE, UINT32_MAX);
        memfd = make_memfd();
    }
    /* Both descriptors before anything else: a forked child that cannot have them leaves all as it was. */
    long socket = memfd < 0 ? memfd : ft_make_socket();
    if (socket == -EMFILE) {
        ft_raise_limit(&files, RLIMIT_NOFILE, UINT32_MAX);
        socket = memfd < 0 ? memfd : ft_make_socket();
    }
    long error = socket < 0 ? socket : deliver(memfd, (int)socket, image, &files);
    if (socket >= 0)
        ft_sys(SYS_close, socket);
    if (memfd >= 0)
        ft_sys(SYS_close, memfd);
    ft_put_back_limit(&size);
    ft_put_back_limit(&files);
    return error;
}
