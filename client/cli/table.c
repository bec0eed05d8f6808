// SPDX-License-Identifier: MIT
#include "client/cli/table.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "client/cli/cli.h"
#include "client/cli/text.h"

enum { COLUMN_GAP = 2, SHORTEST_CUT = 16, COLUMNS_MOST = UINT16_MAX };

/* What the user says, as of other tools, before what the terminal does. */
static size_t columns_of(int terminal)
{
    const char *text = getenv("COLUMNS");
    char *end = NULL;
    unsigned long wanted = text && *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
    if (wanted > 0 && wanted <= COLUMNS_MOST && !*end) {
        return wanted;
    }
    struct winsize size;
    return ioctl(terminal, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void ft_screen_init(struct ft_screen *screen, FILE *out)
{
    memset(screen, 0, sizeof(*screen));
    screen->out = out;
    int fd = fileno(out);
    if (fd < 0 || !isatty(fd)) {
        return;
    }
    screen->columns = columns_of(fd);
    const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
    screen->has_colour = !(no_colour && *no_colour) && terminal && strcmp(terminal, "dumb") != 0;
}

static const char *style_code(enum ft_style style)
{
    static const char *const codes[] = {"", "\033[1m", "\033[4m", "\033[33m", "\033[2m"};
    return codes[style];
}

void ft_screen_print(const struct ft_screen *screen, enum ft_style style, const char *format, ...)
{
    bool is_styled = screen->has_colour && style != FT_STYLE_NONE;
    if (is_styled) {
        fputs(style_code(style), screen->out);
    }
    va_list arguments;
    va_start(arguments, format);
    vfprintf(screen->out, format, arguments);
    va_end(arguments);
    if (is_styled) {
        fputs("\033[0m", screen->out);
    }
}

void ft_screen_print_names(const struct ft_screen *screen, enum ft_style style, const char *format, ...)
{
    va_list arguments;
    char *text = NULL;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    ft_cli_memory(length < 0 ? NULL : text);
    char *shown = ft_text_escape(text, (size_t)length, FT_TEXT_SHOW);
    ft_screen_print(screen, style, "%s", shown);
    free(shown);
    free(text);
}

void ft_table_init(struct ft_table *table, const struct ft_column *columns, size_t column_count)
{
    memset(table, 0, sizeof(*table));
    table->columns = columns;
    table->column_count = column_count;
}

void ft_table_fini(struct ft_table *table)
{
    for (size_t i = 0; i < table->cell_count; i++) {
        free(table->cells[i]);
    }
    free(table->cells);
    memset(table, 0, sizeof(*table));
}

void ft_table_add_bytes(struct ft_table *table, const char *bytes, size_t count)
{
    if (table->cell_count == table->cell_space) {
        table->cell_space = table->cell_space ? table->cell_space * 2 : 64;
        table->cells = ft_cli_realloc(table->cells, table->cell_space, sizeof(*table->cells));
    }
    table->cells[table->cell_count++] = ft_text_escape(bytes, count, FT_TEXT_SHOW);
}

void ft_table_add(struct ft_table *table, const char *text)
{
    ft_table_add_bytes(table, text, strlen(text));
}

static void pad(FILE *out, size_t count)
{
    for (; count > 0; count--) {
        fputc(' ', out);
    }
}

/* First byte of the character that is `characters` characters after the start, or the end. */
static const char *skip_characters(const char *text, size_t characters)
{
    while (*text && characters > 0) {
        text++;
        while (((unsigned char)*text & 0xc0u) == 0x80u) {
            text++;
        }
        characters--;
    }
    return text;
}

/* The end of a path says more than its start: a third from the front, the rest from the back. */
static void print_cut(FILE *out, const char *text, size_t width, size_t limit, bool is_path)
{
    const char *dots = ft_text_locale_is_utf8() ? "…" : "...";
    size_t room = limit - ft_text_width(dots), front = is_path ? room / 3 : room, back = room - front;
    const char *front_end = skip_characters(text, front);
    fwrite(text, 1, (size_t)(front_end - text), out);
    fputs(dots, out);
    fputs(skip_characters(text, width - back), out);
}

static void print_cell(const struct ft_table *table, const struct ft_screen *screen, size_t column, const char *text,
                       size_t column_width, size_t used)
{
    size_t width = ft_text_width(text), gap = column_width > width ? column_width - width : 0;
    bool is_last = column + 1 == table->column_count;
    if (table->columns[column].is_right) {
        pad(screen->out, gap);
    }
    size_t room = screen->columns > used + SHORTEST_CUT ? screen->columns - used : SHORTEST_CUT;
    if (is_last && screen->columns > 0 && width > room) {
        print_cut(screen->out, text, width, room, table->columns[column].is_path);
    } else {
        fputs(text, screen->out);
    }
    if (!is_last) {
        pad(screen->out, COLUMN_GAP + (table->columns[column].is_right ? 0 : gap));
    }
}

static void print_row(const struct ft_table *table, const struct ft_screen *screen, unsigned indent, char *const *cells,
                      const size_t *widths)
{
    size_t used = indent;
    pad(screen->out, indent);
    for (size_t c = 0; c < table->column_count; c++) {
        const char *text = cells ? cells[c] : table->columns[c].title;
        bool is_styled = !cells && screen->has_colour;
        fputs(is_styled ? style_code(FT_STYLE_DIM) : "", screen->out);
        print_cell(table, screen, c, text, widths[c], used);
        fputs(is_styled ? "\033[0m" : "", screen->out);
        used += widths[c] + COLUMN_GAP;
    }
    fputc('\n', screen->out);
}

void ft_table_print(const struct ft_table *table, const struct ft_screen *screen, unsigned indent)
{
    size_t *widths = ft_cli_alloc(table->column_count * sizeof(*widths));
    for (size_t c = 0; c < table->column_count; c++) {
        widths[c] = ft_text_width(table->columns[c].title);
        for (size_t i = c; i < table->cell_count; i += table->column_count) {
            size_t width = ft_text_width(table->cells[i]);
            widths[c] = width > widths[c] ? width : widths[c];
        }
    }
    print_row(table, screen, indent, NULL, widths);
    for (size_t i = 0; i + table->column_count <= table->cell_count; i += table->column_count) {
        print_row(table, screen, indent, table->cells + i, widths);
    }
    free(widths);
}
