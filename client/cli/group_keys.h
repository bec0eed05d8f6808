// SPDX-License-Identifier: MIT
/*
 * What events are put together by: a list such as "epoch,rank". host, job, user, exe, pid and rank are the process's, tid
 * the thread's, cat (or category), name, call, kind, path, path2 and errno the event's; anything else, and tag.KEY, is a
 * tag of the event, of its thread or its process.
 * A rank that the process does not have is looked for among the tags.
 *
 * Each value that occurs has a small number, the same in all traces of a set; 0: the event has none. They are found
 * once, so that a row costs a look into an array for each key.
 */
#ifndef FT_CLI_GROUP_KEYS_H
#define FT_CLI_GROUP_KEYS_H

#include "client/cli/map.h"
#include "proto/trace_set.h"

enum { FT_GROUP_KEYS_MAX = 8, FT_GROUP_KINDS = FT_EVENT_COUNTER + 1, FT_GROUP_ERRORS = 4096 };

enum ft_group_place {
    FT_GROUP_PROCESS,     /* the process's or the thread's value */
    FT_GROUP_PROCESS_TAG, /* the same; where there is none, a tag */
    FT_GROUP_TAG,         /* the event's tag, else the process's */
    FT_GROUP_EVENT,       /* by call, or by what an application named it */
    FT_GROUP_FILE,        /* a path */
    FT_GROUP_ERROR,       /* of a call */
};

struct ft_group_key {
    char *name; /* as given */
    const char *tag;
    enum ft_group_place place;
    char field; /* which of the process's or the event's */
    bool is_number;
};

/* Of one trace file: values by id, for each key. */
struct ft_group_tables {
    uint32_t *threads, *contexts, *calls, *names; /* [id * keys + key]; names: [id] */
    uint32_t *files;                              /* [id] */
};

struct ft_group_keys {
    struct ft_group_key keys[FT_GROUP_KEYS_MAX];
    size_t count;
    struct ft_map index; /* of values */
    struct ft_bytes *values;
    size_t value_count, value_space;
    char **numbers; /* values that no trace holds as text */
    size_t number_count;
    const struct ft_trace_set *set;
    struct ft_group_tables *tables; /* by reader */
    size_t table_count;
    uint32_t kinds[FT_GROUP_KINDS]; /* by enum ft_event_kind */
    uint32_t *errors;               /* by errno; NULL: not wanted */
};

/* 0, or -EINVAL with a message. */
int ft_group_keys_parse(struct ft_group_keys *keys, const char *text, char *error, size_t error_bytes);
void ft_group_keys_bind(struct ft_group_keys *keys, const struct ft_trace_set *set);
void ft_group_keys_fini(struct ft_group_keys *keys);

/* Whether any key is of that place. */
bool ft_group_keys_has(const struct ft_group_keys *keys, enum ft_group_place place);
/* Columns that a look at a row needs. */
uint32_t ft_group_keys_columns(const struct ft_group_keys *keys);
/* Values of row i of a thread, one for each key. */
void ft_group_keys_row(const struct ft_group_keys *keys, size_t reader, uint32_t thread, const struct ft_rows *rows,
                       size_t i, uint32_t *out);
/* The text of a value; 0: empty. */
struct ft_bytes ft_group_keys_text(const struct ft_group_keys *keys, uint32_t value);
/* Whether a value is a whole number. */
bool ft_group_keys_number(const struct ft_group_keys *keys, uint32_t value, int64_t *number);
/* Order of two values: none first, numbers by what they count, then texts. */
int ft_group_keys_compare(const struct ft_group_keys *keys, uint32_t a, uint32_t b);

#endif
