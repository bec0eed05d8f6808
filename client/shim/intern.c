// SPDX-License-Identifier: MIT
#include "client/shim/intern.h"

#include "client/shim/name.h"

/*
 * A text that is known. It is published whole, by one swap of the pointer to it, and never changes but for `id`: ids below
 * ft_process.first_id are of a segment of the parent, so in a forked child each text is defined anew at its first use.
 */
struct text {
    uint32_t id;
    uint32_t hash;
    uint16_t n;
    char bytes[];
};

enum {
    POINTERS_PER_PAGE = FT_PAGE_BYTES / sizeof(void *),
    PAGES = FT_INTERN_MAX / POINTERS_PER_PAGE,
    PROBES = 8,
    ALIGN = sizeof(uint64_t),
};

FT_TABLE static struct text **intern_pages[PAGES]; /* by hash */
FT_TABLE static struct text *
    *intern_recent;                   /* by address of the text: most are literals. A hint, whose text is compared */
FT_TABLE static uint64_t intern_heap; /* page | bytes used of it: one word, so swapped whole */

/* Of zeroed memory that is never given back. NULL where there is none. */
static void *allocate(size_t bytes)
{
    bytes = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    for (;;) {
        uint64_t seen = __atomic_load_n(&intern_heap, __ATOMIC_ACQUIRE), used = seen % FT_PAGE_BYTES;
        uint64_t made = seen + bytes, given = seen;
        if (seen == 0 || bytes >= FT_PAGE_BYTES - used) {
            given = (uint64_t)(uintptr_t)ft_arena_page();
            made = given + bytes;
            if (given == 0)
                return NULL;
        }
        if (__atomic_compare_exchange_n(&intern_heap, &seen, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return (void *)(uintptr_t)given;
    }
}

static struct text **table(struct text ***place)
{
    struct text **page = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (page != NULL || ft_thread.vfork_depth != 0)
        return page;
    struct text **made = ft_arena_page();
    if (made == NULL || __atomic_compare_exchange_n(place, &page, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return made;
    return page;
}

static uint32_t hash_of(const char *bytes, size_t n)
{
    uint32_t hash = UINT32_C(2166136261);
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * UINT32_C(16777619);
    return hash ^ hash >> 15;
}

/* Where a hint for a text at this address stands. */
static size_t hint_of(const char *bytes)
{
    return (size_t)(((uintptr_t)bytes * UINT64_C(0x9e3779b97f4a7c15)) >> 55) % POINTERS_PER_PAGE;
}

/* The terminator of `bytes` stands at n, or it is too long to be here. */
static int is_text(const struct text *text, const char *bytes)
{
    for (size_t i = 0; i < text->n; i++)
        if (bytes[i] != text->bytes[i]) /* the text has no NUL within: this ends before `bytes` does */
            return 0;
    return bytes[text->n] == 0;
}

static struct text *make(const char *bytes, size_t n, uint32_t hash)
{
    struct text *text = allocate(sizeof(*text) + n);
    if (text == NULL)
        return NULL;
    text->hash = hash;
    text->n = (uint16_t)n;
    ft_copy(text->bytes, bytes, n);
    return text;
}

/* The known text, made where it is new; NULL where there is no room for it. */
static struct text *find(const char *bytes, size_t n)
{
    uint32_t hash = hash_of(bytes, n);
    struct text **page = table(&intern_pages[hash % PAGES]), *made = NULL;
    for (uint32_t i = 0; page != NULL && i < PROBES; i++) {
        struct text **place = &page[(hash / PAGES + i) % POINTERS_PER_PAGE];
        struct text *text = __atomic_load_n(place, __ATOMIC_ACQUIRE);
        if (text == NULL) {
            if (ft_thread.vfork_depth != 0)
                return NULL;
            if (made == NULL && (made = make(bytes, n, hash)) == NULL)
                return NULL;
            /* Release: who sees the pointer sees the text. */
            if (__atomic_compare_exchange_n(place, &text, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
                return made;
        }
        if (text->hash == hash && text->n == n && ft_is_equal(text->bytes, bytes, n))
            return text;
    }
    return NULL;
}

static uint32_t id_of(struct text *text)
{
    uint32_t id = __atomic_load_n(&text->id, __ATOMIC_RELAXED);
    if (ft_likely(id >= ft_process.first_id))
        return id;
    id = ft_name_string(text->bytes, text->n, 0);
    if (id != 0 && ft_thread.vfork_depth == 0)
        __atomic_store_n(&text->id, id, __ATOMIC_RELAXED);
    return id;
}

uint32_t ft_intern_text(const char *bytes)
{
    if (bytes == NULL || bytes[0] == 0)
        return 0;
    struct text **hints = table(&intern_recent);
    size_t hint = hint_of(bytes);
    struct text *text = hints != NULL ? __atomic_load_n(&hints[hint], __ATOMIC_ACQUIRE) : NULL;
    if (ft_likely(text != NULL) && ft_likely(is_text(text, bytes)))
        return id_of(text);
    size_t n = ft_length_most(bytes, FT_PATH_KEPT_BYTES);
    text = n <= FT_INTERN_TEXT_MAX ? find(bytes, n) : NULL;
    if (text == NULL)
        return ft_name_string(bytes, n, FT_DEFINE_ONCE);
    if (hints != NULL)
        __atomic_store_n(&hints[hint], text, __ATOMIC_RELEASE);
    return id_of(text);
}
