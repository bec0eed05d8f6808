// SPDX-License-Identifier: MIT
/* Values of a group in JSON and in tables. */
#ifndef FT_CLI_GROUP_KEYS_PRINT_H
#define FT_CLI_GROUP_KEYS_PRINT_H

#include "client/cli/group_keys.h"
#include "client/cli/json.h"
#include "client/cli/table.h"

/* The member `by` of a report: the keys. */
void ft_group_keys_put_by(struct ft_json *json, const struct ft_group_keys *keys);
/* The member `group`: an object of a value for each key, null where there is none. */
void ft_group_keys_put(struct ft_json *json, const struct ft_group_keys *keys, const uint32_t *values);
/* Cells of a row, "-" where there is none; and their titles. */
void ft_group_keys_add(struct ft_table *table, const struct ft_group_keys *keys, const uint32_t *values);
void ft_group_keys_titles(const struct ft_group_keys *keys, struct ft_column *columns);

#endif
