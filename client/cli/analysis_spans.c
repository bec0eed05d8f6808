// SPDX-License-Identifier: MIT
#include "client/cli/analysis_spans.h"

#include "client/cli/analysis_intervals.h"

#include <string.h>

static bool is_named(struct ft_bytes bytes, const char *name)
{
    return bytes.len == strlen(name) && memcmp(bytes.data, name, bytes.len) == 0;
}

static bool is_library(struct ft_bytes category)
{
    static const char *const names[] = {"MPIIO", "HDF5", "NETCDF", "PNETCDF"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (is_named(category, names[i])) {
            return true;
        }
    }
    return category.len > 3 && memcmp(category.data + category.len - 3, ".so", 3) == 0;
}

unsigned ft_spans_sweeps(struct ft_bytes category)
{
    unsigned application = 1U << FT_SWEEP_APP;
    if (is_library(category)) {
        return 0;
    }
    if (is_named(category, "compute")) {
        return application | 1U << FT_SWEEP_COMPUTE;
    }
    if (is_named(category, "io") || is_named(category, "data")) {
        return application | 1U << FT_SWEEP_APP_IO;
    }
    return application;
}
