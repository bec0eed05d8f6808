// SPDX-License-Identifier: MIT
#include "proto/column.h"

#include <endian.h>
#include <zlib.h>

struct ft_column_decoder {
    bool is_ready;
    z_stream stream;
    uint8_t *raw; // FT_COLUMN_RAW_MAX bytes
};

struct ft_column_decoder *ft_column_decoder_create(void)
{
    struct ft_column_decoder *decoder = calloc(1, sizeof(*decoder));

    if (!decoder)
        return NULL;
    // Untouched pages cost nothing: most columns are much shorter.
    decoder->raw = malloc(FT_COLUMN_RAW_MAX);
    if (!decoder->raw || inflateInit(&decoder->stream) != Z_OK) {
        free(decoder->raw);
        free(decoder);
        return NULL;
    }
    return decoder;
}

void ft_column_decoder_destroy(struct ft_column_decoder *decoder)
{
    if (!decoder)
        return;
    inflateEnd(&decoder->stream);
    free(decoder->raw);
    free(decoder);
}

// Exactly `raw` bytes must come of exactly `stored` ones: a stream that would
// give more stops there.
static int inflate_exactly(struct ft_column_decoder *decoder, const uint8_t *stored, size_t stored_len, size_t raw)
{
    z_stream *stream = &decoder->stream;
    int rc;

    if (inflateReset(stream) != Z_OK)
        return -EBADMSG;
    stream->next_in = (Bytef *)stored;
    stream->avail_in = (uInt)stored_len;
    stream->next_out = decoder->raw;
    stream->avail_out = (uInt)raw;
    rc = inflate(stream, Z_FINISH);
    if (rc == Z_MEM_ERROR)
        return -ENOMEM;
    return rc == Z_STREAM_END && stream->avail_in == 0 && stream->avail_out == 0 ? 0 : -EBADMSG;
}

static uint64_t get_le64(const uint8_t *bytes)
{
    uint64_t number;

    memcpy(&number, bytes, sizeof(number));
    return le64toh(number);
}

static void join_planes(const uint8_t *restrict raw, unsigned planes, size_t count, uint64_t *restrict numbers)
{
    // The two usual widths as loops of their own, which vectorize.
    if (planes == 1) {
        for (size_t i = 0; i < count; i++)
            numbers[i] = raw[i];
        return;
    }
    if (planes == 2) {
        for (size_t i = 0; i < count; i++)
            numbers[i] = (uint64_t)raw[i] | (uint64_t)raw[count + i] << 8;
        return;
    }
    for (size_t i = 0; i < count; i++)
        numbers[i] = (uint64_t)raw[i] | (uint64_t)raw[count + i] << 8 | (uint64_t)raw[2 * count + i] << 16;
    for (unsigned plane = 3; plane < planes; plane++)
        for (size_t i = 0; i < count; i++)
            numbers[i] |= (uint64_t)raw[plane * count + i] << (8 * plane);
}

// Puts the wide numbers where the planes are all 0xff; both must be as many.
static int put_wide(const uint8_t *wide, const struct ft_column_head *head, size_t count, uint64_t *numbers)
{
    uint64_t limit;
    size_t used = 0;

    if (head->planes == 8)
        return head->wide ? -EBADMSG : 0;
    limit = (UINT64_C(1) << (8 * head->planes)) - 1;
    for (size_t i = 0; i < count; i++) {
        if (numbers[i] != limit)
            continue;
        if (used == head->wide)
            return -EBADMSG;
        numbers[i] = get_le64(wide + 8 * used++);
    }
    return used == head->wide ? 0 : -EBADMSG;
}

int ft_column_decode(struct ft_column_decoder *decoder, const struct ft_column_head *head, const uint8_t *stored,
                     size_t count, uint64_t *numbers)
{
    const uint8_t *raw = stored;
    size_t raw_bytes;
    int rc;

    if (count > FT_COLUMN_ROWS_MAX || head->planes > 8 || head->wide > count)
        return -EBADMSG;
    if (head->planes == 0) {
        if (head->stored || head->wide)
            return -EBADMSG;
        for (size_t i = 0; i < count; i++)
            numbers[i] = head->value;
        return 0;
    }
    raw_bytes = ft_column_raw_bytes(head, count);
    if (head->is_zlib) {
        rc = inflate_exactly(decoder, stored, head->stored, raw_bytes);
        if (rc)
            return rc;
        raw = decoder->raw;
    } else if (head->stored != raw_bytes) {
        return -EBADMSG;
    }
    join_planes(raw, head->planes, count, numbers);
    rc = put_wide(raw + count * head->planes, head, count, numbers);
    if (rc)
        return rc;
    if (head->is_zigzag)
        for (size_t i = 0; i < count; i++)
            numbers[i] = (numbers[i] >> 1) ^ (0 - (numbers[i] & 1));
    if (head->value)
        for (size_t i = 0; i < count; i++)
            numbers[i] += head->value;
    return 0;
}
