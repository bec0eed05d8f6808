// SPDX-License-Identifier: MIT
/* Wrappers of calls on streams. */
#include "client/shim/asked.h"
#include "client/shim/environment.h"
#include "client/shim/name.h"
#include "client/shim/shapes.h"
#include "client/shim/stdio_state.h"
#include "client/shim/utf8.h"

#include <aio.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <wchar.h>

#undef FT_SHAPE_FD
#undef FT_SHAPE_FD_VOID
#undef FT_SHAPE_PATH
#undef FT_SHAPE_OPEN
#undef FT_SHAPE_LIBRARY
#undef FT_SHAPE_TEMP
#undef FT_SHAPE_MAP
#undef FT_SHAPE_DIRECTORY
#define FT_SHAPE_FD(...)
#define FT_SHAPE_FD_VOID(...)
#define FT_SHAPE_PATH(...)
#define FT_SHAPE_OPEN(...)
#define FT_SHAPE_LIBRARY(...)
#define FT_SHAPE_TEMP(...)
#define FT_SHAPE_MAP(...)
#define FT_SHAPE_DIRECTORY(...)
#define FT_SHAPE_EXIT(...)

/* glibc's _IO_EOF_SEEN and _IO_ERR_SEEN. */
#define ft_is_at_end(f) (((f)->_flags & 0x30) != 0)

/* Body of all stream wrappers; `start` begins the record, `finish` ends it, with the result in r. */
#define STREAM_CALL(id, name, returns, params, arguments, start, finish, ...) \
    FT_ENTRY(returns, name, params, arguments)                                \
    {                                                                         \
        FT_REAL(returns, name, params);                                       \
        if (ft_unlikely(real == NULL))                                        \
            return FT_ABSENT(returns);                                        \
        if (ft_unlikely(!ft_enter()))                                         \
            return real arguments;                                            \
        struct ft_stdio io;                                                   \
        io.args = (struct ft_args){__VA_ARGS__};                              \
        if (FT_IS_RELAYED(id, &io.args))                                      \
            return real arguments;                                            \
        start;                                                                \
        returns r = real arguments;                                           \
        finish;                                                               \
        return r;                                                             \
    }
#define STREAM_BODY(id, name, returns, params, arguments, finish, ...) \
    STREAM_CALL(id, name, returns, params, arguments, ft_stdio_begin(&io, id), finish, __VA_ARGS__)

/*
 * fread says how many whole items came, not how many bytes of the next: it is asked for the same number of bytes in
 * items of one byte, which glibc turns every request into.
 */
#define FT_SHAPE_STDIO_ITEMS(id, name, returns, params, arguments, got, ...)                       \
    FT_ENTRY(returns, name, params, arguments)                                                     \
    {                                                                                              \
        FT_REAL(returns, name, params);                                                            \
        size_t items = n, item = size, bytes;                                                      \
        if (ft_unlikely(!ft_enter()) || __builtin_mul_overflow(item, items, &bytes) || bytes == 0) \
            return real arguments;                                                                 \
        struct ft_stdio io;                                                                        \
        io.args = (struct ft_args){__VA_ARGS__};                                                   \
        if (FT_IS_RELAYED(id, &io.args))                                                           \
            return real arguments;                                                                 \
        ft_stdio_begin(&io, id);                                                                   \
        size = 1;                                                                                  \
        n = bytes;                                                                                 \
        size_t moved = real arguments;                                                             \
        size_t r = moved == bytes ? items : moved / item;                                          \
        ft_stdio_end_input(&io, id, (long)r, moved);                                               \
        return r;                                                                                  \
    }

#define FT_SHAPE_STDIO_IN(id, name, returns, params, arguments, got, ...)                                         \
    STREAM_BODY(id, name, returns, params, arguments, ft_stdio_end_input(&io, id, FT_NUMBER(r), (uint64_t)(got)), \
                __VA_ARGS__)
#define FT_SHAPE_STDIO_OUT(id, name, returns, params, arguments, got, ...)                                         \
    STREAM_BODY(id, name, returns, params, arguments, ft_stdio_end_output(&io, id, FT_NUMBER(r), (uint64_t)(got)), \
                __VA_ARGS__)
#define FT_SHAPE_STDIO_GETS(id, name, returns, params, arguments, got, ...) \
    STREAM_BODY(id, name, returns, params, arguments,                       \
                ft_stdio_end_line(&io, id, r != NULL, r != NULL ? ft_length(r) : 0), __VA_ARGS__)
