// SPDX-License-Identifier: MIT
#include "daemon/rings.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/job.h"
#include "daemon/procfs.h"

#define INTERVAL_MIN_NS INT64_C(100000000)
#define INTERVAL_MAX_NS INT64_C(60000000000)
#define DESCRIPTORS_MAX 1024

static bool is_ring(int folder_fd, const char *name)
{
    static const char ring[] = "anon_inode:[io_uring]";
    char text[sizeof(ring)];
    return readlinkat(folder_fd, name, text, sizeof(text)) == sizeof(ring) - 1 &&
           memcmp(text, ring, sizeof(ring) - 1) == 0;
}

// The number behind `key` at a line's begin; 0 where there is none.
static uint64_t number_of(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at && (at == text || at[-1] == '\n') ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static struct ft_ring *find(struct ft_rings *rings, uint64_t inode)
{
    for (uint32_t i = 0; i < rings->count; i++)
        if (rings->found[i].inode == inode)
            return &rings->found[i];
    if (rings->count == FT_RINGS_MAX)
        return NULL;
    rings->found[rings->count] = (struct ft_ring){.inode = inode};
    return &rings->found[rings->count++];
}

static void look_at(struct ft_process *process, const char *descriptor)
{
    char name[64], text[4096];
    snprintf(name, sizeof(name), "fdinfo/%.20s", descriptor);
    int n = ft_procfs_read(process->pid, name, text, sizeof(text) - 1);
    if (n <= 0)
        return;
    text[n] = '\0';
    struct ft_ring *ring = find(&process->rings, number_of(text, "ino:"));
    uint64_t calls = number_of(text, "SqHead:");
    if (ring && calls > ring->calls)
        ring->calls = calls;
}

static void look_at_all(struct ft_process *process)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%u/fd", process->pid);
    DIR *folder = opendir(path);
    if (!folder)
        return;
    unsigned count = 0;
    for (struct dirent *entry; count < DESCRIPTORS_MAX && (entry = readdir(folder)); count++)
        if (entry->d_name[0] != '.' && is_ring(dirfd(folder), entry->d_name))
            look_at(process, entry->d_name);
    closedir(folder);
}

static uint64_t sum(const struct ft_rings *rings)
{
    uint64_t calls = rings->count; // a new one is news
    for (uint32_t i = 0; i < rings->count; i++)
        calls += rings->found[i].calls;
    return calls;
}

bool ft_rings_look(struct ft_process *process, int64_t now_ns)
{
    struct ft_rings *rings = &process->rings;
    if (rings->interval_ns && now_ns < rings->next_ns)
        return false;
    uint64_t before = sum(rings);
    if (rings->interval_ns)
        look_at_all(process);
    int64_t most_ns = rings->count ? 10 * INTERVAL_MIN_NS : INTERVAL_MAX_NS;
    rings->interval_ns = rings->interval_ns ? rings->interval_ns * 2 : INTERVAL_MIN_NS;
    rings->interval_ns = rings->interval_ns < most_ns ? rings->interval_ns : most_ns;
    rings->next_ns = now_ns + rings->interval_ns;
    return sum(rings) != before;
}

// A forked child has its parent's rings; which of the two uses one is not to be seen.
static bool is_inherited(const struct ft_process *process, uint64_t inode)
{
    if (process->image == FT_IMAGE_EXEC)
        return false;
    for (const struct ft_process *other = process->job->processes; other; other = other->next)
        for (uint32_t i = 0; other != process && i < other->rings.count; i++)
            if (other->rings.found[i].inode == inode && other->start_ns < process->start_ns)
                return true;
    return false;
}

bool ft_rings_calls(const struct ft_process *process, uint64_t *calls)
{
    bool has_any = false;
    *calls = 0;
    for (uint32_t i = 0; i < process->rings.count; i++) {
        if (is_inherited(process, process->rings.found[i].inode))
            continue;
        has_any = true;
        *calls += process->rings.found[i].calls;
    }
    return has_any;
}
