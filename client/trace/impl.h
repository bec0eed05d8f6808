// SPDX-License-Identifier: MIT
/* What the files behind flowtap-trace.h share. */
#ifndef FT_TRACE_IMPL_H
#define FT_TRACE_IMPL_H

#include "client/trace/filter.h"
#include "client/trace/flowtap-trace.h"

/* Where the ids of a part begin among the indices of the trace. */
struct ft_library_part {
    uint32_t names, files, contexts;
};

struct ft_library_thread {
    uint32_t part, id; /* of the last part that has it */
};

struct ft_library_gap {
    uint32_t part, gap;
};

struct ft_library_call {
    const char *name, *category;
    char room[16]; /* for the name of a call that nobody knows */
};

struct flowtap_trace {
    struct ft_trace_set *set;
    struct ft_library_part *parts; /* one more than there are: where the last one ends */
    struct ft_library_thread *threads;
    struct ft_library_gap *gaps; /* without those that were none */
    size_t gap_count, problem_count;
    struct ft_library_call calls[FT_TRACE_CALL_MAX];
};

struct flowtap_trace_select {
    struct ft_filter *filter;
    struct ft_where *where;
};

/* Names: first those of the calls, then their categories, then those of the parts. */
enum { FT_LIBRARY_CATEGORIES = FT_TRACE_CALL_MAX, FT_LIBRARY_NAMES = 2 * FT_TRACE_CALL_MAX };

/* Fills in the error, which may be NULL, and returns its code. */
int ft_library_fail(struct flowtap_trace_error *error, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int ft_library_no_memory(struct flowtap_trace_error *error);

static inline struct flowtap_trace_text ft_library_text(struct ft_bytes bytes)
{
    return (struct flowtap_trace_text){.bytes = bytes.len ? bytes.data : "", .count = bytes.len};
}

/* Copies what the caller's struct has room for, and clears what it has beyond ours. */
void ft_library_give(void *out, size_t out_bytes, const void *from, size_t from_bytes);

/* Indices of what a part calls by an id; FLOWTAP_TRACE_NONE where it has no such. */
uint32_t ft_library_name(const struct flowtap_trace *trace, size_t part, uint32_t id);
uint32_t ft_library_path(const struct flowtap_trace *trace, size_t part, uint32_t id);
uint32_t ft_library_tags(const struct flowtap_trace *trace, size_t part, uint32_t id);
/* The name's index of a row, and its category's. */
uint32_t ft_library_name_of(const struct flowtap_trace *trace, size_t part, unsigned kind, unsigned call, uint32_t id);
uint32_t ft_library_category_of(const struct flowtap_trace *trace, size_t part, unsigned kind, unsigned call,
                                uint32_t id);

#endif
