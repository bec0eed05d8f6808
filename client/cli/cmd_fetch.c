// SPDX-License-Identifier: MIT
/* flowtap fetch: copies the trace of one's own job from the daemon's spool. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/cli/cli.h"
#include "client/cli/daemon_ask.h"
#include "client/cli/daemon_jobs.h"
#include "client/cli/daemon_report.h"

struct values {
    const char *output, *socket, *user;
};

static const struct ft_option options[] = {
    {FT_OPTION_STRING, 'o', "output", "DIR", "folder for the copy (default: flowtap-JOB)",
     offsetof(struct values, output), NULL},
    {FT_OPTION_STRING, 0, "user", "NAME", "whose job; needed where several users have one of this name",
     offsetof(struct values, user), NULL},
    FT_OPTION_SOCKET(struct values, socket),
};

enum { COPY_BYTES = 1 << 18 };

static bool is_user(uint32_t uid, const char *wanted)
{
    char *name = ft_ask_user_name(uid), number[16];
    snprintf(number, sizeof(number), "%u", uid);
    bool is_one = !wanted || strcmp(wanted, name) == 0 || strcmp(wanted, number) == 0;
    free(name);
    return is_one;
}

/* The only job of that name; NULL after a message. */
static const Flowtap__Jobs__Job *find_job(const Flowtap__Jobs *jobs, const char *name, const char *user)
{
    const Flowtap__Jobs__Job *found = NULL;
    for (size_t i = 0; i < jobs->n_jobs; i++) {
        const Flowtap__Jobs__Job *job = jobs->jobs[i];
        bool is_one = job->job.len == strlen(name) && memcmp(job->job.data, name, job->job.len) == 0;
        if (!is_one || !is_user(job->uid, user)) {
            continue;
        }
        if (found) {
            ft_cli_fail("%s: several users have such a job; say which with --user", name);
            return NULL;
        }
        found = job;
    }
    if (!found) {
        ft_cli_fail("%s: there is no such job here, or it is another user's; `flowtap jobs` lists yours", name);
    }
    return found;
}

static int copy(int from, int to)
{
    char *bytes = ft_cli_alloc(COPY_BYTES);
    ssize_t n;
    int error = 0;
    for (off_t at = 0; error == 0 && (n = pread(from, bytes, COPY_BYTES, at)) != 0;) {
        if (n < 0) {
            error = errno == EINTR ? 0 : -errno;
            continue;
        }
        at += n;
        for (ssize_t done = 0, written; error == 0 && done < n; done += written > 0 ? written : 0) {
            written = write(to, bytes + done, (size_t)(n - done));
            error = written < 0 && errno != EINTR ? -errno : 0;
        }
    }
    free(bytes);
    return error;
}

/* A name from the daemon is a name in our folder, and nothing else. */
static bool is_plain_name(const ProtobufCBinaryData *name)
{
    static const char end[] = ".flow";
    size_t end_bytes = sizeof(end) - 1;
    return name->len > end_bytes && name->len < 256 && name->data[0] != '.' && !memchr(name->data, '/', name->len) &&
           !memchr(name->data, '\0', name->len) && memcmp(name->data + name->len - end_bytes, end, end_bytes) == 0;
}

/* It has its name when it is whole. */
static int copy_to(int folder, const ProtobufCBinaryData *name, int from)
{
    char *path = ft_cli_format("%.*s", (int)name->len, (const char *)name->data);
    char *part = ft_cli_format(".%s.part", path);
    int to = openat(folder, part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    int error = to < 0 ? -errno : copy(from, to);
    if (to >= 0 && close(to) < 0 && error == 0) {
        error = -errno;
    }
    if (error == 0 && renameat(folder, part, folder, path) < 0) {
        error = -errno;
    }
    if (error != 0 && to >= 0) {
        unlinkat(folder, part, 0);
    }
    free(path);
    free(part);
    return error;
}

/* 0 or a status after a message; *count says how many files the job has by now. */
static int fetch_file(const char *socket, const Flowtap__Jobs__Job *job, uint32_t at, int folder, const char *output,
                      uint32_t *count)
{
    Flowtap__TraceFile *file;
    int fd, error = ft_ask_file(socket, job, at, &file, &fd);
    if (error != 0) {
        return ft_cli_fail("%s: %s", socket, ft_ask_explain(error));
    }
    *count = file->count;
    int status = 0;
    if (fd >= 0) {
        error = is_plain_name(&file->name) ? copy_to(folder, &file->name, fd) : -EBADMSG;
        status = error ? ft_cli_fail("%s: cannot be written: %s", output, strerror(-error)) : 0;
        close(fd);
    } else if (at < *count) {
        status = ft_cli_fail("%s: the daemon cannot open file %u of the job", socket, at + 1);
    }
    flowtap__trace_file__free_unpacked(file, NULL);
    return status;
}

static int fetch_to(const char *socket, const Flowtap__Jobs__Job *job, const char *output)
{
    if (mkdir(output, 0777) < 0 && errno != EEXIST) {
        return ft_cli_fail("%s: cannot be made: %s", output, strerror(errno));
    }
    int folder = open(output, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        return ft_cli_fail("%s: cannot be written to: %s", output, strerror(errno));
    }
    uint32_t count = 1;
    int status = 0;
    for (uint32_t at = 0; status == 0 && at < count; at++) {
        status = fetch_file(socket, job, at, folder, output, &count);
    }
    if (status == 0 && count == 0) { /* a daemon that knows no refusals (proto/control.h) says it so */
        status = ft_cli_fail("%s: %s", socket, ft_ask_explain(-ENODATA));
    }
    close(folder);
    return status;
}

static int run(const void *given, const struct ft_strings *operands)
{
    const struct values *values = given;
    const char *socket = ft_ask_socket_path(values->socket), *name = operands->items[0];
    Flowtap__Jobs *jobs;
    int error = ft_ask_jobs(socket, &jobs);
    if (error != 0) {
        return ft_cli_fail("%s: %s", socket, ft_ask_explain(error));
    }
    const Flowtap__Jobs__Job *job = find_job(jobs, name, values->user);
    int status = FT_STATUS_FAILED;
    if (job) {
        char *output = values->output ? ft_cli_strdup(values->output) : ft_cli_format("flowtap-%s", name);
        for (char *c = output; !values->output && *c; c++) {
            *c = *c == '/' ? '_' : *c;
        }
        status = fetch_to(socket, job, output);
        if (status == 0 && job->is_running) {
            ft_cli_warn("%s: the job still runs: this is what it has written by now", name);
        }
        free(output);
    }
    flowtap__jobs__free_unpacked(jobs, NULL);
    return ft_cli_finish_output(status);
}

const struct ft_command ft_command_fetch = {
    .name = "fetch",
    .arguments = "JOB",
    .summary = "copies the trace of one's own job from the daemon",
    .options = options,
    .option_count = sizeof(options) / sizeof(options[0]),
    .operands_min = 1,
    .operands_max = 1,
    .operand_missing = "which job? `flowtap jobs` lists them",
    .values_bytes = sizeof(struct values),
    .run = run,
};
