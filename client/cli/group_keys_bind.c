// SPDX-License-Identifier: MIT
/* Which value each record of a trace has: found once, before any event is looked at. */
#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"
#include "client/cli/group_keys.h"
#include "client/trace/call_name.h"
#include "client/trace/filter.h"

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

static bool is_of_process(const struct ft_group_key *key)
{
    return key->place == FT_GROUP_PROCESS || key->place == FT_GROUP_PROCESS_TAG || key->place == FT_GROUP_TAG;
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
            } else if (key->field == 't') {
                const struct ft_trace_thread *thread = ft_trace_reader_thread(reader, (uint32_t)t);
                *to = thread && thread->tid ? value_of_number(keys, thread->tid) : 0;
            } else if (is_of_process(key) && process != FT_TRACE_SET_NONE) {
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
            char field = keys->keys[k].field;
            if (field == 'k') {
                out[call * keys->count + k] = value_of(keys, FT_BYTES(ft_event_kind_name(FT_EVENT_CALL)));
            } else if (field == 'c') {
                out[call * keys->count + k] = value_of(keys, FT_BYTES(ft_call_name_category(reader, call)));
            } else if (field == 'n' || field == 'f') {
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

/* By the ids of files: their paths. */
static uint32_t *make_files(struct ft_group_keys *keys, const struct ft_trace_reader *reader)
{
    size_t count = ft_trace_reader_file_max(reader) + (size_t)1;
    uint32_t *out = ft_cli_alloc(count * sizeof(*out));
    for (size_t f = 1; f < count; f++) {
        out[f] = value_of(keys, ft_trace_reader_file_path(reader, (uint32_t)f));
    }
    return out;
}

/* Values that no trace holds, but some events have. */
static void make_constants(struct ft_group_keys *keys)
{
    for (unsigned kind = 0; kind < FT_GROUP_KINDS; kind++) {
        keys->kinds[kind] = value_of(keys, FT_BYTES(ft_event_kind_name(kind)));
    }
    if (ft_group_keys_has(keys, FT_GROUP_ERROR)) {
        keys->errors = ft_cli_alloc(FT_GROUP_ERRORS * sizeof(*keys->errors));
        for (int64_t error = 0; error < FT_GROUP_ERRORS; error++) {
            keys->errors[error] = value_of_number(keys, error);
        }
    }
}

/* A word that is no field is a tag, also where it was meant to be one. */
static void warn_of_unknown(const struct ft_group_keys *keys)
{
    for (size_t k = 0; k < keys->count; k++) {
        const struct ft_group_key *key = &keys->keys[k];
        if (key->place == FT_GROUP_TAG && !ft_filter_has_tag(keys->set, key->tag, strlen(key->tag))) {
            ft_cli_warn("%s: no field of events, and no process or event of the trace has a tag of that name",
                        key->name);
        }
    }
}

void ft_group_keys_bind(struct ft_group_keys *keys, const struct ft_trace_set *set)
{
    size_t readers = ft_trace_set_reader_count(set);
    keys->set = set;
    warn_of_unknown(keys);
    keys->tables = ft_cli_alloc(readers * sizeof(*keys->tables));
    keys->table_count = readers;
    make_constants(keys);
    for (size_t r = 0; r < readers; r++) {
        const struct ft_trace_reader *reader = ft_trace_set_reader(set, r);
        struct ft_group_tables *tables = &keys->tables[r];
        tables->threads = make_threads(keys, r, reader);
        if (ft_group_keys_has(keys, FT_GROUP_TAG) || ft_group_keys_has(keys, FT_GROUP_PROCESS_TAG)) {
            tables->contexts = make_contexts(keys, reader);
        }
        if (ft_group_keys_has(keys, FT_GROUP_EVENT)) {
            tables->calls = make_calls(keys, reader);
            tables->names = make_names(keys, reader);
        }
        if (ft_group_keys_has(keys, FT_GROUP_FILE)) {
            tables->files = make_files(keys, reader);
        }
    }
}
