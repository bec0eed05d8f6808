// SPDX-License-Identifier: MIT
// A plugin that calls the library, opened by tests/programs/levels/opener.c.
#include "library.h"

long plugin_run(int n);

long plugin_run(int n)
{
    long sum = 0;
    for (int i = 0; i < n; i++)
        sum += lib_ints(i, 1, 1, 1, 1, NULL) + lib_none();
    return sum;
}
