// SPDX-License-Identifier: MIT
/*
 * Parents of processes (and, for an exec'ed image, the image before). As the trace says; where it says only the
 * parent's pid, the newest image of that pid on the same host which began before the child did. An image whose pid had
 * one before it that ended by exec is that one's.
 */
#ifndef FT_CLI_ANALYSIS_PARENTS_H
#define FT_CLI_ANALYSIS_PARENTS_H

#include "proto/trace_set.h"

/* An array by process index; FT_TRACE_SET_NONE: no parent in the set. Release with free(). */
uint32_t *ft_parents_find(const struct ft_trace_set *set);
/* Whether the process is an exec'ed image (its parent is then the image before, where that is known). */
bool ft_parents_is_exec(const struct ft_trace_set *set, const uint32_t *parents, uint32_t process);

#endif
