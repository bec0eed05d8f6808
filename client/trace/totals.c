// SPDX-License-Identifier: MIT
/* Totals per kind, call and class of files: of the heads where these tell, of the rows where they do not. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/trace/impl.h"
#include "proto/intern.h"
#include "proto/trace_aggregate.h"

_Static_assert(FLOWTAP_TRACE_BUCKETS == FT_LOG2_BUCKETS, "buckets");
_Static_assert((int)FLOWTAP_TRACE_CLASS_UNKNOWN == (int)FT_FILE_CLASS_UNKNOWN, "classes");

#define ROW_COLUMNS \
    (FT_COL_DUR | FT_COL_CALL | FT_COL_FILE | FT_COL_FILE2 | FT_COL_BYTES | FT_COL_ERR | FT_COL_NAME | FT_COL_HAS)

struct flowtap_trace_totals {
    struct flowtap_trace_total *items;
    size_t count;
    uint64_t damaged, decoded;
};

struct adder {
    const struct flowtap_trace *trace;
    const struct ft_where *where; /* NULL: all events */
    struct flowtap_trace_totals *totals;
    struct ft_trace_decoder *decoder;
    struct ft_selector selector;
    struct ft_aggregator *aggregator; /* its names are ids of `texts` */
    struct ft_intern texts;
    uint32_t *names; /* an index with that text, by id of `texts` */
    size_t name_room;
};

/* Names of application events are told by their text: each file has ids of its own. 0 none; -errno. */
static int64_t intern_name(struct adder *adder, size_t part, uint32_t id)
{
    struct ft_bytes text = ft_trace_reader_name(ft_trace_set_reader(adder->trace->set, part), id);
    int64_t known = ft_intern_add(&adder->texts, text.len ? text.data : "", (uint32_t)text.len);
    if (known < 0) {
        return known;
    }
    if ((size_t)known >= adder->name_room) {
        size_t room = ((size_t)known + 1) * 2;
        uint32_t *names = realloc(adder->names, room * sizeof(*names));
        if (!names) {
            return -ENOMEM;
        }
        adder->names = names;
        adder->name_room = room;
    }
    adder->names[known] = ft_library_name(adder->trace, part, id);
    return known;
}

/* The sums of this key, whose names are ids of a part; NULL with *status. */
static struct ft_trace_aggregate *sums_of(struct adder *adder, size_t part, struct ft_trace_aggregate *key, int *status)
{
    int64_t name = 0, category = 0;
    if (key->kind != FT_EVENT_CALL) {
        name = intern_name(adder, part, key->name);
        category = name < 0 ? name : intern_name(adder, part, key->category);
    }
    if (category < 0) {
        *status = (int)category;
        return NULL;
    }
    key->name = (uint32_t)name;
    key->category = (uint32_t)category;
    struct ft_trace_aggregate *sums = ft_aggregator_get(adder->aggregator, key);
    size_t count;
    ft_aggregator_all(adder->aggregator, &count);
    *status = sums ? 0 : count >= FT_AGGREGATE_KEYS_MAX ? -EOVERFLOW : -ENOMEM;
    return sums;
}

static int add_sums(struct adder *adder, size_t part, const struct ft_trace_aggregate *more)
{
    struct ft_trace_aggregate key = *more;
    int status;
    struct ft_trace_aggregate *sums = sums_of(adder, part, &key, &status);
    if (sums) {
        ft_aggregate_merge(sums, more);
    }
    return status;
}

