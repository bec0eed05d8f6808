// SPDX-License-Identifier: MIT
#include "client/cli/analysis_count.h"

#include <stddef.h>
#include <string.h>

#include "proto/calls.h"
#include "proto/trace_event.h"

static bool is_file(unsigned file_class)
{
    return file_class == FT_FILE_CLASS_STORAGE || file_class == FT_FILE_CLASS_UNKNOWN;
}

unsigned ft_count_of(unsigned group, unsigned file_class, unsigned file2_class)
{
    unsigned other = file_class == FT_FILE_CLASS_OTHER ? FT_COUNT_OTHER_IO : 0;
    switch (group) {
    case FT_GROUP_READ:
        return is_file(file_class) ? FT_COUNT_READ : other;
    case FT_GROUP_WRITE:
        return is_file(file_class) ? FT_COUNT_WRITE : other;
    case FT_GROUP_METADATA:
    case FT_GROUP_MAP:
        return is_file(file_class) ? FT_COUNT_METADATA : 0;
    case FT_GROUP_TRANSFER: {
        unsigned mask = (is_file(file_class) ? FT_COUNT_READ : 0) | (is_file(file2_class) ? FT_COUNT_WRITE : 0);
        return mask ? mask : other | (file2_class == FT_FILE_CLASS_OTHER ? FT_COUNT_OTHER_IO : 0);
    }
    default:
        return 0;
    }
}

bool ft_count_has_category(const char *category)
{
    return strcmp(category, "POSIX") == 0 || strcmp(category, "STDIO") == 0;
}

static bool has_prefix(const char *name, const char *const *prefixes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) {
            return true;
        }
    }
    return false;
}

unsigned ft_count_of_stream(const char *name, const char *category, unsigned group)
{
    static const char *const seeks[] = {"fseek", "rewind", "fsetpos"};
    if (group != FT_GROUP_METADATA || strcmp(category, "STDIO") != 0) {
        return 0;
    }
    return has_prefix(name, seeks, sizeof(seeks) / sizeof(seeks[0])) ? FT_COUNT_READ : FT_COUNT_WRITE;
}

bool ft_count_is_open(const char *name)
{
    static const char *const prefixes[] = {"open",     "creat",        "fopen",    "freopen", "mkstemp",
                                           "mkostemp", "memfd_create", "shm_open", "tmpfile"};
    return has_prefix(name + strspn(name, "_"), prefixes, sizeof(prefixes) / sizeof(prefixes[0]));
}

unsigned ft_count_kernel_sides(const char *name, unsigned group)
{
    static const char *const never[] = {"splice", "vmsplice", "tee",  "recv", "__recv",
                                        "sendto", "sendm",    "aio_", "lio_"};
    static const char *const both[] = {"sendfile", "copy_file_range"};
    static const char *const one[] = {"aio_return"}; /* of what libc's threads did */
    if (has_prefix(name, both, sizeof(both) / sizeof(both[0]))) {
        return 2;
    }
    if (has_prefix(name, one, sizeof(one) / sizeof(one[0]))) {
        return 1;
    }
    if (has_prefix(name, never, sizeof(never) / sizeof(never[0])) || strcmp(name, "send") == 0) {
        return 0;
    }
    return group == FT_GROUP_READ || group == FT_GROUP_WRITE;
}

bool ft_count_is_late(const char *name, unsigned group)
{
    return group == FT_GROUP_TRANSFER && ft_count_kernel_sides(name, group) == 1;
}
