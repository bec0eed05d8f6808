// SPDX-License-Identifier: MIT
//
// How much memory a process's cgroups leave it: what it may still take before the kernel ends something in its group.
//
// The memory controller lies in one hierarchy, of version 2 (memory.max, memory.high) or of version 1 (limits of memory,
// and of memory and swap). A group is bound by its parents, too: the least counts. Half of what the groups hold of files
// counts as left, since the kernel takes it back first. The files belong to the kernel: reading them waits for nobody.
#ifndef FT_DAEMON_HEADROOM_H
#define FT_DAEMON_HEADROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { FT_HEADROOM_GROUP_MAX = 1024, FT_HEADROOM_GROUPS = 8 };
#define FT_HEADROOM_UNLIMITED UINT64_MAX

enum ft_headroom_version { FT_HEADROOM_NONE = 0, FT_HEADROOM_V1 = 1, FT_HEADROOM_V2 = 2 };

// Where the hierarchy is mounted, and which group its mount shows as the uppermost ("" where that is the root).
struct ft_headroom_mount {
    enum ft_headroom_version version; // NONE: nothing limits memory here, or none that we see
    char point[256], root[FT_HEADROOM_GROUP_MAX];
};

// What was found of some groups, the last ones asked for. Zeroed: none.
struct ft_headroom_group {
    char *group;
    uint64_t bytes;
    int64_t read_ns;
};
struct ft_headroom_cache {
    struct ft_headroom_group groups[FT_HEADROOM_GROUPS];
    unsigned next;
};

// From the text of /proc/self/mountinfo.
void ft_headroom_find(FILE *mountinfo, struct ft_headroom_mount *out);

// The group that the text of /proc/PID/cgroup names, as a path below the mount: "" or "/a/b". False where it is in none
// that we see. `room` is FT_HEADROOM_GROUP_MAX.
bool ft_headroom_group_of(const struct ft_headroom_mount *mount, const char *text, char *out);

// Bytes left to that group; FT_HEADROOM_UNLIMITED where no limit is set; 0 where the group is not there.
uint64_t ft_headroom_read(const struct ft_headroom_mount *mount, const char *group);

// The same, not older than `age_ns`.
uint64_t ft_headroom_get(struct ft_headroom_cache *cache, const struct ft_headroom_mount *mount, const char *group,
                         int64_t now_ns, int64_t age_ns);
void ft_headroom_fini(struct ft_headroom_cache *cache);

#endif
