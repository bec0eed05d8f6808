// SPDX-License-Identifier: MIT
#include "proto/column.h"

#include "proto/inflate.h"

#include <endian.h>

_Static_assert(FT_COLUMN_JOBS == FT_INFLATE_STREAMS, "columns that are inflated together");

struct ft_column_decoder {
    struct ft_inflater *inflater;
    uint8_t *raw[FT_COLUMN_JOBS]; // FT_COLUMN_RAW_MAX bytes each
};

struct ft_column_decoder *ft_column_decoder_create(void)
{
    struct ft_column_decoder *decoder = calloc(1, sizeof(*decoder));

    if (!decoder)
        return NULL;
    decoder->inflater = ft_inflater_create();
    // Untouched pages cost nothing: most columns are much shorter.
    decoder->raw[0] = malloc(FT_COLUMN_JOBS * FT_COLUMN_RAW_MAX);
    if (!decoder->raw[0] || !decoder->inflater) {
        ft_column_decoder_destroy(decoder);
        return NULL;
    }
    for (size_t i = 1; i < FT_COLUMN_JOBS; i++)
        decoder->raw[i] = decoder->raw[0] + i * FT_COLUMN_RAW_MAX;
    return decoder;
}

void ft_column_decoder_destroy(struct ft_column_decoder *decoder)
{
    if (!decoder)
        return;
    ft_inflater_destroy(decoder->inflater);
    free(decoder->raw[0]);
    free(decoder);
}

static uint64_t get_le64(const uint8_t *bytes)
{
    uint64_t number;

    memcpy(&number, bytes, sizeof(number));
    return le64toh(number);
}

static inline uint64_t number_of(uint64_t stored, bool is_zigzag, uint64_t value)
{
    return (is_zigzag ? (stored >> 1) ^ (0 - (stored & 1)) : stored) + value;
}

// Planes to numbers in one pass. Inlined with constant `planes` and `is_zigzag`,
// so that each case is a loop without branches.
static inline __attribute__((always_inline)) void join(const uint8_t *restrict raw, unsigned planes, bool is_zigzag,
                                                       uint64_t value, size_t count, uint64_t *restrict numbers)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t stored = raw[i];

        for (unsigned plane = 1; plane < planes; plane++)
            stored |= (uint64_t)raw[plane * count + i] << (8 * plane);
        numbers[i] = number_of(stored, is_zigzag, value);
    }
}

static void join_planes(const uint8_t *raw, const struct ft_column_head *head, size_t count, uint64_t *numbers)
{
#define JOIN(planes)                                           \
    case (planes) << 1:                                        \
        join(raw, planes, false, head->value, count, numbers); \
        break;                                                 \
    case (planes) << 1 | 1:                                    \
        join(raw, planes, true, head->value, count, numbers);  \
        break;
    switch (head->planes << 1 | head->is_zigzag) {
        JOIN(1)
        JOIN(2)
        JOIN(3)
        JOIN(4)
    default:
        join(raw, head->planes, head->is_zigzag, head->value, count, numbers);
        break;
    }
#undef JOIN
}

// A wide number to its place; 0, or -EBADMSG where it is too large.
static int put_one(const struct ft_column_job *job, size_t i, uint64_t number)
{
    if (!job->narrow) {
        job->numbers[i] = number;
        return 0;
    }
    if (job->bits == 8)
        ((uint8_t *)job->narrow)[i] = (uint8_t)number;
    else if (job->bits == 16)
        ((uint16_t *)job->narrow)[i] = (uint16_t)number;
    else
        ((uint32_t *)job->narrow)[i] = (uint32_t)number;
    return number > job->limit ? -EBADMSG : 0;
}

// Puts the wide numbers where the planes are all 0xff; both must be as many.
static int put_wide(const struct ft_column_job *job, const uint8_t *raw)
{
    const struct ft_column_head *head = job->head;
    size_t count = job->count, used = 0, i = 0;
    const uint8_t *wide;

    if (head->planes == 8 || head->planes == 0)
        return head->wide ? -EBADMSG : 0;
    wide = raw + count * head->planes;
    while (i < count) {
        const uint8_t *hit = memchr(raw + i, 0xff, count - i);
        bool is_wide = true;

        if (!hit)
            break;
        i = (size_t)(hit - raw);
        for (unsigned plane = 1; plane < head->planes; plane++)
            is_wide &= raw[plane * count + i] == 0xff;
        if (is_wide && (used == head->wide ||
                        put_one(job, i, number_of(get_le64(wide + 8 * used++), head->is_zigzag, head->value))))
            return -EBADMSG;
        i++;
    }
    return used == head->wide ? 0 : -EBADMSG;
}

// Planes to numbers that are near.
static inline __attribute__((always_inline)) void join_near(const uint8_t *restrict raw, unsigned planes,
                                                            bool is_zigzag, size_t count, int32_t *restrict items)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t stored = raw[i];

        for (unsigned plane = 1; plane < planes; plane++)
            stored |= (uint32_t)raw[plane * count + i] << (8 * plane);
        items[i] = ft_column_near_item(stored, is_zigzag);
    }
}

static int put_near(const struct ft_column_job *job, const uint8_t *raw)
{
#define JOIN(planes)                                          \
    case (planes) << 1:                                       \
        join_near(raw, planes, false, job->count, job->near); \
        break;                                                \
    case (planes) << 1 | 1:                                   \
        join_near(raw, planes, true, job->count, job->near);  \
        break;
    switch (job->head->planes << 1 | job->head->is_zigzag) {
        JOIN(1)
        JOIN(2)
        JOIN(3)
        JOIN(4)
    default:
        return -EINVAL;
    }
#undef JOIN
    return put_wide(job, raw);
}

