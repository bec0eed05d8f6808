// SPDX-License-Identifier: MIT
//
// A growable array of bytes. Zeroed is empty; ft_buffer_fini() frees.
#ifndef FT_PROTO_BUFFER_H
#define FT_PROTO_BUFFER_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct ft_buffer {
    uint8_t *data;
    size_t len;
    size_t cap;
};

static inline void ft_buffer_fini(struct ft_buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct ft_buffer){0};
}

// Room for `more` bytes behind len. 0 or -ENOMEM.
static inline int ft_buffer_reserve(struct ft_buffer *buffer, size_t more)
{
    size_t cap = buffer->cap ? buffer->cap : 256;
    uint8_t *data;

    if (more <= buffer->cap - buffer->len)
        return 0;
    if (more > SIZE_MAX / 4 - buffer->len)
        return -ENOMEM;
    while (cap - buffer->len < more)
        cap *= 2;
    data = realloc(buffer->data, cap);
    if (!data)
        return -ENOMEM;
    buffer->data = data;
    buffer->cap = cap;
    return 0;
}

static inline int ft_buffer_append(struct ft_buffer *buffer, const void *data, size_t len)
{
    int rc = ft_buffer_reserve(buffer, len);

    if (rc == 0 && len) {
        memcpy(buffer->data + buffer->len, data, len);
        buffer->len += len;
    }
    return rc;
}

// Removes the first `len` bytes.
static inline void ft_buffer_drop_front(struct ft_buffer *buffer, size_t len)
{
    if (len < buffer->len)
        memmove(buffer->data, buffer->data + len, buffer->len - len);
    buffer->len -= len;
}

// Grows *array, of elements of `size` bytes, so that it holds `count` + 1. 0 or -ENOMEM.
int ft_array_grow(void *array, size_t *cap, size_t count, size_t size);

#endif
