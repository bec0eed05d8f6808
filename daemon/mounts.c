// SPDX-License-Identifier: MIT
#include "daemon/mounts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include "daemon/clock.h"

#define REREAD_NS INT64_C(1000000000)

static const char *const local_types[] = {"ext2",     "ext3", "ext4", "xfs",  "btrfs",    "tmpfs", "overlay",
                                          "devtmpfs", "vfat", "zfs",  "f2fs", "squashfs", "ramfs"};

void ft_mounts_init(struct ft_mounts *mounts)
{
    memset(mounts, 0, sizeof(*mounts));
    pthread_mutex_init(&mounts->lock, NULL);
}

void ft_mount_fini(struct ft_mount *mount)
{
    free(mount->point);
    free(mount->fstype);
    mount->point = mount->fstype = NULL;
}

static void clear(struct ft_mounts *mounts)
{
    for (uint32_t i = 0; i < mounts->count; i++)
        ft_mount_fini(&mounts->mounts[i]);
    free(mounts->mounts);
    mounts->mounts = NULL;
    mounts->count = 0;
}

void ft_mounts_fini(struct ft_mounts *mounts)
{
    clear(mounts);
    pthread_mutex_destroy(&mounts->lock);
}

// mountinfo writes blank, tab, newline and backslash as \ooo.
static void unescape(char *text)
{
    char *out = text;
    while (*text) {
        bool is_escape = text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] >= '0' && text[2] <= '7' &&
                         text[3] >= '0' && text[3] <= '7';
        if (is_escape) {
            *out++ = (char)((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
            text += 4;
        } else {
            *out++ = *text++;
        }
    }
    *out = '\0';
}

bool ft_mounts_parse_line(char *line, struct ft_mount *out)
{
    unsigned major, minor;
    int root_at = 0;
    if (sscanf(line, "%*u %*u %u:%u %n", &major, &minor, &root_at) < 2 || !root_at)
        return false;
    char *save = NULL;
    char *separator = strstr(line, " - ");
    if (!separator)
        return false;
    *separator = '\0';
    if (!strtok_r(line + root_at, " \n", &save))
        return false;
    char *point = strtok_r(NULL, " \n", &save);
    char *fstype = strtok_r(separator + 3, " \n", &save);
    if (!point || !fstype)
        return false;
    unescape(point);
    *out = (struct ft_mount){.device = makedev(major, minor), .point = strdup(point), .fstype = strdup(fstype)};
    if (out->point && out->fstype)
        return true;
    ft_mount_fini(out);
    return false;
}

static int by_device(const void *a, const void *b)
{
    const struct ft_mount *x = a, *y = b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    // Of several mounts of one device the shortest is the one that holds the others' files too.
    size_t x_bytes = strlen(x->point), y_bytes = strlen(y->point);
    return x_bytes < y_bytes ? -1 : x_bytes > y_bytes;
}

static uint32_t block_size_of(const struct ft_mount *mount)
{
    struct statfs fs;
    for (size_t i = 0; i < sizeof(local_types) / sizeof(local_types[0]); i++)
        if (strcmp(local_types[i], mount->fstype) == 0)
            return statfs(mount->point, &fs) == 0 ? (uint32_t)fs.f_bsize : 0;
    return 0;
}

static void keep_one_for_each_device(struct ft_mounts *mounts)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < mounts->count; i++) {
        if (kept && mounts->mounts[kept - 1].device == mounts->mounts[i].device) {
            ft_mount_fini(&mounts->mounts[i]);
            continue;
        }
        mounts->mounts[i].block_size = block_size_of(&mounts->mounts[i]);
        mounts->mounts[kept++] = mounts->mounts[i];
    }
    mounts->count = kept;
}

static void read_table(struct ft_mounts *mounts)
{
    FILE *file = fopen("/proc/self/mountinfo", "re");
    if (!file)
        return;
    clear(mounts);
    char *line = NULL;
    size_t room = 0;
    uint32_t allocated = 0;
    while (mounts->count < FT_MOUNTS_MAX && getline(&line, &room, file) > 0) {
        struct ft_mount mount;
        if (!ft_mounts_parse_line(line, &mount))
            continue;
        if (mounts->count == allocated) {
            uint32_t more = allocated ? allocated * 2 : 64;
            struct ft_mount *larger = realloc(mounts->mounts, more * sizeof(*larger));
            if (!larger) {
                ft_mount_fini(&mount);
                break;
            }
            mounts->mounts = larger;
            allocated = more;
        }
        mounts->mounts[mounts->count++] = mount;
    }
    free(line);
    fclose(file);
    if (mounts->count)
        qsort(mounts->mounts, mounts->count, sizeof(*mounts->mounts), by_device);
    keep_one_for_each_device(mounts);
}

static const struct ft_mount *find_locked(const struct ft_mounts *mounts, uint64_t device)
{
    uint32_t low = 0, high = mounts->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (mounts->mounts[middle].device < device)
            low = middle + 1;
        else
            high = middle;
    }
    return low < mounts->count && mounts->mounts[low].device == device ? &mounts->mounts[low] : NULL;
}

bool ft_mounts_find(struct ft_mounts *mounts, uint64_t device, struct ft_mount *out)
{
    pthread_mutex_lock(&mounts->lock);
    const struct ft_mount *found = find_locked(mounts, device);
    int64_t now_ns = ft_clock_mono_ns();
    if (!found && now_ns >= mounts->next_read_ns) {
        read_table(mounts);
        mounts->next_read_ns = now_ns + REREAD_NS;
        found = find_locked(mounts, device);
    }
    if (found)
        *out = (struct ft_mount){.device = device,
                                 .point = strdup(found->point),
                                 .fstype = strdup(found->fstype),
                                 .block_size = found->block_size};
    pthread_mutex_unlock(&mounts->lock);
    if (found && out->point && out->fstype)
        return true;
    if (found)
        ft_mount_fini(out);
    return false;
}
