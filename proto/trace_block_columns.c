// SPDX-License-Identifier: MIT
#include "proto/trace_block.h"
#include "proto/trace_shape.h"

// Columns that are filled while the rows are looked at; the others (nearly
// always 0) by a pass of their own, if any row has one.
#define FIRST_PASS_COLUMNS(X) \
    X(START) X(DUR) X(CALL) X(FILE) X(SHAPE) X(SIZE) X(OFFSET) X(RESULT) X(BYTES) X(ARG) X(ERR) X(FILE2) X(FD)
#define SECOND_PASS_COLUMNS(X) X(KIND, kind) X(CONTEXT, context) X(NAME, name) X(CATEGORY, category) X(FLAGS, flags)

#define COUNT_ONE(...) +1
#define COLUMN_ARRAYS (1 FIRST_PASS_COLUMNS(COUNT_ONE) SECOND_PASS_COLUMNS(COUNT_ONE))

static int grow(struct ft_block_columns *columns, size_t row_count)
{
    size_t cap = columns->cap ? columns->cap : 256;
    uint64_t *memory;

    if (row_count <= columns->cap)
        return 0;
    while (cap < row_count)
        cap *= 2;
    memory = malloc(cap * COLUMN_ARRAYS * sizeof(*memory));
    if (!memory)
        return -ENOMEM;
    free(columns->memory);
    columns->memory = memory;
    columns->cap = cap;
    return 0;
}

void ft_block_columns_fini(struct ft_block_columns *columns)
{
    free(columns->memory);
    free(columns->arg_memory);
    *columns = (struct ft_block_columns){0};
}

static inline void tell(struct ft_block_columns *columns, enum ft_column column, uint64_t number)
{
    columns->numbers[column][columns->count[column]++] = number;
}

static inline unsigned shape_of_size(struct ft_block_columns *columns, struct ft_shape_call *last,
                                     const struct ft_event *row)
{
    uint64_t before = last->size;

    if (!(row->has & FT_HAS_SIZE))
        return FT_SHAPE_ABSENT;
    last->size = (uint64_t)row->size;
    if (last->size == before)
        return FT_SHAPE_AS_LAST;
    if (last->size == 0)
        return FT_SHAPE_ZERO;
    tell(columns, FT_COLUMN_SIZE, last->size - before);
    return FT_SHAPE_TOLD;
}

static inline unsigned shape_of_offset(struct ft_block_columns *columns, struct ft_shape_slot *slot,
                                       const struct ft_event *row)
{
    uint64_t offset = (uint64_t)row->offset;
    struct ft_shape_slot before = *slot;

    if (!(row->has & FT_HAS_OFFSET))
        return FT_SHAPE_ABSENT;
    ft_shape_set_offset(slot, row->has, offset, row->bytes, (uint64_t)row->size);
    if (offset == before.end)
        return FT_SHAPE_OFFSET_FOLLOWS;
    if (offset == before.offset)
        return FT_SHAPE_OFFSET_AS_LAST;
    tell(columns, FT_COLUMN_OFFSET, offset - before.end);
    return FT_SHAPE_TOLD;
}

static inline unsigned shape_of_result(struct ft_block_columns *columns, struct ft_shape_call *last,
                                       const struct ft_event *row)
{
    uint64_t before = last->result;
    int64_t result = row->result;

    if (!(row->has & FT_HAS_RESULT))
        return FT_SHAPE_ABSENT;
    last->result = (uint64_t)result;
    if (result == 0)
        return FT_SHAPE_RESULT_ZERO;
    if (row->has & FT_HAS_SIZE && result == row->size)
        return FT_SHAPE_RESULT_SIZE;
    if (row->has & FT_HAS_OFFSET && result == row->offset)
        return FT_SHAPE_RESULT_OFFSET;
    if (last->result == before)
        return FT_SHAPE_RESULT_AS_LAST;
    if (result == -1)
        return FT_SHAPE_RESULT_MINUS_ONE;
    if (result == row->fd)
        return FT_SHAPE_RESULT_FD;
    tell(columns, FT_COLUMN_RESULT, (uint64_t)result);
    return FT_SHAPE_RESULT_TOLD;
}

