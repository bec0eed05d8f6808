// SPDX-License-Identifier: MIT
//
// deflate for many small pieces: zlib's memory is kept between them, and short
// pieces get a small one, which zlib clears faster.
#ifndef FT_PROTO_SQUEEZE_H
#define FT_PROTO_SQUEEZE_H

#include "proto/buffer.h"

#include <stdbool.h>
#include <zlib.h>

// Noise: bytes that do not repeat in sequences, such as durations. Deflate then
// looks for runs of one byte only, which is faster and, without its false hopes
// for short matches, smaller.
enum { FT_SQUEEZE_SHORT, FT_SQUEEZE_LONG, FT_SQUEEZE_NOISE, FT_SQUEEZE_STREAMS };

// Zeroed but for `level` is ready to use.
struct ft_squeezer {
    int level;
    bool is_ready[FT_SQUEEZE_STREAMS];
    z_stream stream[FT_SQUEEZE_STREAMS];
};

void ft_squeezer_fini(struct ft_squeezer *squeezer);
size_t ft_squeezer_memory(const struct ft_squeezer *squeezer);

// Replaces the last `raw` bytes of `buffer` by their zlib stream where that is
// shorter, and says so in *is_zlib. 0 or -ENOMEM.
int ft_squeeze_tail(struct ft_squeezer *squeezer, size_t raw, bool is_noise, struct ft_buffer *buffer, bool *is_zlib);

#endif
