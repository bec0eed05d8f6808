// SPDX-License-Identifier: MIT
#include "daemon/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-journal.h>
#include <time.h>

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

void ft_log_init(int level)
{
    log_level = level;
    log_to_journal = getenv("JOURNAL_STREAM") && getenv("INVOCATION_ID");
}

void ft_log(int level, const char *format, ...)
{
    if (level > log_level)
        return;
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (log_to_journal)
        sd_journal_print(level, "%s", text);
    else
        fprintf(stderr, "flowtapd: %s\n", text);
}

bool ft_log_site_may_speak(struct ft_log_site *site, uint64_t *left_out)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t now_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
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
