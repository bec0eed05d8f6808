// SPDX-License-Identifier: MIT
/* Bodies of the variadic wrappers of wide characters, as wrap_printf.c has those of bytes. */
#include "client/shim/shapes.h"
#include "client/shim/stdio_state.h"

#include <stdarg.h>
#include <wchar.h>

typedef int format_function(FILE *, const wchar_t *, va_list);
typedef int checked_function(FILE *, int, const wchar_t *, va_list);

static int finish(struct ft_stdio *io, unsigned call, int r, int is_output)
{
    ft_stdio_end_wide(io, call, r, is_output && r > 0 ? (uint64_t)r : 0);
    return r;
}

static int print(unsigned call, FILE *f, const wchar_t *format, va_list list)
{
    format_function *real = (format_function *)ft_real(FT_CALL_ID_vfwprintf);
    if (!ft_enter())
        return real(f, format, list);
    struct ft_stdio io;
    io.args = (struct ft_args){STREAM(f), RET(CHARACTER)};
    ft_stdio_begin(&io, call);
    return finish(&io, call, real(f, format, list), 1);
}

static int print_checked(unsigned call, FILE *f, int flag, const wchar_t *format, va_list list)
{
    checked_function *real = (checked_function *)ft_real(FT_CALL_ID___vfwprintf_chk);
    if (!ft_enter())
        return real(f, flag, format, list);
    struct ft_stdio io;
    io.args = (struct ft_args){STREAM(f), RET(CHARACTER)};
    ft_stdio_begin(&io, call);
    return finish(&io, call, real(f, flag, format, list), 1);
}

static int scan(unsigned call, unsigned real_call, FILE *f, const wchar_t *format, va_list list)
{
    format_function *real = (format_function *)ft_real(real_call);
    if (!ft_enter())
        return real(f, format, list);
    struct ft_stdio io;
    io.args = (struct ft_args){STREAM(f), RET(VALUE)};
    ft_stdio_begin(&io, call);
    return finish(&io, call, real(f, format, list), 0);
}

/* One body each: its parameters, the last of them, what it does with the list of the others. */
#define BODY(name, params, last, expression)                             \
    __attribute__((visibility("hidden"))) int ft_variadic_##name params; \
    __attribute__((visibility("hidden"))) int ft_variadic_##name params  \
    {                                                                    \
        va_list list;                                                    \
        va_start(list, last);                                            \
        int r = (expression);                                            \
        va_end(list);                                                    \
        return r;                                                        \
    }
#define SCAN(prefix)                                                                         \
    BODY(prefix##fwscanf, (FILE * f, const wchar_t *format, ...), format,                    \
         scan(FT_CALL_ID_##prefix##fwscanf, FT_CALL_ID_##prefix##vfwscanf, f, format, list)) \
    BODY(prefix##wscanf, (const wchar_t *format, ...), format,                               \
         scan(FT_CALL_ID_##prefix##wscanf, FT_CALL_ID_##prefix##vfwscanf, stdin, format, list))

BODY(fwprintf, (FILE * f, const wchar_t *format, ...), format, print(FT_CALL_ID_fwprintf, f, format, list))
BODY(wprintf, (const wchar_t *format, ...), format, print(FT_CALL_ID_wprintf, stdout, format, list))
BODY(__fwprintf_chk, (FILE * f, int flag, const wchar_t *format, ...), format,
     print_checked(FT_CALL_ID___fwprintf_chk, f, flag, format, list))
BODY(__wprintf_chk, (int flag, const wchar_t *format, ...), format,
     print_checked(FT_CALL_ID___wprintf_chk, stdout, flag, format, list))
SCAN()
SCAN(__isoc99_)
SCAN(__isoc23_)
