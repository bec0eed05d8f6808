// SPDX-License-Identifier: MIT
#include "client/shim/headroom.h"

#include "client/shim/shim.h"

#include <errno.h>
#include <fcntl.h>

/* As daemon/headroom.h, which knows better: here what is near is taken for nothing, whatever is held of files. */
#define NEAR_BYTES (UINT64_C(64) << 20)
#define LIMIT_MAX (UINT64_C(1) << 60) /* version 1 writes a limit that is none as the largest that fits */
enum { TEXT_BYTES = 2048, PATH_BYTES = 1024, NAME_BYTES = 32 };

static const struct version {
    char point[24], limit[NAME_BYTES], usage[NAME_BYTES];
} versions[] = {
    {"/sys/fs/cgroup/memory", "/memory.limit_in_bytes", "/memory.usage_in_bytes"},
    {"/sys/fs/cgroup", "/memory.max", "/memory.current"},
};

/* Only one thread comes here, once. */
FT_TABLE static struct {
    char text[TEXT_BYTES], path[PATH_BYTES + NAME_BYTES];
} group_texts;

/* Text of a small file, ended by a NUL; its length or -errno. */
static long read_text(const char *path, char *to, size_t room)
{
    long fd = ft_sys(SYS_openat, FT_AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return fd;
    long n = ft_sys(SYS_read, fd, to, room - 1);
    ft_sys(SYS_close, fd);
    to[n > 0 ? n : 0] = 0;
    return n;
}

static size_t field_length(const char *text, char end)
{
    size_t n = 0;
    while (text[n] != 0 && text[n] != '\n' && text[n] != end)
        n++;
    return n;
}

static int has_memory(const char *controllers, size_t n)
{
    static const char name[] = {'m', 'e', 'm', 'o', 'r', 'y'};
    for (size_t at = 0; at < n;) {
        size_t length = 0;
        while (at + length < n && controllers[at + length] != ',')
            length++;
        if (length == sizeof(name) && ft_is_equal(controllers + at, name, sizeof(name)))
            return 1;
        at += length + 1;
    }
    return 0;
}

/* The group's path, from lines "hierarchy:controllers:path"; its length, 0 where none is found. */
static size_t find_group(const char *text, const char **group, const struct version **version)
{
    size_t found = 0;
    for (size_t line; text[0] != 0; text += line + (text[line] != 0)) {
        line = field_length(text, '\n');
        size_t number = field_length(text, ':');
        size_t controllers = number < line ? field_length(text + number + 1, ':') : 0;
        size_t from = number + controllers + 2;
        int is_v1 = has_memory(text + number + 1, controllers);
        int is_v2 = number == 1 && text[0] == '0' && controllers == 0 && found == 0;
        if (from >= line || text[from] != '/' || text[line] != '\n' || (!is_v1 && !is_v2))
            continue;
        *group = text + from;
        *version = is_v1 ? &versions[0] : &versions[1];
        found = line - from;
        if (is_v1)
            break;
    }
    return found;
}

/* The number in a file of the group whose path has `n` bytes; LIMIT_MAX: it says that there is none. -errno. */
static long read_number(size_t n, const char *name, uint64_t *number)
{
    char text[NAME_BYTES];
    ft_copy(group_texts.path + n, name, ft_length(name) + 1);
    long error = read_text(group_texts.path, text, sizeof(text));
    if (error < 0)
        return error;
    *number = text[0] >= '0' && text[0] <= '9' ? 0 : LIMIT_MAX;
    for (const char *at = text; *number < LIMIT_MAX && *at >= '0' && *at <= '9'; at++)
        *number = *number * 10 + (uint64_t)(*at - '0');
    return 0;
}

static int is_near(size_t n, const struct version *version)
{
    uint64_t limit, usage;
    long error = read_number(n, version->limit, &limit);
    if (error != 0)
        return error != -ENOENT || version == &versions[0]; /* version 2 has it where the controller is */
    if (limit >= LIMIT_MAX)
        return 0;
    return read_number(n, version->usage, &usage) != 0 || usage > limit || limit - usage < NEAR_BYTES;
}

static int are_groups_wide(void)
{
    const char *group;
    const struct version *version;
    if (read_text("/proc/self/cgroup", group_texts.text, sizeof(group_texts.text)) <= 0)
        return 0;
    size_t bytes = find_group(group_texts.text, &group, &version), top = bytes != 0 ? ft_length(version->point) : 0;
    if (bytes == 0 || bytes > PATH_BYTES - top)
        return 0;
    ft_copy(group_texts.path, version->point, top);
    ft_copy(group_texts.path + top, group, bytes);
    size_t n = bytes == 1 ? top : top + bytes;
    ft_copy(group_texts.path + n, "/cgroup.procs", sizeof("/cgroup.procs"));
    if (ft_sys(SYS_faccessat, FT_AT_FDCWD, group_texts.path, F_OK) != 0)
        return 0;  /* mounted elsewhere, or another group's path */
    for (;; n--) { /* what stands behind the group's own end is the file's name */
        if ((n == top || group_texts.path[n] == '/') && is_near(n, version))
            return 0;
        if (n == top)
            return 1;
    }
}

int ft_headroom_is_wide(void)
{
    if (ft_is_shut_in() || ft_process.files_shared || ft_thread.vfork_depth != 0)
        return 0;
    return are_groups_wide();
}