static inline unsigned shape_of_bytes(struct ft_block_columns *columns, const struct ft_event *row)
{
    if (!(row->has & FT_HAS_BYTES))
        return FT_SHAPE_ABSENT;
    if (row->has & FT_HAS_RESULT && row->bytes == (uint64_t)row->result)
        return FT_SHAPE_BYTES_RESULT;
    if (row->bytes == 0)
        return FT_SHAPE_ZERO;
    tell(columns, FT_COLUMN_BYTES, row->bytes);
    return FT_SHAPE_TOLD;
}

static inline unsigned shape_of_arg(struct ft_block_columns *columns, struct ft_shape_call *last,
                                    const struct ft_event *row)
{
    uint64_t before = last->arg;

    if (!(row->has & FT_HAS_ARG))
        return FT_SHAPE_ABSENT;
    last->arg = row->arg;
    if (row->arg == before)
        return FT_SHAPE_AS_LAST;
    if (row->arg == 0)
        return FT_SHAPE_ZERO;
    tell(columns, FT_COLUMN_ARG, row->arg);
    return FT_SHAPE_TOLD;
}

static inline unsigned shape_of_err(struct ft_block_columns *columns, struct ft_shape_call *last,
                                    const struct ft_event *row)
{
    int32_t before = last->err;

    if (!(row->has & FT_HAS_ERR))
        return FT_SHAPE_ABSENT;
    last->err = row->err;
    if (row->err == before)
        return FT_SHAPE_AS_LAST;
    if (row->err == 0)
        return FT_SHAPE_ZERO;
    tell(columns, FT_COLUMN_ERR, (uint64_t)row->err);
    return FT_SHAPE_TOLD;
}

static inline unsigned shape_of_file2(struct ft_block_columns *columns, const struct ft_event *row)
{
    if (row->file2 == 0)
        return 0;
    tell(columns, FT_COLUMN_FILE2, (uint64_t)row->file2 - row->file);
    return 1;
}

static inline unsigned shape_of_fd(struct ft_block_columns *columns, struct ft_shape_state *state,
                                   const struct ft_event *row)
{
    int32_t before = state->fd, two_before = state->fd_before;

    ft_shape_set_fd(state, row->fd);
    if (row->fd == before)
        return FT_SHAPE_FD_AS_BEFORE;
    if (row->fd == -1)
        return FT_SHAPE_FD_NONE;
    if (row->fd == two_before)
        return FT_SHAPE_FD_AS_TWO_BEFORE;
    tell(columns, FT_COLUMN_FD, (uint64_t)row->fd - (uint64_t)before);
    return FT_SHAPE_FD_TOLD;
}

static inline unsigned shape_of(struct ft_block_columns *columns, struct ft_shape_state *state,
                                const struct ft_event *row)
{
    struct ft_shape_call *last = &state->calls[row->call];

    return shape_of_size(columns, last, row) << FT_SHAPE_SIZE_AT |
           shape_of_offset(columns, &state->slots[row->file % FT_SHAPE_SLOTS], row) << FT_SHAPE_OFFSET_AT |
           shape_of_result(columns, last, row) << FT_SHAPE_RESULT_AT |
           shape_of_bytes(columns, row) << FT_SHAPE_BYTES_AT | shape_of_arg(columns, last, row) << FT_SHAPE_ARG_AT |
           shape_of_err(columns, last, row) << FT_SHAPE_ERR_AT | shape_of_file2(columns, row) << FT_SHAPE_FILE2_AT |
           shape_of_fd(columns, state, row) << FT_SHAPE_FD_AT;
}

// Which of the second pass's columns are not 0 in some row.
struct ft_any {
#define ANY_FIELD(column, field) uint32_t field;
    SECOND_PASS_COLUMNS(ANY_FIELD)
#undef ANY_FIELD
};

#define ROWS_AHEAD 12U

static void fill_run(struct ft_block_columns *columns, struct ft_shape_state *state, const struct ft_event *rows,
                     const uint32_t *order, const struct ft_block_run *run, struct ft_recent_files *recent,
                     struct ft_any *any)
{
    uint64_t *start = columns->numbers[FT_COLUMN_START] + run->first,
             *dur = columns->numbers[FT_COLUMN_DUR] + run->first;
    uint64_t *call = columns->numbers[FT_COLUMN_CALL] + run->first;
    uint64_t *file = columns->numbers[FT_COLUMN_FILE] + run->first;
    uint64_t *shape = columns->numbers[FT_COLUMN_SHAPE] + run->first;
    uint64_t end = (uint64_t)rows[order[run->first]].start_ns;

