// SPDX-License-Identifier: MIT
/*
 * Calls that change which file a descriptor is. The table changes before a close and after an open (fd.h): a thread that
 * uses a number while another closes it sees the change and marks its record.
 */
#include "client/shim/apart.h"
#include "client/shim/name.h"
#include "client/shim/shapes.h"

#include <dirent.h>
#include <fcntl.h>

/* This call's own change is no race. */
static void accept_change(struct ft_call_state *state)
{
    if (state->slot != NULL)
        state->generation = __atomic_load_n(&state->slot->generation, __ATOMIC_RELAXED);
}

static void end_with(struct ft_call_state *state, unsigned call, const struct ft_args *args, long result)
{
    accept_change(state);
    ft_end(state, call, args, result);
}

static int close_by(unsigned call, int (*real)(int), int fd)
{
    if (!ft_enter())
        return real(fd);
    const struct ft_args args = {FD(fd), RET(STATUS)};
    if (FT_IS_RELAYED(call, &args))
        return real(fd);
    struct ft_call_state state;
    ft_begin(&state, call, &args);
    ft_fd_closing(fd);
    accept_change(&state);
    int r = real(fd);
    ft_end(&state, call, &args, r);
    return r;
}

FT_EXPORT(int, close, (int fd))
{
    FT_REAL(int, close, (int));
    return close_by(FT_CALL_ID_close, real, fd);
}

FT_EXPORT(int, __close, (int fd))
{
    FT_REAL(int, __close, (int));
    return close_by(FT_CALL_ID___close, real, fd);
}

FT_EXPORT(int, mq_close, (int fd))
{
    FT_REAL(int, mq_close, (int));
    if (real == NULL)
        return FT_ABSENT(int);
    return close_by(FT_CALL_ID_mq_close, real, fd);
}

FT_EXPORT(int, closedir, (DIR * dir))
{
    FT_REAL(int, closedir, (DIR *));
    if (dir == NULL || !ft_enter())
        return real(dir);
    const struct ft_args args = {FD(ft_dir_fd(dir)), RET(STATUS)};
    struct ft_call_state state;
    ft_begin(&state, FT_CALL_ID_closedir, &args);
    ft_fd_closing(args.fd);
    accept_change(&state);
    int r = real(dir);
    ft_end(&state, FT_CALL_ID_closedir, &args, r);
    return r;
}

FT_EXPORT(int, close_range, (unsigned first, unsigned last, int flags))
{
    FT_REAL(int, close_range, (unsigned, unsigned, int));
    if (real == NULL)
        return FT_ABSENT(int);
    if (!ft_enter())
        return real(first, last, flags);
    const struct ft_args args = {ARG(flags), RET(STATUS)};
    struct ft_call_state state;
    ft_path_begin(&state, FT_CALL_ID_close_range);
    uint16_t why_before = ft_apart_begin_close_range(first, last, flags);
    int r = real(first, last, flags);
    ft_apart_end_close_range(flags, why_before, r == 0);
    ft_path_end(&state, FT_CALL_ID_close_range, &args, r);
    return r;
}

FT_EXPORT(void, closefrom, (int first))
{
    FT_REAL(void, closefrom, (int));
    if (real == NULL)
        return;
    if (!ft_enter()) {
        real(first);
        return;
    }
    const struct ft_args args = {RET(NONE)};
    struct ft_call_state state;
    ft_path_begin(&state, FT_CALL_ID_closefrom);
    ft_fd_closing_range(first < 0 ? 0u : (unsigned)first, UINT32_MAX);
    real(first);
    ft_path_end(&state, FT_CALL_ID_closefrom, &args, 0);
}

FT_EXPORT(int, dup, (int fd))
{
    FT_REAL(int, dup, (int));
    if (!ft_enter())
        return real(fd);
    const struct ft_args args = {FD(fd), RET(VALUE)};
    struct ft_call_state state;
    ft_begin(&state, FT_CALL_ID_dup, &args);
    int r = real(fd);
    if (r >= 0)
        ft_fd_duplicated(fd, r);
    ft_end(&state, FT_CALL_ID_dup, &args, r);
    return r;
}

