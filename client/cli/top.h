/* SPDX-License-Identifier: MIT */
/*
 * flowtap top: what goes on, as rates between two answers of the daemon (flowtap.Top of proto/status.proto).
 *
 * What a row did is known up to its as_of_ns, which stands still until the daemon has looked again: until then the rate of before
 * holds.
 */
#ifndef FT_CLI_TOP_H
#define FT_CLI_TOP_H

#include <stdbool.h>
#include <stdio.h>

#include "client/cli/table.h"
#include "proto/control.h"
#include "proto/status.pb-c.h"

enum ft_top_key { FT_TOP_BY_BANDWIDTH, FT_TOP_BY_OPS, FT_TOP_BY_DROPS, FT_TOP_KEYS };

struct ft_top_row {
    const Flowtap__Top__Row *row;
    /* a second */
    double read, written, ops;
    double at_once; /* mean number of calls on files that were going on */
};

struct ft_top {
    Flowtap__Top *answer;
    struct ft_top_row *rows; /* answer->n_rows of them, in order of their ids; ft_top_order() gives that of a key */
};

/* 0 and *top, or as ft_ask_status(). `before` is the answer before, NULL none; `interval_ns` says when the next is due. */
int ft_top_ask(const char *socket, enum ft_top_view view, int64_t interval_ns, const struct ft_top *before,
               struct ft_top *top);
void ft_top_fini(struct ft_top *top);

/* The rates alone, of an answer that is there. */
void ft_top_rate(struct ft_top *top, const struct ft_top *before);

/* Pointers to *count rows, highest first; to be freed. Files that nobody used since the last look are left out. */
const struct ft_top_row **ft_top_order(const struct ft_top *top, enum ft_top_view view, enum ft_top_key key,
                                       size_t *count);

const char *ft_top_view_name(enum ft_top_view view);
const char *ft_top_key_name(enum ft_top_key key);

/* The `most` highest rows, 0 all. */
void ft_top_print_text(const struct ft_top *top, enum ft_top_view view, enum ft_top_key key, size_t most,
                       const struct ft_screen *screen);
/* One object on one line. */
void ft_top_print_json(const struct ft_top *top, enum ft_top_view view, enum ft_top_key key, size_t most, FILE *out);

#endif
