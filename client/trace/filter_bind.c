// SPDX-License-Identifier: MIT
/*
 * A filter bound to a set: what each test says of a call, a file, a thread, a set of tags, found when it is first asked
 * for. Threads may find the same verdict at once: they store the same byte.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/trace/call_name.h"
#include "client/trace/filter_impl.h"

struct ids {
    size_t first, second; /* how many of by_id[0] and [1], for a reader */
};

static struct ids ids_of(const struct ft_trace_reader *reader, enum ft_filter_place place)
{
    size_t threads = (size_t)ft_trace_reader_thread_max(reader) + 1;
    switch (place) {
    case FT_PLACE_CALL:
        return (struct ids){FT_TRACE_CALL_MAX, (size_t)ft_trace_reader_name_max(reader) + 1};
    case FT_PLACE_FILE:
        return (struct ids){(size_t)ft_trace_reader_file_max(reader) + 1, 0};
    case FT_PLACE_THREAD:
        return (struct ids){threads, 0};
    case FT_PLACE_CONTEXT:
        return (struct ids){(size_t)ft_trace_reader_context_max(reader) + 1, threads};
    case FT_PLACE_ROW:
        break;
    }
    return (struct ids){0, 0};
}

/* Room for the verdicts of one test. */
static int make_tables(const struct ft_trace_set *set, enum ft_filter_place place, struct ft_where_test *test)
{
    size_t readers = ft_trace_set_reader_count(set);
    test->by_id[0] = calloc(readers + 1, sizeof(uint8_t *));
    test->by_id[1] = calloc(readers + 1, sizeof(uint8_t *));
    if (!test->by_id[0] || !test->by_id[1]) {
        return -ENOMEM;
    }
    for (size_t r = 0; r < readers; r++) {
        struct ids ids = ids_of(ft_trace_set_reader(set, r), place);
        test->by_id[0][r] = calloc(ids.first + 1, 1);
        test->by_id[1][r] = calloc(ids.second + 1, 1);
        if (!test->by_id[0][r] || !test->by_id[1][r]) {
            return -ENOMEM;
        }
    }
    return 0;
}

struct ft_where *ft_where_create(const struct ft_filter *filter, const struct ft_trace_set *set)
{
    struct ft_where *where = calloc(1, sizeof(*where));
    int64_t end_ns;
    if (!where) {
        return NULL;
    }
    where->filter = filter;
    where->set = set;
    where->tests = calloc(filter->count, sizeof(*where->tests));
    where->stats = calloc(1, sizeof(*where->stats));
    int status = where->tests && where->stats ? 0 : -ENOMEM;
    ft_trace_set_span(set, &where->start_ns, &end_ns);
    for (size_t i = 0; i < filter->count && status == 0; i++) {
        enum ft_filter_place place = ft_filter_fields[filter->nodes[i].field].place;
        if (filter->nodes[i].kind == FT_NODE_TEST && place != FT_PLACE_ROW) {
            status = make_tables(set, place, &where->tests[i]);
        }
    }
    if (status < 0) {
        ft_where_destroy(where);
        return NULL;
    }
    return where;
}

void ft_where_destroy(struct ft_where *where)
{
    for (size_t i = 0; where && where->tests && i < where->filter->count; i++) {
        for (int k = 0; k < 2 && where->tests[i].by_id[k]; k++) {
            for (size_t r = 0; r < ft_trace_set_reader_count(where->set); r++) {
                free(where->tests[i].by_id[k][r]);
            }
            free(where->tests[i].by_id[k]);
        }
    }
    if (where) {
        free(where->tests);
        free(where->stats);
    }
    free(where);
}

uint32_t ft_where_columns(const struct ft_where *where)
{
    uint32_t columns = 0;
    for (size_t i = 0; i < where->filter->count; i++) {
        const struct ft_filter_node *node = &where->filter->nodes[i];
        columns |= node->kind == FT_NODE_TEST ? ft_filter_fields[node->field].columns : 0;
    }
    return columns;
}

static uint8_t verdict(bool is_true)
{
    return is_true ? FT_VERDICT_TRUE : FT_VERDICT_FALSE;
}

