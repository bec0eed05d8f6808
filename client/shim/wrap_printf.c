// SPDX-License-Identifier: MIT
/*
 * Bodies of the variadic wrappers, reached from the stubs in variadic.S where tracing is on (or not decided yet). Each
 * hands its arguments to the v-form of the same call.
 */
#include "client/shim/shapes.h"
#include "client/shim/stdio_state.h"

#include <stdarg.h>

#define VARIADIC(name) __attribute__((visibility("hidden"))) int ft_variadic_##name

typedef int vprint_function(FILE *, const char *, va_list);
typedef int vprint_checked_function(FILE *, int, const char *, va_list);

static int print(unsigned call, FILE *f, const char *format, va_list list)
{
    vprint_function *real = (vprint_function *)ft_real(FT_CALL_ID_vfprintf);
    if (!ft_enter())
        return real(f, format, list);
    struct ft_stdio io;
    io.args = (struct ft_args){STREAM(f), RET(CHARACTER)};
    ft_stdio_begin(&io, call);
    int r = real(f, format, list);
    ft_stdio_end_output(&io, call, r, r > 0 ? (uint64_t)r : 0);
    return r;
}

static int print_checked(unsigned call, FILE *f, int flag, const char *format, va_list list)
{
    vprint_checked_function *real = (vprint_checked_function *)ft_real(FT_CALL_ID___vfprintf_chk);
    if (!ft_enter())
        return real(f, flag, format, list);
    struct ft_stdio io;
    io.args = (struct ft_args){STREAM(f), RET(CHARACTER)};
    ft_stdio_begin(&io, call);
    int r = real(f, flag, format, list);
    ft_stdio_end_output(&io, call, r, r > 0 ? (uint64_t)r : 0);
    return r;
}

static int scan(unsigned call, unsigned real_call, FILE *f, const char *format, va_list list)
{
    vprint_function *real = (vprint_function *)ft_real(real_call);
    if (!ft_enter())
        return real(f, format, list);
    struct ft_stdio io;
    io.args = (struct ft_args){STREAM(f), RET(CHARACTER)};
    ft_stdio_begin_scan(&io, call);
    int r = real(f, format, list);
    ft_stdio_end_scan(&io, call, r);
    return r;
}

/*
 * On the standard streams: libc's variables are not asked for unless the call is recorded, since before this library is
 * relocated (ft_start_is_relocated) they cannot be.
 */
static int print_out(const char *format, va_list list)
{
    int (*plain)(const char *, va_list) = (int (*)(const char *, va_list))ft_real(FT_CALL_ID_vprintf);
    return ft_enter() ? print(FT_CALL_ID_printf, stdout, format, list) : plain(format, list);
}

static int print_out_checked(int flag, const char *format, va_list list)
{
    int (*plain)(int, const char *, va_list) = (int (*)(int, const char *, va_list))ft_real(FT_CALL_ID___vprintf_chk);
    return ft_enter() ? print_checked(FT_CALL_ID___printf_chk, stdout, flag, format, list) : plain(flag, format, list);
}

static int scan_in(unsigned call, unsigned real_call, unsigned plain_call, const char *format, va_list list)
{
    int (*plain)(const char *, va_list) = (int (*)(const char *, va_list))ft_real(plain_call);
    return ft_enter() ? scan(call, real_call, stdin, format, list) : plain(format, list);
}

#define WITH_LIST(last, expression) \
    do {                            \
        va_list list;               \
        va_start(list, last);       \
        int r = (expression);       \
        va_end(list);               \
        return r;                   \
    } while (0)

