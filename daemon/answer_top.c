// SPDX-License-Identifier: MIT
#include "daemon/answer_top.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/answer_with.h"
#include "daemon/daemon.h"
#include "daemon/question.h"
#include "daemon/refusal.h"
#include "daemon/stored_name.h"
#include "proto/calls.h"

// Somebody watches for so long after a question, beyond when the next is to come.
#define WATCH_NS INT64_C(5000000000)
#define INTERVAL_MAX_NS INT64_C(3600000000000)
// As many rows as a node may have processes.
#define ROWS_MAX 16384u

struct one_job {
    struct ft_live_picture *picture; // NULL: there is none yet
    uint32_t uid, processes;
    uint64_t id;
    char name[FT_IDENTITY_JOB_MAX + 1];
};

struct asked {
    struct ft_question base;
    bool sees_all;
    int64_t now_ns;
    struct one_job *jobs;
    size_t count;
};

// An answer under construction.
struct answer {
    Flowtap__Top message;
    Flowtap__Top__Row *rows, **pointers;
    size_t room;
    char (*calls)[32]; // names of calls that have none
};

static ProtobufCBinaryData bytes_of(const char *text)
{
    return (ProtobufCBinaryData){strlen(text), (uint8_t *)(uintptr_t)text};
}

static ProtobufCBinaryData text_of(const struct ft_live_picture *picture, struct ft_live_text text)
{
    return (ProtobufCBinaryData){text.bytes, text.bytes ? picture->text.data + text.at : NULL};
}

static void put_call(struct answer *answer, Flowtap__Top__Row *row, const struct ft_live_picture *picture,
                     const struct ft_live_row *from)
{
    const char *name = ft_call_name(from->call);
    char *own = answer->calls[row - answer->rows];
    if (!from->call)
        return;
    if (!name)
        snprintf(own, sizeof(answer->calls[0]), "call %u", from->call);
    row->call = bytes_of(name ? name : own);
    row->call_path = text_of(picture, from->call_path);
    row->call_ns = (uint64_t)from->call_ns;
}

static Flowtap__Top__Row *put_row(struct answer *answer, const struct one_job *job, const struct ft_live_row *from,
                                  int64_t now_ns)
{
    Flowtap__Top__Row *row = &answer->rows[answer->message.n_rows];
    answer->pointers[answer->message.n_rows++] = row;
    flowtap__top__row__init(row);
    row->job_id = job->id;
    row->job = bytes_of(job->name);
    row->uid = job->uid;
    row->since_ns = row->as_of_ns = now_ns;
    if (!from)
        return row;
    row->id = from->id;
    row->name = text_of(job->picture, from->name);
    row->pid = from->pid;
    row->ops = from->sum.ops;
    row->read_bytes = from->sum.read_bytes;
    row->written_bytes = from->sum.written_bytes;
    row->io_ns = from->sum.io_ns;
    row->since_ns = from->since_ns;
    // Where nothing is left that could do something, what is known goes on holding.
    row->as_of_ns = job->processes ? job->picture->as_of_ns : now_ns;
    row->events = from->events;
    row->dropped = from->dropped;
    put_call(answer, row, job->picture, from);
    return row;
}

static size_t rows_of(const struct one_job *job, uint32_t view, const struct ft_live_row **rows)
{
    const struct ft_live_picture *picture = job->picture;
    *rows = !picture ? NULL : view == FT_TOP_FILES ? picture->files : picture->processes;
    return !picture ? 0 : view == FT_TOP_FILES ? picture->file_count : picture->process_count;
}

static void put_job(struct answer *answer, const struct asked *asked, const struct one_job *job)
{
    uint32_t view = asked->base.asked.flags;
    const struct ft_live_row *rows;
    if (view == FT_TOP_JOBS && answer->message.n_rows == answer->room)
        return;
    if (view == FT_TOP_JOBS) {
        put_row(answer, job, job->picture ? &job->picture->job : NULL, asked->now_ns)->processes = job->processes;
        return;
    }
    size_t count = rows_of(job, view, &rows);
    for (size_t i = 0; i < count; i++)
        if (answer->message.n_rows < answer->room)
            put_row(answer, job, &rows[i], asked->now_ns);
        else if (view == FT_TOP_PROCESSES)
            answer->message.processes_left_out++;
        else
            answer->message.calls_left_out += rows[i].sum.ops;
    if (!job->picture)
        return;
    answer->message.processes_left_out += view == FT_TOP_PROCESSES ? job->picture->processes_left_out : 0;
    answer->message.calls_left_out += view == FT_TOP_FILES ? job->picture->calls_left_out : 0;
}

