// SPDX-License-Identifier: MIT
#include "client/annotate/flowtap.h"

#include "proto/annotate.h"

// One struct under two names: an application sees none of proto/.
_Static_assert(sizeof(flowtap_arg) == sizeof(struct ft_annotate_arg) &&
                   offsetof(flowtap_arg, type) == offsetof(struct ft_annotate_arg, type) &&
                   offsetof(flowtap_arg, value) == offsetof(struct ft_annotate_arg, value),
               "an argument");

#define EXPORT __attribute__((visibility("default")))
#define likely(x) __builtin_expect(!!(x), 1)

// Exported by the shim alone. Weak: without the shim its address is NULL.
extern const struct ft_annotate_table flowtap_annotate_1 __attribute__((weak));

#undef flowtap_begin
#undef flowtap_end

/* Off until the constructor has looked, which runs before those of all that is linked with this library. */
static const unsigned char off = 1;
EXPORT const volatile unsigned char *flowtap_off_ = &off;

__attribute__((constructor)) static void find_off(void)
{
    if (&flowtap_annotate_1 != NULL)
        flowtap_off_ = flowtap_annotate_1.is_off;
}

static const struct ft_annotate_arg *shared(const flowtap_arg *args)
{
    return (const struct ft_annotate_arg *)(const void *)args;
}

// NULL where nothing is recorded.
static inline const struct ft_annotate_table *table(void)
{
    const struct ft_annotate_table *found = &flowtap_annotate_1;
    return found && !*found->is_off ? found : NULL;
}

EXPORT const char *flowtap_version(void)
{
    return FT_VERSION;
}

EXPORT int flowtap_active(void)
{
    return &flowtap_annotate_1 != NULL;
}

EXPORT int flowtap_recording(void)
{
    const struct ft_annotate_table *shim = table();
    struct ft_annotate_mark mark;
    if (!shim)
        return 0;
    shim->mark(&mark);
    return mark.ticks != 0;
}

EXPORT void flowtap_begin(flowtap_span *span, const char *category, const char *name)
{
    const struct ft_annotate_table *shim = table();
    struct ft_annotate_mark mark;
    span->start = 0;
    if (likely(!shim))
        return;
    span->category = category;
    span->name = name;
    span->arg_count = 0;
    shim->mark(&mark);
    span->image = mark.image;
    span->start = mark.ticks;
}

EXPORT void flowtap_end(flowtap_span *span)
{
    if (likely(span->start == 0))
        return;
    const struct ft_annotate_event event = {
        .kind = FT_ANNOTATE_SPAN,
        .arg_count = span->arg_count,
        .category = span->category,
        .name = span->name,
        .args = shared(span->args),
        .mark = {.ticks = span->start, .image = span->image},
    };
    span->start = 0;
    flowtap_annotate_1.event(&event);
}

EXPORT void flowtap_begin_async(uint64_t id, const char *category, const char *name)
{
    const struct ft_annotate_table *shim = table();
    if (shim)
        shim->begin_async(id, category, name);
}

// As many as are told of: one more says that some are missing.
static uint32_t told(size_t count)
{
    return count > FLOWTAP_ARGS_MAX ? FLOWTAP_ARGS_MAX + 1 : (uint32_t)count;
}

EXPORT void flowtap_end_async(uint64_t id, const flowtap_arg *args, size_t count)
{
    const struct ft_annotate_table *shim = table();
    if (shim)
        shim->end_async(id, shared(args), told(count));
}

EXPORT void flowtap_instant(const char *category, const char *name, const flowtap_arg *args, size_t count)
{
    const struct ft_annotate_table *shim = table();
    if (!shim)
        return;
    const struct ft_annotate_event event = {
        .kind = FT_ANNOTATE_INSTANT,
        .arg_count = told(count),
        .category = category,
        .name = name,
        .args = shared(args),
    };
    shim->event(&event);
}

EXPORT void flowtap_counter(const char *category, const char *name, int64_t value)
{
    const struct ft_annotate_table *shim = table();
    if (!shim)
        return;
    const struct ft_annotate_event event = {
        .kind = FT_ANNOTATE_COUNTER, .category = category, .name = name, .value = value};
    shim->event(&event);
}

EXPORT void flowtap_counter_double(const char *category, const char *name, double value)
{
    const struct ft_annotate_table *shim = table();
    if (!shim)
        return;
    struct ft_annotate_event event = {.kind = FT_ANNOTATE_COUNTER_DOUBLE, .category = category, .name = name};
    __builtin_memcpy(&event.value, &value, sizeof(value));
    shim->event(&event);
}

static void set_tag(enum ft_annotate_scope scope, const char *key, const char *value)
{
    const struct ft_annotate_table *shim = table();
    if (shim)
        shim->set_tag(scope, key, value);
}

EXPORT void flowtap_tag(const char *key, const char *value)
{
    set_tag(FT_ANNOTATE_THREAD, key, value);
}

EXPORT void flowtap_tag_integer(const char *key, int64_t value)
{
    char text[24], *at = text + sizeof(text) - 1;
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    *at = 0;
    do
        *--at = (char)('0' + rest % 10);
    while ((rest /= 10) != 0);
    if (value < 0)
        *--at = '-';
    set_tag(FT_ANNOTATE_THREAD, key, at);
}

EXPORT void flowtap_process_tag(const char *key, const char *value)
{
    set_tag(FT_ANNOTATE_PROCESS, key, value);
}

EXPORT void flowtap_thread_name(const char *name)
{
    set_tag(FT_ANNOTATE_THREAD, "thread", name);
}

EXPORT void flowtap_tag_begin(flowtap_tagged *tagged, const char *key, const char *value)
{
    const struct ft_annotate_table *shim = table();
    tagged->key = NULL;
    if (!shim || !key)
        return;
    tagged->key = key;
    if (shim->get_tag(FT_ANNOTATE_THREAD, key, tagged->before, sizeof(tagged->before)) < 0)
        tagged->before[0] = 0;
    shim->set_tag(FT_ANNOTATE_THREAD, key, value);
}

EXPORT void flowtap_tag_end(flowtap_tagged *tagged)
{
    if (tagged->key)
        set_tag(FT_ANNOTATE_THREAD, tagged->key, tagged->before);
    tagged->key = NULL;
}
