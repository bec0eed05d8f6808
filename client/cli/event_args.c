// SPDX-License-Identifier: MIT
#include "client/cli/event_args.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"
#include "client/cli/text.h"

static bool has_value(const struct ft_event *row)
{
    return row->kind == FT_EVENT_COUNTER && row->has & FT_HAS_ARG;
}

static bool is_async(const struct ft_event *row)
{
    return row->kind == FT_EVENT_SPAN && row->has & FT_HAS_ARG;
}

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static void put_number(struct ft_json *json, bool is_double, uint64_t bits)
{
    if (is_double) {
        ft_json_exact(json, double_of(bits));
    } else {
        ft_json_int(json, (int64_t)bits);
    }
}

/* A later one of the same key wins. */
static bool is_last_of_key(const struct ft_stream_event *event, size_t i)
{
    for (size_t k = i + 1; k < event->event.arg_count; k++) {
        if (event->args[k].key == event->args[i].key) {
            return false;
        }
    }
    return true;
}

static void put_args(struct ft_json *json, const struct ft_event_facts *facts)
{
    const struct ft_stream_event *event = facts->from;
    ft_json_begin_object(json);
    for (size_t i = 0; i < event->event.arg_count; i++) {
        const struct ft_event_arg *arg = &event->args[i];
        struct ft_bytes key = ft_trace_reader_name(facts->reader, arg->key);
        if (!is_last_of_key(event, i)) {
            continue;
        }
        ft_json_key_bytes(json, key.data, key.len);
        if (arg->type == FT_ARG_TEXT) {
            struct ft_bytes text = ft_trace_reader_name(facts->reader, (uint32_t)arg->value);
            ft_json_text(json, text.data, text.len);
        } else {
            put_number(json, arg->type == FT_ARG_DOUBLE, arg->value);
        }
    }
    ft_json_end_object(json);
}

void ft_event_args_json(struct ft_json *json, const struct ft_event_facts *facts)
{
    const struct ft_event *row = &facts->from->event;
    if (has_value(row)) {
        ft_json_key(json, "value");
        put_number(json, row->flags & FT_EVENT_F_DOUBLE, row->arg);
    }
    if (is_async(row)) {
        ft_json_member_uint(json, "id", row->arg);
        ft_json_member_int(json, "begin_tid", row->result);
    }
    if (row->arg_count) {
        ft_json_key(json, "args");
        put_args(json, facts);
    }
    if (row->flags & FT_EVENT_F_ARGS_CUT) {
        ft_json_member_bool(json, "args_cut", true);
    }
}

/* One JSON value as a new string. */
static char *json_text(void (*put)(struct ft_json *, const struct ft_event_facts *), const struct ft_event_facts *facts)
{
    struct ft_json json;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out) {
        return ft_cli_strdup("");
    }
    ft_json_init(&json, out, false);
    put(&json, facts);
    ft_json_flush(&json);
    fclose(out);
    return text;
}

static void put_value(struct ft_json *json, const struct ft_event_facts *facts)
{
    put_number(json, facts->from->event.flags & FT_EVENT_F_DOUBLE, facts->from->event.arg);
}

void ft_event_args_texts(const struct ft_event_facts *facts, char *parts[FT_EVENT_ARGS_PARTS])
{
    const struct ft_event *row = &facts->from->event;
    parts[0] = has_value(row) ? json_text(put_value, facts) : ft_cli_strdup("");
    parts[1] = is_async(row) ? ft_cli_format("%" PRIu64, row->arg) : ft_cli_strdup("");
    parts[2] = is_async(row) ? ft_cli_format("%" PRId64, row->result) : ft_cli_strdup("");
    parts[3] = row->arg_count ? json_text(put_args, facts) : ft_cli_strdup("");
}

void ft_event_args_text(FILE *out, const struct ft_event_facts *facts)
{
    static const char *const labels[FT_EVENT_ARGS_PARTS] = {"  = ", "  id ", "  from thread ", "  "};
    char *parts[FT_EVENT_ARGS_PARTS];
    if (facts->from->event.kind == FT_EVENT_CALL) {
        return;
    }
    char *category = ft_text_escape(facts->category.data, facts->category.len, FT_TEXT_SHOW);
    fprintf(out, "  %s", category);
    free(category);
    ft_event_args_texts(facts, parts);
    for (size_t i = 0; i < FT_EVENT_ARGS_PARTS; i++) {
        if (*parts[i]) {
            char *shown = ft_text_escape(parts[i], strlen(parts[i]), FT_TEXT_SHOW);
            fprintf(out, "%s%s", labels[i], shown);
            free(shown);
        }
        free(parts[i]);
    }
}
