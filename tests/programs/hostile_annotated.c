// SPDX-License-Identifier: MIT
// CFLAGS: -Wno-missing-field-initializers
// What an application says of itself, as no library would: spans, counters, arguments, tags, names. See hostile.h.
#define _GNU_SOURCE
#include "hostile.h"
#include "proto/annotate.h"

enum { NAME = 100, CATEGORY, KEY, TEXT, LONG_TEXT, A_PATH, NOBODY = 90000 };

static const unsigned kinds[] = {FT_RECORD_SPAN, FT_RECORD_INSTANT, FT_RECORD_COUNTER};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

// Some good names beside the good calls; is it to be kept as sums?
static void begin(struct maker *maker, int as_sums)
{
    static char text[2000];
    fill(maker);
    if (as_sums)
        maker_hello_item(maker, FT_HELLO_ENV, "FLOWTAP_MODE=profile", 21);
    memset(text, 'x', 900);
    maker_define(maker, 0, NAME, 0, FT_DEFINE_STRING, "name");
    maker_define(maker, 0, CATEGORY, 0, FT_DEFINE_STRING, "category");
    maker_define(maker, 0, KEY, 0, FT_DEFINE_STRING, "key");
    maker_define(maker, 0, TEXT, 0, FT_DEFINE_STRING, "epoch=1");
    maker_define(maker, 0, LONG_TEXT, 0, FT_DEFINE_STRING, text);
    maker_define(maker, 0, A_PATH, FT_FILE_CWD, FT_DEFINE_PATH, "a/path");
}

static void end(struct maker *maker)
{
    offer(maker->fd, maker->bytes);
    maker_fini(maker);
}

static uint64_t names(uint32_t name, uint32_t category)
{
    return name | (uint64_t)category << 32;
}

// Every kind, slot count and extension; the record holds less than its mask says, or more arguments than it has room for.
static void records_that_are_too_short(void)
{
    static const uint64_t masks[] = {0,      FT_EXT_RESULT, FT_EXT_INODE, FT_EXT_RESULT | FT_EXT_CORRELATION,
                                     0xffff, UINT64_MAX};
    static const unsigned counts[] = {0, 1, 2, 15, 16, 17, 255, 1023};
    uint64_t words[FT_RECORD_SLOTS_MAX * FT_SLOT_WORDS];
    for (size_t m = 0; m < sizeof(masks) / sizeof(masks[0]); m++)
        for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
            struct maker maker;
            begin(&maker, (m + c) % 2);
            for (unsigned slots = 1; slots <= FT_RECORD_SLOTS_MAX; slots += slots < 4 ? 1 : 7) {
                for (unsigned i = 0; i < slots * FT_SLOT_WORDS; i++)
                    words[i] = FT_ARG_WORD(KEY, FT_ARG_INTEGER, 0);
                words[1] = names(NAME, CATEGORY);
                words[3] = masks[m];
                maker_record(&maker, 0, kinds[slots % KINDS], counts[c], 0, words, slots * FT_SLOT_WORDS - 1);
            }
            end(&maker);
        }
}

static void arguments_of_any_type_and_length(void)
{
    static const unsigned lengths[] = {0, 1, 7, 8, 9, 200, 900, 4096, 65535};
    for (unsigned type = 0; type < 256; type += type < 6 ? 1 : 83)
        for (size_t n = 0; n < sizeof(lengths) / sizeof(lengths[0]); n++) {
            struct maker maker;
            begin(&maker, 0);
            for (uint32_t key = KEY; key <= NOBODY; key += NOBODY - KEY) {
                uint64_t words[12] = {0,          names(NAME, CATEGORY),       0, 0, FT_ARG_WORD(key, type, lengths[n]),
                                      UINT64_MAX, UINT64_C(0xff00ff00ff00ff0a)};
                maker_record(&maker, 0, FT_RECORD_SPAN, 1, 0, words, 11);
                maker_record(&maker, 0, FT_RECORD_INSTANT, 2, FT_SPAN_CUT, words, 11);
            }
            end(&maker);
        }
}

