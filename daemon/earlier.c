// SPDX-License-Identifier: MIT
#include "daemon/earlier.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/daemon.h"
#include "daemon/readback.h"
#include "proto/trace_reader.h"

// Tables of a file that was not closed, which rotation bounds; of what is larger the events are not counted.
#define MEMORY_MORE ((size_t)128 << 20)

// Jobs whose names make the same folder are told apart by the header.
static bool is_of_job(const char *path, const struct ft_job *job)
{
    struct ft_trace_reader *reader;
    if (ft_readback_peek(path, &reader) < 0)
        return false;
    const struct ft_trace_header *header = ft_trace_reader_header(reader);
    bool is_same = header->uid == job->uid && header->job.id.len == strlen(job->identity.job) &&
                   memcmp(header->job.id.data, job->identity.job, header->job.id.len) == 0;
    ft_trace_reader_close(reader);
    return is_same;
}

static void add_file(struct ft_job *job, const char *path)
{
    struct stat status;
    uint64_t rows;
    if (stat(path, &status) < 0 || !is_of_job(path, job))
        return;
    size_t memory_max = (size_t)job->daemon->config.rotate_memory_bytes + MEMORY_MORE;
    job->bytes_before += (uint64_t)status.st_size;
    if (ft_readback_rows(path, memory_max, &rows) == 0)
        job->events += rows;
}

// The files of this host and boot have its name and that, then a number.
void ft_earlier_count(struct ft_job *job)
{
    const struct ft_storage *storage = &job->storage;
    char folder[sizeof(storage->path)], path[sizeof(storage->path) + 256], prefix[256];
    if (job->has_earlier || job->daemon->config.private || !storage->part)
        return;
    job->has_earlier = true;
    snprintf(folder, sizeof(folder), "%s", storage->path);
    char *slash = strrchr(folder, '/');
    if (!slash)
        return;
    *slash = '\0';
    int length = snprintf(prefix, sizeof(prefix), "%.200s-%.8s-", job->daemon->host, job->daemon->boot_id);
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        char *end;
        if (strncmp(entry->d_name, prefix, (size_t)length) != 0)
            continue;
        unsigned long number = strtoul(entry->d_name + length, &end, 10);
        if (end == entry->d_name + length || strcmp(end, ".flow") != 0 || number >= storage->first_number)
            continue;
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        add_file(job, path);
    }
    if (entries)
        closedir(entries);
}
