// SPDX-License-Identifier: MIT
#include "daemon/headroom.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
// Version 1 writes a limit that is none as the largest that fits.
#define LIMIT_MAX (UINT64_C(1) << 60)

struct pair {
    const char *limit, *usage;
};
struct version {
    const char *fstype;
    const struct pair pairs[2];
    const char *files[2]; // lines of memory.stat: what is held of files
};
static const struct version versions[] = {
    [FT_HEADROOM_V1] = {"cgroup",
                        {{"memory.limit_in_bytes", "memory.usage_in_bytes"},
                         {"memory.memsw.limit_in_bytes", "memory.memsw.usage_in_bytes"}},
                        {"total_inactive_file ", "total_active_file "}},
    [FT_HEADROOM_V2] = {"cgroup2",
                        {{"memory.max", "memory.current"}, {"memory.high", "memory.current"}},
                        {"inactive_file ", "active_file "}},
};

static bool has_word(const char *list, const char *word)
{
    size_t bytes = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += bytes)
        if ((at == list || at[-1] == ',') && (!at[bytes] || at[bytes] == ','))
            return true;
    return false;
}

// The first mount of the hierarchy that limits memory; version 2 counts only where version 1 has no memory controller.
static void look_at_mount(char *line, struct ft_headroom_mount *out)
{
    char *save = NULL, *separator = strstr(line, " - ");
    if (!separator)
        return;
    *separator = '\0';
    const char *fields[5], *behind[3];
    for (size_t i = 0; i < COUNT(fields); i++)
        if (!(fields[i] = strtok_r(i ? NULL : line, " ", &save)))
            return;
    for (size_t i = 0; i < COUNT(behind); i++)
        if (!(behind[i] = strtok_r(i ? NULL : separator + 3, " \n", &save)))
            return;
    bool is_v1 = strcmp(behind[0], versions[FT_HEADROOM_V1].fstype) == 0 && has_word(behind[2], "memory") &&
                 out->version != FT_HEADROOM_V1;
    bool is_v2 = strcmp(behind[0], versions[FT_HEADROOM_V2].fstype) == 0 && out->version == FT_HEADROOM_NONE;
    const char *root = strcmp(fields[3], "/") == 0 ? "" : fields[3];
    if ((!is_v1 && !is_v2) || strlen(fields[4]) >= sizeof(out->point) || strlen(root) >= sizeof(out->root))
        return;
    out->version = is_v1 ? FT_HEADROOM_V1 : FT_HEADROOM_V2;
    snprintf(out->point, sizeof(out->point), "%s", fields[4]);
    snprintf(out->root, sizeof(out->root), "%s", root);
}

void ft_headroom_find(FILE *mountinfo, struct ft_headroom_mount *out)
{
    char *line = NULL;
    size_t room = 0;
    memset(out, 0, sizeof(*out));
    while (getline(&line, &room, mountinfo) > 0)
        look_at_mount(line, out);
    free(line);
}

// "hierarchy:controllers:/path": the path where it is that of our hierarchy; NULL where it is another's.
static const char *path_of_line(char *line, enum ft_headroom_version version)
{
    char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!path)
        return NULL;
    *controllers++ = *path++ = '\0';
    bool is_ours = version == FT_HEADROOM_V2 ? strcmp(line, "0") == 0 : has_word(controllers, "memory");
    return is_ours ? path : NULL;
}

bool ft_headroom_group_of(const struct ft_headroom_mount *mount, const char *text, char *out)
{
    char line[FT_HEADROOM_GROUP_MAX + 64];
    size_t root_bytes = strlen(mount->root);
    for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
        size_t bytes = (size_t)(end - text);
        if (bytes >= sizeof(line))
            continue;
        memcpy(line, text, bytes);
        line[bytes] = '\0';
        const char *path = path_of_line(line, mount->version);
        if (!path)
            continue;
        path = strcmp(path, "/") == 0 ? "" : path;
        bool is_below = strncmp(path, mount->root, root_bytes) == 0 && (!path[root_bytes] || path[root_bytes] == '/') &&
                        !strstr(path, "/..");
        if (!is_below || strlen(path + root_bytes) >= FT_HEADROOM_GROUP_MAX)
            return false; // above what the mount shows
        snprintf(out, FT_HEADROOM_GROUP_MAX, "%s", path + root_bytes);
        return true;
    }
    return false;
}

