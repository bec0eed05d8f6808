// SPDX-License-Identifier: MIT
/*
 * flowtap.h: what an application can tell Flowtap of itself. Link with -lflowtap (pkg-config: flowtap).
 *
 *   FLOWTAP_SPAN(load, "data", "load");              from here to the end of the block
 *   flowtap_arg_integer(&load, "batch", 3);
 *   flowtap_tag("epoch", "1");                        holds for all that this thread does from here on
 *   flowtap_counter("gpu", "memory", bytes);
 *
 * In C++: flowtap::span load("data", "load"); load.arg("batch", 3);
 *
 * Spans, instants and counters stand in the trace beside the calls that the program makes, on the same clock. In a process
 * that is not traced everything here does nothing, in a nanosecond or two.
 *
 * Any function may be called from any thread, and in signal handlers. errno stays as it is. Nothing is allocated, and no
 * system call is made but at the first use of a thread or a name. Texts end with a NUL: names and keys are known again by
 * what they say, so they should be few (what varies belongs into arguments or tags). NULL is an empty text.
 *
 * A span is recorded when it ends, by the thread that ends it, and is that thread's alone. One that is open when the
 * process ends or executes another program is no event. One that was open at a fork is the parent's: ending it in the
 * child does nothing.
 */
#ifndef FLOWTAP_H
#define FLOWTAP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this library, "MAJOR.MINOR.PATCH"; static storage. */
const char *flowtap_version(void);

/* 1 where the recording library (libflowtap-preload.so) is loaded into this process, otherwise 0. */
int flowtap_active(void);

/* 1 where what is called now is recorded: for what costs something to find out. */
int flowtap_recording(void);

/* ---- arguments ---- */

enum flowtap_type { FLOWTAP_INTEGER = 1, FLOWTAP_DOUBLE = 2, FLOWTAP_TEXT = 3 };

typedef struct flowtap_arg {
    const char *key;
    uint32_t type; /* enum flowtap_type */
    union {
        int64_t integer;
        double number;
        const char *text;
    } value;
} flowtap_arg;

/* More than these are left out of an event. All of them have room for 900 bytes; texts are shortened to it. */
enum { FLOWTAP_ARGS_MAX = 16 };

/* ---- spans ---- */

/*
 * A span that is open; lies where its owner puts it, and is not moved. All that it points to, names and texts of arguments,
 * is read when it ends. `start` is 0 where it is not recorded.
 */
typedef struct flowtap_span {
    uint64_t start;
    uint32_t image;
    uint32_t arg_count;
    const char *category, *name;
    flowtap_arg args[FLOWTAP_ARGS_MAX];
} flowtap_span;

void flowtap_begin(flowtap_span *span, const char *category, const char *name);
/* A second end does nothing. */
void flowtap_end(flowtap_span *span);

/*
 * Both look first, where they stand, whether there is anything to do: in a process that is not traced nothing is called.
 * The byte that this points to is not 0 there. (flowtap_begin)(...) is the function itself.
 */
extern const volatile unsigned char *flowtap_off_;

static inline void flowtap_quick_begin(flowtap_span *span, const char *category, const char *name)
{
    if (*flowtap_off_)
        span->start = 0;
    else
        flowtap_begin(span, category, name);
}

static inline void flowtap_quick_end(flowtap_span *span)
{
    if (span->start != 0)
        flowtap_end(span);
}

#define flowtap_begin(span, category, name) flowtap_quick_begin(span, category, name)
#define flowtap_end(span) flowtap_quick_end(span)

static inline flowtap_arg *flowtap_next_arg(flowtap_span *span, const char *key, enum flowtap_type type)
{
    flowtap_arg *arg;
    if (span->start == 0)
        return NULL;
    if (span->arg_count >= FLOWTAP_ARGS_MAX) {
        span->arg_count = FLOWTAP_ARGS_MAX + 1; /* it is told that some are missing */
        return NULL;
    }
    arg = &span->args[span->arg_count++];
    arg->key = key;
    arg->type = (uint32_t)type;
    return arg;
}

static inline void flowtap_arg_integer(flowtap_span *span, const char *key, int64_t value)
{
    flowtap_arg *arg = flowtap_next_arg(span, key, FLOWTAP_INTEGER);
    if (arg != NULL)
        arg->value.integer = value;
}

static inline void flowtap_arg_double(flowtap_span *span, const char *key, double value)
{
    flowtap_arg *arg = flowtap_next_arg(span, key, FLOWTAP_DOUBLE);
    if (arg != NULL)
        arg->value.number = value;
}

