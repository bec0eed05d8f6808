// SPDX-License-Identifier: MIT
#include "proto/trace_set_impl.h"

void ft_trace_set_close(struct ft_trace_set *set)
{
    if (!set)
        return;
    for (size_t i = 0; i < set->reader_count; i++) {
        free(set->readers[i].processes);
        free(set->readers[i].threads);
        free(set->readers[i].files);
        ft_trace_reader_close(set->readers[i].reader);
    }
    for (size_t i = 0; i < set->unreadable_count; i++)
        free(set->unreadable[i].path);
    free(set->unreadable);
    for (size_t i = 0; i < set->left_out_count; i++) {
        free(set->left_out[i].path);
        free(set->left_out[i].copy_of);
    }
    free(set->left_out);
    free(set->readers);
    free(set->blocks);
    free(set->profiles);
    free(set->processes);
    free(set->files);
    ft_intern_fini(&set->hosts);
    ft_intern_fini(&set->process_keys);
    ft_intern_fini(&set->thread_keys);
    free(set);
}

size_t ft_trace_set_reader_count(const struct ft_trace_set *set)
{
    return set->reader_count;
}

const struct ft_trace_reader *ft_trace_set_reader(const struct ft_trace_set *set, size_t reader)
{
    return set->readers[reader].reader;
}

const struct ft_trace_set_block *ft_trace_set_blocks(const struct ft_trace_set *set, size_t *count)
{
    *count = set->block_count;
    return set->blocks;
}

const struct ft_trace_set_block *ft_trace_set_profiles(const struct ft_trace_set *set, size_t *count)
{
    *count = set->profile_count;
    return set->profiles;
}

uint64_t ft_trace_set_profiled(const struct ft_trace_set *set)
{
    return set->profiled;
}

uint64_t ft_trace_set_events(const struct ft_trace_set *set)
{
    return set->events;
}

uint64_t ft_trace_set_bytes(const struct ft_trace_set *set)
{
    return set->bytes;
}

bool ft_trace_set_is_partial(const struct ft_trace_set *set)
{
    return set->is_partial;
}

bool ft_trace_set_is_limited(const struct ft_trace_set *set)
{
    for (size_t i = 0; i < set->reader_count; i++)
        if (set->readers[i].reader->is_limited)
            return true;
    return false;
}

size_t ft_trace_set_memory(const struct ft_trace_set *set)
{
    size_t bytes = 0;

    for (size_t i = 0; i < set->reader_count; i++)
        bytes += ft_reader_memory(set->readers[i].reader);
    return bytes;
}

bool ft_trace_set_is_ended(const struct ft_trace_set *set, size_t reader)
{
    const struct ft_trace_reader *one = set->readers[reader].reader;

    return one->is_closed || one->is_explained;
}

size_t ft_trace_set_unclosed(const struct ft_trace_set *set)
{
    size_t count = 0;

    for (size_t r = 0; r < set->reader_count; r++)
        count += !ft_trace_set_is_ended(set, r);
    return count;
}

const struct ft_trace_set_unreadable *ft_trace_set_unreadable(const struct ft_trace_set *set, size_t *count)
{
    *count = set->unreadable_count;
    return set->unreadable;
}

const char *ft_trace_set_unreadable_text(int error)
{
    const char *text = error == -EBADMSG           ? NULL
                       : error == -EPROTONOSUPPORT ? "written by another major version of Flowtap"
                                                   : strerrordesc_np(-error);

    return text ? text : "not readable as a trace";
}

const struct ft_trace_set_left_out *ft_trace_set_left_out(const struct ft_trace_set *set, size_t *count)
{
    *count = set->left_out_count;
    return set->left_out;
}

size_t ft_trace_set_host_count(const struct ft_trace_set *set)
{
    return set->hosts.count;
}

struct ft_bytes ft_trace_set_host_name(const struct ft_trace_set *set, uint32_t host)
{
    uint32_t len;
    const uint8_t *key = ft_intern_get(&set->hosts, host + 1, &len);

    // The key is name, NUL, boot id.
    return (struct ft_bytes){.data = (const char *)key, .len = strnlen((const char *)key, len)};
}

uint32_t ft_trace_set_reader_host(const struct ft_trace_set *set, size_t reader)
{
    return set->readers[reader].host;
}

int64_t ft_trace_set_realtime_ns(const struct ft_trace_set *set, size_t reader, int64_t mono_ns)
{
    return mono_ns + ft_trace_reader_header(set->readers[reader].reader)->realtime_offset_ns;
}

bool ft_trace_set_span(const struct ft_trace_set *set, int64_t *start_ns, int64_t *end_ns)
{
    *start_ns = set->start_ns;
    *end_ns = set->end_ns;
    return set->has_span;
}

size_t ft_trace_set_process_count(const struct ft_trace_set *set)
{
    return set->process_keys.count;
}

const struct ft_trace_set_process *ft_trace_set_process(const struct ft_trace_set *set, uint32_t process)
{
    return &set->processes[process];
}

uint32_t ft_trace_set_process_of(const struct ft_trace_set *set, size_t reader, uint32_t process_id)
{
    const struct ft_set_reader *entry = &set->readers[reader];

    return process_id <= entry->process_max ? entry->processes[process_id] : FT_TRACE_SET_NONE;
}

uint32_t ft_trace_set_process_of_thread(const struct ft_trace_set *set, size_t reader, uint32_t thread_id)
{
    return ft_trace_set_process_of(set, reader, ft_trace_reader_thread_process(set->readers[reader].reader, thread_id));
}

size_t ft_trace_set_thread_count(const struct ft_trace_set *set)
{
    return set->thread_keys.count;
}

uint32_t ft_trace_set_thread(const struct ft_trace_set *set, size_t reader, uint32_t thread_id)
{
    const struct ft_set_reader *entry = &set->readers[reader];

    return thread_id <= entry->thread_max ? entry->threads[thread_id] : FT_TRACE_SET_NONE;
}

size_t ft_trace_set_file_count(const struct ft_trace_set *set)
{
    return set->file_count;
}

const struct ft_trace_set_file *ft_trace_set_file_get(const struct ft_trace_set *set, uint32_t file,
                                                      struct ft_trace_set_file *out)
{
    const struct ft_set_file *first = &set->files[file];
    const struct ft_set_reader *entry = &set->readers[first->reader];

    *out = (struct ft_trace_set_file){
        .host = entry->host,
        .reader = first->reader,
        .path = ft_trace_reader_file_path(entry->reader, first->id),
        .record = ft_trace_reader_file(entry->reader, first->id),
    };
    return out;
}

uint32_t ft_trace_set_file_of(const struct ft_trace_set *set, size_t reader, uint32_t file_id)
{
    const struct ft_set_reader *entry = &set->readers[reader];

    return file_id <= entry->file_max ? entry->files[file_id] : FT_TRACE_SET_NONE;
}
