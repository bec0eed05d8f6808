// SPDX-License-Identifier: MIT
//
// Files made to do harm: bombs, lies about sizes and ids, circles.
#include "cmocka_all.h"
#include "proto/buffer.h"
#include "proto/frame.h"
#include "proto/trace.pb-c.h"
#include "trace_make.h"

#include <zlib.h>

static void add_frame(struct ft_buffer *file, unsigned kind, unsigned flags, const void *head, size_t head_len,
                      const void *data, size_t data_len)
{
    uint8_t header[FT_FRAME_HEADER_BYTES];

    ft_frame_encode(header, kind, flags, head, (uint32_t)head_len, data, (uint32_t)data_len);
    assert_int_equal(ft_buffer_append(file, header, sizeof(header)), 0);
    assert_int_equal(ft_buffer_append(file, head, head_len), 0);
    assert_int_equal(ft_buffer_append(file, data, data_len), 0);
}

static void add_message(struct ft_buffer *file, unsigned kind, const ProtobufCMessage *message, const void *data,
                        size_t data_len)
{
    size_t len = protobuf_c_message_get_packed_size(message);
    uint8_t *packed = malloc(len + 1);

    assert_int_equal(protobuf_c_message_pack(message, packed), len);
    add_frame(file, kind, 0, packed, len, data, data_len);
    free(packed);
}

static void begin_file(struct ft_buffer *file)
{
    Flowtap__Header header = FLOWTAP__HEADER__INIT;

    *file = (struct ft_buffer){0};
    header.major = FT_TRACE_MAJOR;
    add_message(file, FT_FRAME_HEADER, &header.base, NULL, 0);
}

static struct ft_trace_reader *open_file(const struct ft_buffer *file, size_t memory_max)
{
    struct ft_trace_reader_options options = {.memory_max = memory_max};
    struct ft_trace_reader *reader;

    assert_int_equal(ft_trace_reader_open_memory(file->data, file->len, &options, &reader), 0);
    return reader;
}

static bool has_problem(const struct ft_trace_reader *reader, unsigned kind)
{
    size_t count;
    const struct ft_trace_problem *problems = ft_trace_reader_problems(reader, &count);

    for (size_t i = 0; i < count; i++)
        if (problems[i].kind == kind)
            return true;
    return false;
}

static void a_zlib_bomb_stops_at_the_maximum(void **state)
{
    size_t raw_len = (size_t)64 << 20;
    uLongf len = compressBound(raw_len);
    uint8_t *raw = calloc(1, raw_len), *bomb = malloc(len);
    struct ft_trace_reader *reader;
    struct ft_buffer file;

    (void)state;
    assert_int_equal(compress2(bomb, &len, raw, raw_len, 9), Z_OK);
    begin_file(&file);
    add_frame(&file, FT_FRAME_TABLES, FT_FRAME_F_ZLIB, bomb, len, NULL, 0);
    reader = open_file(&file, 0);
    assert_true(has_problem(reader, FT_PROBLEM_BAD_RECORD));
    ft_trace_reader_close(reader);
    ft_buffer_fini(&file);
    free(raw);
    free(bomb);
}

