// SPDX-License-Identifier: MIT
//
// A question that a worker answers, since its answer needs the disk, names of groups, or long: who asks, on which
// connection, and how many are answered at a time, in all (max_questions) and for one user (max_questions_per_user). So
// nobody who asks and asks leaves others without an answer. Workers are those of the passes, too: as many slow questions
// as there are workers hold the passes up until one is answered.
//
// The loop begins and ends it; between, it is a worker's. What the kind of question has of its own stands behind it, in a
// struct whose first member it is.
#ifndef FT_DAEMON_QUESTION_H
#define FT_DAEMON_QUESTION_H

#include <sys/socket.h>
#include <uv.h>

#include "proto/control.h"

struct ft_daemon;

struct ft_question {
    uv_work_t work;
    struct ft_daemon *daemon;
    struct ft_question *next; // being answered, too
    int fd;                   // of the connection
    struct ucred peer;
    struct ft_attach asked;
    void (*answer)(struct ft_question *question); // on a worker
    void (*after)(struct ft_question *question);  // on the loop, once it is answered; NULL: nothing to do
    void (*fini)(struct ft_question *question);   // releases what is its own
};

// Makes one of `bytes`, zeroed behind what is this header's, with a connection of its own; `socket_fd` stays the
// caller's. NULL, and counted, where it is over a limit or cannot be had: who asks sees its connection end.
struct ft_question *ft_question_create(struct ft_daemon *daemon, int socket_fd, const struct ucred *peer,
                                       const struct ft_attach *asked, size_t bytes);

// Hands it to a worker, and to `fini` in the end. Its functions are set.
void ft_question_start(struct ft_question *question);

// Instead of starting it.
void ft_question_destroy(struct ft_question *question);

#endif
