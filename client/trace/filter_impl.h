// SPDX-License-Identifier: MIT
/* What the files of the filter share. */
#ifndef FT_TRACE_FILTER_IMPL_H
#define FT_TRACE_FILTER_IMPL_H

#include "client/trace/filter.h"

enum { FT_FILTER_NODES_MAX = 512, FT_FILTER_DEPTH_MAX = 64 };

/* What a number counts: which units it may have. */
enum ft_filter_unit { FT_UNIT_NONE, FT_UNIT_NS, FT_UNIT_SECONDS, FT_UNIT_BYTES, FT_UNIT_ERRNO };

/* Where a field's value lives, which says how it is compared. */
enum ft_filter_place {
    FT_PLACE_CALL,    /* text by call id, or by name id of application events */
    FT_PLACE_FILE,    /* text by file id */
    FT_PLACE_THREAD,  /* text or number by thread */
    FT_PLACE_CONTEXT, /* a tag: by context, else by thread */
    FT_PLACE_ROW,     /* number of the row */
};

/* name, text or number, place, unit, columns */
#define FT_FILTER_FIELDS(X)                                             \
    X(CALL, "call", TEXT, CALL, NONE, FT_COL_CALL)                      \
    X(NAME, "name", TEXT, CALL, NONE, FT_COL_CALL | FT_COL_NAME)        \
    X(CAT, "cat", TEXT, CALL, NONE, FT_COL_CALL | FT_COL_NAME)          \
    X(KIND, "kind", TEXT, CALL, NONE, FT_COL_CALL)                      \
    X(PATH, "path", TEXT, FILE, NONE, FT_COL_FILE)                      \
    X(PATH2, "path2", TEXT, FILE, NONE, FT_COL_FILE | FT_COL_FILE2)     \
    X(HOST, "host", TEXT, THREAD, NONE, 0)                              \
    X(EXE, "exe", TEXT, THREAD, NONE, 0)                                \
    X(JOB, "job", TEXT, THREAD, NONE, 0)                                \
    X(USER, "user", TEXT, THREAD, NONE, 0)                              \
    X(PID, "pid", NUMBER, THREAD, NONE, 0)                              \
    X(TID, "tid", NUMBER, THREAD, NONE, 0)                              \
    X(RANK, "rank", NUMBER, THREAD, NONE, 0)                            \
    X(TAG, "tag", TEXT, CONTEXT, NONE, FT_COL_CONTEXT)                  \
    X(TS, "ts", NUMBER, ROW, NS, FT_COL_START)                          \
    X(T, "t", NUMBER, ROW, SECONDS, FT_COL_START)                       \
    X(DUR, "dur", NUMBER, ROW, NS, FT_COL_CALL | FT_COL_DUR)            \
    X(SIZE, "size", NUMBER, ROW, BYTES, FT_COL_SIZE | FT_COL_HAS)       \
    X(OFFSET, "offset", NUMBER, ROW, BYTES, FT_COL_OFFSET | FT_COL_HAS) \
    X(RESULT, "result", NUMBER, ROW, BYTES, FT_COL_RESULT | FT_COL_HAS) \
    X(BYTES, "bytes", NUMBER, ROW, BYTES, FT_COL_BYTES | FT_COL_HAS)    \
    X(ERRNO, "errno", NUMBER, ROW, ERRNO, FT_COL_CALL | FT_COL_ERR)     \
    X(FD, "fd", NUMBER, ROW, NONE, FT_COL_FD)                           \
    /* no text has these: their value is one of a set of indices */     \
    X(PROCESS_INDEX, "", NUMBER, THREAD, NONE, 0)                       \
    X(FILE_INDEX, "", NUMBER, FILE, NONE, FT_COL_FILE)                  \
    X(FILE2_INDEX, "", NUMBER, FILE, NONE, FT_COL_FILE | FT_COL_FILE2)

#define FT_FILTER_ENUM(id, ...) FT_FIELD_##id,
enum ft_filter_field_id { FT_FILTER_FIELDS(FT_FILTER_ENUM) FT_FIELD_COUNT };
#undef FT_FILTER_ENUM

