// SPDX-License-Identifier: MIT
/*
 * exec and spawn. An exec is recorded before it is made, since nothing of this image is there after; one that fails adds
 * a record with its errno. In a vfork child all of this runs on the parent's memory: only the stack is written.
 */
#include "client/shim/environment.h"
#include "client/shim/reach.h"
#include "client/shim/shapes.h"
#include "client/shim/start.h"

#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

typedef int exec_function(const char *, char *const *, char *const *);
typedef int plain_exec_function(const char *, char *const *); /* with the program's own environment */

/* The path is read before the kernel has seen it, so it is asked whether it can be. */
static int is_readable(const char *path)
{
    if (path == NULL)
        return 0;
    struct ft_reach reach = {0};
    return ft_process.sandboxed || ft_reach_text(&reach, path, FT_PATH_KEPT_BYTES);
}

static void record_before(unsigned call, const struct ft_args *given)
{
    struct ft_args args = *given;
    if (args.has_path && !is_readable(args.path))
        args.has_path = 0;
    args.ret = FT_RET_NONE;
    ft_event_before(call, &args);
    FT_TEST_POINT(before_exec);
}

static int record_failure(unsigned call, const struct ft_args *args, int r)
{
    struct ft_call_state state;
    ft_path_begin(&state, call);
    ft_path_end(&state, call, args, r);
    return r;
}

/* A list with the missing variables on the caller's stack; the given one where nothing is missing. */
#define WITH_ENVIRONMENT(list, envp)                                                                         \
    struct ft_environment environment_;                                                                      \
    char *const *list = (envp);                                                                              \
    if (ft_environment_check(&environment_, list)) {                                                         \
        char **built_ = __builtin_alloca(ft_environment_entries(&environment_) * sizeof(char *));            \
        ft_environment_build(&environment_, list, built_, __builtin_alloca(environment_.preload_bytes + 1)); \
        list = built_;                                                                                       \
    }

/* What a name without a slash is relative to, for calls that search PATH. */
static int place_of(const char *path, int is_searched)
{
    if (!is_searched || !is_readable(path))
        return FT_AT_FDCWD;
    for (size_t i = 0; path[i] != 0; i++)
        if (path[i] == '/')
            return FT_AT_FDCWD;
    return FT_AT_SEARCHED;
}

/* `plain` does the same with `environ`, where there is such a function: it is the one that was called. */
static int exec_by(unsigned call, exec_function *real, plain_exec_function *plain, const char *path, char *const *argv,
                   char *const *envp)
{
    int is_searched = call == FT_CALL_ID_execvp || call == FT_CALL_ID_execvpe || call == FT_CALL_ID_execlp;
    const struct ft_args args = {AT(place_of(path, is_searched), path), RET(STATUS)};
    record_before(call, &args);
    WITH_ENVIRONMENT(list, envp)
    int r = list != envp || plain == NULL ? real(path, argv, list) : plain(path, argv);
    if (list != envp && errno == E2BIG)
        r = plain != NULL ? plain(path, argv) : real(path, argv, envp);
    return record_failure(call, &args, r);
}

static exec_function *real_execve(void)
{
    return (exec_function *)ft_real(FT_CALL_ID_execve);
}

static exec_function *real_execvpe(void)
{
    return (exec_function *)ft_real(FT_CALL_ID_execvpe);
}

FT_EXPORT(int, execve, (const char *path, char *const *argv, char *const *envp))
{
    if (!ft_enter())
        return real_execve()(path, argv, envp);
    return exec_by(FT_CALL_ID_execve, real_execve(), NULL, path, argv, envp);
}

FT_EXPORT(int, execv, (const char *path, char *const *argv))
{
    FT_REAL(int, execv, (const char *, char *const *));
    if (!ft_enter())
        return real(path, argv);
    return exec_by(FT_CALL_ID_execv, real_execve(), real, path, argv, environ);
}

FT_EXPORT(int, execvp, (const char *path, char *const *argv))
{
    FT_REAL(int, execvp, (const char *, char *const *));
    if (!ft_enter())
        return real(path, argv);
    return exec_by(FT_CALL_ID_execvp, real_execvpe(), real, path, argv, environ);
}

FT_EXPORT(int, execvpe, (const char *path, char *const *argv, char *const *envp))
{
    if (!ft_enter())
        return real_execvpe()(path, argv, envp);
    return exec_by(FT_CALL_ID_execvpe, real_execvpe(), NULL, path, argv, envp);
}

/* The arguments of execl and its like, as an array on the stack. */
#define COLLECT(argv, arg, list)                                                         \
    size_t count_ = 1;                                                                   \
    va_list counted_;                                                                    \
    va_start(list, arg);                                                                 \
    va_copy(counted_, list);                                                             \
    for (const char *next_ = arg; next_ != NULL; next_ = va_arg(counted_, const char *)) \
        count_++;                                                                        \
    va_end(counted_);                                                                    \
    char **argv = __builtin_alloca(count_ * sizeof(char *));                             \
    argv[0] = (char *)(uintptr_t)arg;                                                    \
    for (size_t i_ = 1; i_ < count_; i_++)                                               \
    argv[i_] = va_arg(list, char *)