// Names and categories that nobody defined, that are paths or files, and of which only a part ever came.
static void names_that_are_none(void)
{
    static const uint32_t ids[] = {0, 1, 2, 15, NOBODY, A_PATH, LONG_TEXT, FT_FILE_CWD, UINT32_MAX};
    struct maker maker;
    begin(&maker, 0);
    uint64_t part[] = {NOBODY + 1, UINT64_C(60000) | UINT64_C(16) << 32 | (uint64_t)FT_DEFINE_STRING << 48, 0, 1, 2};
    maker_record(&maker, 0, FT_RECORD_DEFINE, 0, 0, part, 5);
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
        for (size_t k = 0; k < sizeof(ids) / sizeof(ids[0]); k++)
            for (unsigned kind = 0; kind < KINDS; kind++) {
                uint64_t words[] = {0, names(i % 2 ? ids[k] : NOBODY + 1, ids[i]), 0};
                maker_record(&maker, (uint32_t)k % 3, kinds[kind], 0, 0, words, 3);
            }
    offer(maker.fd, maker.bytes);
    for (int round = 0; round < 50; round++) { // while it waits for the names of those before
        uint64_t words[] = {0, names((uint32_t)(NOBODY + 2 + round), NOBODY), 0};
        maker_record(&maker, 1, FT_RECORD_SPAN, 0, 0, words, 3);
    }
    maker_fini(&maker);
}

static void values_at_the_ends(void)
{
    static const uint64_t values[] = {UINT64_C(0x7ff8000000000000), // a quiet NaN, a signalling one, infinities, -0
                                      UINT64_C(0x7ff0000000000001),
                                      UINT64_C(0x7ff0000000000000),
                                      UINT64_C(0xfff0000000000000),
                                      UINT64_C(0x8000000000000000),
                                      1,
                                      UINT64_MAX};
    for (int as_sums = 0; as_sums < 2; as_sums++) {
        struct maker maker;
        begin(&maker, as_sums);
        for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
            for (unsigned flags = 0; flags < 8192; flags = flags ? flags << 1 : 1) {
                uint64_t counter[] = {values[i], names(NAME, CATEGORY), (uint64_t)FT_RESULT_EXT << 60, FT_EXT_RESULT,
                                      values[i]};
                uint64_t without[] = {values[i], names(NAME, CATEGORY), values[i]};
                uint64_t argument[] = {0,
                                       names(NAME, CATEGORY),
                                       0,
                                       0,
                                       FT_ARG_WORD(KEY, FT_ARG_DOUBLE, 0),
                                       values[i],
                                       FT_ARG_WORD(KEY, FT_ARG_INTEGER, 9),
                                       values[i]};
                maker_record(&maker, 0, FT_RECORD_COUNTER, 0, flags, counter, 5);
                maker_record(&maker, 1, FT_RECORD_COUNTER, 0, flags | FT_SPAN_DOUBLE, without, 3);
                maker_record(&maker, 2, FT_RECORD_SPAN, 2, flags, argument, 8);
            }
        end(&maker);
    }
}

// The record of an asynchronous span is its end: with no id, no thread, an id that was there already, and begun before all time.
static void asynchronous_ends_of_nothing(void)
{
    static const uint64_t durations[] = {0, 1, FT_DURATION_EXT, UINT64_C(1) << 62, UINT64_MAX};
    struct maker maker;
    begin(&maker, 0);
    for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++)
        for (uint64_t id = 0; id < 3; id++) {
            uint64_t short_duration = durations[i] < FT_DURATION_EXT ? durations[i] : FT_DURATION_EXT;
            uint64_t whole[] = {FT_END_MAX | short_duration << 40,
                                names(NAME, CATEGORY),
                                (uint64_t)FT_RESULT_EXT << 60,
                                FT_EXT_DURATION | FT_EXT_RESULT | FT_EXT_CORRELATION,
                                durations[i],
                                UINT64_MAX - id,
                                id ? id : UINT64_MAX};
            uint64_t no_thread[] = {0, names(NAME, CATEGORY), 0, FT_EXT_CORRELATION, id};
            maker_record(&maker, 0, FT_RECORD_SPAN, 0, 0, whole, 7);
            maker_record(&maker, 1, FT_RECORD_SPAN, 0, FT_CALL_VFORK, whole, 7);
            maker_record(&maker, 2, FT_RECORD_SPAN, 0, 0, no_thread, 5);
        }
    // Begun and never ended: counted, and no record comes.
    maker.lines[0].emitted += 5;
    end(&maker);
}