static int add_rows(struct adder *adder, size_t part, const struct ft_rows *rows)
{
    const struct ft_trace_reader *reader = ft_trace_set_reader(adder->trace->set, part);
    for (size_t i = 0; i < rows->count; i++) {
        struct ft_trace_aggregate key;
        int status;
        key.call = rows->call[i];
        key.kind = rows->kind[i];
        key.file_class = (uint8_t)ft_trace_reader_file_class(reader, rows->file[i]);
        key.file2_class = (uint8_t)ft_trace_reader_file_class(reader, rows->file2[i]);
        key.name = rows->name[i];
        key.category = rows->category[i];
        struct ft_trace_aggregate *sums = sums_of(adder, part, &key, &status);
        if (!sums) {
            return status;
        }
        ft_aggregate_add(sums, (uint64_t)rows->dur_ns[i], rows->has[i] & FT_HAS_BYTES, rows->bytes[i],
                         rows->err[i] != 0);
    }
    return 0;
}

static int add_chosen_rows(struct adder *adder, size_t part, size_t block)
{
    struct ft_rows all, rows;
    int status = ft_trace_decoder_rows(adder->decoder, ft_trace_set_reader(adder->trace->set, part), block,
                                       ROW_COLUMNS | ft_where_columns(adder->where), &all);
    if (status < 0) {
        return status;
    }
    adder->totals->decoded++;
    ft_selector_pick(&adder->selector, part, &all, &rows);
    return add_rows(adder, part, &rows);
}

/* Whether the head decides for all of its sums. */
static bool is_decided(const struct adder *adder, size_t part, size_t block, const struct ft_trace_block_head *head)
{
    bool is_decided = head->aggregate_count > 0;
    for (size_t i = 0; i < head->aggregate_count && is_decided; i++) {
        is_decided = ft_where_of_sums(adder->where, part, block, head, &head->aggregates[i]) != FT_WHERE_SOME;
    }
    return is_decided;
}

static int add_chosen(struct adder *adder, size_t part, size_t block)
{
    struct ft_trace_block_head head;
    int status = ft_trace_decoder_head(adder->decoder, ft_trace_set_reader(adder->trace->set, part), block, &head);
    if (status == 0 && !is_decided(adder, part, block, &head)) {
        return add_chosen_rows(adder, part, block);
    }
    for (size_t i = 0; status == 0 && i < head.aggregate_count; i++) {
        if (ft_where_of_sums(adder->where, part, block, &head, &head.aggregates[i]) == FT_WHERE_ALL) {
            status = add_sums(adder, part, &head.aggregates[i]);
        }
    }
    return status;
}

/* `block` may be of a PROFILE frame. */
static int add_all(struct adder *adder, size_t part, size_t block)
{
    const struct ft_trace_aggregate *aggregates;
    size_t count;
    int status = ft_trace_decoder_aggregates(adder->decoder, ft_trace_set_reader(adder->trace->set, part), block,
                                             &aggregates, &count);
    for (size_t i = 0; status == 0 && i < count; i++) {
        status = add_sums(adder, part, &aggregates[i]);
    }
    return status;
}

static int add_blocks(struct adder *adder, size_t part, size_t kind, size_t count)
{
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++) {
        status = adder->where ? add_chosen(adder, part, i) : add_all(adder, part, kind | i);
        if (status == -EBADMSG) {
            adder->totals->damaged++;
            status = 0;
        }
    }
    return status;
}

static int add_parts(struct adder *adder, size_t *part)
{
    int status = 0;
    for (*part = 0; *part < ft_trace_set_reader_count(adder->trace->set); ++*part) {
        const struct ft_trace_reader *reader = ft_trace_set_reader(adder->trace->set, *part);
        size_t blocks, profiles;
        ft_trace_reader_blocks(reader, &blocks);
        ft_trace_reader_profiles(reader, &profiles);
        status = add_blocks(adder, *part, 0, blocks);
        if (status == 0 && !adder->where) {
            status = add_blocks(adder, *part, FT_TRACE_PROFILE, profiles);
        }
        if (status < 0) {
            break;
        }
    }
    return status;
}

