// SPDX-License-Identifier: MIT
#include "proto/column.h"
#include "proto/squeeze.h"

struct ft_column_encoder {
    struct ft_squeezer squeezer;
    uint64_t *stored; // numbers after value and zigzag
    size_t cap;       // of `stored`, numbers
};

struct ft_column_encoder *ft_column_encoder_create(int level)
{
    struct ft_column_encoder *encoder = calloc(1, sizeof(*encoder));

    if (encoder)
        encoder->squeezer.level = level;
    return encoder;
}

void ft_column_encoder_destroy(struct ft_column_encoder *encoder)
{
    if (!encoder)
        return;
    ft_squeezer_fini(&encoder->squeezer);
    free(encoder->stored);
    free(encoder);
}

void ft_column_encoder_trim(struct ft_column_encoder *encoder)
{
    ft_squeezer_fini(&encoder->squeezer);
    free(encoder->stored);
    encoder->stored = NULL;
    encoder->cap = 0;
}

size_t ft_column_encoder_memory(const struct ft_column_encoder *encoder)
{
    return sizeof(*encoder) + encoder->cap * sizeof(*encoder->stored) + ft_squeezer_memory(&encoder->squeezer);
}

static bool is_noise(unsigned kind)
{
    return kind == FT_COLUMN_START || kind == FT_COLUMN_DUR;
}

static unsigned bytes_of(uint64_t number)
{
    return number ? (71U - (unsigned)__builtin_clzll(number)) / 8 : 0;
}

// One in so many numbers is looked at to choose the planes.
#define SAMPLE_STEP 8

// How many planes make the column small: a plane that is nearly all zeros costs
// little, a wide number about four bytes after deflate.
static unsigned choose_planes(const uint64_t *stored, size_t count, uint64_t any)
{
    unsigned most = bytes_of(any), best = most;
    size_t with_bytes[9] = {0}, samples = 0, above;
    uint64_t best_cost = UINT64_MAX, planes_cost = 0;

    if (most <= 1)
        return most;
    for (size_t i = 0; i < count; i += SAMPLE_STEP, samples++)
        with_bytes[bytes_of(stored[i])]++;
    above = samples - with_bytes[0];
    for (unsigned planes = 1; planes <= most; planes++) {
        uint64_t cost = 2 * above < samples ? 2 * above + samples / 64 : samples;

        planes_cost += cost;
        above -= with_bytes[planes];
        if (planes_cost + 4 * above < best_cost) {
            best_cost = planes_cost + 4 * above;
            best = planes;
        }
    }
    return best;
}

// Takes value or zigzag off the numbers; returns the bitwise or of the results,
// which is 0 for a column that is all the same.
static uint64_t normalize(const uint64_t *numbers, size_t count, bool is_signed, uint64_t *stored,
                          struct ft_column_head *head)
{
    uint64_t any = 0, least = numbers[0], first = numbers[0], differ = 0, all_or = 0;

    for (size_t i = 0; i < count; i++) {
        all_or |= numbers[i];
        differ |= numbers[i] ^ first;
        least = numbers[i] < least ? numbers[i] : least;
    }
    head->value = differ ? 0 : first;
    if (!differ)
        return 0;
    head->is_zigzag = is_signed && (int64_t)all_or < 0;
    if (head->is_zigzag) {
        for (size_t i = 0; i < count; i++) {
            stored[i] = (numbers[i] << 1) ^ (uint64_t)((int64_t)numbers[i] >> 63);
            any |= stored[i];
        }
        return any;
    }
    // An unsigned minimum: right for signed columns too, since no number is negative.
    head->value = least;
    for (size_t i = 0; i < count; i++) {
        stored[i] = numbers[i] - least;
        any |= stored[i];
    }
    return any;
}

static void put_le64(uint8_t *out, uint64_t number)
{
    for (unsigned i = 0; i < 8; i++)
        out[i] = (uint8_t)(number >> (8 * i));
}

// Appends the wide numbers and clamps them in place.
static int take_out_wide(uint64_t *stored, size_t count, unsigned planes, uint64_t any, struct ft_buffer *wide)
{
    uint64_t limit = planes < 8 ? (UINT64_C(1) << (8 * planes)) - 1 : UINT64_MAX;

    // No number reaches the limit.
    if (any < limit || planes == 8)
        return 0;
    for (size_t i = 0; i < count; i++) {
        uint8_t bytes[8];
        int rc;

        if (stored[i] < limit)
            continue;
        put_le64(bytes, stored[i]);
        rc = ft_buffer_append(wide, bytes, sizeof(bytes));
        if (rc)
            return rc;
        stored[i] = limit;
    }
    return 0;
}

static void put_plane(uint8_t *restrict out, const uint64_t *restrict stored, size_t count, unsigned plane)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (uint8_t)(stored[i] >> (8 * plane));
}

int ft_column_encode(struct ft_column_encoder *encoder, const uint64_t *numbers, size_t count, bool is_signed,
                     struct ft_buffer *out, struct ft_column_head *head)
{
    size_t before = out->len;
    uint64_t any;
    int rc;

    if (count > encoder->cap) {
        rc = ft_array_grow(&encoder->stored, &encoder->cap, count, sizeof(*encoder->stored));
        if (rc)
            return rc;
    }
    *head = (struct ft_column_head){.kind = head->kind, .is_by_call = head->is_by_call};
    any = normalize(numbers, count, is_signed, encoder->stored, head);
    if (any == 0) {
        head->is_by_call = false;
        return 0;
    }
    head->planes = (uint8_t)choose_planes(encoder->stored, count, any);
    rc = ft_buffer_reserve(out, 2 * count * head->planes);
    if (rc)
        return rc;
    out->len += count * head->planes;
    rc = take_out_wide(encoder->stored, count, head->planes, any, out);
    if (rc) {
        out->len = before;
        return rc;
    }
    head->wide = (uint32_t)((out->len - before - count * head->planes) / 8);
    for (unsigned plane = 0; plane < head->planes; plane++)
        put_plane(out->data + before + count * plane, encoder->stored, count, plane);
    rc = ft_squeeze_tail(&encoder->squeezer, out->len - before, is_noise(head->kind), out, &head->is_zlib);
    if (rc) {
        out->len = before;
        return rc;
    }
    head->stored = (uint32_t)(out->len - before);
    return 0;
}
