// SPDX-License-Identifier: MIT
//
// Who is who over several files.
#include "proto/trace_set_impl.h"

// What makes two records one. Without padding; names are appended as bytes.
struct process_key {
    uint64_t segment; // where known, it says all
    int64_t start_ns;
    uint32_t host;
    uint32_t pid;
    uint32_t is_exec;
    uint32_t zero;
};

struct thread_key {
    uint32_t process; // of the set; NONE: unknown, then the thread is told by its file and id
    uint32_t reader;
    uint32_t ordinal;
    uint32_t tid;
};

// Which files of the set have which identity: device, inode, its birth and mount point, or where those are not known the path; of
// one host. There may be millions, so that nothing is kept of one but its hash.
struct file_table {
    uint64_t key[2];
    uint32_t *buckets; // index + 1, 0 empty; open addressing, at most half full
    size_t bucket_count;
    uint32_t *hashes; // by index
    size_t hash_cap;
};
#define FILE_BUCKETS_MIN 1024U

static uint32_t *make_map(uint32_t max)
{
    uint32_t *map = malloc(((size_t)max + 1) * sizeof(*map));

    if (map)
        memset(map, 0xff, ((size_t)max + 1) * sizeof(*map));
    return map;
}

static int make_maps(struct ft_set_reader *entry, bool with_files)
{
    entry->process_max = ft_trace_reader_process_max(entry->reader);
    entry->thread_max = ft_trace_reader_thread_max(entry->reader);
    entry->file_max = with_files ? ft_trace_reader_file_max(entry->reader) : 0;
    entry->processes = make_map(entry->process_max);
    entry->threads = make_map(entry->thread_max);
    entry->files = make_map(entry->file_max);
    return entry->processes && entry->threads && entry->files ? 0 : -ENOMEM;
}

static bool has_host(const struct ft_set_reader *entry)
{
    const struct ft_trace_header *header = ft_trace_reader_header(entry->reader);

    return header->host.len > 0 || header->boot_id.len > 0;
}

bool ft_set_is_empty(const struct ft_trace_reader *reader)
{
    size_t blocks, profiles;

    ft_trace_reader_blocks(reader, &blocks);
    ft_trace_reader_profiles(reader, &profiles);
    return blocks + profiles == 0 && ft_trace_reader_process_max(reader) == 0 &&
           ft_trace_reader_thread_max(reader) == 0 && ft_trace_reader_file_max(reader) == 0;
}

// Where it is not known, `reader` tells the host from all others: what is in the file may be of any, and its numbers of
// processes and files say nothing about those of another.
static int unite_host(struct ft_trace_set *set, uint32_t reader)
{
    struct ft_set_reader *entry = &set->readers[reader];
    const struct ft_trace_header *header = ft_trace_reader_header(entry->reader);
    struct ft_buffer key = {0};
    int64_t id = -ENOMEM;
    int rc = ft_buffer_append(&key, header->host.data, header->host.len);

    if (rc == 0)
        rc = ft_buffer_append(&key, "", 1);
    if (rc == 0)
        rc = ft_buffer_append(&key, header->boot_id.data, header->boot_id.len);
    if (rc == 0 && !has_host(entry))
        rc = ft_buffer_append(&key, &reader, sizeof(reader));
    if (rc == 0)
        id = ft_intern_add(&set->hosts, key.data, (uint32_t)key.len);
    ft_buffer_fini(&key);
    if (id < 0)
        return (int)id;
    entry->host = (uint32_t)id - 1;
    return 0;
}

static int unite_hosts(struct ft_trace_set *set)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < set->reader_count; i++) {
        if (has_host(&set->readers[i]) || !ft_set_is_empty(set->readers[i].reader))
            rc = unite_host(set, i);
    }
    // A file that says nothing is no further host, unless there is no other.
    for (uint32_t i = 0; rc == 0 && i < set->reader_count; i++) {
        struct ft_set_reader *entry = &set->readers[i];

        if (!has_host(entry) && ft_set_is_empty(entry->reader)) {
            entry->host = 0;
            rc = set->hosts.count > 0 ? 0 : unite_host(set, i);
        }
    }
    return rc;
}