// Planes to numbers of fewer bits, in loops for vector instructions; of the numbers
// before they are made narrow, the bits of all.
#define NARROW(type)                                                                                    \
    static inline __attribute__((always_inline)) uint32_t join_##type(                                  \
        const uint8_t *restrict raw, unsigned planes, uint32_t value, size_t count, type *restrict out) \
    {                                                                                                   \
        uint32_t all = 0;                                                                               \
                                                                                                        \
        for (size_t i = 0; i < count; i++) {                                                            \
            uint32_t number = planes ? raw[i] : 0;                                                      \
                                                                                                        \
            for (unsigned plane = 1; plane < planes; plane++)                                           \
                number |= (uint32_t)raw[plane * count + i] << (8 * plane);                              \
            number += value;                                                                            \
            all |= number;                                                                              \
            out[i] = (type)number;                                                                      \
        }                                                                                               \
        return all;                                                                                     \
    }                                                                                                   \
    static uint32_t put_##type(const struct ft_column_job *job, const uint8_t *raw)                     \
    {                                                                                                   \
        uint32_t value = (uint32_t)job->head->value;                                                    \
                                                                                                        \
        switch (job->head->planes) {                                                                    \
        case 0:                                                                                         \
            return join_##type(raw, 0, value, job->count, job->narrow);                                 \
        case 1:                                                                                         \
            return join_##type(raw, 1, value, job->count, job->narrow);                                 \
        case 2:                                                                                         \
            return join_##type(raw, 2, value, job->count, job->narrow);                                 \
        default:                                                                                        \
            return join_##type(raw, 3, value, job->count, job->narrow);                                 \
        }                                                                                               \
    }                                                                                                   \
    static uint64_t shorten_##type(const struct ft_column_job *job)                                     \
    {                                                                                                   \
        type *out = job->narrow;                                                                        \
        uint64_t all = 0;                                                                               \
                                                                                                        \
        for (size_t i = 0; i < job->count; i++) {                                                       \
            all |= job->numbers[i];                                                                     \
            out[i] = (type)job->numbers[i];                                                             \
        }                                                                                               \
        return all;                                                                                     \
    }
NARROW(uint8_t)
NARROW(uint16_t)
NARROW(uint32_t)

static int check(const struct ft_column_job *job)
{
    const struct ft_column_head *head = job->head;

    if (job->count > FT_COLUMN_ROWS_MAX || head->planes > 8 || head->wide > job->count)
        return -EBADMSG;
    if (head->planes == 0)
        return head->stored || head->wide ? -EBADMSG : 0;
    return head->is_zlib || head->stored == ft_column_raw_bytes(head, job->count) ? 0 : -EBADMSG;
}

static int put_numbers(const struct ft_column_job *job, const uint8_t *raw)
{
    struct ft_column_job all = *job;

    all.narrow = NULL;
    if (job->head->planes == 0) {
        for (size_t i = 0; i < job->count; i++)
            job->numbers[i] = job->head->value;
        return 0;
    }
    join_planes(raw, job->head, job->count, job->numbers);
    return put_wide(&all, raw);
}

// Whether no number of the planes is in need of more than 32 bits on the way, and, where some are wide, what stands in
// the planes for them is within the limit, too.
static bool is_narrow(const struct ft_column_job *job)
{
    const struct ft_column_head *head = job->head;
    uint64_t largest = (UINT64_C(1) << 8 * (head->planes & 3)) - 1 + head->value;

    return head->planes <= 3 && !head->is_zigzag && head->value <= INT32_MAX && (!head->wide || largest <= job->limit);
}

static int put_narrow(const struct ft_column_job *job, const uint8_t *raw)
{
    uint64_t all;
    int rc;

    if (is_narrow(job)) {
        all = job->bits == 8    ? put_uint8_t(job, raw)
              : job->bits == 16 ? put_uint16_t(job, raw)
                                : put_uint32_t(job, raw);
        rc = put_wide(job, raw);
    } else {
        rc = put_numbers(job, raw);
        all = job->bits == 8 ? shorten_uint8_t(job) : job->bits == 16 ? shorten_uint16_t(job) : shorten_uint32_t(job);
    }
    return rc ? rc : all > job->limit ? -EBADMSG : 0;
}

int ft_column_decode(struct ft_column_decoder *decoder, const struct ft_column_job *jobs, size_t job_count)
{
    struct ft_inflate_stream streams[FT_COLUMN_JOBS] = {{0}};
    size_t stream_count = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < job_count; i++) {
        const struct ft_column_head *head = jobs[i].head;

        rc = check(&jobs[i]);
        if (rc == 0 && head->planes && head->is_zlib)
            streams[stream_count++] = (struct ft_inflate_stream){.bytes = jobs[i].stored,
                                                                 .len = head->stored,
                                                                 .out = decoder->raw[i],
                                                                 .out_len = ft_column_raw_bytes(head, jobs[i].count)};
    }
    if (rc == 0)
        rc = ft_inflate(decoder->inflater, streams, stream_count);
    for (size_t i = 0; rc == 0 && i < job_count; i++) {
        const uint8_t *raw = jobs[i].head->is_zlib ? decoder->raw[i] : jobs[i].stored;

        rc = jobs[i].near     ? put_near(&jobs[i], raw)
             : jobs[i].narrow ? put_narrow(&jobs[i], raw)
                              : put_numbers(&jobs[i], raw);
    }
    return rc;
}
