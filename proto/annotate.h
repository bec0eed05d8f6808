// SPDX-License-Identifier: MIT
/*
 * What an application says of itself: from libflowtap.so to libflowtap-preload.so, and in the ring.
 *
 * libflowtap.so asks libflowtap-preload.so by one table of functions, which the latter exports as flowtap_annotate_1. Without it the symbol is NULL. Its members are never changed; later ones are added behind them and
 * are there where `bytes` reaches so far.
 *
 * All of them may be called in signal handlers, between fork and exec, under any sandbox and in any thread; errno stays.
 * Texts end with a NUL; they are read during the call alone.
 */
#ifndef FT_PROTO_ANNOTATE_H
#define FT_PROTO_ANNOTATE_H

#include <stddef.h>
#include <stdint.h>

/* Of a SPAN, INSTANT or COUNTER record, beside FT_CALL_COARSE and FT_CALL_VFORK. */
enum ft_span_flags {
    FT_SPAN_DOUBLE = 1 << 9, /* COUNTER: FT_EXT_RESULT holds the bits of a double */
    FT_SPAN_CUT = 2 << 9,    /* an argument's text was shortened, or arguments were left out */
};

/*
 * An asynchronous SPAN has its id in FT_EXT_CORRELATION and the tid of the thread that began it in FT_EXT_RESULT.
 *
 * Arguments: the `call` of word 0 says how many. They follow the extension, whose mask is there then, also as 0. Each is
 * a word, then one word (the integer, the double's bits), or the text's bytes, padded to words.
 */
#define FT_ARG_WORD(key, type, text_bytes) ((uint64_t)(key) | (uint64_t)(type) << 32 | (uint64_t)(text_bytes) << 48)
#define FT_ARG_WORD_KEY(word) ((uint32_t)(word))         /* string id */
#define FT_ARG_WORD_TYPE(word) ((uint8_t)((word) >> 32)) /* enum ft_arg_type */
#define FT_ARG_WORD_TEXT_BYTES(word) ((unsigned)((word) >> 48))

/* Numbers are those in the trace file too. */
enum ft_arg_type { FT_ARG_INTEGER = 1, FT_ARG_DOUBLE = 2, FT_ARG_TEXT = 3, FT_ARG_TYPE_END };

/* Arguments of one event; more are left out. */
#define FT_EVENT_ARGS_MAX 16

/* An argument, as flowtap.h has it. */
struct ft_annotate_arg {
    const char *key;
    uint32_t type; /* enum ft_arg_type */
    union {
        int64_t integer;
        double number;
        const char *text;
    } value;
};

/* A point in the time and the life of a process. */
struct ft_annotate_mark {
    uint64_t ticks; /* 0: nothing is recorded */
    uint32_t image; /* a child that was forked since then has another */
};

enum ft_annotate_kind {
    FT_ANNOTATE_SPAN,
    FT_ANNOTATE_INSTANT,
    FT_ANNOTATE_COUNTER,
    FT_ANNOTATE_COUNTER_DOUBLE, /* value: the bits of a double */
};

struct ft_annotate_event {
    uint32_t kind; /* enum ft_annotate_kind */
    uint32_t arg_count;
    const char *category, *name;
    const struct ft_annotate_arg *args;
    int64_t value;                /* of a counter */
    struct ft_annotate_mark mark; /* of a span: its begin */
};

enum ft_annotate_scope { FT_ANNOTATE_THREAD = 0, FT_ANNOTATE_PROCESS = 1 };

struct ft_annotate_table {
    uint32_t bytes; /* of this struct */
    uint32_t reserved;
    const uint8_t *is_off; /* not 0: this process records nothing, now and later */
    void (*mark)(struct ft_annotate_mark *mark);
    void (*event)(const struct ft_annotate_event *event);
    /* An empty value, or NULL, takes the tag away. */
    void (*set_tag)(uint32_t scope, const char *key, const char *value);
    /* Copies what the tag is to `value`, of which `room` bytes are there; returns its length, -1: it is not set. */
    int (*get_tag)(uint32_t scope, const char *key, char *value, size_t room);
    /* Asynchronous spans: a begin waits under its id for its end. */
    void (*begin_async)(uint64_t id, const char *category, const char *name);
    void (*end_async)(uint64_t id, const struct ft_annotate_arg *args, uint32_t arg_count);
};

#endif
