// SPDX-License-Identifier: MIT
#include "tests/unit/shim/segment_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/shim/fd.h"

void ft_fixture_make(uint32_t chunks)
{
    struct ft_process *p = &ft_process;
    memset(p, 0, sizeof(*p));
    memset(&ft_thread, 0, sizeof(ft_thread));
    p->totals_page = 1;
    p->hello_page = 2;
    p->totals_more_page = 3;
    p->lines_page = 6;
    p->lines_max = 64;
    p->pool_page = 7;
    p->chunks_max = p->chunks_by_shim = chunks;
    p->lines_used = 1;
    p->totals_ready = 1;
    p->was_room_asked = p->has_room = 1; /* whatever the groups of this very process leave */
    p->next_id = p->first_id = FT_FILE_FIRST;
    p->pid = (uint32_t)getpid();
    p->clock = FT_CLOCK_TICKS;
    p->bytes = (uint64_t)(p->pool_page + chunks) * FT_PAGE_BYTES;
    p->base = (uint64_t)(uintptr_t)mmap(NULL, p->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_int_not_equal(p->base, (uint64_t)(uintptr_t)MAP_FAILED);
    ft_wiped.base = p->base;
    ft_fd_forget_all();
}

void ft_fixture_remove(void)
{
    munmap((void *)(uintptr_t)ft_process.base, ft_process.bytes);
    ft_wiped.base = 0;
}

int ft_fixture_setup(void **state)
{
    (void)state;
    ft_fixture_make(16);
    assert_int_equal(ft_thread_start(), 0);
    return 0;
}

int ft_fixture_teardown(void **state)
{
    (void)state;
    ft_fixture_remove();
    return 0;
}

size_t ft_fixture_records(unsigned kind, const uint64_t **records, size_t room)
{
    size_t count = 0;
    for (uint32_t i = 0; i < ft_process.chunks_max; i++) {
        const struct ft_chunk_head *chunk = ft_chunk(i);
        for (uint32_t slot = 0; slot < FT_CHUNK_SLOTS;) {
            const uint64_t *word =
                (const void *)((const char *)chunk + FT_CHUNK_HEAD_BYTES + (size_t)slot * FT_SLOT_BYTES);
            if (FT_W0_KIND(word[0]) == FT_RECORD_NONE || FT_W0_FILL(word[0]) != (uint16_t)chunk->fill)
                break;
            if (FT_W0_KIND(word[0]) == kind && count++ < room)
                records[count - 1] = word;
            slot += FT_W0_SLOTS(word[0]);
        }
    }
    return count;
}
