// SPDX-License-Identifier: MIT
/*
 * Wrappers made from rows of proto/calls.def. A file that makes some defines FT_CALL to FT_MAKE and, for shapes that it
 * does not make, nothing.
 *
 *   FD        on a descriptor, or on nothing: hot, all inline         FD_VOID   the same, returns nothing
 *   PATH      on one or two paths: names are written at the end       OPEN      the same, makes a descriptor
 *   TEMP      mkstemp: the path is what the call made of it           MAP       mmap: recorded with a file only
 *   DIRECTORY, FOPEN   open a stream of their own                     LIBRARY   of a library that may not be there
 *   EXIT      recorded before the call, which does not return
 *   STDIO_*   on a stream (wrap_stdio.c)                              VARIADIC  stub in variadic.S, body in wrap_printf.c
 *   CUSTOM, CUSTOM_VOID, ASSEMBLY   by hand
 *
 * A wrapper's symbol is the call's name; its C name has a prefix, so that no header's declaration is in the way.
 */
#ifndef FT_SHIM_SHAPES_H
#define FT_SHIM_SHAPES_H

#include "client/shim/hot.h"
#include "client/shim/real.h"
#include "client/shim/relay.h"
#include "proto/calls.h"

#define FT_WRAPPER(name) ft_wrap_##name
#ifdef FT_SHIM_UNIT_TEST
#define FT_EXPORT(ret, name, params) \
    ret FT_WRAPPER(name) params;     \
    ret FT_WRAPPER(name) params