static inline void flowtap_arg_text(flowtap_span *span, const char *key, const char *value)
{
    flowtap_arg *arg = flowtap_next_arg(span, key, FLOWTAP_TEXT);
    if (arg != NULL)
        arg->value.text = value;
}

/* A span from here to the end of the block, under a name of its own for its arguments. (GCC, Clang) */
#define FLOWTAP_SPAN(variable, category, name)                         \
    flowtap_span variable __attribute__((cleanup(flowtap_quick_end))); \
    flowtap_quick_begin(&variable, category, name)

/* The same without arguments. */
#define FLOWTAP_PASTE_(a, b) a##b
#define FLOWTAP_PASTE(a, b) FLOWTAP_PASTE_(a, b)
#define FLOWTAP_SCOPE(category, name) FLOWTAP_SPAN(FLOWTAP_PASTE(flowtap_scope_, __LINE__), category, name)

/*
 * Asynchronous spans: begun by one thread and ended by any other of the process, which knows the id. Which one began it is
 * kept with the span. Some 1,600 may be open at once; more are counted as dropped.
 */
void flowtap_begin_async(uint64_t id, const char *category, const char *name);
void flowtap_end_async(uint64_t id, const flowtap_arg *args, size_t count);

/* ---- points in time ---- */

void flowtap_instant(const char *category, const char *name, const flowtap_arg *args, size_t count);
void flowtap_counter(const char *category, const char *name, int64_t value);
void flowtap_counter_double(const char *category, const char *name, double value);

/* ---- tags ---- */

/*
 * A tag holds for everything that the thread (the process: all its threads) does from here on, calls too, until it is set
 * anew or cleared. What a thread has begun before another one sets a tag of the process keeps the tags that held then.
 * Forked children begin with the tags of the thread that forked and of the process. Tags of a process also stand with the
 * process itself: its metadata. "key=value" has at most 254 bytes; a key has no "=". 16 of a thread and 16 of the process
 * are kept. An empty value or NULL clears. A span has the thread's tags that hold where it ends.
 */
void flowtap_tag(const char *key, const char *value);
void flowtap_tag_integer(const char *key, int64_t value);
void flowtap_process_tag(const char *key, const char *value);

/* The tag "thread" of the calling thread: its name. */
void flowtap_thread_name(const char *name);

/* A tag of the thread in a scope: what it was before holds again behind it. */
typedef struct flowtap_tagged {
    const char *key; /* NULL: nothing to put back */
    char before[256];
} flowtap_tagged;

void flowtap_tag_begin(flowtap_tagged *tagged, const char *key, const char *value);
void flowtap_tag_end(flowtap_tagged *tagged);

/* A tag of the thread from here to the end of the block. (GCC, Clang) */
#define FLOWTAP_TAG(key, value) FLOWTAP_TAG_(FLOWTAP_PASTE(flowtap_tag_, __LINE__), key, value)
#define FLOWTAP_TAG_(variable, key, value)                             \
    flowtap_tagged variable __attribute__((cleanup(flowtap_tag_end))); \
    flowtap_tag_begin(&variable, key, value)

#ifdef __cplusplus
}

namespace flowtap
{

/* A span as long as the object lives. */
class span
{
  public:
    span(const char *category, const char *name)
    {
        flowtap_begin(&span_, category, name);
    }
    ~span()
    {
        flowtap_end(&span_);
    }
    span(const span &) = delete;
    span &operator=(const span &) = delete;

    span &arg(const char *key, double value)
    {
        flowtap_arg_double(&span_, key, value);
        return *this;
    }
    span &arg(const char *key, const char *value)
    {
        flowtap_arg_text(&span_, key, value);
        return *this;
    }
    template <typename integer> span &arg(const char *key, integer value)
    {
        flowtap_arg_integer(&span_, key, static_cast<int64_t>(value));
        return *this;
    }
    span &arg(const char *key, float value)
    {
        return arg(key, static_cast<double>(value));
    }
    /* Ends it before the object does. */
    void end()
    {
        flowtap_end(&span_);
    }

  private:
    flowtap_span span_;
};

/* A tag of the thread as long as the object lives; the key must live as long. */
class tag
{
  public:
    tag(const char *key, const char *value)
    {
        flowtap_tag_begin(&tagged_, key, value);
    }
    ~tag()
    {
        flowtap_tag_end(&tagged_);
    }
    tag(const tag &) = delete;
    tag &operator=(const tag &) = delete;

  private:
    flowtap_tagged tagged_;
};

} // namespace flowtap
#endif

#endif
