// SPDX-License-Identifier: MIT
#include "daemon/answer_jobs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/answer_with.h"
#include "daemon/daemon.h"
#include "daemon/question.h"
#include "daemon/refusal.h"
#include "daemon/stored_name.h"
#include "proto/status.pb-c.h"

enum { NAME_BYTES = 256 };

struct asked {
    struct ft_question base;
    struct ft_spool_list running;
};

static bool sees_all(const struct asked *asked)
{
    return ft_answer_sees_all(asked->base.daemon, asked->base.fd, &asked->base.peer);
}

static ProtobufCBinaryData bytes_of(const char *text)
{
    return (ProtobufCBinaryData){strlen(text), (uint8_t *)(uintptr_t)text};
}

// Those that run are in the spool as far as they have files.
static void merge_running(struct ft_spool_list *list, const struct ft_spool_list *running)
{
    for (size_t i = 0; i < running->count; i++) {
        const struct ft_spool_job *from = &running->jobs[i];
        struct ft_spool_job *job = ft_spool_find(list, from->uid, from->folder);
        if (!job && (job = ft_spool_add(list)))
            *job = *from;
        else if (job)
            job->events += from->events;
        if (job)
            job->is_running = true;
    }
}

static void fill(Flowtap__Jobs__Job *message, const struct ft_spool_job *job)
{
    flowtap__jobs__job__init(message);
    message->id = ft_stored_name_folder(job->folder);
    message->uid = job->uid;
    message->job = bytes_of(job->job);
    message->is_running = job->is_running;
    message->files = job->files;
    message->open_files = job->open_files;
    message->bytes = job->bytes;
    message->events = job->events;
    message->start_ns = job->start_ns;
    message->written_ns = job->newest_ns;
}

static void answer_list(struct asked *asked)
{
    struct ft_daemon *daemon = asked->base.daemon;
    struct ft_spool_list list;
    uint32_t uid = sees_all(asked) ? UINT32_MAX : asked->base.peer.uid;
    int r = ft_spool_list(daemon->config.spool_dir, uid, &asked->running, &list);
    if (r == -EMFILE || r == -ENFILE || r == -ENOMEM) {
        ft_question_note_unanswered(daemon, asked->base.fd, asked->base.peer.uid, -r);
        ft_spool_list_fini(&list);
        return;
    }
    for (size_t i = 0; i < asked->running.count;)
        if (uid != UINT32_MAX && asked->running.jobs[i].uid != uid)
            asked->running.jobs[i] = asked->running.jobs[--asked->running.count];
        else
            i++;
    merge_running(&list, &asked->running);
    Flowtap__Jobs message = FLOWTAP__JOBS__INIT;
    Flowtap__Jobs__Job *jobs = calloc(list.count + 1, sizeof(*jobs)),
                       **pointers = calloc(list.count + 1, sizeof(*pointers));
    if (jobs && pointers) {
        for (size_t i = 0; i < list.count; i++) {
            fill(&jobs[i], &list.jobs[i]);
            pointers[i] = &jobs[i];
        }
        message.n_jobs = list.count;
        message.jobs = pointers;
        message.host = bytes_of(daemon->host);
        ft_answer_send_memory(&asked->base, &message.base, list.count);
    } else {
        ft_question_note_unanswered(daemon, asked->base.fd, asked->base.peer.uid, ENOMEM);
    }
    free(jobs);
    free(pointers);
    ft_spool_list_fini(&list);
}

// The next entry, or NULL; then *error is 0 at the end.
static struct dirent *next_entry(DIR *folder, int *error)
{
    errno = 0;
    struct dirent *entry = readdir(folder);
    *error = entry ? 0 : errno;
    return entry;
}

// 0, or an errno: where a folder cannot be read, nobody knows what is in it. `out` is "" where there is no such folder.
static int find_folder(const char *user_path, uint64_t id, char *out, size_t room)
{
    DIR *user = opendir(user_path);
    int error = user || errno == ENOENT ? 0 : errno;
    *out = '\0';
    for (struct dirent *entry; user && !*out && (entry = next_entry(user, &error));)
        if (entry->d_name[0] != '.' && ft_stored_name_folder(entry->d_name) == id)
            snprintf(out, room, "%s/%s", user_path, entry->d_name);
    if (user)
        closedir(user);
    return error;
}

