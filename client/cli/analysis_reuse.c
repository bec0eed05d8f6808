// SPDX-License-Identifier: MIT
#include "client/cli/analysis_reuse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"

/* So many paths before it are looked at: a number that is used again and again has thousands. */
enum { LOOK_BACK = 64 };

enum ft_reuse_kind ft_reuse_kind_of(const char *call)
{
    static const struct {
        const char *prefix;
        enum ft_reuse_kind kind;
    } kinds[] = {{"unlink", FT_REUSE_UNLINK},      {"remove", FT_REUSE_UNLINK}, {"rmdir", FT_REUSE_UNLINK},
                 {"renameat2", FT_REUSE_BY_FLAGS}, {"rename", FT_REUSE_RENAME}, {"link", FT_REUSE_LINK}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strncmp(call, kinds[i].prefix, strlen(kinds[i].prefix)) == 0 && !strstr(call, "xattr")) {
            return kinds[i].kind;
        }
    }
    return FT_REUSE_NONE;
}

enum ft_reuse_kind ft_reuse_kind_of_flags(bool is_known, uint64_t flags)
{
    if (!is_known || flags & RENAME_EXCHANGE) {
        return FT_REUSE_EXCHANGE;
    }
    return flags & RENAME_NOREPLACE ? FT_REUSE_LINK : FT_REUSE_RENAME;
}

void ft_reuse_marks_add(struct ft_reuse_marks *marks, struct ft_reuse_mark mark)
{
    if (marks->count == marks->space) {
        marks->space = marks->space ? marks->space * 2 : 64;
        marks->items = ft_cli_realloc(marks->items, marks->space, sizeof(*marks->items));
    }
    marks->items[marks->count++] = mark;
}

void ft_reuse_marks_append(struct ft_reuse_marks *marks, const struct ft_reuse_marks *more)
{
    for (size_t i = 0; i < more->count; i++) {
        ft_reuse_marks_add(marks, more->items[i]);
    }
}

static int compare(const void *a_untyped, const void *b_untyped)
{
    const struct ft_reuse_mark *a = a_untyped, *b = b_untyped;
    if (a->path_id != b->path_id) {
        return a->path_id < b->path_id ? -1 : 1;
    }
    return a->ts_ns < b->ts_ns ? -1 : a->ts_ns > b->ts_ns;
}

void ft_reuse_marks_sort(struct ft_reuse_marks *marks)
{
    if (marks->count > 1) {
        qsort(marks->items, marks->count, sizeof(*marks->items), compare);
    }
}

void ft_reuse_marks_fini(struct ft_reuse_marks *marks)
{
    free(marks->items);
    memset(marks, 0, sizeof(*marks));
}

/* Whether there is such a mark of the path in (after, until]. */
static bool has_mark(const struct ft_reuse_marks *marks, uint32_t path_id, bool is_removed, int64_t after,
                     int64_t until)
{
    struct ft_reuse_mark key = {.path_id = path_id, .ts_ns = after};
    size_t low = 0, high = marks->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&marks->items[middle], &key) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < marks->count && marks->items[low].path_id == path_id && marks->items[low].ts_ns <= until; low++) {
        if (marks->items[low].is_removed == is_removed) {
            return true;
        }
    }
    return false;
}

/* What the kernel says of an open file that has no name any more. */
static bool is_deleted_name(struct ft_bytes path, struct ft_bytes of)
{
    static const char suffix[] = " (deleted)";
    return path.len == of.len + sizeof(suffix) - 1 && memcmp(path.data, of.data, of.len) == 0 &&
           memcmp(path.data + of.len, suffix, sizeof(suffix) - 1) == 0;
}

/* Until when a removal may have made the number free for a file of this birth: the clock that births are told by has
 * steps, and events are told by another. */
static int64_t last_removal_ns(const struct ft_reuse_path *earlier, const struct ft_reuse_path *later)
{
    enum { STEP_NS = 100000000 };
    if (later->birth == 0 || earlier->first_ns > INT64_MAX - STEP_NS || earlier->first_ns < 0) {
        return later->first_ns;
    }
    uint64_t soon = (uint64_t)earlier->first_ns + STEP_NS, age = (soon - later->birth) & FT_BIRTH_TIME_MAX;
    int64_t latest = age <= soon ? (int64_t)(soon - age) : 0;
    latest = latest < INT64_MAX - STEP_NS ? latest + STEP_NS : latest;
    return latest < later->first_ns ? latest : later->first_ns;
}

static bool is_one_file(const struct ft_reuse_path *earlier, const struct ft_reuse_path *later,
                        const struct ft_reuse_marks *marks)
{
    return (earlier->is_exact && later->is_exact) ||
           !has_mark(marks, earlier->path_id, true, earlier->first_ns, last_removal_ns(earlier, later)) ||
           has_mark(marks, later->path_id, false, earlier->first_ns, later->first_ns) ||
           is_deleted_name(later->path, earlier->path);
}

void ft_reuse_find(struct ft_reuse_path *paths, size_t count, const struct ft_reuse_marks *marks)
{
    for (size_t i = 0; i < count; i++) {
        paths[i].root = (uint32_t)i;
        for (size_t back = 1; back <= i && back <= LOOK_BACK; back++) {
            if (is_one_file(&paths[i - back], &paths[i], marks)) {
                paths[i].root = paths[i - back].root;
                break;
            }
        }
    }
}