static void names_that_share_all_stop_at_the_memory_limit(void **state)
{
    enum { COUNT = 4096 };
    static char name[60000];
    static uint32_t shared[COUNT];
    static ProtobufCBinaryData rest[COUNT];
    Flowtap__Names names = FLOWTAP__NAMES__INIT, *list = &names;
    Flowtap__Tables tables = FLOWTAP__TABLES__INIT;
    struct ft_trace_reader *reader;
    struct ft_buffer file;

    (void)state;
    // 4,096 names of 60,000 bytes in a frame of 80,000 bytes.
    rest[0] = (ProtobufCBinaryData){.len = sizeof(name), .data = (uint8_t *)name};
    for (size_t i = 1; i < COUNT; i++)
        shared[i] = sizeof(name);
    names.first_id = 1;
    names.n_shared = names.n_rest = COUNT;
    names.shared = shared;
    names.rest = rest;
    tables.n_names = 1;
    tables.names = &list;
    begin_file(&file);
    add_message(&file, FT_FRAME_TABLES, &tables.base, NULL, 0);
    reader = open_file(&file, (size_t)8 << 20);
    assert_true(has_problem(reader, FT_PROBLEM_LIMIT));
    assert_true(ft_trace_reader_is_partial(reader));
    assert_true(ft_trace_reader_is_limited(reader));
    assert_false(has_problem(reader, FT_PROBLEM_BAD_RECORD));
    assert_false(ft_problem_is_damage(FT_PROBLEM_LIMIT));
    assert_int_equal(ft_trace_reader_name(reader, 1).len, sizeof(name));
    ft_trace_reader_close(reader);
    ft_buffer_fini(&file);
}

static void names_that_share_more_than_there_is_are_refused(void **state)
{
    uint32_t shared[] = {0, 3};
    ProtobufCBinaryData rest[] = {{1, (uint8_t *)"a"}, {1, (uint8_t *)"b"}};
    Flowtap__Names names = FLOWTAP__NAMES__INIT, *list = &names;
    Flowtap__Tables tables = FLOWTAP__TABLES__INIT;
    struct ft_trace_reader *reader;
    struct ft_buffer file;

    (void)state;
    names.first_id = 1;
    names.n_shared = names.n_rest = 2;
    names.shared = shared;
    names.rest = rest;
    tables.n_names = 1;
    tables.names = &list;
    begin_file(&file);
    add_message(&file, FT_FRAME_TABLES, &tables.base, NULL, 0);
    reader = open_file(&file, 0);
    assert_true(has_problem(reader, FT_PROBLEM_BAD_RECORD));
    assert_string_equal(ft_trace_reader_name(reader, 1).data, "a");
    assert_int_equal(ft_trace_reader_name(reader, 2).len, 0);
    ft_trace_reader_close(reader);
    ft_buffer_fini(&file);
}

static void ids_out_of_nowhere_are_refused(void **state)
{
    static const uint32_t ids[] = {0, UINT32_MAX, UINT32_MAX - 1, FT_TRACE_ID_MAX + 1, 2000000};
    struct ft_trace_reader *reader;
    struct ft_buffer file;

    (void)state;
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        Flowtap__Thread thread = FLOWTAP__THREAD__INIT, *threads = &thread;
        Flowtap__Process process = FLOWTAP__PROCESS__INIT, *processes = &process;
        Flowtap__Tables tables = FLOWTAP__TABLES__INIT;

        thread.id = ids[i];
        process.id = ids[i];
        tables.n_threads = tables.n_processes = 1;
        tables.threads = &threads;
        tables.processes = &processes;
        begin_file(&file);
        add_message(&file, FT_FRAME_TABLES, &tables.base, NULL, 0);
        reader = open_file(&file, 0);
        assert_true(has_problem(reader, FT_PROBLEM_BAD_RECORD));
        assert_false(ft_trace_reader_is_limited(reader));
        assert_int_equal(ft_trace_reader_thread_max(reader), 0);
        ft_trace_reader_close(reader);
        ft_buffer_fini(&file);
    }
}

// A head that is right in itself.
static void block_head(Flowtap__Block *block, uint32_t rows)
{
    static uint32_t thread = 1, run_rows;
    static uint64_t run_start;

    flowtap__block__init(block);
    run_rows = rows;
    block->rows = rows;
    block->n_run_thread = block->n_run_rows = block->n_run_start = 1;
    block->run_thread = &thread;
    block->run_rows = &run_rows;
    block->run_start = &run_start;
}