static uint8_t of_text(const struct ft_filter_node *test, struct ft_bytes text)
{
    int64_t number;
    switch (test->op) {
    case FT_OP_EQ:
    case FT_OP_NE: {
        bool is_same = text.len == test->text_count && (text.len == 0 || memcmp(text.data, test->text, text.len) == 0);
        return verdict(is_same == (test->op == FT_OP_EQ));
    }
    case FT_OP_GLOB:
    case FT_OP_NOT_GLOB:
        return verdict(ft_filter_glob(test->text, test->text_count, text.data, text.len) == (test->op == FT_OP_GLOB));
    default:
        return verdict(ft_filter_is_number(text.data, text.len, &number) &&
                       ft_filter_compare(test->op, number, test->number));
    }
}

static uint8_t of_known_text(const struct ft_filter_node *test, struct ft_bytes text)
{
    return text.len ? of_text(test, text) : FT_VERDICT_FALSE;
}

/* The verdict kept at `at`, or the one that `find` gives. Stored by whoever comes first; all store the same. */
#define KEPT(at, find)                                                              \
    ({                                                                              \
        uint8_t *kept_at = (at), kept = __atomic_load_n(kept_at, __ATOMIC_RELAXED); \
        if (kept == 0) {                                                            \
            kept = (find);                                                          \
            __atomic_store_n(kept_at, kept, __ATOMIC_RELAXED);                      \
        }                                                                           \
        kept;                                                                       \
    })

static uint8_t find_call(const struct ft_where *where, const struct ft_filter_node *test, size_t r, unsigned call)
{
    const struct ft_trace_reader *reader = ft_trace_set_reader(where->set, r);
    char room[32];
    switch (test->field) {
    case FT_FIELD_KIND:
        return of_text(test, FT_BYTES(ft_event_kind_name(FT_EVENT_CALL)));
    case FT_FIELD_CAT:
        return of_known_text(test, FT_BYTES(ft_call_name_category(reader, call)));
    default:
        return of_text(test, FT_BYTES(ft_call_name_find(reader, call, room, sizeof(room))));
    }
}

uint8_t ft_where_of_call(const struct ft_where *where, size_t node, size_t reader, unsigned kind, unsigned call,
                         uint32_t name, uint32_t category)
{
    const struct ft_filter_node *test = &where->filter->nodes[node];
    const struct ft_trace_reader *file = ft_trace_set_reader(where->set, reader);
    if (kind == FT_EVENT_CALL) {
        call = call < FT_TRACE_CALL_MAX ? call : 0;
        return KEPT(&where->tests[node].by_id[0][reader][call], find_call(where, test, reader, call));
    }
    if (test->field == FT_FIELD_CALL) {
        return FT_VERDICT_FALSE;
    }
    if (test->field == FT_FIELD_KIND) {
        return of_text(test, FT_BYTES(ft_event_kind_name(kind)));
    }
    uint32_t id = test->field == FT_FIELD_CAT ? category : name;
    if (id > ft_trace_reader_name_max(file)) {
        return FT_VERDICT_FALSE;
    }
    return KEPT(&where->tests[node].by_id[1][reader][id], of_known_text(test, ft_trace_reader_name(file, id)));
}

static uint8_t of_tags(const struct ft_filter_node *test, const struct ft_tag *tags, size_t count)
{
    for (size_t i = count; i-- > 0;) { /* a later one of the same key wins */
        if (tags[i].key.len == test->key_count && test->key_count > 0 &&
            memcmp(tags[i].key.data, test->key, test->key_count) == 0) {
            return of_text(test, tags[i].value);
        }
    }
    return FT_VERDICT_ABSENT;
}

static uint8_t of_number(const struct ft_filter_node *test, bool is_known, int64_t number)
{
    return verdict(is_known && ft_filter_compare(test->op, number, test->number));
}

static uint8_t of_index(const struct ft_filter_node *test, uint32_t index)
{
    return verdict(index < test->member_count && test->members[index]);
}

