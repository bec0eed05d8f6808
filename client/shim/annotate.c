// SPDX-License-Identifier: MIT
#include "client/shim/annotate.h"

#include "client/shim/hot.h"
#include "client/shim/intern.h"
#include "client/shim/tags.h"
#include "proto/calls.h"

uint8_t ft_annotate_is_off;

enum {
    /* Words behind the extension in the longest record. */
    ARG_WORDS_MAX = (FT_RECORD_SLOTS_MAX - 1) * FT_SLOT_WORDS - 4,
    ARG_WORDS_LEAST = 2,
    WORD = sizeof(uint64_t),
};

/* Arguments as they will be written. */
struct args {
    const struct ft_annotate_arg *from;
    uint32_t count, words;
    uint32_t key[FT_EVENT_ARGS_MAX];
    uint16_t text_bytes[FT_EVENT_ARGS_MAX];
    uint8_t is_cut;
};

/* Everything of a record but its arguments. */
struct draft {
    uint64_t end, duration, ext[3];
    unsigned kind, flags, mask;
    uint32_t name, category;
};

int ft_annotate_enter(void)
{
    if (!ft_enter() || ft_wiped.base == 0)
        return 0;
    if (ft_unlikely(ft_thread.tags_untold))
        ft_tags_tell();
    return 1;
}

static uint64_t number_of(const struct ft_annotate_arg *arg)
{
    uint64_t bits = 0;
    if (arg->type == FT_ARG_DOUBLE)
        __builtin_memcpy(&bits, &arg->value.number, sizeof(bits));
    else if (arg->type == FT_ARG_INTEGER)
        bits = (uint64_t)arg->value.integer;
    return bits;
}

/* How much of each text there is room for, and the keys' ids: all that may need other records comes before this one. */
static void measure(struct args *args, const struct ft_annotate_event *event)
{
    args->from = event->args;
    args->is_cut = event->arg_count > FT_EVENT_ARGS_MAX;
    args->count = args->is_cut ? FT_EVENT_ARGS_MAX : event->arg_count;
    args->words = 0;
    for (uint32_t i = 0; i < args->count; i++) {
        const struct ft_annotate_arg *arg = &args->from[i];
        uint32_t room = ARG_WORDS_MAX - args->words - (args->count - i - 1) * ARG_WORDS_LEAST - 1, takes = 1;
        args->key[i] = ft_intern_text(arg->key);
        args->text_bytes[i] = 0;
        if (arg->type == FT_ARG_TEXT) {
            const char *text = arg->value.text != NULL ? arg->value.text : "";
            size_t n = ft_length_most(text, room * WORD);
            args->is_cut |= n == room * WORD && text[n] != 0;
            args->text_bytes[i] = (uint16_t)n;
            takes = (uint32_t)((n + WORD - 1) / WORD);
        }
        args->words += 1 + takes;
    }
}

static void write_args(uint64_t *to, const struct args *args)
{
    for (uint32_t i = 0; i < args->count; i++) {
        const struct ft_annotate_arg *arg = &args->from[i];
        uint32_t n = args->text_bytes[i];
        *to++ = FT_ARG_WORD(args->key[i], arg->type, n);
        if (arg->type != FT_ARG_TEXT) {
            *to++ = number_of(arg);
        } else if (n > 0) {
            to[(n - 1) / WORD] = 0;
            ft_copy(to, arg->value.text, n);
            to += (n + WORD - 1) / WORD;
        }
    }
}

static void write_record(const struct draft *draft, const struct args *args)
{
    unsigned extended = (unsigned)__builtin_popcount(draft->mask);
    struct ft_event event = {.end = draft->end, .ticks = draft->duration, .call = FT_CALL_ID_NONE, .slots = 1};
    if (draft->mask != 0 || args->count != 0)
        event.slots += (1 + extended + args->words + FT_SLOT_WORDS - 1) / FT_SLOT_WORDS;
    uint64_t *word = ft_event_begin(&event);
    if (word == NULL)
        return;
    uint64_t short_duration = draft->duration >= FT_DURATION_EXT ? FT_DURATION_EXT : draft->duration;
    word[1] = (draft->end - event.chunk->base_ticks) | short_duration << 40;
    word[2] = draft->name | (uint64_t)draft->category << 32;
    word[3] = draft->mask & FT_EXT_RESULT ? (uint64_t)FT_RESULT_EXT << 60 : 0;
    if (event.slots > 1) {
        uint64_t *next = word + FT_SLOT_WORDS;
        *next++ = draft->mask;
        for (unsigned i = 0; i < extended; i++)
            *next++ = draft->ext[i];
        write_args(next, args);
    }
    ft_event_end(&event, word,
                 FT_W0(draft->kind, event.slots, args->count, draft->flags, event.chunk->fill, FT_FD16_NONE));
}

