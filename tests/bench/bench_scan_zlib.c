// SPDX-License-Identifier: MIT
//
// bench_scan with zlib's own inflate in the place of ours: what inflating and decoding costs a reader that has zlib alone.
#include "proto/inflate.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

struct ft_inflater {
    z_stream stream;
};

struct ft_inflater *ft_inflater_create(void)
{
    struct ft_inflater *inflater = calloc(1, sizeof(*inflater));

    if (!inflater || inflateInit(&inflater->stream) != Z_OK) {
        free(inflater);
        return NULL;
    }
    // As ours: the frame's crc holds.
    inflateValidate(&inflater->stream, 0);
    return inflater;
}

void ft_inflater_destroy(struct ft_inflater *inflater)
{
    if (inflater)
        inflateEnd(&inflater->stream);
    free(inflater);
}

int ft_inflate(struct ft_inflater *inflater, const struct ft_inflate_stream *streams, size_t count)
{
    z_stream *stream = &inflater->stream;

    for (size_t i = 0; i < count; i++) {
        inflateReset(stream);
        stream->next_in = (Bytef *)(uintptr_t)streams[i].bytes;
        stream->avail_in = (uInt)streams[i].len;
        stream->next_out = streams[i].out;
        stream->avail_out = (uInt)streams[i].out_len;
        if (inflate(stream, Z_FINISH) != Z_STREAM_END || stream->avail_in || stream->avail_out)
            return -EBADMSG;
    }
    return 0;
}

#include "tests/bench/bench_scan.c"
