// SPDX-License-Identifier: MIT
//
// Gives the same id for the same bytes: 1, 2, 3, ... in order of first use. The
// hash is keyed, since the bytes may come from a client who wants collisions.
#ifndef FT_PROTO_INTERN_H
#define FT_PROTO_INTERN_H

#include "proto/buffer.h"

#include <stdbool.h>

#define FT_INTERN_IDS_MAX (UINT32_C(1) << 26)

struct ft_intern_entry {
    size_t offset; // in `bytes`
    uint32_t len;
    uint32_t hash;
};

struct ft_intern {
    uint64_t key[2];
    struct ft_buffer bytes;
    struct ft_intern_entry *entries; // of id i at i - 1
    size_t count, cap;
    uint32_t *buckets; // ids, 0 empty; open addressing, at most half full
    size_t bucket_count;
    uint32_t latest; // id that was given last: often it is asked for again at once
};

int ft_intern_init(struct ft_intern *intern); // 0 or -ENOMEM
void ft_intern_fini(struct ft_intern *intern);

// The id, or -ENOMEM, or -EOVERFLOW after FT_INTERN_IDS_MAX ids.
int64_t ft_intern_add(struct ft_intern *intern, const void *data, uint32_t len);
// The id, 0 where the bytes are not there.
uint32_t ft_intern_find(const struct ft_intern *intern, const void *data, uint32_t len);
// Bytes of an id from 1 to count; valid until the next _add.
const uint8_t *ft_intern_get(const struct ft_intern *intern, uint32_t id, uint32_t *len);

// The hash of bytes by a key that who made them does not know (SipHash-1-3), for tables of other kinds.
uint32_t ft_intern_hash(const uint64_t key[2], const void *data, uint32_t len);

size_t ft_intern_memory(const struct ft_intern *intern);

#endif
