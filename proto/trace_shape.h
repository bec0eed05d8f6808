// SPDX-License-Identifier: MIT
//
// Column SHAPE: how the values of a row are told. Most of them follow from the
// row itself or from one before it; then the shape says so and no value is
// stored. A shape is 16 bits:
//
//   bits   field    0        1              2               3          4 ...
//   0-1    size     absent   as last *      zero            told
//   2-3    offset   absent   follows **     as last **      told
//   4-6    result   absent   zero           = size          = offset   as last *, 5: -1, 6: = fd, 7: told
//   7-8    bytes    absent   = result       zero            told
//   9-10   arg      absent   as last *      zero            told
//   11-12  err      absent   as last *      zero            told
//   13     file2    none     told
//   14-15  fd       as row before  -1       as two rows before       told
//
//   *  of the last row with the same call id in the block; before any: 0
//   ** of the last row with an offset in the same slot (file id modulo
//      FT_SHAPE_SLOTS): its offset, or where it ended (offset + bytes if known,
//      else offset + size if known, else offset); before any: 0
//   fd: -1 before the first row of a run
//
// "As last" of size, result, arg and err is updated by each row that has the
// value. All sums are modulo 2^64. Told values are in the column of that name,
// one for each such row in order of rows. Encoder and decoder share the state below.
#ifndef FT_PROTO_TRACE_SHAPE_H
#define FT_PROTO_TRACE_SHAPE_H

#include "proto/trace_event.h"

#define FT_SHAPE_SLOTS 1024U

enum {
    FT_SHAPE_SIZE_AT = 0,
    FT_SHAPE_OFFSET_AT = 2,
    FT_SHAPE_RESULT_AT = 4,
    FT_SHAPE_BYTES_AT = 7,
    FT_SHAPE_ARG_AT = 9,
    FT_SHAPE_ERR_AT = 11,
    FT_SHAPE_FILE2_AT = 13,
    FT_SHAPE_FD_AT = 14,
};

// Values of the two-bit fields; RESULT, FILE2 and FD have their own.
enum { FT_SHAPE_ABSENT, FT_SHAPE_AS_LAST, FT_SHAPE_ZERO, FT_SHAPE_TOLD };
enum { FT_SHAPE_OFFSET_FOLLOWS = 1, FT_SHAPE_OFFSET_AS_LAST = 2 };
enum {
    FT_SHAPE_RESULT_ZERO = 1,
    FT_SHAPE_RESULT_SIZE,
    FT_SHAPE_RESULT_OFFSET,
    FT_SHAPE_RESULT_AS_LAST,
    FT_SHAPE_RESULT_MINUS_ONE,
    FT_SHAPE_RESULT_FD,
    FT_SHAPE_RESULT_TOLD,
};
enum { FT_SHAPE_BYTES_RESULT = 1 };
enum { FT_SHAPE_FD_AS_BEFORE, FT_SHAPE_FD_NONE, FT_SHAPE_FD_AS_TWO_BEFORE, FT_SHAPE_FD_TOLD };

struct ft_shape_call {
    uint64_t size, result, arg;
    int32_t err;
};

struct ft_shape_slot {
    uint64_t offset, end;
};

// Column FILE. A thread goes back and forth between few files and takes new ones
// in order of their ids. Its last four different files are kept, the latest first
// (all 0 at the begin of a run), and a number is
//   0 ... 3  which of them; it moves to the front
//   4 + zigzag(file - largest)  another one, which is put in front; `largest` is the largest that
//            was told so in the block (0 at its begin)
#define FT_RECENT_FILES 4U

struct ft_recent_files {
    uint64_t files[FT_RECENT_FILES];
    uint64_t largest;
};

static inline void ft_recent_files_begin_run(struct ft_recent_files *recent)
{
    for (unsigned i = 0; i < FT_RECENT_FILES; i++)
        recent->files[i] = 0;
}

// Puts a file in front, in the place of the one at `from`.
static inline void ft_recent_files_move(struct ft_recent_files *recent, uint64_t file, unsigned from)
{
    for (unsigned i = from; i > 0; i--)
        recent->files[i] = recent->files[i - 1];
    recent->files[0] = file;
}

static inline uint64_t ft_recent_files_encode(struct ft_recent_files *recent, uint64_t file)
{
    int64_t step = (int64_t)(file - recent->largest);

    if (file == recent->files[0])
        return 0;
    for (unsigned i = 1; i < FT_RECENT_FILES; i++) {
        if (file == recent->files[i]) {
            ft_recent_files_move(recent, file, i);
            return i;
        }
    }
    ft_recent_files_move(recent, file, FT_RECENT_FILES - 1);
    if (file > recent->largest)
        recent->largest = file;
    return FT_RECENT_FILES + (((uint64_t)step << 1) ^ (uint64_t)(step >> 63));
}

