// SPDX-License-Identifier: MIT
/* Two runs side by side as text or JSON. */
#ifndef FT_CLI_DIFF_H
#define FT_CLI_DIFF_H

#include <stdio.h>

#include "client/cli/analysis_diff.h"

/* `top`: rows of each list; 0: all. `titles`: of the two runs. */
void ft_diff_print_text(const struct ft_diff *diff, const char *const titles[2], size_t top, FILE *out);
void ft_diff_print_json(const struct ft_diff *diff, const char *const paths[2], size_t top, FILE *out);

/* Figures of the whole runs: a name, what it counts, and where it is. */
enum ft_diff_unit { FT_DIFF_SECONDS, FT_DIFF_BYTES, FT_DIFF_COUNT };
struct ft_diff_total {
    const char *name, *title;
    enum ft_diff_unit unit;
    uint64_t of[2];
};
enum { FT_DIFF_TOTAL_COUNT = 14 };
void ft_diff_totals(const struct ft_diff *diff, struct ft_diff_total out[FT_DIFF_TOTAL_COUNT]);

#endif
