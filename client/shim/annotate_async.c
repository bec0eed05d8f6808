// SPDX-License-Identifier: MIT
/*
 * Spans that begin in one thread and end in another. A begin waits in a small table for its end, which takes it out by one
 * swap: of two ends, one finds it. One that finds no place is a dropped event.
 */
#include "client/shim/annotate.h"

#include "client/shim/clock.h"
#include "client/shim/intern.h"

struct waiting {
    uint64_t state;
    uint64_t id, start;
    uint32_t name, category; /* string ids of this segment */
    uint32_t tid;
    uint32_t reserved;
};

enum { FREE, SET, BUSY };
enum {
    PAGES = 16,
    PER_PAGE = FT_PAGE_BYTES / sizeof(struct waiting),
};

FT_TABLE static struct waiting *async_pages[PAGES];
static uint8_t is_used;

static struct waiting *page_at(size_t i, int may_make)
{
    struct waiting *page = __atomic_load_n(&async_pages[i], __ATOMIC_ACQUIRE);
    if (page != NULL || !may_make || ft_thread.vfork_depth != 0)
        return page;
    struct waiting *made = ft_arena_page();
    if (made == NULL ||
        __atomic_compare_exchange_n(&async_pages[i], &page, made, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return made;
    return page;
}

/* Pages fill from the first on, each from a place that the id chooses. */
static struct waiting *place(struct waiting *page, uint64_t id, size_t i)
{
    return &page[((id * UINT64_C(0x9e3779b97f4a7c15) >> 32) + i) % PER_PAGE];
}

static int swap_state(struct waiting *one, uint64_t from, uint64_t to)
{
    return __atomic_compare_exchange_n(&one->state, &from, to, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static int begin_in(struct waiting *page, const struct waiting *what)
{
    for (size_t i = 0; i < PER_PAGE; i++) {
        struct waiting *one = place(page, what->id, i);
        if (!swap_state(one, FREE, BUSY))
            continue;
        one->id = what->id;
        one->start = what->start;
        one->name = what->name;
        one->category = what->category;
        one->tid = what->tid;
        __atomic_store_n(&one->state, SET, __ATOMIC_RELEASE);
        return 1;
    }
    return 0;
}

void ft_async_begin(uint64_t id, const char *category, const char *name)
{
    struct waiting what = {.id = id,
                           .start = ft_now(),
                           .name = ft_intern_text(name),
                           .category = ft_intern_text(category),
                           .tid = ft_thread.tid};
    is_used = 1;
    for (size_t i = 0; i < PAGES; i++) {
        struct waiting *page = page_at(i, 1);
        if (page == NULL)
            break;
        if (begin_in(page, &what))
            return;
    }
    ft_annotate_drop();
}

static int end_in(struct waiting *page, uint64_t id, struct waiting *out)
{
    for (size_t i = 0; i < PER_PAGE; i++) {
        struct waiting *one = place(page, id, i);
        if (__atomic_load_n(&one->state, __ATOMIC_ACQUIRE) != SET || one->id != id || !swap_state(one, SET, BUSY))
            continue;
        *out = *one; /* another may have taken its place since the look */
        __atomic_store_n(&one->state, out->id == id ? FREE : SET, __ATOMIC_RELEASE);
        if (out->id == id)
            return 1;
    }
    return 0;
}

void ft_async_end(uint64_t id, const struct ft_annotate_arg *args, uint32_t arg_count)
{
    struct waiting found;
    for (size_t i = 0; i < PAGES; i++) {
        struct waiting *page = page_at(i, 0);
        if (page == NULL)
            return;
        if (!end_in(page, id, &found))
            continue;
        const struct ft_annotate_event span = {
            .kind = FT_ANNOTATE_SPAN, .args = args, .arg_count = arg_count, .mark = {.ticks = found.start}};
        const struct ft_annotate_async async = {
            .id = id, .tid = found.tid, .name = found.name, .category = found.category};
        ft_annotate_write(&span, &async, ft_now());
        return;
    }
}

void ft_async_forget(void)
{
    for (size_t i = 0; is_used && i < PAGES && async_pages[i] != NULL; i++)
        for (size_t k = 0; k < PER_PAGE; k++)
            async_pages[i][k].state = FREE;
}
