// SPDX-License-Identifier: MIT
#include "proto/buffer.h"

int ft_array_grow(void *array, size_t *cap, size_t count, size_t size)
{
    size_t new_cap = *cap ? *cap : 16;
    void *old, *data;

    if (count < *cap)
        return 0;
    while (new_cap <= count) {
        if (new_cap > SIZE_MAX / 4 / size)
            return -ENOMEM;
        new_cap *= 2;
    }
    // The pointer is copied out and in: its type is the caller's.
    memcpy(&old, array, sizeof(old));
    data = realloc(old, new_cap * size);
    if (!data)
        return -ENOMEM;
    memcpy(array, &data, sizeof(data));
    *cap = new_cap;
    return 0;
}
