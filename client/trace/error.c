// SPDX-License-Identifier: MIT
/* Errors as values, and structs that may be older or newer than ours. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "client/trace/impl.h"

int ft_library_fail(struct flowtap_trace_error *error, int code, const char *format, ...)
{
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        error->code = code;
        error->at = 0;
        vsnprintf(error->text, sizeof(error->text), format, arguments);
        va_end(arguments);
    }
    return code;
}

int ft_library_no_memory(struct flowtap_trace_error *error)
{
    return ft_library_fail(error, -ENOMEM, "out of memory");
}

void ft_library_give(void *out, size_t out_bytes, const void *from, size_t from_bytes)
{
    size_t shared = out_bytes < from_bytes ? out_bytes : from_bytes;
    memset(out, 0, out_bytes);
    if (shared > 0) {
        memcpy(out, from, shared);
    }
}

const char *flowtap_trace_version(void)
{
    return FT_VERSION;
}
