// SPDX-License-Identifier: MIT
#include "client/cli/event_print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"
#include "client/cli/event_args.h"
#include "client/cli/report.h"
#include "client/cli/text.h"
#include "client/cli/units.h"

enum { NS_DIGITS = 9, DUR_WIDTH = sizeof("12 min 34 s") };

static void find_process(struct ft_event_facts *facts, const struct ft_trace_set *set,
                         const struct ft_trace_reader *reader)
{
    const struct ft_stream_event *event = facts->from;
    const struct ft_trace_thread *thread = ft_trace_reader_thread(reader, event->event.thread);
    uint32_t process = ft_trace_set_process_of_thread(set, event->reader, event->event.thread);
    facts->tid = thread ? thread->tid : 0;
    if (process != FT_TRACE_SET_NONE) {
        const struct ft_trace_process *record = ft_trace_set_process(set, process)->record;
        facts->pid = record->pid;
        facts->process_tags = record->tags;
        facts->process_tag_count = record->tags_count;
    }
    facts->context_tags = ft_trace_reader_context(reader, event->event.context, &facts->context_tag_count);
}

void ft_event_facts_find(struct ft_event_facts *facts, const struct ft_trace_set *set,
                         const struct ft_stream_event *event, int64_t trace_start_ns)
{
    const struct ft_trace_reader *reader = ft_trace_set_reader(set, event->reader);
    const struct ft_event *row = &event->event;
    memset(facts, 0, sizeof(*facts));
    facts->from = event;
    facts->reader = reader;
    facts->t_ns = event->ts_ns - trace_start_ns;
    facts->host = ft_trace_set_host_name(set, ft_trace_set_reader_host(set, event->reader));
    if (row->kind == FT_EVENT_CALL) {
        facts->name = FT_BYTES(ft_call_name_find(reader, row->call, facts->room, sizeof(facts->room)));
        facts->category = FT_BYTES(ft_call_name_category(reader, row->call));
    } else {
        facts->name = ft_trace_reader_name(reader, row->name);
        facts->category = ft_trace_reader_name(reader, row->category);
    }
    facts->path = ft_trace_reader_file_path(reader, row->file);
    facts->path2 = ft_trace_reader_file_path(reader, row->file2);
    facts->has_dur = row->kind == FT_EVENT_CALL || row->kind == FT_EVENT_SPAN;
    facts->has_errno = row->kind == FT_EVENT_CALL;
    find_process(facts, set, reader);
}

static void put_tags(struct ft_json *json, const struct ft_event_facts *facts)
{
    size_t count = facts->process_tag_count + facts->context_tag_count;
    if (count == 0) {
        return;
    }
    struct ft_tag *tags = ft_cli_alloc(count * sizeof(*tags));
    for (size_t i = 0; i < count; i++) {
        tags[i] =
            i < facts->process_tag_count ? facts->process_tags[i] : facts->context_tags[i - facts->process_tag_count];
    }
    ft_json_key(json, "tags");
    ft_report_json_tags(json, tags, count);
    free(tags);
}

static void put_text_if(struct ft_json *json, const char *key, struct ft_bytes bytes)
{
    if (bytes.len) {
        ft_json_member_text(json, key, bytes.data, bytes.len);
    }
}

static void put_int_if(struct ft_json *json, const char *key, bool is_known, int64_t value)
{
    if (is_known) {
        ft_json_member_int(json, key, value);
    }
}

void ft_event_print_json(struct ft_json *json, const struct ft_event_facts *facts)
{
    const struct ft_event *row = &facts->from->event;
    ft_json_begin_object(json);
    ft_json_member_int(json, "ts", facts->from->ts_ns);
    ft_json_member_seconds(json, "t", facts->t_ns);
    put_int_if(json, "dur", facts->has_dur, row->dur_ns);
    ft_json_member_text(json, "name", facts->name.data, facts->name.len);
    ft_json_member_text(json, "cat", facts->category.data, facts->category.len);
    put_text_if(json, "host", facts->host);
    put_int_if(json, "pid", facts->pid != 0, facts->pid);
    put_int_if(json, "tid", facts->tid != 0, facts->tid);
    put_text_if(json, "path", facts->path);
    put_text_if(json, "path2", facts->path2);
    put_int_if(json, "fd", row->fd >= 0, row->fd);
    put_int_if(json, "size", row->has & FT_HAS_SIZE, row->size);
    put_int_if(json, "offset", row->has & FT_HAS_OFFSET, row->offset);
    put_int_if(json, "result", row->kind == FT_EVENT_CALL && row->has & FT_HAS_RESULT, row->result);
    put_int_if(json, "errno", facts->has_errno, row->err);
    ft_event_args_json(json, facts);
    put_tags(json, facts);
    ft_json_end_object(json);
}

static char *csv_escaped(struct ft_bytes bytes)
{
    return ft_text_escape(bytes.len ? bytes.data : "", bytes.len, FT_TEXT_CSV);
}

/* One field of what is escaped. */
static void csv_field(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"")) {
        fputs(text, out);
    } else {
        fputc('"', out);
        for (const char *at = text; *at; at++) {
            fputs(*at == '"' ? "\"" : "", out);
            fputc(*at, out);
        }
        fputc('"', out);
    }
}

void ft_event_print_csv_text(FILE *out, struct ft_bytes bytes)
{
    char *text = csv_escaped(bytes);
    csv_field(out, text);
    free(text);
}

