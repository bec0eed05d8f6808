// SPDX-License-Identifier: MIT
#include "client/annotate/flowtap.h"

#define EXPORT __attribute__((visibility("default")))

// Exported by the shim alone. Weak: without the shim its address is NULL; only the address is looked at.
extern const char flowtap_shim_version[] __attribute__((weak));

EXPORT const char *flowtap_version(void)
{
    return FT_VERSION;
}

EXPORT int flowtap_active(void)
{
    return flowtap_shim_version != 0;
}
