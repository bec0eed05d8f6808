// SPDX-License-Identifier: MIT
/*
 * Attaching: the segment is made, filled, sent to the daemon, and both descriptors are closed again. No reply is awaited:
 * a process that has ended before the daemon looks is served all the same. Raw system calls only; on any error the
 * process goes on untraced.
 */
#include "client/shim/attach.h"

#include "client/shim/clock.h"
#include "client/shim/fd.h"
#include "client/shim/name.h"
#include "client/shim/settings.h"
#include "proto/control.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

__thread struct ft_thread ft_thread;
struct ft_process ft_process;
union ft_wiped_page ft_wiped_page __attribute__((aligned(FT_PAGE_BYTES)));

enum { SMALL_LINES = 256, CHUNKS_WITHOUT_GROWTH = 64 };
#define SMALL_SEGMENT_BYTES (UINT64_C(1) << 20)
#define SMALL_ADDRESS_SPACE (UINT64_C(1) << 30)

/* Address and size of the geometry, from what there is room for. */
static void choose_geometry(void)
{
    struct rlimit space = {RLIM_INFINITY, RLIM_INFINITY};
    ft_sys(SYS_prlimit64, 0, RLIMIT_AS, 0, &space);
    int is_small = space.rlim_cur < SMALL_ADDRESS_SPACE;
    struct ft_process *p = &ft_process;
    p->lines_max = is_small ? SMALL_LINES : FT_LINES_MAX;
    p->totals_page = 1;
    p->hello_page = 2;
    p->totals_more_page = p->hello_page + FT_HELLO_PAGES;
    p->lines_page = p->totals_more_page + FT_TOTALS_COPIES - 1;
    p->pool_page = p->lines_page + p->lines_max / (FT_PAGE_BYTES / FT_LINE_BYTES);
    uint32_t most = (uint32_t)(SMALL_SEGMENT_BYTES / FT_PAGE_BYTES) - p->pool_page;
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

struct range {
    uint32_t page, pages;
};

/*
 * Memory for what is used from the start, by the descriptor while there is one: then a first touch finds its page and
 * cannot fail, and pages that a short process does not reach cost no more. Where the kernel has no MADV_POPULATE_WRITE
 * there is no growth later, so more chunks are taken.
 */
static long take_memory(int fd)
{
    const struct ft_process *p = &ft_process;
    int can_grow = ft_sys(SYS_madvise, ft_head(), FT_PAGE_BYTES, FT_MADV_POPULATE_WRITE) == 0;
    uint32_t chunks = can_grow ? FT_CHUNKS_AT_ATTACH : CHUNKS_WITHOUT_GROWTH;
    if (chunks > p->chunks_max)
        chunks = p->chunks_max;
    const struct range ranges[] = {{0, p->hello_page + 1}, {p->lines_page, 1}, {p->pool_page, chunks}};
    for (int i = 0; i < 3; i++) {
        long error = ft_sys(SYS_fallocate, fd, 0, (uint64_t)ranges[i].page * FT_PAGE_BYTES,
                            (uint64_t)ranges[i].pages * FT_PAGE_BYTES);
        if (error != 0)
            return error;
    }
    ft_process.chunks_high = chunks;
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
    head->hello_page = p->hello_page;
    head->hello_pages = FT_HELLO_PAGES;
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

/* Connected to a listener that is root's or our own user's; else -errno. */
static int connect_socket(void)
{
    long fd = ft_sys(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return (int)fd;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t n = ft_length(ft_socket_path);
    ft_copy(address.sun_path, ft_socket_path, n + 1);
    long error = ft_sys(SYS_connect, fd, &address, offsetof(struct sockaddr_un, sun_path) + n + 1);
    struct ucred peer = {0};
    unsigned length = sizeof(peer);
    if (error == 0)
        error = ft_sys(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &length);
    if (error == 0 && peer.uid != 0 && peer.uid != (uid_t)ft_sys(SYS_geteuid))
        error = -EPERM;
    if (error == 0)
        return (int)fd;
    ft_sys(SYS_close, fd);
    return (int)error;
}

static long send_segment(int socket, int memfd)
{
    struct ft_attach attach = {
        .magic = FT_ATTACH_MAGIC,
        .kind = FT_MESSAGE_ATTACH,
        .abi_major = FT_RING_ABI_MAJOR,
        .abi_minor = FT_RING_ABI_MINOR,
        .segment_bytes = ft_process.bytes,
        .pid = ft_process.pid,
    };
    struct iovec data = {&attach, sizeof(attach)};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct msghdr message = {
        .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control.bytes)};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    *(int *)(void *)CMSG_DATA(rights) = memfd;
    return ft_sys(SYS_sendmsg, socket, &message, MSG_NOSIGNAL);
}

/* One soft limit raised for the time of attaching. */
struct raised {
    int resource, is_raised;
    struct rlimit before;
};

static void raise_limit(struct raised *raised, int resource, uint64_t least)
{
    raised->resource = resource;
    if (raised->is_raised || ft_sys(SYS_prlimit64, 0, resource, 0, &raised->before) != 0)
        return;
    if (raised->before.rlim_cur >= least)
        return;
    struct rlimit more = raised->before;
    more.rlim_cur = least < more.rlim_max ? least : more.rlim_max;
    raised->is_raised = more.rlim_cur > raised->before.rlim_cur && ft_sys(SYS_prlimit64, 0, resource, &more, 0) == 0;
}

static void put_back_limit(const struct raised *raised)
{
    if (raised->is_raised)
        ft_sys(SYS_prlimit64, 0, raised->resource, &raised->before, 0);
}

/* Connects and sends; the limits that an unprivileged sender can run into are raised for that time. */
static long hand_over(int memfd, struct raised *files)
{
    int socket = connect_socket();
    if (socket == -EMFILE) {
        raise_limit(files, RLIMIT_NOFILE, UINT32_MAX);
        socket = connect_socket();
    }
    if (socket < 0)
        return socket;
    long error = send_segment(socket, memfd);
    if (error == -ETOOMANYREFS) {
        raise_limit(files, RLIMIT_NOFILE, UINT32_MAX);
        error = send_segment(socket, memfd);
    }
    ft_sys(SYS_close, socket);
    return error < 0 ? error : 0;
}

/*
 * Maps the memfd, fills it and hands it over. A forked child maps it over its parent's segment: pointers into it stay
 * good, and the parent's is out of reach. What the child takes of its parent's Hello goes through the descriptor first.
 */
static long deliver(int memfd, enum ft_image image, struct raised *files)
{
    uint64_t place = image == FT_IMAGE_EXEC ? 0 : ft_process.base;
    if (place != 0) {
        long error = ft_hello_inherit(memfd);
        if (error != 0)
            return error;
    }
    long base = ft_sys(SYS_mmap, place, ft_process.bytes, PROT_READ | PROT_WRITE,
                       MAP_SHARED | (place != 0 ? MAP_FIXED : 0), memfd, 0);
    if (base < 0 && base > -4096)
        return base;
    ft_sys(SYS_madvise, base, ft_process.bytes, FT_MADV_DONTDUMP);
    ft_process.base = (uint64_t)base;
    long error = take_memory(memfd);
    if (error == 0) {
        fill_head();
        ft_hello_fill(image);
        /* Release: whoever sees `ready` sees Hello and geometry. */
        __atomic_store_n(&ft_head()->ready, 1, __ATOMIC_RELEASE);
        error = hand_over(memfd, files);
    }
    if (error != 0 && place == 0) {
        ft_sys(SYS_munmap, base, ft_process.bytes);
        ft_process.base = 0;
    }
    return error;
}

static long make_segment(enum ft_image image)
{
    struct raised files = {0}, size = {0};
    ft_process.pid = (uint32_t)ft_sys(SYS_getpid);
    if (image == FT_IMAGE_EXEC) {
        choose_geometry();
        ft_clock_init();
    } else {
        ft_process.pair_ticks = ft_process.clock == FT_CLOCK_TICKS ? ft_ticks() : (uint64_t)ft_clock_mono_ns();
        ft_process.pair_mono_ns = ft_clock_mono_ns();
    }
    raise_limit(&size, RLIMIT_FSIZE, ft_process.bytes); /* else ftruncate would send SIGXFSZ */
    if (size.before.rlim_cur < ft_process.bytes && !size.is_raised)
        return -EFBIG;
    int memfd = make_memfd();
    if (memfd == -EMFILE) {
        raise_limit(&files, RLIMIT_NOFILE, UINT32_MAX);
        memfd = make_memfd();
    }
    long error = memfd < 0 ? memfd : deliver(memfd, image, &files);
    if (memfd >= 0)
        ft_sys(SYS_close, memfd);
    put_back_limit(&size);
    put_back_limit(&files);
    return error;
}

void ft_turn_off(void)
{
    ft_process.wanted = 0;
    ft_wiped.base = 0;
    __atomic_store_n(&ft_wiped.attach, FT_ATTACH_OFF, __ATOMIC_RELEASE);
    ft_thread.mode = FT_MODE_OFF;
}

static int attach_process(enum ft_image image)
{
    ft_process.image = image;
    ft_process.lines_used = 1;
    ft_process.next_id = FT_FILE_FIRST;
    long error = make_segment(image);
    if (error != 0) {
        ft_debug_say("not attached, errno", -error);
        ft_turn_off();
        return 0;
    }
    ft_sys(SYS_madvise, &ft_wiped_page, FT_PAGE_BYTES, FT_MADV_WIPEONFORK);
    __atomic_store_n(&ft_wiped.base, ft_process.base, __ATOMIC_RELEASE);
    __atomic_store_n(&ft_wiped.attach, FT_ATTACH_DONE, __ATOMIC_RELEASE);
    return 1;
}

/* A new thread of an attached process. */
static int start_thread(void)
{
    struct ft_thread *thread = &ft_thread;
    int error = ft_thread_start();
    if (error != 0) { /* more threads than lines: counted where all of them can */
        struct ft_line *shared = ft_page(ft_process.lines_page);
        __atomic_fetch_add(&shared->emitted, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&shared->dropped_limit, 1, __ATOMIC_RELAXED);
        return 0;
    }
    thread->why = 0;
    if (ft_process.coarse)
        thread->why |= FT_WHY_COARSE;
    if (ft_process.clock != FT_CLOCK_TICKS)
        thread->why |= FT_WHY_CLOCK;
    thread->mode = thread->why != 0 ? FT_MODE_SLOW : FT_MODE_ON;
    return 1;
}

int ft_attach(enum ft_image image)
{
    uint32_t expected = FT_ATTACH_NONE;
    if (!__atomic_compare_exchange_n(&ft_wiped.attach, &expected, FT_ATTACH_BUSY, 0, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
        if (expected == FT_ATTACH_OFF)
            ft_thread.mode = FT_MODE_OFF;
        return expected == FT_ATTACH_DONE ? start_thread() : 0;
    }
    /* Handlers wait until it is done, so that their calls are recorded too. */
    uint64_t all = ~UINT64_C(0), before = 0;
    ft_sys(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
    int is_attached = attach_process(image) && start_thread();
    ft_sys(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, sizeof(before));
    return is_attached;
}

static void forget_parent(void)
{
    struct ft_process *p = &ft_process;
    ft_wiped.base = 0;
    ft_wiped.attach = FT_ATTACH_NONE;
    p->ordinal = 0;
    p->cwd_file = 0;
    p->lines_hand = 0;
    p->no_growth = 0;
    p->growth_retry_ticks = 0;
    p->fork_count++;
    ft_fd_forget_all();
    ft_name_reset();
    ft_thread = (struct ft_thread){.mode = FT_MODE_NEW};
}

void ft_attach_child(enum ft_image image)
{
    if (!ft_process.wanted || ft_wiped.base != 0)
        return;
    if (ft_process.sandboxed) {
        ft_turn_off(); /* no system call may be made here; the parent has counted the gap */
        return;
    }
    forget_parent();
    ft_attach(image);
}

/* A child whose making nobody saw may have threads by now; then it is too late to open descriptors unnoticed. */
static int has_one_thread(void)
{
    struct statx st;
    if (ft_process.sandboxed)
        return 0;
    if (ft_sys(SYS_statx, FT_AT_FDCWD, "/proc/self/task", 0, STATX_NLINK, &st) != 0)
        return 0;
    return st.stx_nlink == 3;
}

static int attach_late(void)
{
    if (!ft_process.decided) {
        ft_process.decided = 1;
        ft_settings_decide();
    }
    if (!ft_process.wanted) {
        ft_thread.mode = FT_MODE_OFF;
        return 0;
    }
    if (ft_process.base == 0)
        return ft_attach(FT_IMAGE_EXEC);
    if (__atomic_load_n(&ft_wiped.attach, __ATOMIC_ACQUIRE) == FT_ATTACH_BUSY)
        return 0;
    if (!has_one_thread()) {
        ft_turn_off();
        return 0;
    }
    forget_parent();
    return ft_attach(FT_IMAGE_RAW_FORK);
}

int ft_enter_slow(void)
{
    struct ft_thread *thread = &ft_thread;
    if (ft_wiped.base == 0)
        return attach_late();
    if (thread->mode == FT_MODE_NEW)
        return start_thread();
    if (thread->mode == FT_MODE_OFF)
        return 0;
    if (thread->vfork_depth != 0 && !thread->vfork_announced)
        ft_vfork_announce();
    if ((thread->why & FT_WHY_SHARED) && (uint32_t)ft_sys(SYS_gettid) != thread->tid)
        return 0;
    return 1;
}

void ft_gap(enum ft_shim_gap gap)
{
    if (ft_wiped.base != 0)
        __atomic_fetch_add(&ft_hello()->gap_count[gap], 1, __ATOMIC_RELAXED);
}
