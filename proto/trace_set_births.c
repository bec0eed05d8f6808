// SPDX-License-Identifier: MIT
//
// Files whose birth one record tells and another does not: a daemon of before, a kernel without statx.
#include "proto/trace_set_impl.h"

// Files without a birth, by device, inode, mount point and host; one that has one may be any of them, so that they have a
// table of their own.
struct births {
    struct ft_trace_set *set;
    uint64_t key[2];
    uint32_t *buckets; // index + 1, 0 empty; open addressing, at most half full
    size_t bucket_count;
    uint32_t *same;   // by index: of those without one, the file that it is, + 1
    uint32_t *places; // by index: where it is when those are gone
};

static struct ft_trace_file record_of(const struct ft_trace_set *set, size_t index)
{
    return ft_trace_reader_file(set->readers[set->files[index].reader].reader, set->files[index].id);
}

static struct ft_bytes mount_of(const struct ft_trace_set *set, size_t index)
{
    return ft_trace_reader_name(set->readers[set->files[index].reader].reader, record_of(set, index).mount);
}

static bool has_inode(struct ft_trace_file record)
{
    return record.dev && record.inode;
}

static bool is_same_inode(const struct ft_trace_set *set, size_t a, size_t b)
{
    const struct ft_trace_file x = record_of(set, a), y = record_of(set, b);
    struct ft_bytes of_x, of_y;

    if (x.dev != y.dev || x.inode != y.inode ||
        set->readers[set->files[a].reader].host != set->readers[set->files[b].reader].host)
        return false;
    of_x = mount_of(set, a);
    of_y = mount_of(set, b);
    return of_x.len == of_y.len && (of_x.len == 0 || memcmp(of_x.data, of_y.data, of_x.len) == 0);
}

// The bucket of the inode that this file has, or an empty one.
static uint32_t *bucket_of(const struct births *births, size_t index)
{
    const struct ft_trace_set *set = births->set;
    const struct ft_trace_file record = record_of(set, index);
    const struct ft_bytes mount = mount_of(set, index);
    const uint64_t numbers[] = {record.dev, record.inode, set->readers[set->files[index].reader].host,
                                ft_intern_hash(births->key, mount.data, (uint32_t)mount.len)};

    for (size_t i = ft_intern_hash(births->key, numbers, sizeof(numbers));; i++) {
        uint32_t *bucket = &births->buckets[i & (births->bucket_count - 1)];

        if (*bucket == 0 || is_same_inode(set, *bucket - 1, index))
            return bucket;
    }
}

// Where several births come into question, the first one in the order of files and of their ids.
static void find_same(struct births *births)
{
    for (size_t i = 0; i < births->set->file_count; i++) {
        if (has_inode(record_of(births->set, i)) && record_of(births->set, i).birth == 0)
            *bucket_of(births, i) = (uint32_t)i + 1;
    }
    for (size_t i = 0; i < births->set->file_count; i++) {
        uint32_t unborn = 0;

        if (has_inode(record_of(births->set, i)) && record_of(births->set, i).birth != 0)
            unborn = *bucket_of(births, i);
        if (unborn && births->same[unborn - 1] == 0)
            births->same[unborn - 1] = (uint32_t)i + 1;
    }
}

static void take_away(struct births *births)
{
    struct ft_trace_set *set = births->set;
    size_t left = 0;

    for (size_t i = 0; i < set->file_count; i++) {
        if (births->same[i])
            continue;
        births->places[i] = (uint32_t)left;
        set->files[left++] = set->files[i];
    }
    for (size_t r = 0; left < set->file_count && r < set->reader_count; r++) {
        struct ft_set_reader *entry = &set->readers[r];

        for (uint32_t id = 1; id <= entry->file_max; id++) {
            uint32_t index = entry->files[id];

            if (index != FT_TRACE_SET_NONE)
                entry->files[id] = births->places[births->same[index] ? births->same[index] - 1 : index];
        }
    }
    set->file_count = left;
}

int ft_set_unite_births(struct ft_trace_set *set)
{
    struct births births = {.set = set, .key = {~set->hosts.key[0], set->hosts.key[1]}, .bucket_count = 1};
    size_t with = 0, without = 0;
    int rc = -ENOMEM;

    for (size_t i = 0; i < set->file_count; i++) {
        const struct ft_trace_file record = record_of(set, i);

        with += has_inode(record) && record.birth != 0;
        without += has_inode(record) && record.birth == 0;
    }
    if (with == 0 || without == 0)
        return 0;
    while (births.bucket_count < 2 * (without + 1))
        births.bucket_count *= 2;
    births.buckets = calloc(births.bucket_count, sizeof(*births.buckets));
    births.same = calloc(set->file_count, sizeof(*births.same));
    births.places = calloc(set->file_count, sizeof(*births.places));
    if (births.buckets && births.same && births.places) {
        find_same(&births);
        take_away(&births);
        rc = 0;
    }
    free(births.buckets);
    free(births.same);
    free(births.places);
    return rc;
}
