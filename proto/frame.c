// SPDX-License-Identifier: MIT
#include "proto/frame.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#define MAGIC_BYTES 4
#define HEAD_CRC_AT 20

_Static_assert(sizeof(FT_FRAME_MAGIC) == MAGIC_BYTES + 1, "magic");
_Static_assert(HEAD_CRC_AT + 4 == FT_FRAME_HEADER_BYTES, "header");

const char *ft_frame_kind_name(unsigned kind)
{
    switch (kind) {
#define FT_FRAME_KIND_TEXT(value, name, text) \
    case (value):                             \
        return text;
        FT_FRAME_KINDS(FT_FRAME_KIND_TEXT)
#undef FT_FRAME_KIND_TEXT
    default:
        return "unknown";
    }
}

static void put_le(uint8_t *out, uint32_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        out[i] = (uint8_t)(value >> (8 * i));
}

static uint32_t get_le(const uint8_t *bytes, unsigned count)
{
    uint32_t value = 0;

    for (unsigned i = 0; i < count; i++)
        value |= (uint32_t)bytes[i] << (8 * i);
    return value;
}

static uint32_t crc_of(const void *data, uint32_t len)
{
    return len ? (uint32_t)crc32(0, data, len) : 0;
}

static uint32_t crc_of_head(const uint8_t *header, const void *head, uint32_t len)
{
    uLong crc = crc32(0, header, HEAD_CRC_AT);

    return (uint32_t)(len ? crc32(crc, head, len) : crc);
}

void ft_frame_encode(uint8_t out[FT_FRAME_HEADER_BYTES], unsigned kind, unsigned flags, const void *head,
                     uint32_t head_len, const void *data, uint32_t data_len)
{
    memcpy(out, FT_FRAME_MAGIC, MAGIC_BYTES);
    put_le(out + 4, kind, 2);
    put_le(out + 6, flags, 2);
    put_le(out + 8, head_len, 4);
    put_le(out + 12, data_len, 4);
    put_le(out + 16, crc_of(data, data_len), 4);
    put_le(out + HEAD_CRC_AT, crc_of_head(out, head, head_len), 4);
}

int ft_frame_decode(const uint8_t bytes[FT_FRAME_HEADER_BYTES], struct ft_frame *out)
{
    struct ft_frame frame = {
        .kind = (uint16_t)get_le(bytes + 4, 2),
        .flags = (uint16_t)get_le(bytes + 6, 2),
        .head_len = get_le(bytes + 8, 4),
        .data_len = get_le(bytes + 12, 4),
        .data_crc = get_le(bytes + 16, 4),
        .head_crc = get_le(bytes + HEAD_CRC_AT, 4),
    };

    if (memcmp(bytes, FT_FRAME_MAGIC, MAGIC_BYTES) != 0 || frame.head_len > FT_FRAME_HEAD_MAX ||
        frame.data_len > FT_FRAME_DATA_MAX)
        return -EBADMSG;
    *out = frame;
    return 0;
}

bool ft_frame_check_head(const uint8_t bytes[FT_FRAME_HEADER_BYTES], const struct ft_frame *frame, const void *head)
{
    return crc_of_head(bytes, head, frame->head_len) == frame->head_crc;
}

bool ft_frame_check_data(const struct ft_frame *frame, const void *data)
{
    return crc_of(data, frame->data_len) == frame->data_crc;
}

size_t ft_frame_find(const uint8_t *bytes, size_t len, size_t from)
{
    while (from < len) {
        const uint8_t *hit = memchr(bytes + from, (uint8_t)FT_FRAME_MAGIC[0], len - from);
        size_t at;

        if (!hit)
            return len;
        at = (size_t)(hit - bytes);
        if (memcmp(hit, FT_FRAME_MAGIC, len - at < MAGIC_BYTES ? len - at : MAGIC_BYTES) == 0)
            return at;
        from = at + 1;
    }
    return len;
}