struct ft_filter_field {
    const char *name;
    bool is_number;
    enum ft_filter_place place;
    enum ft_filter_unit unit;
    uint32_t columns;
};
extern const struct ft_filter_field ft_filter_fields[FT_FIELD_COUNT];
/* FT_FIELD_COUNT where there is none of that name. */
unsigned ft_filter_field_find(const char *name, size_t count);

enum ft_filter_op { FT_OP_EQ, FT_OP_NE, FT_OP_LT, FT_OP_LE, FT_OP_GT, FT_OP_GE, FT_OP_GLOB, FT_OP_NOT_GLOB };
static inline bool ft_filter_op_orders(enum ft_filter_op op)
{
    return op >= FT_OP_LT && op <= FT_OP_GE;
}

enum ft_filter_node_kind { FT_NODE_AND, FT_NODE_OR, FT_NODE_NOT, FT_NODE_TEST };

struct ft_filter_node {
    enum ft_filter_node_kind kind;
    uint16_t left, right; /* nodes */
    uint16_t field;       /* of a test */
    enum ft_filter_op op;
    char *key; /* of a tag */
    char *text;
    size_t key_count, text_count;
    int64_t number;
    uint8_t *members; /* of a set of indices: a byte for each, whether it is in it */
    size_t member_count;
};

enum { FT_FILTER_NOTHING = UINT16_MAX };

struct ft_filter {
    struct ft_filter_node nodes[FT_FILTER_NODES_MAX];
    size_t count;
    uint16_t root;
};

/*
 * Adds a test to a filter and joins it to what is at *root with AND or OR; FT_FILTER_NOTHING there: it becomes that. The test's
 * texts and members are the filter's then. 0, or -E2BIG and they are released.
 */
int ft_filter_add(struct ft_filter *filter, struct ft_filter_node *test, enum ft_filter_node_kind join, uint16_t *root);
/* Joins two parts. 0 or -E2BIG. */
int ft_filter_join(struct ft_filter *filter, enum ft_filter_node_kind join, uint16_t part, uint16_t *root);

/* A number with its unit as `field` counts. 0, or -EINVAL with `text` saying why. */
int ft_filter_number(const char *word, size_t count, enum ft_filter_unit unit, int64_t *out, char *text,
                     size_t text_bytes);
/* A decimal number, as tags hold them. */
bool ft_filter_is_number(const char *word, size_t count, int64_t *billionths);

/* How a value compares, where it is known. */
static inline bool ft_filter_compare(enum ft_filter_op op, int64_t value, int64_t number)
{
    switch (op) {
    case FT_OP_EQ:
        return value == number;
    case FT_OP_NE:
        return value != number;
    case FT_OP_LT:
        return value < number;
    case FT_OP_LE:
        return value <= number;
    case FT_OP_GT:
        return value > number;
    case FT_OP_GE:
        return value >= number;
    default:
        return false;
    }
}

/* Verdicts on a record: 0 none yet. ABSENT: it does not have the field. */
enum { FT_VERDICT_FALSE = 1, FT_VERDICT_TRUE = 2, FT_VERDICT_ABSENT = 3 };

struct ft_where_test {
    uint8_t **by_id[2]; /* by reader and id: of the field's place; [1]: names of application events, threads for tags */
};

/* Of a test of that place. The ids are not trusted. `name`, `category`: of application events. */
uint8_t ft_where_of_call(const struct ft_where *where, size_t node, size_t reader, unsigned kind, unsigned call,
                         uint32_t name, uint32_t category);
uint8_t ft_where_of_file(const struct ft_where *where, size_t node, size_t reader, uint32_t file);
uint8_t ft_where_of_thread(const struct ft_where *where, size_t node, size_t reader, uint32_t thread);
uint8_t ft_where_of_context(const struct ft_where *where, size_t node, size_t reader, uint32_t context);

/* What a test of `t` compares with in `ts`. */
int64_t ft_where_time(const struct ft_where *where, const struct ft_filter_node *test);

#endif