/* How much scanf took is not told: what left the buffer and came into it, from the stream's own pointers. */
#define FT_SHAPE_STDIO_SCAN(id, name, returns, params, arguments, got, ...)                                        \
    STREAM_CALL(id, name, returns, params, arguments, ft_stdio_begin_scan(&io, id), ft_stdio_end_scan(&io, id, r), \
                __VA_ARGS__)
#define FT_SHAPE_STDIO_OTHER(id, name, returns, params, arguments, got, ...) \
    STREAM_BODY(id, name, returns, params, arguments, ft_stdio_end(&io, id, (long)r), __VA_ARGS__)
#define FT_SHAPE_STDIO_SEEK(id, name, returns, params, arguments, got, ...)                                \
    STREAM_CALL(id, name, returns, params, arguments, (ft_stdio_flush_unseen(f), ft_stdio_begin(&io, id)), \
                ft_stdio_end_seek(&io, id, r), __VA_ARGS__)
/* Of all streams: what is unseen in each is recorded first. */
#define FT_SHAPE_STDIO_FLUSH(id, name, returns, params, arguments, got, ...)                                        \
    STREAM_CALL(id, name, returns, params, arguments,                                                               \
                (f == NULL ? ft_stdio_finish() : (void)0, ft_stdio_begin(&io, id)), ft_stdio_end_flush(&io, id, r), \
                __VA_ARGS__)
#define FT_SHAPE_STDIO_WIDE(id, name, returns, params, arguments, got, ...) \
    STREAM_BODY(id, name, returns, params, arguments, ft_stdio_end_wide(&io, id, (int)r, (uint64_t)(got)), __VA_ARGS__)
#define FT_SHAPE_STDIO_WIDE_STRING(id, name, returns, params, arguments, got, ...)                            \
    STREAM_BODY(id, name, returns, params, arguments, ft_stdio_end_wide(&io, id, r != NULL, (uint64_t)(got)), \
                __VA_ARGS__)
#define FT_SHAPE_STDIO_OTHER_VOID(id, name, returns, params, arguments, got, ...) \
    FT_ENTRY(void, name, params, arguments)                                       \
    {                                                                             \
        FT_REAL(void, name, params);                                              \
        if (ft_unlikely(!ft_enter())) {                                           \
            real arguments;                                                       \
            return;                                                               \
        }                                                                         \
        struct ft_stdio io;                                                       \
        io.args = (struct ft_args){__VA_ARGS__};                                  \
        ft_stdio_begin(&io, id);                                                  \
        real arguments;                                                           \
        ft_stdio_end(&io, id, 0);                                                 \
    }
#define FT_SHAPE_STDIO_SEEK_VOID(id, name, returns, params, arguments, got, ...) \
    FT_ENTRY(void, name, params, arguments)                                      \
    {                                                                            \
        FT_REAL(void, name, params);                                             \
        if (ft_unlikely(!ft_enter())) {                                          \
            real arguments;                                                      \
            return;                                                              \
        }                                                                        \
        struct ft_stdio io;                                                      \
        io.args = (struct ft_args){__VA_ARGS__};                                 \
        ft_stdio_flush_unseen(f);                                                \
        ft_stdio_begin(&io, id);                                                 \
        real arguments;                                                          \
        ft_stdio_end_seek(&io, id, 0);                                           \
    }

#define FT_SHAPE_FOPEN(id, name, returns, params, arguments, got, ...)                   \
    FT_ENTRY(returns, name, params, arguments)                                           \
    {                                                                                    \
        FT_REAL(returns, name, params);                                                  \
        if (ft_unlikely(!ft_enter()))                                                    \
            return real arguments;                                                       \
        if (FT_IS_RELAYED(id, &FT_ASKED(__VA_ARGS__)))                                   \
            return real arguments;                                                       \
        struct ft_call_state state;                                                      \
        ft_path_begin(&state, id);                                                       \
        ft_thread.call_path = FT_ASKED(__VA_ARGS__).path;                                \
        returns r = real arguments;                                                      \
        const struct ft_args args = {__VA_ARGS__};                                       \
        ft_stream_opened(&state, id, &args, r != NULL ? ft_stdio_descriptor(r) : -1, 0); \
        return r;                                                                        \
    }

#define FT_CALL FT_MAKE
#include "proto/calls.def"

