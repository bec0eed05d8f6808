// SPDX-License-Identifier: MIT
/* How much memory the reading commands may take for what is not events: FLOWTAP_READ_MEMORY. */
#ifndef FT_CLI_READ_MEMORY_H
#define FT_CLI_READ_MEMORY_H

#include <stddef.h>

/* Bytes; where the variable is not set, FT_TRACE_MEMORY_DEFAULT. Where it is no size, one line and exit 1. */
size_t ft_read_memory(void);
/* Where it is no size, one line, and it is as if it were not set: for who has the status of a command to return. */
void ft_read_memory_forgive(void);
/* What to do where that is not enough, for a sentence: "`FLOWTAP_READ_MEMORY=2G` in front of the command raises it". */
const char *ft_read_memory_advice(void);

#endif