static void set_tag(struct maker *maker, uint32_t line, uint32_t string, int of_process, uint64_t ticks)
{
    uint64_t words[] = {string | (of_process ? FT_TAGS_OF_PROCESS : 0), ticks, 0};
    maker_record(maker, line, FT_RECORD_TAGS, 0, 0, words, 3);
    maker_call(maker, line, FT_CALL_ID_pread64, FT_FILE_CWD, 1, ticks % 1000, maker_ticks(), 1);
}

static void tags_that_are_none(void)
{
    static const uint64_t times[] = {0, 1, UINT64_C(1) << 40, UINT64_MAX / 2, UINT64_MAX};
    static const uint32_t strings[] = {0, 1, NAME, LONG_TEXT, A_PATH, NOBODY, TEXT, TEXT, UINT32_MAX};
    struct maker maker;
    begin(&maker, 0);
    maker_define(&maker, 0, 200, 0, FT_DEFINE_STRING, "");
    maker_define(&maker, 0, 201, 0, FT_DEFINE_STRING, "=");
    maker_define(&maker, 0, 202, 0, FT_DEFINE_STRING, "=x");
    maker_define(&maker, 0, 203, 0, FT_DEFINE_STRING, "====");
    maker_define(&maker, 0, 204, 0, FT_DEFINE_STRING, "\xff\n\x01=\xfe");
    for (size_t t = 0; t < sizeof(times) / sizeof(times[0]); t++)
        for (uint32_t line = 0; line < 3; line++) {
            for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
                set_tag(&maker, line, strings[i], line != 1, times[t]);
            for (uint32_t string = 200; string < 205; string++)
                set_tag(&maker, line, string, line == 1, maker_ticks() - times[t]);
        }
    end(&maker);
}

// More tags than there may be, of a thread and of the process, in no order of time, from several threads at once; 60,000
// changes of a few keys.
static void tags_over_their_limits(void)
{
    struct maker maker;
    begin(&maker, 0);
    offer(maker.fd, maker.bytes);
    for (uint32_t i = 0; i < 60000; i++) {
        char text[300];
        snprintf(text, sizeof(text), "key%u=%0*u", i < 2000 ? i : i % 7, i % 100 == 0 ? 250 : 1, i);
        maker_define(&maker, i % 4, 1000 + i, 0, FT_DEFINE_STRING, text);
        set_tag(&maker, i % 4, 1000 + i, i % 8 < 5, i % 3 ? maker_ticks() : maker_ticks() - i * UINT64_C(1000));
    }
    maker_fini(&maker);
}

// Names and texts without end: spans of 100,000 names, each with an argument that was never there before.
static void grow(int as_sums)
{
    struct maker maker;
    begin(&maker, as_sums);
    offer(maker.fd, maker.bytes);
    for (uint32_t i = 0; i < 100000; i++) {
        char text[200];
        uint64_t words[24] = {0, names(1000 + i, 1000 + i / 2), 0, 0, FT_ARG_WORD(1000 + i / 3, FT_ARG_TEXT, 120)};
        snprintf(text, sizeof(text), "%0*u", 150, i);
        maker_define(&maker, i % 4, 1000 + i, 0, FT_DEFINE_STRING, text);
        memcpy(&words[5], text + 30, 120);
        maker_record(&maker, i % 4, kinds[i % KINDS], 1, 0, words, 20);
    }
    maker_fini(&maker);
}

static void names_without_end(void)
{
    grow(0);
}

static void sums_without_end(void)
{
    grow(1);
}

static const struct hostile_case cases[] = {
    CASE(records_that_are_too_short),
    CASE(arguments_of_any_type_and_length),
    CASE(names_that_are_none),
    CASE(values_at_the_ends),
    CASE(asynchronous_ends_of_nothing),
    CASE(tags_that_are_none),
    CASE(tags_over_their_limits),
    CASE(names_without_end),
    CASE(sums_without_end),
};

int main(int argc, char **argv)
{
    return hostile_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
