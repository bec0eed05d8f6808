// SPDX-License-Identifier: MIT
#include "daemon/question.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/refusal.h"

static bool is_over_limit(const struct ft_daemon *daemon, uint32_t uid)
{
    int64_t all = 0, of_user = 0;
    for (const struct ft_question *one = daemon->questions; one; one = one->next) {
        all++;
        of_user += one->peer.uid == uid;
    }
    return all >= daemon->config.max_questions || of_user >= daemon->config.max_questions_per_user;
}

void ft_question_note_unanswered(struct ft_daemon *daemon, int socket_fd, uint32_t uid, int error)
{
    ft_refusal_send(socket_fd, FT_REFUSAL_RESOURCES);
    ft_status_add(&daemon->status, not_answered, 1);
    ft_log_limited_about(FT_LOG_ERR, FT_LOG_ABOUT(FT_LOG_USER(uid)), "user %u: a question is not answered: %s", uid,
                         strerror(error));
}

struct ft_question *ft_question_create(struct ft_daemon *daemon, int socket_fd, const struct ucred *peer,
                                       const struct ft_attach *asked, size_t bytes)
{
    if (is_over_limit(daemon, peer->uid)) {
        ft_refusal_send(socket_fd, FT_REFUSAL_QUESTIONS);
        ft_status_add(&daemon->status, not_answered, 1);
        ft_log_limited_about(FT_LOG_WARNING, FT_LOG_ABOUT(FT_LOG_USER(peer->uid)),
                             "user %u: too many questions at a time; some are not answered", peer->uid);
        return NULL;
    }
    struct ft_question *question = calloc(1, bytes);
    int fd = question ? fcntl(socket_fd, F_DUPFD_CLOEXEC, 3) : -1;
    if (fd < 0) {
        int error = question ? errno : ENOMEM;
        free(question);
        ft_question_note_unanswered(daemon, socket_fd, peer->uid, error);
        return NULL;
    }
    question->daemon = daemon;
    question->peer = *peer;
    question->asked = *asked;
    question->fd = fd;
    return question;
}

void ft_question_destroy(struct ft_question *question)
{
    if (question->fini)
        question->fini(question);
    close(question->fd);
    free(question);
}

static void run(struct ft_aside *aside)
{
    struct ft_question *question = (struct ft_question *)aside;
    question->answer(question);
}

static void after(struct ft_aside *aside)
{
    struct ft_question *question = (struct ft_question *)aside;
    struct ft_question **link = &question->daemon->questions;
    while (*link != question)
        link = &(*link)->next;
    *link = question->next;
    if (aside->error < 0)
        ft_question_note_unanswered(question->daemon, question->fd, question->peer.uid, -aside->error);
    else if (question->after)
        question->after(question);
    ft_question_destroy(question);
}

void ft_question_start(struct ft_question *question)
{
    struct ft_daemon *daemon = question->daemon;
    ft_status_add(&daemon->status, asked, 1);
    question->next = daemon->questions;
    daemon->questions = question;
    question->aside.run = run;
    question->aside.after = after;
    ft_aside_start(&daemon->loop, &question->aside);
}
