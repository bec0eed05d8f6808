// SPDX-License-Identifier: MIT
//
// Which files of the spool tell of processes that go on: of this host and boot, newest first.
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/log.h"
#include "daemon/own_files.h"
#include "daemon/successor_impl.h"

// Jobs whose names make the same folder.
#define CHAINS_MAX 16
// Beside the tables of one file, which rotation bounds.
#define MEMORY_MORE ((size_t)128 << 20)

struct folder {
    char path[3800];
    uint32_t uid;
    uint64_t hash;
    uint32_t *parts; // of our files
    size_t part_count, part_room;
};

// Whether a segment is held whose process may be in a file of this folder that was last written then.
static bool wants(const struct ft_successor *successor, const struct folder *folder, int64_t written_ns)
{
    for (size_t i = 0; i < successor->stored_count; i++) {
        const struct ft_stored *stored = &successor->stored[i];
        if (!stored->process && !stored->is_done && stored->id.uid == folder->uid &&
            stored->id.folder == folder->hash && stored->born_ns <= written_ns)
            return true;
    }
    return false;
}

static int64_t written_ns_of(const char *path)
{
    struct stat status;
    if (stat(path, &status) < 0)
        return 0;
    // The kernel's coarse clock is some milliseconds behind.
    return status.st_mtim.tv_sec * INT64_C(1000000000) + status.st_mtim.tv_nsec + INT64_C(1000000000);
}

static int newest_first(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x < y) - (x > y);
}

// False where there is no memory.
static bool take_name(const struct ft_daemon *daemon, struct folder *folder, const char *name)
{
    char prefix[256], *end;
    int length = snprintf(prefix, sizeof(prefix), "%.200s-%.8s-", daemon->host, daemon->boot_id);
    if (strncmp(name, prefix, (size_t)length) != 0)
        return true;
    unsigned long part = strtoul(name + length, &end, 10);
    if (end == name + length || strcmp(end, ".flow") != 0 || part >= UINT32_MAX)
        return true;
    if (folder->part_count == folder->part_room) {
        size_t room = folder->part_room ? folder->part_room * 2 : 16;
        uint32_t *parts = realloc(folder->parts, room * sizeof(*parts));
        if (!parts)
            return false;
        folder->parts = parts;
        folder->part_room = room;
    }
    folder->parts[folder->part_count++] = (uint32_t)part;
    return true;
}

static void take_all_names(const struct ft_daemon *daemon, struct folder *folder)
{
    DIR *entries = opendir(folder->path);
    for (struct dirent *entry; entries && (entry = readdir(entries));)
        if (!take_name(daemon, folder, entry->d_name))
            break;
    if (entries)
        closedir(entries);
}

// Others may write to the folder of a private daemon.
static void take_own_names(const struct ft_daemon *daemon, struct folder *folder)
{
    char *names = ft_own_files_read(&daemon->config), *rest = names;
    for (char *name; rest && (name = strsep(&rest, "\n"));)
        if (!take_name(daemon, folder, name))
            break;
    free(names);
}

static void list_parts(const struct ft_daemon *daemon, struct folder *folder)
{
    folder->part_count = 0;
    if (daemon->config.private)
        take_own_names(daemon, folder);
    else
        take_all_names(daemon, folder);
    if (folder->part_count)
        qsort(folder->parts, folder->part_count, sizeof(*folder->parts), newest_first);
}

static void path_of(const struct ft_daemon *daemon, const struct folder *folder, uint32_t part, char *out, size_t room)
{
    snprintf(out, room, "%s/%.200s-%.8s-%" PRIu32 ".flow", folder->path, daemon->host, daemon->boot_id, part);
}

static bool is_ours(const struct ft_daemon *daemon, const struct folder *folder, const struct ft_trace_header *header)
{
    return (header->uid == folder->uid || daemon->config.private) && header->host.len == strlen(daemon->host) &&
           memcmp(header->host.data, daemon->host, header->host.len) == 0 &&
           header->boot_id.len == strlen(daemon->boot_id) &&
           memcmp(header->boot_id.data, daemon->boot_id, header->boot_id.len) == 0;
}

static struct ft_successor_chain *chain_of(struct ft_successor_chain *chains, size_t *count,
                                           const struct ft_trace_header *header)
{
    char job[FT_IDENTITY_JOB_MAX + 1];
    snprintf(job, sizeof(job), "%.*s", (int)header->job.id.len, header->job.id.data);
    for (size_t i = 0; i < *count; i++)
        if (strcmp(chains[i].job, job) == 0)
            return &chains[i];
    if (*count == CHAINS_MAX || ft_intern_init(&chains[*count].seen) < 0)
        return NULL;
    struct ft_successor_chain *chain = &chains[(*count)++];
    snprintf(chain->job, sizeof(chain->job), "%s", job);
    return chain;
}

