// SPDX-License-Identifier: MIT
//
// The trace reader on any bytes. The input is taken twice: as it is, and with the
// crcs of what looks like frames put right, so that the fuzzer gets behind them,
// read at once and as it is asked for.
// Nothing may crash, overflow, leak or run on; what the reader gives must hold
// together.
#include "frames.h"
#include "proto/trace_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool is_so, const char *what)
{
    if (is_so)
        return;
    fprintf(stderr, "does not hold: %s\n", what);
    abort();
}

static void read_tables(const struct ft_trace_reader *reader)
{
    size_t count, bytes = ft_trace_reader_header(reader)->host.len;

    for (uint32_t id = 0; id <= ft_trace_reader_file_max(reader) && id < 10000; id++) {
        const struct ft_trace_file file = ft_trace_reader_file(reader, id);

        bytes += ft_trace_reader_file_path(reader, id).len;
        require(file.kind < FT_FILE_KIND_COUNT, "kind of a file");
        require(ft_trace_reader_file_class(reader, id) < FT_FILE_CLASS_COUNT, "class of a file");
    }
    for (uint32_t id = 0; id <= ft_trace_reader_process_max(reader) && id < 10000; id++) {
        const struct ft_trace_process *process = ft_trace_reader_process(reader, id);

        for (size_t i = 0; process && i < process->argv_count; i++)
            require(process->argv[i].data[process->argv[i].len] == '\0', "end of a string");
    }
    for (uint32_t id = 0; id <= ft_trace_reader_thread_max(reader) && id < 10000; id++)
        bytes += ft_trace_reader_thread_process(reader, id);
    for (uint32_t id = 0; id <= ft_trace_reader_context_max(reader) && id < 10000; id++) {
        const struct ft_tag *tags = ft_trace_reader_context(reader, id, &count);

        for (size_t i = 0; i < count; i++)
            bytes += tags[i].key.len + tags[i].value.len;
    }
    ft_trace_reader_gaps(reader, &count);
    // The sum is used, so that none of it is left out.
    require(bytes < SIZE_MAX, "bytes");
}

static void check_rows(const struct ft_trace_reader *reader, size_t count, const struct ft_rows *rows)
{
    size_t in_runs = 0, names = 0;

    require(rows->count == count, "count of rows");
    for (size_t run = 0; run < rows->run_count; run++) {
        require(rows->runs[run].first == in_runs, "runs follow each other");
        in_runs += rows->runs[run].count;
    }
    require(in_runs == rows->count, "runs are all rows");
    for (size_t i = 0; i < rows->count; i++) {
        struct ft_event event;

        ft_rows_event(rows, i, 1, &event);
        require(event.dur_ns >= 0 && event.dur_ns < FT_TIME_LIMIT_NS, "duration");
        require(event.start_ns >= -FT_TIME_LIMIT_NS && event.start_ns < FT_TIME_LIMIT_NS, "start");
        require(event.call < FT_TRACE_CALL_MAX, "call");
        require(event.arg_count <= FT_EVENT_ARGS_MAX, "how many arguments");
        for (size_t k = 0; k < event.arg_count; k++) {
            const struct ft_event_arg *arg = &rows->args[event.first_arg + k];

            require(event.first_arg + k < rows->arg_total && arg->type < FT_ARG_TYPE_END, "an argument");
            names += ft_trace_reader_name(reader, arg->key).len;
            names += arg->type == FT_ARG_TEXT ? ft_trace_reader_name(reader, (uint32_t)arg->value).len : 0;
        }
    }
    require(names < SIZE_MAX, "names"); // the sum is used
}

// What is told of rows that are decoded in a shorter way where not all is asked for.
static uint64_t digest_of(const struct ft_rows *rows)
{
    uint64_t digest = 0;

    for (size_t i = 0; i < rows->count; i++) {
        digest = (digest ^ rows->bytes[i]) * UINT64_C(1099511628211);
        digest = (digest ^ (uint32_t)rows->err[i] ^ (uint64_t)rows->file2[i] << 32) * UINT64_C(1099511628211);
        digest = (digest ^ rows->has[i]) * UINT64_C(1099511628211);
    }
    return digest;
}

