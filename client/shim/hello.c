// SPDX-License-Identifier: MIT
/* Who the process says it is. All of it is a claim: the daemon asks the kernel where it can. */
#include "client/shim/clock.h"
#include "client/shim/root.h"
#include "client/shim/settings.h"
#include "client/shim/start.h"
#include "proto/settings.h"

#include <errno.h>
#include <fcntl.h>

enum { CGROUP_BYTES_MAX = 1024, EXE_BYTES_MAX = 4096, ARGV_BYTES_MAX = 32768 };

/* Those of its parent that a forked child writes into its own Hello: in the parent's segment they cost it more to read. */
FT_TABLE static char kept_items[FT_PAGE_BYTES - sizeof(struct ft_hello)];

/* Items are written behind struct ft_hello; pages of a long Hello get memory as they are reached. */
struct items {
    size_t used, ready; /* bytes from the Hello's start */
};

/* Where there is room for the longest. */
static uint32_t long_page(void)
{
    return ft_process.totals_more_page - FT_HELLO_PAGES;
}

static size_t whole_pages(size_t bytes)
{
    return (bytes + FT_PAGE_BYTES - 1) / FT_PAGE_BYTES * FT_PAGE_BYTES;
}

/* Nearly every Hello fits the one page between totals and lines. A longer one lies where there is room for the longest. */
static int make_room(struct items *items, size_t bytes)
{
    size_t need = items->used + bytes;
    if (need > (size_t)FT_HELLO_PAGES * FT_PAGE_BYTES)
        return 0;
    if (need <= items->ready)
        return 1;
    char *place = ft_page(long_page());
    int is_moving = ft_process.hello_page != long_page();
    size_t ready = is_moving ? 0 : items->ready;
    if (ft_populate(place + ready, whole_pages(need) - ready) != 0)
        return 0;
    if (is_moving)
        ft_copy(place, ft_hello(), items->used);
    ft_process.hello_page = long_page();
    items->ready = whole_pages(need);
    return 1;
}

/* Place for an item's bytes, at most `room` of them; NULL where there is none. */
static char *item_begin(struct items *items, size_t room)
{
    size_t head = sizeof(struct ft_hello_item_head);
    if (!make_room(items, head + room + 3)) {
        ft_hello()->items_cut = 1;
        return NULL;
    }
    return (char *)ft_hello() + items->used + head;
}

static void item_end(struct items *items, enum ft_hello_item type, size_t bytes, int is_cut)
{
    struct ft_hello_item_head *head = (struct ft_hello_item_head *)(void *)((char *)ft_hello() + items->used);
    head->type = (uint16_t)type;
    head->flags = is_cut ? FT_HELLO_ITEM_CUT : 0;
    head->bytes = (uint32_t)bytes;
    if (is_cut)
        ft_hello()->items_cut = 1;
    items->used += sizeof(*head) + (bytes + 3) / 4 * 4;
}

