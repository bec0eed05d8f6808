// SPDX-License-Identifier: MIT
#include "daemon/status.h"

#include <inttypes.h>
#include <stdio.h>

size_t ft_status_read(struct ft_status *status, struct ft_status_row *rows)
{
    size_t count = 0;
#define X(name, help) \
    rows[count++] = (struct ft_status_row){#name, help, atomic_load_explicit(&status->name, memory_order_relaxed)};
    FT_STATUS_COUNTERS(X)
#undef X
    return count;
}

void ft_status_note_write_error(struct ft_status *status, int error, int64_t now_ns)
{
    atomic_store(&status->write_error, error);
    atomic_store(&status->write_failed_ns, now_ns);
    ft_status_add(status, disk_full, 1);
}

size_t ft_status_print(struct ft_status *status, char *out, size_t room)
{
    struct ft_status_row rows[FT_STATUS_ROWS];
    size_t used = 0, count = ft_status_read(status, rows);
    out[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        if (!rows[i].value)
            continue;
        int n = snprintf(out + used, room - used, "%s%s=%" PRIu64, used ? " " : "", rows[i].name, rows[i].value);
        if (n < 0 || (size_t)n >= room - used)
            break;
        used += (size_t)n;
    }
    return used;
}
