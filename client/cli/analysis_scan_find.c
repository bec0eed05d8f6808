// SPDX-License-Identifier: MIT
/*
 * Where the files of rows stand: a pass of its own, since it is a matter of looking up much that is far away, and whether a
 * file was there already is nothing that can be guessed.
 */
#include "client/cli/analysis_scan_part.h"
#include "client/cli/cli.h"

enum { AHEAD = 64, NEAR = 16 };

void ft_scan_keep_touched(struct ft_scan_part *part, const struct ft_scan_file *file)
{
    if (file->entry == FT_ENTRY_NONE) {
        return;
    }
    if (part->run_file_count == part->run_file_space) {
        part->run_file_space = part->run_file_space ? part->run_file_space * 2 : 256;
        part->run_files = ft_cli_realloc(part->run_files, part->run_file_space, sizeof(*part->run_files));
    }
    part->run_files[part->run_file_count++] = file->entry;
}

/* The first time in this run, which is in order of start. */
static void touch(struct ft_scan_part *part, struct ft_scan_file *file, int64_t start_ns)
{
    file->first_ns = start_ns < file->first_ns ? start_ns : file->first_ns;
    file->run = part->run;
    if (file->second_run != part->run) {
        ft_scan_keep_touched(part, file);
    }
}

/* A file that this run had not touched. What is no call touches none. */
static __attribute__((noinline)) uint32_t find_new(struct ft_scan_part *part, const struct ft_rows *rows, size_t i)
{
    uint32_t at = ft_scan_files_at(&part->files, rows->file[i]);
    struct ft_scan_file *file = &part->files.items[at];
    if (rows->kind[i] == FT_EVENT_CALL && file->run != part->run) {
        touch(part, file, rows->start_ns[i]);
    }
    return at;
}

static void find_variants(struct ft_scan_part *part, const struct ft_rows *rows, size_t first, size_t count)
{
    const struct ft_scan_files *files = &part->files;
    size_t most = rows->count - first - 1;
    for (size_t i = 0; i < count; i++) {
        uint32_t next = rows->file[first + (i + AHEAD < most ? i + AHEAD : most)];
        __builtin_prefetch(&files->refs[next <= files->file_max ? next : 0]);
        part->file_at[i] = ft_scan_files_variant(files, rows->file[first + i]);
    }
}

void ft_scan_find_files(struct ft_scan_part *part, const struct ft_rows *rows, size_t first, size_t count)
{
    const struct ft_scan_files *files = &part->files;
    const struct ft_scan_file *items = files->items;
    const struct ft_entry_ref *refs = files->refs;
    const uint32_t *of_row = rows->file + first, *places = files->places;
    uint32_t unknown = files->file_max + 1, run = part->run;
    size_t left = rows->count - first;
    if (files->are_variants) {
        find_variants(part, rows, first, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < left) {
            uint32_t next = of_row[i + AHEAD] < unknown ? of_row[i + AHEAD] : unknown;
            uint32_t soon = of_row[i + NEAR] < unknown ? of_row[i + NEAR] : unknown;
            __builtin_prefetch(&places[next]);
            __builtin_prefetch(&refs[next]);
            __builtin_prefetch(&items[places[soon]]);
        }
        uint32_t id = of_row[i] < unknown ? of_row[i] : unknown, at = places[id];
        if (__builtin_expect((items[at].id == id) & (items[at].run == run), true)) {
            part->file_at[i] = at;
        } else {
            part->file_at[i] = find_new(part, rows, first + i);
            items = files->items;
        }
    }
}
