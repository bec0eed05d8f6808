// SPDX-License-Identifier: MIT
/* Criteria to a filter: what an expression cannot say (indices) is a test of the same tree, so that heads tell it, too. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/trace/filter_impl.h"
#include "client/trace/impl.h"

struct builder {
    struct ft_filter *filter;
    struct flowtap_trace_error *error;
};

static int too_big(struct flowtap_trace_error *error)
{
    return ft_library_fail(error, -E2BIG, "the selection has too many parts: %d at most", FT_FILTER_NODES_MAX);
}

/* What the parts of `group` say joins what the filter says. */
static int require(struct builder *builder, uint16_t group)
{
    int status = ft_filter_join(builder->filter, FT_NODE_AND, group, &builder->filter->root);
    return status < 0 ? too_big(builder->error) : 0;
}

static int add_test(struct builder *builder, struct ft_filter_node *test, uint16_t *group)
{
    int status = ft_filter_add(builder->filter, test, FT_NODE_OR, group);
    return status < 0 ? too_big(builder->error) : 0;
}

static int require_number(struct builder *builder, uint16_t field, enum ft_filter_op op, int64_t number)
{
    struct ft_filter_node test = {.field = field, .op = op, .number = number};
    uint16_t group = FT_FILTER_NOTHING;
    int status = add_test(builder, &test, &group);
    return status < 0 ? status : require(builder, group);
}

static int add_text(struct builder *builder, uint16_t field, const char *key, const char *text, uint16_t *group)
{
    if (!text || (key && !*key)) {
        return ft_library_fail(builder->error, -EINVAL, "a name of the selection is missing");
    }
    struct ft_filter_node test = {.field = field, .op = FT_OP_EQ, .text = strdup(text), .text_count = strlen(text)};
    if (key) {
        test.key = strdup(key);
        test.key_count = strlen(key);
    }
    if (!test.text || (key && !test.key)) {
        free(test.text);
        free(test.key);
        return ft_library_no_memory(builder->error);
    }
    return add_test(builder, &test, group);
}

static int require_texts(struct builder *builder, uint16_t field, const char *const *texts, size_t count)
{
    uint16_t group = FT_FILTER_NOTHING;
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++) {
        status = add_text(builder, field, NULL, texts[i], &group);
    }
    return status < 0 ? status : require(builder, group);
}

static int require_tags(struct builder *builder, const struct flowtap_trace_wanted_tag *tags, size_t count)
{
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++) {
        uint16_t group = FT_FILTER_NOTHING;
        status = add_text(builder, FT_FIELD_TAG, tags[i].key ? tags[i].key : "", tags[i].value, &group);
        if (status == 0) {
            status = require(builder, group);
        }
    }
    return status;
}

/* `limit`: how many indices there are. */
static int add_members(struct builder *builder, uint16_t field, const uint32_t *members, size_t count, size_t limit,
                       uint16_t *group)
{
    struct ft_filter_node test = {.field = field, .members = calloc(limit + 1, 1), .member_count = limit};
    if (!test.members) {
        return ft_library_no_memory(builder->error);
    }
    for (size_t i = 0; i < count; i++) {
        if (members[i] >= limit) {
            free(test.members);
            return ft_library_fail(builder->error, -EINVAL, "there is no %s %u",
                                   field == FT_FIELD_PROCESS_INDEX ? "process" : "file", members[i]);
        }
        test.members[members[i]] = 1;
    }
    return add_test(builder, &test, group);
}

static int require_processes(struct builder *builder, const struct ft_trace_set *set, const uint32_t *processes,
                             size_t count)
{
    uint16_t group = FT_FILTER_NOTHING;
    if (count == 0) {
        return 0;
    }
    int status =
        add_members(builder, FT_FIELD_PROCESS_INDEX, processes, count, ft_trace_set_process_count(set), &group);
    return status < 0 ? status : require(builder, group);
}

static int require_files(struct builder *builder, const struct ft_trace_set *set, const uint32_t *files, size_t count)
{
    uint16_t group = FT_FILTER_NOTHING;
    size_t limit = ft_trace_set_file_count(set);
    if (count == 0) {
        return 0;
    }
    int status = add_members(builder, FT_FIELD_FILE_INDEX, files, count, limit, &group);
    if (status == 0) {
        status = add_members(builder, FT_FIELD_FILE2_INDEX, files, count, limit, &group);
    }
    return status < 0 ? status : require(builder, group);
}

static int require_all(struct builder *builder, const struct ft_trace_set *set,
                       const struct flowtap_trace_criteria *wish)
{
    int status = 0;
    if (wish->start_ns) {
        status = require_number(builder, FT_FIELD_TS, FT_OP_GE, wish->start_ns);
    }
    if (status == 0 && wish->end_ns) {
        status = require_number(builder, FT_FIELD_TS, FT_OP_LT, wish->end_ns);
    }
    if (status == 0) {
        status = require_processes(builder, set, wish->processes, wish->process_count);
    }
    if (status == 0) {
        status = require_texts(builder, FT_FIELD_CALL, wish->calls, wish->call_count);
    }
    if (status == 0) {
        status = require_texts(builder, FT_FIELD_CAT, wish->categories, wish->category_count);
    }
    if (status == 0) {
        status = require_tags(builder, wish->tags, wish->tag_count);
    }
    if (status == 0) {
        status = require_files(builder, set, wish->files, wish->file_count);
    }
    return status;
}

/* The filter that the expression gives, or an empty one. */
static struct ft_filter *begin(const char *where, struct flowtap_trace_error *error, int *status)
{
    struct ft_filter_error reason = {0};
    struct ft_filter *filter;
    if (where) {
        filter = ft_filter_parse(where, &reason);
    } else if ((filter = calloc(1, sizeof(*filter)))) {
        filter->root = FT_FILTER_NOTHING;
    }
    *status = 0;
    if (!filter && (!where || reason.is_memory)) {
        *status = ft_library_no_memory(error);
    } else if (!filter) {
        *status = ft_library_fail(error, -EINVAL, "where, column %zu: %s", reason.at + 1, reason.text);
        if (error) {
            error->at = reason.at;
        }
    }
    return filter;
}

int flowtap_trace_select_create(const struct flowtap_trace *trace, const struct flowtap_trace_criteria *criteria,
                                size_t criteria_bytes, struct flowtap_trace_select **out,
                                struct flowtap_trace_error *error)
{
    struct flowtap_trace_criteria wish;
    int status;
    ft_library_give(&wish, sizeof(wish), criteria, criteria ? criteria_bytes : 0);
    struct flowtap_trace_select *select = calloc(1, sizeof(*select));
    if (!select) {
        return ft_library_no_memory(error);
    }
    select->filter = begin(wish.where, error, &status);
    if (status == 0) {
        struct builder builder = {.filter = select->filter, .error = error};
        status = require_all(&builder, trace->set, &wish);
    }
    if (status == 0 && select->filter->root != FT_FILTER_NOTHING) {
        select->where = ft_where_create(select->filter, trace->set);
        status = select->where ? 0 : ft_library_no_memory(error);
    }
    if (status < 0) {
        flowtap_trace_select_destroy(select);
        return status;
    }
    *out = select;
    return 0;
}

void flowtap_trace_select_destroy(struct flowtap_trace_select *select)
{
    if (select) {
        ft_where_destroy(select->where);
        ft_filter_destroy(select->filter);
    }
    free(select);
}
