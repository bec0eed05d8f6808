// SPDX-License-Identifier: MIT
#include "proto/intern.h"

#include <endian.h>
#include <sys/random.h>

#define BUCKETS_MIN 64U

int ft_intern_init(struct ft_intern *intern)
{
    *intern = (struct ft_intern){.bucket_count = BUCKETS_MIN};
    // Without random bytes (early boot) the address has to do.
    if (getrandom(intern->key, sizeof(intern->key), GRND_NONBLOCK) != sizeof(intern->key))
        intern->key[0] = (uint64_t)(uintptr_t)intern;
    intern->buckets = calloc(BUCKETS_MIN, sizeof(*intern->buckets));
    return intern->buckets ? 0 : -ENOMEM;
}

void ft_intern_fini(struct ft_intern *intern)
{
    ft_buffer_fini(&intern->bytes);
    free(intern->entries);
    free(intern->buckets);
    *intern = (struct ft_intern){0};
}

static inline uint64_t rotate(uint64_t value, unsigned bits)
{
    return value << bits | value >> (64 - bits);
}

static inline void mix(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

// SipHash-1-3 (Aumasson and Bernstein, https://www.aumasson.jp/siphash/).
uint32_t ft_intern_hash(const uint64_t key[2], const void *bytes, uint32_t len)
{
    uint64_t v[4] = {key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
                     key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)};
    const uint8_t *data = bytes;
    uint64_t word;
    uint32_t left = len;

    for (; left >= 8; left -= 8, data += 8) {
        memcpy(&word, data, 8);
        word = le64toh(word);
        v[3] ^= word;
        mix(v);
        v[0] ^= word;
    }
    word = (uint64_t)len << 56;
    for (uint32_t i = 0; i < left; i++)
        word |= (uint64_t)data[i] << (8 * i);
    v[3] ^= word;
    mix(v);
    v[0] ^= word;
    v[2] ^= 0xff;
    mix(v);
    mix(v);
    mix(v);
    word = v[0] ^ v[1] ^ v[2] ^ v[3];
    return (uint32_t)(word ^ word >> 32);
}

// The bucket that holds these bytes, or the empty one where they would go.
static uint32_t *find_bucket(const struct ft_intern *intern, const void *data, uint32_t len, uint32_t hash)
{
    size_t mask = intern->bucket_count - 1;

    for (size_t i = hash;; i++) {
        uint32_t *bucket = &intern->buckets[i & mask];
        const struct ft_intern_entry *entry;

        if (*bucket == 0)
            return bucket;
        entry = &intern->entries[*bucket - 1];
        if (entry->hash == hash && entry->len == len &&
            (len == 0 || memcmp(intern->bytes.data + entry->offset, data, len) == 0))
            return bucket;
    }
}

static int double_buckets(struct ft_intern *intern)
{
    uint32_t *buckets = calloc(intern->bucket_count * 2, sizeof(*buckets));
    size_t mask = intern->bucket_count * 2 - 1;

    if (!buckets)
        return -ENOMEM;
    for (size_t id = 1; id <= intern->count; id++) {
        size_t i = intern->entries[id - 1].hash;

        while (buckets[i & mask])
            i++;
        buckets[i & mask] = (uint32_t)id;
    }
    free(intern->buckets);
    intern->buckets = buckets;
    intern->bucket_count *= 2;
    return 0;
}

static bool is_latest(const struct ft_intern *intern, const void *data, uint32_t len)
{
    const struct ft_intern_entry *entry = intern->latest ? &intern->entries[intern->latest - 1] : NULL;

    return entry && entry->len == len && (len == 0 || memcmp(intern->bytes.data + entry->offset, data, len) == 0);
}

int64_t ft_intern_add(struct ft_intern *intern, const void *data, uint32_t len)
{
    uint32_t hash, *bucket;
    int rc;

    if (is_latest(intern, data, len))
        return intern->latest;
    hash = ft_intern_hash(intern->key, data, len);
    bucket = find_bucket(intern, data, len, hash);
    if (*bucket)
        return intern->latest = *bucket;
    if (intern->count >= FT_INTERN_IDS_MAX)
        return -EOVERFLOW;
    if (2 * (intern->count + 1) > intern->bucket_count) {
        rc = double_buckets(intern);
        if (rc)
            return rc;
        bucket = find_bucket(intern, data, len, hash);
    }
    rc = ft_array_grow(&intern->entries, &intern->cap, intern->count, sizeof(*intern->entries));
    if (rc == 0)
        rc = ft_buffer_append(&intern->bytes, data, len);
    if (rc)
        return rc;
    intern->entries[intern->count++] = (struct ft_intern_entry){
        .offset = intern->bytes.len - len,
        .len = len,
        .hash = hash,
    };
    *bucket = (uint32_t)intern->count;
    return intern->latest = *bucket;
}

uint32_t ft_intern_find(const struct ft_intern *intern, const void *data, uint32_t len)
{
    return *find_bucket(intern, data, len, ft_intern_hash(intern->key, data, len));
}

const uint8_t *ft_intern_get(const struct ft_intern *intern, uint32_t id, uint32_t *len)
{
    const struct ft_intern_entry *entry = &intern->entries[id - 1];

    *len = entry->len;
    return intern->bytes.data + entry->offset;
}

size_t ft_intern_memory(const struct ft_intern *intern)
{
    return intern->bytes.cap + intern->cap * sizeof(*intern->entries) + intern->bucket_count * sizeof(*intern->buckets);
}
