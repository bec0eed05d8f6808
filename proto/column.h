// SPDX-License-Identifier: MIT
//
// Columns: arrays of 64-bit numbers as bytes.
//
// A column of n numbers is stored as `planes` planes of n bytes each (plane 0
// holds the lowest byte of every number, ...), followed by `wide` numbers of
// 8 bytes, little-endian: those that do not fit the planes, in order of rows.
// Such a row's bytes in the planes are all 0xff (planes below 8; with 8 planes
// all numbers fit). Then:
//   number = stored + value                            not zigzag
//   number = (stored >> 1) ^ -(stored & 1)             zigzag
// all modulo 2^64. With 0 planes every number is `value` and nothing is stored.
// The bytes are stored as they are or as one zlib stream, whichever is shorter.
//
// Planes instead of varints: deflate codes each plane with a table of its own,
// and both directions are loops without branches.
#ifndef FT_PROTO_COLUMN_H
#define FT_PROTO_COLUMN_H

#include "proto/buffer.h"

#include <stdbool.h>

// What a column holds (enum ft_column); proto/trace_block.h tells how the
// numbers become rows. "signed" columns hold two's complement numbers.
#define FT_COLUMNS(X)                                                                       \
    X(1, START, signed)     /* start - end of the row before in the run; 0 in its first */  \
    X(2, DUR, unsigned)     /* end - start, ns */                                           \
    X(3, CALL, unsigned)    /* call id */                                                   \
    X(4, KIND, unsigned)    /* ft_event_kind */                                             \
    X(5, FILE, unsigned)    /* which file, by those before: see struct ft_recent_files */   \
    X(6, SHAPE, unsigned)   /* how the values below are told, see FT_SHAPE_* */             \
    X(7, CONTEXT, unsigned) /* context id */                                                \
    X(8, NAME, unsigned)    /* name id of an application event */                           \
    X(9, CATEGORY, unsigned)                                                                \
    X(10, FLAGS, unsigned)                                                                  \
    /* Values of those rows only whose shape says so. No such row: the column is absent. */ \
    X(11, SIZE, signed)   /* - the size before of the same call */                          \
    X(12, OFFSET, signed) /* - where the access before to the file ended */                 \
    X(13, RESULT, signed)                                                                   \
    X(14, BYTES, unsigned)                                                                  \
    X(15, ARG, unsigned)                                                                    \
    X(16, ERR, signed)                                                                      \
    X(17, FILE2, signed) /* - file */                                                       \
    X(18, FD, signed)    /* - fd of the row before in the run (-1 before its first) */      \
    /* Arguments of application events, in order of rows. */                                \
    X(19, ARGS, unsigned)    /* of all rows: how many it has */                             \
    X(20, ARG_KEY, unsigned) /* of all arguments: name id << 2 | ft_arg_type */             \
    X(21, ARG_VALUE, signed) /* the integer, the double's bits, or the text's name id */

#define FT_COLUMN_ENUM(number, name, sign) FT_COLUMN_##name = (number),
enum ft_column { FT_COLUMNS(FT_COLUMN_ENUM) FT_COLUMN_END };
#undef FT_COLUMN_ENUM

#define FT_COLUMN_ROWS_MAX 65536U
// Of ARG_KEY: the type, below the key.
#define FT_COLUMN_ARG_TYPE_BITS 2
// Longest raw form: eight planes, or seven and every row wide.
#define FT_COLUMN_RAW_MAX ((size_t)FT_COLUMN_ROWS_MAX * 15)

// Columns that may stand in order of call (FT_COLUMN_MAY_BE_BY_CALL): the rows of
// the smallest call id first, those of one call in order of rows. Numbers of one
// call are alike, so deflate codes them better; times above all.
#define FT_COLUMN_MAY_BE_BY_CALL(kind) \
    ((kind) == FT_COLUMN_START || (kind) == FT_COLUMN_DUR || (kind) == FT_COLUMN_SHAPE)

struct ft_column_head {
    uint8_t kind;   // enum ft_column
    uint8_t planes; // 0 to 8
    bool is_zlib;
    bool is_zigzag;
    bool is_by_call; // the numbers are in order of the rows' call ids; the caller's matter
    uint32_t stored; // bytes
    uint32_t wide;
    uint64_t value;
};

