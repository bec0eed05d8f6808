// SPDX-License-Identifier: MIT
//
// What the files of the trace writer share.
#ifndef FT_PROTO_TRACE_WRITER_IMPL_H
#define FT_PROTO_TRACE_WRITER_IMPL_H

#include "proto/trace_block.h"
#include "proto/trace_tables.h"
#include "proto/trace_writer.h"

// A block for the index.
struct ft_writer_block {
    uint64_t offset; // of its frame in the file
    struct ft_block_span span;
};

struct ft_trace_writer {
    struct ft_trace_writer_options options;
    struct ft_tables tables;
    struct ft_block_encoder *encoder;
    struct ft_profile profile;
    bool is_described[FT_TRACE_CALL_MAX];
    bool is_finished;
    struct ft_buffer tagged; // fields for the head of the block being built
    struct ft_buffer out;    // begins with a whole frame, of which `consumed` bytes are in the file
    size_t consumed;
    uint64_t out_offset; // of out in the file
    struct ft_writer_block *blocks;
    size_t block_count, block_cap;
    uint64_t events;   // rows in blocks
    uint64_t profiled; // events in PROFILE frames
    uint64_t frames;
};

// Appends a frame that is no block.
int ft_writer_append_frame(struct ft_trace_writer *writer, unsigned kind, const ProtobufCMessage *message);

#endif
