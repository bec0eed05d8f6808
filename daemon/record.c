// SPDX-License-Identifier: MIT
#include "daemon/record.h"

unsigned ft_record_find_published(const uint8_t *chunk, unsigned slot, uint64_t fill)
{
    for (; slot < FT_CHUNK_SLOTS; slot++)
        if (ft_record_slots(chunk, slot, fill) > 0)
            break;
    return slot;
}

static void take_extension(struct ft_record_event *out, unsigned bit, const uint64_t *word)
{
    switch (bit) {
    case FT_EXT_DURATION:
        out->duration_ticks = *word;
        break;
    case FT_EXT_RESULT:
        out->result = (int64_t)*word;
        break;
    case FT_EXT_SIZE:
        out->has_size = true;
        out->size = (int64_t)*word;
        break;
    case FT_EXT_OFFSET:
        out->has_offset = true;
        out->offset = (int64_t)*word;
        break;
    case FT_EXT_BYTES:
        out->has_bytes = true;
        out->bytes = *word;
        break;
    case FT_EXT_ARG:
        out->has_arg = true;
        out->arg = *word;
        break;
    case FT_EXT_FILE2:
        out->file2 = (uint32_t)*word;
        break;
    case FT_EXT_FD:
        out->fd = (int32_t)(uint32_t)*word;
        break;
    case FT_EXT_INODE:
        out->has_inode = true;
        out->device = word[0];
        out->inode = word[1];
        break;
    case FT_EXT_KIND:
        out->has_file_kind = true;
        out->file_kind = (uint8_t)*word;
        out->birth = *word >> 8;
        break;
    case FT_EXT_FDS:
        out->has_arg = true;
        out->arg = *word;
        break;
    case FT_EXT_CORRELATION:
        out->has_correlation = true;
        out->correlation = *word;
        break;
    default: // bits of a later minor version: one word each
        break;
    }
}

unsigned ft_record_extension_end(const uint64_t *record, unsigned slots)
{
    if (slots < 2)
        return slots * FT_SLOT_WORDS;
    uint64_t mask = record[FT_SLOT_WORDS];
    return FT_SLOT_WORDS + 1 + (unsigned)__builtin_popcountll(mask) + (mask & FT_EXT_INODE ? 1 : 0);
}

bool ft_record_extension(const uint64_t *record, unsigned slots, struct ft_record_event *out)
{
    uint64_t mask = record[FT_SLOT_WORDS];
    unsigned at = FT_SLOT_WORDS + 1, words = slots * FT_SLOT_WORDS;
    while (mask) {
        unsigned bit_number = (unsigned)__builtin_ctzll(mask);
        unsigned takes = bit_number < 32 && 1u << bit_number == FT_EXT_INODE ? 2 : 1;
        if (takes > words - at)
            return false;
        if (bit_number < 32)
            take_extension(out, 1u << bit_number, record + at);
        at += takes;
        mask &= mask - 1;
    }
    return true;
}
