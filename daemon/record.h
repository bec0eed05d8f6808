// SPDX-License-Identifier: MIT
//
// Records of proto/ring.h in a copy of a chunk: where they are, and what a CALL says. Pure functions of the copy.
#ifndef FT_DAEMON_RECORD_H
#define FT_DAEMON_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "proto/ring.h"

enum { FT_RECORD_CORRUPT = -1, FT_RECORD_UNPUBLISHED = 0 };

// A CALL, SPAN, INSTANT or COUNTER as written: ids of the segment, times in ticks.
struct ft_record_event {
    uint64_t end_ticks, duration_ticks;
    int64_t size, offset, result;
    uint64_t bytes, arg, device, inode;
    uint32_t file, file2; // SPAN: name
    uint32_t category;    // SPAN
    int32_t fd, err;
    uint16_t call, flags; // enum ft_call_flags
    uint8_t kind;         // enum ft_record
    uint8_t file_kind;    // enum ft_file_kind_wire
    union {
        uint64_t correlation;
        uint64_t birth; // with has_file_kind
    };
    bool has_size, has_offset, has_result, has_bytes, has_arg, has_file_kind, has_inode, has_correlation;
};

static inline const uint64_t *ft_record_at(const uint8_t *chunk, unsigned slot)
{
    return (const uint64_t *)(const void *)(chunk + FT_CHUNK_HEAD_BYTES + (size_t)slot * FT_SLOT_BYTES);
}

// Slots that are fetched ahead: a copy lies in the farther caches until it is looked at.
#define FT_RECORD_AHEAD 16

// How many slots the record at `slot` takes; FT_RECORD_UNPUBLISHED or FT_RECORD_CORRUPT. `slot` < FT_CHUNK_SLOTS.
static inline int ft_record_slots(const uint8_t *chunk, unsigned slot, uint64_t fill)
{
    const uint64_t *record = ft_record_at(chunk, slot);
    uint64_t word = record[0];
    __builtin_prefetch((const void *)((uintptr_t)record + (size_t)FT_RECORD_AHEAD * FT_SLOT_BYTES));
    if (FT_W0_KIND(word) == FT_RECORD_NONE || FT_W0_FILL(word) != (uint16_t)fill)
        return FT_RECORD_UNPUBLISHED;
    unsigned slots = FT_W0_SLOTS(word);
    return slots <= FT_CHUNK_SLOTS - slot ? (int)slots : FT_RECORD_CORRUPT;
}

// The first slot from `slot` on that holds a published record; FT_CHUNK_SLOTS where there is none.
unsigned ft_record_find_published(const uint8_t *chunk, unsigned slot, uint64_t fill);

// Reads the extension into *out; false where it does not fit its slots.
bool ft_record_extension(const uint64_t *record, unsigned slots, struct ft_record_event *out);

// Where the words behind an extension begin; the record has `slots` and its extension fits.
unsigned ft_record_extension_end(const uint64_t *record, unsigned slots);

// False where the record contradicts itself.
static inline bool ft_record_event(const uint64_t *record, unsigned slots, uint64_t base_ticks,
                                   struct ft_record_event *out)
{
    uint64_t word0 = record[0], word1 = record[1], word2 = record[2], word3 = record[3];
    unsigned flags = FT_W0_FLAGS(word0), fd16 = FT_W0_FD(word0);
    memset(out, 0, sizeof(*out));
    out->kind = FT_W0_KIND(word0);
    out->call = (uint16_t)FT_W0_CALL(word0);
    out->flags = (uint16_t)flags;
    out->fd = fd16 >= FT_FD16_EXT ? -1 : (int32_t)fd16;
    out->end_ticks = base_ticks + (word1 & FT_END_MAX);
    out->duration_ticks = word1 >> 40;
    out->file = (uint32_t)word2;
    out->category = (uint32_t)(word2 >> 32);
    out->has_size = flags & FT_CALL_SIZE;
    out->size = flags & FT_CALL_SIZE ? (int64_t)(word2 >> 32) : 0;
    out->has_arg = flags & FT_CALL_ARG;
    out->arg = flags & FT_CALL_ARG ? word2 >> 32 : 0;
    out->has_offset = flags & FT_CALL_OFFSET;
    out->offset = (int64_t)(word3 & FT_OFFSET_MAX);
    out->err = (int32_t)FT_W3_ERRNO(word3);
    if (slots > 1 && !ft_record_extension(record, slots, out))
        return false;
    out->has_result = true;
    switch (FT_W3_RESULT(word3)) {
    case FT_RESULT_NONE:
        out->has_result = false;
        break;
    case FT_RESULT_ZERO:
        out->result = 0;
        break;
    case FT_RESULT_SIZE:
        out->result = out->size;
        break;
    case FT_RESULT_ERROR:
        out->result = -1;
        break;
    case FT_RESULT_FD:
        out->result = out->fd;
        break;
    case FT_RESULT_OFFSET:
        out->result = out->offset;
        break;
    case FT_RESULT_SMALL:
        out->result = (int64_t)(word3 & FT_OFFSET_MAX);
        break;
    case FT_RESULT_EXT:
        break;
    default:
        return false;
    }
    if (!out->has_bytes && (flags & FT_CALL_BYTES_SIZE)) {
        out->has_bytes = true;
        out->bytes = (uint64_t)out->size;
    }
    return true;
}

#endif