static inline uint64_t ft_recent_files_decode(struct ft_recent_files *recent, uint64_t number)
{
    uint64_t file;

    if (number == 0)
        return recent->files[0];
    if (number < FT_RECENT_FILES) {
        file = recent->files[number];
        ft_recent_files_move(recent, file, (unsigned)number);
        return file;
    }
    number -= FT_RECENT_FILES;
    file = recent->largest + ((number >> 1) ^ (0 - (number & 1)));
    ft_recent_files_move(recent, file, FT_RECENT_FILES - 1);
    if (file > recent->largest)
        recent->largest = file;
    return file;
}

// ft_event.has by a row's shape.
static inline unsigned ft_shape_has(unsigned shape)
{
    return (shape & 3U << FT_SHAPE_SIZE_AT ? FT_HAS_SIZE : 0U) |
           (shape & 3U << FT_SHAPE_OFFSET_AT ? FT_HAS_OFFSET : 0U) |
           (shape & 7U << FT_SHAPE_RESULT_AT ? FT_HAS_RESULT : 0U) |
           (shape & 3U << FT_SHAPE_BYTES_AT ? FT_HAS_BYTES : 0U) | (shape & 3U << FT_SHAPE_ARG_AT ? FT_HAS_ARG : 0U) |
           (shape & 3U << FT_SHAPE_ERR_AT ? FT_HAS_ERR : 0U);
}

// The same of all shapes, by the bits below FILE2's.
#define FT_SHAPE_HAS_COUNT (1U << FT_SHAPE_FILE2_AT)

static inline void ft_shape_has_of_all(uint8_t has_of[FT_SHAPE_HAS_COUNT])
{
    has_of[0] = 0;
    for (unsigned shape = 1; shape < FT_SHAPE_HAS_COUNT; shape++)
        has_of[shape] = (uint8_t)(has_of[shape & (shape - 1)] | ft_shape_has(shape & (0 - shape)));
}

// Zeroed at the begin of each block; fd, fd_before are -1 at each run's.
struct ft_shape_state {
    struct ft_shape_call calls[FT_TRACE_CALL_MAX];
    struct ft_shape_slot slots[FT_SHAPE_SLOTS];
    int32_t fd, fd_before;
};

static inline void ft_shape_begin_run(struct ft_shape_state *state)
{
    state->fd = -1;
    state->fd_before = -1;
}

static inline void ft_shape_set_fd(struct ft_shape_state *state, int32_t fd)
{
    state->fd_before = state->fd;
    state->fd = fd;
}

static inline void ft_shape_set_offset(struct ft_shape_slot *slot, unsigned has, uint64_t offset, uint64_t bytes,
                                       uint64_t size)
{
    slot->offset = offset;
    slot->end = offset + (has & FT_HAS_BYTES ? bytes : has & FT_HAS_SIZE ? size : 0);
}

// A field of a shape.
static inline unsigned ft_shape_field(unsigned shape, unsigned at, unsigned mask)
{
    return shape >> at & mask;
}

// What the fields mean. `told`: where the next told value of the column is, which is taken where the field says so.
//
// The two-bit fields that follow the row with the same call before:
static inline uint64_t ft_shape_by_call(unsigned code, uint64_t before, uint64_t difference_from, const uint64_t **told)
{
    switch (code) {
    case FT_SHAPE_AS_LAST:
        return before;
    case FT_SHAPE_TOLD:
        return difference_from + *(*told)++;
    default:
        return 0;
    }
}

static inline uint64_t ft_shape_offset(unsigned code, const struct ft_shape_slot *slot, const uint64_t **told)
{
    switch (code) {
    case FT_SHAPE_OFFSET_FOLLOWS:
        return slot->end;
    case FT_SHAPE_OFFSET_AS_LAST:
        return slot->offset;
    case FT_SHAPE_TOLD:
        return slot->end + *(*told)++;
    default:
        return 0;
    }
}

static inline uint64_t ft_shape_result(unsigned code, uint64_t before, uint64_t size, uint64_t offset, int32_t fd,
                                       const uint64_t **told)
{
    switch (code) {
    case FT_SHAPE_RESULT_SIZE:
        return size;
    case FT_SHAPE_RESULT_OFFSET:
        return offset;
    case FT_SHAPE_RESULT_AS_LAST:
        return before;
    case FT_SHAPE_RESULT_MINUS_ONE:
        return UINT64_MAX;
    case FT_SHAPE_RESULT_FD:
        return (uint64_t)fd;
    case FT_SHAPE_RESULT_TOLD:
        return *(*told)++;
    default:
        return 0;
    }
}

#endif
