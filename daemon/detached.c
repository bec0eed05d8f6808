// SPDX-License-Identifier: MIT
#include "daemon/detached.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define ASKED_NS INT64_C(1000000000)

#ifndef STATX_MNT_ID
#define STATX_MNT_ID 0x1000U
#endif

// 0: there is none.
static uint64_t device_of_folder(const char *path)
{
    char folder[PATH_MAX];
    struct stat status;
    const char *slash = strrchr(path, '/');
    if (!slash || (size_t)(slash - path) >= sizeof(folder))
        return 0;
    memcpy(folder, path, (size_t)(slash - path));
    folder[slash - path] = '\0';
    return stat(folder, &status) == 0 ? (uint64_t)status.st_dev : 0;
}

static bool is_mounted(uint64_t id)
{
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    bool is_found = false;
    char *line = NULL;
    size_t room = 0;
    if (!mounts)
        return true; // that is not known
    while (!is_found && getline(&line, &room, mounts) > 0)
        is_found = strtoull(line, NULL, 10) == id;
    is_found |= !feof(mounts); // nor is it here: it could not be read, or held
    free(line);
    fclose(mounts);
    return is_found;
}

void ft_place_init(struct ft_place *place, const char *path)
{
    *place = (struct ft_place){.folder_device = device_of_folder(path)};
}

bool ft_place_is_detached(struct ft_place *place, int fd, const char *path, int64_t now_ns)
{
    struct statx status;
    if (place->is_detached || now_ns < place->next_ns)
        return place->is_detached;
    place->next_ns = now_ns + ASKED_NS;
    if (!place->folder_device || device_of_folder(path) == place->folder_device)
        return false;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &status) < 0 || !(status.stx_mask & STATX_MNT_ID))
        return false;
    place->is_detached = !is_mounted(status.stx_mnt_id);
    return place->is_detached;
}
