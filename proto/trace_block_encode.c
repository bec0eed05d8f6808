// SPDX-License-Identifier: MIT
#include "proto/frame.h"
#include "proto/trace.pb-c.h"
#include "proto/trace_aggregate.h"
#include "proto/trace_aggregate_message.h"
#include "proto/trace_block.h"

// Aggregates of a call are looked up here first: most rows have the key of the
// last row with the same call.
#define NO_AGGREGATE UINT32_MAX

struct ft_block_encoder {
    struct ft_event *rows;
    size_t row_count, row_cap;
    struct ft_block_args args; // of the rows
    int64_t first_ns, last_ns; // smallest start, largest end
    struct ft_block_order order;
    struct ft_block_columns columns;
    struct ft_column_encoder *column_encoder;
    struct ft_aggregator *aggregator;
    struct ft_trace_aggregate *aggregates; // the aggregator's array
    uint32_t aggregate_of_call[FT_TRACE_CALL_MAX];
    bool has_many_keys;
    struct ft_block_ranges ranges;
    struct ft_buffer data;
    struct ft_buffer packed; // the head
    struct ft_arena arena;   // what the head's pointers point to
};

// The head and what it points to, while it is packed.
struct head {
    Flowtap__Block block;
    Flowtap__Column columns[FT_COLUMN_END];
    Flowtap__Column *column_list[FT_COLUMN_END];
};

struct ft_block_encoder *ft_block_encoder_create(int zlib_level)
{
    struct ft_block_encoder *encoder = calloc(1, sizeof(*encoder));

    if (!encoder)
        return NULL;
    encoder->column_encoder = ft_column_encoder_create(zlib_level);
    encoder->aggregator = ft_aggregator_create();
    if (!encoder->column_encoder || !encoder->aggregator) {
        ft_block_encoder_destroy(encoder);
        return NULL;
    }
    memset(encoder->aggregate_of_call, 0xff, sizeof(encoder->aggregate_of_call));
    return encoder;
}

void ft_block_encoder_destroy(struct ft_block_encoder *encoder)
{
    if (!encoder)
        return;
    free(encoder->rows);
    ft_block_args_fini(&encoder->args);
    ft_block_order_fini(&encoder->order);
    ft_block_columns_fini(&encoder->columns);
    ft_column_encoder_destroy(encoder->column_encoder);
    ft_aggregator_destroy(encoder->aggregator);
    ft_block_ranges_fini(&encoder->ranges);
    ft_buffer_fini(&encoder->data);
    ft_buffer_fini(&encoder->packed);
    ft_arena_fini(&encoder->arena);
    free(encoder);
}

void ft_block_encoder_trim(struct ft_block_encoder *encoder)
{
    if (encoder->row_count == 0) {
        free(encoder->rows);
        encoder->rows = NULL;
        encoder->row_cap = 0;
        ft_block_args_fini(&encoder->args);
        ft_block_order_fini(&encoder->order);
    }
    ft_block_columns_fini(&encoder->columns);
    ft_column_encoder_trim(encoder->column_encoder);
    ft_block_ranges_fini(&encoder->ranges);
    ft_buffer_fini(&encoder->data);
    ft_buffer_fini(&encoder->packed);
    ft_arena_fini(&encoder->arena);
}

size_t ft_block_encoder_memory(const struct ft_block_encoder *encoder)
{
    size_t order = encoder->order.cap * 2 + encoder->order.row_cap + encoder->order.thread_cap;

    return sizeof(*encoder) + encoder->row_cap * sizeof(*encoder->rows) + order * sizeof(uint32_t) +
           encoder->order.run_cap * sizeof(*encoder->order.runs) +
           (encoder->columns.cap * FT_COLUMN_END + encoder->columns.arg_cap * 3) * sizeof(uint64_t) +
           encoder->args.cap * sizeof(*encoder->args.items) + ft_column_encoder_memory(encoder->column_encoder) +
           ft_aggregator_memory(encoder->aggregator) + encoder->ranges.cap * sizeof(*encoder->ranges.items) +
           encoder->data.cap + encoder->packed.cap + encoder->arena.bytes;
}