static void heads_that_lie_are_no_blocks(void **state)
{
    Flowtap__Column column = FLOWTAP__COLUMN__INIT, *columns = &column;
    struct ft_trace_reader *reader;
    struct ft_buffer file;
    Flowtap__Block block;
    size_t count;

    (void)state;
    for (int lie = 0; lie < 8; lie++) {
        block_head(&block, 100);
        switch (lie) {
        case 0:
            block.rows = 0;
            break;
        case 1:
            block.rows = 99;
            break;
        case 2:
            block.rows = FT_TRACE_BLOCK_ROWS_MAX + 1, block.run_rows[0] = block.rows;
            break;
        case 3:
            block.n_run_start = 0;
            break;
        case 4:
            block.start_ns = FT_TIME_LIMIT_NS;
            break;
        case 5:
            block.span_ns = UINT64_MAX;
            break;
        case 6:
            block.n_columns = 1, block.columns = &columns, column.kind = 1, column.stored = 7;
            break;
        default:
            block.run_rows[0] = 0;
            break;
        }
        begin_file(&file);
        add_message(&file, FT_FRAME_BLOCK, &block.base, NULL, 0);
        reader = open_file(&file, 0);
        ft_trace_reader_blocks(reader, &count);
        assert_int_equal(count, 0);
        assert_true(has_problem(reader, FT_PROBLEM_BAD_BLOCK));
        ft_trace_reader_close(reader);
        ft_buffer_fini(&file);
    }
}

static void columns_that_lie_make_their_block_bad(void **state)
{
    static const struct {
        const char *why;
        uint32_t kind, encoding;
        uint64_t value;
    } cases[] = {
        {"a call out of range", 3, 0, FT_TRACE_CALL_MAX},
        {"a call of 64 bits", 3, 0, UINT64_MAX},
        {"a duration out of range", 2, 0, UINT64_MAX},
        {"a start out of range", 1, 0, (uint64_t)FT_TIME_LIMIT_NS},
        {"a file id of 33 bits", 5, 0, UINT64_C(1) << 32},
        {"a shape of 17 bits", 6, 0, UINT64_C(1) << 16},
        {"told values of a shape that are missing", 6, 0, 0xffff},
        {"a context of 64 bits", 7, 0, UINT64_MAX},
        {"flags of 17 bits", 10, 0, UINT64_C(1) << 16},
        {"planes that are not there", 2, 1, 0},
        {"an encoding of the future", 2, 1U << 20, 0},
    };
    struct ft_trace_decoder *decoder;

    (void)state;
    assert_int_equal(ft_trace_decoder_create(&decoder), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        Flowtap__Column column = FLOWTAP__COLUMN__INIT, *columns = &column;
        const struct ft_trace_problem *problems;
        struct ft_trace_reader *reader;
        struct ft_buffer file;
        struct ft_rows rows;
        Flowtap__Block block;
        size_t count;
        int rc;

        block_head(&block, 100);
        block.n_columns = 1;
        block.columns = &columns;
        column.kind = cases[i].kind;
        column.encoding = cases[i].encoding;
        column.value = cases[i].value;
        begin_file(&file);
        add_message(&file, FT_FRAME_BLOCK, &block.base, NULL, 0);
        reader = open_file(&file, 0);
        rc = ft_trace_decoder_rows(decoder, reader, 0, FT_COL_ALL, &rows);
        // Shapes whose values are absent columns are zeros: sound.
        if (rc != -EBADMSG && cases[i].value != 0xffff)
            fail_msg("%s: %d", cases[i].why, rc);
        assert_int_equal(ft_trace_decoder_verify(decoder, reader, 0, &problems, &count), 0);
        assert_true(count > 0);
        ft_trace_reader_close(reader);
        ft_buffer_fini(&file);
    }
    ft_trace_decoder_destroy(decoder);
}

