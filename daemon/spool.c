// SPDX-License-Identifier: MIT
#include "daemon/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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

static void read_heads(const char *path, struct ft_spool_job *job)
{
    struct ft_trace_reader *reader;
    uint64_t rows, profiled;
    if (ft_readback_closed_rows(path, &rows, &profiled) == 0)
        job->events += rows + profiled;
    else
        job->open_files++;
    if (ft_readback_peek(path, &reader) < 0)
        return;
    const struct ft_trace_header *header = ft_trace_reader_header(reader);
    if (!job->start_ns || header->created_ns < job->start_ns)
        job->start_ns = header->created_ns;
    snprintf(job->job, sizeof(job->job), "%.*s", (int)header->job.id.len,
             header->job.id.data ? header->job.id.data : "");
    ft_trace_reader_close(reader);
}

static bool measure(const char *path, bool with_heads, struct ft_spool_job *job)
{
    DIR *folder = opendir(path);
    if (!folder)
        return false;
    for (struct dirent *entry; (entry = readdir(folder));) {
        char name[FT_SPOOL_PATH_MAX + 512];
        struct stat status;
        if (!ft_spool_is_trace(entry->d_name) ||
            fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(status.st_mode))
            continue;
        int64_t written_ns = status.st_mtim.tv_sec * NS_PER_S + status.st_mtim.tv_nsec;
        job->files++;
        job->bytes += (uint64_t)status.st_size;
        job->newest_ns = written_ns > job->newest_ns ? written_ns : job->newest_ns;
        snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        if (with_heads)
            read_heads(name, job);
    }
    closedir(folder);
    return true;
}

bool ft_spool_measure(const char *path, struct ft_spool_job *job)
{
    return measure(path, false, job);
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

static int list_user(const char *spool_dir, uint32_t uid, bool with_heads, struct ft_spool_list *list)
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
        if (!measure(path, with_heads, job) || !job->files)
            list->count--;
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

int ft_spool_list(const char *spool_dir, uint32_t uid, bool with_heads, struct ft_spool_list *out)
{
    *out = (struct ft_spool_list){.jobs = NULL};
    if (uid != UINT32_MAX)
        return list_user(spool_dir, uid, with_heads, out);
    DIR *users = opendir(spool_dir);
    int r = users ? 0 : -errno;
    for (struct dirent *entry; r == 0 && (entry = readdir(users));)
        if (uid_of(entry->d_name, &uid))
            r = list_user(spool_dir, uid, with_heads, out);
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
