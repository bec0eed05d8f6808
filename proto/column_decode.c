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
    // The frame's crc holds already: zlib need not sum the bytes once more.
    inflateValidate(&decoder->stream, 0);
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

static inline uint64_t number_of(uint64_t stored, bool is_zigzag, uint64_t value)
{
    return (is_zigzag ? (stored >> 1) ^ (0 - (stored & 1)) : stored) + value;
}

// Planes to numbers in one pass. Inlined with constant `planes` and `is_zigzag`,
// so that each case is a loop without branches.
static inline __attribute__((always_inline)) void join(const uint8_t *restrict raw, unsigned planes, bool is_zigzag,
                                                       uint64_t value, size_t count, uint64_t *restrict numbers)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t stored = raw[i];

        for (unsigned plane = 1; plane < planes; plane++)
            stored |= (uint64_t)raw[plane * count + i] << (8 * plane);
        numbers[i] = number_of(stored, is_zigzag, value);
    }
}

static void join_planes(const uint8_t *raw, const struct ft_column_head *head, size_t count, uint64_t *numbers)
{
#define JOIN(planes)                                           \
    case (planes) << 1:                                        \
        join(raw, planes, false, head->value, count, numbers); \
        break;                                                 \
    case (planes) << 1 | 1:                                    \
        join(raw, planes, true, head->value, count, numbers);  \
        break;
    switch (head->planes << 1 | head->is_zigzag) {
        JOIN(1)
        JOIN(2)
        JOIN(3)
        JOIN(4)
    default:
        join(raw, head->planes, head->is_zigzag, head->value, count, numbers);
        break;
    }
#undef JOIN
}

// Puts the wide numbers where the planes are all 0xff; both must be as many.
static int put_wide(const uint8_t *raw, const struct ft_column_head *head, size_t count, uint64_t *numbers)
{
    const uint8_t *wide = raw + count * head->planes;
    size_t used = 0, i = 0;

    if (head->planes == 8)
        return head->wide ? -EBADMSG : 0;
    while (i < count) {
        const uint8_t *hit = memchr(raw + i, 0xff, count - i);
        bool is_wide = true;

        if (!hit)
            break;
        i = (size_t)(hit - raw);
        for (unsigned plane = 1; plane < head->planes; plane++)
            is_wide &= raw[plane * count + i] == 0xff;
        if (is_wide && used == head->wide)
            return -EBADMSG;
        if (is_wide)
            numbers[i] = number_of(get_le64(wide + 8 * used++), head->is_zigzag, head->value);
        i++;
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
    join_planes(raw, head, count, numbers);
    return put_wide(raw, head, count, numbers);
}