FT_EXPORT(int, execl, (const char *path, const char *arg, ...))
{
    va_list list;
    COLLECT(argv, arg, list);
    va_end(list);
    if (!ft_enter())
        return real_execve()(path, argv, environ);
    return exec_by(FT_CALL_ID_execl, real_execve(), NULL, path, argv, environ);
}

FT_EXPORT(int, execlp, (const char *path, const char *arg, ...))
{
    va_list list;
    COLLECT(argv, arg, list);
    va_end(list);
    if (!ft_enter())
        return real_execvpe()(path, argv, environ);
    return exec_by(FT_CALL_ID_execlp, real_execvpe(), NULL, path, argv, environ);
}

FT_EXPORT(int, execle, (const char *path, const char *arg, ...))
{
    va_list list;
    COLLECT(argv, arg, list);
    char *const *envp = va_arg(list, char *const *);
    va_end(list);
    if (!ft_enter())
        return real_execve()(path, argv, envp);
    return exec_by(FT_CALL_ID_execle, real_execve(), NULL, path, argv, envp);
}

FT_EXPORT(int, execveat, (int dirfd, const char *path, char *const *argv, char *const *envp, int flags))
{
    FT_REAL(int, execveat, (int, const char *, char *const *, char *const *, int));
    if (real == NULL)
        return FT_ABSENT(int);
    if (!ft_enter())
        return real(dirfd, path, argv, envp, flags);
    const struct ft_args args = {AT(dirfd, path), ARG((unsigned)flags), RET(STATUS)};
    record_before(FT_CALL_ID_execveat, &args);
    WITH_ENVIRONMENT(list, envp)
    int r = real(dirfd, path, argv, list, flags);
    if (list != envp && errno == E2BIG)
        r = real(dirfd, path, argv, envp, flags);
    return record_failure(FT_CALL_ID_execveat, &args, r);
}

FT_EXPORT(int, fexecve, (int fd, char *const *argv, char *const *envp))
{
    FT_REAL(int, fexecve, (int, char *const *, char *const *));
    if (!ft_enter())
        return real(fd, argv, envp);
    struct ft_args args = {FD(fd), RET(NONE)};
    ft_event_before(FT_CALL_ID_fexecve, &args);
    WITH_ENVIRONMENT(list, envp)
    int r = real(fd, argv, list);
    if (list != envp && errno == E2BIG)
        r = real(fd, argv, envp);
    struct ft_call_state state;
    args.ret = FT_RET_STATUS;
    ft_begin(&state, FT_CALL_ID_fexecve, &args);
    ft_end(&state, FT_CALL_ID_fexecve, &args, r);
    return r;
}

typedef int spawn_function(void *, const char *, const void *, const void *, char *const *, char *const *);

static int spawn_by(unsigned call, spawn_function *real, void *out, const char *path, const void *actions,
                    const void *attributes, char *const *argv, char *const *envp)
{
    struct ft_call_state state;
    ft_path_begin(&state, call);
    __atomic_fetch_add(&ft_process.spawn_count, 1, __ATOMIC_RELAXED);
    WITH_ENVIRONMENT(list, envp)
    int r = real(out, path, actions, attributes, argv, list);
    if (list != envp && r == E2BIG)
        r = real(out, path, actions, attributes, argv, envp);
    int is_searched = call == FT_CALL_ID_posix_spawnp || call == FT_CALL_ID_pidfd_spawnp;
    const struct ft_args args = {AT(place_of(path, is_searched), path), .has_arg = r == 0 && out != NULL,
                                 .arg = r == 0 && out != NULL ? *(unsigned *)out : 0, RET(ERRNUM)};
    ft_path_end(&state, call, &args, r);
    return r;
}

#define SPAWN(name, type)                                                                                    \
    FT_EXPORT(int, name,                                                                                     \
              (type * out, const char *path, const void *actions, const void *attributes, char *const *argv, \
               char *const *envp))                                                                           \
    {                                                                                                        \
        spawn_function *real = (spawn_function *)ft_real(FT_CALL_ID_##name);                                 \
        if (real == NULL)                                                                                    \
            return ENOSYS;                                                                                   \
        if (!ft_enter())                                                                                     \
            return real(out, path, actions, attributes, argv, envp);                                         \
        return spawn_by(FT_CALL_ID_##name, real, out, path, actions, attributes, argv, envp);                \
    }

SPAWN(posix_spawn, pid_t)
SPAWN(posix_spawnp, pid_t)
#if __GLIBC_PREREQ(2, 39)
SPAWN(pidfd_spawn, int)
SPAWN(pidfd_spawnp, int)
#endif
