// SPDX-License-Identifier: MIT
#include "proto/arena.h"

#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES_MIN ((size_t)16 * 1024)
#define CHUNK_BYTES_MAX ((size_t)1024 * 1024)

_Static_assert(FT_ARENA_ALIGN % alignof(max_align_t) == 0, "alignment");

struct ft_arena_chunk {
    struct ft_arena_chunk *next;
    size_t bytes; // of data
    alignas(max_align_t) uint8_t data[];
};

void ft_arena_fini(struct ft_arena *arena)
{
    while (arena->chunks) {
        struct ft_arena_chunk *next = arena->chunks->next;

        free(arena->chunks);
        arena->chunks = next;
    }
    arena->left = 0;
    arena->bytes = 0;
}

void ft_arena_reset(struct ft_arena *arena)
{
    struct ft_arena_chunk *kept = arena->chunks;

    arena->has_no_memory = false;
    if (!kept)
        return;
    arena->chunks = kept->next;
    ft_arena_fini(arena);
    kept->next = NULL;
    arena->chunks = kept;
    arena->left = kept->bytes;
    arena->bytes = kept->bytes;
}

static int add_chunk(struct ft_arena *arena, size_t size)
{
    struct ft_arena_chunk *chunk = malloc(sizeof(*chunk) + size);

    if (!chunk) {
        arena->has_no_memory = true;
        return -ENOMEM;
    }
    chunk->next = arena->chunks;
    chunk->bytes = size;
    arena->chunks = chunk;
    arena->left = size;
    arena->bytes += size;
    return 0;
}

// A chunk for at least `bytes`: chunks grow with the arena, within its bound.
static int add_chunk_for(struct ft_arena *arena, size_t bytes)
{
    size_t size = arena->bytes < CHUNK_BYTES_MIN ? CHUNK_BYTES_MIN : arena->bytes;

    if (size > CHUNK_BYTES_MAX)
        size = CHUNK_BYTES_MAX;
    if (size < bytes)
        size = bytes;
    if (arena->bytes_max) {
        size_t left = arena->bytes < arena->bytes_max ? arena->bytes_max - arena->bytes : 0;

        if (left < bytes)
            return -ENOMEM;
        if (size > left)
            size = left;
    }
    return add_chunk(arena, size);
}

int ft_arena_reserve(struct ft_arena *arena, size_t bytes)
{
    return bytes > SIZE_MAX / 2 ? -ENOMEM : add_chunk(arena, bytes);
}

void *ft_arena_alloc(struct ft_arena *arena, size_t bytes)
{
    struct ft_arena_chunk *chunk;
    void *at;

    if (bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (bytes + FT_ARENA_ALIGN - 1) / FT_ARENA_ALIGN * FT_ARENA_ALIGN;
    if (bytes > arena->left && add_chunk_for(arena, bytes))
        return NULL;
    chunk = arena->chunks;
    // No chunk yet and nothing asked for: any address but NULL will do.
    if (!chunk)
        return arena;
    at = chunk->data + (chunk->bytes - arena->left);
    arena->left -= bytes;
    return at;
}

void *ft_arena_zalloc(struct ft_arena *arena, size_t count, size_t size)
{
    void *at;

    if (size && count > SIZE_MAX / 2 / size)
        return NULL;
    at = ft_arena_alloc(arena, count * size);
    if (at)
        memset(at, 0, count * size);
    return at;
}

int ft_arena_grow(struct ft_arena *arena, void *array, size_t *cap, size_t count, size_t size)
{
    size_t new_cap = *cap ? *cap : 16;
    void *old, *data;

    if (count < *cap)
        return 0;
    while (new_cap <= count) {
        if (new_cap > SIZE_MAX / 4 / size)
            return -ENOMEM;
        new_cap *= 2;
    }
    data = ft_arena_alloc(arena, new_cap * size);
    if (!data)
        return -ENOMEM;
    // The pointer is copied out and in: its type is the caller's.
    memcpy(&old, array, sizeof(old));
    if (*cap)
        memcpy(data, old, *cap * size);
    memcpy(array, &data, sizeof(data));
    *cap = new_cap;
    return 0;
}

static void *allocate(void *arena, size_t bytes)
{
    return ft_arena_alloc(arena, bytes);
}

static void do_nothing(void *arena, void *at)
{
    (void)arena;
    (void)at;
}

ProtobufCAllocator ft_arena_allocator(struct ft_arena *arena)
{
    return (ProtobufCAllocator){.alloc = allocate, .free = do_nothing, .allocator_data = arena};
}
