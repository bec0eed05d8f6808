// SPDX-License-Identifier: MIT
#include "daemon/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/readback.h"
#include "proto/trace_reader.h"

#define NS_PER_S INT64_C(1000000000)

bool ft_spool_is_trace(const char *name)
{
    size_t length = strlen(name);
    return name[0] != '.' && length > 5 && strcmp(name + length - 5, ".flow") == 0;
}

// Events of files that were not closed: it takes reading all of a file's heads to know, and nobody writes it any more.
enum { UNCLOSED_KEPT = 4096 };
#define UNCLOSED_MEMORY_MAX ((size_t)32 << 20)

struct unclosed {
    uint64_t device, inode;
    int64_t bytes, written_ns;
    uint64_t events;
};

static struct {
    pthread_mutex_t reading; // held while a file is read: who else asks for it waits, and finds it then
    pthread_mutex_t lock;    // of what follows
    struct unclosed kept[UNCLOSED_KEPT];
    size_t count;
    uint32_t random;
} unclosed = {.reading = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER, .random = 1};

static int64_t written_ns_of(const struct stat *status)
{
    return status->st_mtim.tv_sec * NS_PER_S + status->st_mtim.tv_nsec;
}

static bool find_unclosed(struct unclosed *one)
{
    bool is_known = false;
    pthread_mutex_lock(&unclosed.lock);
    for (size_t i = 0; i < unclosed.count && !is_known; i++) {
        const struct unclosed *kept = &unclosed.kept[i];
        is_known = kept->inode == one->inode && kept->device == one->device && kept->bytes == one->bytes &&
                   kept->written_ns == one->written_ns;
        one->events = is_known ? kept->events : 0;
    }
    pthread_mutex_unlock(&unclosed.lock);
    return is_known;
}

// In place of what was known of the file before. Where there is no room, of any: askers come by the files in one order,
// and of more files than fit, the one that was kept longest would always be the one that is wanted next.
static void keep_unclosed(const struct unclosed *one)
{
    size_t at = 0;
    pthread_mutex_lock(&unclosed.lock);
    while (at < unclosed.count && (unclosed.kept[at].inode != one->inode || unclosed.kept[at].device != one->device))
        at++;
    if (at == UNCLOSED_KEPT) {
        unclosed.random = unclosed.random * 1664525u + 1013904223u;
        at = (unclosed.random >> 16) % UNCLOSED_KEPT;
    } else if (at == unclosed.count) {
        unclosed.count++;
    }
    unclosed.kept[at] = *one;
    pthread_mutex_unlock(&unclosed.lock);
}

// What will be so the next time, too: it is no trace, or needs more than we give. A small file cannot: where there is no
// memory for that, it is ours that is short.
static bool is_final(int error, const struct stat *status)
{
    return error == -EBADMSG || (error == -ENOMEM && (size_t)status->st_size >= UNCLOSED_MEMORY_MAX / 16);
}

static uint64_t events_of_unclosed(const char *path, const struct stat *status)
{
    struct unclosed one = {.device = status->st_dev,
                           .inode = status->st_ino,
                           .bytes = status->st_size,
                           .written_ns = written_ns_of(status)};
    if (find_unclosed(&one))
        return one.events;
    pthread_mutex_lock(&unclosed.reading);
    if (!find_unclosed(&one)) {
        int r = ft_readback_rows(path, UNCLOSED_MEMORY_MAX, &one.events);
        one.events = r < 0 ? 0 : one.events;
        if (r == 0 || is_final(r, status))
            keep_unclosed(&one);
    }
    pthread_mutex_unlock(&unclosed.reading);
    return one.events;
}

static void read_heads(const char *path, const struct stat *status, uint64_t written_inode, struct ft_spool_job *job)
{
    struct ft_trace_reader *reader;
    uint64_t rows, profiled;
    bool is_closed = ft_readback_closed_rows(path, &rows, &profiled) == 0;
    job->open_files += !is_closed;
    if (status->st_ino != written_inode) // its job says
        job->events += is_closed ? rows + profiled : events_of_unclosed(path, status);
    if (ft_readback_peek(path, &reader) < 0)
        return;
    const struct ft_trace_header *header = ft_trace_reader_header(reader);
    if (!job->start_ns || header->created_ns < job->start_ns)
        job->start_ns = header->created_ns;
    snprintf(job->job, sizeof(job->job), "%.*s", (int)header->job.id.len,
             header->job.id.data ? header->job.id.data : "");
    ft_trace_reader_close(reader);
}

