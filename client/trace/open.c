// SPDX-License-Identifier: MIT
/* A trace: the set of its files, and the tables that make one range of indices of the ids of all files. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/trace/call_name.h"
#include "client/trace/impl.h"
#include "client/trace/starts.h"

_Static_assert(FLOWTAP_TRACE_NONE == FT_TRACE_SET_NONE, "one number for none");
_Static_assert(FLOWTAP_TRACE_CALLS == FT_TRACE_CALL_MAX, "calls");
_Static_assert((int)FLOWTAP_TRACE_CAUSES == (int)FT_CAUSE_COUNT, "causes");

static int explain(struct flowtap_trace_error *error, const char *path, int code)
{
    switch (code) {
    case -ENODATA:
        return ft_library_fail(error, code, "%s: no trace file (*.flow) in this folder", path);
    case -EBADMSG:
        return ft_library_fail(error, code, "%s: not a Flowtap trace file", path);
    case -EPROTONOSUPPORT:
        return ft_library_fail(error, code, "%s: written by another major version of Flowtap (this one reads %u.x)",
                               path, FT_TRACE_MAJOR);
    case -ENOMEM:
        return ft_library_no_memory(error);
    default:
        return ft_library_fail(error, code, "%s: cannot read the trace: %s", path, strerrordesc_np(-code));
    }
}

/* `base` plus what this part has, or -EOVERFLOW. */
static int add(uint32_t base, uint32_t count, uint32_t *sum)
{
    return __builtin_add_overflow(base, count, sum) || *sum == FLOWTAP_TRACE_NONE ? -EOVERFLOW : 0;
}

static int number_parts(struct flowtap_trace *trace)
{
    size_t count = ft_trace_set_reader_count(trace->set);
    trace->parts = calloc(count + 1, sizeof(*trace->parts));
    if (!trace->parts) {
        return -ENOMEM;
    }
    trace->parts[0].names = FT_LIBRARY_NAMES;
    for (size_t i = 0; i < count; i++) {
        const struct ft_trace_reader *reader = ft_trace_set_reader(trace->set, i);
        struct ft_library_part *at = &trace->parts[i];
        /* Ids begin at 1; names that are none have id 0. */
        if (add(at->names, ft_trace_reader_name_max(reader) + 1, &at[1].names) < 0 ||
            add(at->files, ft_trace_reader_file_max(reader), &at[1].files) < 0 ||
            add(at->contexts, ft_trace_reader_context_max(reader), &at[1].contexts) < 0) {
            return -EOVERFLOW;
        }
    }
    return 0;
}

static int find_threads(struct flowtap_trace *trace)
{
    size_t count = ft_trace_set_thread_count(trace->set);
    trace->threads = calloc(count + 1, sizeof(*trace->threads));
    if (!trace->threads) {
        return -ENOMEM;
    }
    for (uint32_t r = 0; r < ft_trace_set_reader_count(trace->set); r++) {
        uint32_t most = ft_trace_reader_thread_max(ft_trace_set_reader(trace->set, r));
        for (uint32_t id = 1; id <= most; id++) {
            uint32_t thread = ft_trace_set_thread(trace->set, r, id);
            if (thread < count) {
                trace->threads[thread] = (struct ft_library_thread){.part = r, .id = id};
            }
        }
    }
    return 0;
}

/* Of the first file that knows the call, else of this library. */
static void name_calls(struct flowtap_trace *trace)
{
    size_t count = ft_trace_set_reader_count(trace->set);
    for (unsigned call = 0; call < FT_TRACE_CALL_MAX; call++) {
        struct ft_library_call *named = &trace->calls[call];
        size_t r = 0;
        while (r + 1 < count && !ft_trace_reader_call(ft_trace_set_reader(trace->set, r), call)) {
            r++;
        }
        const struct ft_trace_reader *reader = ft_trace_set_reader(trace->set, r);
        named->name = ft_call_name_find(reader, call, named->room, sizeof(named->room));
        named->category = ft_call_name_category(reader, call);
    }
}

static int find_gaps(struct flowtap_trace *trace)
{
    struct ft_starts starts;
    size_t all = 0, count, readers = ft_trace_set_reader_count(trace->set);
    for (size_t r = 0; r < readers; r++) {
        ft_trace_reader_gaps(ft_trace_set_reader(trace->set, r), &count);
        all += count;
    }
    trace->gaps = calloc(all + 1, sizeof(*trace->gaps));
    if (!trace->gaps || ft_starts_read(&starts, trace->set) < 0) {
        return -ENOMEM;
    }
    for (uint32_t r = 0; r < readers; r++) {
        const struct ft_trace_gap *gaps = ft_trace_reader_gaps(ft_trace_set_reader(trace->set, r), &count);
        for (uint32_t i = 0; i < count; i++) {
            if (!ft_starts_is_gone_on_with(&starts, trace->set, r, &gaps[i])) {
                trace->gaps[trace->gap_count++] = (struct ft_library_gap){.part = r, .gap = i};
            }
        }
    }
    ft_starts_fini(&starts);
    return 0;
}

static int make_tables(struct flowtap_trace *trace)
{
    size_t count, left_out;
    int status = number_parts(trace);
    if (status == 0) {
        status = find_threads(trace);
    }
    if (status == 0) {
        status = find_gaps(trace);
    }
    ft_trace_set_unreadable(trace->set, &count);
    ft_trace_set_left_out(trace->set, &left_out);
    trace->problem_count = count + left_out;
    for (size_t r = 0; r < ft_trace_set_reader_count(trace->set); r++) {
        ft_trace_reader_problems(ft_trace_set_reader(trace->set, r), &count);
        trace->problem_count += count;
    }
    if (status == 0) {
        name_calls(trace);
    }
    return status;
}

int flowtap_trace_open(const char *const *paths, size_t path_count, const struct flowtap_trace_options *options,
                       size_t options_bytes, struct flowtap_trace **out, struct flowtap_trace_error *error)
{
    struct flowtap_trace_options wish = {0};
    struct ft_trace_set_error reason = {0};
    if (path_count == 0) {
        return ft_library_fail(error, -EINVAL, "no path was given");
    }
    if (options) {
        ft_library_give(&wish, sizeof(wish), options, options_bytes);
    }
    struct ft_trace_reader_options own = {
        .memory_max = wish.memory_max, .progress = wish.progress, .progress_context = wish.progress_context};
    struct flowtap_trace *trace = calloc(1, sizeof(*trace));
    if (!trace) {
        return ft_library_no_memory(error);
    }
    int status = ft_trace_set_open(paths, path_count, &own, &trace->set, &reason);
    if (status < 0) {
        status = explain(error, reason.path ? reason.path : paths[0], status);
        free(reason.path);
    } else if (ft_trace_set_bytes(trace->set) == 0) {
        status = ft_library_fail(error, -ENODATA, "%s: the file is empty; nothing was ever written to it", paths[0]);
    } else if ((status = make_tables(trace)) < 0) {
        status = status == -ENOMEM
                     ? ft_library_no_memory(error)
                     : ft_library_fail(error, status, "%s: more records than there are numbers", paths[0]);
    }
    if (status < 0) {
        flowtap_trace_close(trace);
        return status;
    }
    *out = trace;
    return 0;
}

void flowtap_trace_close(struct flowtap_trace *trace)
{
    if (!trace) {
        return;
    }
    ft_trace_set_close(trace->set);
    free(trace->parts);
    free(trace->threads);
    free(trace->gaps);
    free(trace);
}
