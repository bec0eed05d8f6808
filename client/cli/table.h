// SPDX-License-Identifier: MIT
/*
 * Text for people: aligned tables, and colour only on a terminal (never with NO_COLOR or TERM=dumb).
 *
 * On a terminal the last column is shortened where the line would be too long: a path in its middle, other text at its
 * end. Elsewhere nothing is.
 */
#ifndef FT_CLI_TABLE_H
#define FT_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum ft_style { FT_STYLE_NONE, FT_STYLE_TITLE, FT_STYLE_HEAD, FT_STYLE_WARN, FT_STYLE_DIM };

struct ft_screen {
    FILE *out;
    bool has_colour;
    size_t columns; /* of a terminal, or COLUMNS where that is set; 0: no limit */
};

void ft_screen_init(struct ft_screen *screen, FILE *out);
/* Formatted text in a style. */
void ft_screen_print(const struct ft_screen *screen, enum ft_style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same of one line, without its end, that holds names: control bytes are escaped. */
void ft_screen_print_names(const struct ft_screen *screen, enum ft_style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

struct ft_column {
    const char *title;
    bool is_right; /* numbers */
    bool is_path;
};

struct ft_table {
    const struct ft_column *columns;
    size_t column_count;
    char **cells; /* row by row */
    size_t cell_count, cell_space;
};

/* `columns` must live as long as the table. */
void ft_table_init(struct ft_table *table, const struct ft_column *columns, size_t column_count);
void ft_table_fini(struct ft_table *table);
/* One cell after the other, row by row; the text is copied. Control bytes are escaped. */
void ft_table_add(struct ft_table *table, const char *text);
void ft_table_add_bytes(struct ft_table *table, const char *bytes, size_t count);
void ft_table_print(const struct ft_table *table, const struct ft_screen *screen, unsigned indent);

#endif
