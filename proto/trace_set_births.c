// SPDX-License-Identifier: MIT
//
// Files whose birth one record tells and another does not, or less exactly: a daemon of before, a kernel without statx, a
// process under a filter.
#include "proto/trace_set_impl.h"

// What a birth tells.
enum clearness { NOTHING, TIME, EXACTLY };

// Vague files by device, inode, mount point, host and what their births have in common with clear ones; a clear one may
// be any of them, so that they have a table of their own.
struct births {
    struct ft_trace_set *set;
    enum clearness vague; // of these births; those of clear ones tell more
    uint64_t key[2];
    uint32_t *buckets; // index + 1, 0 empty; open addressing, at most half full
    size_t bucket_count;
    uint32_t *next;   // by index: of vague ones, the next of that bucket, + 1
    uint32_t *same;   // by index: of vague ones, the file that it is, + 1
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

static enum clearness clearness_of(struct ft_trace_file record)
{
    return record.is_exact ? EXACTLY : record.birth ? TIME : NOTHING;
}

static bool is_vague(const struct births *births, struct ft_trace_file record)
{
    return has_inode(record) && clearness_of(record) == births->vague;
}

static bool is_clear(const struct births *births, struct ft_trace_file record)
{
    return has_inode(record) && clearness_of(record) > births->vague;
}

// Without a birth, all are alike.
static uint64_t common_of(const struct births *births, struct ft_trace_file record)
{
    return births->vague == NOTHING ? 0 : ft_birth_coarse(record.birth);
}

static bool is_alike(const struct births *births, size_t a, size_t b)
{
    const struct ft_trace_set *set = births->set;
    const struct ft_trace_file x = record_of(set, a), y = record_of(set, b);
    struct ft_bytes of_x, of_y;

    if (x.dev != y.dev || x.inode != y.inode || common_of(births, x) != common_of(births, y) ||
        set->readers[set->files[a].reader].host != set->readers[set->files[b].reader].host)
        return false;
    of_x = mount_of(set, a);
    of_y = mount_of(set, b);
    return of_x.len == of_y.len && (of_x.len == 0 || memcmp(of_x.data, of_y.data, of_x.len) == 0);
}

// The bucket of the files that are like this one, or an empty one.
static uint32_t *bucket_of(const struct births *births, size_t index)
{
    const struct ft_trace_set *set = births->set;
    const struct ft_trace_file record = record_of(set, index);
    const struct ft_bytes mount = mount_of(set, index);
    const uint64_t numbers[] = {record.dev, record.inode, common_of(births, record),
                                set->readers[set->files[index].reader].host,
                                ft_intern_hash(births->key, mount.data, (uint32_t)mount.len)};

    for (size_t i = ft_intern_hash(births->key, numbers, sizeof(numbers));; i++) {
        uint32_t *bucket = &births->buckets[i & (births->bucket_count - 1)];

        if (*bucket == 0 || is_alike(births, *bucket - 1, index))
            return bucket;
    }
}

// Where several births come into question, the first one in the order of files and of their ids.
static void find_same(struct births *births)
{
    for (size_t i = 0; i < births->set->file_count; i++) {
        if (is_vague(births, record_of(births->set, i))) {
            uint32_t *bucket = bucket_of(births, i);

            births->next[i] = *bucket;
            *bucket = (uint32_t)i + 1;
        }
    }
    for (size_t i = 0; i < births->set->file_count; i++) {
        uint32_t vague = is_clear(births, record_of(births->set, i)) ? *bucket_of(births, i) : 0;

        for (; vague && births->same[vague - 1] == 0; vague = births->next[vague - 1])
            births->same[vague - 1] = (uint32_t)i + 1;
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

static int unite(struct ft_trace_set *set, enum clearness vague)
{
    struct births births = {
        .set = set, .vague = vague, .key = {~set->hosts.key[0], set->hosts.key[1]}, .bucket_count = 1};
    size_t vague_count = 0, clear_count = 0;
    int rc = -ENOMEM;

    for (size_t i = 0; i < set->file_count; i++) {
        const struct ft_trace_file record = record_of(set, i);

        vague_count += is_vague(&births, record);
        clear_count += is_clear(&births, record);
    }
    if (vague_count == 0 || clear_count == 0)
        return 0;
    while (births.bucket_count < 2 * (vague_count + 1))
        births.bucket_count *= 2;
    births.buckets = calloc(births.bucket_count, sizeof(*births.buckets));
    births.next = calloc(set->file_count, sizeof(*births.next));
    births.same = calloc(set->file_count, sizeof(*births.same));
    births.places = calloc(set->file_count, sizeof(*births.places));
    if (births.buckets && births.next && births.same && births.places) {
        find_same(&births);
        take_away(&births);
        rc = 0;
    }
    free(births.buckets);
    free(births.next);
    free(births.same);
    free(births.places);
    return rc;
}

int ft_set_unite_births(struct ft_trace_set *set)
{
    const int rc = unite(set, TIME);

    return rc == 0 ? unite(set, NOTHING) : rc;
}
