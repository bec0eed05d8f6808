// SPDX-License-Identifier: MIT
#include "cmocka_all.h"
#include "proto/column.h"
#include "trace_make.h"

static int decode(struct ft_column_decoder *decoder, const struct ft_column_head *head, const uint8_t *stored,
                  size_t count, uint64_t *numbers)
{
    struct ft_column_job job = {.head = head, .stored = stored, .count = count, .numbers = numbers};

    return ft_column_decode(decoder, &job, 1);
}

// As items of so many bits, which are the same numbers, or none where one does not fit.
static void decode_narrow(struct ft_column_decoder *decoder, const struct ft_column_head *head, const uint8_t *stored,
                          const uint64_t *numbers, size_t count)
{
    uint64_t *scratch = malloc(count * sizeof(*scratch));
    void *items = malloc(count * sizeof(uint32_t));

    for (unsigned bits = 8; bits <= 32; bits *= 2) {
        uint32_t limit = UINT32_MAX >> (32 - bits), lower = limit >> 3;
        struct ft_column_job job = {
            .head = head, .stored = stored, .count = count, .numbers = scratch, .narrow = items, .bits = bits};
        uint64_t all = 0;

        for (size_t i = 0; i < count; i++)
            all |= numbers[i];
        job.limit = lower;
        assert_int_equal(ft_column_decode(decoder, &job, 1), all > lower ? -EBADMSG : 0);
        job.limit = limit;
        assert_int_equal(ft_column_decode(decoder, &job, 1), all > limit ? -EBADMSG : 0);
        for (size_t i = 0; all <= limit && i < count; i++)
            assert_int_equal(bits == 8    ? ((uint8_t *)items)[i]
                             : bits == 16 ? ((uint16_t *)items)[i]
                                          : ((uint32_t *)items)[i],
                             numbers[i]);
    }
    free(scratch);
    free(items);
}

static void round_trip(const uint64_t *numbers, size_t count, bool is_signed)
{
    struct ft_column_encoder *encoder = ft_column_encoder_create(1);
    struct ft_column_decoder *decoder = ft_column_decoder_create();
    uint64_t *back = malloc((count + 1) * sizeof(*back));
    struct ft_column_head head = {.kind = FT_COLUMN_SIZE}, told;
    struct ft_buffer bytes = {0};

    assert_int_equal(ft_buffer_append(&bytes, "xyz", 3), 0);
    assert_int_equal(ft_column_encode(encoder, numbers, count, is_signed, &bytes, &head), 0);
    assert_int_equal(bytes.len, 3 + head.stored);
    assert_memory_equal(bytes.data, "xyz", 3);
    assert_int_equal(ft_column_head_from(head.kind, ft_column_encoding(&head), &told), 0);
    told.stored = head.stored;
    told.wide = head.wide;
    told.value = head.value;
    assert_int_equal(decode(decoder, &told, bytes.data + 3, count, back), 0);
    decode_narrow(decoder, &told, bytes.data + 3, numbers, count);
    assert_memory_equal(back, numbers, count * sizeof(*back));
    ft_buffer_fini(&bytes);
    ft_column_encoder_destroy(encoder);
    ft_column_decoder_destroy(decoder);
    free(back);
}

static void both(const uint64_t *numbers, size_t count)
{
    round_trip(numbers, count, false);
    round_trip(numbers, count, true);
}

static void every_kind_of_numbers_comes_back(void **state)
{
    static uint64_t numbers[FT_COLUMN_ROWS_MAX];
    const size_t counts[] = {1, 2, 3, 19, 300, 5000, FT_COLUMN_ROWS_MAX};
    uint64_t random = 7;

    (void)state;
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        for (int recipe = 0; recipe < 12; recipe++) {
            for (size_t i = 0; i < counts[c]; i++) {
                uint64_t any = next_random(&random);

                switch (recipe) {
                case 0:
                    numbers[i] = 0;
                    break;
                case 1:
                    numbers[i] = UINT64_MAX;
                    break;
                case 2:
                    numbers[i] = any;
                    break;
                case 3:
                    numbers[i] = any % 256;
                    break;
                case 4:
                    numbers[i] = any % 256 ? any % 200 : any;
                    break;
                case 5:
                    numbers[i] = 0xff;
                    break;
                case 6:
                    numbers[i] = any % 2 ? 0xff : 0xfe;
                    break;
                case 7:
                    numbers[i] = any % 3 ? 0xffff : 0x1fffe;
                    break;
                case 8:
                    numbers[i] = 1000000 + any % 1000;
                    break;
                case 9:
                    numbers[i] = any % 2 ? 5 : (uint64_t)-5;
                    break;
                case 10:
                    numbers[i] = any_number(&random);
                    break;
                default:
                    numbers[i] = (uint64_t)-7 - any % 3;
                    break;
                }
            }
            both(numbers, counts[c]);
        }
    }
}

