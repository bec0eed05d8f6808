// SPDX-License-Identifier: MIT
#include "proto/squeeze.h"

#define SHORT_BYTES 4096
// Below this, deflate's own head and trailer eat what it saves.
#define BYTES_MIN 20

static const struct {
    int window_bits;
    int mem_level;
    int strategy;
} kinds[FT_SQUEEZE_STREAMS] = {
    [FT_SQUEEZE_SHORT] = {12, 4, Z_DEFAULT_STRATEGY},
    [FT_SQUEEZE_LONG] = {15, 8, Z_DEFAULT_STRATEGY},
    [FT_SQUEEZE_NOISE] = {12, 6, Z_RLE},
};

void ft_squeezer_fini(struct ft_squeezer *squeezer)
{
    for (int i = 0; i < FT_SQUEEZE_STREAMS; i++) {
        if (squeezer->is_ready[i])
            deflateEnd(&squeezer->stream[i]);
        squeezer->is_ready[i] = false;
    }
}

size_t ft_squeezer_memory(const struct ft_squeezer *squeezer)
{
    size_t bytes = 0;

    // zconf.h: deflate takes (1 << (windowBits + 2)) + (1 << (memLevel + 9)) bytes.
    for (int i = 0; i < FT_SQUEEZE_STREAMS; i++)
        if (squeezer->is_ready[i])
            bytes += ((size_t)1 << (kinds[i].window_bits + 2)) + ((size_t)1 << (kinds[i].mem_level + 9));
    return bytes;
}

static int ready_stream(struct ft_squeezer *squeezer, int which, z_stream **out)
{
    z_stream *stream = &squeezer->stream[which];

    if (squeezer->is_ready[which]) {
        deflateReset(stream);
    } else {
        *stream = (z_stream){0};
        if (deflateInit2(stream, squeezer->level, Z_DEFLATED, kinds[which].window_bits, kinds[which].mem_level,
                         kinds[which].strategy) != Z_OK)
            return -ENOMEM;
        squeezer->is_ready[which] = true;
    }
    *out = stream;
    return 0;
}

int ft_squeeze_tail(struct ft_squeezer *squeezer, size_t raw, bool is_noise, struct ft_buffer *buffer, bool *is_zlib)
{
    int which = raw <= SHORT_BYTES ? FT_SQUEEZE_SHORT : is_noise ? FT_SQUEEZE_NOISE : FT_SQUEEZE_LONG;
    z_stream *stream;
    uint8_t *from;
    int rc;

    *is_zlib = false;
    if (raw < BYTES_MIN)
        return 0;
    rc = ready_stream(squeezer, which, &stream);
    if (rc == 0)
        rc = ft_buffer_reserve(buffer, raw);
    if (rc)
        return rc;
    from = buffer->data + buffer->len - raw;
    stream->next_in = from;
    stream->avail_in = (uInt)raw;
    stream->next_out = from + raw;
    stream->avail_out = (uInt)raw - 1;
    if (deflate(stream, Z_FINISH) != Z_STREAM_END)
        return 0;
    *is_zlib = true;
    buffer->len -= raw - stream->total_out;
    memmove(from, from + raw, stream->total_out);
    return 0;
}
