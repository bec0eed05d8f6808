// SPDX-License-Identifier: MIT
#include "client/shim/relay.h"

#include "client/shim/object.h"
#include "client/shim/settings.h"
#include "client/shim/stdio_state.h"
#include "proto/calls.h"

/*
 * Memory of such a library up to its dynamic section, behind its code in every layout that linkers make by themselves. Nothing
 * of an object is read for it: one that is laid out in another way is not known, and its calls are counted twice.
 */
struct range {
    uint64_t from, to;
};

enum { RANGES_MAX = 8 };
FT_TABLE static struct range relay_ranges[RANGES_MAX];
FT_TABLE static uint32_t relay_ranges_taken; /* atomic */

/* Ids that are the same call, a 0 behind each. */
enum { STDIO_BASE = FT_CALL_ID_fopen - 1 };
#define SAME(...) __VA_ARGS__, 0
#define ID(name) FT_CALL_ID_##name
#define STREAM_ID(name) (FT_CALL_ID_##name - STDIO_BASE)
FT_LATER static const uint8_t same[] = {
    SAME(ID(open), ID(open64), ID(openat), ID(openat64), ID(__open_2), ID(__open64_2), ID(__openat_2), ID(__openat64_2),
         ID(creat), ID(creat64), ID(__open), ID(__open64)),
    SAME(ID(stat), ID(stat64), ID(lstat), ID(lstat64), ID(fstatat), ID(fstatat64), ID(statx), ID(__xstat),
         ID(__xstat64), ID(__lxstat), ID(__lxstat64), ID(__fxstatat), ID(__fxstatat64)),
    SAME(ID(fstat), ID(fstat64), ID(__fxstat), ID(__fxstat64)),
    SAME(ID(statfs), ID(statfs64), ID(__statfs), ID(statvfs), ID(statvfs64)),
    SAME(ID(fstatfs), ID(fstatfs64), ID(fstatvfs), ID(fstatvfs64)),
    SAME(ID(mkstemp), ID(mkstemp64), ID(mkostemp), ID(mkostemp64), ID(mkstemps), ID(mkstemps64), ID(mkostemps),
         ID(mkostemps64)),
    SAME(ID(close), ID(__close)),
    SAME(ID(dup2), ID(__dup2), ID(dup3)),
    SAME(ID(fcntl), ID(fcntl64), ID(__fcntl)),
    SAME(ID(read), ID(__read), ID(__read_chk), ID(readv)),
    SAME(ID(write), ID(__write), ID(writev)),
    SAME(ID(pread), ID(pread64), ID(__pread64), ID(__pread_chk), ID(__pread64_chk), ID(preadv), ID(preadv64),
         ID(preadv2), ID(preadv64v2)),
    SAME(ID(pwrite), ID(pwrite64), ID(__pwrite64), ID(pwritev), ID(pwritev64), ID(pwritev2), ID(pwritev64v2)),
    SAME(ID(lseek), ID(lseek64), ID(llseek), ID(__lseek)),
    SAME(ID(sendfile), ID(sendfile64)),
    SAME(ID(truncate), ID(truncate64)),
    SAME(ID(ftruncate), ID(ftruncate64)),
    SAME(ID(fallocate), ID(fallocate64), ID(posix_fallocate), ID(posix_fallocate64)),
    SAME(ID(posix_fadvise), ID(posix_fadvise64)),
    SAME(ID(access), ID(faccessat), ID(euidaccess), ID(eaccess)),
    SAME(ID(chmod), ID(fchmodat), ID(lchmod)),
    SAME(ID(chown), ID(lchown), ID(fchownat)),
    SAME(ID(utime), ID(utimes), ID(lutimes), ID(futimesat), ID(utimensat)),
    SAME(ID(futimes), ID(futimens)),
    SAME(ID(unlink), ID(unlinkat), ID(remove), ID(rmdir)),
    SAME(ID(rename), ID(renameat), ID(renameat2)),
    SAME(ID(link), ID(linkat)),
    SAME(ID(symlink), ID(symlinkat)),
    SAME(ID(readlink), ID(readlinkat), ID(__readlink_chk), ID(__readlinkat_chk)),
    SAME(ID(realpath), ID(__realpath_chk), ID(canonicalize_file_name)),
    SAME(ID(mkdir), ID(mkdirat)),
    SAME(ID(mknod), ID(mknodat), ID(__xmknod), ID(__xmknodat), ID(mkfifo), ID(mkfifoat)),
    SAME(ID(readdir), ID(readdir64), ID(readdir_r), ID(readdir64_r)),
    SAME(ID(mmap), ID(mmap64)),
    SAME(ID(accept), ID(accept4)),
    SAME(ID(connect), ID(__connect)),
    SAME(ID(send), ID(__send), ID(sendto)),
    SAME(ID(recv), ID(__recv_chk), ID(recvfrom), ID(__recvfrom_chk)),
};
FT_LATER static const uint8_t same_on_streams[] = {
    SAME(STREAM_ID(fopen), STREAM_ID(fopen64)),
    SAME(STREAM_ID(fread), STREAM_ID(fread_unlocked), STREAM_ID(__fread_chk), STREAM_ID(__fread_unlocked_chk)),
    SAME(STREAM_ID(fwrite), STREAM_ID(fwrite_unlocked)),
    SAME(STREAM_ID(fgetc), STREAM_ID(fgetc_unlocked), STREAM_ID(getc), STREAM_ID(getc_unlocked), STREAM_ID(_IO_getc),
         STREAM_ID(getchar), STREAM_ID(getchar_unlocked)),
    SAME(STREAM_ID(fputc), STREAM_ID(fputc_unlocked), STREAM_ID(putc), STREAM_ID(putc_unlocked), STREAM_ID(_IO_putc),
         STREAM_ID(putchar), STREAM_ID(putchar_unlocked)),
    SAME(STREAM_ID(fgets), STREAM_ID(fgets_unlocked), STREAM_ID(__fgets_chk), STREAM_ID(__fgets_unlocked_chk)),
    SAME(STREAM_ID(fputs), STREAM_ID(fputs_unlocked), STREAM_ID(puts)),
    SAME(STREAM_ID(getline), STREAM_ID(getdelim), STREAM_ID(__getdelim)),
    SAME(STREAM_ID(fflush), STREAM_ID(fflush_unlocked)),
    SAME(STREAM_ID(vfprintf), STREAM_ID(vprintf), STREAM_ID(__vfprintf_chk), STREAM_ID(__vprintf_chk),
         STREAM_ID(fprintf), STREAM_ID(printf), STREAM_ID(__fprintf_chk), STREAM_ID(__printf_chk)),
    SAME(STREAM_ID(fseek), STREAM_ID(fseeko), STREAM_ID(fseeko64)),
    SAME(STREAM_ID(ftell), STREAM_ID(ftello), STREAM_ID(ftello64)),
    SAME(STREAM_ID(fgetpos), STREAM_ID(fgetpos64)),
    SAME(STREAM_ID(fsetpos), STREAM_ID(fsetpos64)),
};

