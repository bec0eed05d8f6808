// SPDX-License-Identifier: MIT
#include "proto/trace_decode.h"

#include "proto/trace_aggregate_message.h"

#include <errno.h>

#define ROWS FT_TRACE_BLOCK_ROWS_MAX

// The arrays of a decoder, the wider ones first; the rows' own follow them.
#define ARRAYS(X)             \
    X(numbers[0])             \
    X(numbers[1])             \
    X(grouped[0])             \
    X(grouped[1])             \
    X(told[FT_COLUMN_SIZE])   \
    X(told[FT_COLUMN_OFFSET]) \
    X(told[FT_COLUMN_RESULT]) \
    X(told[FT_COLUMN_BYTES])  \
    X(told[FT_COLUMN_ARG])    \
    X(told[FT_COLUMN_ERR])    \
    X(told[FT_COLUMN_FILE2])  \
    X(told[FT_COLUMN_FD])     \
    X(args)                   \
    X(runs)

int ft_trace_decoder_create(struct ft_trace_decoder **out)
{
    struct ft_trace_decoder *decoder = calloc(1, sizeof(*decoder));
    size_t bytes = 0, used = 0;

    if (!decoder)
        return -ENOMEM;
    decoder->window.fd = -1;
    decoder->scratch.bytes_max = FT_READER_MESSAGE_MAX;
    decoder->columns = ft_column_decoder_create();
    decoder->aggregator = ft_aggregator_create();
    ft_shape_has_of_all(decoder->has_of);
#define ADD_BYTES(array) bytes += ROWS * sizeof(*decoder->array);
#define ADD_COLUMN(type, name) ADD_BYTES(name)
    ARRAYS(ADD_BYTES)
    FT_ROWS_COLUMNS(ADD_COLUMN)
    ADD_BYTES(shapes)
    ADD_BYTES(ranks)
#undef ADD_COLUMN
#undef ADD_BYTES
    // Zeros by calloc, so that their pages are never made.
    decoder->memory = malloc(bytes);
    decoder->zeros = calloc(ROWS, sizeof(uint64_t));
    if (!decoder->columns || !decoder->aggregator || !decoder->memory || !decoder->zeros) {
        ft_trace_decoder_destroy(decoder);
        return -ENOMEM;
    }
#define PLACE(array)                                   \
    decoder->array = (void *)(decoder->memory + used); \
    used += ROWS * sizeof(*decoder->array);
#define PLACE_COLUMN(type, name) PLACE(name)
    ARRAYS(PLACE)
    FT_ROWS_COLUMNS(PLACE_COLUMN)
    PLACE(shapes)
    PLACE(ranks)
#undef PLACE_COLUMN
#undef PLACE
    *out = decoder;
    return 0;
}

void ft_trace_decoder_destroy(struct ft_trace_decoder *decoder)
{
    if (!decoder)
        return;
    ft_window_detach(&decoder->window);
    ft_column_decoder_destroy(decoder->columns);
    ft_aggregator_destroy(decoder->aggregator);
    ft_arena_fini(&decoder->scratch);
    ft_buffer_fini(&decoder->aggregates);
    ft_buffer_fini(&decoder->ranges);
    ft_buffer_fini(&decoder->problems);
    free(decoder->memory);
    free((void *)decoder->zeros);
    free(decoder);
}

const struct ft_trace_block *ft_decoder_find(const struct ft_trace_reader *reader, size_t block)
{
    size_t number = block & (FT_TRACE_PROFILE - 1);

    if (block & FT_TRACE_PROFILE)
        return number < reader->profiles.count ? &reader->profiles.items[number] : NULL;
    return block < reader->blocks.count ? &reader->blocks.items[block] : NULL;
}

