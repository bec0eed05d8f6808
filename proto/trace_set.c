// SPDX-License-Identifier: MIT
#include "proto/trace_set_impl.h"

#include "proto/trace_walk.h"

static int compare_bytes(struct ft_bytes a, struct ft_bytes b)
{
    size_t min = a.len < b.len ? a.len : b.len;
    int order = min ? memcmp(a.data, b.data, min) : 0;

    return order ? order : (a.len > b.len) - (a.len < b.len);
}

// By host, boot, part, path; copies stand together.
static int compare_readers(const void *a, const void *b)
{
    const struct ft_trace_reader *x = ((const struct ft_set_reader *)a)->reader;
    const struct ft_trace_reader *y = ((const struct ft_set_reader *)b)->reader;
    const struct ft_trace_header *hx = ft_trace_reader_header(x), *hy = ft_trace_reader_header(y);
    int order = compare_bytes(hx->host, hy->host);

    if (order == 0)
        order = compare_bytes(hx->boot_id, hy->boot_id);
    if (order == 0)
        order = (hx->part > hy->part) - (hx->part < hy->part);
    if (order == 0)
        order = (hx->created_ns > hy->created_ns) - (hx->created_ns < hy->created_ns);
    if (order == 0)
        order = (hx->uid > hy->uid) - (hx->uid < hy->uid);
    if (order == 0)
        order = compare_bytes(hx->job.id, hy->job.id);
    return order ? order : strcmp(ft_trace_reader_path(x), ft_trace_reader_path(y));
}

// Progress of one file as progress of the set.
struct progress {
    const struct ft_trace_reader_options *options;
    uint64_t done, total;
};

static void add_progress(void *context, uint64_t done, uint64_t total)
{
    const struct progress *progress = context;

    (void)total;
    progress->options->progress(progress->options->progress_context, progress->done + done, progress->total);
}

static int note_unreadable(struct ft_trace_set *set, const char *path, int error)
{
    char *copy = strdup(path);

    if (!copy ||
        ft_array_grow(&set->unreadable, &set->unreadable_cap, set->unreadable_count, sizeof(*set->unreadable))) {
        free(copy);
        return -ENOMEM;
    }
    set->unreadable[set->unreadable_count++] = (struct ft_trace_set_unreadable){.path = copy, .error = error};
    set->is_partial = true;
    return 0;
}

static void set_error(struct ft_trace_set_error *error, const char *path, int rc)
{
    if (error)
        *error = (struct ft_trace_set_error){.path = path ? strdup(path) : NULL, .error = rc};
}

static uint64_t bytes_of(const struct ft_walk *walk)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < walk->count; i++)
        bytes += (uint64_t)walk->files[i].size;
    return bytes;
}

// Opens all that was found; those that are no trace and were not named are noted.
static int open_readers(struct ft_trace_set *set, const struct ft_walk *walk,
                        const struct ft_trace_reader_options *options, struct ft_trace_set_error *error)
{
    struct ft_trace_reader_options each = options ? *options : (struct ft_trace_reader_options){0};
    size_t memory = each.memory_max ? each.memory_max : FT_TRACE_MEMORY_DEFAULT;
    struct progress progress = {.options = options, .total = each.progress ? bytes_of(walk) : 0};

    set->memory_max = memory;
    set->readers = calloc(walk->count ? walk->count : 1, sizeof(*set->readers));
    if (!set->readers)
        return -ENOMEM;
    if (each.progress) {
        each.progress = add_progress;
        each.progress_context = &progress;
    }
    for (size_t i = 0; i < walk->count; i++) {
        struct ft_trace_reader *reader;
        size_t used;
        int rc;

        // Where nothing is left each file says so for itself.
        each.memory_max = memory ? memory : 1;
        rc = ft_trace_reader_open(walk->files[i].path, &each, &reader);
        if (rc && (walk->files[i].is_named || rc == -ENOMEM)) {
            set_error(error, walk->files[i].path, rc);
            return rc;
        }
        if (rc && note_unreadable(set, walk->files[i].path, rc))
            return -ENOMEM;
        if (rc)
            continue;
        set->readers[set->reader_count++].reader = reader;
        used = ft_reader_memory(reader);
        memory = used < memory ? memory - used : 0;
        progress.done += ft_trace_reader_size(reader);
    }
    return 0;
}