    ft_shape_begin_run(state);
    ft_recent_files_begin_run(recent);
    for (uint32_t i = 0; i < run->count; i++) {
        const struct ft_event *row = &rows[order[run->first + i]];
        uint32_t ahead = i + ROWS_AHEAD < run->count ? i + ROWS_AHEAD : i;

        // A full block does not fit the nearer caches.
        __builtin_prefetch(&rows[order[run->first + ahead]]);
        __builtin_prefetch((const char *)&rows[order[run->first + ahead]] + sizeof(*row) - 1);
        start[i] = (uint64_t)row->start_ns - end;
        dur[i] = (uint64_t)row->dur_ns;
        end = (uint64_t)row->start_ns + dur[i];
        call[i] = row->call;
        file[i] = ft_recent_files_encode(recent, row->file);
        shape[i] = shape_of(columns, state, row);
#define ANY_OR(column, field) any->field |= row->field;
        SECOND_PASS_COLUMNS(ANY_OR)
#undef ANY_OR
    }
}

static void fill_second_pass(struct ft_block_columns *columns, const struct ft_event *rows,
                             const struct ft_block_order *order, const struct ft_any *any)
{
#define FILL(column, field)                                                       \
    if (any->field) {                                                             \
        for (size_t i = 0; i < order->row_count; i++)                             \
            columns->numbers[FT_COLUMN_##column][i] = rows[order->rows[i]].field; \
        columns->count[FT_COLUMN_##column] = order->row_count;                    \
    }
    SECOND_PASS_COLUMNS(FILL)
#undef FILL
}

// With fewer rows, or one call alone, the order of rows does as well.
#define BY_CALL_ROWS_MIN 512U

bool ft_block_columns_by_call(struct ft_block_columns *columns)
{
    static const enum ft_column kinds[] = {FT_COLUMN_START, FT_COLUMN_DUR, FT_COLUMN_SHAPE};
    const uint64_t *call = columns->numbers[FT_COLUMN_CALL];
    size_t count = columns->count[FT_COLUMN_CALL];
    uint32_t first[FT_TRACE_CALL_MAX] = {0}, next[FT_TRACE_CALL_MAX], sum = 0;

    if (count < BY_CALL_ROWS_MIN)
        return false;
    for (size_t i = 0; i < count; i++)
        first[call[i]]++;
    if (first[call[0]] == count)
        return false;
    for (size_t id = 0; id < FT_TRACE_CALL_MAX; id++) {
        uint32_t rows = first[id];

        first[id] = sum;
        sum += rows;
    }
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        const uint64_t *from = columns->numbers[kinds[k]];

        memcpy(next, first, sizeof(next));
        for (size_t i = 0; i < count; i++)
            columns->spare[next[call[i]]++] = from[i];
        columns->numbers[kinds[k]] = columns->spare;
        columns->spare = (uint64_t *)from;
    }
    return true;
}

int ft_block_columns_build(struct ft_block_columns *columns, const struct ft_event *rows,
                           const struct ft_block_order *order, const struct ft_block_args *args)
{
    static const enum ft_column dense[] = {FT_COLUMN_START, FT_COLUMN_DUR, FT_COLUMN_CALL, FT_COLUMN_FILE,
                                           FT_COLUMN_SHAPE};
    struct ft_shape_state *state = calloc(1, sizeof(*state));
    struct ft_recent_files recent = {0};
    struct ft_any any = {0};
    int rc = state ? grow(columns, order->row_count) : -ENOMEM;
    size_t used = 0;

    if (rc) {
        free(state);
        return rc;
    }
    memset(columns->count, 0, sizeof(columns->count));
#define PLACE(column, ...) columns->numbers[FT_COLUMN_##column] = columns->memory + columns->cap * used++;
    FIRST_PASS_COLUMNS(PLACE)
    SECOND_PASS_COLUMNS(PLACE)
#undef PLACE
    columns->spare = columns->memory + columns->cap * used;
    for (size_t i = 0; i < order->run_count; i++)
        fill_run(columns, state, rows, order->rows, &order->runs[i], &recent, &any);
    for (size_t i = 0; i < sizeof(dense) / sizeof(dense[0]); i++)
        columns->count[dense[i]] = order->row_count;
    fill_second_pass(columns, rows, order, &any);
    free(state);
    return ft_block_columns_add_args(columns, rows, order, args);
}