// Reads the first `len` bytes of a block's frame, which are at least its head.
static int read_frame(struct ft_trace_decoder *decoder, const struct ft_trace_reader *reader,
                      const struct ft_trace_block *info, size_t len, struct ft_frame *frame, const uint8_t **bytes)
{
    int rc = ft_window_attach(&decoder->window, &reader->source);

    if (rc == 0)
        rc = ft_window_get(&decoder->window, info->offset, len, bytes);
    if (rc == 0)
        rc = ft_frame_decode(*bytes, frame);
    if (rc)
        return rc;
    // It was whole at open; if it is not now, somebody wrote into the file.
    if (frame->head_len != info->head_len || frame->data_len != info->data_len ||
        !ft_frame_check_head(*bytes, frame, *bytes + FT_FRAME_HEADER_BYTES))
        return -ESTALE;
    return 0;
}

static int unpack(struct ft_trace_decoder *decoder, const struct ft_frame *frame, const uint8_t *bytes,
                  Flowtap__Block **message)
{
    ft_arena_reset(&decoder->scratch);
    *message = ft_reader_unpack_block(&decoder->scratch, bytes + FT_FRAME_HEADER_BYTES, frame);
    return *message ? 0 : decoder->scratch.has_no_memory ? -ENOMEM : -EBADMSG;
}

int ft_decoder_load_head(struct ft_trace_decoder *decoder, const struct ft_trace_reader *reader, size_t block,
                         Flowtap__Block **message)
{
    const struct ft_trace_block *info = ft_decoder_find(reader, block);
    const uint8_t *bytes;
    struct ft_frame frame;
    int rc = -EINVAL;

    if (info)
        rc = read_frame(decoder, reader, info, FT_FRAME_HEADER_BYTES + (size_t)info->head_len, &frame, &bytes);
    return rc ? rc : unpack(decoder, &frame, bytes, message);
}

int ft_decoder_load(struct ft_trace_decoder *decoder, const struct ft_trace_reader *reader, size_t block,
                    Flowtap__Block **message, const uint8_t **data)
{
    const struct ft_trace_block *info = ft_decoder_find(reader, block);
    const uint8_t *bytes;
    struct ft_frame frame;
    size_t head_end;
    int rc;

    if (!info)
        return -EINVAL;
    head_end = FT_FRAME_HEADER_BYTES + (size_t)info->head_len;
    rc = read_frame(decoder, reader, info, head_end + info->data_len, &frame, &bytes);
    if (rc)
        return rc;
    if (!ft_frame_check_data(&frame, bytes + head_end))
        return -EBADMSG;
    *data = bytes + head_end;
    return unpack(decoder, &frame, bytes, message);
}

// Finds each column's bytes. A column kind that is not known is passed over; one
// that comes twice is an error.
static int find_columns(struct ft_decode *decode, const uint8_t *data)
{
    for (size_t i = 0; i < decode->block->n_columns; i++) {
        const Flowtap__Column *column = decode->block->columns[i];
        struct ft_column_head head;

        if (column->kind && column->kind < FT_COLUMN_END) {
            if (decode->stored[column->kind] || ft_column_head_from(column->kind, column->encoding, &head))
                return -EBADMSG;
            head.stored = column->stored;
            head.wide = column->wide;
            head.value = column->value;
            if (head.is_by_call && !FT_COLUMN_MAY_BE_BY_CALL(head.kind))
                return -EBADMSG;
            decode->heads[column->kind] = head;
            decode->stored[column->kind] = data;
        }
        data += column->stored;
    }
    return 0;
}

static void put_runs(struct ft_trace_decoder *decoder, const Flowtap__Block *block, struct ft_rows *out)
{
    uint32_t first = 0;

    for (size_t i = 0; i < block->n_run_rows; i++) {
        decoder->runs[i] = (struct ft_run){
            .thread = block->run_thread[i],
            .first = first,
            .count = block->run_rows[i],
        };
        first += block->run_rows[i];
    }
    out->count = block->rows;
    out->runs = decoder->runs;
    out->run_count = block->n_run_rows;
}