static void an_unknown_column_is_passed_over(void **state)
{
    Flowtap__Column column = FLOWTAP__COLUMN__INIT, *columns = &column;
    struct ft_trace_decoder *decoder;
    struct ft_trace_reader *reader;
    struct ft_buffer file;
    struct ft_rows rows;
    Flowtap__Block block;

    (void)state;
    block_head(&block, 2);
    block.n_columns = 1;
    block.columns = &columns;
    column.kind = 1000;
    column.encoding = UINT32_MAX;
    column.stored = 5;
    begin_file(&file);
    add_message(&file, FT_FRAME_BLOCK, &block.base, "hello", 5);
    add_frame(&file, 77, 0, "future", 6, "data", 4);
    add_frame(&file, FT_FRAME_TABLES, 1U << 15, "future", 6, NULL, 0);
    reader = open_file(&file, 0);
    assert_false(ft_trace_reader_is_partial(reader));
    assert_true(has_problem(reader, FT_PROBLEM_UNKNOWN_FRAME));
    assert_int_equal(ft_trace_decoder_create(&decoder), 0);
    assert_int_equal(ft_trace_decoder_rows(decoder, reader, 0, FT_COL_ALL, &rows), 0);
    assert_int_equal(rows.count, 2);
    assert_int_equal(rows.fd[1], -1);
    ft_trace_decoder_destroy(decoder);
    ft_trace_reader_close(reader);
    ft_buffer_fini(&file);
}

static void a_range_of_billions_is_refused(void **state)
{
    Flowtap__Range range = FLOWTAP__RANGE__INIT, *ranges = &range;
    Flowtap__Segment segment = FLOWTAP__SEGMENT__INIT, *segments = &segment;
    const struct ft_trace_range *got;
    struct ft_trace_decoder *decoder;
    struct ft_trace_reader *reader;
    struct ft_buffer file;
    Flowtap__Block block;
    size_t count;

    (void)state;
    static const struct {
        uint64_t more_fills;
        uint32_t more_chunks;
    } cases[] = {
        {UINT64_MAX, 0}, {0, UINT32_MAX}, {UINT64_C(1) << 63, 1}, {1000000, 1000000}, {UINT64_MAX, UINT32_MAX}};

    assert_int_equal(ft_trace_decoder_create(&decoder), 0);
    block_head(&block, 1);
    range.to = 1;
    segment.n_ranges = 1;
    segment.ranges = &ranges;
    block.n_segments = 1;
    block.segments = &segments;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        range.more_fills = cases[i].more_fills;
        range.more_chunks = cases[i].more_chunks;
        begin_file(&file);
        add_message(&file, FT_FRAME_BLOCK, &block.base, NULL, 0);
        reader = open_file(&file, 0);
        assert_int_equal(ft_trace_decoder_ranges(decoder, reader, 0, &got, &count), -EBADMSG);
        ft_trace_reader_close(reader);
        ft_buffer_fini(&file);
    }
    ft_trace_decoder_destroy(decoder);
}

static void another_major_version_is_refused(void **state)
{
    Flowtap__Header header = FLOWTAP__HEADER__INIT;
    struct ft_trace_reader *reader;
    struct ft_buffer file = {0};

    (void)state;
    header.major = FT_TRACE_MAJOR + 1;
    add_message(&file, FT_FRAME_HEADER, &header.base, NULL, 0);
    assert_int_equal(ft_trace_reader_open_memory(file.data, file.len, NULL, &reader), -EPROTONOSUPPORT);
    ft_buffer_fini(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_zlib_bomb_stops_at_the_maximum),
        cmocka_unit_test(names_that_share_all_stop_at_the_memory_limit),
        cmocka_unit_test(names_that_share_more_than_there_is_are_refused),
        cmocka_unit_test(ids_out_of_nowhere_are_refused),
        cmocka_unit_test(heads_that_lie_are_no_blocks),
        cmocka_unit_test(columns_that_lie_make_their_block_bad),
        cmocka_unit_test(an_unknown_column_is_passed_over),
        cmocka_unit_test(a_range_of_billions_is_refused),
        cmocka_unit_test(another_major_version_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