// The aggregate of a key that is not the last one of its call; NULL on -ENOMEM,
// or with has_many_keys set.
static struct ft_trace_aggregate *find_aggregate(struct ft_block_encoder *encoder, const struct ft_event *row,
                                                 uint8_t file_class, uint8_t file2_class)
{
    const struct ft_trace_aggregate key = {
        .call = row->call,
        .kind = row->kind,
        .file_class = file_class,
        .file2_class = file2_class,
        .name = row->name,
        .category = row->category,
    };
    struct ft_trace_aggregate *aggregate;
    size_t count;

    ft_aggregator_all(encoder->aggregator, &count);
    encoder->has_many_keys |= count > FT_TRACE_BLOCK_ROWS_MAX / FT_BLOCK_AGGREGATE_ROWS_PER_KEY;
    aggregate = encoder->has_many_keys ? NULL : ft_aggregator_get(encoder->aggregator, &key);
    if (!aggregate)
        return NULL;
    // Not const: they are the encoder's own. The array may have moved.
    encoder->aggregates = (struct ft_trace_aggregate *)ft_aggregator_all(encoder->aggregator, &count);
    encoder->aggregate_of_call[row->call] = (uint32_t)(aggregate - encoder->aggregates);
    return aggregate;
}

// Adds a row to its totals; gives the totals up where there are too many keys.
static inline int add_up(struct ft_block_encoder *encoder, const struct ft_event *row, uint8_t file_class,
                         uint8_t file2_class)
{
    uint32_t cached = encoder->aggregate_of_call[row->call];
    struct ft_trace_aggregate *aggregate = NULL;

    if (cached != NO_AGGREGATE) {
        aggregate = &encoder->aggregates[cached];
        if (aggregate->file_class != file_class || aggregate->file2_class != file2_class ||
            aggregate->kind != row->kind || aggregate->name != row->name || aggregate->category != row->category)
            aggregate = NULL;
    }
    if (!aggregate)
        aggregate = find_aggregate(encoder, row, file_class, file2_class);
    if (!aggregate)
        return encoder->has_many_keys ? 0 : -ENOMEM;
    ft_aggregate_add(aggregate, (uint64_t)row->dur_ns, row->has & FT_HAS_BYTES, row->bytes,
                     row->has & FT_HAS_ERR && row->err != 0);
    return 0;
}

static int make_room(struct ft_block_encoder *encoder, uint32_t thread)
{
    int rc = ft_array_grow(&encoder->rows, &encoder->row_cap, encoder->row_count, sizeof(*encoder->rows));

    return rc ? rc : ft_block_order_reserve(&encoder->order, thread);
}

// Appends a row, for which there is room, that ends `length_ns` after its start.
static inline void append_row(struct ft_block_encoder *encoder, const struct ft_event *row, int64_t length_ns)
{
    int64_t end_ns = row->start_ns + length_ns;

    ft_block_order_add(&encoder->order, row->thread, row->start_ns);
    if (encoder->row_count == 0) {
        encoder->first_ns = row->start_ns;
        encoder->last_ns = end_ns;
    }
    if (row->start_ns < encoder->first_ns)
        encoder->first_ns = row->start_ns;
    if (end_ns > encoder->last_ns)
        encoder->last_ns = end_ns;
    encoder->rows[encoder->row_count++] = *row;
}

int ft_block_add(struct ft_block_encoder *encoder, const struct ft_event *row, uint8_t file_class, uint8_t file2_class)
{
    int rc = 0;

    if (encoder->row_count == encoder->row_cap || !ft_block_order_has_room(&encoder->order, row->thread))
        rc = make_room(encoder, row->thread);
    if (rc == 0)
        rc = add_up(encoder, row, file_class, file2_class);
    if (rc == 0)
        append_row(encoder, row, row->dur_ns);
    return rc;
}

struct ft_block_args *ft_block_args_of(struct ft_block_encoder *encoder)
{
    return &encoder->args;
}

size_t ft_block_rows(const struct ft_block_encoder *encoder)
{
    return encoder->row_count;
}

