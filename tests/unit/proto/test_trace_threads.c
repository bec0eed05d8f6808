// SPDX-License-Identifier: MIT
#include "cmocka_all.h"
#include "trace_make.h"

#include <pthread.h>
#include <stdlib.h>

#define THREADS 4
#define BLOCKS 40

struct work {
    const struct ft_trace_reader *reader;
    pthread_t thread;
    uint64_t rows, bytes;
    int error;
};

// Every thread reads every block, its columns and its totals.
static void *read_all(void *argument)
{
    struct work *work = argument;
    struct ft_trace_decoder *decoder;

    work->error = ft_trace_decoder_create(&decoder);
    for (size_t i = 0; work->error == 0 && i < BLOCKS; i++) {
        const struct ft_trace_aggregate *aggregates;
        const struct ft_trace_problem *problems;
        struct ft_rows rows;
        size_t count;

        work->error = ft_trace_decoder_rows(decoder, work->reader, i, FT_COL_BYTES, &rows);
        for (size_t k = 0; work->error == 0 && k < rows.count; k++)
            work->bytes += rows.bytes[k];
        if (work->error == 0)
            work->error = ft_trace_decoder_aggregates(decoder, work->reader, i, &aggregates, &count);
        for (size_t k = 0; work->error == 0 && k < count; k++)
            work->rows += aggregates[k].count;
        if (work->error == 0)
            work->error = ft_trace_decoder_verify(decoder, work->reader, i, &problems, &count);
    }
    ft_trace_decoder_destroy(decoder);
    return NULL;
}

static void blocks_are_read_by_several_threads_at_once(void **state)
{
    struct ft_trace_writer *writer = ready_writer();
    struct work work[THREADS] = {0};
    struct ft_trace_reader *reader;
    uint64_t random = 11, bytes = 0;
    struct made made;

    (void)state;
    for (size_t block = 0; block < BLOCKS; block++) {
        for (size_t i = 0; i < 500; i++) {
            struct ft_event event = any_event(&random);

            bytes += event.bytes;
            assert_int_equal(ft_trace_writer_add(writer, &event), 0);
        }
        assert_int_equal(ft_trace_writer_end_block(writer, NULL, 0), 0);
    }
    assert_int_equal(ft_trace_writer_finish(writer), 0);
    made = take(writer);
    ft_trace_writer_destroy(writer);
    reader = open_made(made);
    for (size_t i = 0; i < THREADS; i++) {
        work[i].reader = reader;
        assert_int_equal(pthread_create(&work[i].thread, NULL, read_all, &work[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(work[i].thread, NULL);
        assert_int_equal(work[i].error, 0);
        assert_int_equal(work[i].rows, BLOCKS * 500);
        assert_int_equal(work[i].bytes, bytes);
    }
    ft_trace_reader_close(reader);
    free(made.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_read_by_several_threads_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
