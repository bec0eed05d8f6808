// SPDX-License-Identifier: MIT
/*
 * The call table: names, categories and groups of the calls that Flowtap interposes, from calls.def.
 * Ids are stable: never reused, never renumbered. Callers may ask for any id; unknown ones give NULL or OTHER.
 */
#ifndef FT_PROTO_CALLS_H
#define FT_PROTO_CALLS_H

enum ft_category { FT_CATEGORY_NONE, FT_CATEGORY_POSIX, FT_CATEGORY_STDIO, FT_CATEGORY_PROCESS, FT_CATEGORY_COUNT };

/* How a call counts in summaries. TRANSFER: a read of `file` and a write of `file2`. MAP moves no bytes itself. */
enum ft_group {
    FT_GROUP_OTHER,
    FT_GROUP_READ,
    FT_GROUP_WRITE,
    FT_GROUP_METADATA,
    FT_GROUP_TRANSFER,
    FT_GROUP_MAP,
    FT_GROUP_PROCESS,
};

enum ft_call {
    FT_CALL_ID_NONE = 0,
#define FT_CALL(id, name, ...) FT_CALL_ID_##name = (id),
#include "proto/calls.def"
#undef FT_CALL
};

/* Name as the program calls it, such as "pread64"; NULL where unknown. Static storage. */
const char *ft_call_name(unsigned call);
enum ft_category ft_call_category(unsigned call);
/* "POSIX", "STDIO", "PROCESS"; "" for none. */
const char *ft_category_name(enum ft_category category);
enum ft_group ft_call_group(unsigned call);
/* All ids are below this. */
unsigned ft_call_count_max(void);

#endif