int ft_decoder_decode(struct ft_trace_decoder *decoder, const Flowtap__Block *message, const uint8_t *data,
                      uint32_t mask, struct ft_rows *out)
{
    struct ft_decode decode = {.decoder = decoder, .block = message, .rows = message->rows};
    struct ft_rows rows = {0};
    uint32_t shaped = mask & FT_COL_SHAPED;
    uint32_t needed = shaped ? mask | FT_COL_CALL | FT_COL_FILE : mask;
    int rc = find_columns(&decode, data);

    if (rc)
        return rc;
    put_runs(decoder, message, &rows);
    rc = ft_decode_dense(&decode, needed, &rows);
    if (rc == 0 && shaped == FT_COL_FILE2)
        rc = ft_decode_file2(&decode, &rows);
    else if (rc == 0 && shaped)
        rc = ft_decode_shaped(&decode, mask, &rows);
    if (rc == 0 && mask & FT_COL_ARGS)
        rc = ft_decode_args(&decode, &rows);
    if (rc == 0)
        *out = rows;
    return rc;
}

int ft_trace_decoder_rows(struct ft_trace_decoder *decoder, const struct ft_trace_reader *reader, size_t block,
                          uint32_t mask, struct ft_rows *out)
{
    Flowtap__Block *message;
    const uint8_t *data;
    int rc = ft_decoder_load(decoder, reader, block, &message, &data);

    return rc ? rc : ft_decoder_decode(decoder, message, data, mask, out);
}

// Columns that aggregates are made of.
#define AGGREGATE_MASK \
    (FT_COL_DUR | FT_COL_CALL | FT_COL_FILE | FT_COL_FILE2 | FT_COL_BYTES | FT_COL_ERR | FT_COL_NAME | FT_COL_HAS)
#define SUMS_MASK (FT_COL_ARG | FT_COL_RESULT)

// A row that is a sum: its events count without a histogram, least and most are not known.
static void add_sum(struct ft_trace_aggregate *aggregate, const struct ft_rows *rows, size_t i)
{
    aggregate->count += rows->arg[i];
    aggregate->errors += (uint64_t)rows->result[i];
    aggregate->bytes += rows->bytes[i];
    aggregate->time_ns += (uint64_t)rows->dur_ns[i];
    aggregate->min_ns = 0;
}

int ft_decoder_add_up(struct ft_trace_decoder *decoder, const struct ft_trace_reader *reader, bool are_sums,
                      const struct ft_rows *rows)
{
    ft_aggregator_reset(decoder->aggregator);
    for (size_t i = 0; i < rows->count; i++) {
        struct ft_trace_aggregate key, *aggregate;

        key.call = rows->call[i];
        key.kind = rows->kind[i];
        key.file_class = (uint8_t)ft_trace_reader_file_class(reader, rows->file[i]);
        key.file2_class = (uint8_t)ft_trace_reader_file_class(reader, rows->file2[i]);
        key.name = rows->name[i];
        key.category = rows->category[i];
        aggregate = ft_aggregator_get(decoder->aggregator, &key);
        if (!aggregate)
            return -ENOMEM;
        if (are_sums)
            add_sum(aggregate, rows, i);
        else
            ft_aggregate_add(aggregate, (uint64_t)rows->dur_ns[i], rows->has[i] & FT_HAS_BYTES, rows->bytes[i],
                             rows->err[i] != 0);
    }
    return 0;
}

static int aggregates_of_rows(struct ft_trace_decoder *decoder, const struct ft_trace_reader *reader, size_t block)
{
    const struct ft_trace_aggregate *all;
    bool are_sums = block & FT_TRACE_PROFILE;
    struct ft_rows rows;
    size_t count;
    int rc = ft_trace_decoder_rows(decoder, reader, block, AGGREGATE_MASK | (are_sums ? SUMS_MASK : 0), &rows);

    if (rc == 0)
        rc = ft_decoder_add_up(decoder, reader, are_sums, &rows);
    if (rc)
        return rc;
    all = ft_aggregator_all(decoder->aggregator, &count);
    return ft_buffer_append(&decoder->aggregates, all, count * sizeof(*all));
}

