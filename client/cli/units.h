// SPDX-License-Identifier: MIT
/* Human units: three significant digits, binary multiples for bytes. All write into the caller's buffer and return it.
 */
#ifndef FT_CLI_UNITS_H
#define FT_CLI_UNITS_H

#include <stdint.h>

struct ft_unit_text {
    char text[64];
};

const char *ft_units_bytes(struct ft_unit_text *out, uint64_t bytes);            /* 999 B, 1.23 GiB */
const char *ft_units_rate(struct ft_unit_text *out, uint64_t bytes, int64_t ns); /* 456 MiB/s; - for no time */
const char *ft_units_time(struct ft_unit_text *out, int64_t ns);                 /* 0 s, 12 ns, 1.23 ms, 2 min 03 s */
const char *ft_units_count(struct ft_unit_text *out, uint64_t count);            /* 12,345 */
/* "1 call", "2,190 calls": what one and what several are called. */
const char *ft_units_counted(struct ft_unit_text *out, uint64_t count, const char *one, const char *several);
const char *ft_units_share(struct ft_unit_text *out, double part, double whole); /* 26 %; - for no whole */

#endif
