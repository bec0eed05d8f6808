// SPDX-License-Identifier: MIT
//
// Tables by which bits of a deflate stream are told (RFC 1951, 3.2). An entry is
//
//   bits 0-5    how many bits of the stream it takes, extra bits included
//   bit 6       it is odd: the end of the block, a code that is none, or a table below
//   bit 7       it is a table below
//   bits 8-11   bits of the code without its extra bits; of a table below, its own
//   bit 12      it is a byte of the output
//   bits 16-31  the byte; the least length or distance, to which the extra bits are
//               added; where the table below begins
#ifndef FT_PROTO_INFLATE_TABLE_H
#define FT_PROTO_INFLATE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FT_INFLATE_BITS(entry) ((entry) & 63)
#define FT_INFLATE_ODD (UINT32_C(1) << 6)
#define FT_INFLATE_BELOW (UINT32_C(1) << 7)
#define FT_INFLATE_CODE(entry) ((entry) >> 8 & 15)
#define FT_INFLATE_LITERAL (UINT32_C(1) << 12)
#define FT_INFLATE_VALUE(entry) ((entry) >> 16)
// Values of odd entries that are no table below.
enum { FT_INFLATE_END = 1, FT_INFLATE_NONE = 2 };

#define FT_INFLATE_CODE_MAX 15
#define FT_INFLATE_LITERALS 288
#define FT_INFLATE_DISTANCES 32
#define FT_INFLATE_LENGTHS 19
#define FT_INFLATE_LITERAL_BITS 11
#define FT_INFLATE_DISTANCE_BITS 8
#define FT_INFLATE_LENGTH_BITS 7
// The most entries of complete codes of so many symbols, with the tables below
// (as counted by zlib's examples/enough.c: 288 11 15, 32 8 15).
#define FT_INFLATE_LITERAL_ENTRIES 2342
#define FT_INFLATE_DISTANCE_ENTRIES 402

enum ft_inflate_kind { FT_INFLATE_OF_LITERALS, FT_INFLATE_OF_DISTANCES, FT_INFLATE_OF_LENGTHS };

// Makes the table of `bits` bits of a code whose symbols have so long codes (0:
// none). False where there is no such code: more codes than bits can tell, or fewer
// (but for a single one of one bit, and, for literals and distances, none).
bool ft_inflate_table(enum ft_inflate_kind kind, const uint8_t *lengths, size_t symbols, uint32_t *table);

#endif
