// SPDX-License-Identifier: MIT
#include "cmocka_all.h"
#include "proto/inflate.h"
#include "trace_make.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define RAW_MAX 100000

// What a column's planes are like, and what deflate finds most in.
enum likes { ZEROS, NOISE, FEW, RUNS, TEXT, SKEWED, LIKES };

static void fill(enum likes like, uint64_t *state, uint8_t *raw, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        uint64_t random = next_random(state);

        switch (like) {
        case NOISE:
            raw[i] = (uint8_t)random;
            break;
        case FEW:
            raw[i] = (uint8_t)(random % 7 * 36);
            break;
        case RUNS:
            raw[i] = i && random % 50 ? raw[i - 1] : (uint8_t)(random >> 8);
            break;
        case TEXT:
            raw[i] =
                i > 300 && random % 20 ? raw[i - 1 - (random >> 8) % 3 * 97] : (uint8_t)('a' + (random >> 20) % 26);
            break;
        case SKEWED: // codes of every length
            raw[i] = (uint8_t)__builtin_clzll(random | 1) * 5;
            break;
        default:
            raw[i] = 0;
            break;
        }
    }
}

// The zlib stream of the bytes; free() it.
static uint8_t *deflated(const uint8_t *raw, size_t raw_len, int level, int strategy, int memory, size_t *len)
{
    size_t max = raw_len + raw_len / 8 + 1000;
    uint8_t *bytes = malloc(max);
    z_stream stream = {.next_in = (Bytef *)raw, .avail_in = (uInt)raw_len, .next_out = bytes, .avail_out = (uInt)max};

    assert_int_equal(deflateInit2(&stream, level, Z_DEFLATED, 15, memory, strategy), Z_OK);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    *len = stream.total_out;
    assert_int_equal(deflateEnd(&stream), Z_OK);
    return bytes;
}

// Buffers of just the size, for those who look for what is read or written behind.
static int inflated(const uint8_t *bytes, size_t len, uint8_t *out, size_t out_len)
{
    struct ft_inflater *inflater = ft_inflater_create();
    uint8_t *own = malloc(len ? len : 1), *own_out = malloc(out_len ? out_len : 1);
    struct ft_inflate_stream stream = {.bytes = own, .len = len, .out = own_out, .out_len = out_len};
    int rc;

    memcpy(own, bytes, len);
    rc = ft_inflate(inflater, &stream, 1);
    if (rc == 0)
        memcpy(out, own_out, out_len);
    free(own);
    free(own_out);
    ft_inflater_destroy(inflater);
    return rc;
}

static void what_zlib_deflates_comes_back(void **state)
{
    static const size_t lens[] = {0, 1, 2, 7, 300, 4096, 65536, RAW_MAX};
    static const int strategies[] = {Z_DEFAULT_STRATEGY, Z_RLE, Z_HUFFMAN_ONLY, Z_FIXED};
    static uint8_t raw[RAW_MAX], back[RAW_MAX];
    uint64_t random = 1;

    (void)state;
    for (unsigned which = 0; which < LIKES * 8 * 4; which++) {
        enum likes like = which % LIKES;
        size_t raw_len = lens[which / LIKES % 8], len;
        int strategy = strategies[which / LIKES / 8];
        uint8_t *bytes;

        fill(like, &random, raw, raw_len);
        for (int level = 0; level <= 9; level += 3) {
            bytes = deflated(raw, raw_len, level, strategy, 1 + (int)(which % 9), &len);
            memset(back, 0x5a, sizeof(back));
            assert_int_equal(inflated(bytes, len, back, raw_len), 0);
            assert_memory_equal(back, raw, raw_len);
            free(bytes);
        }
    }
}

static void two_streams_come_back_together(void **state)
{
    static uint8_t raw[2][RAW_MAX], back[2][RAW_MAX];
    struct ft_inflater *inflater = ft_inflater_create();
    uint64_t random = 2;

    (void)state;
    for (unsigned turn = 0; turn < 300; turn++) {
        struct ft_inflate_stream streams[2];
        uint8_t *bytes[2];

        for (unsigned i = 0; i < 2; i++) {
            size_t raw_len = next_random(&random) % (turn % 3 ? RAW_MAX : 600);

            fill((enum likes)(next_random(&random) % LIKES), &random, raw[i], raw_len);
            streams[i] = (struct ft_inflate_stream){.out = back[i], .out_len = raw_len};
            bytes[i] = deflated(raw[i], raw_len, 1, turn % 2 ? Z_RLE : Z_DEFAULT_STRATEGY, 6, &streams[i].len);
            streams[i].bytes = bytes[i];
        }
        memset(back, 0x5a, sizeof(back));
        assert_int_equal(ft_inflate(inflater, streams, 2), 0);
        for (unsigned i = 0; i < 2; i++)
            assert_memory_equal(back[i], raw[i], streams[i].out_len);
        // Neither is good where one of them is not.
        streams[turn % 2].out_len++;
        assert_int_equal(ft_inflate(inflater, streams, 2), -EBADMSG);
        free(bytes[0]);
        free(bytes[1]);
    }
    assert_int_equal(ft_inflate(inflater, NULL, 0), 0);
    ft_inflater_destroy(inflater);
}

