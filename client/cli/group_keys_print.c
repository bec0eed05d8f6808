// SPDX-License-Identifier: MIT
#include "client/cli/group_keys_print.h"

#include <string.h>

void ft_group_keys_put_by(struct ft_json *json, const struct ft_group_keys *keys)
{
    ft_json_key(json, "by");
    ft_json_begin_array(json);
    for (size_t k = 0; k < keys->count; k++) {
        ft_json_string(json, keys->keys[k].name);
    }
    ft_json_end_array(json);
}

static void put_value(struct ft_json *json, const struct ft_group_keys *keys, size_t k, uint32_t value)
{
    struct ft_bytes text = ft_group_keys_text(keys, value);
    int64_t number;
    ft_json_key_bytes(json, keys->keys[k].name, strlen(keys->keys[k].name));
    if (value == 0) {
        ft_json_null(json);
    } else if (keys->keys[k].is_number && ft_group_keys_number(keys, value, &number)) {
        ft_json_int(json, number);
    } else {
        ft_json_text(json, text.data, text.len);
    }
}

void ft_group_keys_put(struct ft_json *json, const struct ft_group_keys *keys, const uint32_t *values)
{
    ft_json_key(json, "group");
    ft_json_begin_object(json);
    for (size_t k = 0; k < keys->count; k++) {
        put_value(json, keys, k, values[k]);
    }
    ft_json_end_object(json);
}

void ft_group_keys_add(struct ft_table *table, const struct ft_group_keys *keys, const uint32_t *values)
{
    for (size_t k = 0; k < keys->count; k++) {
        struct ft_bytes value = ft_group_keys_text(keys, values[k]);
        if (value.len) {
            ft_table_add_bytes(table, value.data, value.len);
        } else {
            ft_table_add(table, "-");
        }
    }
}

void ft_group_keys_titles(const struct ft_group_keys *keys, struct ft_column *columns)
{
    for (size_t k = 0; k < keys->count; k++) {
        columns[k] = (struct ft_column){.title = keys->keys[k].name, .is_right = false, .is_path = false};
    }
}
