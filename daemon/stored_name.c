// SPDX-License-Identifier: MIT
#include "daemon/stored_name.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void ft_stored_name_print(const struct ft_stored_name *name, char out[FT_STORED_NAME_BYTES])
{
    snprintf(out, FT_STORED_NAME_BYTES,
             "ft1-%" PRIx32 "-%" PRIx32 "-%" PRIx32 "-%" PRIx64 "-%" PRIx64 "-%" PRIx64 "-%" PRIx64, name->uid,
             name->gid, name->pid, name->start_time, name->pidfd_id, name->segment, name->folder);
}

int ft_stored_name_parse(const char *text, struct ft_stored_name *out)
{
    struct ft_stored_name name;
    char again[FT_STORED_NAME_BYTES];
    int fields = sscanf(text, "ft1-%" SCNx32 "-%" SCNx32 "-%" SCNx32 "-%" SCNx64 "-%" SCNx64 "-%" SCNx64 "-%" SCNx64,
                        &name.uid, &name.gid, &name.pid, &name.start_time, &name.pidfd_id, &name.segment, &name.folder);
    if (fields != 7)
        return -EINVAL;
    // scanf takes blanks, signs and prefixes too.
    ft_stored_name_print(&name, again);
    if (strcmp(again, text) != 0)
        return -EINVAL;
    *out = name;
    return 0;
}

uint64_t ft_stored_name_folder(const char *component)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); // FNV-1a
    for (; *component; component++)
        hash = (hash ^ (unsigned char)*component) * UINT64_C(0x100000001b3);
    return hash;
}