static void streams_that_are_cut_or_too_long_are_refused(void **state)
{
    static const int strategies[] = {Z_DEFAULT_STRATEGY, Z_RLE, Z_HUFFMAN_ONLY, Z_FIXED};
    uint8_t raw[700], back[701];
    uint64_t random = 3;

    (void)state;
    for (unsigned which = 0; which < LIKES * 4; which++) {
        size_t len;
        uint8_t *bytes, *longer;

        fill(which % LIKES, &random, raw, sizeof(raw));
        bytes = deflated(raw, sizeof(raw), which < LIKES ? 0 : 1, strategies[which / LIKES], 6, &len);
        longer = malloc(len + 1);
        memcpy(longer, bytes, len);
        longer[len] = 0;
        for (size_t cut = 0; cut < len; cut++)
            assert_int_equal(inflated(bytes, cut, back, sizeof(raw)), -EBADMSG);
        assert_int_equal(inflated(longer, len + 1, back, sizeof(raw)), -EBADMSG);
        assert_int_equal(inflated(bytes, len, back, sizeof(raw) - 1), -EBADMSG);
        assert_int_equal(inflated(bytes, len, back, sizeof(raw) + 1), -EBADMSG);
        assert_int_equal(inflated(bytes, len, back, 0), -EBADMSG);
        assert_int_equal(inflated(bytes, len, back, sizeof(raw)), 0);
        free(bytes);
        free(longer);
    }
}

// What zlib makes of it, the sum at its end aside.
static bool zlib_takes(const uint8_t *bytes, size_t len, uint8_t *out, size_t out_len)
{
    z_stream stream = {.next_in = (Bytef *)bytes, .avail_in = (uInt)len, .next_out = out, .avail_out = (uInt)out_len};
    int rc;

    assert_int_equal(inflateInit(&stream), Z_OK);
    inflateValidate(&stream, 0);
    rc = inflate(&stream, Z_FINISH);
    inflateEnd(&stream);
    return rc == Z_STREAM_END && stream.avail_in == 0 && stream.avail_out == 0;
}

static void changed_streams_are_taken_as_zlib_takes_them(void **state)
{
    static uint8_t raw[5000], back[5000], wanted[5000];
    uint64_t random = 4;
    unsigned taken = 0;

    (void)state;
    for (unsigned turn = 0; turn < 20000; turn++) {
        size_t raw_len = turn % 10 ? next_random(&random) % 400 : sizeof(raw), len;
        uint8_t *bytes;
        bool is_good;

        fill((enum likes)(turn % LIKES), &random, raw, raw_len);
        bytes = deflated(raw, raw_len, turn % 7 ? 1 : 0,
                         turn % 2   ? Z_RLE
                         : turn % 4 ? Z_FIXED
                                    : Z_DEFAULT_STRATEGY,
                         6, &len);
        for (unsigned i = 0; i < 1 + turn % 3; i++)
            bytes[next_random(&random) % len] ^= (uint8_t)(1U << next_random(&random) % 8);
        is_good = zlib_takes(bytes, len, wanted, raw_len);
        assert_int_equal(inflated(bytes, len, back, raw_len), is_good ? 0 : -EBADMSG);
        if (is_good)
            assert_memory_equal(back, wanted, raw_len);
        taken += is_good;
        free(bytes);
    }
    // Those that are changed in their bytes alone, or in the sum.
    assert_in_range(taken, 1000, 19000);
}

// A stream by hand: bits from the lowest on, behind a head.
struct hand {
    uint8_t bytes[256];
    size_t bits;
};

static void put(struct hand *hand, uint32_t value, unsigned bits)
{
    for (unsigned i = 0; i < bits; i++, hand->bits++)
        hand->bytes[2 + hand->bits / 8] |= (uint8_t)((value >> i & 1) << hand->bits % 8);
}