static int compare_blocks(const void *a, const void *b, void *context)
{
    const struct ft_trace_set *set = context;
    const struct ft_trace_set_block *x = a, *y = b;
    uint32_t rows_x = set->readers[x->reader].reader->blocks.items[x->block].rows;
    uint32_t rows_y = set->readers[y->reader].reader->blocks.items[y->block].rows;

    if (rows_x != rows_y)
        return rows_x > rows_y ? -1 : 1;
    if (x->reader != y->reader)
        return x->reader < y->reader ? -1 : 1;
    return (x->block > y->block) - (x->block < y->block);
}

static int list_blocks(struct ft_trace_set *set)
{
    size_t count = 0, profile_count = 0;

    for (size_t i = 0; i < set->reader_count; i++) {
        count += set->readers[i].reader->blocks.count;
        profile_count += set->readers[i].reader->profiles.count;
    }
    set->blocks = malloc((count ? count : 1) * sizeof(*set->blocks));
    set->profiles = malloc((profile_count ? profile_count : 1) * sizeof(*set->profiles));
    if (!set->blocks || !set->profiles)
        return -ENOMEM;
    for (uint32_t i = 0; i < set->reader_count; i++)
        for (uint32_t block = 0; block < set->readers[i].reader->profiles.count; block++)
            set->profiles[set->profile_count++] = (struct ft_trace_set_block){.reader = i, .block = block};
    for (uint32_t i = 0; i < set->reader_count; i++)
        for (uint32_t block = 0; block < set->readers[i].reader->blocks.count; block++)
            set->blocks[set->block_count++] = (struct ft_trace_set_block){.reader = i, .block = block};
    qsort_r(set->blocks, count, sizeof(*set->blocks), compare_blocks, set);
    return 0;
}

static void add_to_span(struct ft_trace_set *set, size_t reader, int64_t mono_ns)
{
    int64_t ns = ft_trace_set_realtime_ns(set, reader, mono_ns);

    if (!set->has_span || ns < set->start_ns)
        set->start_ns = ns;
    if (!set->has_span || ns > set->end_ns)
        set->end_ns = ns;
    set->has_span = true;
}

static void add_totals(struct ft_trace_set *set)
{
    for (size_t i = 0; i < set->reader_count; i++) {
        const struct ft_trace_reader *reader = set->readers[i].reader;

        set->events += ft_trace_reader_events(reader);
        set->profiled += ft_trace_reader_profiled(reader);
        set->bytes += ft_trace_reader_size(reader);
        set->is_partial |= ft_trace_reader_is_partial(reader);
        for (size_t block = 0; block < reader->blocks.count; block++) {
            add_to_span(set, i, reader->blocks.items[block].start_ns);
            add_to_span(set, i, reader->blocks.items[block].end_ns);
        }
        for (size_t block = 0; block < reader->profiles.count; block++) {
            add_to_span(set, i, reader->profiles.items[block].start_ns);
            add_to_span(set, i, reader->profiles.items[block].end_ns);
        }
    }
    for (size_t i = 0; i < set->process_keys.count; i++) {
        const struct ft_trace_set_process *process = &set->processes[i];

        if (process->record->start_ns)
            add_to_span(set, process->reader, process->record->start_ns);
        if (process->record->end_ns)
            add_to_span(set, process->reader, process->record->end_ns);
    }
}

