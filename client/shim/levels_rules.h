// SPDX-License-Identifier: MIT
/* Which functions of which libraries are recorded: levels.def, and what the user names (FLOWTAP_FUNCTIONS). */
#ifndef FT_SHIM_LEVELS_RULES_H
#define FT_SHIM_LEVELS_RULES_H

#include "proto/settings.h"

/* Once; the number of rules. What cannot be used is counted as a setting ignored. */
unsigned ft_levels_rules_read(void);
/* Before that, without writing anywhere: the user gives rules, or the table has some about this library. */
int ft_levels_rules_are_given(void);
int ft_levels_rules_want_at_start(const char *library);
/* Some rule may be about a function of this name. */
int ft_levels_rules_want_name(const char *function);
/* The rule about this function of this library, with the category of the table's where it gives none; 0: none. */
int ft_levels_rules_find(const char *library, const char *function, struct ft_setting_rule *rule);

#endif
