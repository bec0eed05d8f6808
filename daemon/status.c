// SPDX-License-Identifier: MIT
#include "daemon/status.h"

#include <inttypes.h>
#include <stdio.h>

size_t ft_status_print(struct ft_status *status, char *out, size_t room)
{
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
#define X(name, help) {#name, atomic_load_explicit(&status->name, memory_order_relaxed)},
        FT_STATUS_COUNTERS(X)
#undef X
    };
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (!rows[i].value)
            continue;
        int n = snprintf(out + used, room - used, "%s%s=%" PRIu64, used ? " " : "", rows[i].name, rows[i].value);
        if (n < 0 || (size_t)n >= room - used)
            break;
        used += (size_t)n;
    }
    return used;
}