static bool is_part(const struct ft_trace_header *header, const struct ft_trace_header *of, uint32_t part)
{
    return header->part == part && header->uid == of->uid && compare_bytes(header->host, of->host) == 0 &&
           compare_bytes(header->boot_id, of->boot_id) == 0 && compare_bytes(header->job.id, of->job.id) == 0;
}

void ft_trace_set_explain(const struct ft_trace_set *set, size_t index, struct ft_trace_reader *reader)
{
    const struct ft_trace_header *header = &reader->header;

    for (size_t i = 0; i < set->reader_count; i++) {
        const struct ft_trace_reader *later = set->readers[i].reader;

        for (size_t k = 0; k < later->taken_over.count && i != index; k++)
            if (is_part(header, &later->header, later->taken_over.items[k].part))
                ft_trace_reader_explain(reader, later->taken_over.items[k].bytes);
    }
}

static void explain_torn(struct ft_trace_set *set)
{
    for (size_t i = 0; i < set->reader_count; i++)
        ft_trace_set_explain(set, i, set->readers[i].reader);
}

// One that the system does not let us read says more than one that is no trace.
static const struct ft_trace_set_unreadable *worst_unreadable(const struct ft_trace_set *set)
{
    for (size_t i = 0; i < set->unreadable_count; i++)
        if (set->unreadable[i].error != -EBADMSG)
            return &set->unreadable[i];
    return &set->unreadable[0];
}

static int open_found(struct ft_trace_set *set, const struct ft_walk *walk,
                      const struct ft_trace_reader_options *options, struct ft_trace_set_error *error)
{
    int rc = open_readers(set, walk, options, error);

    if (rc)
        return rc;
    if (set->reader_count == 0 && set->unreadable_count > 0) {
        const struct ft_trace_set_unreadable *worst = worst_unreadable(set);

        set_error(error, worst->path, worst->error);
        return worst->error;
    }
    qsort(set->readers, set->reader_count, sizeof(*set->readers), compare_readers);
    rc = ft_set_leave_out(set);
    if (rc)
        return rc;
    explain_torn(set);
    if (ft_intern_init(&set->hosts) || ft_intern_init(&set->process_keys) || ft_intern_init(&set->thread_keys))
        return -ENOMEM;
    rc = ft_set_unite(set, !options || !options->skip_set_files);
    if (rc == 0)
        rc = list_blocks(set);
    if (rc == 0)
        add_totals(set);
    return rc;
}

int ft_trace_set_open(const char *const *paths, size_t path_count, const struct ft_trace_reader_options *options,
                      struct ft_trace_set **out, struct ft_trace_set_error *error)
{
    struct ft_trace_set *set = calloc(1, sizeof(*set));
    struct ft_walk walk = {0};
    int rc = set ? 0 : -ENOMEM;

    set_error(error, NULL, 0);
    for (size_t i = 0; rc == 0 && i < path_count; i++) {
        rc = ft_walk_add(&walk, paths[i]);
        if (rc)
            set_error(error, paths[i], rc);
    }
    if (rc == 0)
        rc = open_found(set, &walk, options, error);
    ft_walk_fini(&walk);
    if (rc) {
        if (error)
            error->error = rc;
        ft_trace_set_close(set);
        return rc;
    }
    *out = set;
    return 0;
}

int ft_trace_set_read_rest(struct ft_trace_set *set)
{
    size_t used = ft_trace_set_memory(set);

    for (size_t i = 0; i < set->reader_count; i++) {
        struct ft_trace_reader *reader = set->readers[i].reader;
        size_t own = ft_reader_memory(reader);
        int rc;

        reader->arena.bytes_max = reader->arena.bytes + (used < set->memory_max ? set->memory_max - used : 0);
        rc = ft_reader_read_rest(reader);
        if (rc)
            return rc;
        used += ft_reader_memory(reader) - own;
        set->is_partial |= ft_trace_reader_is_partial(reader);
    }
    return ft_set_unite_files(set);
}