// Field `encoding` of the message Column.
static inline uint32_t ft_column_encoding(const struct ft_column_head *head)
{
    return (uint32_t)(head->planes | (head->is_zlib ? 1U << 4 : 0) | (head->is_zigzag ? 1U << 5 : 0) |
                      (head->is_by_call ? 1U << 6 : 0));
}

// The way back; -EBADMSG where bits are set that mean nothing here.
static inline int ft_column_head_from(uint32_t kind, uint32_t encoding, struct ft_column_head *head)
{
    *head = (struct ft_column_head){
        .kind = (uint8_t)kind,
        .planes = encoding & 0xf,
        .is_zlib = encoding >> 4 & 1,
        .is_zigzag = encoding >> 5 & 1,
        .is_by_call = encoding >> 6 & 1,
    };
    return encoding >> 7 || head->planes > 8 ? -EBADMSG : 0;
}

// Encoders and decoders hold zlib's memory and scratch; zeroed is ready to use.
struct ft_column_encoder;
struct ft_column_decoder;

struct ft_column_encoder *ft_column_encoder_create(int level);
void ft_column_encoder_destroy(struct ft_column_encoder *encoder);
void ft_column_encoder_trim(struct ft_column_encoder *encoder); // gives scratch memory back
size_t ft_column_encoder_memory(const struct ft_column_encoder *encoder);

// Appends the bytes of `count` numbers (1 to FT_COLUMN_ROWS_MAX) to `out` and
// tells how in `head` (its kind and is_by_call are the caller's). 0 or -ENOMEM.
int ft_column_encode(struct ft_column_encoder *encoder, const uint64_t *numbers, size_t count, bool is_signed,
                     struct ft_buffer *out, struct ft_column_head *head);

struct ft_column_decoder *ft_column_decoder_create(void);
void ft_column_decoder_destroy(struct ft_column_decoder *decoder);

// A column as it is stored, in head->stored bytes, and where its `count` numbers go: to `numbers`, or, where one of the
// following is not NULL, there, and `numbers` then holds anything.
struct ft_column_job {
    const struct ft_column_head *head;
    const uint8_t *stored;
    size_t count;
    uint64_t *numbers;
    // Items of `bits` bits (8, 16 or 32), at most `limit`, all bits below its highest set.
    void *narrow;
    unsigned bits;
    uint32_t limit;
    // See struct ft_column_near; the column is of at most four planes.
    int32_t *near;
};

// Numbers of 64 bits whose items have half of that, so that less memory is gone through.
struct ft_column_near {
    const int32_t *items;
    int32_t mark;         // of an item whose number is in `wide`, at the same place
    uint64_t value;       // is added to the others
    const uint64_t *wide; // the job's `numbers`
};

// Of a stored number of the planes.
static inline int32_t ft_column_near_item(uint32_t stored, bool is_zigzag)
{
    return (int32_t)(is_zigzag ? (stored >> 1) ^ (0 - (stored & 1)) : stored ^ UINT32_C(1) << 31);
}

static inline struct ft_column_near ft_column_near_of(const struct ft_column_job *job)
{
    return (struct ft_column_near){
        .items = job->near,
        .mark = ft_column_near_item((uint32_t)((UINT64_C(1) << 8 * job->head->planes) - 1), job->head->is_zigzag),
        .value = job->head->value + (job->head->is_zigzag ? 0 : UINT64_C(1) << 31),
        .wide = job->numbers,
    };
}

static inline bool ft_column_may_be_near(const struct ft_column_head *head)
{
    return head->planes >= 1 && head->planes <= 4;
}

static inline uint64_t ft_column_near_number(const struct ft_column_near *near, size_t i)
{
    return near->items[i] == near->mark ? near->wide[i] : (uint64_t)(int64_t)near->items[i] + near->value;
}

// Columns that are decoded together take less time than one after the other.
#define FT_COLUMN_JOBS 2U

// Numbers of so many columns (at most FT_COLUMN_JOBS), all untrusted. 0, or -EBADMSG
// where one's are not exactly `count` (at most FT_COLUMN_ROWS_MAX), or too large.
int ft_column_decode(struct ft_column_decoder *decoder, const struct ft_column_job *jobs, size_t job_count);

// Bytes of a column before zlib.
static inline size_t ft_column_raw_bytes(const struct ft_column_head *head, size_t count)
{
    return count * head->planes + (size_t)head->wide * 8;
}

#endif
