// SPDX-License-Identifier: MIT
/* One event as a JSON object, a CSV row, or a line for a person. */
#ifndef FT_CLI_EVENT_PRINT_H
#define FT_CLI_EVENT_PRINT_H

#include "client/cli/event_stream.h"
#include "client/cli/json.h"

/* Looked up once for an event, so that the three forms agree. Strings belong to the set. */
struct ft_event_facts {
    const struct ft_stream_event *from;
    int64_t t_ns; /* since the trace's start */
    struct ft_bytes name, category, host, path, path2;
    uint32_t pid, tid; /* 0: unknown */
    const struct ft_tag *process_tags, *context_tags;
    size_t process_tag_count, context_tag_count;
    bool has_dur, has_errno;
    const struct ft_trace_reader *reader; /* for names of arguments */
    char room[32];
};

void ft_event_facts_find(struct ft_event_facts *facts, const struct ft_trace_set *set,
                         const struct ft_stream_event *event, int64_t trace_start_ns);

void ft_event_print_json(struct ft_json *json, const struct ft_event_facts *facts);
void ft_event_print_csv_head(FILE *out);
/* One cell, quoted where it has to be. */
void ft_event_print_csv_text(FILE *out, struct ft_bytes bytes);
void ft_event_print_csv(FILE *out, const struct ft_event_facts *facts);
void ft_event_print_text(FILE *out, const struct ft_event_facts *facts);

#endif