static void stream_opened(const struct ft_call_state *running, unsigned call, const struct ft_args *args, int fd,
                          int flags, uint64_t unseen)
{
    struct ft_call_state state = *running;
    struct ft_outcome o = {.args = args, .result = fd, .end = ft_end_clock(running)};
    o.has_error = 1;
    o.error = fd < 0 ? errno : 0;
    if (args->has_path && ft_asked_path(&o, args->path))
        state.file = ft_name_path(args->dirfd, args->path, &o.is_cut);
    if (fd >= 0)
        ft_note_opened(&state, &o, fd, flags, 1);
    if (state.file == FT_FILE_EXCLUDED)
        return;
    if (state.file == 0 && fd >= 0)
        ft_fd_first_use(&state, fd); /* tmpfile, popen: what the kernel calls it */
    struct ft_args with_fd = *args;
    with_fd.ret = FT_RET_FD;
    o.args = &with_fd;
    o.has_bytes = unseen != 0; /* what the stream was still to write of its file before */
    o.bytes = unseen;
    state.slot = NULL;
    ft_record(&state, call, &o);
}

void ft_stream_opened(const struct ft_call_state *running, unsigned call, const struct ft_args *args, int fd, int flags)
{
    stream_opened(running, call, args, fd, flags, 0);
}

static int close_stream(unsigned call, int (*real)(FILE *), FILE *f)
{
    if (f == NULL || !ft_enter())
        return real(f);
    struct ft_stdio io;
    io.args = (struct ft_args){STREAM(f), RET(VALUE)};
    ft_stdio_begin(&io, call);
    if (io.args.has_fd) {
        ft_fd_closing(io.args.fd);
        ft_fd_stream_closing(io.args.fd, f);
    }
    io.args.stream = NULL; /* gone after the call */
    int r = real(f);
    io.state.slot = NULL;
    ft_stdio_end(&io, call, r);
    return r;
}

#define CLOSE_STREAM(name)                               \
    FT_EXPORT(int, name, (FILE * f))                     \
    {                                                    \
        FT_REAL(int, name, (FILE *));                    \
        return close_stream(FT_CALL_ID_##name, real, f); \
    }

CLOSE_STREAM(fclose)
CLOSE_STREAM(pclose)
CLOSE_STREAM(endmntent)

FT_EXPORT(int, fcloseall, (void))
{
    FT_REAL(int, fcloseall, (void));
    if (!ft_enter())
        return real();
    ft_stdio_finish();
    const struct ft_args args = {RET(VALUE)};
    struct ft_call_state state;
    ft_path_begin(&state, FT_CALL_ID_fcloseall);
    int r = real();
    ft_path_end(&state, FT_CALL_ID_fcloseall, &args, r);
    return r;
}

static FILE *reopen(unsigned call, FILE *(*real)(const char *, const char *, FILE *), const char *path,
                    const char *mode, FILE *f)
{
    struct ft_call_state state;
    uint64_t unseen = f != NULL ? ft_stdio_take_unseen(f) : 0;
    int before = f != NULL ? ft_stdio_descriptor(f) : -1;
    ft_path_begin(&state, call);
    if (before >= 0)
        ft_fd_closing(before);
    FILE *r = real(path, mode, f);
    const struct ft_args args = {PATH(path), RET(STREAM)};
    stream_opened(&state, call, &args, r != NULL ? ft_stdio_descriptor(r) : -1, 0, unseen);
    return r;
}

FT_EXPORT(FILE *, freopen, (const char *path, const char *mode, FILE *f))
{
    FT_REAL(FILE *, freopen, (const char *, const char *, FILE *));
    if (!ft_enter())
        return real(path, mode, f);
    return reopen(FT_CALL_ID_freopen, real, path, mode, f);
}

FT_EXPORT(FILE *, freopen64, (const char *path, const char *mode, FILE *f))
{
    FT_REAL(FILE *, freopen64, (const char *, const char *, FILE *));
    if (!ft_enter())
        return real(path, mode, f);
    return reopen(FT_CALL_ID_freopen64, real, path, mode, f);
}

FT_EXPORT(FILE *, popen, (const char *command, const char *mode))
{
    FT_REAL(FILE *, popen, (const char *, const char *));
    if (!ft_enter())
        return real(command, mode);
    struct ft_call_state state;
    ft_path_begin(&state, FT_CALL_ID_popen);
    __atomic_fetch_add(&ft_process.spawn_count, 1, __ATOMIC_RELAXED);
    struct ft_lent lent;
    const struct ft_args args = {RET(STREAM), .follow = (uint8_t)ft_environment_lend(&lent)};
    FILE *r = real(command, mode);
    ft_environment_take_back(&lent);
    ft_stream_opened(&state, FT_CALL_ID_popen, &args, r != NULL ? ft_stdio_descriptor(r) : -1, 0);
    return r;
}