static int end_of(struct hand *hand, uint8_t *out, size_t out_len)
{
    size_t len = 2 + (hand->bits + 7) / 8 + 4;

    hand->bytes[0] = 0x78;
    hand->bytes[1] = 0x01;
    assert_int_equal(zlib_takes(hand->bytes, len, out, out_len), inflated(hand->bytes, len, out, out_len) == 0);
    return inflated(hand->bytes, len, out, out_len);
}

// The head of a block with codes of its own: lengths' codes of one bit for 0 and of
// two bits for 1 and 18, then so many literals' lengths.
static struct hand own_codes(void)
{
    struct hand hand = {0};

    put(&hand, 1, 1);  // the last one
    put(&hand, 2, 2);  // its own codes
    put(&hand, 0, 5);  // 257 literals and lengths
    put(&hand, 0, 5);  // 1 distance
    put(&hand, 14, 4); // 18 lengths of lengths: 16, 17, 18, 0, 8, 7, ... 14, 1
    for (unsigned i = 0; i < 18; i++)
        put(&hand, i == 2 || i == 17 ? 2 : i == 3 ? 1 : 0, 3);
    return hand;
}

static void codes_with_gaps_are_taken_as_rfc_1951_allows(void **state)
{
    uint8_t out[16] = {0};
    struct hand hand = own_codes();

    (void)state;
    // 0: bit 0; 1: bits 1 0 (first, second); 18: bits 1 1.
    // One literal code of one bit: the end of the block. No distances.
    put(&hand, 3, 2);
    put(&hand, 127, 7); // 138 zeros
    put(&hand, 3, 2);
    put(&hand, 107, 7); // 118 more: 256
    put(&hand, 1, 2);   // 256 has one bit
    put(&hand, 0, 1);   // no distance
    put(&hand, 0, 1);   // the end
    assert_int_equal(end_of(&hand, out, 0), 0);
    // The same with the bit that is no code.
    hand = own_codes();
    put(&hand, 3, 2);
    put(&hand, 127, 7);
    put(&hand, 3, 2);
    put(&hand, 107, 7);
    put(&hand, 1, 2);
    put(&hand, 0, 1);
    put(&hand, 1, 1);
    assert_int_equal(end_of(&hand, out, 0), -EBADMSG);
    // No code for the end.
    hand = own_codes();
    put(&hand, 1, 2); // literal 0 has one bit
    put(&hand, 3, 2);
    put(&hand, 127, 7);
    put(&hand, 3, 2);
    put(&hand, 106, 7); // 255 zeros
    put(&hand, 0, 1);
    put(&hand, 0, 1);
    assert_int_equal(end_of(&hand, out, 0), -EBADMSG);
    // More lengths than there are literals and distances.
    hand = own_codes();
    put(&hand, 3, 2);
    put(&hand, 127, 7);
    put(&hand, 3, 2);
    put(&hand, 127, 7);
    assert_int_equal(end_of(&hand, out, 0), -EBADMSG);
}

static void matches_must_lie_in_what_is_there(void **state)
{
    uint8_t out[300];

    (void)state;
    for (unsigned literals = 0; literals < 3; literals++) {
        struct hand hand = {0};

        put(&hand, 3, 3); // the last block, of fixed codes
        for (unsigned i = 0; i < literals; i++)
            put(&hand, 0x0c, 8); // byte 0: bits 0011 0000
        put(&hand, 0x40, 7);     // length 3: code 000 0001
        put(&hand, 0x10, 5);     // distance 2: code 0000 1
        put(&hand, 0, 7);        // the end
        assert_int_equal(end_of(&hand, out, literals + 3), literals < 2 ? -EBADMSG : 0);
    }
}

static void heads_are_checked(void **state)
{
    static const uint8_t heads[][2] = {{0x78, 0x02}, {0x79, 0x18}, {0x88, 0x1c}, {0x78, 0x20}, {0x00, 0x00}};
    uint8_t raw[100] = {0}, out[100], *bytes;
    size_t len;

    (void)state;
    bytes = deflated(raw, sizeof(raw), 1, Z_DEFAULT_STRATEGY, 6, &len);
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        memcpy(bytes, heads[i], 2);
        assert_int_equal(inflated(bytes, len, out, sizeof(out)), -EBADMSG);
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_zlib_deflates_comes_back),
        cmocka_unit_test(two_streams_come_back_together),
        cmocka_unit_test(streams_that_are_cut_or_too_long_are_refused),
        cmocka_unit_test(changed_streams_are_taken_as_zlib_takes_them),
        cmocka_unit_test(codes_with_gaps_are_taken_as_rfc_1951_allows),
        cmocka_unit_test(matches_must_lie_in_what_is_there),
        cmocka_unit_test(heads_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