/* Text of a small file of /proc. */
static void put_file(struct items *items, enum ft_hello_item type, const char *path, size_t most)
{
    char *to = item_begin(items, most);
    if (to == NULL)
        return;
    long fd = ft_sys(SYS_openat, FT_AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    long n = ft_sys(SYS_pread64, fd, to, most, 0);
    ft_sys(SYS_close, fd);
    if (n >= 0)
        item_end(items, type, (size_t)n, (size_t)n == most);
}

static void put_exe(struct items *items)
{
    char *to = item_begin(items, 512);
    if (to == NULL)
        return;
    long n = ft_sys(SYS_readlinkat, FT_AT_FDCWD, "/proc/self/exe", to, 512);
    if (n == 512 && (to = item_begin(items, EXE_BYTES_MAX)) != NULL)
        n = ft_sys(SYS_readlinkat, FT_AT_FDCWD, "/proc/self/exe", to, EXE_BYTES_MAX);
    if (n > 0)
        item_end(items, FT_HELLO_EXE, (size_t)n, n == EXE_BYTES_MAX);
}

static void put_cwd(struct items *items)
{
    char *to = item_begin(items, 512);
    if (to == NULL)
        return;
    const char *before;
    size_t root = ft_root_before("/", 1, &before);
    long n = root < 512 ? ft_sys(SYS_getcwd, to + root, 512 - root) : -1;
    if (n < 0 && root < FT_PAGE_BYTES && (to = item_begin(items, FT_PAGE_BYTES)) != NULL)
        n = ft_sys(SYS_getcwd, to + root, FT_PAGE_BYTES - root);
    if (n <= 1 || to[root] != '/')
        return;
    ft_copy(to, before, root);
    size_t end = root + (size_t)n - 1;
    item_end(items, FT_HELLO_CWD, root != 0 && n == 2 ? end - 1 : end, 0);
    ft_process.cwd_file = FT_FILE_CWD;
}

/* Appends a string with its NUL; 0 where it does not fit any more. */
static int append(char *to, size_t *n, size_t most, const char *text)
{
    size_t length = ft_length(text) + 1;
    if (length > most - *n)
        return 0;
    ft_copy(to + *n, text, length);
    *n += length;
    return 1;
}

static size_t strings_bytes(char *const *list, size_t most)
{
    size_t n = 0;
    for (size_t i = 0; list != NULL && list[i] != NULL && n < most; i++)
        n += ft_length(list[i]) + 1;
    return n < most ? n : most;
}

static void put_argv(struct items *items)
{
    if (ft_start_argv == NULL) {
        put_file(items, FT_HELLO_ARGV, "/proc/self/cmdline", FT_PAGE_BYTES);
        return;
    }
    size_t most = strings_bytes(ft_start_argv, ARGV_BYTES_MAX), n = 0;
    char *to = item_begin(items, most);
    if (to == NULL)
        return;
    int is_cut = 0;
    for (size_t i = 0; ft_start_argv[i] != NULL && !is_cut; i++)
        is_cut = !append(to, &n, most, ft_start_argv[i]);
    item_end(items, FT_HELLO_ARGV, n, is_cut);
}

static void put_env(struct items *items)
{
    size_t most = 0, n = 0;
    char *const *envp = ft_start_environment();
    for (size_t i = 0; envp != NULL && envp[i] != NULL; i++)
        if (ft_setting_is_claim(envp[i]))
            most += ft_length(envp[i]) + 1;
    if (most > FT_SETTING_CLAIMS_BYTES_MAX)
        most = FT_SETTING_CLAIMS_BYTES_MAX;
    char *to = item_begin(items, most);
    if (to == NULL)
        return;
    int is_cut = 0;
    for (size_t i = 0; envp != NULL && envp[i] != NULL; i++)
        if (ft_setting_is_claim(envp[i]) && !append(to, &n, most, envp[i]))
            is_cut = 1;
    item_end(items, FT_HELLO_ENV, n, is_cut);
}

/* Field 22 of /proc/self/stat; the name in field 2 may hold anything, so fields are counted behind the last ')'. */
static uint64_t start_time(void)
{
    char text[400];
    long fd = ft_sys(SYS_openat, FT_AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    long n = ft_sys(SYS_pread64, fd, text, sizeof(text), 0);
    ft_sys(SYS_close, fd);
    long at = n - 1;
    while (at > 0 && text[at] != ')')
        at--;
    for (int field = 2; at > 0 && at < n && field < 22; at++)
        field += text[at] == ' ';
    uint64_t value = 0;
    for (; at > 0 && at < n && text[at] >= '0' && text[at] <= '9'; at++)
        value = value * 10 + (uint64_t)(text[at] - '0');
    return value;
}

void ft_hello_keep(void)
{
    struct ft_process *p = &ft_process;
    if (ft_likely(p->hello_is_kept) || ft_wiped.base == 0 || p->hello_items_bytes > sizeof(kept_items))
        return;
    ft_copy(kept_items, ft_hello() + 1, p->hello_items_bytes);
    __atomic_store_n(&p->hello_is_kept, 1,
                     __ATOMIC_RELEASE); /* a handler of ours may fork before it: its child reads */
}

long ft_hello_inherit(int memfd)
{
    if (ft_process.hello_is_kept)
        return 0;
    uint64_t at = (uint64_t)long_page() * FT_PAGE_BYTES + sizeof(struct ft_hello);
    size_t bytes = ft_process.hello_items_bytes;
    long written = ft_sys(SYS_pwrite64, memfd, ft_hello() + 1, bytes, at);
    return written == (long)bytes ? 0 : written < 0 ? written : -ENOSPC;
}

static void put_own(struct items *items)
{
    put_exe(items);
    put_argv(items);
    put_env(items);
    put_file(items, FT_HELLO_CGROUP, "/proc/self/cgroup", CGROUP_BYTES_MAX);
    ft_process.hello_items_bytes = (uint32_t)(items->used - sizeof(struct ft_hello));
    ft_process.hello_items_cut = ft_hello()->items_cut != 0;
}

static void put_parents(struct items *items)
{
    if (ft_process.hello_is_kept)
        ft_copy(ft_hello() + 1, kept_items, ft_process.hello_items_bytes);
    items->used += ft_process.hello_items_bytes;
    items->ready = whole_pages(items->used);
}

void ft_hello_fill(enum ft_image image)
{
    if (image == FT_IMAGE_EXEC)
        ft_process.hello_items_bytes = ft_process.hello_items_cut = ft_process.hello_is_kept = 0;
    /* By ft_hello_inherit, out of the way of the first pages. */
    int is_written = image != FT_IMAGE_EXEC && !ft_process.hello_is_kept;
    ft_process.hello_page = is_written ? long_page() : FT_HELLO_FIRST_PAGE;
    *ft_hello() = (struct ft_hello){
        .pid = ft_process.pid,
        .ppid = (uint32_t)ft_sys(SYS_getppid),
        .tid = ft_process.pid,
        .image = image,
        .clock = ft_process.clock,
        .shim_version = FT_SHIM_VERSION,
        .attach_ticks = ft_process.pair_ticks,
        .attach_mono_ns = ft_process.pair_mono_ns,
        .attach_real_ns = ft_process.pair_real_ns,
        .items_cut = ft_process.hello_items_cut,
        .parent_segment_id = {ft_process.parent_id[0], ft_process.parent_id[1]},
    };
    if (ft_process.want_start_time)
        ft_hello()->start_time = start_time();
    struct items items = {.used = sizeof(struct ft_hello), .ready = FT_PAGE_BYTES};
    if (image == FT_IMAGE_EXEC)
        put_own(&items);
    else
        put_parents(&items);
    put_cwd(&items);
    ft_hello()->items_bytes = (uint32_t)(items.used - sizeof(struct ft_hello));
    ft_head()->hello_page = ft_process.hello_page;
    ft_head()->hello_pages = ft_process.hello_page == FT_HELLO_FIRST_PAGE ? 1 : FT_HELLO_PAGES;
}