/* dup2 and dup3: the target is closed on the way, so its slot changes before. */
static int duplicate(unsigned call, int fd, int fd2, int (*real2)(int, int), int (*real3)(int, int, int), int flags)
{
    const struct ft_args args = {FD(fd), ARG((unsigned)fd2), RET(VALUE)};
    if (FT_IS_RELAYED(call, &args))
        return real2 != NULL ? real2(fd, fd2) : real3(fd, fd2, flags);
    struct ft_call_state state;
    ft_begin(&state, call, &args);
    if (fd != fd2 && fd >= 0 && fd2 >= 0)
        ft_fd_closing(fd2);
    int r = real2 != NULL ? real2(fd, fd2) : real3(fd, fd2, flags);
    if (r >= 0)
        ft_fd_duplicated(fd, r);
    end_with(&state, call, &args, r);
    return r;
}

FT_EXPORT(int, dup2, (int fd, int fd2))
{
    FT_REAL(int, dup2, (int, int));
    if (!ft_enter())
        return real(fd, fd2);
    return duplicate(FT_CALL_ID_dup2, fd, fd2, real, NULL, 0);
}

FT_EXPORT(int, __dup2, (int fd, int fd2))
{
    FT_REAL(int, __dup2, (int, int));
    if (!ft_enter())
        return real(fd, fd2);
    return duplicate(FT_CALL_ID___dup2, fd, fd2, real, NULL, 0);
}

FT_EXPORT(int, dup3, (int fd, int fd2, int flags))
{
    FT_REAL(int, dup3, (int, int, int));
    if (!ft_enter())
        return real(fd, fd2, flags);
    return duplicate(FT_CALL_ID_dup3, fd, fd2, NULL, real, flags);
}

static void note_fcntl(struct ft_call_state *state, int fd, int command, long arg, int r)
{
    if (r < 0)
        return;
    struct ft_fd *slot = state->slot;
    switch (command) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
        ft_fd_duplicated(fd, r);
        break;
    case F_SETFD:
        if (slot != NULL && slot->description != NULL)
            slot->description->close_on_exec = (arg & FD_CLOEXEC) != 0;
        break;
    case F_SETFL:
        if (arg & O_APPEND)
            ft_fd_untrack(fd);
        break;
    default:
        break;
    }
}

static int control(unsigned call, int (*real)(int, int, long), int fd, int command, long arg)
{
    if (!ft_enter())
        return real(fd, command, arg);
    const struct ft_args args = {FD(fd), ARG((unsigned)command), RET(VALUE)};
    if (FT_IS_RELAYED(call, &args))
        return real(fd, command, arg);
    struct ft_call_state state;
    ft_begin(&state, call, &args);
    int r = real(fd, command, arg);
    note_fcntl(&state, fd, command, arg, r);
    ft_end(&state, call, &args, r);
    return r;
}

