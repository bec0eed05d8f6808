// SPDX-License-Identifier: MIT
#include "client/cli/event_order.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cli/cli.h"

enum number { NUMBER_TS, NUMBER_DUR, NUMBER_SIZE, NUMBER_OFFSET, NUMBER_RESULT, NUMBER_BYTES, NUMBER_FD, NUMBER_ERRNO };

struct ft_event_order_field {
    const char *name;
    enum number number;
    uint32_t columns;
};

static const struct ft_event_order_field numbers[] = {
    {"ts", NUMBER_TS, FT_COL_START},
    {"t", NUMBER_TS, FT_COL_START},
    {"dur", NUMBER_DUR, FT_COL_CALL | FT_COL_DUR},
    {"size", NUMBER_SIZE, FT_COL_SIZE | FT_COL_HAS},
    {"offset", NUMBER_OFFSET, FT_COL_OFFSET | FT_COL_HAS},
    {"result", NUMBER_RESULT, FT_COL_CALL | FT_COL_RESULT | FT_COL_HAS},
    {"bytes", NUMBER_BYTES, FT_COL_BYTES | FT_COL_HAS},
    {"fd", NUMBER_FD, FT_COL_FD},
    {"errno", NUMBER_ERRNO, FT_COL_CALL | FT_COL_ERR},
};

static bool is_field(const struct ft_group_key *key)
{
    return key->place != FT_GROUP_TAG || key->tag != key->name;
}

int ft_event_order_parse(struct ft_event_order *order, const char *text, char *error, size_t error_bytes)
{
    memset(order, 0, sizeof(*order));
    order->is_descending = text[0] == '-';
    const char *name = text + order->is_descending;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (strcmp(numbers[i].name, name) == 0) {
            order->number = &numbers[i];
            return 0;
        }
    }
    if (strchr(name, ',')) {
        snprintf(error, error_bytes, "one field, not several");
        return -EINVAL;
    }
    int status = ft_group_keys_parse(&order->keys, name, error, error_bytes);
    if (status == 0 && !is_field(&order->keys.keys[0])) {
        snprintf(error, error_bytes, "no field '%.40s'; a tag is tag.NAME", name);
        status = -EINVAL;
    }
    if (status < 0) {
        ft_group_keys_fini(&order->keys);
    }
    return status;
}

void ft_event_order_fini(struct ft_event_order *order)
{
    free(order->ranks);
    if (!order->number) {
        ft_group_keys_fini(&order->keys);
    }
}

static int compare_values(const void *a, const void *b, void *keys)
{
    return ft_group_keys_compare(keys, *(const uint32_t *)a, *(const uint32_t *)b);
}

void ft_event_order_bind(struct ft_event_order *order, const struct ft_trace_set *set)
{
    if (order->number) {
        return;
    }
    ft_group_keys_bind(&order->keys, set);
    size_t count = order->keys.value_count;
    uint32_t *sorted = ft_cli_alloc((count + 1) * sizeof(*sorted));
    order->ranks = ft_cli_alloc((count + 1) * sizeof(*order->ranks));
    for (uint32_t value = 0; value < count; value++) {
        sorted[value] = value + 1;
    }
    if (count > 1) {
        qsort_r(sorted, count, sizeof(*sorted), compare_values, &order->keys);
    }
    for (uint32_t rank = 0; rank < count; rank++) {
        order->ranks[sorted[rank]] = rank;
    }
    free(sorted);
}

uint32_t ft_event_order_columns(const struct ft_event_order *order)
{
    return order->number ? order->number->columns : ft_group_keys_columns(&order->keys);
}

static bool has(const struct ft_rows *rows, size_t i, unsigned bit, int64_t value, int64_t *out)
{
    *out = value;
    return rows->has[i] & bit;
}

/* False where the event has no such number; the same ones as events are printed with. */
static bool number_of(enum number number, const struct ft_rows *rows, size_t i, int64_t *out)
{
    switch (number) {
    case NUMBER_TS:
        return true; /* already there */
    case NUMBER_DUR:
        *out = rows->dur_ns[i];
        return rows->kind[i] == FT_EVENT_CALL || rows->kind[i] == FT_EVENT_SPAN;
    case NUMBER_SIZE:
        return has(rows, i, FT_HAS_SIZE, rows->size[i], out);
    case NUMBER_OFFSET:
        return has(rows, i, FT_HAS_OFFSET, rows->offset[i], out);
    case NUMBER_RESULT:
        return has(rows, i, FT_HAS_RESULT, rows->result[i], out) && rows->kind[i] == FT_EVENT_CALL;
    case NUMBER_BYTES:
        return has(rows, i, FT_HAS_BYTES, rows->bytes[i] > INT64_MAX ? INT64_MAX : (int64_t)rows->bytes[i], out);
    case NUMBER_FD:
        *out = rows->fd[i];
        return rows->fd[i] >= 0;
    case NUMBER_ERRNO:
        *out = rows->err[i];
        return rows->kind[i] == FT_EVENT_CALL;
    }
    return false;
}

void ft_event_order_value(const struct ft_event_order *order, size_t reader, uint32_t thread,
                          const struct ft_rows *rows, size_t i, struct ft_event_place *place)
{
    int64_t number = place->ts_ns;
    if (order->number) {
        place->is_absent = !number_of(order->number->number, rows, i, &number);
    } else {
        uint32_t value;
        ft_group_keys_row(&order->keys, reader, thread, rows, i, &value);
        place->is_absent = value == 0;
        number = order->ranks[value];
    }
    /* ~ turns the order round and, unlike -, cannot overflow. */
    place->value = place->is_absent ? 0 : order->is_descending ? ~number : number;
}
