// SPDX-License-Identifier: MIT
//
// Frames: what a trace file is made of at the lowest level.
//
//   offset  size
//        0     4  magic, the bytes 0x89 'F' 'L' 'W'
//        4     2  kind (enum ft_frame_kind)
//        6     2  flags (FT_FRAME_F_*)
//        8     4  head_len: bytes of the head, a protobuf message
//       12     4  data_len: bytes of the data part (columns of a block)
//       16     4  data_crc: crc32 of the data part
//       20     4  head_crc: crc32 of the 20 bytes above and the head
//       24        head, data
//
// All numbers are little-endian; crc32 is zlib's. The head can be read and
// trusted without touching the data. Bytes between frames are damage: a reader
// looks for the next magic whose head_crc holds.
#ifndef FT_PROTO_FRAME_H
#define FT_PROTO_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FT_FRAME_MAGIC \
    "\x89"             \
    "FLW"
#define FT_FRAME_HEADER_BYTES 24

// A reader skips kinds that it does not know.
#define FT_FRAME_KINDS(X)  \
    X(1, HEADER, "header") \
    X(2, TABLES, "tables") \
    X(3, BLOCK, "block")   \
    X(4, INDEX, "index")   \
    X(5, END, "end")       \
    X(6, PROFILE, "profile")

#define FT_FRAME_KIND_ENUM(value, name, text) FT_FRAME_##name = value,
enum ft_frame_kind { FT_FRAME_KINDS(FT_FRAME_KIND_ENUM) FT_FRAME_KIND_END };
#undef FT_FRAME_KIND_ENUM

// The head is a zlib stream of the message (TABLES only).
#define FT_FRAME_F_ZLIB (1U << 0)
// A frame with other flags is skipped like one of an unknown kind.
#define FT_FRAME_F_KNOWN FT_FRAME_F_ZLIB

// No frame is larger than this; whoever says so is damaged.
#define FT_FRAME_HEAD_MAX (16U << 20)
#define FT_FRAME_DATA_MAX (64U << 20)

// A frame header as it stands in the file, its numbers in the host's order.
struct ft_frame {
    uint16_t kind;
    uint16_t flags;
    uint32_t head_len;
    uint32_t data_len;
    uint32_t data_crc;
    uint32_t head_crc;
};

// "unknown" for a kind this build does not know.
const char *ft_frame_kind_name(unsigned kind);

// Writes the 24 bytes of a frame's header for these parts; both may be NULL
// when empty. Lengths must be within the maxima.
void ft_frame_encode(uint8_t out[FT_FRAME_HEADER_BYTES], unsigned kind, unsigned flags, const void *head,
                     uint32_t head_len, const void *data, uint32_t data_len);

// Reads a header. 0, or -EBADMSG where magic or maxima do not hold. The crcs are
// not checked yet.
int ft_frame_decode(const uint8_t bytes[FT_FRAME_HEADER_BYTES], struct ft_frame *out);

// Whether head_crc holds for the header's bytes and its head_len bytes of head.
bool ft_frame_check_head(const uint8_t bytes[FT_FRAME_HEADER_BYTES], const struct ft_frame *frame, const void *head);

// Whether data_crc holds for data_len bytes.
bool ft_frame_check_data(const struct ft_frame *frame, const void *data);

// Offset of the first magic at or after `from` in `len` bytes, or of the first
// bytes of one at their end; `len` where there is neither.
size_t ft_frame_find(const uint8_t *bytes, size_t len, size_t from);

#endif
