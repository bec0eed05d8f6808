// SPDX-License-Identifier: MIT
#include "daemon/user_modes.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

// The number of a name, or the number that it is.
static bool find_user(const char *name, size_t bytes, uint32_t *uid)
{
    char copy[64], strings[4096], *end;
    struct passwd entry, *user = NULL;
    if (bytes >= sizeof(copy))
        return false;
    memcpy(copy, name, bytes);
    copy[bytes] = '\0';
    unsigned long number = strtoul(copy, &end, 10);
    if (!*end) {
        *uid = (uint32_t)number;
        return number <= UINT32_MAX;
    }
    if (getpwnam_r(copy, &entry, strings, sizeof(strings), &user) != 0 || !user)
        return false;
    *uid = user->pw_uid;
    return true;
}

static size_t count_entries(const char *list)
{
    size_t count = 1;
    for (; *list; list++)
        count += *list == ',';
    return count;
}

int ft_user_modes_make(struct ft_user_modes *modes, const char *list)
{
    const char *name;
    size_t name_bytes;
    enum ft_mode mode;
    struct ft_user_modes made = {.entries = calloc(count_entries(list), sizeof(*made.entries))};
    if (!made.entries)
        return -ENOMEM;
    while (*list && ft_mode_next_entry(&list, &name, &name_bytes, &mode)) {
        struct ft_user_mode *entry = &made.entries[made.count++];
        entry->name = (struct ft_bytes){.data = name, .len = name_bytes};
        entry->mode = mode;
        entry->is_known = find_user(name, name_bytes, &entry->uid);
        made.unknown += !entry->is_known;
    }
    *modes = made;
    return 0;
}

void ft_user_modes_fini(struct ft_user_modes *modes)
{
    free(modes->entries);
    *modes = (struct ft_user_modes){.entries = NULL};
}

void ft_user_modes_take(struct ft_user_modes *modes, struct ft_user_modes *fresh)
{
    ft_user_modes_fini(modes);
    *modes = *fresh;
    *fresh = (struct ft_user_modes){.entries = NULL};
}

enum ft_mode ft_user_modes_find(const struct ft_user_modes *modes, uint32_t uid, enum ft_mode other)
{
    for (size_t i = 0; i < modes->count; i++)
        if (modes->entries[i].is_known && modes->entries[i].uid == uid)
            return modes->entries[i].mode;
    return other;
}