// The same bytes, errors and offsets without the rest; `all` are the block's rows with it.
static void check_without_the_rest(struct ft_trace_decoder *decoder, const struct ft_trace_reader *reader, size_t i,
                                   const struct ft_rows *all)
{
    uint64_t digest = digest_of(all), offsets[2] = {0};
    struct ft_rows rows = *all;

    for (int round = 0; round < 3; round++) {
        uint32_t offset = round < 2 ? FT_COL_OFFSET : 0;

        if (round > 0)
            require(ft_trace_decoder_rows(decoder, reader, i,
                                          FT_COL_BYTES | FT_COL_ERR | FT_COL_FILE2 | FT_COL_HAS | offset, &rows) == 0,
                    "what is good with the rest is good without it");
        require(digest_of(&rows) == digest, "the same rows without the rest");
        for (size_t row = 0; offset && row < rows.count; row++)
            offsets[round] = (offsets[round] ^ (uint64_t)rows.offset[row]) * UINT64_C(1099511628211);
    }
    require(offsets[0] == offsets[1], "the same offsets without the rest");
}

static void read_block(struct ft_trace_decoder *decoder, const struct ft_trace_reader *reader, size_t i,
                       size_t row_count)
{
    size_t problems, aggregates, ranges;
    const struct ft_trace_aggregate *aggregate;
    const struct ft_trace_problem *problem;
    const struct ft_trace_range *range;
    struct ft_trace_block_head head;
    struct ft_rows rows;
    int rc = ft_trace_decoder_rows(decoder, reader, i, FT_COL_ALL, &rows);

    require(rc == 0 || rc == -EBADMSG, "rows or a damaged block");
    if (rc == 0)
        check_rows(reader, row_count, &rows);
    if (rc == 0)
        check_without_the_rest(decoder, reader, i, &rows);
    require(ft_trace_decoder_verify(decoder, reader, i, &problem, &problems) == 0, "verify");
    require(rc == 0 || problems > 0, "verify says what rows say");
    ft_trace_decoder_aggregates(decoder, reader, i, &aggregate, &aggregates);
    ft_trace_decoder_ranges(decoder, reader, i, &range, &ranges);
    ft_trace_decoder_head(decoder, reader, i, &head);
    ft_trace_decoder_rows(decoder, reader, i, FT_COL_START | FT_COL_CALL, &rows);
}

// Some of them are enough, and keep each run short.
static void read_blocks(struct ft_trace_decoder *decoder, const struct ft_trace_reader *reader)
{
    size_t count;
    const struct ft_trace_block *blocks = ft_trace_reader_blocks(reader, &count);

    for (size_t i = 0; i < count && i < 16; i++)
        read_block(decoder, reader, i, blocks[i].rows);
    blocks = ft_trace_reader_profiles(reader, &count);
    for (size_t i = 0; i < count && i < 16; i++)
        read_block(decoder, reader, FT_TRACE_PROFILE | i, blocks[i].rows);
}

static void read_trace(const uint8_t *data, size_t size, bool is_deferred)
{
    static struct ft_trace_decoder *decoder;
    struct ft_trace_reader_options options = {.memory_max = (size_t)64 << 20, .defer_names = is_deferred};
    struct ft_trace_reader *reader;

    if (!decoder && ft_trace_decoder_create(&decoder))
        abort();
    if (ft_trace_reader_open_memory(data, size, &options, &reader))
        return;
    read_tables(reader);
    read_blocks(decoder, reader);
    ft_trace_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *fixed = malloc(size ? size : 1);

    if (!fixed)
        return 0;
    if (size)
        memcpy(fixed, data, size);
    read_trace(data, size, false);
    fix_crcs(fixed, size);
    read_trace(fixed, size, false);
    read_trace(fixed, size, true);
    free(fixed);
    return 0;
}