static void a_constant_column_takes_no_bytes(void **state)
{
    uint64_t numbers[100];
    struct ft_column_encoder *encoder = ft_column_encoder_create(1);
    struct ft_column_head head = {0};
    struct ft_buffer bytes = {0};

    (void)state;
    for (size_t i = 0; i < 100; i++)
        numbers[i] = (uint64_t)-12345;
    assert_int_equal(ft_column_encode(encoder, numbers, 100, true, &bytes, &head), 0);
    assert_int_equal(head.planes, 0);
    assert_int_equal(head.value, (uint64_t)-12345);
    assert_int_equal(bytes.len, 0);
    ft_buffer_fini(&bytes);
    ft_column_encoder_destroy(encoder);
}

static void heads_that_lie_are_refused(void **state)
{
    static const struct {
        const char *why;
        struct ft_column_head head;
        size_t count;
    } cases[] = {
        {"nine planes", {.planes = 9, .stored = 9}, 1},
        {"more rows than any block has", {.planes = 1, .stored = 16}, FT_COLUMN_ROWS_MAX + 1},
        {"fewer bytes than rows", {.planes = 1, .stored = 15}, 16},
        {"more bytes than rows", {.planes = 1, .stored = 16}, 15},
        {"bytes where nothing is stored", {.planes = 0, .stored = 1}, 1},
        {"wide numbers that no row asks for", {.planes = 1, .stored = 9, .wide = 1}, 1},
        {"more wide numbers than rows", {.planes = 1, .stored = 17, .wide = 2}, 1},
        {"wide numbers beside eight planes", {.planes = 8, .stored = 16, .wide = 1}, 1},
        {"zlib that is none", {.planes = 1, .stored = 16, .is_zlib = true}, 64},
        {"a huge wide count", {.planes = 1, .stored = 16, .wide = UINT32_MAX}, 16},
    };
    static const uint8_t bytes[64];
    struct ft_column_decoder *decoder = ft_column_decoder_create();
    uint64_t back[64];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (decode(decoder, &cases[i].head, bytes, cases[i].count, back) != -EBADMSG)
            fail_msg("%s: accepted", cases[i].why);
    ft_column_decoder_destroy(decoder);
}

static void a_row_that_asks_for_a_wide_number_must_have_one(void **state)
{
    static const uint8_t bytes[2] = {0xff, 0};
    struct ft_column_head head = {.planes = 1, .stored = 2};
    struct ft_column_decoder *decoder = ft_column_decoder_create();
    uint64_t back[2];

    (void)state;
    assert_int_equal(decode(decoder, &head, bytes, 2, back), -EBADMSG);
    ft_column_decoder_destroy(decoder);
}

static void encodings_with_unknown_bits_are_refused(void **state)
{
    struct ft_column_head head;

    (void)state;
    assert_int_equal(ft_column_head_from(1, 1U << 7, &head), -EBADMSG);
    assert_int_equal(ft_column_head_from(1, 9, &head), -EBADMSG);
    assert_int_equal(ft_column_head_from(1, 8 | 1U << 4 | 1U << 5 | 1U << 6, &head), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_numbers_comes_back),
        cmocka_unit_test(a_constant_column_takes_no_bytes),
        cmocka_unit_test(heads_that_lie_are_refused),
        cmocka_unit_test(a_row_that_asks_for_a_wide_number_must_have_one),
        cmocka_unit_test(encodings_with_unknown_bits_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
