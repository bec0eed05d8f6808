// SPDX-License-Identifier: MIT
/* A plot for the terminal: one strip for each figure, time from left to right. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "client/cli/cli.h"
#include "client/cli/text.h"
#include "client/cli/timeline.h"
#include "client/cli/units.h"

enum { PLAIN_COLUMNS = 80, MARGIN = 2, COLUMNS_LEAST = 8, COLUMNS_MOST = 200, CATEGORIES_MOST = 12, STEPS = 8 };

static const char *const blocks[STEPS + 1] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
static const char *const signs[STEPS + 1] = {" ", ".", ".", ":", ":", "|", "|", "#", "#"};

struct column {
    struct ft_timeline_bin sum; /* of its bins */
    int64_t length_ns;
};

/* A figure of a column; what its strip's highest is called. */
struct figure {
    const char *name;
    unsigned rows;
    double (*of)(const struct column *column);
    void (*show)(struct ft_unit_text *out, double value);
    bool is_share; /* of 1, whatever the highest is */
};

static double per_second(uint64_t amount, const struct column *column)
{
    return column->length_ns > 0 ? (double)amount * 1e9 / (double)column->length_ns : 0;
}

static double read_rate(const struct column *column)
{
    return per_second(column->sum.read.bytes, column);
}

static double write_rate(const struct column *column)
{
    return per_second(column->sum.write.bytes, column);
}

static double call_rate(const struct column *column)
{
    return per_second(column->sum.read.calls + column->sum.write.calls + column->sum.metadata.calls, column);
}

static double concurrency(const struct column *column)
{
    const struct ft_timeline_bin *sum = &column->sum;
    uint64_t time_ns = sum->read.time_ns + sum->write.time_ns + sum->metadata.time_ns;
    return column->length_ns > 0 ? (double)time_ns / (double)column->length_ns : 0;
}

static double request_size(const struct column *column)
{
    return column->sum.requests ? (double)column->sum.request_bytes / (double)column->sum.requests : 0;
}

static double share_of(int64_t part_ns, const struct column *column)
{
    return column->length_ns > 0 ? (double)part_ns / (double)column->length_ns : 0;
}

static double io_share(const struct column *column)
{
    return share_of(column->sum.io_ns, column);
}

static double compute_share(const struct column *column)
{
    return share_of(column->sum.compute_ns, column);
}

static double overlap_share(const struct column *column)
{
    return share_of(column->sum.overlap_ns, column);
}

static void show_rate(struct ft_unit_text *out, double value)
{
    ft_units_rate(out, (uint64_t)(value + 0.5), 1000000000);
}

static void show_bytes(struct ft_unit_text *out, double value)
{
    ft_units_bytes(out, (uint64_t)(value + 0.5));
}

static void show_calls(struct ft_unit_text *out, double value)
{
    ft_units_count(out, (uint64_t)(value + 0.5));
    strcat(out->text, "/s");
}

static void show_number(struct ft_unit_text *out, double value)
{
    snprintf(out->text, sizeof(out->text), "%.2f", value);
}

static void show_threads(struct ft_unit_text *out, double value)
{
    show_number(out, value < 0.01 ? 0.01 : value); /* up to that is true of what is less, too */
}

static void show_share(struct ft_unit_text *out, double value)
{
    ft_units_share(out, value, 1);
}

static const struct figure figures[] = {
    {"Read", 3, read_rate, show_rate, false},
    {"Written", 3, write_rate, show_rate, false},
    {"Calls", 2, call_rate, show_calls, false},
    {"Calls at once", 2, concurrency, show_number, false},
    {"Request size", 2, request_size, show_bytes, false},
    {"I/O", 1, io_share, show_share, true},
    {"Compute", 1, compute_share, show_share, true},
    {"Both at once", 1, overlap_share, show_share, true},
};

struct ft_timeline_look ft_timeline_look(const struct ft_screen *screen)
{
    size_t columns = screen->columns ? screen->columns : PLAIN_COLUMNS;
    columns = columns > COLUMNS_MOST ? COLUMNS_MOST : columns < COLUMNS_LEAST ? COLUMNS_LEAST : columns;
    return (struct ft_timeline_look){.columns = columns - MARGIN, .is_utf8 = ft_text_locale_is_utf8()};
}

/* Bins side by side become one column where there are more than fit. */
static struct column *make_columns(const struct ft_timeline *timeline, size_t most, size_t *count, size_t *each)
{
    *each = (timeline->count + most - 1) / most;
    *count = (timeline->count + *each - 1) / *each;
    struct column *columns = ft_cli_alloc(*count * sizeof(*columns));
    for (size_t i = 0; i < timeline->count; i++) {
        ft_timeline_bin_add(&columns[i / *each].sum, &timeline->bins[i]);
        columns[i / *each].length_ns += ft_timeline_length(timeline, i);
    }
    return columns;
}

/* Eighths of the strip's height, at least one for what is more than nothing. */
static unsigned height_of(double value, double highest, unsigned rows)
{
    unsigned most = rows * STEPS, height = highest > 0 ? (unsigned)(value / highest * most + 0.5) : 0;
    height = value > 0 && height == 0 ? 1 : height;
    return height > most ? most : height;
}

/* Where there are sums alone nobody knows how long something went on. */
static void print_unknown(const struct figure *figure, const struct ft_screen *screen)
{
    ft_screen_print(screen, FT_STYLE_HEAD, "%s", figure->name);
    fputs(" not known\n", screen->out);
}

