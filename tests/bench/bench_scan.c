// SPDX-License-Identifier: MIT
//
// What a report of all events cannot do without: bench_scan PATH… inflates and decodes the columns that `flowtap summary`
// asks for, and then all columns, on one thread, and prints events and nanoseconds of processor time for each, twice.
#include "proto/trace_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define COLUMNS                                                                                                       \
    (FT_COL_START | FT_COL_DUR | FT_COL_CALL | FT_COL_FILE | FT_COL_FILE2 | FT_COL_NAME | FT_COL_BYTES | FT_COL_ERR | \
     FT_COL_OFFSET)

static int64_t cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "bench_scan: %s failed\n", what);
    exit(1);
}

// Nanoseconds an event; `events` is how many there are.
static double decode_all(const struct ft_trace_set *set, struct ft_trace_decoder *decoder, uint32_t columns,
                         uint64_t *events)
{
    size_t count;
    const struct ft_trace_set_block *blocks = ft_trace_set_blocks(set, &count);
    int64_t begin = cpu_ns();

    *events = 0;
    for (size_t i = 0; i < count; i++) {
        struct ft_rows rows;

        if (ft_trace_decoder_rows(decoder, ft_trace_set_reader(set, blocks[i].reader), blocks[i].block, columns, &rows))
            die("decoding");
        *events += rows.count;
    }
    return (double)(cpu_ns() - begin) / (double)(*events ? *events : 1);
}

int main(int argc, char **argv)
{
    struct ft_trace_set *set;
    struct ft_trace_decoder *decoder;
    double needed, all;
    uint64_t events;

    if (argc < 2 || ft_trace_set_open((const char *const *)(void *)(argv + 1), (size_t)argc - 1, NULL, &set, NULL) ||
        ft_trace_decoder_create(&decoder))
        die("opening the trace");
    needed = decode_all(set, decoder, COLUMNS, &events);
    all = decode_all(set, decoder, FT_COL_ALL, &events);
    printf("%llu %.1f %.1f\n", (unsigned long long)events, needed, all);
    ft_trace_decoder_destroy(decoder);
    ft_trace_set_close(set);
    return 0;
}
