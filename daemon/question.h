// SPDX-License-Identifier: MIT
//
// A question that a thread of its own answers (aside.h), since its answer needs the disk, names of groups, or long: who
// asks, on which connection, and how many are answered at a time, in all (max_questions) and for one user
// (max_questions_per_user). So nobody who asks and asks leaves others without an answer, and no pass waits for one.
//
// The loop begins and ends it; between, it is its thread's. What the kind of question has of its own stands behind it, in
// a struct whose first member it is.
#ifndef FT_DAEMON_QUESTION_H
#define FT_DAEMON_QUESTION_H

#include <sys/socket.h>

#include "daemon/aside.h"
#include "proto/control.h"

struct ft_daemon;

struct ft_question {
    struct ft_aside aside;
    struct ft_daemon *daemon;
    struct ft_question *next; // being answered, too
    int fd;                   // of the connection
    struct ucred peer;
    struct ft_attach asked;
    void (*answer)(struct ft_question *question); // on its thread
    void (*after)(struct ft_question *question);  // on the loop, once it is answered; NULL: nothing to do
    void (*fini)(struct ft_question *question);   // releases what is its own
};

// Makes one of `bytes`, zeroed behind what is this header's, with a connection of its own; `socket_fd` stays the
// caller's. NULL, and counted, where it is over a limit or cannot be had: who asks is told (refusal.h).
struct ft_question *ft_question_create(struct ft_daemon *daemon, int socket_fd, const struct ucred *peer,
                                       const struct ft_attach *asked, size_t bytes);

// Hands it to a thread, and to `fini` in the end. Its functions are set.
void ft_question_start(struct ft_question *question);

// One that is not answered for want of something is counted, and told: `error` is an errno. Any thread's.
void ft_question_note_unanswered(struct ft_daemon *daemon, int socket_fd, uint32_t uid, int error);

// Instead of starting it.
void ft_question_destroy(struct ft_question *question);

#endif