void ft_annotate_drop(void)
{
    uint8_t before = ft_recording_begin();
    struct ft_writer *writer = ft_thread.writer;
    ft_local_increment(&writer->line->emitted);
    ft_ring_drop(writer, FT_CALL_ID_NONE, 0, 0);
    ft_recording_end(before);
}

/* Extensions, in the order of their bits. */
static void extend(struct draft *draft, unsigned bit, uint64_t value)
{
    draft->ext[__builtin_popcount(draft->mask)] = value;
    draft->mask |= bit;
}

void ft_annotate_write(const struct ft_annotate_event *event, const struct ft_annotate_async *async, uint64_t end)
{
    static const uint8_t kinds[] = {
        [FT_ANNOTATE_SPAN] = FT_RECORD_SPAN,
        [FT_ANNOTATE_INSTANT] = FT_RECORD_INSTANT,
        [FT_ANNOTATE_COUNTER] = FT_RECORD_COUNTER,
        [FT_ANNOTATE_COUNTER_DOUBLE] = FT_RECORD_COUNTER,
    };
    struct args args;
    struct draft draft;
    if (event->kind >= sizeof(kinds))
        return;
    draft.end = end;
    draft.kind = kinds[event->kind];
    draft.duration = draft.kind == FT_RECORD_SPAN ? draft.end - event->mark.ticks : 0;
    if (ft_unlikely((int64_t)draft.duration < 0)) /* a coarse clock stands behind the fine one of the begin */
        draft.duration = 0;
    draft.mask = 0;
    draft.name = async != NULL ? async->name : ft_intern_text(event->name);
    draft.category = async != NULL ? async->category : ft_intern_text(event->category);
    measure(&args, event);
    if (ft_unlikely(draft.duration >= FT_DURATION_EXT))
        extend(&draft, FT_EXT_DURATION, draft.duration);
    if (draft.kind == FT_RECORD_COUNTER)
        extend(&draft, FT_EXT_RESULT, (uint64_t)event->value);
    if (async != NULL) {
        extend(&draft, FT_EXT_RESULT, async->tid);
        extend(&draft, FT_EXT_CORRELATION, async->id);
    }
    draft.flags = (ft_thread.why & FT_WHY_COARSE ? FT_CALL_COARSE : 0u) |
                  (ft_thread.vfork_depth != 0 ? FT_CALL_VFORK : 0u) | (args.is_cut ? FT_SPAN_CUT : 0u) |
                  (event->kind == FT_ANNOTATE_COUNTER_DOUBLE ? FT_SPAN_DOUBLE : 0u);
    write_record(&draft, &args);
}

static void mark(struct ft_annotate_mark *out)
{
    out->ticks = 0;
    if (!ft_annotate_enter())
        return;
    out->image = ft_process.pid;
    out->ticks = ft_now();
}

static void event(const struct ft_annotate_event *given)
{
    if (!ft_annotate_enter())
        return;
    if (given->kind == FT_ANNOTATE_SPAN && (given->mark.ticks == 0 || given->mark.image != ft_process.pid))
        return; /* begun by the parent, whose it is */
    ft_annotate_write(given, NULL, ft_now());
}

static void set_tag(uint32_t scope, const char *key, const char *value)
{
    if (ft_annotate_enter())
        ft_tags_set(scope == FT_ANNOTATE_PROCESS, key, value);
}

static int get_tag(uint32_t scope, const char *key, char *value, size_t room)
{
    return ft_annotate_enter() ? ft_tags_get(scope == FT_ANNOTATE_PROCESS, key, value, room) : -1;
}

static void begin_async(uint64_t id, const char *category, const char *name)
{
    if (ft_annotate_enter())
        ft_async_begin(id, category, name);
}

static void end_async(uint64_t id, const struct ft_annotate_arg *args, uint32_t arg_count)
{
    if (ft_annotate_enter())
        ft_async_end(id, args, arg_count);
}

__attribute__((visibility("default"))) extern const struct ft_annotate_table flowtap_annotate_1;
const struct ft_annotate_table flowtap_annotate_1 = {
    .bytes = sizeof(flowtap_annotate_1),
    .is_off = &ft_annotate_is_off,
    .mark = mark,
    .event = event,
    .set_tag = set_tag,
    .get_tag = get_tag,
    .begin_async = begin_async,
    .end_async = end_async,
};
