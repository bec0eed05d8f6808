// SPDX-License-Identifier: MIT
//
// Makes segments by hand, as proto/ring.h says: a shim for tests. Single-threaded; every line writes its own chunks.
#ifndef FT_TESTS_SEGMENT_MAKER_H
#define FT_TESTS_SEGMENT_MAKER_H

#include <stdint.h>

#include "proto/control.h"
#include "proto/ring.h"

enum { MAKER_LINES = 64, MAKER_CHUNKS = 2048 };

struct maker {
    int fd;
    uint64_t bytes;
    uint8_t *map;
    struct ft_head *head;
    struct ft_hello *hello;
    struct ft_line *lines;
    uint64_t sequence[MAKER_LINES];
    uint32_t chunk[MAKER_LINES]; // UINT32_MAX: none
    uint32_t slot[MAKER_LINES];
    uint32_t hello_used;
};

// A segment with an empty Hello, ready.
void maker_init(struct maker *maker);
void maker_fini(struct maker *maker); // unmaps and closes

void maker_hello_item(struct maker *maker, uint16_t type, const void *bytes, uint32_t count);

struct ft_chunk_head *maker_chunk(struct maker *maker, uint32_t chunk);
uint64_t *maker_slot(struct maker *maker, uint32_t chunk, uint32_t slot);

// Where the next record of `slots` slots of a line goes, in a new chunk where the last is full. Its word 0 is to be set
// last. NULL where no chunk is free.
uint64_t *maker_reserve(struct maker *maker, uint32_t line, uint32_t slots, uint64_t ticks, uint64_t *fill);

// pread-like call: file, size and offset, all of it moved. 0 where it had to be dropped (it is counted).
int maker_call(struct maker *maker, uint32_t line, unsigned call, uint32_t file, uint32_t size, uint64_t offset,
               uint64_t end_ticks, uint64_t duration_ticks);

void maker_define(struct maker *maker, uint32_t line, uint32_t id, uint32_t base, unsigned define, const char *name);

// A one-slot CALL as its words say; counted as emitted.
void maker_call_words(struct maker *maker, uint32_t line, unsigned call, unsigned flags, uint64_t word2,
                      uint64_t word3);
// A record of any kind: words 1 to `words` as they are (the last slot's rest is 0), `call` and `flags` of word 0. Spans,
// instants and counters count as emitted. 0 where no chunk was free (it is counted as dropped).
int maker_record(struct maker *maker, uint32_t line, unsigned kind, unsigned call, unsigned flags,
                 const uint64_t *words_from_1, unsigned words);

// The end of a record made now, relative to the chunk that it goes to: bits 0-39 of word 1.
uint64_t maker_end(struct maker *maker, uint32_t line);

// VFORK begin or end.
void maker_vfork(struct maker *maker, uint32_t line, unsigned is_begin, uint32_t pid);

// Sends it to a daemon; 0 or -errno. The descriptor stays the maker's.
int maker_attach(const struct maker *maker, const char *socket_path);

uint64_t maker_ticks(void);

#endif
