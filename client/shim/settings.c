// SPDX-License-Identifier: MIT
#include "client/shim/settings.h"

#include "client/shim/glob.h"
#include "client/shim/real.h"
#include "proto/control.h"
#include "proto/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <sys/mman.h>

struct ft_saved ft_saved;
int ft_debug;
char ft_socket_path[108];

/* Room for what is kept of the environment; more is taken where it is not enough. */
static char *saved_bytes;
static size_t saved_room;

/* A path is recorded where the site wants it and the job does: a variable only narrows what the policy says. */
static struct ft_globs site_include, include, exclude;

void ft_debug_say(const char *what, long value)
{
    if (!ft_debug)
        return;
    char line[160] = "flowtap: ";
    size_t n = 9;
    while (*what != 0 && n < 120)
        line[n++] = *what++;
    line[n++] = ' ';
    unsigned long rest = value < 0 ? 0ul - (unsigned long)value : (unsigned long)value;
    char digits[24];
    int count = 0;
    if (value < 0)
        line[n++] = '-';
    do
        digits[count++] = (char)('0' + rest % 10);
    while ((rest /= 10) != 0);
    while (count > 0)
        line[n++] = digits[--count];
    line[n++] = '\n';
    ft_sys(SYS_write, 2, line, n);
}

const char *ft_settings_find(char *const *envp, const char *name)
{
    for (size_t i = 0; envp != NULL && envp[i] != NULL; i++) {
        if (envp[i][0] != name[0] || !ft_has_prefix(envp[i], name))
            continue;
        size_t n = ft_length(name);
        if (envp[i][n] == '=')
            return envp[i] + n + 1;
    }
    return NULL;
}

static void ignore_setting(const char *name)
{
    ft_process.settings_ignored++;
    ft_debug_say(name, (long)ft_process.settings_ignored);
}

