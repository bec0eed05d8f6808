// SPDX-License-Identifier: MIT
#include "client/cli/group_keys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"

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
    {"name", FT_GROUP_EVENT, 'n', false},   {"kind", FT_GROUP_EVENT, 'k', false},
    {"call", FT_GROUP_EVENT, 'f', false},   {"tid", FT_GROUP_PROCESS, 't', true},
    {"path", FT_GROUP_FILE, '1', false},    {"path2", FT_GROUP_FILE, '2', false},
    {"errno", FT_GROUP_ERROR, 'x', true},
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
    for (size_t r = 0; r < keys->table_count; r++) {
        free(keys->tables[r].threads);
        free(keys->tables[r].contexts);
        free(keys->tables[r].calls);
        free(keys->tables[r].names);
        free(keys->tables[r].files);
    }
    for (size_t k = 0; k < keys->count; k++) {
        free(keys->keys[k].name);
    }
    for (size_t i = 0; i < keys->number_count; i++) {
        free(keys->numbers[i]);
    }
    free(keys->numbers);
    free(keys->errors);
    free(keys->tables);
    free(keys->values);
    ft_map_fini(&keys->index);
    memset(keys, 0, sizeof(*keys));
}

bool ft_group_keys_has(const struct ft_group_keys *keys, enum ft_group_place place)
{
    bool has = false;
    for (size_t k = 0; k < keys->count; k++) {
        has |= keys->keys[k].place == place;
    }
    return has;
}

uint32_t ft_group_keys_columns(const struct ft_group_keys *keys)
{
    uint32_t tags =
        ft_group_keys_has(keys, FT_GROUP_TAG) || ft_group_keys_has(keys, FT_GROUP_PROCESS_TAG) ? FT_COL_CONTEXT : 0;
    return tags | (ft_group_keys_has(keys, FT_GROUP_EVENT) ? FT_COL_CALL | FT_COL_NAME : 0) |
           (ft_group_keys_has(keys, FT_GROUP_FILE) ? FT_COL_FILE | FT_COL_FILE2 : 0) |
           (ft_group_keys_has(keys, FT_GROUP_ERROR) ? FT_COL_CALL | FT_COL_ERR : 0);
}

static uint32_t event_value(const struct ft_group_keys *keys, size_t k, size_t reader, const struct ft_rows *rows,
                            size_t i)
{
    const struct ft_group_tables *tables = &keys->tables[reader];
    if (rows->kind[i] == FT_EVENT_CALL) {
        return rows->call[i] < FT_TRACE_CALL_MAX ? tables->calls[rows->call[i] * keys->count + k] : 0;
    }
    char field = keys->keys[k].field;
    if (field == 'k' || field == 'f') {
        return field == 'k' && rows->kind[i] < FT_GROUP_KINDS ? keys->kinds[rows->kind[i]] : 0;
    }
    const uint32_t *ids = field == 'c' ? rows->category : rows->name;
    uint32_t id = ids ? ids[i] : 0;
    return id <= ft_trace_reader_name_max(ft_trace_set_reader(keys->set, reader)) ? tables->names[id] : 0;
}

static uint32_t file_value(const struct ft_group_keys *keys, size_t k, size_t reader, const struct ft_rows *rows,
                           size_t i)
{
    uint32_t id = keys->keys[k].field == '1' ? rows->file[i] : rows->file2[i];
    return id <= ft_trace_reader_file_max(ft_trace_set_reader(keys->set, reader)) ? keys->tables[reader].files[id] : 0;
}

static uint32_t error_value(const struct ft_group_keys *keys, const struct ft_rows *rows, size_t i)
{
    bool is_known = rows->kind[i] == FT_EVENT_CALL && rows->err[i] >= 0 && rows->err[i] < FT_GROUP_ERRORS;
    return is_known ? keys->errors[rows->err[i]] : 0;
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
        case FT_GROUP_FILE:
            out[k] = file_value(keys, k, reader, rows, i);
            break;
        case FT_GROUP_ERROR:
            out[k] = error_value(keys, rows, i);
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