static void read_one(struct ft_successor *successor, const struct folder *folder, struct ft_successor_chain *chains,
                     size_t *count, uint32_t part)
{
    struct ft_daemon *daemon = successor->daemon;
    struct ft_trace_reader *peek;
    struct ft_readback readback;
    char path[4096];
    path_of(daemon, folder, part, path, sizeof(path));
    // Its header alone: most files of a folder have been followed by others long ago.
    size_t before = *count;
    struct ft_successor_chain *chain = NULL;
    if (ft_readback_peek(path, &peek) == 0) {
        const struct ft_trace_header *header = ft_trace_reader_header(peek);
        chain = is_ours(daemon, folder, header) ? chain_of(chains, count, header) : NULL;
        ft_trace_reader_close(peek);
    }
    if (!chain || (chain->is_done && !wants(successor, folder, written_ns_of(path))))
        return;
    bool is_newest = *count != before;
    if (is_newest)
        chain->next_part = folder->parts[0] + 1;
    int r = ft_readback_open(&readback, path, (size_t)daemon->config.rotate_memory_bytes + MEMORY_MORE);
    if (r < 0) {
        ft_log(FT_LOG_WARNING, "%s: cannot be gone on from: %s", path, strerror(-r));
        return;
    }
    ft_successor_read_file(successor, chain, &readback, is_newest);
    ft_readback_close(&readback);
}

static bool is_any_open(const struct ft_successor_chain *chains, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!chains[i].is_done)
            return true;
    return !count;
}

static void read_folder(struct ft_successor *successor, struct folder *folder)
{
    struct ft_successor_chain chains[CHAINS_MAX] = {0};
    size_t count = 0;
    char newest[4096];
    list_parts(successor->daemon, folder);
    if (!folder->part_count)
        return;
    path_of(successor->daemon, folder, folder->parts[0], newest, sizeof(newest));
    bool is_concerned =
        wants(successor, folder, INT64_MAX) || ft_arrivals_concern(successor->daemon, folder->uid, folder->hash);
    if (!is_concerned && ft_readback_is_closed(newest))
        return;
    for (size_t i = 0; i < folder->part_count; i++)
        if (is_any_open(chains, count) || wants(successor, folder, INT64_MAX))
            read_one(successor, folder, chains, &count, folder->parts[i]);
    for (size_t i = 0; i < count; i++) {
        ft_intern_fini(&chains[i].seen);
        if (chains[i].made)
            ft_job_wake(chains[i].made, 0);
    }
}

static bool uid_of(const char *name, uint32_t *uid)
{
    char *end;
    unsigned long number = strtoul(name, &end, 10);
    *uid = (uint32_t)number;
    return name[0] >= '0' && name[0] <= '9' && !*end && number <= UINT32_MAX;
}

static void read_user(struct ft_successor *successor, struct folder *folder, const char *user)
{
    const char *spool = successor->daemon->config.spool_dir;
    char path[3400];
    snprintf(path, sizeof(path), "%s/%s", spool, user);
    DIR *jobs = opendir(path);
    for (struct dirent *entry; jobs && (entry = readdir(jobs));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(folder->path, sizeof(folder->path), "%s/%s", path, entry->d_name);
        folder->hash = ft_stored_name_folder(entry->d_name);
        read_folder(successor, folder);
    }
    if (jobs)
        closedir(jobs);
}

static void read_own(struct ft_successor *successor, struct folder *folder)
{
    snprintf(folder->path, sizeof(folder->path), "%s", successor->daemon->config.spool_dir);
    read_folder(successor, folder);
}

void ft_successor_read_spool(struct ft_successor *successor)
{
    bool is_private = successor->daemon->config.private;
    struct folder *folder = calloc(1, sizeof(*folder));
    DIR *users = folder && !is_private ? opendir(successor->daemon->config.spool_dir) : NULL;
    if (folder && is_private)
        read_own(successor, folder);
    for (struct dirent *entry; users && (entry = readdir(users));)
        if (uid_of(entry->d_name, &folder->uid))
            read_user(successor, folder, entry->d_name);
    if (users)
        closedir(users);
    free(folder ? folder->parts : NULL);
    free(folder);
}
