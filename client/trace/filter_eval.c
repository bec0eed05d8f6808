// SPDX-License-Identifier: MIT
/* The tree over the rows of a block: one node at a time, all rows of it, a byte for each. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/trace/filter_impl.h"

struct evaluation {
    struct ft_selector *selector;
    const struct ft_where *where;
    size_t reader;
    const struct ft_rows *rows;
};

void ft_selector_fini(struct ft_selector *selector)
{
    free(selector->levels);
    free(selector->numbers);
    free(selector->known);
    free(selector->runs);
    free(selector->columns);
    memset(selector, 0, sizeof(*selector));
}

/* Numbers of a field: those of a column where they are 64 bits, else in the selector's room. */
struct numbers {
    const int64_t *values;
    const uint8_t *has; /* NULL: all are known */
    uint8_t bit;
};

static bool is_told(const struct evaluation *on, size_t i, unsigned field)
{
    unsigned kind = on->rows->kind[i];
    return kind == FT_EVENT_CALL || (field == FT_FIELD_DUR && kind == FT_EVENT_SPAN);
}

static struct numbers widened(const struct evaluation *on, unsigned field)
{
    const struct ft_rows *rows = on->rows;
    struct ft_selector *selector = on->selector;
    for (size_t i = 0; i < rows->count; i++) {
        switch (field) {
        case FT_FIELD_BYTES:
            selector->numbers[i] = rows->bytes[i] > INT64_MAX ? INT64_MAX : (int64_t)rows->bytes[i];
            selector->known[i] = (rows->has[i] & FT_HAS_BYTES) != 0;
            break;
        case FT_FIELD_FD:
            selector->numbers[i] = rows->fd[i];
            selector->known[i] = rows->fd[i] >= 0;
            break;
        default:
            selector->numbers[i] = field == FT_FIELD_ERRNO ? rows->err[i] : rows->dur_ns[i];
            selector->known[i] = is_told(on, i, field);
        }
    }
    return (struct numbers){selector->numbers, selector->known, 1};
}

static struct numbers numbers_of(const struct evaluation *on, unsigned field)
{
    const struct ft_rows *rows = on->rows;
    switch (field) {
    case FT_FIELD_TS:
    case FT_FIELD_T:
        return (struct numbers){rows->start_ns, NULL, 0};
    case FT_FIELD_SIZE:
        return (struct numbers){rows->size, rows->has, FT_HAS_SIZE};
    case FT_FIELD_OFFSET:
        return (struct numbers){rows->offset, rows->has, FT_HAS_OFFSET};
    case FT_FIELD_RESULT:
        return (struct numbers){rows->result, rows->has, FT_HAS_RESULT};
    default:
        return widened(on, field);
    }
}

#define EACH(operator)                                       \
    for (size_t i = 0; i < count; i++) {                     \
        out[i] = (uint8_t)(numbers.values[i] operator than); \
    }                                                        \
    break

static void compare(enum ft_filter_op op, struct numbers numbers, int64_t than, size_t count, uint8_t *out)
{
    switch (op) {
    case FT_OP_EQ:
        EACH(==);
    case FT_OP_NE:
        EACH(!=);
    case FT_OP_LT:
        EACH(<);
    case FT_OP_LE:
        EACH(<=);
    case FT_OP_GT:
        EACH(>);
    default:
        EACH(>=);
    }
    for (size_t i = 0; numbers.has && i < count; i++) {
        out[i] &= (numbers.has[i] & numbers.bit) != 0;
    }
}

/* Starts are of the host's clock: the limit becomes one of it. Only differences that fit are ordinary. */
static void compare_times(const struct evaluation *on, const struct ft_filter_node *test, uint8_t *out)
{
    int64_t offset_ns = ft_trace_set_realtime_ns(on->where->set, on->reader, 0), than;
    if (__builtin_sub_overflow(ft_where_time(on->where, test), offset_ns, &than)) {
        than = offset_ns < 0 ? INT64_MAX : INT64_MIN;
    }
    compare(test->op, numbers_of(on, test->field), than, on->rows->count, out);
}

static void test_rows(const struct evaluation *on, size_t node, const struct ft_run *run, uint8_t *out)
{
    const struct ft_rows *rows = on->rows;
    const struct ft_filter_node *test = &on->where->filter->nodes[node];
    for (size_t i = run->first, end = i + run->count; i < end; i++) {
        uint8_t verdict;
        switch (test->field) {
        case FT_FIELD_PATH:
        case FT_FIELD_FILE_INDEX:
            verdict = ft_where_of_file(on->where, node, on->reader, rows->file[i]);
            break;
        case FT_FIELD_PATH2:
        case FT_FIELD_FILE2_INDEX:
            verdict = ft_where_of_file(on->where, node, on->reader, rows->file2[i]);
            break;
        case FT_FIELD_TAG:
            verdict = ft_where_of_context(on->where, node, on->reader, rows->context[i]);
            break;
        default:
            verdict = ft_where_of_call(on->where, node, on->reader, rows->kind[i], rows->call[i],
                                       rows->name ? rows->name[i] : 0, rows->category ? rows->category[i] : 0);
        }
        if (verdict == FT_VERDICT_ABSENT) {
            verdict = ft_where_of_thread(on->where, node, on->reader, run->thread);
        }
        out[i] = verdict == FT_VERDICT_TRUE;
    }
}