/* Variadic, with at most one argument of a register's width: taken as it comes, passed on as it came. */
#define CONTROL(name)                                              \
    FT_EXPORT(int, name, (int fd, int command, long arg))          \
    {                                                              \
        FT_REAL(int, name, (int, int, long));                      \
        return control(FT_CALL_ID_##name, real, fd, command, arg); \
    }

CONTROL(fcntl)
CONTROL(fcntl64)
CONTROL(__fcntl)

/* pipe and socketpair: two new descriptors, named at first use. */
static void end_pair(struct ft_call_state *state, unsigned call, const struct ft_args *args, const int *fds, int r)
{
    struct ft_outcome outcome = {.args = args, .result = r, .end = ft_end_clock(state)};
    if (r == 0) {
        outcome.has_fds = 1;
        outcome.fds[0] = fds[0];
        outcome.fds[1] = fds[1];
        ft_fd_closing(fds[0]);
        ft_fd_closing(fds[1]);
    }
    ft_end_slow(state, call, &outcome);
}

#define PIPE(name)                                          \
    FT_EXPORT(int, name, (int *fds))                        \
    {                                                       \
        FT_REAL(int, name, (int *));                        \
        if (!ft_enter())                                    \
            return real(fds);                               \
        const struct ft_args args = {RET(STATUS)};          \
        struct ft_call_state state;                         \
        ft_path_begin(&state, FT_CALL_ID_##name);           \
        int r = real(fds);                                  \
        end_pair(&state, FT_CALL_ID_##name, &args, fds, r); \
        return r;                                           \
    }

PIPE(pipe)
PIPE(__pipe)

FT_EXPORT(int, pipe2, (int *fds, int flags))
{
    FT_REAL(int, pipe2, (int *, int));
    if (!ft_enter())
        return real(fds, flags);
    const struct ft_args args = {ARG((unsigned)flags), RET(STATUS)};
    struct ft_call_state state;
    ft_path_begin(&state, FT_CALL_ID_pipe2);
    int r = real(fds, flags);
    end_pair(&state, FT_CALL_ID_pipe2, &args, fds, r);
    return r;
}

FT_EXPORT(int, socketpair, (int domain, int type, int protocol, int *fds))
{
    FT_REAL(int, socketpair, (int, int, int, int *));
    if (!ft_enter())
        return real(domain, type, protocol, fds);
    const struct ft_args args = {ARG((unsigned)domain), RET(STATUS)};
    struct ft_call_state state;
    ft_path_begin(&state, FT_CALL_ID_socketpair);
    int r = real(domain, type, protocol, fds);
    end_pair(&state, FT_CALL_ID_socketpair, &args, fds, r);
    return r;
}

FT_EXPORT(int, openpty, (int *main, int *other, char *name, const void *attributes, const void *size))
{
    FT_REAL(int, openpty, (int *, int *, char *, const void *, const void *));
    if (real == NULL)
        return FT_ABSENT(int);
    if (!ft_enter())
        return real(main, other, name, attributes, size);
    const struct ft_args args = {RET(STATUS)};
    struct ft_call_state state;
    ft_path_begin(&state, FT_CALL_ID_openpty);
    int r = real(main, other, name, attributes, size);
    const int fds[2] = {r == 0 ? *main : -1, r == 0 ? *other : -1};
    end_pair(&state, FT_CALL_ID_openpty, &args, fds, r);
    return r;
}

static void end_chdir(struct ft_call_state *state, unsigned call, const struct ft_args *args, int r)
{
    ft_path_end(state, call, args, r);
    if (r == 0)
        ft_apart_moved();
}

FT_EXPORT(int, chdir, (const char *path))
{
    FT_REAL(int, chdir, (const char *));
    if (!ft_enter())
        return real(path);
    struct ft_call_state state;
    ft_path_begin(&state, FT_CALL_ID_chdir);
    int r = real(path);
    /* where the directory is asked for at each use, it is the new one by now */
    const struct ft_args args = {
        PATH(r == 0 && path[0] != '/' && ft_process.cwd_shared && !ft_is_shut_in() ? "." : path), RET(STATUS)};
    end_chdir(&state, FT_CALL_ID_chdir, &args, r);
    return r;
}

FT_EXPORT(int, fchdir, (int fd))
{
    FT_REAL(int, fchdir, (int));
    if (!ft_enter())
        return real(fd);
    const struct ft_args args = {FD(fd), RET(STATUS)};
    struct ft_call_state state;
    ft_begin(&state, FT_CALL_ID_fchdir, &args);
    int r = real(fd);
    ft_end(&state, FT_CALL_ID_fchdir, &args, r);
    if (r == 0)
        ft_apart_moved();
    return r;
}
