// SPDX-License-Identifier: MIT
#include "client/cli/group_keys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"
#include "client/trace/call_name.h"

static const struct {
    const char *name;
    enum ft_group_place place;
    char field;
    bool is_number;
} known[] = {
    {"host", FT_GROUP_PROCESS, 'h', false}, {"job", FT_GROUP_PROCESS, 'j', false},
    {"user", FT_GROUP_PROCESS, 'u', false}, {"exe", FT_GROUP_PROCESS, 'e', false},
    {"pid", FT_GROUP_PROCESS, 'p', true},   {"rank", FT_GROUP_PROCESS_TAG, 'r', true},
    {"cat", FT_GROUP_EVENT, 'c', false},    {"category", FT_GROUP_EVENT, 'c', false},
    {"name", FT_GROUP_EVENT, 'n', false},
};

static void fill_key(struct ft_group_key *key)
{
    static const char prefix[] = "tag.";
    key->place = FT_GROUP_TAG;
    key->tag = key->name;
    if (strncmp(key->name, prefix, strlen(prefix)) == 0) {
        key->tag += strlen(prefix);
        return;
    }
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(known[i].name, key->name) == 0) {
            key->place = known[i].place;
            key->field = known[i].field;
            key->is_number = known[i].is_number;
        }
    }
}

int ft_group_keys_parse(struct ft_group_keys *keys, const char *text, char *error, size_t error_bytes)
{
    memset(keys, 0, sizeof(*keys));
    ft_map_init(&keys->index);
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        if (length == 0) {
            snprintf(error, error_bytes, "an empty key in '%s'", text);
            return -EINVAL;
        }
        if (keys->count == FT_GROUP_KEYS_MAX) {
            snprintf(error, error_bytes, "more than %d keys", FT_GROUP_KEYS_MAX);
            return -EINVAL;
        }
        struct ft_group_key *key = &keys->keys[keys->count++];
        key->name = ft_cli_format("%.*s", (int)length, at);
        fill_key(key);
        at += length;
        if (*at == 0) {
            return 0;
        }
    }
}

void ft_group_keys_fini(struct ft_group_keys *keys)
{
    for (size_t r = 0; keys->tables && r < ft_trace_set_reader_count(keys->set); r++) {
        free(keys->tables[r].threads);
        free(keys->tables[r].contexts);
        free(keys->tables[r].calls);
        free(keys->tables[r].names);
    }
    for (size_t k = 0; k < keys->count; k++) {
        free(keys->keys[k].name);
    }
    for (size_t i = 0; i < keys->number_count; i++) {
        free(keys->numbers[i]);
    }
    free(keys->numbers);
    free(keys->tables);
    free(keys->values);
    ft_map_fini(&keys->index);
    memset(keys, 0, sizeof(*keys));
}

static uint32_t value_of(struct ft_group_keys *keys, struct ft_bytes text)
{
    bool is_new;
    if (text.len == 0) {
        return 0;
    }
    uint32_t value = ft_map_intern(&keys->index, text.data, text.len, (uint32_t)keys->value_count + 1, &is_new);
    if (is_new) {
        if (keys->value_count == keys->value_space) {
            keys->value_space = keys->value_space ? keys->value_space * 2 : 64;
            keys->values = ft_cli_realloc(keys->values, keys->value_space, sizeof(*keys->values));
        }
        keys->values[keys->value_count++] = text;
    }
    return value;
}

/* Of a text that no trace holds; takes it over. */
static uint32_t value_of_own(struct ft_group_keys *keys, char *text)
{
    size_t before = keys->value_count;
    uint32_t value = value_of(keys, FT_BYTES(text));
    if (keys->value_count == before) {
        free(text);
        return value;
    }
    keys->numbers = ft_cli_realloc(keys->numbers, keys->number_count + 1, sizeof(*keys->numbers));
    keys->numbers[keys->number_count++] = text;
    return value;
}

static uint32_t value_of_number(struct ft_group_keys *keys, int64_t number)
{
    return value_of_own(keys, ft_cli_format("%lld", (long long)number));
}

/* The later of two of one key holds. */
static uint32_t value_of_tag(struct ft_group_keys *keys, const char *key, const struct ft_tag *tags, size_t count)
{
    size_t length = strlen(key);
    for (size_t i = count; i-- > 0;) {
        if (tags[i].key.len == length && memcmp(tags[i].key.data, key, length) == 0) {
            return value_of(keys, tags[i].value);
        }
    }
    return 0;
}

