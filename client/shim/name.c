// SPDX-License-Identifier: MIT
#include "client/shim/name.h"

#include "client/shim/glob.h"
#include "client/shim/holder.h"
#include "client/shim/root.h"
#include "proto/birth.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/stat.h>
#include <sys/prctl.h>
#include <sys/stat.h>

enum { PART_BYTES = (FT_RECORD_SLOTS_MAX - 1) * FT_SLOT_BYTES - 16, SMALL_SCRATCH = 256, VFORK_SCRATCH = 1024 };

/*
 * Pages for reading names into; who does not get one makes do with a little of the stack. One that seems to be left
 * (holder.h) is taken over.
 */
enum { SCRATCH_PAGES = 4 };
static struct scratch {
    uint64_t holder; /* 0: free */
    char *page;
} scratch[SCRATCH_PAGES];

static struct scratch *scratch_get(const void *frame)
{
    uint64_t asking = ft_holder_of(frame);
    for (int i = 0; i < 2 * SCRATCH_PAGES; i++) {
        struct scratch *one = &scratch[i % SCRATCH_PAGES];
        uint64_t holder = __atomic_load_n(&one->holder, __ATOMIC_RELAXED);
        if (holder != 0 && !ft_holder_has_left(holder, asking, i >= SCRATCH_PAGES))
            continue;
        if (!__atomic_compare_exchange_n(&one->holder, &holder, asking, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            continue;
        if (one->page == NULL)
            one->page = ft_arena_page();
        if (one->page != NULL)
            return one;
        __atomic_store_n(&one->holder, 0, __ATOMIC_RELEASE);
        return NULL;
    }
    return NULL;
}

/* 1: what was read into it was not overwritten. */
static int scratch_put(struct scratch *taken, const void *frame)
{
    uint64_t holder = ft_holder_of(frame);
    return taken == NULL ||
           __atomic_compare_exchange_n(&taken->holder, &holder, 0, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/* A child forked while another thread held one finds it free again. */
void ft_name_reset(void)
{
    for (int i = 0; i < SCRATCH_PAGES; i++)
        scratch[i].holder = 0;
}

struct definition {
    uint32_t id, base;
    enum ft_define type;
    unsigned flags;
    const char *bytes;
    size_t n;
    const char *before; /* before_n bytes of the n stand here: the root directory's name */
    size_t before_n;
    const struct ft_inode *inode;
};

static void put_root_before(struct definition *d)
{
    d->before_n = ft_root_before(d->bytes, d->n, &d->before);
    d->n += d->before_n;
}

static void copy_part(char *to, const struct definition *d, size_t from, size_t part)
{
    if (from < d->before_n) {
        size_t here = d->before_n - from < part ? d->before_n - from : part;
        ft_copy(to, d->before + from, here);
        to += here;
        from += here;
        part -= here;
    }
    ft_copy(to, d->bytes + (from - d->before_n), part);
}

/* Writes one part; 0 where no slot was to be had. */
static int define_part(struct ft_writer *writer, const struct definition *d, size_t from, size_t part)
{
    int with_inode = d->inode != NULL && d->inode->inode != 0;
    size_t bytes = part + (with_inode ? 16 : 0);
    uint32_t slots = (uint32_t)(1 + (bytes + FT_SLOT_BYTES - 1) / FT_SLOT_BYTES);
    struct ft_chunk_head *chunk;
    uint64_t *word = ft_ring_reserve(writer, slots, ft_now(), &chunk);
    if (word == NULL)
        return 0;
    FT_TEST_POINT(name_reserved);
    word[1] = (uint64_t)d->id | (uint64_t)d->base << 32;
    word[2] = (uint64_t)d->n | (uint64_t)from << 16 | (uint64_t)part << 32 | (uint64_t)d->type << 48 |
              (uint64_t)(d->flags | (with_inode ? FT_DEFINE_INODE | (d->inode->is_exact ? FT_DEFINE_EXACT : 0u) : 0u))
                  << 56;
    word[3] = d->inode != NULL ? d->inode->kind | d->inode->birth << 8 : 0;
    uint64_t *next = word + FT_SLOT_WORDS;
    if (with_inode) {
        next[0] = d->inode->device;
        next[1] = d->inode->inode;
        next += 2;
    }
    copy_part((char *)next, d, from, part);
    FT_TEST_POINT(name_written);
    /* Release: partner is the reader's second look at the chunk. */
    __atomic_store_n(&word[0], FT_W0(FT_RECORD_DEFINE, slots, 0, 0, chunk->fill, FT_FD16_NONE), __ATOMIC_RELEASE);
    return 1;
}

static uint32_t define(struct definition *d)
{
    if (d->id == 0)
        d->id = __atomic_fetch_add(&ft_process.next_id, 1, __ATOMIC_RELAXED);
    size_t from = 0;
    do {
        size_t part = d->n - from > PART_BYTES ? PART_BYTES : d->n - from;
        uint8_t before = ft_recording_begin();
        struct ft_writer *writer = ft_thread.writer;
        int is_written = define_part(writer, d, from, part);
        ft_recording_end(before);
        if (ft_unlikely(writer->is_orphan) && writer != ft_thread.writer) {
            from = 0; /* a fork came between: in the child none of it is told yet */
            continue;
        }
        if (!is_written) {
            __atomic_fetch_add(&ft_head()->names_lost, 1, __ATOMIC_RELAXED);
            return 0;
        }
        from += part;
    } while (from < d->n);
    return d->id;
}

uint32_t ft_name_string(const char *text, size_t n, unsigned flags)
{
    struct definition d = {.type = FT_DEFINE_STRING, .bytes = text, .n = n, .flags = flags};
    return define(&d);
}

/* Without what the kernel adds to the name of a directory that was removed. */
static size_t without_deleted(const char *path, size_t n)
{
    static const char suffix[] = " (deleted)";
    const size_t added = sizeof(suffix) - 1;
    return n > added && ft_is_equal(path + n - added, suffix, added) ? n - added : n;
}

/* Kernel's name of the working directory, or the last that it had; 0 where it has none here. */
static size_t cwd_path(char *buffer, size_t room)
{
    long n = ft_sys(SYS_getcwd, buffer, room);
    if (n > 1)
        return buffer[0] == '/' ? (size_t)n - 1 : 0; /* not "(unreachable)..." */
    if (n != -ENOENT)
        return 0;
    n = ft_sys(SYS_readlinkat, FT_AT_FDCWD, "/proc/thread-self/cwd", buffer, room);
    return n > 0 && buffer[0] == '/' ? without_deleted(buffer, (size_t)n) : 0;
}

/* Of a vfork child whose directory its parent did not know: for the one call, no table is written. */
static __attribute__((noinline)) uint32_t cwd_of_vfork_child(void)
{
    char buffer[VFORK_SCRATCH];
    struct definition d = {.type = FT_DEFINE_CWD, .bytes = buffer, .n = cwd_path(buffer, sizeof(buffer))};
    put_root_before(&d);
    return d.n > 0 ? define(&d) : 0;
}

uint32_t ft_name_cwd(void)
{
    uint32_t known = __atomic_load_n(&ft_process.cwd_file, __ATOMIC_RELAXED);
    if (ft_process.cwd_shared) /* in a sandbox, too: it may be another thread's */
        known = 0;
    if (ft_is_shut_in() || (known != 0 && !ft_thread.vfork_moved))
        return ft_thread.vfork_moved ? 0 : known;
    if (ft_thread.vfork_depth != 0)
        return cwd_of_vfork_child();
    struct scratch *taken = scratch_get(__builtin_frame_address(0));
    char small[SMALL_SCRATCH], *buffer = taken != NULL ? taken->page : small;
    size_t n = cwd_path(buffer, taken != NULL ? FT_PAGE_BYTES : SMALL_SCRATCH);
    uint32_t file = 0;
    if (n > 0) {
        struct definition d = {.type = FT_DEFINE_CWD, .bytes = buffer, .n = n};
        put_root_before(&d);
        file = define(&d);
    }
    if (!scratch_put(taken, __builtin_frame_address(0)))
        return 0;
    __atomic_store_n(&ft_process.cwd_file, file, __ATOMIC_RELAXED);
    return file;
}

/* The file id of a directory's descriptor, named at its first use. */
static uint32_t directory_file(int dirfd)
{
    struct ft_call_state state = ft_fd_known(dirfd);
    if (state.file - 1 >= FT_FILE_EXCLUDED - 1)
        ft_fd_first_use(&state, dirfd);
    return state.excluded ? FT_FILE_EXCLUDED : state.file;
}

long ft_name_readlink(int fd, char *buffer, size_t room)
{
    char link[48] = "/proc/thread-self/fd/"; /* "self" is the first thread, which may have ended, or have its own */
    size_t at = sizeof("/proc/thread-self/fd/") - 1;
    unsigned rest = (unsigned)fd;
    char digits[12];
    int count = 0;
    do
        digits[count++] = (char)('0' + rest % 10);
    while ((rest /= 10) != 0);
    while (count > 0)
        link[at++] = digits[--count];
    link[at] = 0;
    return ft_sys(SYS_readlinkat, FT_AT_FDCWD, link, buffer, room);
}

/* Whether the settings want this name; needs the whole of it, so relative ones are joined here. */
static int is_wanted(int dirfd, const char *path, size_t n)
{
    if (!ft_process.filtered || dirfd == FT_AT_SEARCHED)
        return 1;
    int is_absolute = n > 0 && path[0] == '/';
    const char *before;
    if (is_absolute && ft_root_before(path, n, &before) == 0 && ft_glob_is_squeezed(path, n))
        return ft_settings_wants(path, n);
    if (ft_is_shut_in() || ft_thread.vfork_depth != 0)
        return is_absolute ? ft_settings_wants(path, n) : 1;
    struct scratch *taken = scratch_get(__builtin_frame_address(0));
    if (taken == NULL)
        return 1;
    char *page = taken->page;
    long root = (long)ft_root_before("/", 1, &before), base = 0;
    ft_copy(page, before, (size_t)root);
    if (!is_absolute)
        base = dirfd == FT_AT_FDCWD ? ft_sys(SYS_getcwd, page + root, FT_PAGE_BYTES - (size_t)root) - 1
                                    : ft_name_readlink(dirfd, page + root, FT_PAGE_BYTES - (size_t)root);
    int wanted = 1;
    base = base < 0 ? base : base + root;
    if (base >= 0 && (size_t)base + 1 + n < FT_PAGE_BYTES) {
        page[base] = '/';
        ft_copy(page + base + 1, path, n);
        wanted = ft_settings_wants(page, ft_glob_squeeze(page, (size_t)base + 1 + n));
    }
    return !scratch_put(taken, __builtin_frame_address(0)) || wanted;
}

uint32_t ft_name_path(int dirfd, const char *path, int *is_cut)
{
    if (path == NULL || path[0] == 0)
        return dirfd == FT_AT_FDCWD ? 0 : directory_file(dirfd);
    size_t n = ft_length_most(path, FT_PATH_KEPT_BYTES);
    if (n == FT_PATH_KEPT_BYTES)
        *is_cut = 1;
    if (!is_wanted(dirfd, path, n))
        return FT_FILE_EXCLUDED;
    struct definition d = {.type = FT_DEFINE_PATH, .bytes = path, .n = n, .flags = *is_cut ? FT_DEFINE_CUT : 0u};
    if (path[0] != '/' && dirfd != FT_AT_SEARCHED)
        d.base = dirfd == FT_AT_FDCWD ? ft_name_cwd() : directory_file(dirfd);
    if (d.base == FT_FILE_EXCLUDED)
        d.base = 0;
    put_root_before(&d);
    return define(&d);
}

static uint8_t kind_of(unsigned mode, uint64_t major)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return FT_FILE_WIRE_REGULAR;
    case S_IFDIR:
        return FT_FILE_WIRE_DIRECTORY;
    case S_IFBLK:
        return FT_FILE_WIRE_BLOCK;
    case S_IFCHR:
        return (major >= 136 && major <= 143) || major == 4 || major == 5 ? FT_FILE_WIRE_TTY : FT_FILE_WIRE_CHAR;
    case S_IFIFO:
        return FT_FILE_WIRE_PIPE;
    case S_IFSOCK:
        return FT_FILE_WIRE_SOCKET;
    default:
        return FT_FILE_WIRE_OTHER;
    }
}

/*
 * Whether no filter was there when this program began: one that kills may not know the call below. (What it puts in
 * itself shuts it in.)
 */
static int is_unfiltered(void)
{
    uint8_t known = __atomic_load_n(&ft_process.inherited_filter, __ATOMIC_RELAXED);
    if (known == 0) {
        known = ft_sys(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0) == 0 ? 1 : 2;
        __atomic_store_n(&ft_process.inherited_filter, known, __ATOMIC_RELAXED);
    }
    return known == 1;
}

/*
 * File systems on block devices give the number of a removed file to the next one, in the same tick, and number these
 * lives. Others do not use a number again, or do not tell; and what they would do with the call is not known.
 */
static void put_birth(int fd, const struct statx *st, struct ft_inode *inode)
{
    uint64_t time_ns = 0;
    long generation = 0; /* the kernel writes an int, whatever the number says */
    if (st->stx_mask & STATX_BTIME)
        time_ns = (uint64_t)st->stx_btime.tv_sec * 1000000000u + st->stx_btime.tv_nsec;
    inode->is_exact = st->stx_dev_major != 0 && (S_ISREG(st->stx_mode) || S_ISDIR(st->stx_mode)) && is_unfiltered() &&
                      ft_sys(SYS_ioctl, fd, FS_IOC_GETVERSION, &generation) == 0;
    inode->birth = inode->is_exact ? ft_birth_of_generation(time_ns, (uint32_t)generation) : ft_birth_of_time(time_ns);
}

void ft_name_inode(int fd, struct ft_inode *inode)
{
    *inode = (struct ft_inode){.kind = FT_FILE_WIRE_UNKNOWN};
    if (ft_is_shut_in())
        return;
    struct statx st;
    if (ft_sys(SYS_statx, fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO | STATX_BTIME, &st) != 0)
        return;
    inode->kind = kind_of(st.stx_mode, st.stx_rdev_major);
    inode->known = 1;
    if ((st.stx_mode & S_IFMT) == 0)
        return; /* eventfd and its like: one inode for all of them, so they go by their names */
    inode->device = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor;
    inode->inode = st.stx_ino;
    put_birth(fd, &st, inode);
}

/* After a chroot the kernel gives what is open outside the name that it has there. */
static int is_inside(char *name, size_t n, const struct ft_inode *inode)
{
    struct statx st;
    if (__atomic_load_n(&ft_root, __ATOMIC_RELAXED) == NULL || n == 0 || name[0] != '/')
        return 0;
    name[n] = 0;
    return ft_sys(SYS_statx, FT_AT_FDCWD, name, AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC, STATX_INO, &st) == 0 &&
           st.stx_ino == inode->inode && ((uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor) == inode->device;
}

/* Under the given id, or with 0 a new one. */
static uint32_t name_descriptor(uint32_t id, int fd, struct ft_inode *inode)
{
    ft_name_inode(fd, inode);
    if (!inode->known)
        return 0;
    struct scratch *taken = scratch_get(__builtin_frame_address(0));
    char small[SMALL_SCRATCH], *buffer = taken != NULL ? taken->page : small;
    size_t room = taken != NULL ? FT_PAGE_BYTES - 1 : SMALL_SCRATCH;
    long n = ft_name_readlink(fd, buffer, room);
    if (n < 0)
        n = 0; /* no /proc here: kind and inode are known all the same */
    if (inode->kind == FT_FILE_WIRE_REGULAR && n > 7 && ft_has_prefix(buffer, "/memfd:"))
        inode->kind = FT_FILE_WIRE_MEMFD;
    uint32_t file = FT_FILE_EXCLUDED;
    if (!ft_process.filtered || n == 0 || buffer[0] != '/' || ft_settings_wants(buffer, (size_t)n)) {
        struct definition d = {.id = id, .type = FT_DEFINE_FD, .bytes = buffer, .n = (size_t)n, .inode = inode};
        if ((size_t)n == room)
            d.flags = FT_DEFINE_CUT;
        else if (is_inside(buffer, (size_t)n, inode))
            put_root_before(&d);
        file = define(&d);
    }
    return scratch_put(taken, __builtin_frame_address(0)) ? file : 0;
}

uint32_t ft_name_descriptor(int fd, struct ft_inode *inode)
{
    return name_descriptor(0, fd, inode);
}

void ft_name_again(uint32_t file, int fd)
{
    struct ft_inode inode;
    if (file >= FT_FILE_FIRST && file != FT_FILE_EXCLUDED && fd >= 0 && !ft_is_shut_in())
        name_descriptor(file, fd, &inode);
}
