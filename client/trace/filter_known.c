// SPDX-License-Identifier: MIT
/* What a filter asks for that a set cannot have: most often a word that was mistyped. */
#include <stdio.h>
#include <string.h>

#include "client/trace/call_name.h"
#include "client/trace/filter_impl.h"

enum { WORD_BYTES_MAX = 64, EDITS_MAX = 2 };

static bool is_same(struct ft_bytes a, const char *text, size_t count)
{
    return a.len == count && (count == 0 || memcmp(a.data, text, count) == 0);
}

static bool has_key(const struct ft_tag *tags, size_t count, const char *key, size_t key_count)
{
    for (size_t i = 0; i < count; i++) {
        if (is_same(tags[i].key, key, key_count)) {
            return true;
        }
    }
    return false;
}

bool ft_filter_has_tag(const struct ft_trace_set *set, const char *key, size_t key_count)
{
    for (uint32_t p = 0; p < ft_trace_set_process_count(set); p++) {
        const struct ft_trace_process *record = ft_trace_set_process(set, p)->record;
        if (has_key(record->tags, record->tags_count, key, key_count) ||
            has_key(record->own_tags, record->own_tags_count, key, key_count)) {
            return true;
        }
    }
    for (size_t r = 0; r < ft_trace_set_reader_count(set); r++) {
        const struct ft_trace_reader *reader = ft_trace_set_reader(set, r);
        for (uint32_t id = 1; id <= ft_trace_reader_context_max(reader); id++) {
            size_t count;
            const struct ft_tag *tags = ft_trace_reader_context(reader, id, &count);
            if (has_key(tags, count, key, key_count)) {
                return true;
            }
        }
    }
    return false;
}

static bool meets(const struct ft_filter_node *test, struct ft_bytes text)
{
    return test->op == FT_OP_GLOB ? ft_filter_glob(test->text, test->text_count, text.data, text.len)
                                  : is_same(text, test->text, test->text_count);
}

/* Calls that programs may make count, too: that nobody made one is an answer. */
static bool is_any_call(const struct ft_filter_node *test, const struct ft_trace_reader *reader)
{
    char room[32];
    for (unsigned call = 1; call < FT_TRACE_CALL_MAX; call++) {
        const char *text = test->field == FT_FIELD_CAT ? ft_call_name_category(reader, call)
                                                       : ft_call_name_find(reader, call, room, sizeof(room));
        if (meets(test, FT_BYTES(text))) {
            return true;
        }
    }
    return false;
}

/* Of all that a file names: which of it are spans, and which categories, its events alone tell. */
static bool is_any_name(const struct ft_filter_node *test, const struct ft_trace_reader *reader)
{
    for (uint32_t id = 1; test->field != FT_FIELD_CALL && id <= ft_trace_reader_name_max(reader); id++) {
        if (meets(test, ft_trace_reader_name(reader, id))) {
            return true;
        }
    }
    return false;
}

static bool is_known(const struct ft_filter_node *test, const struct ft_trace_set *set)
{
    if (test->field == FT_FIELD_TAG) {
        return ft_filter_has_tag(set, test->key, test->key_count);
    }
    bool is_name = test->field == FT_FIELD_CALL || test->field == FT_FIELD_NAME || test->field == FT_FIELD_CAT;
    if (!is_name || (test->op != FT_OP_EQ && test->op != FT_OP_GLOB)) {
        return true;
    }
    size_t readers = ft_trace_set_reader_count(set);
    for (size_t r = 0; r < readers; r++) {
        const struct ft_trace_reader *reader = ft_trace_set_reader(set, r);
        if (is_any_call(test, reader) || is_any_name(test, reader)) {
            return true;
        }
    }
    return readers == 0;
}

/* How many letters have to be changed, left out or put in. */
static size_t edits(const char *a, size_t a_count, const char *b, size_t b_count)
{
    size_t row[WORD_BYTES_MAX + 1];
    for (size_t k = 0; k <= b_count; k++) {
        row[k] = k;
    }
    for (size_t i = 1; i <= a_count; i++) {
        size_t before = row[0];
        row[0] = i;
        for (size_t k = 1; k <= b_count; k++) {
            size_t least = before + (a[i - 1] != b[k - 1]);
            least = row[k] + 1 < least ? row[k] + 1 : least;
            least = row[k - 1] + 1 < least ? row[k - 1] + 1 : least;
            before = row[k];
            row[k] = least;
        }
    }
    return row[b_count];
}

static void find_near(const struct ft_filter_node *test, const struct ft_trace_set *set, char *near, size_t near_bytes)
{
    size_t best = test->text_count / 3 < EDITS_MAX ? test->text_count / 3 + 1 : EDITS_MAX + 1;
    near[0] = '\0';
    bool is_word = test->op == FT_OP_EQ && (test->field == FT_FIELD_CALL || test->field == FT_FIELD_NAME) &&
                   test->text_count > EDITS_MAX && test->text_count <= WORD_BYTES_MAX;
    for (unsigned call = 1; is_word && call < FT_TRACE_CALL_MAX; call++) {
        char room[32];
        const char *name = ft_call_name_find(ft_trace_set_reader(set, 0), call, room, sizeof(room));
        size_t count = strlen(name);
        size_t apart =
            name != room && count <= WORD_BYTES_MAX ? edits(test->text, test->text_count, name, count) : best;
        if (apart < best) {
            best = apart;
            snprintf(near, near_bytes, "%s", name);
        }
    }
}

bool ft_filter_next_unknown(const struct ft_filter *filter, const struct ft_trace_set *set, size_t *at,
                            struct ft_filter_unknown *out)
{
    while (*at < filter->count) {
        const struct ft_filter_node *test = &filter->nodes[(*at)++];
        if (test->kind != FT_NODE_TEST || is_known(test, set)) {
            continue;
        }
        bool is_tag = test->field == FT_FIELD_TAG;
        out->field = ft_filter_fields[test->field].name;
        out->word =
            is_tag ? (struct ft_bytes){test->key, test->key_count} : (struct ft_bytes){test->text, test->text_count};
        find_near(test, set, out->near, sizeof(out->near));
        return true;
    }
    return false;
}