static void answer_rows(struct asked *asked)
{
    struct answer answer = {.room = asked->count + 1};
    const struct ft_live_row *rows;
    for (size_t i = 0; i < asked->count; i++)
        answer.room += rows_of(&asked->jobs[i], asked->base.asked.flags, &rows);
    answer.room = answer.room < ROWS_MAX ? answer.room : ROWS_MAX;
    flowtap__top__init(&answer.message);
    answer.rows = calloc(answer.room, sizeof(*answer.rows));
    answer.pointers = calloc(answer.room, sizeof(*answer.pointers));
    answer.calls = calloc(answer.room, sizeof(*answer.calls));
    if (answer.rows && answer.pointers && answer.calls) {
        for (size_t i = 0; i < asked->count; i++)
            if (asked->sees_all || asked->jobs[i].uid == asked->base.peer.uid)
                put_job(&answer, asked, &asked->jobs[i]);
        answer.message.rows = answer.pointers;
        answer.message.host = bytes_of(asked->base.daemon->host);
        answer.message.now_ns = asked->now_ns;
        ft_answer_send_memory(&asked->base, &answer.message.base, answer.message.n_rows);
    } else {
        ft_question_note_unanswered(asked->base.daemon, asked->base.fd, asked->base.peer.uid, ENOMEM);
    }
    free(answer.rows);
    free(answer.pointers);
    free(answer.calls);
}

static void answer(struct ft_question *question)
{
    struct asked *asked = (struct asked *)question;
    asked->sees_all = ft_answer_sees_all(question->daemon, question->fd, &question->peer);
    answer_rows(asked);
}

static void asked_fini(struct ft_question *question)
{
    struct asked *asked = (struct asked *)question;
    for (size_t i = 0; i < asked->count; i++)
        if (asked->jobs[i].picture)
            ft_live_give_back(asked->jobs[i].picture);
    free(asked->jobs);
}

// From now on what he may see is added up.
static void watch(struct ft_question *question)
{
    const struct asked *asked = (struct asked *)question;
    int64_t interval_ns = asked->base.asked.segment_bytes < (uint64_t)INTERVAL_MAX_NS
                              ? (int64_t)asked->base.asked.segment_bytes
                              : INTERVAL_MAX_NS;
    int64_t until_ns = ft_clock_mono_ns() + interval_ns + WATCH_NS;
    for (struct ft_job *job = question->daemon->jobs; job; job = job->next)
        if ((asked->sees_all || job->uid == asked->base.peer.uid) && atomic_load(&job->live.until_ns) < until_ns)
            atomic_store(&job->live.until_ns, until_ns);
}

static int take_pictures(struct ft_daemon *daemon, struct asked *asked)
{
    char folder[FT_IDENTITY_JOB_MAX + 1];
    asked->jobs = calloc(daemon->job_count + 1, sizeof(*asked->jobs));
    if (!asked->jobs)
        return -1;
    for (struct ft_job *job = daemon->jobs; job && asked->count < daemon->job_count; job = job->next) {
        struct one_job *one = &asked->jobs[asked->count++];
        ft_storage_job_folder(job, folder, sizeof(folder));
        *one = (struct one_job){.picture = ft_live_take(job),
                                .uid = job->uid,
                                .processes = job->process_count,
                                .id = ft_stored_name_folder(folder)};
        snprintf(one->name, sizeof(one->name), "%s", job->identity.job);
    }
    return 0;
}

void ft_answer_top(struct ft_daemon *daemon, int socket_fd, const struct ucred *peer, const struct ft_attach *question)
{
    if (question->flags >= FT_TOP_VIEWS) {
        ft_refusal_send(socket_fd, FT_REFUSAL_UNKNOWN);
        return;
    }
    struct asked *asked = (struct asked *)ft_question_create(daemon, socket_fd, peer, question, sizeof(struct asked));
    if (!asked)
        return;
    asked->now_ns = ft_clock_mono_ns();
    asked->base.answer = answer;
    asked->base.after = watch;
    asked->base.fini = asked_fini;
    if (take_pictures(daemon, asked) == 0) {
        ft_question_start(&asked->base);
        return;
    }
    ft_question_note_unanswered(daemon, socket_fd, peer->uid, ENOMEM);
    ft_question_destroy(&asked->base);
}
