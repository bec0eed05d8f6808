// SPDX-License-Identifier: MIT
#include "proto/calls.h"

#include <stddef.h>

struct call_info {
    const char *name;
    unsigned char category, group;
};

static const struct call_info infos[] = {
#define FT_CALL(id, name, category, group, ...) [id] = {#name, FT_CATEGORY_##category, FT_GROUP_##group},
#include "proto/calls.def"
#undef FT_CALL
};

#define INFO_COUNT (sizeof(infos) / sizeof(infos[0]))

const char *ft_call_name(unsigned call)
{
    return call < INFO_COUNT ? infos[call].name : NULL;
}

enum ft_category ft_call_category(unsigned call)
{
    return call < INFO_COUNT ? (enum ft_category)infos[call].category : FT_CATEGORY_NONE;
}

const char *ft_category_name(enum ft_category category)
{
    static const char *const names[FT_CATEGORY_COUNT] = {"", "POSIX", "STDIO", "PROCESS"};
    return category < FT_CATEGORY_COUNT ? names[category] : "";
}

enum ft_group ft_call_group(unsigned call)
{
    return call < INFO_COUNT ? (enum ft_group)infos[call].group : FT_GROUP_OTHER;
}

unsigned ft_call_count_max(void)
{
    return (unsigned)INFO_COUNT;
}
