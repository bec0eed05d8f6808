// SPDX-License-Identifier: MIT
#include "client/cli/files.h"

#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"
#include "client/cli/map.h"
#include "client/cli/progress.h"

static void scan(struct ft_scan *out, const struct ft_trace_set *set, const struct ft_where *where)
{
    struct ft_progress progress;
    struct ft_scan whole;
    ft_progress_begin(&progress, "reading events", ft_trace_set_events(set) * (where ? 2 : 1));
    ft_scan_read(where ? &whole : out, set, FT_SCAN_FILES, &progress);
    if (where) {
        ft_scan_read_where(out, set, FT_SCAN_FILES, where, &whole, &progress);
        ft_scan_fini(&whole);
    }
    ft_progress_end(&progress);
}

static void list_files(struct ft_files *files)
{
    files->rows = ft_cli_alloc(files->scan.file_count * sizeof(*files->rows));
    for (uint32_t f = 0; f < files->scan.file_count; f++) {
        if (ft_file_sums_has_events(&files->scan.files, f)) {
            files->rows[files->count++] =
                (struct ft_files_row){.name = ft_entry_path(&files->scan.entries, &files->scan.entries.items[f]),
                                      .entry = f,
                                      .files = 1,
                                      .sum = ft_file_sums_get(&files->scan.files, f)};
        }
    }
}

/* Up to the last slash; "/" for what lies in the root, "" for a name without slash. */
static struct ft_bytes folder_of(struct ft_bytes path)
{
    const char *slash = path.len ? memrchr(path.data, '/', path.len) : NULL;
    size_t len = slash ? (size_t)(slash - path.data) : 0;
    return (struct ft_bytes){.data = path.data, .len = slash && len == 0 ? 1 : len};
}

/* From the last dot of the name on, where it does not begin with that dot. */
static struct ft_bytes suffix_of(struct ft_bytes path)
{
    const char *slash = path.len ? memrchr(path.data, '/', path.len) : NULL;
    size_t from = slash ? (size_t)(slash - path.data) + 1 : 0;
    const char *dot = path.len > from + 1 ? memrchr(path.data + from + 1, '.', path.len - from - 1) : NULL;
    return dot ? (struct ft_bytes){.data = dot, .len = (size_t)(path.data + path.len - dot)} : FT_BYTES("");
}

static struct ft_bytes group_of(const struct ft_files *files, const struct ft_entry *file)
{
    const struct ft_trace_reader *reader = ft_trace_set_reader(files->set, file->reader);
    struct ft_bytes path = ft_entry_path(&files->scan.entries, file);
    const struct ft_trace_file record = ft_entry_record(&files->scan.entries, file);
    switch (files->by[0]) {
    case 'f':
        if (files->by[1] == 's') {
            return ft_trace_reader_name(reader, record.fstype);
        }
        return folder_of(path);
    case 's':
        return suffix_of(path);
    case 'm':
        return ft_trace_reader_name(reader, record.mount);
    case 'h':
        return ft_trace_set_host_name(files->set, ft_trace_set_reader_host(files->set, file->reader));
    default:
        return FT_BYTES(ft_file_kind_name(record.kind));
    }
}

/* Rows become groups, in place: a group stands no later than its first file. */
static void group(struct ft_files *files)
{
    struct ft_map groups;
    uint32_t count = 0;
    ft_map_init(&groups);
    for (size_t i = 0; i < files->count; i++) {
        struct ft_files_row row = files->rows[i];
        bool is_new;
        row.name = group_of(files, &files->scan.entries.items[row.entry]);
        uint32_t at = ft_map_intern(&groups, row.name.len ? row.name.data : "", row.name.len, count, &is_new);
        if (is_new) {
            files->rows[count++] = row;
        } else {
            files->rows[at].files++;
            ft_file_sum_add(&files->rows[at].sum, &row.sum);
        }
    }
    files->count = count;
    ft_map_fini(&groups);
}

void ft_files_read(struct ft_files *files, const struct ft_trace_set *set, const struct ft_where *where, const char *by)
{
    memset(files, 0, sizeof(*files));
    files->set = set;
    files->by = by;
    scan(&files->scan, set, where);
    list_files(files);
    if (by) {
        group(files);
    }
}

void ft_files_fini(struct ft_files *files)
{
    free(files->rows);
    ft_scan_fini(&files->scan);
}
