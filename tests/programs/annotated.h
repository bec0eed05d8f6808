// SPDX-License-Identifier: MIT
/*
 * A test program's own account of its spans, instants and counters: a JSON line for each into the file $ANNOTATED_LOG,
 * written by system calls made here, so that the account is in no trace. tests/integration/annotated.py compares it with
 * the trace. Each has a number of its own ("seq") and says in which span it stands.
 */
#ifndef FT_TEST_ANNOTATED_H
#define FT_TEST_ANNOTATED_H

#include "flowtap.h"
#include "record.h"

#include <fcntl.h>

static int log_fd = -1;
static int64_t next_seq = 1;

static inline void log_open(void)
{
    const char *path = getenv("ANNOTATED_LOG");
    if (path != NULL)
        log_fd = (int)raw_call(RAW_FCNTL,
                               raw_call(RAW_OPENAT, AT_FDCWD, (long)path, O_WRONLY | O_CREAT | O_APPEND, 0644, 0, 0),
                               F_DUPFD, 500, 0, 0, 0);
}

/* For a line of the account: which thread writes it, and what has been counted so far. */
struct logged {
    int64_t seq, parent, before, after;
    char args[1500], tags[300];
};

static inline int64_t log_seq(void)
{
    return __atomic_fetch_add(&next_seq, 1, __ATOMIC_RELAXED);
}

/*
 * What was measured around and inside of a span are the bounds of its duration. The text of an argument may not need
 * escaping.
 */
static inline void log_event(const char *kind, const char *category, const char *name, const struct logged *one,
                             int64_t outer, int64_t inner)
{
    char text[3000];
    int n =
        snprintf(text, sizeof(text),
                 "{\"kind\":\"%s\",\"cat\":\"%s\",\"name\":\"%s\",\"seq\":%lld,\"parent\":%lld,\"pid\":%ld,\"tid\":%ld,"
                 "\"outer\":%lld,\"inner\":%lld,\"args\":{%s},\"tags\":{%s}}\n",
                 kind, category, name, (long long)one->seq, (long long)one->parent, raw_getpid(),
                 raw_call(RAW_GETTID, 0, 0, 0, 0, 0, 0), (long long)outer, (long long)inner, one->args, one->tags);
    if (n < (int)sizeof(text))
        raw_call(RAW_WRITE, log_fd, (long)text, n, 0, 0, 0);
}

/* A span with its number as an argument; `seq` is what stands inside of it. */
static inline void span_begin(flowtap_span *span, struct logged *one, int64_t parent, const char *tags,
                              const char *category, const char *name)
{
    one->seq = log_seq();
    one->parent = parent;
    snprintf(one->tags, sizeof(one->tags), "%s", tags);
    snprintf(one->args, sizeof(one->args), "\"seq\":%lld", (long long)one->seq);
    one->before = record_now();
    flowtap_begin(span, category, name);
    one->after = record_now();
    flowtap_arg_integer(span, "seq", one->seq);
}

static inline void span_end(flowtap_span *span, const struct logged *one, const char *category, const char *name)
{
    int64_t before = record_now();
    flowtap_end(span);
    log_event("span", category, name, one, record_now() - one->before, before - one->after);
}

#endif