// By length first, so that a file that comes later stands behind the others: n counts up.
static int by_number(const void *a, const void *b)
{
    const char *x = a, *y = b;
    size_t x_length = strlen(x), y_length = strlen(y);
    return x_length != y_length ? (x_length > y_length) - (x_length < y_length) : strcmp(x, y);
}

// 0 and *names, to be freed, or an errno: part of a list would be taken for all of it.
static int list_files(const char *path, char (**out)[NAME_BYTES], uint32_t *count)
{
    char(*names)[NAME_BYTES] = NULL;
    size_t room = 0;
    DIR *folder = opendir(path);
    int error = folder || errno == ENOENT ? 0 : errno;
    *count = 0;
    for (struct dirent *entry; folder && (entry = next_entry(folder, &error));) {
        if (!ft_spool_is_trace(entry->d_name))
            continue;
        if (*count == room) {
            room = room ? room * 2 : 16;
            char(*more)[NAME_BYTES] = realloc(names, room * sizeof(*names));
            if (!more) {
                error = ENOMEM;
                break;
            }
            names = more;
        }
        snprintf(names[(*count)++], NAME_BYTES, "%.255s", entry->d_name);
    }
    if (folder)
        closedir(folder);
    if (error) {
        free(names);
        return error;
    }
    if (*count)
        qsort(names, *count, sizeof(*names), by_number);
    *out = names;
    return 0;
}

// File number `flags` of the job's, read-only.
static void answer_file(struct asked *asked)
{
    char user[FT_SPOOL_PATH_MAX], folder[FT_SPOOL_PATH_MAX + NAME_BYTES], path[FT_SPOOL_PATH_MAX + 2 * NAME_BYTES];
    uint32_t uid = asked->base.asked.pid, at = asked->base.asked.flags;
    Flowtap__TraceFile message = FLOWTAP__TRACE_FILE__INIT;
    uint8_t packed[NAME_BYTES + 64];
    int fd = -1, error = 0;
    char(*names)[NAME_BYTES] = NULL;
    snprintf(user, sizeof(user), "%s/%" PRIu32, asked->base.daemon->config.spool_dir, uid);
    bool may = uid == asked->base.peer.uid || sees_all(asked);
    if (may)
        error = find_folder(user, asked->base.asked.segment_bytes, folder, sizeof(folder));
    if (may && error == 0 && *folder)
        error = list_files(folder, &names, &message.count);
    if (error) {
        ft_question_note_unanswered(asked->base.daemon, asked->base.fd, asked->base.peer.uid, error);
        return;
    }
    if (!message.count) {
        ft_refusal_send(asked->base.fd, FT_REFUSAL_NOTHING);
        return;
    }
    if (at < message.count) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[at]);
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        message.name = bytes_of(names[at]);
    }
    ft_answer_send_with(asked->base.fd, packed, flowtap__trace_file__pack(&message, packed), fd);
    if (fd >= 0)
        close(fd);
    free(names);
}

static void answer(struct ft_question *question)
{
    struct asked *asked = (struct asked *)question;
    if (question->asked.kind == FT_MESSAGE_JOBS)
        answer_list(asked);
    else
        answer_file(asked);
}

static void asked_fini(struct ft_question *question)
{
    ft_spool_list_fini(&((struct asked *)question)->running);
}

void ft_answer_jobs(struct ft_daemon *daemon, int socket_fd, const struct ucred *peer, const struct ft_attach *question)
{
    if (daemon->config.private) {
        ft_refusal_send(socket_fd, FT_REFUSAL_PRIVATE);
        return;
    }
    struct asked *asked = (struct asked *)ft_question_create(daemon, socket_fd, peer, question, sizeof(struct asked));
    if (!asked)
        return;
    asked->base.answer = answer;
    asked->base.fini = asked_fini;
    if (question->kind == FT_MESSAGE_JOBS && ft_job_list_running(daemon, UINT32_MAX, &asked->running) < 0) {
        ft_question_note_unanswered(daemon, socket_fd, peer->uid, ENOMEM);
        ft_question_destroy(&asked->base);
        return;
    }
    ft_question_start(&asked->base);
}