/* `values`: of each column; bars are drawn beside `scale`. */
static void print_strip(const struct figure *figure, const double *values, double scale, size_t count,
                        const struct ft_screen *screen, const struct ft_timeline_look *look)
{
    struct ft_unit_text text;
    double highest = 0;
    for (size_t i = 0; i < count; i++) {
        highest = values[i] > highest ? values[i] : highest;
    }
    ft_screen_print(screen, FT_STYLE_HEAD, "%s", figure->name);
    if (highest <= 0) {
        fputs(" none\n", screen->out);
        return;
    }
    figure->show(&text, highest);
    fputs(" up to ", screen->out);
    fprintf(screen->out, "%s\n", text.text);
    for (unsigned row = figure->rows; row-- > 0;) {
        fputs(" |", screen->out);
        for (size_t i = 0; i < count; i++) {
            unsigned height = height_of(values[i], scale > 0 ? scale : highest, figure->rows);
            unsigned here = height > row * STEPS ? height - row * STEPS : 0;
            fputs((look->is_utf8 ? blocks : signs)[here > STEPS ? STEPS : here], screen->out);
        }
        fputc('\n', screen->out);
    }
}

static void print_figure(const struct figure *figure, const struct column *columns, double *values, size_t count,
                         const struct ft_screen *screen, const struct ft_timeline_look *look)
{
    for (size_t i = 0; i < count; i++) {
        values[i] = figure->of(&columns[i]);
    }
    print_strip(figure, values, figure->is_share ? 1 : 0, count, screen, look);
}

/* Threads in events of a category, by column; the highest of them. */
static double threads_of(const struct ft_timeline *timeline, const struct ft_timeline_category *category,
                         const struct column *columns, size_t each, double *values, size_t count)
{
    double highest = 0;
    memset(values, 0, count * sizeof(*values));
    for (size_t i = 0; i < timeline->count; i++) {
        values[i / each] += (double)category->bins_ns[i];
    }
    for (size_t i = 0; i < count; i++) {
        values[i] = columns[i].length_ns > 0 ? values[i] / (double)columns[i].length_ns : 0;
        highest = values[i] > highest ? values[i] : highest;
    }
    return highest;
}

static void print_category(const struct ft_timeline_category *category, const double *values, double scale,
                           size_t count, const struct ft_screen *screen, const struct ft_timeline_look *look)
{
    char *shown = category->name.data ? ft_text_escape(category->name.data, category->name.len, FT_TEXT_SHOW)
                                      : ft_cli_strdup("all others");
    char *name = ft_cli_format("Threads in %s", shown);
    const struct figure figure = {name, 1, NULL, show_threads, false};
    print_strip(&figure, values, scale, count, screen, look);
    free(name);
    free(shown);
}

/*
 * Side by side, on one scale. Where there are no spans these are calls of libc alone, of which the strips above tell.
 */
static void print_categories(const struct ft_timeline *timeline, const struct column *columns, size_t each,
                             double *values, size_t count, const struct ft_screen *screen,
                             const struct ft_timeline_look *look)
{
    bool has_spans = false;
    double scale = 0;
    for (size_t i = 0; i < timeline->category_count; i++) {
        double highest = threads_of(timeline, &timeline->categories[i], columns, each, values, count);
        scale = highest > scale ? highest : scale;
        has_spans |= timeline->categories[i].is_span;
    }
    size_t shown = timeline->category_count < CATEGORIES_MOST ? timeline->category_count : CATEGORIES_MOST;
    for (size_t i = 0; has_spans && scale > 0 && i < shown; i++) {
        threads_of(timeline, &timeline->categories[i], columns, each, values, count);
        print_category(&timeline->categories[i], values, scale, count, screen, look);
    }
    if (has_spans && shown < timeline->category_count) {
        fprintf(screen->out, "%zu more categories took less time.\n", timeline->category_count - shown);
    }
}

static void print_axis(const struct ft_timeline *timeline, size_t count, const struct ft_screen *screen)
{
    struct ft_unit_text end;
    fputs(" +", screen->out);
    for (size_t i = 0; i < count; i++) {
        fputc('-', screen->out);
    }
    ft_units_time(&end, timeline->end_ns - timeline->start_ns);
    fputs("\n  0 s", screen->out);
    for (size_t i = 3 + ft_text_width(end.text); i < count; i++) {
        fputc(' ', screen->out);
    }
    fprintf(screen->out, " %s\n", end.text);
}

void ft_timeline_print_text(const struct ft_timeline *timeline, const struct ft_screen *screen,
                            const struct ft_timeline_look *look)
{
    size_t count, each;
    struct ft_unit_text width;
    struct column *columns = make_columns(timeline, look->columns, &count, &each);
    double *values = ft_cli_alloc(count * sizeof(*values));
    ft_screen_print(screen, FT_STYLE_TITLE, "flowtap: %s\n", look->title);
    fprintf(screen->out, "A column is %s.\n\n", ft_units_time(&width, timeline->width_ns * (int64_t)each));
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
        if (figures[i].is_share && timeline->profiled > 0) {
            print_unknown(&figures[i], screen);
        } else {
            print_figure(&figures[i], columns, values, count, screen, look);
        }
    }
    if (timeline->profiled == 0) {
        print_categories(timeline, columns, each, values, count, screen, look);
    }
    print_axis(timeline, count, screen);
    free(values);
    free(columns);
}