static int give_totals(struct adder *adder)
{
    struct flowtap_trace_totals *totals = adder->totals;
    const struct ft_trace_aggregate *all = ft_aggregator_all(adder->aggregator, &totals->count);
    totals->items = calloc(totals->count + 1, sizeof(*totals->items));
    if (!totals->items) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < totals->count; i++) {
        bool is_call = all[i].kind == FT_EVENT_CALL;
        struct flowtap_trace_total *total = &totals->items[i];
        *total = (struct flowtap_trace_total){
            .kind = all[i].kind,
            .call = is_call ? all[i].call : 0,
            .name =
                is_call ? ft_library_name_of(adder->trace, 0, all[i].kind, all[i].call, 0) : adder->names[all[i].name],
            .category = is_call ? ft_library_category_of(adder->trace, 0, all[i].kind, all[i].call, 0)
                                : adder->names[all[i].category],
            .file_class = all[i].file_class,
            .file2_class = all[i].file2_class,
            .count = all[i].count,
            .errors = all[i].errors,
            .bytes = all[i].bytes,
            .time_ns = all[i].time_ns,
            .min_ns = all[i].min_ns,
            .max_ns = all[i].max_ns,
        };
        memcpy(total->sizes, all[i].sizes, sizeof(total->sizes));
        memcpy(total->durations, all[i].durations, sizeof(total->durations));
    }
    return 0;
}

static int prepare(struct adder *adder)
{
    int status = ft_intern_init(&adder->texts);
    if (status == 0) {
        status = ft_trace_decoder_create(&adder->decoder);
    }
    if (status == 0 && adder->where) {
        status = ft_selector_init(&adder->selector, adder->where);
    }
    adder->aggregator = ft_aggregator_create();
    return adder->aggregator ? status : -ENOMEM;
}

static int explain(const struct adder *adder, size_t part, int code, struct flowtap_trace_error *error)
{
    if (code == -ENOMEM) {
        return ft_library_no_memory(error);
    }
    if (code == -EOVERFLOW) {
        return ft_library_fail(error, code, "more than %u kinds of events", FT_AGGREGATE_KEYS_MAX);
    }
    return ft_library_fail(error, code, "%s: cannot read events: %s",
                           ft_trace_reader_path(ft_trace_set_reader(adder->trace->set, part)), strerrordesc_np(-code));
}

int flowtap_trace_totals_read(const struct flowtap_trace *trace, const struct flowtap_trace_select *select,
                              struct flowtap_trace_totals **out, struct flowtap_trace_error *error)
{
    struct adder adder = {.trace = trace, .where = select ? select->where : NULL};
    size_t part = 0;
    adder.totals = calloc(1, sizeof(*adder.totals));
    int status = adder.totals ? prepare(&adder) : -ENOMEM;
    if (status == 0) {
        status = add_parts(&adder, &part);
    }
    if (status == 0) {
        status = give_totals(&adder);
    }
    if (status == 0) {
        *out = adder.totals;
    } else {
        explain(&adder, part, status, error);
        flowtap_trace_totals_destroy(adder.totals);
    }
    ft_selector_fini(&adder.selector);
    ft_aggregator_destroy(adder.aggregator);
    ft_trace_decoder_destroy(adder.decoder);
    ft_intern_fini(&adder.texts);
    free(adder.names);
    return status;
}

void flowtap_trace_totals_destroy(struct flowtap_trace_totals *totals)
{
    if (totals) {
        free(totals->items);
    }
    free(totals);
}

size_t flowtap_trace_totals_count(const struct flowtap_trace_totals *totals)
{
    return totals->count;
}

const struct flowtap_trace_total *flowtap_trace_totals_get(const struct flowtap_trace_totals *totals, size_t i)
{
    return i < totals->count ? &totals->items[i] : NULL;
}

uint64_t flowtap_trace_totals_damaged(const struct flowtap_trace_totals *totals)
{
    return totals->damaged;
}

uint64_t flowtap_trace_totals_decoded(const struct flowtap_trace_totals *totals)
{
    return totals->decoded;
}
