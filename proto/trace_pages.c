// SPDX-License-Identifier: MIT
#include "proto/trace_reader_impl.h"

#include <string.h>

void *ft_pages_make(struct ft_pages *pages, struct ft_arena *arena, uint32_t id)
{
    size_t page = id / FT_PAGE_ITEMS, cap = pages->page_cap;

    if (!ft_pages_may_make(pages, id, 1))
        return NULL;
    if (page >= cap) {
        if (ft_arena_grow(arena, &pages->pages, &pages->page_cap, page, sizeof(*pages->pages)))
            return NULL;
        memset(pages->pages + cap, 0, (pages->page_cap - cap) * sizeof(*pages->pages));
    }
    if (!pages->pages[page]) {
        pages->pages[page] = ft_arena_zalloc(arena, FT_PAGE_ITEMS, pages->item_bytes);
        if (!pages->pages[page])
            return NULL;
    }
    if (id > pages->max)
        pages->max = id;
    return (char *)pages->pages[page] + (id % FT_PAGE_ITEMS) * pages->item_bytes;
}

void *ft_pages_get(const struct ft_pages *pages, uint32_t id)
{
    size_t page = id / FT_PAGE_ITEMS;

    if (id == 0 || page >= pages->page_cap || !pages->pages[page])
        return NULL;
    return (char *)pages->pages[page] + (id % FT_PAGE_ITEMS) * pages->item_bytes;
}