static void csv_int(FILE *out, bool is_known, int64_t value)
{
    if (is_known) {
        fprintf(out, "%" PRId64, value);
    }
    fputc(',', out);
}

static void csv_seconds(FILE *out, int64_t ns)
{
    uint64_t amount = ns < 0 ? UINT64_C(0) - (uint64_t)ns : (uint64_t)ns;
    fprintf(out, "%s%" PRIu64 ".%0*u,", ns < 0 ? "-" : "", amount / 1000000000u, NS_DIGITS,
            (unsigned)(amount % 1000000000u));
}

/* Escaped, and so what would end a key or a value. */
static char *csv_part(struct ft_bytes bytes, const char *ends)
{
    char *text = csv_escaped(bytes), *part = ft_cli_alloc(4 * strlen(text) + 1), *to = part;
    for (const char *at = text; *at; at++) {
        to += strchr(ends, *at) ? sprintf(to, "\\x%02x", (unsigned char)*at) : sprintf(to, "%c", *at);
    }
    free(text);
    return part;
}

/* key=value;key=value */
static void csv_tags(FILE *out, const struct ft_event_facts *facts)
{
    char *joined = ft_cli_strdup("");
    for (size_t i = 0; i < facts->process_tag_count + facts->context_tag_count; i++) {
        const struct ft_tag *tag =
            i < facts->process_tag_count ? &facts->process_tags[i] : &facts->context_tags[i - facts->process_tag_count];
        char *key = csv_part(tag->key, "=;"), *value = csv_part(tag->value, ";");
        char *longer = ft_cli_format("%s%s%s=%s", joined, i ? ";" : "", key, value);
        free(key);
        free(value);
        free(joined);
        joined = longer;
    }
    csv_field(out, joined);
    free(joined);
}

/* Behind a comma each; arguments are one JSON object, which has escaped what is in it. */
static void csv_args(FILE *out, const struct ft_event_facts *facts)
{
    char *parts[FT_EVENT_ARGS_PARTS];
    ft_event_args_texts(facts, parts);
    for (size_t i = 0; i < FT_EVENT_ARGS_PARTS; i++) {
        fputc(',', out);
        csv_field(out, parts[i]);
        free(parts[i]);
    }
}

void ft_event_print_csv_head(FILE *out)
{
    fputs("ts,t,dur,name,cat,host,pid,tid,path,path2,fd,size,offset,result,errno,tags,value,id,begin_tid,args\n", out);
}

void ft_event_print_csv(FILE *out, const struct ft_event_facts *facts)
{
    const struct ft_event *row = &facts->from->event;
    const struct ft_bytes texts[] = {facts->name, facts->category, facts->host};
    csv_int(out, true, facts->from->ts_ns);
    csv_seconds(out, facts->t_ns);
    csv_int(out, facts->has_dur, row->dur_ns);
    for (int i = 0; i < 3; i++) {
        ft_event_print_csv_text(out, texts[i]);
        fputc(',', out);
    }
    csv_int(out, facts->pid != 0, facts->pid);
    csv_int(out, facts->tid != 0, facts->tid);
    ft_event_print_csv_text(out, facts->path);
    fputc(',', out);
    ft_event_print_csv_text(out, facts->path2);
    fputc(',', out);
    csv_int(out, row->fd >= 0, row->fd);
    csv_int(out, row->has & FT_HAS_SIZE, row->size);
    csv_int(out, row->has & FT_HAS_OFFSET, row->offset);
    csv_int(out, row->kind == FT_EVENT_CALL && row->has & FT_HAS_RESULT, row->result);
    csv_int(out, facts->has_errno, row->err);
    csv_tags(out, facts);
    csv_args(out, facts);
    fputc('\n', out);
}

static void print_bytes(FILE *out, const char *before, struct ft_bytes bytes)
{
    if (bytes.len) {
        char *text = ft_text_escape(bytes.data, bytes.len, FT_TEXT_SHOW);
        fprintf(out, "%s%s", before, text);
        free(text);
    }
}

void ft_event_print_text(FILE *out, const struct ft_event_facts *facts)
{
    const struct ft_event *row = &facts->from->event;
    struct ft_unit_text dur;
    char *name = ft_text_escape(facts->name.data, facts->name.len, FT_TEXT_SHOW);
    double seconds = (double)facts->t_ns / 1e9;
    fprintf(out, "%14.6f %7u %7u  %-16s", seconds, facts->pid, facts->tid, name);
    const char *shown_dur = facts->has_dur ? ft_units_time(&dur, row->dur_ns) : "";
    fprintf(out, " %*s%s", (int)(DUR_WIDTH - ft_text_width(shown_dur)), "", shown_dur);
    free(name);
    print_bytes(out, "  ", facts->path);
    print_bytes(out, " -> ", facts->path2);
    if (row->fd >= 0) {
        fprintf(out, "  fd %d", row->fd);
    }
    if (row->has & FT_HAS_SIZE) {
        fprintf(out, "  size %" PRId64, row->size);
    }
    if (row->has & FT_HAS_OFFSET) {
        fprintf(out, "  offset %" PRId64, row->offset);
    }
    if (row->kind == FT_EVENT_CALL && row->has & FT_HAS_RESULT) {
        fprintf(out, "  = %" PRId64, row->result);
    }
    if (row->err) {
        const char *error = strerrorname_np(row->err);
        fprintf(out, "  %s", error ? error : "unknown errno");
    }
    ft_event_args_text(out, facts);
    fputc('\n', out);
}
