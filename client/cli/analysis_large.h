// SPDX-License-Identifier: MIT
/* Large pages for arrays of millions of items that are looked up in any order. */
#ifndef FT_CLI_ANALYSIS_LARGE_H
#define FT_CLI_ANALYSIS_LARGE_H

#include <stddef.h>

/*
 * Asks for large pages where whole ones lie in these bytes. Only for memory of which everything will be touched: a large
 * page is there as a whole from the first touch on. Nothing is touched here, and a system without them changes nothing.
 */
void ft_large_advise(void *memory, size_t bytes);

#endif
