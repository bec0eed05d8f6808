// SPDX-License-Identifier: MIT
/*
 * Where the files of rows stand: a pass of its own, since it is a matter of looking up much that is far away, and whether a
 * file was there already is nothing that can be guessed.
 */
#include <stddef.h>
#include <string.h>

#include "client/cli/analysis_scan_part.h"

enum { AHEAD = 64, NEAR = 16 };

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

/* What an item says of itself: which file it is of, and in which run that was touched last. */
static inline uint64_t tag_of(const struct ft_scan_file *item)
{
    uint64_t tag;
    memcpy(&tag, item, sizeof(tag));
    return tag;
}

static inline uint64_t tag_for(uint32_t id, uint32_t run)
{
    struct ft_scan_file item = {.id = id, .run = run};
    return tag_of(&item);
}

_Static_assert(offsetof(struct ft_scan_file, id) == 0 && offsetof(struct ft_scan_file, run) == sizeof(uint32_t), "tag");

/* Rows whose ids have records. Fetches what rows further on will need, where it may: they are of the block, too. */
static inline __attribute__((always_inline)) void find_known(struct ft_scan_part *part, const struct ft_rows *rows,
                                                             size_t first, size_t count, uint32_t *file_at,
                                                             bool may_fetch)
{
    const struct ft_scan_file *items = part->files.items;
    const struct ft_entry_ref *refs = part->files.refs;
    const uint32_t *of_row = rows->file + first, *places = part->files.places;
    uint32_t run = part->run;
    for (size_t i = 0; i < count; i++) {
        if (may_fetch) {
            __builtin_prefetch(&places[of_row[i + AHEAD]]);
            __builtin_prefetch(&refs[of_row[i + AHEAD]]);
            __builtin_prefetch(&items[places[of_row[i + NEAR]]]);
        }
        uint32_t id = of_row[i], at = places[id];
        if (__builtin_expect(tag_of(&items[at]) != tag_for(id, run), false)) {
            at = find_new(part, rows, first + i);
            items = part->files.items;
        }
        file_at[i] = at;
    }
}
void ft_scan_find_files(struct ft_scan_part *part, const struct ft_rows *rows, size_t first, size_t count)
{
    size_t left = rows->count - first, fetching = left > AHEAD ? left - AHEAD : 0;
    if (part->files.are_variants) {
        find_variants(part, rows, first, count);
        return;
    }
    for (size_t i = 0; i < count && !part->are_known; i++) {
        part->file_at[i] = find_new(part, rows, first + i);
    }
    if (part->are_known) {
        fetching = fetching < count ? fetching : count;
        find_known(part, rows, first, fetching, part->file_at, true);
        find_known(part, rows, first + fetching, count - fetching, part->file_at + fetching, false);
    }
}

bool ft_scan_are_known(const struct ft_scan_files *files, const struct ft_rows *rows)
{
    const uint32_t *of_row = rows->file, most = files->file_max;
    uint32_t unknown = 0; /* as wide as an id, so that several are looked at at once */
    for (size_t i = 0; i < rows->count; i++) {
        unknown |= (uint32_t)(of_row[i] > most);
    }
    return !unknown;
}
