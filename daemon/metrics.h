// SPDX-License-Identifier: MIT
//
// Metrics for a node_exporter's textfile collector: what `flowtap status` tells, in Prometheus's text format, written anew
// every metrics_interval and put in place by a rename, so that a reader never finds half of it.
// https://prometheus.io/docs/instrumenting/exposition_formats/ tells the format, .../practices/naming/ the names.
//
// The loop's; the file is written aside.
#ifndef FT_DAEMON_METRICS_H
#define FT_DAEMON_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/aside.h"
#include "proto/status.pb-c.h"

struct ft_daemon;

struct ft_metrics {
    struct ft_aside aside;
    bool is_running;
    int64_t next_ns;
    char *path, *text; // of the file being written
    int error;         // of the last one; said once
};

// The text; free() it. NULL where there is no memory.
char *ft_metrics_make(const Flowtap__Status *status);

// Writes the file where it is time to.
void ft_metrics_tick(struct ft_daemon *daemon, int64_t now_ns);

#endif