int ft_variadic_fprintf(FILE *f, const char *format, ...);
int ft_variadic_printf(const char *format, ...);
int ft_variadic___fprintf_chk(FILE *f, int flag, const char *format, ...);
int ft_variadic___printf_chk(int flag, const char *format, ...);
int ft_variadic_dprintf(int fd, const char *format, ...);
int ft_variadic___dprintf_chk(int fd, int flag, const char *format, ...);
int ft_variadic_fscanf(FILE *f, const char *format, ...);
int ft_variadic_scanf(const char *format, ...);
int ft_variadic___isoc99_fscanf(FILE *f, const char *format, ...);
int ft_variadic___isoc99_scanf(const char *format, ...);
int ft_variadic___isoc23_fscanf(FILE *f, const char *format, ...);
int ft_variadic___isoc23_scanf(const char *format, ...);

VARIADIC(fprintf)(FILE *f, const char *format, ...)
{
    WITH_LIST(format, print(FT_CALL_ID_fprintf, f, format, list));
}

VARIADIC(printf)(const char *format, ...)
{
    WITH_LIST(format, print_out(format, list));
}

VARIADIC(__fprintf_chk)(FILE *f, int flag, const char *format, ...)
{
    WITH_LIST(format, print_checked(FT_CALL_ID___fprintf_chk, f, flag, format, list));
}

VARIADIC(__printf_chk)(int flag, const char *format, ...)
{
    WITH_LIST(format, print_out_checked(flag, format, list));
}

static int print_fd(unsigned call, int fd, int flag, const char *format, va_list list)
{
    int (*plain)(int, const char *, va_list) = (int (*)(int, const char *, va_list))ft_real(FT_CALL_ID_vdprintf);
    int (*checked)(int, int, const char *, va_list) =
        (int (*)(int, int, const char *, va_list))ft_real(FT_CALL_ID___vdprintf_chk);
    int is_checked = call == FT_CALL_ID___dprintf_chk;
    if (!ft_enter())
        return is_checked ? checked(fd, flag, format, list) : plain(fd, format, list);
    const struct ft_args args = {FD(fd), RET(BYTES), MOVES};
    struct ft_call_state state;
    ft_begin(&state, call, &args);
    int r = is_checked ? checked(fd, flag, format, list) : plain(fd, format, list);
    ft_end(&state, call, &args, r);
    return r;
}

VARIADIC(dprintf)(int fd, const char *format, ...)
{
    WITH_LIST(format, print_fd(FT_CALL_ID_dprintf, fd, 0, format, list));
}

VARIADIC(__dprintf_chk)(int fd, int flag, const char *format, ...)
{
    WITH_LIST(format, print_fd(FT_CALL_ID___dprintf_chk, fd, flag, format, list));
}

VARIADIC(fscanf)(FILE *f, const char *format, ...)
{
    WITH_LIST(format, scan(FT_CALL_ID_fscanf, FT_CALL_ID_vfscanf, f, format, list));
}

VARIADIC(scanf)(const char *format, ...)
{
    WITH_LIST(format, scan_in(FT_CALL_ID_scanf, FT_CALL_ID_vfscanf, FT_CALL_ID_vscanf, format, list));
}

VARIADIC(__isoc99_fscanf)(FILE *f, const char *format, ...)
{
    WITH_LIST(format, scan(FT_CALL_ID___isoc99_fscanf, FT_CALL_ID___isoc99_vfscanf, f, format, list));
}

VARIADIC(__isoc99_scanf)(const char *format, ...)
{
    WITH_LIST(format, scan_in(FT_CALL_ID___isoc99_scanf, FT_CALL_ID___isoc99_vfscanf, FT_CALL_ID___isoc99_vscanf,
                              format, list));
}

VARIADIC(__isoc23_fscanf)(FILE *f, const char *format, ...)
{
    WITH_LIST(format, scan(FT_CALL_ID___isoc23_fscanf, FT_CALL_ID___isoc23_vfscanf, f, format, list));
}

VARIADIC(__isoc23_scanf)(const char *format, ...)
{
    WITH_LIST(format, scan_in(FT_CALL_ID___isoc23_scanf, FT_CALL_ID___isoc23_vfscanf, FT_CALL_ID___isoc23_vscanf,
                              format, list));
}