static int are_in_one_row(const uint8_t *ids, size_t count, unsigned one, unsigned other)
{
    int has_one = 0, has_other = 0;
    for (size_t i = 0; i < count; i++) {
        has_one |= ids[i] == one;
        has_other |= ids[i] == other;
        if (ids[i] == 0)
            has_one = has_other = 0;
        if (has_one && has_other)
            return 1;
    }
    return 0;
}

static int is_same(unsigned one, unsigned other)
{
    if (one == other)
        return 1;
    if (one > STDIO_BASE && other > STDIO_BASE)
        return are_in_one_row(same_on_streams, sizeof(same_on_streams), one - STDIO_BASE, other - STDIO_BASE);
    return are_in_one_row(same, sizeof(same), one, other);
}

/* 1: the address is in one of them. An entry is there when its end is. */
static int is_in_range(uint64_t address)
{
    for (int i = 0; i < RANGES_MAX; i++) {
        uint64_t to = __atomic_load_n(&relay_ranges[i].to, __ATOMIC_ACQUIRE);
        if (to == 0)
            return 0;
        if (address >= relay_ranges[i].from && address < to)
            return 1;
    }
    return 0;
}

static void add(const struct link_map *map)
{
    uint64_t from = map->l_addr, to = (uint64_t)(uintptr_t)map->l_ld;
    if (from == 0 || to <= from || is_in_range(from))
        return;
    uint32_t i = __atomic_fetch_add(&relay_ranges_taken, 1, __ATOMIC_RELAXED);
    if (i >= RANGES_MAX)
        return;
    relay_ranges[i].from = from;
    __atomic_store_n(&relay_ranges[i].to, to, __ATOMIC_RELEASE); /* is_in_range */
}

static int is_of_libc(const char *soname)
{
    FT_LATER static const char names[][sizeof("libpthread.so.")] = {"libc.so.",  "libpthread.so.", "librt.so.",
                                                                    "libdl.so.", "libutil.so.",    "ld-linux"};
    for (size_t i = 0; soname != NULL && i < sizeof(names) / sizeof(names[0]); i++)
        if (ft_has_prefix(soname, names[i]))
            return 1;
    return 0;
}

void ft_relay_note(const struct link_map *own, const struct link_map *found, const char *name)
{
    struct ft_object object = ft_object_of(found);
    if (is_of_libc(object.soname))
        return;
    add(own);
    add(found);
    const struct link_map *first = ft_real_first_map(); /* the program: what it has of that name is its own */
    uint32_t hash = ft_object_hash(name);
    for (const struct link_map *map = first != NULL ? first->l_next : NULL; map != NULL && map != own;
         map = map->l_next) {
        unsigned count;
        object = ft_object_of(map);
        if (ft_object_find_symbol(&object, name, hash, &count) != NULL)
            add(map);
    }
}

int ft_relay_is_inner(unsigned call, const struct ft_args *args, const void *caller, const void *frame)
{
    const struct ft_line *line = ft_thread.line;
    unsigned outer = line->call;
    if (__atomic_load_n(&relay_ranges[0].to, __ATOMIC_RELAXED) == 0 || outer >= FT_REAL_MAX)
        return 0;
    /* Above the running call it was left by a jump (ft_begin_nested); what the other library ends with stands where that began. */
    if ((uintptr_t)ft_thread.call_frame < (uintptr_t)frame)
        return 0;
    if (args->stream != NULL && line->fd != ft_stdio_descriptor(args->stream))
        return 0;
    if (args->has_fd ? line->fd != args->fd : args->has_path && ft_thread.call_path != args->path)
        return 0;
    uint64_t real = (uint64_t)(uintptr_t)__atomic_load_n(&ft_real_table[outer], __ATOMIC_RELAXED);
    return is_in_range((uint64_t)(uintptr_t)caller) && is_in_range(real) && is_same(call, outer);
}