/* Room for so much in one piece; a page of the arena where that does. */
static int make_room(size_t bytes)
{
    if (bytes <= FT_PAGE_BYTES) {
        saved_bytes = ft_arena_page();
        saved_room = saved_bytes != NULL ? FT_PAGE_BYTES : 0;
        return saved_bytes != NULL;
    }
    bytes = (bytes + FT_PAGE_BYTES - 1) & ~(size_t)(FT_PAGE_BYTES - 1);
    long made = ft_sys(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (made < 0 && made > -4096)
        return 0;
    saved_bytes = (char *)made;
    saved_room = bytes;
    return 1;
}

static const char *save(const char *text, size_t n)
{
    if (n + 1 > saved_room && !make_room(n + 1))
        return NULL;
    char *kept = saved_bytes;
    ft_copy(kept, text, n);
    kept[n] = 0;
    saved_bytes += n + 1;
    saved_room -= n + 1;
    return kept;
}

int ft_settings_is_library(const char *entry, size_t n)
{
    static const char own[] = FT_SHIM_LIBRARY;
    size_t length = sizeof(own) - 1;
    return n >= length && ft_is_equal(entry + n - length, own, length) && (n == length || entry[n - length - 1] == '/');
}

/* Of LD_PRELOAD, what loads this library from any folder and environment; NULL: nothing. */
static const char *find_preload(const char *list, size_t *n)
{
    for (const char *entry = list; entry != NULL && *entry != 0; entry += entry[*n] != 0 ? *n + 1 : *n) {
        int has_token = 0; /* $LIB and its like, which only ld.so knows */
        for (*n = 0; entry[*n] != 0 && entry[*n] != ':' && entry[*n] != ' '; ++*n)
            has_token |= entry[*n] == '$';
        if (entry[0] == '/' && !has_token && ft_settings_is_library(entry, *n))
            return entry;
    }
    const char *path = ft_real_own_path();
    *n = ft_length(path);
    return path[0] == '/' ? path : NULL;
}

/* The path that ld.so opened from the working directory. */
static const char *save_relative_path(const char *path)
{
    char full[1024];
    size_t bytes = ft_length(path);
    long cwd = ft_sys(SYS_getcwd, full, sizeof(full)); /* with its end, which becomes the slash */
    if (bytes == 0 || cwd <= 0 || full[0] != '/' || bytes > sizeof(full) - (size_t)cwd)
        return NULL;
    full[cwd - 1] = '/';
    ft_copy(full + cwd, path, bytes);
    return save(full, (size_t)cwd + bytes);
}

static void save_environment(char *const *envp)
{
    size_t bytes;
    const char *preload = find_preload(ft_settings_find(envp, "LD_PRELOAD"), &bytes);
    ft_saved.preload = preload != NULL ? save(preload, bytes) : save_relative_path(ft_real_own_path());
    for (size_t i = 0; envp != NULL && envp[i] != NULL; i++) {
        if (!ft_has_prefix(envp[i], "FLOWTAP"))
            continue;
        const char *kept = ft_saved.count < FT_SAVED_MAX ? save(envp[i], ft_length(envp[i])) : NULL;
        if (kept != NULL)
            ft_saved.variables[ft_saved.count++] = kept;
        else
            ignore_setting("a variable is not put back where a program cleans its environment");
    }
}

static void set_socket(const char *path)
{
    if (path != NULL && ft_setting_use_of_socket(path) == FT_SETTING_IGNORED) {
        ignore_setting("FLOWTAP_SOCKET cannot be used");
        path = NULL;
    }
    if (path == NULL)
        path = FT_SOCKET_DEFAULT;
    ft_copy(ft_socket_path, path, ft_length(path) + 1);
}

static void set_mode(const char *mode)
{
    enum ft_setting_use use = mode == NULL ? FT_SETTING_USED : ft_setting_use_of_mode(mode);
    if (use == FT_SETTING_OFF)
        ft_process.wanted = 0;
    else if (use == FT_SETTING_IGNORED)
        ignore_setting("FLOWTAP_MODE is none of trace, profile, off");
}

/* A protobuf varint; moves *at. */
static uint64_t varint(const uint8_t *bytes, size_t n, size_t *at)
{
    uint64_t value = 0;
    for (unsigned shift = 0; *at < n && shift < 64; shift += 7) {
        uint8_t byte = bytes[(*at)++];
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
    *at = n;
    return 0;
}

static void apply_number(uint64_t field, uint64_t value)
{
    switch (field) {
    case 1:
        if (value != FT_RING_ABI_MAJOR)
            ft_process.wanted = 0;
        break;
    case 2:
        if (value == 3)
            ft_process.wanted = 0;
        break;
    case 3:
        ft_process.clock = (uint8_t)value;
        break;
    case 4:
        if (value >= FT_CHUNKS_AT_ATTACH && value < FT_CHUNKS_MAX)
            ft_process.chunks_max = (uint32_t)value;
        break;
    case 5:
        ft_process.want_start_time = value != 0;
        break;
    case 6:
        ft_process.follow_clean_env = value == 0;
        break;
    default:
        break;
    }
}

static void apply_policy(const uint8_t *bytes, size_t n)
{
    for (size_t at = 0; at < n;) {
        uint64_t key = varint(bytes, n, &at);
        switch (key & 7) {
        case 0:
            apply_number(key >> 3, varint(bytes, n, &at));
            break;
        case 2: {
            uint64_t length = varint(bytes, n, &at);
            if (length > n - at)
                return;
            if (key >> 3 == 7)
                ft_globs_add(&site_include, (const char *)bytes + at, length);
            if (key >> 3 == 8)
                ft_globs_add(&exclude, (const char *)bytes + at, length);
            at += length;
            break;
        }
        case 1:
            at = n - at >= 8 ? at + 8 : n;
            break;
        case 5:
            at = n - at >= 4 ? at + 4 : n;
            break;
        default:
            return;
        }
    }
}

/* As of the listener: root's, or our own user's. */
static int is_trusted(long fd)
{
    struct statx st;
    if (ft_sys(SYS_statx, fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_UID, &st) != 0)
        return 0;
    return st.stx_uid == 0 || st.stx_uid == (uint32_t)ft_sys(SYS_geteuid);
}

/* Into the room for what is kept: as a rule it is short, and a page of its own would cost more than reading it. */
static long take_policy(long fd)
{
    static char first_room[512];
    saved_bytes = first_room;
    saved_room = sizeof(first_room);
    long got = ft_sys(SYS_pread64, fd, saved_bytes, saved_room, 0);
    if (got < (long)sizeof(first_room))
        return got;
    if (!make_room(FT_PAGE_BYTES))
        return -ENOMEM;
    return ft_sys(SYS_pread64, fd, saved_bytes, FT_POLICY_BYTES_MAX, 0);
}

/* 0, or -errno: then there is no daemon to be had. */
static long read_policy(void)
{
    char path[sizeof(ft_socket_path) + sizeof(FT_POLICY_SUFFIX)];
    size_t n = ft_length(ft_socket_path);
    ft_copy(path, ft_socket_path, n);
    ft_copy(path + n, FT_POLICY_SUFFIX, sizeof(FT_POLICY_SUFFIX));
    /* A FIFO that somebody put there must not hold the program. */
    long fd = ft_sys(SYS_openat, FT_AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return fd;
    long got = is_trusted(fd) ? take_policy(fd) : -EPERM;
    ft_sys(SYS_close, fd);
    if (got < 0)
        return got;
    apply_policy((const uint8_t *)saved_bytes, (size_t)got);
    saved_bytes += got; /* its globs stay, what is behind them is free */
    saved_room -= (size_t)got;
    return 0;
}

/* Most jobs narrow nothing: then the code that does, which lies elsewhere, is not touched. */
static void add_list(struct ft_globs *globs, const char *list)
{
    if (list != NULL)
        ft_globs_add_list(globs, list);
}

void ft_settings_read(char *const *envp)
{
    const char *on = ft_settings_find(envp, "FLOWTAP");
    if (on == NULL)
        return;
    enum ft_setting_use use = ft_setting_use_of_on(on);
    if (use == FT_SETTING_IGNORED)
        ignore_setting("FLOWTAP is neither 0 nor 1");
    if (use != FT_SETTING_USED)
        return;
    const char *debug = ft_settings_find(envp, "FLOWTAP_DEBUG");
    use = debug != NULL ? ft_setting_use_of_debug(debug) : FT_SETTING_OFF;
    ft_debug = use == FT_SETTING_USED;
    if (use == FT_SETTING_IGNORED)
        ignore_setting("FLOWTAP_DEBUG is neither 0 nor 1");
    ft_process.wanted = 1;
    ft_process.follow_clean_env = 1;
    ft_process.clock = FT_CLOCK_TICKS;
    ft_process.chunks_max = FT_CHUNKS_MAX;
    set_socket(ft_settings_find(envp, "FLOWTAP_SOCKET"));
    set_mode(ft_settings_find(envp, "FLOWTAP_MODE"));
    if (!ft_process.wanted)
        return;
    long error = read_policy();
    if (error != 0) {
        ft_debug_say("no policy file beside the socket, errno", -error);
        ft_process.wanted = 0;
        return;
    }
    if (ft_process.clock != FT_CLOCK_TICKS && ft_process.clock != FT_CLOCK_MONOTONIC_NS)
        ft_process.wanted = 0;
    save_environment(envp);
    add_list(&include, ft_settings_find(envp, "FLOWTAP_INCLUDE"));
    add_list(&exclude, ft_settings_find(envp, "FLOWTAP_EXCLUDE"));
    ft_process.filtered = site_include.count + include.count + exclude.count > 0;
}

int ft_settings_wants(const char *path, size_t n)
{
    if (site_include.count > 0 && !ft_globs_match(&site_include, path, n))
        return 0;
    if (include.count > 0 && !ft_globs_match(&include, path, n))
        return 0;
    return exclude.count == 0 || !ft_globs_match(&exclude, path, n);
}
