// SPDX-License-Identifier: MIT
// Preloaded: as many processors as the environment variable PROCESSORS says.
// CFLAGS: -fPIC
// LDFLAGS: -shared
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

long sysconf(int name)
{
    static long (*next)(int);
    const char *processors = getenv("PROCESSORS");
    if (!next)
        next = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");
    return name == _SC_NPROCESSORS_ONLN && processors ? atol(processors) : next(name);
}
