// SPDX-License-Identifier: MIT
/*
 * Whether a block can hold an event that matches, by its head: the tree over what is known of all rows with one call
 * and class of file. Each node says whether it can be true and whether it can be false of such a row.
 */
#include "client/trace/filter_impl.h"

struct may {
    bool be_true, be_false;
};

static const struct may either = {true, true};

struct known {
    const struct ft_where *where;
    size_t reader;
    int64_t start_ns, end_ns; /* of the block, since the epoch */
    const struct ft_trace_block_head *head;
    const struct ft_trace_aggregate *sums; /* of the rows in question; NULL: of those nothing is known */
};

static int64_t bounded(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/* Of a value between two bounds. */
static struct may compare_range(enum ft_filter_op op, int64_t low, int64_t high, int64_t than)
{
    switch (op) {
    case FT_OP_EQ:
        return (struct may){low <= than && than <= high, low != than || high != than};
    case FT_OP_NE:
        return (struct may){low != than || high != than, low <= than && than <= high};
    case FT_OP_LT:
        return (struct may){low < than, high >= than};
    case FT_OP_LE:
        return (struct may){low <= than, high > than};
    case FT_OP_GT:
        return (struct may){high > than, low <= than};
    case FT_OP_GE:
        return (struct may){high >= than, low < than};
    default:
        return either;
    }
}

/* By the histogram of what moved; a row without is false. */
static struct may compare_bytes(const struct ft_trace_aggregate *sums, const struct ft_filter_node *test)
{
    struct may may = {false, false};
    uint64_t told = 0;
    for (unsigned b = 0; b < FT_LOG2_BUCKETS; b++) {
        if (sums->sizes[b] == 0) {
            continue;
        }
        uint64_t low = b ? UINT64_C(1) << (b - 1) : 0, high = b ? low + (low - 1) : 0;
        struct may here = compare_range(test->op, bounded(low), bounded(high), test->number);
        may.be_true |= here.be_true;
        may.be_false |= here.be_false;
        told += sums->sizes[b];
    }
    may.be_false |= told < sums->count;
    return may;
}

static struct may compare_number(const struct known *known, const struct ft_filter_node *test)
{
    const struct ft_trace_aggregate *sums = known->sums;
    switch (test->field) {
    case FT_FIELD_TS:
    case FT_FIELD_T:
        return compare_range(test->op, known->start_ns, known->end_ns, ft_where_time(known->where, test));
    case FT_FIELD_DUR: {
        int64_t low = sums ? bounded(sums->min_ns) : 0;
        int64_t high = sums ? bounded(sums->max_ns) : known->end_ns - known->start_ns;
        struct may may = compare_range(test->op, low, high, test->number);
        may.be_false |= !sums || (sums->kind != FT_EVENT_CALL && sums->kind != FT_EVENT_SPAN);
        return may;
    }
    case FT_FIELD_ERRNO: {
        if (!sums || sums->kind != FT_EVENT_CALL) {
            return (struct may){!sums, true};
        }
        struct may good = compare_range(test->op, 0, 0, test->number);
        struct may may = {sums->errors > 0, sums->errors > 0};
        if (sums->errors < sums->count) {
            may.be_true |= good.be_true;
            may.be_false |= good.be_false;
        }
        return may;
    }
    case FT_FIELD_BYTES:
        return sums ? compare_bytes(sums, test) : either;
    default:
        return either;
    }
}

static struct may of_threads(const struct known *known, size_t node)
{
    struct may may = {false, false};
    for (size_t r = 0; r < known->head->run_count; r++) {
        uint8_t verdict = ft_where_of_thread(known->where, node, known->reader, known->head->runs[r].thread);
        may.be_true |= verdict == FT_VERDICT_TRUE;
        may.be_false |= verdict != FT_VERDICT_TRUE;
    }
    return may;
}

static struct may of_test(const struct known *known, size_t node)
{
    const struct ft_filter_node *test = &known->where->filter->nodes[node];
    const struct ft_trace_aggregate *sums = known->sums;
    switch (ft_filter_fields[test->field].place) {
    case FT_PLACE_CALL: {
        if (!sums) {
            return either;
        }
        bool is_true = ft_where_of_call(known->where, node, known->reader, sums->kind, sums->call, sums->name,
                                        sums->category) == FT_VERDICT_TRUE;
        return (struct may){is_true, !is_true};
    }
    case FT_PLACE_FILE: {
        bool is_first = test->field == FT_FIELD_PATH || test->field == FT_FIELD_FILE_INDEX;
        unsigned file_class = !sums ? FT_FILE_CLASS_UNKNOWN : is_first ? sums->file_class : sums->file2_class;
        return (struct may){file_class != FT_FILE_CLASS_NONE, true};
    }
    case FT_PLACE_THREAD:
        return of_threads(known, node);
    case FT_PLACE_ROW:
        return compare_number(known, test);
    case FT_PLACE_CONTEXT:
        break;
    }
    return either;
}

static struct may evaluate(const struct known *known, size_t node_index)
{
    const struct ft_filter_node *node = &known->where->filter->nodes[node_index];
    if (node->kind == FT_NODE_TEST) {
        return of_test(known, node_index);
    }
    struct may left = evaluate(known, node->left);
    if (node->kind == FT_NODE_NOT) {
        return (struct may){left.be_false, left.be_true};
    }
    struct may right = evaluate(known, node->right);
    if (node->kind == FT_NODE_AND) {
        return (struct may){left.be_true && right.be_true, left.be_false || right.be_false};
    }
    return (struct may){left.be_true || right.be_true, left.be_false && right.be_false};
}

static struct known known_of(const struct ft_where *where, size_t reader, size_t block,
                             const struct ft_trace_block_head *head)
{
    size_t count;
    const struct ft_trace_block *info = ft_trace_reader_blocks(ft_trace_set_reader(where->set, reader), &count) + block;
    return (struct known){.where = where,
                          .reader = reader,
                          .start_ns = ft_trace_set_realtime_ns(where->set, reader, info->start_ns),
                          .end_ns = ft_trace_set_realtime_ns(where->set, reader, info->end_ns),
                          .head = head};
}

enum ft_where_share ft_where_of_sums(const struct ft_where *where, size_t reader, size_t block,
                                     const struct ft_trace_block_head *head, const struct ft_trace_aggregate *sums)
{
    struct known known = known_of(where, reader, block, head);
    known.sums = sums;
    struct may may = evaluate(&known, where->filter->root);
    return !may.be_true ? FT_WHERE_NONE : !may.be_false ? FT_WHERE_ALL : FT_WHERE_SOME;
}

static bool may_match(const struct ft_where *where, struct ft_trace_decoder *decoder, size_t reader, size_t block)
{
    struct ft_trace_block_head head;
    if (ft_trace_decoder_head(decoder, ft_trace_set_reader(where->set, reader), block, &head) < 0) {
        return true; /* who decodes it finds what is wrong */
    }
    struct known known = known_of(where, reader, block, &head);
    bool may = head.aggregate_count == 0 && evaluate(&known, where->filter->root).be_true;
    for (size_t i = 0; i < head.aggregate_count && !may; i++) {
        known.sums = &head.aggregates[i];
        may = evaluate(&known, where->filter->root).be_true;
    }
    return may;
}

bool ft_where_may_match(const struct ft_where *where, struct ft_trace_decoder *decoder, size_t reader, size_t block)
{
    bool may = may_match(where, decoder, reader, block);
    __atomic_fetch_add(&where->stats->blocks, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&where->stats->blocks_read, may, __ATOMIC_RELAXED);
    return may;
}