void ft_block_reset(struct ft_block_encoder *encoder)
{
    size_t count;

    // Only what was touched, where that is less: blocks of short processes are small.
    for (size_t i = 0; i < encoder->row_count && i < FT_TRACE_CALL_MAX; i++)
        encoder->aggregate_of_call[encoder->rows[i].call] = NO_AGGREGATE;
    if (encoder->row_count > FT_TRACE_CALL_MAX)
        memset(encoder->aggregate_of_call, 0xff, sizeof(encoder->aggregate_of_call));
    ft_aggregator_all(encoder->aggregator, &count);
    if (count)
        ft_aggregator_reset(encoder->aggregator);
    ft_block_order_reset(&encoder->order);
    encoder->row_count = encoder->args.count = 0;
    encoder->has_many_keys = false;
}

static int encode_columns(struct ft_block_encoder *encoder, struct head *head)
{
    static const bool is_signed[] = {
#define signed true
#define unsigned false
#define FT_COLUMN_SIGN(number, name, sign) [number] = sign,
        FT_COLUMNS(FT_COLUMN_SIGN)
#undef FT_COLUMN_SIGN
#undef unsigned
#undef signed
    };
    bool is_by_call = ft_block_columns_by_call(&encoder->columns);
    size_t used = 0;

    encoder->data.len = 0;
    for (int kind = 1; kind < FT_COLUMN_END; kind++) {
        struct ft_column_head column = {.kind = (uint8_t)kind};
        int rc;

        if (encoder->columns.count[kind] == 0)
            continue;
        column.is_by_call = is_by_call && FT_COLUMN_MAY_BE_BY_CALL(kind);
        rc = ft_column_encode(encoder->column_encoder, encoder->columns.numbers[kind], encoder->columns.count[kind],
                              is_signed[kind], &encoder->data, &column);
        if (rc)
            return rc;
        // All zeros is told by absence, but for told columns: there absence means that no row tells, which
        // readers need not count then.
        if (column.planes == 0 && column.value == 0 && kind < FT_COLUMN_SIZE)
            continue;
        flowtap__column__init(&head->columns[used]);
        head->columns[used].kind = column.kind;
        head->columns[used].encoding = ft_column_encoding(&column);
        head->columns[used].stored = column.stored;
        head->columns[used].wide = column.wide;
        head->columns[used].value = column.value;
        head->column_list[used] = &head->columns[used];
        used++;
    }
    head->block.columns = head->column_list;
    head->block.n_columns = used;
    return 0;
}

static int put_runs(struct ft_block_encoder *encoder, Flowtap__Block *block, struct ft_block_span *span)
{
    const struct ft_block_order *order = &encoder->order;
    uint32_t *threads = ft_arena_zalloc(&encoder->arena, order->run_count, sizeof(*threads));
    uint32_t *rows = ft_arena_zalloc(&encoder->arena, order->run_count, sizeof(*rows));
    uint64_t *starts = ft_arena_zalloc(&encoder->arena, order->run_count, sizeof(*starts));
    if (!threads || !rows || !starts)
        return -ENOMEM;
    for (size_t i = 0; i < order->run_count; i++) {
        threads[i] = order->runs[i].thread;
        rows[i] = order->runs[i].count;
        starts[i] = (uint64_t)(encoder->rows[order->rows[order->runs[i].first]].start_ns - encoder->first_ns);
    }
    *span = (struct ft_block_span){
        .start_ns = encoder->first_ns,
        .span_ns = (uint64_t)(encoder->last_ns - encoder->first_ns),
    };
    block->rows = (uint32_t)encoder->row_count;
    block->start_ns = span->start_ns;
    block->span_ns = span->span_ns;
    block->run_thread = threads;
    block->run_rows = rows;
    block->run_start = starts;
    block->n_run_thread = block->n_run_rows = block->n_run_start = order->run_count;
    return 0;
}

// The totals that stand in the head; NULL: none.
static const struct ft_aggregator *choose_totals(const struct ft_block_encoder *encoder,
                                                 const struct ft_profile *profile)
{
    size_t count;

    if (profile)
        return profile->has_many_keys ? NULL : profile->aggregator;
    ft_aggregator_all(encoder->aggregator, &count);
    return encoder->has_many_keys || encoder->row_count < FT_BLOCK_AGGREGATE_ROWS_MIN ||
                   encoder->row_count < count * FT_BLOCK_AGGREGATE_ROWS_PER_KEY
               ? NULL
               : encoder->aggregator;
}

