// SPDX-License-Identifier: MIT
/* What was done to files, or to groups of them, as `flowtap files` prints it. */
#ifndef FT_CLI_FILES_H
#define FT_CLI_FILES_H

#include "client/cli/analysis_scan.h"

#define FT_FILES_BY "folder|suffix|mount|fstype|host|kind"

struct ft_files_row {
    struct ft_bytes name;   /* path, or what the group has in common */
    uint32_t entry;         /* of a group: its first file's */
    uint64_t files;         /* how many */
    struct ft_file_sum sum; /* of a group, without first_ns and processes */
};

struct ft_files {
    const struct ft_trace_set *set;
    struct ft_scan scan;
    const char *by; /* one of FT_FILES_BY; NULL: file by file */
    struct ft_files_row *rows;
    size_t count;
};

/* `where` NULL: all events. The rows have no order. */
void ft_files_read(struct ft_files *files, const struct ft_trace_set *set, const struct ft_where *where,
                   const char *by);
void ft_files_fini(struct ft_files *files);

#endif