static int unite_process(struct ft_trace_set *set, uint32_t reader, uint32_t id)
{
    struct ft_set_reader *entry = &set->readers[reader];
    const struct ft_trace_process *record = ft_trace_reader_process(entry->reader, id);
    struct process_key key = {.host = entry->host};
    int64_t index;

    if (!record)
        return 0;
    key.segment = record->segment;
    if (key.segment == 0) {
        key.start_ns = record->start_ns;
        key.pid = record->pid;
        key.is_exec = record->is_exec;
    }
    index = ft_intern_add(&set->process_keys, &key, sizeof(key)) - 1;
    if (index < 0)
        return -ENOMEM;
    if (ft_array_grow(&set->processes, &set->process_cap, (size_t)index, sizeof(*set->processes)))
        return -ENOMEM;
    // The last part's record holds; files are in order of parts.
    set->processes[index] = (struct ft_trace_set_process){
        .host = entry->host,
        .reader = reader,
        .parent = FT_TRACE_SET_NONE,
        .record = record,
    };
    entry->processes[id] = (uint32_t)index;
    return 0;
}

static int unite_processes(struct ft_trace_set *set, uint32_t reader)
{
    struct ft_set_reader *entry = &set->readers[reader];
    int rc = 0;

    for (uint32_t id = 1; rc == 0 && id <= entry->process_max; id++)
        rc = unite_process(set, reader, id);
    return rc;
}

// Cuts the link that closes a circle of parents: only a damaged file has one, and
// it would hold whoever goes up the tree.
static void cut_circles(struct ft_trace_set *set, uint32_t *seen_by)
{
    for (uint32_t i = 0; i < set->process_keys.count; i++) {
        uint32_t at = i;

        while (seen_by[at] == 0) {
            uint32_t parent = set->processes[at].parent;

            seen_by[at] = i + 1;
            if (parent == FT_TRACE_SET_NONE)
                break;
            if (seen_by[parent] == i + 1)
                set->processes[at].parent = FT_TRACE_SET_NONE;
            else
                at = parent;
        }
    }
}

static int find_parents(struct ft_trace_set *set)
{
    size_t count = set->process_keys.count;
    uint32_t *seen_by = calloc(count ? count : 1, sizeof(*seen_by));

    if (!seen_by)
        return -ENOMEM;
    // A later part has no record of a parent that had ended before it began.
    for (uint32_t reader = 0; reader < set->reader_count; reader++) {
        const struct ft_set_reader *entry = &set->readers[reader];

        for (uint32_t id = 1; id <= entry->process_max; id++) {
            const struct ft_trace_process *record = ft_trace_reader_process(entry->reader, id);
            uint32_t parent = record ? ft_trace_set_process_of(set, reader, record->parent) : FT_TRACE_SET_NONE;

            if (parent != FT_TRACE_SET_NONE)
                set->processes[entry->processes[id]].parent = parent;
        }
    }
    cut_circles(set, seen_by);
    free(seen_by);
    return 0;
}

static int unite_threads(struct ft_trace_set *set, uint32_t reader)
{
    struct ft_set_reader *entry = &set->readers[reader];

    for (uint32_t id = 1; id <= entry->thread_max; id++) {
        const struct ft_trace_thread *record = ft_trace_reader_thread(entry->reader, id);
        struct thread_key key = {0};
        int64_t index;

        if (!record)
            continue;
        key.process = ft_trace_set_process_of(set, reader, record->process);
        if (key.process == FT_TRACE_SET_NONE) {
            key.reader = reader;
            key.ordinal = id;
        } else {
            key.ordinal = record->ordinal;
            key.tid = record->tid;
        }
        index = ft_intern_add(&set->thread_keys, &key, sizeof(key)) - 1;
        if (index < 0)
            return -ENOMEM;
        entry->threads[id] = (uint32_t)index;
    }
    return 0;
}

static bool is_identified(struct ft_trace_file record)
{
    return record.dev && record.inode;
}

static struct ft_bytes name_of_identity(const struct ft_trace_reader *reader, struct ft_trace_file record)
{
    return ft_trace_reader_name(reader, is_identified(record) ? record.mount : record.path);
}

// Of all that is_same_file compares: files that differ in one thing alone, as one inode below many mounts or one path on
// many hosts, would else be one chain of the table that each of them is looked for in.
static uint32_t hash_of_file(const struct file_table *table, const struct ft_set_reader *entry,
                             struct ft_trace_file record)
{
    const struct ft_bytes name = name_of_identity(entry->reader, record);
    const uint64_t numbers[] = {is_identified(record) ? record.dev : 0, is_identified(record) ? record.inode : 0,
                                is_identified(record) ? record.birth : 0, entry->host,
                                ft_intern_hash(table->key, name.data, (uint32_t)name.len)};

    return ft_intern_hash(table->key, numbers, sizeof(numbers));
}

