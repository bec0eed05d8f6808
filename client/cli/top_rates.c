// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"
#include "client/cli/daemon_ask.h"
#include "client/cli/top.h"

static const char *const view_names[FT_TOP_VIEWS] = {"job", "process", "file"};
static const char *const key_names[FT_TOP_KEYS] = {"bandwidth", "ops", "drops"};

const char *ft_top_view_name(enum ft_top_view view)
{
    return view_names[view];
}

const char *ft_top_key_name(enum ft_top_key key)
{
    return key_names[key];
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_job(const Flowtap__Top__Row *a, const Flowtap__Top__Row *b)
{
    int order = compare(a->uid, b->uid);
    return order ? order : compare(a->job_id, b->job_id);
}

static int by_id(const void *a_untyped, const void *b_untyped)
{
    const struct ft_top_row *a = a_untyped, *b = b_untyped;
    int order = by_job(a->row, b->row);
    return order ? order : compare(a->row->id, b->row->id);
}

static int by_job_alone(const void *a_untyped, const void *b_untyped)
{
    const struct ft_top_row *a = a_untyped, *b = b_untyped;
    return by_job(a->row, b->row);
}

static const struct ft_top_row *find(const struct ft_top *in, const struct ft_top_row *row,
                                     int (*order)(const void *, const void *))
{
    size_t count = in ? in->answer->n_rows : 0;
    return count ? bsearch(row, in->rows, count, sizeof(in->rows[0]), order) : NULL;
}

static double per_second(uint64_t now, uint64_t before, int64_t time_ns)
{
    return time_ns > 0 && now > before ? (double)(now - before) * 1e9 / (double)time_ns : 0;
}

static void rate(struct ft_top_row *to, const Flowtap__Top__Row *from, int64_t since_ns)
{
    const Flowtap__Top__Row *row = to->row;
    int64_t time_ns = row->as_of_ns - since_ns;
    to->read = per_second(row->read_bytes, from ? from->read_bytes : 0, time_ns);
    to->written = per_second(row->written_bytes, from ? from->written_bytes : 0, time_ns);
    to->ops = per_second(row->ops, from ? from->ops : 0, time_ns);
    to->at_once = per_second(row->io_ns, from ? from->io_ns : 0, time_ns) / 1e9;
}

static void rate_row(struct ft_top_row *to, const struct ft_top *before)
{
    const struct ft_top_row *same = find(before, to, by_id);
    if (same && same->row->since_ns != to->row->since_ns) {
        rate(to, NULL, to->row->since_ns); /* added up anew */
        return;
    }
    if (same) {
        if (to->row->as_of_ns > same->row->as_of_ns) {
            rate(to, same->row, same->row->as_of_ns);
        } else {
            *to = (struct ft_top_row){to->row, same->read, same->written, same->ops, same->at_once};
        }
        return;
    }
    /* A new file: all that is known of it came after the job was looked at before. A process may have waited to be taken in. */
    const struct ft_top_row *other = find(before, to, by_job_alone);
    bool is_later =
        !to->row->pid && other && other->row->as_of_ns > to->row->since_ns && other->row->as_of_ns < to->row->as_of_ns;
    rate(to, NULL, is_later ? other->row->as_of_ns : to->row->since_ns);
}

void ft_top_rate(struct ft_top *top, const struct ft_top *before)
{
    size_t count = top->answer->n_rows;
    top->rows = ft_cli_alloc((count + 1) * sizeof(*top->rows));
    for (size_t i = 0; i < count; i++) {
        top->rows[i].row = top->answer->rows[i];
        rate_row(&top->rows[i], before);
    }
    if (count > 1) {
        qsort(top->rows, count, sizeof(*top->rows), by_id);
    }
}

int ft_top_ask(const char *socket, enum ft_top_view view, int64_t interval_ns, const struct ft_top *before,
               struct ft_top *top)
{
    struct ft_attach question = ft_ask_question(FT_MESSAGE_TOP);
    ProtobufCMessage *reply;
    question.flags = (uint32_t)view;
    question.segment_bytes = (uint64_t)interval_ns;
    int error = ft_ask_memory(socket, &question, &flowtap__top__descriptor, &reply);
    if (error == 0) {
        top->answer = (Flowtap__Top *)(void *)reply;
        ft_top_rate(top, before);
    }
    return error;
}

void ft_top_fini(struct ft_top *top)
{
    if (top->answer) {
        flowtap__top__free_unpacked(top->answer, NULL);
    }
    free(top->rows);
    memset(top, 0, sizeof(*top));
}

/* What rows are ordered by, then by what else, highest first. */
static void values_of(const struct ft_top_row *row, enum ft_top_key key, double out[3])
{
    double bandwidth = row->read + row->written, dropped = (double)row->row->dropped;
    out[0] = key == FT_TOP_BY_OPS ? row->ops : key == FT_TOP_BY_DROPS ? dropped : bandwidth;
    out[1] = key == FT_TOP_BY_BANDWIDTH ? row->ops : bandwidth;
    out[2] = (double)row->row->call_ns;
}

static int highest_first(const void *a_untyped, const void *b_untyped, void *key)
{
    const struct ft_top_row *a = *(const struct ft_top_row *const *)a_untyped,
                            *b = *(const struct ft_top_row *const *)b_untyped;
    double x[3], y[3];
    values_of(a, *(enum ft_top_key *)key, x);
    values_of(b, *(enum ft_top_key *)key, y);
    for (int i = 0; i < 3; i++) {
        if (x[i] > y[i] || x[i] < y[i]) {
            return x[i] < y[i] ? 1 : -1;
        }
    }
    return by_id(a, b);
}

const struct ft_top_row **ft_top_order(const struct ft_top *top, enum ft_top_view view, enum ft_top_key key,
                                       size_t *count)
{
    const struct ft_top_row **order = ft_cli_alloc((top->answer->n_rows + 1) * sizeof(*order));
    *count = 0;
    for (size_t i = 0; i < top->answer->n_rows; i++) {
        if (view != FT_TOP_FILES || top->rows[i].ops > 0) {
            order[(*count)++] = &top->rows[i];
        }
    }
    if (*count > 1) {
        qsort_r(order, *count, sizeof(*order), highest_first, &key);
    }
    return order;
}
