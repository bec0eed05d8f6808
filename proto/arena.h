// SPDX-License-Identifier: MIT
//
// Memory that is given back all at once, with a bound. Also as the allocator for
// protobuf-c, whose messages from untrusted bytes may ask for any amount.
#ifndef FT_PROTO_ARENA_H
#define FT_PROTO_ARENA_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ft_arena_chunk;

struct ft_arena {
    struct ft_arena_chunk *chunks; // the newest first
    size_t left;                   // bytes free in it
    size_t bytes;                  // of all chunks
    size_t bytes_max;              // 0: no bound
    bool has_no_memory;            // since the last reset there was none, which is not the bound
};

// Zeroed is empty and without bound.
void ft_arena_fini(struct ft_arena *arena);
// Forgets all that was given out, keeps one chunk for the next use.
void ft_arena_reset(struct ft_arena *arena);
// Aligned for any type, not cleared. NULL where there is no memory or the bound is reached.
void *ft_arena_alloc(struct ft_arena *arena, size_t bytes);
void *ft_arena_zalloc(struct ft_arena *arena, size_t count, size_t size);

// Grows *array, of elements of `size` bytes, so that it holds `count` + 1; the old
// one stays in the arena. 0 or -ENOMEM.
int ft_arena_grow(struct ft_arena *arena, void *array, size_t *cap, size_t count, size_t size);
// Makes an empty arena one chunk of just this size (as the sum of what is
// allocated, each rounded up to FT_ARENA_ALIGN). 0 or -ENOMEM.
#define FT_ARENA_ALIGN 16U
int ft_arena_reserve(struct ft_arena *arena, size_t bytes);

// What protobuf-c takes; freeing does nothing. Valid as long as the arena is.
ProtobufCAllocator ft_arena_allocator(struct ft_arena *arena);

#endif
