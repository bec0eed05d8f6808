// SPDX-License-Identifier: MIT
/* Made-up traces on the disk, and the events that are in them, for tests of what reads them. */
#ifndef FT_TESTS_CLI_TRACES_H
#define FT_TESTS_CLI_TRACES_H

#include "proto/trace_set.h"
#include "proto/trace_writer.h"

enum { FT_TRACES_FILES = 6, FT_TRACES_PROCESSES = 3, FT_TRACES_THREADS = 6 };

struct ft_traces_event {
    struct ft_event event;        /* ids of the file that it is in */
    int64_t ts_ns;                /* since the epoch */
    unsigned file, process, host; /* indices: 0 .. */
};

struct ft_traces {
    char folder[64];
    struct ft_traces_event *events;
    size_t count;
};

/*
 * Writes one trace for each of `hosts` hosts into a new folder, each with `blocks` blocks of `rows` events. File 0 is a
 * pipe, file 1 a path of which nothing is known but that it is file 2's; the others are regular.
 */
void ft_traces_make(struct ft_traces *traces, unsigned hosts, unsigned blocks, unsigned rows, unsigned seed);
struct ft_trace_set *ft_traces_open(const struct ft_traces *traces);
/* Finishes what the writer has, puts it into a new file, and destroys the writer. */
void ft_traces_write(struct ft_trace_writer *writer, const char *path);
void ft_traces_remove(struct ft_traces *traces);

#endif
