// SPDX-License-Identifier: MIT
#include "daemon/log.h"

#define SD_JOURNAL_SUPPRESS_LOCATION // it would always be this file
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <systemd/sd-journal.h>
#include <time.h>
#include <unistd.h>

#define SITE_INTERVAL_NS (60 * INT64_C(1000000000))

static int log_level = FT_LOG_INFO;
static bool log_to_journal;
static pthread_mutex_t site_lock = PTHREAD_MUTEX_INITIALIZER;

static const struct {
    const char *word;
    int level;
} levels[] = {
    {"err", FT_LOG_ERR},
    {"warning", FT_LOG_WARNING},
    {"info", FT_LOG_INFO},
    {"debug", FT_LOG_DEBUG},
};

int ft_log_level_parse(const char *word)
{
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
        if (strcmp(levels[i].word, word) == 0)
            return levels[i].level;
    return -1;
}

// JOURNAL_STREAM is inherited by everything below a service: it holds where it names our own stderr.
static bool is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    unsigned long long device, inode;
    struct stat status;
    return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 && fstat(STDERR_FILENO, &status) == 0 &&
           status.st_dev == device && status.st_ino == inode;
}

void ft_log_init(int level)
{
    log_level = level;
    log_to_journal = is_journal();
}

// Fields of one message: each is "NAME=value" in `text`.
struct fields {
    struct iovec list[8];
    int count;
    char text[512];
    size_t used;
};

__attribute__((format(printf, 2, 3))) static void add_field(struct fields *fields, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    size_t room = sizeof(fields->text) - fields->used;
    int n = vsnprintf(fields->text + fields->used, room, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= room)
        return;
    fields->list[fields->count++] = (struct iovec){fields->text + fields->used, (size_t)n};
    fields->used += (size_t)n;
}

static void send_to_journal(int level, const struct ft_log_about *about, const char *text)
{
    static const char *const ids[] = {[FT_LOG_PLAIN] = NULL,
#define X(name, id, help) [FT_LOG_##name] = (id),
                                      FT_LOG_MESSAGES(X)
#undef X
    };
    struct fields fields = {.count = 0};
    char message[1100];
    int n = snprintf(message, sizeof(message), "MESSAGE=%s", text);
    fields.list[fields.count++] = (struct iovec){message, (size_t)n};
    add_field(&fields, "PRIORITY=%d", level);
    if (ids[about->message])
        add_field(&fields, "MESSAGE_ID=%s", ids[about->message]);
    if (about->job)
        add_field(&fields, "FLOWTAP_JOB=%s", about->job);
    if (about->has_uid)
        add_field(&fields, "FLOWTAP_UID=%u", about->uid);
    if (about->pid)
        add_field(&fields, "FLOWTAP_PID=%u", about->pid);
    sd_journal_sendv(fields.list, fields.count);
}

void ft_log_config(bool is_error, const char *text)
{
    ft_log_about(is_error ? FT_LOG_ERR : FT_LOG_WARNING, FT_LOG_ABOUT(.message = FT_LOG_BAD_CONFIG), "%s", text);
}

void ft_log_about(int level, const struct ft_log_about *about, const char *format, ...)
{
    if (level > log_level)
        return;
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (log_to_journal)
        send_to_journal(level, about, text);
    else
        fprintf(stderr, "flowtapd: %s\n", text);
}

int64_t ft_log_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

bool ft_log_site_may_speak(struct ft_log_site *site, int64_t now_ns, uint64_t *left_out)
{
    pthread_mutex_lock(&site_lock);
    bool may_speak = site->next_ns <= now_ns;
    *left_out = site->left_out;
    if (may_speak) {
        site->next_ns = now_ns + SITE_INTERVAL_NS;
        site->left_out = 0;
    } else {
        site->left_out++;
    }
    pthread_mutex_unlock(&site_lock);
    return may_speak;
}