// Ours that is short, where a list without what stands there would be taken for all of it.
static bool is_shortage(int error)
{
    return error == -EMFILE || error == -ENFILE || error == -ENOMEM;
}

static int measure(const char *path, const struct ft_spool_list *running, struct ft_spool_job *job)
{
    const struct ft_spool_job *now = running ? ft_spool_find(running, job->uid, job->folder) : NULL;
    DIR *folder = opendir(path);
    if (!folder)
        return -errno;
    for (struct dirent *entry; (entry = readdir(folder));) {
        char name[FT_SPOOL_PATH_MAX + 512];
        struct stat status;
        if (!ft_spool_is_trace(entry->d_name) ||
            fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(status.st_mode))
            continue;
        int64_t written_ns = written_ns_of(&status);
        job->files++;
        job->bytes += (uint64_t)status.st_size;
        job->newest_ns = written_ns > job->newest_ns ? written_ns : job->newest_ns;
        snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        if (running)
            read_heads(name, &status, now ? now->inode : 0, job);
    }
    closedir(folder);
    return 0;
}

bool ft_spool_measure(const char *path, struct ft_spool_job *job)
{
    return measure(path, NULL, job) == 0;
}

struct ft_spool_job *ft_spool_add(struct ft_spool_list *list)
{
    if (list->count == list->room) {
        size_t room = list->room ? list->room * 2 : 64;
        struct ft_spool_job *jobs = realloc(list->jobs, room * sizeof(*jobs));
        if (!jobs)
            return NULL;
        list->jobs = jobs;
        list->room = room;
    }
    struct ft_spool_job *job = &list->jobs[list->count++];
    memset(job, 0, sizeof(*job));
    return job;
}

static int list_user(const char *spool_dir, uint32_t uid, const struct ft_spool_list *running,
                     struct ft_spool_list *list)
{
    char path[FT_SPOOL_PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/%" PRIu32, spool_dir, uid);
    DIR *jobs = opendir(path);
    int r = jobs || errno == ENOENT ? 0 : -errno;
    for (struct dirent *entry; r == 0 && jobs && (entry = readdir(jobs));) {
        if (entry->d_name[0] == '.')
            continue;
        struct ft_spool_job *job = ft_spool_add(list);
        if (!job) {
            r = -ENOMEM;
            break;
        }
        job->uid = uid;
        snprintf(job->folder, sizeof(job->folder), "%s", entry->d_name);
        snprintf(job->job, sizeof(job->job), "%.*s", FT_IDENTITY_JOB_MAX, entry->d_name);
        snprintf(path + n, sizeof(path) - (size_t)n, "/%s", entry->d_name);
        // Without a file there is nothing to tell: it is being made, or a job's whose file was removed by hand.
        int error = measure(path, running, job);
        if (error < 0 || !job->files)
            list->count--;
        r = is_shortage(error) ? error : 0;
    }
    if (jobs)
        closedir(jobs);
    return r;
}

static bool uid_of(const char *name, uint32_t *uid)
{
    char *end;
    unsigned long number = strtoul(name, &end, 10);
    *uid = (uint32_t)number;
    return name[0] >= '0' && name[0] <= '9' && !*end && number < UINT32_MAX;
}

int ft_spool_list(const char *spool_dir, uint32_t uid, const struct ft_spool_list *running, struct ft_spool_list *out)
{
    *out = (struct ft_spool_list){.jobs = NULL};
    if (uid != UINT32_MAX)
        return list_user(spool_dir, uid, running, out);
    DIR *users = opendir(spool_dir);
    int r = users ? 0 : -errno;
    for (struct dirent *entry; r == 0 && (entry = readdir(users));)
        if (uid_of(entry->d_name, &uid))
            r = list_user(spool_dir, uid, running, out);
    if (users)
        closedir(users);
    return r;
}

void ft_spool_list_fini(struct ft_spool_list *list)
{
    free(list->jobs);
    *list = (struct ft_spool_list){.jobs = NULL};
}

struct ft_spool_job *ft_spool_find(const struct ft_spool_list *list, uint32_t uid, const char *folder)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->jobs[i].uid == uid && strcmp(list->jobs[i].folder, folder) == 0)
            return &list->jobs[i];
    return NULL;
}
