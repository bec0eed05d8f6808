// SPDX-License-Identifier: MIT
#include "daemon/heap.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "daemon/procfs.h"

// What is not worth looking for.
#define FEW_BYTES (UINT64_C(16) << 20)
#define INTERVAL_NS INT64_C(10000000000)
// A burst is over when under one in so many of what went did so since the last tick.
#define BURST 16
// What each heap keeps at its end. Told, it does not grow with what is freed; malloc_trim() looks at the first heap's alone.
#define KEPT_BYTES (1 << 20)

static uint64_t private_bytes(void)
{
    char text[128];
    uint64_t resident, shared;
    int n = ft_procfs_read((uint32_t)getpid(), "statm", text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = '\0';
    if (sscanf(text, "%*u %" SCNu64 " %" SCNu64, &resident, &shared) != 2 || shared > resident)
        return 0;
    return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void run(struct ft_aside *aside)
{
    (void)aside;
    malloc_trim(0);
}

static void after(struct ft_aside *aside)
{
    ((struct ft_heap *)aside)->is_running = false;
}

void ft_heap_init(struct ft_daemon *daemon)
{
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    daemon->heap.aside.run = run;
    daemon->heap.aside.after = after;
}

void ft_heap_note_gone(struct ft_daemon *daemon)
{
    daemon->heap.gone++;
}

void ft_heap_tick(struct ft_daemon *daemon, int64_t now_ns)
{
    struct ft_heap *heap = &daemon->heap;
    uint64_t blocks = atomic_load(&daemon->status.blocks);
    uint64_t recent = heap->gone - heap->gone_last_tick;
    bool is_quiet = recent == 0 && blocks == heap->blocks_last_tick;
    bool is_burst = recent * BURST > heap->gone;
    heap->gone_last_tick = heap->gone;
    heap->blocks_last_tick = blocks;
    heap->has_freed |= !is_quiet;
    if (!heap->has_freed || is_burst || now_ns < heap->next_ns || heap->is_running || daemon->is_ending)
        return;
    heap->has_freed = !is_quiet; // what went just now is freed a moment later
    heap->gone = heap->gone_last_tick = 0;
    if (private_bytes() < FEW_BYTES)
        return;
    heap->next_ns = now_ns + INTERVAL_NS;
    heap->is_running = true;
    ft_aside_start(&daemon->loop, &heap->aside);
}