static bool is_same_file(const struct ft_trace_set *set, uint32_t index, const struct ft_set_reader *entry,
                         struct ft_trace_file record)
{
    const struct ft_set_reader *other = &set->readers[set->files[index].reader];
    const struct ft_trace_file known = ft_trace_reader_file(other->reader, set->files[index].id);
    struct ft_bytes a, b;

    if (other->host != entry->host || is_identified(known) != is_identified(record))
        return false;
    if (is_identified(known) && (known.dev != record.dev || known.inode != record.inode || known.birth != record.birth))
        return false;
    a = name_of_identity(other->reader, known);
    b = name_of_identity(entry->reader, record);
    return a.len == b.len && (a.len == 0 || a.data == b.data || memcmp(a.data, b.data, a.len) == 0);
}

static int double_file_buckets(struct file_table *table, size_t file_count)
{
    size_t count = table->bucket_count ? table->bucket_count * 2 : FILE_BUCKETS_MIN;
    uint32_t *buckets = calloc(count, sizeof(*buckets));

    if (!buckets)
        return -ENOMEM;
    for (size_t index = 0; index < file_count; index++) {
        size_t i = table->hashes[index];

        while (buckets[i & (count - 1)])
            i++;
        buckets[i & (count - 1)] = (uint32_t)index + 1;
    }
    free(table->buckets);
    table->buckets = buckets;
    table->bucket_count = count;
    return 0;
}

static int unite_file(struct ft_trace_set *set, struct file_table *table, uint32_t reader, uint32_t id,
                      struct ft_trace_file record)
{
    struct ft_set_reader *entry = &set->readers[reader];
    uint32_t hash = hash_of_file(table, entry, record), bucket;
    size_t i = hash, index = set->file_count;

    if (2 * (index + 1) > table->bucket_count && double_file_buckets(table, index))
        return -ENOMEM;
    for (; (bucket = table->buckets[i & (table->bucket_count - 1)]); i++) {
        if (table->hashes[bucket - 1] == hash && is_same_file(set, bucket - 1, entry, record)) {
            entry->files[id] = bucket - 1;
            return 0;
        }
        set->file_probes++;
    }
    if (index >= FT_INTERN_IDS_MAX || ft_array_grow(&set->files, &set->file_cap, index, sizeof(*set->files)) ||
        ft_array_grow(&table->hashes, &table->hash_cap, index, sizeof(*table->hashes)))
        return -ENOMEM;
    set->files[index] = (struct ft_set_file){.reader = reader, .id = id};
    table->hashes[index] = hash;
    table->buckets[i & (table->bucket_count - 1)] = (uint32_t)index + 1;
    entry->files[id] = (uint32_t)index;
    set->file_count++;
    return 0;
}

static int unite_files(struct ft_trace_set *set)
{
    // A key that the files do not know.
    struct file_table table = {.key = {set->hosts.key[0], ~set->hosts.key[1]}};
    int rc = 0;

    for (uint32_t reader = 0; rc == 0 && reader < set->reader_count; reader++) {
        const struct ft_set_reader *entry = &set->readers[reader];

        for (uint32_t id = 1; rc == 0 && id <= entry->file_max; id++) {
            const struct ft_trace_file record = ft_trace_reader_file(entry->reader, id);

            rc = record.is_known ? unite_file(set, &table, reader, id, record) : 0;
        }
    }
    free(table.buckets);
    free(table.hashes);
    return rc == 0 ? ft_set_unite_births(set) : rc;
}

int ft_set_unite(struct ft_trace_set *set, bool with_files)
{
    int rc = unite_hosts(set);

    for (uint32_t i = 0; rc == 0 && i < set->reader_count; i++) {
        rc = make_maps(&set->readers[i], with_files);
        if (rc == 0)
            rc = unite_processes(set, i);
    }
    if (rc == 0)
        rc = find_parents(set);
    for (uint32_t i = 0; rc == 0 && i < set->reader_count; i++)
        rc = unite_threads(set, i);
    return rc == 0 && with_files ? unite_files(set) : rc;
}

int ft_set_unite_files(struct ft_trace_set *set)
{
    for (uint32_t i = 0; i < set->reader_count; i++) {
        struct ft_set_reader *entry = &set->readers[i];

        free(entry->files);
        entry->file_max = ft_trace_reader_file_max(entry->reader);
        entry->files = make_map(entry->file_max);
        if (!entry->files)
            return -ENOMEM;
    }
    return unite_files(set);
}
