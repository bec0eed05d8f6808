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

struct file_key {
    uint64_t dev;
    uint64_t inode;
    uint32_t host;
    uint32_t zero;
};

static uint32_t *make_map(uint32_t max)
{
    uint32_t *map = malloc(((size_t)max + 1) * sizeof(*map));

    if (map)
        memset(map, 0xff, ((size_t)max + 1) * sizeof(*map));
    return map;
}

static int make_maps(struct ft_set_reader *entry)
{
    entry->process_max = ft_trace_reader_process_max(entry->reader);
    entry->thread_max = ft_trace_reader_thread_max(entry->reader);
    entry->file_max = ft_trace_reader_file_max(entry->reader);
    entry->processes = make_map(entry->process_max);
    entry->threads = make_map(entry->thread_max);
    entry->files = make_map(entry->file_max);
    return entry->processes && entry->threads && entry->files ? 0 : -ENOMEM;
}

static int unite_host(struct ft_trace_set *set, struct ft_set_reader *entry)
{
    const struct ft_trace_header *header = ft_trace_reader_header(entry->reader);
    struct ft_buffer key = {0};
    int64_t id = -ENOMEM;

    if (ft_buffer_append(&key, header->host.data, header->host.len) == 0 && ft_buffer_append(&key, "", 1) == 0 &&
        ft_buffer_append(&key, header->boot_id.data, header->boot_id.len) == 0)
        id = ft_intern_add(&set->hosts, key.data, (uint32_t)key.len);
    ft_buffer_fini(&key);
    if (id < 0)
        return (int)id;
    entry->host = (uint32_t)id - 1;
    return 0;
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

static int64_t file_identity(struct ft_trace_set *set, const struct ft_set_reader *entry,
                             const struct ft_trace_file *record, struct ft_bytes path)
{
    struct file_key key = {.host = entry->host};
    struct ft_buffer bytes = {0};
    struct ft_bytes name = path;
    int64_t id = -ENOMEM;

    if (record->dev && record->inode) {
        key.dev = record->dev;
        key.inode = record->inode;
        name = ft_trace_reader_name(entry->reader, record->mount);
    }
    if (ft_buffer_append(&bytes, &key, sizeof(key)) == 0 && ft_buffer_append(&bytes, name.data, name.len) == 0)
        id = ft_intern_add(&set->file_keys, bytes.data, (uint32_t)bytes.len);
    ft_buffer_fini(&bytes);
    return id;
}

static int unite_files(struct ft_trace_set *set, uint32_t reader)
{
    struct ft_set_reader *entry = &set->readers[reader];

    for (uint32_t id = 1; id <= entry->file_max; id++) {
        const struct ft_trace_file *record = ft_trace_reader_file(entry->reader, id);
        size_t before = set->file_keys.count;
        struct ft_bytes path;
        int64_t index;

        if (!record)
            continue;
        path = ft_trace_reader_name(entry->reader, record->path);
        index = file_identity(set, entry, record, path) - 1;
        if (index < 0 || ft_array_grow(&set->files, &set->file_cap, (size_t)index, sizeof(*set->files)))
            return -ENOMEM;
        if ((size_t)index == before)
            set->files[index] = (struct ft_set_file){.reader = reader, .id = id};
        entry->files[id] = (uint32_t)index;
    }
    return 0;
}

int ft_set_unite(struct ft_trace_set *set, bool with_files)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < set->reader_count; i++) {
        rc = make_maps(&set->readers[i]);
        if (rc == 0)
            rc = unite_host(set, &set->readers[i]);
        if (rc == 0)
            rc = unite_processes(set, i);
    }
    if (rc == 0)
        rc = find_parents(set);
    for (uint32_t i = 0; rc == 0 && i < set->reader_count; i++) {
        rc = unite_threads(set, i);
        if (rc == 0 && with_files)
            rc = unite_files(set, i);
    }
    set->file_count = set->file_keys.count;
    ft_intern_fini(&set->file_keys);
    return rc;
}
