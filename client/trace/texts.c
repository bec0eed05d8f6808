// SPDX-License-Identifier: MIT
/* What the indices in the columns say. */
#include <string.h>

#include "client/trace/impl.h"

static const struct flowtap_trace_text nothing = {.bytes = "", .count = 0};

static struct flowtap_trace_text text_of(const char *text)
{
    return (struct flowtap_trace_text){.bytes = text, .count = strlen(text)};
}

uint32_t ft_library_name(const struct flowtap_trace *trace, size_t part, uint32_t id)
{
    uint32_t count = trace->parts[part + 1].names - trace->parts[part].names;
    return id < count ? trace->parts[part].names + id : FLOWTAP_TRACE_NONE;
}

uint32_t ft_library_path(const struct flowtap_trace *trace, size_t part, uint32_t id)
{
    uint32_t count = trace->parts[part + 1].files - trace->parts[part].files;
    return id > 0 && id <= count ? trace->parts[part].files + id - 1 : FLOWTAP_TRACE_NONE;
}

uint32_t ft_library_tags(const struct flowtap_trace *trace, size_t part, uint32_t id)
{
    uint32_t count = trace->parts[part + 1].contexts - trace->parts[part].contexts;
    return id > 0 && id <= count ? trace->parts[part].contexts + id - 1 : FLOWTAP_TRACE_NONE;
}

uint32_t ft_library_name_of(const struct flowtap_trace *trace, size_t part, unsigned kind, unsigned call, uint32_t id)
{
    if (kind == FT_EVENT_CALL) {
        return call < FT_TRACE_CALL_MAX ? call : FLOWTAP_TRACE_NONE;
    }
    return ft_library_name(trace, part, id);
}

uint32_t ft_library_category_of(const struct flowtap_trace *trace, size_t part, unsigned kind, unsigned call,
                                uint32_t id)
{
    if (kind == FT_EVENT_CALL) {
        return call < FT_TRACE_CALL_MAX ? FT_LIBRARY_CATEGORIES + call : FLOWTAP_TRACE_NONE;
    }
    return ft_library_name(trace, part, id);
}

static uint32_t names_before(const struct ft_library_part *part)
{
    return part->names;
}

static uint32_t files_before(const struct ft_library_part *part)
{
    return part->files;
}

static uint32_t contexts_before(const struct ft_library_part *part)
{
    return part->contexts;
}

/* The part that an index belongs to; NULL where there is none. `*id`: how many there are before it in the part. */
static const struct ft_trace_reader *reader_of(const struct flowtap_trace *trace,
                                               uint32_t (*before)(const struct ft_library_part *), uint32_t index,
                                               uint32_t *id)
{
    size_t from = 0, to = ft_trace_set_reader_count(trace->set);
    if (index < before(&trace->parts[0]) || index >= before(&trace->parts[to])) {
        return NULL;
    }
    while (to - from > 1) {
        size_t middle = from + (to - from) / 2;
        if (before(&trace->parts[middle]) <= index) {
            from = middle;
        } else {
            to = middle;
        }
    }
    *id = index - before(&trace->parts[from]);
    return ft_trace_set_reader(trace->set, from);
}

struct flowtap_trace_text flowtap_trace_host_name(const struct flowtap_trace *trace, uint32_t host)
{
    return host < ft_trace_set_host_count(trace->set) ? ft_library_text(ft_trace_set_host_name(trace->set, host))
                                                      : nothing;
}

struct flowtap_trace_text flowtap_trace_name_text(const struct flowtap_trace *trace, uint32_t name)
{
    uint32_t id;
    if (name < FT_LIBRARY_CATEGORIES) {
        return flowtap_trace_call_name(trace, name);
    }
    if (name < FT_LIBRARY_NAMES) {
        return flowtap_trace_call_category(trace, name - FT_LIBRARY_CATEGORIES);
    }
    const struct ft_trace_reader *reader = reader_of(trace, names_before, name, &id);
    return reader ? ft_library_text(ft_trace_reader_name(reader, id)) : nothing;
}