static uint8_t find_thread(const struct ft_where *where, const struct ft_filter_node *test, size_t reader, uint32_t id)
{
    const struct ft_trace_thread *thread = ft_trace_reader_thread(ft_trace_set_reader(where->set, reader), id);
    uint32_t process = ft_trace_set_process_of_thread(where->set, reader, id);
    const struct ft_trace_process *record =
        process == FT_TRACE_SET_NONE ? NULL : ft_trace_set_process(where->set, process)->record;
    switch (test->field) {
    case FT_FIELD_HOST:
        return of_known_text(test, ft_trace_set_host_name(where->set, ft_trace_set_reader_host(where->set, reader)));
    case FT_FIELD_TID:
        return of_number(test, thread && thread->tid, thread ? thread->tid : 0);
    case FT_FIELD_PID:
        return of_number(test, record && record->pid, record ? record->pid : 0);
    case FT_FIELD_RANK:
        return of_number(test, record && record->job.rank >= 0, record ? record->job.rank : 0);
    case FT_FIELD_EXE:
        return record ? of_known_text(test, record->exe) : FT_VERDICT_FALSE;
    case FT_FIELD_JOB:
        return record ? of_known_text(test, record->job.id) : FT_VERDICT_FALSE;
    case FT_FIELD_USER:
        return record ? of_known_text(test, record->user) : FT_VERDICT_FALSE;
    case FT_FIELD_PROCESS_INDEX:
        return of_index(test, process);
    case FT_FIELD_TAG:
        return record ? of_tags(test, record->tags, record->tags_count) : FT_VERDICT_ABSENT;
    default:
        return FT_VERDICT_FALSE;
    }
}

static uint8_t find_file(const struct ft_where *where, const struct ft_filter_node *test, size_t reader, uint32_t file)
{
    if (test->field == FT_FIELD_FILE_INDEX || test->field == FT_FIELD_FILE2_INDEX) {
        return of_index(test, ft_trace_set_file_of(where->set, reader, file));
    }
    return of_known_text(test, ft_trace_reader_file_path(ft_trace_set_reader(where->set, reader), file));
}

uint8_t ft_where_of_file(const struct ft_where *where, size_t node, size_t reader, uint32_t file)
{
    if (file > ft_trace_reader_file_max(ft_trace_set_reader(where->set, reader))) {
        return FT_VERDICT_FALSE;
    }
    return KEPT(&where->tests[node].by_id[0][reader][file],
                find_file(where, &where->filter->nodes[node], reader, file));
}

uint8_t ft_where_of_thread(const struct ft_where *where, size_t node, size_t reader, uint32_t thread)
{
    const struct ft_filter_node *test = &where->filter->nodes[node];
    uint8_t *const *table = where->tests[node].by_id[test->field == FT_FIELD_TAG];
    if (thread > ft_trace_reader_thread_max(ft_trace_set_reader(where->set, reader))) {
        return test->field == FT_FIELD_HOST ? find_thread(where, test, reader, thread) : FT_VERDICT_FALSE;
    }
    return KEPT(&table[reader][thread], find_thread(where, test, reader, thread));
}

static uint8_t find_context(const struct ft_filter_node *test, const struct ft_trace_reader *reader, uint32_t context)
{
    size_t count;
    const struct ft_tag *tags = ft_trace_reader_context(reader, context, &count);
    return of_tags(test, tags, count);
}

uint8_t ft_where_of_context(const struct ft_where *where, size_t node, size_t reader, uint32_t context)
{
    const struct ft_trace_reader *in = ft_trace_set_reader(where->set, reader);
    if (context > ft_trace_reader_context_max(in)) {
        return FT_VERDICT_ABSENT;
    }
    return KEPT(&where->tests[node].by_id[0][reader][context], find_context(&where->filter->nodes[node], in, context));
}

int64_t ft_where_time(const struct ft_where *where, const struct ft_filter_node *test)
{
    int64_t time_ns;
    if (test->field != FT_FIELD_T) {
        return test->number;
    }
    if (__builtin_add_overflow(where->start_ns, test->number, &time_ns)) {
        return test->number < 0 ? INT64_MIN : INT64_MAX;
    }
    return time_ns;
}