// Those that the head holds; none where it holds none.
static int aggregates_of_head(struct ft_trace_decoder *decoder, const Flowtap__Block *message)
{
    int rc = 0;

    decoder->aggregates.len = 0;
    for (size_t i = 0; rc == 0 && i < message->n_aggregates; i++) {
        struct ft_trace_aggregate aggregate;

        rc = ft_aggregate_from_message(message->aggregates[i], &aggregate);
        if (rc == 0)
            rc = ft_buffer_append(&decoder->aggregates, &aggregate, sizeof(aggregate));
    }
    return rc;
}

int ft_trace_decoder_aggregates(struct ft_trace_decoder *decoder, const struct ft_trace_reader *reader, size_t block,
                                const struct ft_trace_aggregate **out, size_t *count)
{
    Flowtap__Block *message;
    int rc = ft_decoder_load_head(decoder, reader, block, &message);

    decoder->aggregates.len = 0;
    if (rc == 0)
        rc = message->n_aggregates ? aggregates_of_head(decoder, message) : aggregates_of_rows(decoder, reader, block);
    if (rc)
        return rc;
    *out = (const struct ft_trace_aggregate *)(void *)decoder->aggregates.data;
    *count = decoder->aggregates.len / sizeof(**out);
    return 0;
}

int ft_trace_decoder_head(struct ft_trace_decoder *decoder, const struct ft_trace_reader *reader, size_t block,
                          struct ft_trace_block_head *out)
{
    Flowtap__Block *message;
    struct ft_rows rows = {0};
    int rc = ft_decoder_load_head(decoder, reader, block, &message);

    if (rc == 0)
        rc = aggregates_of_head(decoder, message);
    if (rc)
        return rc;
    put_runs(decoder, message, &rows);
    *out = (struct ft_trace_block_head){
        .aggregates = (const struct ft_trace_aggregate *)(void *)decoder->aggregates.data,
        .aggregate_count = decoder->aggregates.len / sizeof(struct ft_trace_aggregate),
        .runs = rows.runs,
        .run_count = rows.run_count,
    };
    return 0;
}

// More ranges than this in one block is no honest number.
#define RANGES_MAX UINT64_C(1048576)

static int append_ranges(struct ft_trace_decoder *decoder, uint64_t segment, const Flowtap__Range *message)
{
    uint64_t have = decoder->ranges.len / sizeof(struct ft_trace_range), fills;

    if (message->more_fills >= RANGES_MAX || message->from >= message->to)
        return -EBADMSG;
    fills = message->more_fills + 1;
    if (message->more_chunks >= RANGES_MAX || fills * (message->more_chunks + 1) > RANGES_MAX - have)
        return -EBADMSG;
    for (uint32_t chunk = 0; chunk <= message->more_chunks; chunk++) {
        for (uint64_t fill = 0; fill < fills; fill++) {
            struct ft_trace_range range = {
                .segment = segment,
                .fill = message->fill + fill,
                .chunk = message->chunk + chunk,
                .from = message->from,
                .to = message->to,
            };
            int rc = ft_buffer_append(&decoder->ranges, &range, sizeof(range));

            if (rc)
                return rc;
        }
    }
    return 0;
}

int ft_trace_decoder_ranges(struct ft_trace_decoder *decoder, const struct ft_trace_reader *reader, size_t block,
                            const struct ft_trace_range **out, size_t *count)
{
    Flowtap__Block *message;
    int rc = ft_decoder_load_head(decoder, reader, block, &message);

    decoder->ranges.len = 0;
    for (size_t i = 0; rc == 0 && i < message->n_segments; i++)
        for (size_t k = 0; rc == 0 && k < message->segments[i]->n_ranges; k++)
            rc = append_ranges(decoder, message->segments[i]->segment, message->segments[i]->ranges[k]);
    if (rc)
        return rc;
    *out = (const struct ft_trace_range *)(void *)decoder->ranges.data;
    *count = decoder->ranges.len / sizeof(**out);
    return 0;
}