struct flowtap_trace_text flowtap_trace_path_text(const struct flowtap_trace *trace, uint32_t path)
{
    uint32_t id;
    const struct ft_trace_reader *reader = reader_of(trace, files_before, path, &id);
    return reader ? ft_library_text(ft_trace_reader_file_path(reader, id + 1)) : nothing;
}

struct flowtap_trace_text flowtap_trace_call_name(const struct flowtap_trace *trace, uint32_t call)
{
    return call < FT_TRACE_CALL_MAX ? text_of(trace->calls[call].name) : nothing;
}

struct flowtap_trace_text flowtap_trace_call_category(const struct flowtap_trace *trace, uint32_t call)
{
    return call < FT_TRACE_CALL_MAX ? text_of(trace->calls[call].category) : nothing;
}

static const struct ft_tag *tags_of(const struct flowtap_trace *trace, uint32_t tags, size_t *count)
{
    uint32_t id;
    const struct ft_trace_reader *reader = reader_of(trace, contexts_before, tags, &id);
    *count = 0;
    return reader ? ft_trace_reader_context(reader, id + 1, count) : NULL;
}

static struct flowtap_trace_tag tag_at(const struct ft_tag *tags, size_t count, size_t i)
{
    if (i >= count) {
        return (struct flowtap_trace_tag){.key = nothing, .value = nothing};
    }
    return (struct flowtap_trace_tag){.key = ft_library_text(tags[i].key), .value = ft_library_text(tags[i].value)};
}

size_t flowtap_trace_tag_count(const struct flowtap_trace *trace, uint32_t tags)
{
    size_t count;
    tags_of(trace, tags, &count);
    return count;
}

struct flowtap_trace_tag flowtap_trace_tag_get(const struct flowtap_trace *trace, uint32_t tags, size_t i)
{
    size_t count;
    const struct ft_tag *all = tags_of(trace, tags, &count);
    return tag_at(all, count, i);
}

static const struct ft_trace_process *record_of(const struct flowtap_trace *trace, uint32_t process)
{
    return process < ft_trace_set_process_count(trace->set) ? ft_trace_set_process(trace->set, process)->record : NULL;
}

struct flowtap_trace_tag flowtap_trace_process_tag_get(const struct flowtap_trace *trace, uint32_t process, size_t i)
{
    const struct ft_trace_process *record = record_of(trace, process);
    return tag_at(record ? record->tags : NULL, record ? record->tags_count : 0, i);
}

struct flowtap_trace_text flowtap_trace_argument_get(const struct flowtap_trace *trace, uint32_t process, size_t i)
{
    const struct ft_trace_process *record = record_of(trace, process);
    return record && i < record->argv_count ? ft_library_text(record->argv[i]) : nothing;
}

/* The last of the key. */
static const struct ft_tag *find_tag(const struct ft_tag *tags, size_t count, const char *key, size_t key_count)
{
    for (size_t i = count; i-- > 0;) {
        if (tags[i].key.len == key_count && memcmp(tags[i].key.data, key, key_count) == 0) {
            return &tags[i];
        }
    }
    return NULL;
}

struct flowtap_trace_text flowtap_trace_tag_value(const struct flowtap_trace *trace, uint32_t process, uint32_t tags,
                                                  const char *key)
{
    size_t count, key_count = strlen(key);
    const struct ft_tag *all = tags_of(trace, tags, &count);
    if (key_count == 0) {
        return nothing;
    }
    const struct ft_tag *tag = find_tag(all, count, key, key_count);
    const struct ft_trace_process *record = record_of(trace, process);
    if (!tag && record) {
        tag = find_tag(record->tags, record->tags_count, key, key_count);
    }
    return tag ? ft_library_text(tag->value) : nothing;
}

const char *flowtap_trace_cause_name(uint32_t cause)
{
    return ft_cause_name(cause);
}
