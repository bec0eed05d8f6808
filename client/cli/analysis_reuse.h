// SPDX-License-Identifier: MIT
/*
 * One device and inode under several paths: a hard link, a renamed file, a file on two mount points, all of which are one
 * file. Or a file system that gave the number of a removed file to the next one. They are one unless the earlier path was
 * removed (unlink, or another file renamed onto it) after its first use and before the later path's first use, and the
 * later path was not made by link or rename in that time.
 *
 * Where the file's birth is exact (proto/birth.h), they are one. Where it is known, the trace has told apart already what it can,
 * and a removal later than the birth took another name of it.
 */
#ifndef FT_CLI_ANALYSIS_REUSE_H
#define FT_CLI_ANALYSIS_REUSE_H

#include "proto/trace_record.h"

enum ft_reuse_kind {
    FT_REUSE_NONE,
    FT_REUSE_UNLINK,
    FT_REUSE_RENAME,
    FT_REUSE_EXCHANGE,
    FT_REUSE_LINK,
    FT_REUSE_BY_FLAGS, /* any of the three before: ft_reuse_kind_of_flags() */
};

/* By the call's name. */
enum ft_reuse_kind ft_reuse_kind_of(const char *call);
/* By the flags of renameat2. Where they are not known, what removes nothing for sure. */
enum ft_reuse_kind ft_reuse_kind_of_flags(bool is_known, uint64_t flags);

/* A path was removed (or replaced), or made by link or rename. */
struct ft_reuse_mark {
    uint32_t path_id;
    bool is_removed;
    int64_t ts_ns;
};

struct ft_reuse_marks {
    struct ft_reuse_mark *items;
    size_t count, space;
};

void ft_reuse_marks_add(struct ft_reuse_marks *marks, struct ft_reuse_mark mark);
void ft_reuse_marks_append(struct ft_reuse_marks *marks, const struct ft_reuse_marks *more);
void ft_reuse_marks_sort(struct ft_reuse_marks *marks);
void ft_reuse_marks_fini(struct ft_reuse_marks *marks);

struct ft_reuse_path {
    struct ft_bytes path;
    uint32_t path_id;
    uint64_t birth; /* this and is_exact as of struct ft_trace_file */
    bool is_exact;
    int64_t first_ns; /* first event that is known to be this file's; INT64_MAX: none */
    uint32_t root;    /* out: index of the first path of the same file */
};

/* Paths of one device and inode, in order of first_ns; marks sorted. */
void ft_reuse_find(struct ft_reuse_path *paths, size_t count, const struct ft_reuse_marks *marks);

#endif