static int put_aggregates(struct ft_block_encoder *encoder, const struct ft_aggregator *totals, Flowtap__Block *block)
{
    const struct ft_trace_aggregate *all;
    Flowtap__Aggregate *messages, **list;
    size_t count;

    if (!totals)
        return 0;
    all = ft_aggregator_all(totals, &count);
    messages = ft_arena_zalloc(&encoder->arena, count, sizeof(*messages));
    list = ft_arena_zalloc(&encoder->arena, count, sizeof(*list));
    if (!messages || !list)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        ft_aggregate_to_message(&all[i], &messages[i]);
        list[i] = &messages[i];
    }
    block->aggregates = list;
    block->n_aggregates = count;
    return 0;
}

// Protobuf messages that follow each other are one: `rest` is packed fields of the head.
static int append_frame(struct ft_block_encoder *encoder, unsigned kind, const Flowtap__Block *block,
                        const struct ft_buffer *rest, struct ft_buffer *out)
{
    size_t own_len = flowtap__block__get_packed_size(block), head_len = own_len + rest->len;
    size_t data_len = encoder->data.len;
    int rc;

    if (head_len > FT_FRAME_HEAD_MAX || data_len > FT_FRAME_DATA_MAX)
        return -EINVAL;
    encoder->packed.len = 0;
    rc = ft_buffer_reserve(&encoder->packed, head_len);
    if (rc == 0)
        rc = ft_buffer_reserve(out, FT_FRAME_HEADER_BYTES + head_len + data_len);
    if (rc)
        return rc;
    flowtap__block__pack(block, encoder->packed.data);
    if (rest->len)
        memcpy(encoder->packed.data + own_len, rest->data, rest->len);
    ft_frame_encode(out->data + out->len, kind, 0, encoder->packed.data, (uint32_t)head_len, encoder->data.data,
                    (uint32_t)data_len);
    out->len += FT_FRAME_HEADER_BYTES;
    ft_buffer_append(out, encoder->packed.data, head_len);
    ft_buffer_append(out, encoder->data.data, data_len);
    return 0;
}

static int encode(struct ft_block_encoder *encoder, const struct ft_profile *profile,
                  const struct ft_trace_range *ranges, size_t range_count, const struct ft_buffer *rest,
                  struct ft_buffer *out, struct ft_block_span *span)
{
    struct head head = {.block = FLOWTAP__BLOCK__INIT};
    unsigned kind = profile ? FT_FRAME_PROFILE : FT_FRAME_BLOCK;
    int rc;

    ft_arena_reset(&encoder->arena);
    head.block.events = profile ? profile->events : 0;
    rc = ft_block_order_finish(&encoder->order, encoder->rows);
    if (rc == 0)
        rc = ft_block_columns_build(&encoder->columns, encoder->rows, &encoder->order, &encoder->args);
    if (rc == 0)
        rc = encode_columns(encoder, &head);
    if (rc == 0)
        rc = put_runs(encoder, &head.block, span);
    if (rc == 0)
        rc = put_aggregates(encoder, choose_totals(encoder, profile), &head.block);
    if (rc == 0)
        rc = ft_block_ranges_put(&encoder->ranges, &encoder->arena, ranges, range_count, &head.block);
    if (rc == 0)
        rc = append_frame(encoder, kind, &head.block, rest, out);
    if (rc == 0)
        ft_block_reset(encoder);
    return rc;
}

int ft_block_encode(struct ft_block_encoder *encoder, const struct ft_trace_range *ranges, size_t range_count,
                    const struct ft_buffer *rest, struct ft_buffer *out, struct ft_block_span *span)
{
    return encode(encoder, NULL, ranges, range_count, rest, out, span);
}

int ft_block_encode_profile(struct ft_block_encoder *encoder, struct ft_profile *profile,
                            const struct ft_trace_range *ranges, size_t range_count, const struct ft_buffer *rest,
                            struct ft_buffer *out)
{
    struct ft_block_span span;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < profile->count; i++) {
        rc = make_room(encoder, profile->rows[i].thread);
        if (rc == 0)
            append_row(encoder, &profile->rows[i], profile->rows[i].size);
    }
    if (rc == 0)
        rc = encode(encoder, profile, ranges, range_count, rest, out, &span);
    if (rc)
        ft_block_reset(encoder);
    else
        ft_profile_reset(profile);
    return rc;
}
