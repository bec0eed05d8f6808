// SPDX-License-Identifier: MIT
// A library whose functions are spans.
// CFLAGS: -O0 -fPIC -finstrument-functions
// LDFLAGS: -shared -lflowtap-functions -Wl,--build-id=sha1
#include "instrumented.h"

static int library_inner(int x)
{
    return x + 1;
}

int library_outer(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += library_inner(i);
    return sum;
}
