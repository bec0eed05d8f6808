// SPDX-License-Identifier: MIT
#include "daemon/cgroup_id.h"

#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "daemon/pidfd_info.h"

// Where the unified hierarchy is, alone or beside those of cgroup v1.
static const char *const roots[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

uint64_t ft_cgroup_id_of(int pidfd)
{
    struct ft_pidfd_info info = {.mask = FT_PIDFD_INFO_CGROUPID | FT_PIDFD_INFO_EXIT};
    bool is_told = ioctl(pidfd, FT_PIDFD_GET_INFO, &info) == 0 && (info.mask & FT_PIDFD_INFO_CGROUPID);
    return is_told ? info.cgroupid : 0;
}

// A path that means what it says: no "..", which would lead out of what its other components name.
static bool is_plain(struct ft_bytes path)
{
    if (!path.len || path.data[0] != '/' || memchr(path.data, '\0', path.len))
        return false;
    for (size_t at = 0; at < path.len;) {
        size_t bytes = 0;
        const char *component = path.data + at + 1;
        while (at + 1 + bytes < path.len && component[bytes] != '/')
            bytes++;
        if (bytes == 2 && component[0] == '.' && component[1] == '.')
            return false;
        at += bytes + 1;
    }
    return true;
}

static bool look_up(uint64_t id, struct ft_bytes line)
{
    const char *slash = memchr(line.data, '/', line.len);
    struct ft_bytes path = {.data = slash, .len = slash ? line.len - (size_t)(slash - line.data) : 0};
    char full[4096 + 64];
    struct stat status;
    struct statfs fs;
    if (path.len > 4096 || !is_plain(path))
        return false;
    for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
        snprintf(full, sizeof(full), "%s%.*s", roots[i], (int)path.len, path.data);
        if (stat(full, &status) == 0 && statfs(full, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC &&
            status.st_ino == id)
            return true;
    }
    return false;
}

// The kernel gives no number of a cgroup twice, and renames none: what was true once stays true. Of many processes that
// are gone when they are taken in, most were in the same cgroups.
bool ft_cgroup_id_is(uint64_t id, struct ft_bytes line)
{
    static _Thread_local struct {
        uint64_t id;
        size_t bytes;
        char line[512];
    } known[8];
    static _Thread_local unsigned next;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].id == id && known[i].bytes == line.len && line.len &&
            memcmp(known[i].line, line.data, line.len) == 0)
            return true;
    if (!look_up(id, line))
        return false;
    if (line.len <= sizeof(known[0].line)) {
        unsigned at = next++ % (sizeof(known) / sizeof(known[0]));
        known[at].id = id;
        known[at].bytes = line.len;
        memcpy(known[at].line, line.data, line.len);
    }
    return true;
}