static uint32_t value_of_process(struct ft_group_keys *keys, const struct ft_group_key *key,
                                 const struct ft_trace_set_process *process)
{
    const struct ft_trace_process *record = process->record;
    if (key->place == FT_GROUP_PROCESS_TAG && record->job.rank >= 0) {
        return value_of_number(keys, record->job.rank);
    }
    if (key->place == FT_GROUP_TAG || key->place == FT_GROUP_PROCESS_TAG) {
        return value_of_tag(keys, key->tag, record->tags, record->tags_count);
    }
    switch (key->field) {
    case 'j':
        return value_of(keys, record->job.id);
    case 'u':
        return value_of(keys, record->user);
    case 'e':
        return value_of(keys, record->exe);
    case 'p':
        return value_of_number(keys, record->pid);
    default:
        return 0;
    }
}

static uint32_t *make_threads(struct ft_group_keys *keys, size_t r, const struct ft_trace_reader *reader)
{
    size_t count = ft_trace_reader_thread_max(reader) + (size_t)1;
    uint32_t *out = ft_cli_alloc(count * keys->count * sizeof(*out));
    struct ft_bytes host = ft_trace_set_host_name(keys->set, ft_trace_set_reader_host(keys->set, r));
    for (size_t t = 0; t < count; t++) {
        uint32_t process = ft_trace_set_process_of_thread(keys->set, r, (uint32_t)t);
        for (size_t k = 0; k < keys->count; k++) {
            const struct ft_group_key *key = &keys->keys[k];
            uint32_t *to = &out[t * keys->count + k];
            if (key->field == 'h') {
                *to = value_of(keys, host);
            } else if (key->place != FT_GROUP_EVENT && process != FT_TRACE_SET_NONE) {
                *to = value_of_process(keys, key, ft_trace_set_process(keys->set, process));
            }
        }
    }
    return out;
}

static uint32_t *make_contexts(struct ft_group_keys *keys, const struct ft_trace_reader *reader)
{
    size_t count = ft_trace_reader_context_max(reader) + (size_t)1;
    uint32_t *out = ft_cli_alloc(count * keys->count * sizeof(*out));
    for (size_t c = 1; c < count; c++) {
        size_t tag_count;
        const struct ft_tag *tags = ft_trace_reader_context(reader, (uint32_t)c, &tag_count);
        for (size_t k = 0; k < keys->count; k++) {
            if (keys->keys[k].place == FT_GROUP_TAG || keys->keys[k].place == FT_GROUP_PROCESS_TAG) {
                out[c * keys->count + k] = value_of_tag(keys, keys->keys[k].tag, tags, tag_count);
            }
        }
    }
    return out;
}

static uint32_t *make_calls(struct ft_group_keys *keys, const struct ft_trace_reader *reader)
{
    uint32_t *out = ft_cli_alloc(FT_TRACE_CALL_MAX * keys->count * sizeof(*out));
    for (unsigned call = 0; call < FT_TRACE_CALL_MAX; call++) {
        for (size_t k = 0; k < keys->count; k++) {
            char room[32];
            if (keys->keys[k].field == 'c') {
                out[call * keys->count + k] = value_of(keys, FT_BYTES(ft_call_name_category(reader, call)));
            } else if (keys->keys[k].field == 'n') {
                const char *name = ft_call_name_find(reader, call, room, sizeof(room));
                out[call * keys->count + k] =
                    name == room ? value_of_own(keys, ft_cli_strdup(name)) : value_of(keys, FT_BYTES(name));
            }
        }
    }
    return out;
}

/* By the ids of names: each is itself. */
static uint32_t *make_names(struct ft_group_keys *keys, const struct ft_trace_reader *reader)
{
    size_t count = ft_trace_reader_name_max(reader) + (size_t)1;
    uint32_t *out = ft_cli_alloc(count * sizeof(*out));
    for (size_t n = 1; n < count; n++) {
        out[n] = value_of(keys, ft_trace_reader_name(reader, (uint32_t)n));
    }
    return out;
}

static bool has_place(const struct ft_group_keys *keys, enum ft_group_place place)
{
    bool has = false;
    for (size_t k = 0; k < keys->count; k++) {
        has |= keys->keys[k].place == place;
    }
    return has;
}

