// SPDX-License-Identifier: MIT
//
// Inflating whole zlib streams (RFC 1950, RFC 1951) whose size is known, which
// most of a reader's time goes to. zlib's own inflate can stop anywhere and goes
// on with any piece of input, and decodes a byte at a time for it; here both ends
// are in memory, so one look into a table gives up to two bytes.
#ifndef FT_PROTO_INFLATE_H
#define FT_PROTO_INFLATE_H

#include <stddef.h>
#include <stdint.h>

struct ft_inflater;

// NULL without memory. One thread uses an inflater at a time.
struct ft_inflater *ft_inflater_create(void);
void ft_inflater_destroy(struct ft_inflater *inflater);

// A stream, untrusted: exactly `out_len` bytes must come of exactly its `len`. The
// Adler-32 at its end must be there and is not compared: a frame's crc holds already.
struct ft_inflate_stream {
    const uint8_t *bytes;
    size_t len;
    uint8_t *out;
    size_t out_len;
};

#define FT_INFLATE_STREAMS 2U

// Inflates `count` streams (at most FT_INFLATE_STREAMS; 0 are none). 0, or -EBADMSG
// where one of them is bad: what is in any `out` then means nothing.
int ft_inflate(struct ft_inflater *inflater, const struct ft_inflate_stream *streams, size_t count);

#endif