static void test_all(const struct evaluation *on, size_t node, uint8_t *out)
{
    const struct ft_filter_node *test = &on->where->filter->nodes[node];
    enum ft_filter_place place = ft_filter_fields[test->field].place;
    if (test->field == FT_FIELD_TS || test->field == FT_FIELD_T) {
        compare_times(on, test, out);
        return;
    }
    if (place == FT_PLACE_ROW) {
        compare(test->op, numbers_of(on, test->field), test->number, on->rows->count, out);
        return;
    }
    for (size_t r = 0; r < on->rows->run_count; r++) {
        const struct ft_run *run = &on->rows->runs[r];
        if (place == FT_PLACE_THREAD) {
            bool is_true = ft_where_of_thread(on->where, node, on->reader, run->thread) == FT_VERDICT_TRUE;
            memset(out + run->first, is_true, run->count);
        } else {
            test_rows(on, node, run, out);
        }
    }
}

/* Bytes are 0 or 1. A left child has its parent's level, so that a long chain of && needs two. */
static uint8_t *evaluate(const struct evaluation *on, size_t node_index, size_t level)
{
    const struct ft_filter_node *node = &on->where->filter->nodes[node_index];
    uint8_t *out = on->selector->levels + level * FT_TRACE_BLOCK_ROWS_MAX;
    if (node->kind == FT_NODE_TEST) {
        test_all(on, node_index, out);
        return out;
    }
    evaluate(on, node->left, level);
    const uint8_t *right = node->kind == FT_NODE_NOT ? NULL : evaluate(on, node->right, level + 1);
    for (size_t i = 0; i < on->rows->count; i++) {
        out[i] = node->kind == FT_NODE_NOT   ? !out[i]
                 : node->kind == FT_NODE_AND ? out[i] & right[i]
                                             : out[i] | right[i];
    }
    return out;
}

const uint8_t *ft_selector_choose(struct ft_selector *selector, size_t reader, const struct ft_rows *rows,
                                  size_t *count)
{
    struct evaluation on = {.selector = selector, .where = selector->where, .reader = reader, .rows = rows};
    const uint8_t *chosen = evaluate(&on, selector->where->filter->root, 0);
    *count = 0;
    for (size_t i = 0; i < rows->count; i++) {
        *count += chosen[i];
    }
    return chosen;
}

/* A row with all columns. */
#define ITEM_BYTES(type, name) +sizeof(type)
enum { ROW_BYTES = 0 FT_ROWS_COLUMNS(ITEM_BYTES) };

/* How many levels evaluate() uses below this node. */
static size_t levels_of(const struct ft_filter *filter, size_t node_index)
{
    const struct ft_filter_node *node = &filter->nodes[node_index];
    if (node->kind == FT_NODE_TEST) {
        return 1;
    }
    size_t left = levels_of(filter, node->left);
    size_t right = node->kind == FT_NODE_NOT ? 0 : 1 + levels_of(filter, node->right);
    return left > right ? left : right;
}

/* Room that is not used is never touched. */
int ft_selector_init(struct ft_selector *selector, const struct ft_where *where)
{
    size_t rows = FT_TRACE_BLOCK_ROWS_MAX;
    *selector = (struct ft_selector){.where = where,
                                     .levels = malloc(rows * levels_of(where->filter, where->filter->root)),
                                     .numbers = malloc(rows * sizeof(*selector->numbers)),
                                     .known = malloc(rows),
                                     .runs = malloc(rows * sizeof(*selector->runs)),
                                     .columns = malloc(rows * ROW_BYTES)};
    if (!selector->levels || !selector->numbers || !selector->known || !selector->runs || !selector->columns) {
        ft_selector_fini(selector);
        return -ENOMEM;
    }
    return 0;
}

static void pick_column(const void *from, size_t item_bytes, const uint8_t *chosen, size_t count, uint8_t *to)
{
    const uint8_t *at = from;
    for (size_t i = 0; i < count; i++, at += item_bytes) {
        if (chosen[i]) {
            memcpy(to, at, item_bytes);
            to += item_bytes;
        }
    }
}

static void pick_columns(struct ft_selector *selector, const struct ft_rows *rows, const uint8_t *chosen,
                         struct ft_rows *out)
{
    uint8_t *room = selector->columns;
#define PICK(type, column)                                                           \
    if (rows->column) {                                                              \
        pick_column(rows->column, sizeof(*rows->column), chosen, rows->count, room); \
        out->column = (const void *)room;                                            \
        room += sizeof(*rows->column) * FT_TRACE_BLOCK_ROWS_MAX;                     \
    }
    FT_ROWS_COLUMNS(PICK)
#undef PICK
    out->args = rows->args;
    out->arg_total = rows->arg_total;
}

void ft_selector_pick(struct ft_selector *selector, size_t reader, const struct ft_rows *rows, struct ft_rows *out)
{
    size_t count;
    const uint8_t *chosen = ft_selector_choose(selector, reader, rows, &count);
    *out = (struct ft_rows){.runs = selector->runs};
    for (size_t r = 0; r < rows->run_count; r++) {
        struct ft_run run = {.thread = rows->runs[r].thread, .first = (uint32_t)out->count};
        for (size_t i = rows->runs[r].first, end = i + rows->runs[r].count; i < end; i++) {
            run.count += chosen[i];
        }
        if (run.count > 0) {
            selector->runs[out->run_count++] = run;
        }
        out->count += run.count;
    }
    pick_columns(selector, rows, chosen, out);
}
