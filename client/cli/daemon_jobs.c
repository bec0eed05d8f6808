// SPDX-License-Identifier: MIT
#include "client/cli/daemon_jobs.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/cli/cli.h"
#include "client/cli/daemon_ask.h"
#include "proto/ring.h"

/* More than any node's jobs need. */
#define JOBS_BYTES_MAX ((off_t)256 << 20)

static struct ft_attach question_of(enum ft_message kind)
{
    return (struct ft_attach){
        .magic = FT_ATTACH_MAGIC, .kind = kind, .abi_major = FT_RING_ABI_MAJOR, .abi_minor = FT_RING_ABI_MINOR};
}

static Flowtap__Jobs *read_jobs(int fd)
{
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size < 0 ||
        status.st_size > JOBS_BYTES_MAX) {
        return NULL;
    }
    size_t bytes = (size_t)status.st_size, used = 0;
    uint8_t *packed = ft_cli_alloc(bytes + 1);
    while (used < bytes) {
        ssize_t n = pread(fd, packed + used, bytes - used, (off_t)used);
        if (n <= 0) {
            break;
        }
        used += (size_t)n;
    }
    Flowtap__Jobs *jobs = used == bytes ? flowtap__jobs__unpack(NULL, bytes, packed) : NULL;
    free(packed);
    return jobs;
}

int ft_ask_jobs(const char *socket, Flowtap__Jobs **jobs)
{
    const struct ft_attach question = question_of(FT_MESSAGE_JOBS);
    uint8_t count[8];
    int fd;
    ssize_t n = ft_ask_with_fd(socket, &question, count, sizeof(count), &fd);
    *jobs = n > 0 ? read_jobs(fd) : NULL;
    if (fd >= 0) {
        close(fd);
    }
    if (n < 0) {
        return (int)n;
    }
    return *jobs ? 0 : -EBADMSG;
}

int ft_ask_file(const char *socket, const Flowtap__Jobs__Job *job, uint32_t at, Flowtap__TraceFile **file, int *fd)
{
    struct ft_attach question = question_of(FT_MESSAGE_FETCH);
    uint8_t bytes[1024];
    question.segment_bytes = job->id;
    question.pid = job->uid;
    question.flags = at;
    ssize_t n = ft_ask_with_fd(socket, &question, bytes, sizeof(bytes), fd);
    *file = n > 0 ? flowtap__trace_file__unpack(NULL, (size_t)n, bytes) : NULL;
    if (*file) {
        return 0;
    }
    if (*fd >= 0) {
        close(*fd);
    }
    *fd = -1;
    return n < 0 ? (int)n : -EBADMSG;
}

const char *ft_ask_job_state(const Flowtap__Jobs__Job *job)
{
    return job->is_running ? "running" : job->open_files ? "unclosed" : "finished";
}

char *ft_ask_user_name(uint32_t uid)
{
    const struct passwd *entry = getpwuid(uid);
    return entry ? ft_cli_strdup(entry->pw_name) : ft_cli_format("%u", uid);
}