// Text of one file; false where it is not there.
static bool read_file(int folder, const char *name, char *out, size_t room)
{
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, room - 1);
    if (fd >= 0)
        close(fd);
    out[n > 0 ? n : 0] = '\0';
    return n > 0;
}

static uint64_t read_number(int folder, const char *name, uint64_t otherwise)
{
    char text[32];
    if (!read_file(folder, name, text, sizeof(text)) || text[0] < '0' || text[0] > '9')
        return otherwise; // not there, or "max"
    return strtoull(text, NULL, 10);
}

static uint64_t files_of(int folder, const struct version *version)
{
    char text[8192];
    uint64_t bytes = 0;
    if (!read_file(folder, "memory.stat", text, sizeof(text)))
        return 0;
    for (size_t i = 0; i < COUNT(version->files); i++) {
        const char *at = text;
        while (at && strncmp(at, version->files[i], strlen(version->files[i])) != 0)
            at = (at = strchr(at, '\n')) ? at + 1 : NULL;
        bytes += at ? strtoull(at + strlen(version->files[i]), NULL, 10) : 0;
    }
    return bytes;
}

// What one group leaves, its parents aside.
static uint64_t left_in(int folder, const struct version *version)
{
    uint64_t left = FT_HEADROOM_UNLIMITED;
    for (size_t i = 0; i < COUNT(version->pairs); i++) {
        uint64_t limit = read_number(folder, version->pairs[i].limit, LIMIT_MAX);
        if (limit >= LIMIT_MAX)
            continue;
        uint64_t usage = read_number(folder, version->pairs[i].usage, 0);
        uint64_t one = usage < limit ? limit - usage : 0;
        left = one < left ? one : left;
    }
    return left == FT_HEADROOM_UNLIMITED ? left : left + files_of(folder, version) / 2;
}

uint64_t ft_headroom_read(const struct ft_headroom_mount *mount, const char *group)
{
    char path[sizeof(mount->point) + FT_HEADROOM_GROUP_MAX];
    uint64_t least = FT_HEADROOM_UNLIMITED;
    if (mount->version == FT_HEADROOM_NONE)
        return least;
    size_t top = (size_t)snprintf(path, sizeof(path), "%s", mount->point);
    for (snprintf(path + top, sizeof(path) - top, "%s", group);; *strrchr(path + top, '/') = '\0') {
        int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        uint64_t left = folder < 0 ? 0 : left_in(folder, &versions[mount->version]);
        if (folder >= 0)
            close(folder);
        least = left < least ? left : least;
        if (!path[top])
            return least;
    }
}

uint64_t ft_headroom_get(struct ft_headroom_cache *cache, const struct ft_headroom_mount *mount, const char *group,
                         int64_t now_ns, int64_t age_ns)
{
    struct ft_headroom_group *one = NULL;
    for (size_t i = 0; i < FT_HEADROOM_GROUPS && !one; i++)
        if (cache->groups[i].group && strcmp(cache->groups[i].group, group) == 0)
            one = &cache->groups[i];
    if (one && now_ns - one->read_ns <= age_ns)
        return one->bytes;
    if (!one) {
        one = &cache->groups[cache->next++ % FT_HEADROOM_GROUPS];
        free(one->group);
        one->group = strdup(group); // NULL: read again the next time
    }
    one->bytes = ft_headroom_read(mount, group);
    one->read_ns = now_ns;
    return one->bytes;
}

void ft_headroom_fini(struct ft_headroom_cache *cache)
{
    for (size_t i = 0; i < FT_HEADROOM_GROUPS; i++)
        free(cache->groups[i].group);
}
