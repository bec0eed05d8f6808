// SPDX-License-Identifier: MIT
//
// Mutations of trace files that keep frames frames: for the targets that read them.
#ifndef FT_FUZZ_FRAMES_H
#define FT_FUZZ_FRAMES_H

#include "proto/frame.h"

#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

// Puts the crcs right of all frames that lie whole in the bytes.
static void fix_crcs(uint8_t *data, size_t size)
{
    size_t at = 0;

    while ((at = ft_frame_find(data, size, at)) < size) {
        struct ft_frame frame;
        size_t left = size - at;

        if (left < FT_FRAME_HEADER_BYTES)
            return;
        left -= FT_FRAME_HEADER_BYTES;
        if (ft_frame_decode(data + at, &frame) || frame.head_len > left || frame.data_len > left - frame.head_len) {
            at++;
            continue;
        }
        ft_frame_encode(data + at, frame.kind, frame.flags, data + at + FT_FRAME_HEADER_BYTES, frame.head_len,
                        data + at + FT_FRAME_HEADER_BYTES + frame.head_len, frame.data_len);
        at += FT_FRAME_HEADER_BYTES + (size_t)frame.head_len + frame.data_len;
    }
}

// Changes one byte range with libFuzzer's own mutations, mostly inside a frame's
// head or data, and keeps lengths and crcs right.
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    size_t offsets[64], count = 0, at = 0, begin, len, new_len, room, which;
    struct ft_frame frame;
    uint8_t *part;

    if (size > max_size)
        return max_size; // libFuzzer lowers the limit while it grows it for others
    while (count < 64 && (at = ft_frame_find(data, size, at)) < size) {
        if (size - at >= FT_FRAME_HEADER_BYTES && ft_frame_decode(data + at, &frame) == 0 &&
            frame.head_len <= size - at - FT_FRAME_HEADER_BYTES &&
            frame.data_len <= size - at - FT_FRAME_HEADER_BYTES - frame.head_len)
            offsets[count++] = at;
        at++;
    }
    if (count == 0 || seed % 8 == 0) {
        size = LLVMFuzzerMutate(data, size, max_size);
        fix_crcs(data, size);
        return size;
    }
    which = seed / 8 % count;
    ft_frame_decode(data + offsets[which], &frame);
    begin = offsets[which] + FT_FRAME_HEADER_BYTES;
    len = frame.head_len;
    if (frame.data_len && seed / 512 % 2) {
        begin += frame.head_len;
        len = frame.data_len;
    }
    // The part's bytes with room to grow, then the rest behind them.
    room = len + (max_size - size < 64 ? max_size - size : 64);
    part = malloc(len + 64);
    if (!part || !room) { // libFuzzer makes a byte where it can make nothing
        free(part);
        return size;
    }
    memcpy(part, data + begin, len);
    new_len = LLVMFuzzerMutate(part, len, room);
    memmove(data + begin + new_len, data + begin + len, size - begin - len);
    memcpy(data + begin, part, new_len);
    free(part);
    if (begin == offsets[which] + FT_FRAME_HEADER_BYTES)
        frame.head_len = (uint32_t)new_len;
    else
        frame.data_len = (uint32_t)new_len;
    begin = offsets[which] + FT_FRAME_HEADER_BYTES;
    ft_frame_encode(data + offsets[which], frame.kind, frame.flags, data + begin, frame.head_len,
                    data + begin + frame.head_len, frame.data_len);
    return size - len + new_len;
}

#endif
