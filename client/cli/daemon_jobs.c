// SPDX-License-Identifier: MIT
#include "client/cli/daemon_jobs.h"

#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include "client/cli/cli.h"
#include "client/cli/daemon_ask.h"

int ft_ask_jobs(const char *socket, Flowtap__Jobs **jobs)
{
    const struct ft_attach question = ft_ask_question(FT_MESSAGE_JOBS);
    ProtobufCMessage *reply = NULL;
    int error = ft_ask_memory(socket, &question, &flowtap__jobs__descriptor, &reply);
    *jobs = (Flowtap__Jobs *)(void *)reply;
    return error;
}

int ft_ask_file(const char *socket, const Flowtap__Jobs__Job *job, uint32_t at, Flowtap__TraceFile **file, int *fd)
{
    struct ft_attach question = ft_ask_question(FT_MESSAGE_FETCH);
    uint8_t bytes[1024];
    question.segment_bytes = job->id;
    question.pid = job->uid;
    question.flags = at;
    ProtobufCMessage *reply = NULL;
    ssize_t n = ft_ask_with_fd(socket, &question, bytes, sizeof(bytes), fd);
    int error = n < 0 ? (int)n : ft_ask_unpack(&flowtap__trace_file__descriptor, bytes, (size_t)n, &reply);
    *file = (Flowtap__TraceFile *)(void *)reply;
    if (error == 0) {
        return 0;
    }
    if (*fd >= 0) {
        close(*fd);
    }
    *fd = -1;
    return error;
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