#else
#define FT_EXPORT(ret, name, params)                            \
    __attribute__((visibility("default"))) ret FT_WRAPPER(name) \
    params __asm__(#name);                                      \
    ret FT_WRAPPER(name) params
#endif

/*
 * A wrapper that a row makes has two parts, so that where tracing is off nothing is saved on the stack: the entry jumps
 * to the real function or to the body.
 */
#define FT_ENTRY(returns, name, params, arguments)                  \
    static __attribute__((noinline)) returns ft_body_##name params; \
    FT_EXPORT(returns, name, params)                                \
    {                                                               \
        FT_REAL_IF_KNOWN(returns, name, params);                    \
        if (ft_thread.mode == FT_MODE_OFF && real != NULL)          \
            return real arguments;                                  \
        return ft_body_##name arguments;                            \
    }                                                               \
    static returns ft_body_##name params

/* What to record: designated initializers of struct ft_args. */
#define FD(x) .has_fd = 1, .fd = (x)
#define FD2(x) .has_fd2 = 1, .fd2 = (x)
#define PATH(p) .has_path = 1, .path = (p), .dirfd = FT_AT_FDCWD
#define AT(d, p) .has_path = 1, .path = (p), .dirfd = (d)
#define PATH2(p) .has_path2 = 1, .path2 = (p), .dirfd2 = FT_AT_FDCWD
#define AT2(d, p) .has_path2 = 1, .path2 = (p), .dirfd2 = (d)
#define SIZE(n) .has_size = 1, .size = (int64_t)(n)
#define OFFSET(x) .has_offset = 1, .offset = (x)
#define OFFSET_OR_POSITION(x) .has_offset = 1, .offset = (x), .offset_or_moves = 1
#define APPENDS_WITH(flag) .appends = (flag) != 0, .untracks = (flag) != 0 && offset == -1
#define UNTRACKS .untracks = 1
#define VECTOR(v, n) .vector = (v), .vector_count = (size_t)(n)
#define MESSAGE(m) .message = (m)
#define MESSAGES(m) .messages = (m)
#define RECEIVES .receives = 1
#define SHIFTS(p) .has_shifts = 1, .shifts = (p)
#define SHIFTS2(p) .has_shifts2 = 1, .shifts2 = (p)
#define ARG(x) .has_arg = 1, .arg = (uint64_t)(x)
#define RET(kind) .ret = FT_RET_##kind
#define MOVES .moves = 1
#define OPENS .opens = 1
#define NEW_FD .opens = 1
#define FRESH .fresh = 1
#define NO_BYTES .no_bytes = 1
#define RENAMES .renames = 1
#define STREAM(f) .has_stream = 1, .stream = (f)
#define AIO(cb) FD((cb)->aio_fildes), SIZE((cb)->aio_nbytes), OFFSET((cb)->aio_offset)

/* Descriptor of a directory stream: the first member of glibc's struct __dirstream since 1997. */
#define ft_dir_fd(dir) (*(const int *)(const void *)(dir))

/* `real`: the function that the wrapper stands before. NULL only where a library lacks it. */
#define FT_REAL(ret, name, params) ret(*real) params = (ret(*) params)ft_real(FT_CALL_ID_##name)

#define FT_REAL_IF_KNOWN(ret, name, params) \
    ret(*real) params = (ret(*) params)__atomic_load_n(&ft_real_table[FT_CALL_ID_##name], __ATOMIC_RELAXED)

#define FT_MAKE(id, name, category, group, shape, ...) FT_SHAPE_##shape(id, name, __VA_ARGS__)

/* A result as a number. Functions of a library that is not there say so. */
#define FT_NUMBER(r) ((long)(intptr_t)(r))
#define FT_ABSENT(ret) (errno = ENOSYS, (ret)(intptr_t)-1)

/*
 * A call on a descriptor has two bodies: of the ordinary call, all inline, and of any other, to which the first leaves
 * nothing but what the caller passed. The entry looks which it is, as far as that costs no register.
 */
#define FT_ENTRY_PLAIN(returns, name, params, arguments)                                                \
    static __attribute__((noinline)) returns ft_body_##name params;                                     \
    static __attribute__((noinline)) returns ft_other_##name params;                                    \
    FT_EXPORT(returns, name, params)                                                                    \
    {                                                                                                   \
        FT_REAL_IF_KNOWN(returns, name, params);                                                        \
        uint8_t mode_ = ft_thread.mode;                                                                 \
        if (ft_likely(mode_ == FT_MODE_ON) && ft_likely(real != NULL) && ft_likely(ft_wiped.base != 0)) \
            return ft_body_##name arguments;                                                            \
        if (mode_ == FT_MODE_OFF && real != NULL)                                                       \
            return real arguments;                                                                      \
        return ft_other_##name arguments;                                                               \
    }

#define FT_END(id, result, ...)                                                           \
    do {                                                                                  \
        uint64_t end_ = 0;                                                                \
        int64_t position_ = -1;                                                           \
        if (ft_unlikely(!ft_end_plain(&state, id, &args, (result), &end_, &position_))) { \
            const struct ft_args again_ = {__VA_ARGS__};                                  \
            ft_end_other(ft_plain_state(&state), id, &again_, (result), end_, position_); \
        }                                                                                 \
    } while (0)

#define FT_SHAPE_FD(id, name, returns, params, arguments, got, ...) \
    FT_ENTRY_PLAIN(returns, name, params, arguments)                \
    static returns ft_body_##name params                            \
    {                                                               \
        FT_REAL_IF_KNOWN(returns, name, params);                    \
        const struct ft_args args = {__VA_ARGS__};                  \
        struct ft_call_state state;                                 \
        if (ft_unlikely(!ft_begin_plain(&state, id, &args)))        \
            return ft_other_##name arguments;                       \
        returns r = real arguments;                                 \
        FT_END(id, FT_NUMBER(r), __VA_ARGS__);                      \
        return r;                                                   \
    }                                                               \
    static returns ft_other_##name params                           \
    {                                                               \
        FT_REAL(returns, name, params);                             \
        if (ft_unlikely(real == NULL))                              \
            return FT_ABSENT(returns);                              \
        if (ft_unlikely(!ft_enter()))                               \
            return real arguments;                                  \
        const struct ft_args args = {__VA_ARGS__};                  \
        if (FT_IS_RELAYED(id, &args))                               \
            return real arguments;                                  \
        struct ft_call_state state;                                 \
        ft_begin_other(&state, id, &args, FT_FRAME());              \
        returns r = real arguments;                                 \
        ft_end(&state, id, &args, FT_NUMBER(r));                    \
        return r;                                                   \
    }

#define FT_SHAPE_FD_VOID(id, name, returns, params, arguments, got, ...) \
    FT_ENTRY_PLAIN(void, name, params, arguments)                        \
    static void ft_body_##name params                                    \
    {                                                                    \
        FT_REAL_IF_KNOWN(void, name, params);                            \
        const struct ft_args args = {__VA_ARGS__};                       \
        struct ft_call_state state;                                      \
        if (ft_unlikely(!ft_begin_plain(&state, id, &args))) {           \
            ft_other_##name arguments;                                   \
            return;                                                      \
        }                                                                \
        real arguments;                                                  \
        FT_END(id, 0, __VA_ARGS__);                                      \
    }                                                                    \
    static void ft_other_##name params                                   \
    {                                                                    \
        FT_REAL(void, name, params);                                     \
        if (ft_unlikely(real == NULL))                                   \
            return;                                                      \
        if (ft_unlikely(!ft_enter())) {                                  \
            real arguments;                                              \
            return;                                                      \
        }                                                                \
        const struct ft_args args = {__VA_ARGS__};                       \
        struct ft_call_state state;                                      \
        ft_begin_other(&state, id, &args, FT_FRAME());                   \
        real arguments;                                                  \
        ft_end(&state, id, &args, 0);                                    \
    }

/* Out of line: begins a call that has no descriptor, ends one with everything. */
void ft_path_begin(struct ft_call_state *state, unsigned call);
void ft_path_end(struct ft_call_state *state, unsigned call, const struct ft_args *args, long result);
/* A call recorded before it is made, with duration 0. */
void ft_event_before(unsigned call, const struct ft_args *args);

#define FT_SHAPE_PATH(id, name, returns, params, arguments, got, ...) \
    FT_ENTRY(returns, name, params, arguments)                        \
    {                                                                 \
        FT_REAL(returns, name, params);                               \
        if (ft_unlikely(real == NULL))                                \
            return FT_ABSENT(returns);                                \
        if (ft_unlikely(!ft_enter()))                                 \
            return real arguments;                                    \
        if (FT_IS_RELAYED(id, &FT_ASKED(__VA_ARGS__)))                \
            return real arguments;                                    \
        struct ft_call_state state;                                   \
        ft_path_begin(&state, id);                                    \
        ft_thread.call_path = FT_ASKED(__VA_ARGS__).path;             \
        returns r = real arguments;                                   \
        const struct ft_args args = {__VA_ARGS__};                    \
        ft_path_end(&state, id, &args, FT_NUMBER(r));                 \
        return r;                                                     \
    }

#define FT_SHAPE_OPEN FT_SHAPE_PATH
#define FT_SHAPE_LIBRARY FT_SHAPE_FD
#define FT_SHAPE_TEMP(id, name, returns, params, arguments, got, ...) \
    FT_SHAPE_PATH(id, name, returns, params, arguments, got, PATH(path), __VA_ARGS__)

#define FT_SHAPE_MAP(id, name, returns, params, arguments, got, ...)       \
    FT_ENTRY(returns, name, params, arguments)                             \
    {                                                                      \
        FT_REAL(returns, name, params);                                    \
        if (fd < 0 || (flags & MAP_ANONYMOUS) || ft_unlikely(!ft_enter())) \
            return real arguments;                                         \
        const struct ft_args args = {__VA_ARGS__};                         \
        if (FT_IS_RELAYED(id, &args))                                      \
            return real arguments;                                         \
        struct ft_call_state state;                                        \
        ft_begin_other(&state, id, &args, FT_FRAME());                     \
        returns r = real arguments;                                        \
        ft_end(&state, id, &args, FT_NUMBER(r));                           \
        return r;                                                          \
    }

/* Ends a call that opened a directory stream or a FILE on `fd`; r is 0 where it failed. */
void ft_stream_opened(const struct ft_call_state *state, unsigned call, const struct ft_args *args, int fd, int flags);

#define FT_SHAPE_DIRECTORY(id, name, returns, params, arguments, got, ...)             \
    FT_ENTRY(returns, name, params, arguments)                                         \
    {                                                                                  \
        FT_REAL(returns, name, params);                                                \
        if (ft_unlikely(!ft_enter()))                                                  \
            return real arguments;                                                     \
        if (FT_IS_RELAYED(id, &FT_ASKED(__VA_ARGS__)))                                 \
            return real arguments;                                                     \
        struct ft_call_state state;                                                    \
        ft_path_begin(&state, id);                                                     \
        ft_thread.call_path = FT_ASKED(__VA_ARGS__).path;                              \
        returns r = real arguments;                                                    \
        const struct ft_args args = {__VA_ARGS__};                                     \
        ft_stream_opened(&state, id, &args, r != NULL ? ft_dir_fd(r) : -1, O_CLOEXEC); \
        return r;                                                                      \
    }

#define FT_SHAPE_CUSTOM(...)
#define FT_SHAPE_CUSTOM_VOID(...)
#define FT_SHAPE_ASSEMBLY(...)
#define FT_SHAPE_VARIADIC(...)

#endif