void ft_group_keys_bind(struct ft_group_keys *keys, const struct ft_trace_set *set)
{
    size_t readers = ft_trace_set_reader_count(set);
    keys->set = set;
    keys->tables = ft_cli_alloc(readers * sizeof(*keys->tables));
    for (size_t r = 0; r < readers; r++) {
        const struct ft_trace_reader *reader = ft_trace_set_reader(set, r);
        struct ft_group_tables *tables = &keys->tables[r];
        tables->threads = make_threads(keys, r, reader);
        if (has_place(keys, FT_GROUP_TAG) || has_place(keys, FT_GROUP_PROCESS_TAG)) {
            tables->contexts = make_contexts(keys, reader);
        }
        if (has_place(keys, FT_GROUP_EVENT)) {
            tables->calls = make_calls(keys, reader);
            tables->names = make_names(keys, reader);
        }
    }
}

uint32_t ft_group_keys_columns(const struct ft_group_keys *keys)
{
    uint32_t tags = has_place(keys, FT_GROUP_TAG) || has_place(keys, FT_GROUP_PROCESS_TAG) ? FT_COL_CONTEXT : 0;
    return tags | (has_place(keys, FT_GROUP_EVENT) ? FT_COL_CALL | FT_COL_NAME : 0);
}

static uint32_t event_value(const struct ft_group_keys *keys, size_t k, size_t reader, const struct ft_rows *rows,
                            size_t i)
{
    const struct ft_group_tables *tables = &keys->tables[reader];
    if (rows->kind[i] == FT_EVENT_CALL) {
        return rows->call[i] < FT_TRACE_CALL_MAX ? tables->calls[rows->call[i] * keys->count + k] : 0;
    }
    const uint32_t *ids = keys->keys[k].field == 'c' ? rows->category : rows->name;
    uint32_t id = ids ? ids[i] : 0;
    return id <= ft_trace_reader_name_max(ft_trace_set_reader(keys->set, reader)) ? tables->names[id] : 0;
}

void ft_group_keys_row(const struct ft_group_keys *keys, size_t reader, uint32_t thread, const struct ft_rows *rows,
                       size_t i, uint32_t *out)
{
    const struct ft_trace_reader *in = ft_trace_set_reader(keys->set, reader);
    const struct ft_group_tables *tables = &keys->tables[reader];
    size_t known_thread = thread <= ft_trace_reader_thread_max(in) ? thread : 0;
    const uint32_t *of_thread = &tables->threads[known_thread * keys->count], *of_context = NULL;
    if (tables->contexts) {
        uint32_t context = rows->context[i];
        of_context = &tables->contexts[(context <= ft_trace_reader_context_max(in) ? context : 0) * keys->count];
    }
    for (size_t k = 0; k < keys->count; k++) {
        switch (keys->keys[k].place) {
        case FT_GROUP_PROCESS:
            out[k] = of_thread[k];
            break;
        case FT_GROUP_PROCESS_TAG:
            out[k] = of_thread[k] ? of_thread[k] : of_context[k];
            break;
        case FT_GROUP_TAG:
            out[k] = of_context[k] ? of_context[k] : of_thread[k];
            break;
        case FT_GROUP_EVENT:
            out[k] = event_value(keys, k, reader, rows, i);
            break;
        }
    }
}

struct ft_bytes ft_group_keys_text(const struct ft_group_keys *keys, uint32_t value)
{
    return value ? keys->values[value - 1] : FT_BYTES("");
}

bool ft_group_keys_number(const struct ft_group_keys *keys, uint32_t value, int64_t *number)
{
    struct ft_bytes text = ft_group_keys_text(keys, value);
    char *end = NULL;
    bool begins =
        text.len > 0 && text.len < 19 && (text.data[0] == '-' || (text.data[0] >= '0' && text.data[0] <= '9'));
    *number = begins ? strtoll(text.data, &end, 10) : 0;
    return begins && end == text.data + text.len;
}

int ft_group_keys_compare(const struct ft_group_keys *keys, uint32_t a, uint32_t b)
{
    struct ft_bytes x = ft_group_keys_text(keys, a), y = ft_group_keys_text(keys, b);
    int64_t x_number, y_number;
    bool x_counts = ft_group_keys_number(keys, a, &x_number);
    bool y_counts = ft_group_keys_number(keys, b, &y_number);
    if (a == b || a == 0 || b == 0) {
        return (a != 0) - (b != 0);
    }
    if (x_counts != y_counts) {
        return x_counts ? -1 : 1;
    }
    if (x_counts && x_number != y_number) {
        return x_number < y_number ? -1 : 1;
    }
    size_t shorter = x.len < y.len ? x.len : y.len;
    int order = memcmp(x.data, y.data, shorter);
    return order ? order : (x.len > y.len) - (x.len < y.len);
}
