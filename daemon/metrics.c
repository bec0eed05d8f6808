// SPDX-License-Identifier: MIT
#include "daemon/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/answer.h"
#include "daemon/daemon.h"
#include "daemon/log.h"

#define DROPPED "dropped_"
#define NS_PER_S 1e9

// A label's value: backslashes, quotes and line ends are written otherwise.
static void put_label(FILE *out, const char *name, const uint8_t *text, size_t length)
{
    fprintf(out, "%s=\"", name);
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\n')
            fputs("\\n", out);
        else if (text[i] == '\\' || text[i] == '"')
            fprintf(out, "\\%c", text[i]);
        else
            fputc(text[i], out);
    }
    fputc('"', out);
}

static void put_head(FILE *out, const char *name, const char *suffix, const char *type, const char *help)
{
    fprintf(out, "# HELP flowtap_%s%s %s\n# TYPE flowtap_%s%s %s\n", name, suffix, help, name, suffix, type);
}

static bool is_dropped(const char *name)
{
    return strncmp(name, DROPPED, strlen(DROPPED)) == 0;
}

// Causes are one metric with a label, so that they can be added up.
static void put_dropped(FILE *out, const Flowtap__Status *status)
{
    put_head(out, "dropped_events", "_total", "counter",
             "events that happened and are not in the trace one by one, by cause");
    for (size_t i = 0; i < status->n_counters; i++)
        if (is_dropped(status->counters[i]->name))
            fprintf(out, "flowtap_dropped_events_total{cause=\"%s\"} %" PRIu64 "\n",
                    status->counters[i]->name + strlen(DROPPED), status->counters[i]->value);
}

static bool ends_in(const char *name, const char *end)
{
    size_t length = strlen(name), end_length = strlen(end);
    return length >= end_length && strcmp(name + length - end_length, end) == 0;
}

// Times are seconds, whatever the daemon counts in.
static void put_gauge(FILE *out, const Flowtap__Status__Number *gauge)
{
    char name[128];
    snprintf(name, sizeof(name), "%s", gauge->name);
    if (!ends_in(name, "_ns")) {
        put_head(out, name, "", "gauge", gauge->help);
        fprintf(out, "flowtap_%s %" PRIu64 "\n", name, gauge->value);
        return;
    }
    name[strlen(name) - strlen("_ns")] = '\0';
    put_head(out, name, "_seconds", "gauge", gauge->help);
    fprintf(out, "flowtap_%s_seconds %.9f\n", name, (double)gauge->value / NS_PER_S);
}

static void put_numbers(FILE *out, const Flowtap__Status *status)
{
    for (size_t i = 0; i < status->n_counters; i++) {
        const Flowtap__Status__Number *counter = status->counters[i];
        if (is_dropped(counter->name))
            continue;
        put_head(out, counter->name, "_total", "counter", counter->help);
        fprintf(out, "flowtap_%s_total %" PRIu64 "\n", counter->name, counter->value);
    }
    put_dropped(out, status);
    for (size_t i = 0; i < status->n_gauges; i++)
        put_gauge(out, status->gauges[i]);
}

char *ft_metrics_make(const Flowtap__Status *status)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    put_head(out, "info", "", "gauge", "the running flowtapd");
    fputs("flowtap_info{", out);
    put_label(out, "version", (const uint8_t *)status->version, strlen(status->version));
    fputc(',', out);
    put_label(out, "mode", (const uint8_t *)status->mode, strlen(status->mode));
    fputs("} 1\n", out);
    put_head(out, "uptime_seconds", "", "gauge", "since the daemon started");
    fprintf(out, "flowtap_uptime_seconds %.3f\n", (double)status->uptime_ns / NS_PER_S);
    put_head(out, "troubles", "", "gauge", "things that are wrong now; flowtap status tells them");
    fprintf(out, "flowtap_troubles %zu\n", status->n_troubles);
    put_numbers(out, status);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

static int write_file(const char *path, const char *text)
{
    char fresh[4096];
    int n = snprintf(fresh, sizeof(fresh), "%s.%d", path, (int)getpid());
    if (n < 0 || (size_t)n >= sizeof(fresh))
        return -ENAMETOOLONG;
    // The folder may be another's: what it has put there is not followed, waited for or written to.
    unlink(fresh);
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    if (!out) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        return -error;
    }
    bool is_good = fputs(text, out) >= 0;
    is_good &= fchmod(fileno(out), 0644) == 0;
    int r = fclose(out) == 0 && is_good ? 0 : -EIO;
    if (r == 0 && rename(fresh, path) < 0)
        r = -errno;
    if (r < 0)
        unlink(fresh);
    return r;
}

static void run(struct ft_aside *aside)
{
    struct ft_metrics *metrics = (struct ft_metrics *)aside;
    metrics->error = write_file(metrics->path, metrics->text);
}

static void after(struct ft_aside *aside)
{
    struct ft_metrics *metrics = (struct ft_metrics *)aside;
    metrics->error = aside->error < 0 ? aside->error : metrics->error;
    if (metrics->error < 0)
        ft_log_limited(FT_LOG_WARNING, "%s: cannot be written: %s; see metrics_file", metrics->path,
                       strerror(-metrics->error));
    free(metrics->path);
    free(metrics->text);
    metrics->path = metrics->text = NULL;
    metrics->is_running = false;
}

static void keep_text(const Flowtap__Status *status, void *text)
{
    *(char **)text = status ? ft_metrics_make(status) : NULL;
}

void ft_metrics_tick(struct ft_daemon *daemon, int64_t now_ns)
{
    struct ft_metrics *metrics = &daemon->metrics;
    if (!*daemon->config.metrics_file || metrics->is_running || daemon->is_ending || now_ns < metrics->next_ns)
        return;
    metrics->next_ns = now_ns + daemon->config.metrics_interval_ns;
    metrics->path = strdup(daemon->config.metrics_file);
    ft_answer_make_status(daemon, 0, keep_text, &metrics->text);
    if (!metrics->path || !metrics->text) {
        free(metrics->path);
        free(metrics->text);
        metrics->path = metrics->text = NULL;
        return;
    }
    metrics->is_running = true;
    metrics->aside.run = run;
    metrics->aside.after = after;
    ft_aside_start(&daemon->loop, &metrics->aside);
}
