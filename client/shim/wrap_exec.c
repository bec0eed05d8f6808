// SPDX-License-Identifier: MIT
/*
 * exec and spawn. An exec is recorded before it is made, since nothing of this image is there after; one that fails adds
 * a record with its errno. In a vfork child all of this runs on the parent's memory: only the stack is written.
 */
#include "client/shim/environment.h"
#include "client/shim/name.h"
#include "client/shim/reach.h"
#include "client/shim/settings.h"
#include "client/shim/shapes.h"
#include "client/shim/start.h"
#include "client/shim/uring.h"

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
    return ft_is_shut_in() || ft_reach_text(&reach, path, FT_PATH_KEPT_BYTES);
}

/* The arguments are changed for that time, not copied: programs exec from small stacks. */
static void record_before(unsigned call, struct ft_args *args)
{
    uint8_t has_path = args->has_path, ret = args->ret;
    if (ft_unlikely(ft_uring_rings != 0))
        ft_uring_closing(0, UINT32_MAX);
    if (has_path && !is_readable(args->path))
        args->has_path = 0;
    args->ret = FT_RET_NONE;
    ft_event_before(call, args);
    args->has_path = has_path;
    args->ret = ret;
    FT_TEST_POINT(before_exec);
}

static int record_failure(unsigned call, const struct ft_args *args, int r)
{
    struct ft_call_state state;
    ft_path_begin(&state, call);
    ft_path_end(&state, call, args, r);
    return r;
}

/*
 * A list with the missing variables; the given one where nothing is missing or is to be put back. On the caller's stack
 * where it is small: threads may have no more than 16 KiB.
 */
enum { STACK_BYTES_MAX = 4096 };
#define WITH_ENVIRONMENT(list, envp)                                                                      \
    struct ft_environment environment_ = {.follow = FT_FOLLOW_ORDINARY};                                  \
    char *const *list = (envp);                                                                           \
    void *pages_ = NULL;                                                                                  \
    size_t list_bytes_ = 0;                                                                               \
    if (ft_environment_check(&environment_, list)) {                                                      \
        size_t entries_ = ft_environment_entries(&environment_) * sizeof(char *);                         \
        list_bytes_ = entries_ + environment_.preload_bytes + 1;                                          \
        int is_small_ = list_bytes_ <= STACK_BYTES_MAX || ft_is_shut_in();                                \
        char *room_ = is_small_ ? __builtin_alloca(list_bytes_) : ft_environment_take_pages(list_bytes_); \
        pages_ = is_small_ ? NULL : room_;                                                                \
        if (room_ == NULL) {                                                                              \
            environment_.follow = FT_FOLLOW_CLEANED;                                                      \
        } else {                                                                                          \
            ft_environment_build(&environment_, list, (char **)(void *)room_, room_ + entries_);          \
            list = (char **)(void *)room_;                                                                \
        }                                                                                                 \
    }

/* The program that a call which searches PATH for a name without a slash will find, in `room`; NULL: none. */
static const char *find_program(const char *name, char *to, size_t room)
{
    const char *path = ft_settings_find(environ, "PATH");
    size_t n = ft_length_most(name, room);
    for (const char *at = path != NULL ? path : "/bin:/usr/bin"; at != NULL && n > 0;) {
        size_t folder = 0;
        while (at[folder] != 0 && at[folder] != ':')
            folder++;
        if (folder + n + 3 <= room) {
            ft_copy(to, at, folder);
            to[folder] = '/';
            ft_copy(to + (folder > 0 ? folder + 1 : 0), name, n + 1);
            if (ft_sys(SYS_faccessat, FT_AT_FDCWD, to, X_OK) == 0)
                return to;
        }
        at = at[folder] != 0 ? at + folder + 1 : NULL;
    }
    return NULL;
}

/* Of a call that searches PATH: the name is relative to nothing, and what it will find becomes the second file. */
static void note_search(struct ft_args *args, char *to, size_t room)
{
    if (ft_is_shut_in() || !is_readable(args->path))
        return;
    for (size_t i = 0; args->path[i] != 0; i++)
        if (args->path[i] == '/')
            return;
    args->dirfd = FT_AT_SEARCHED;
    args->dirfd2 = FT_AT_FDCWD;
    args->path2 = find_program(args->path, to, room);
    args->has_path2 = args->path2 != NULL;
}

/* A second try with the program's own environment, which leaves room for nothing else. */
#define WITHOUT_ENVIRONMENT(r, error, list, envp, note, attempt) \
    if (list != (envp) && (error) == E2BIG) {                    \
        note;                                                    \
        r = attempt;                                             \
        if (r == -1)                                             \
            ft_gap_not(FT_SHIM_GAP_ENV_CLEANED);                 \
    }                                                            \
    ft_environment_give_pages(pages_, list_bytes_)

/* A vfork child's own descriptors stand in no table: what one of them leads to becomes the second file. */
static void note_descriptor(struct ft_args *args, int fd, const char *path, char *to, size_t room)
{
    if (ft_is_shut_in() || ft_thread.vfork_depth == 0 || fd < 0 || (path != NULL && !is_readable(path)))
        return;
    size_t n = path != NULL ? ft_length_most(path, room) : 0;
    long folder = n > 0 && path[0] == '/' ? 0 : ft_name_readlink(fd, to, room);
    if (folder <= 0 || (size_t)folder + n + 2 > room)
        return;
    to[folder] = n > 0 ? '/' : 0;
    if (n > 0)
        ft_copy(to + folder + 1, path, n + 1);
    args->dirfd2 = FT_AT_FDCWD;
    args->path2 = to;
    args->has_path2 = 1;
}

enum { FOUND_BYTES = 512 };

/* `plain` does the same with `environ`, where there is such a function: it is the one that was called. */
static int exec_by(unsigned call, exec_function *real, plain_exec_function *plain, struct ft_args *args,
                   char *const *argv, char *const *envp)
{
    const char *path = args->path;
    WITH_ENVIRONMENT(list, envp)
    args->follow = (uint8_t)environment_.follow;
    record_before(call, args);
    int r = list != envp || plain == NULL ? real(path, argv, list) : plain(path, argv);
    WITHOUT_ENVIRONMENT(r, errno, list, envp, ft_gap(FT_SHIM_GAP_ENV_CLEANED),
                        plain != NULL ? plain(path, argv) : real(path, argv, envp));
    return record_failure(call, args, r);
}

static int exec_path(unsigned call, exec_function *real, plain_exec_function *plain, const char *path,
                     char *const *argv, char *const *envp)
{
    struct ft_args args = {AT(FT_AT_FDCWD, path), RET(STATUS)};
    return exec_by(call, real, plain, &args, argv, envp);
}

static int exec_found(unsigned call, exec_function *real, plain_exec_function *plain, const char *name,
                      char *const *argv, char *const *envp)
{
    struct ft_args args = {AT(FT_AT_FDCWD, name), RET(STATUS)};
    char found[FOUND_BYTES];
    note_search(&args, found, sizeof(found));
    return exec_by(call, real, plain, &args, argv, envp);
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
    return exec_path(FT_CALL_ID_execve, real_execve(), NULL, path, argv, envp);
}

FT_EXPORT(int, execv, (const char *path, char *const *argv))
{
    FT_REAL(int, execv, (const char *, char *const *));
    if (!ft_enter())
        return real(path, argv);
    return exec_path(FT_CALL_ID_execv, real_execve(), real, path, argv, environ);
}

FT_EXPORT(int, execvp, (const char *path, char *const *argv))
{
    FT_REAL(int, execvp, (const char *, char *const *));
    if (!ft_enter())
        return real(path, argv);
    return exec_found(FT_CALL_ID_execvp, real_execvpe(), real, path, argv, environ);
}

FT_EXPORT(int, execvpe, (const char *path, char *const *argv, char *const *envp))
{
    if (!ft_enter())
        return real_execvpe()(path, argv, envp);
    return exec_found(FT_CALL_ID_execvpe, real_execvpe(), NULL, path, argv, envp);
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
    return exec_path(FT_CALL_ID_execl, real_execve(), NULL, path, argv, environ);
}

FT_EXPORT(int, execlp, (const char *path, const char *arg, ...))
{
    va_list list;
    COLLECT(argv, arg, list);
    va_end(list);
    if (!ft_enter())
        return real_execvpe()(path, argv, environ);
    return exec_found(FT_CALL_ID_execlp, real_execvpe(), NULL, path, argv, environ);
}

FT_EXPORT(int, execle, (const char *path, const char *arg, ...))
{
    va_list list;
    COLLECT(argv, arg, list);
    char *const *envp = va_arg(list, char *const *);
    va_end(list);
    if (!ft_enter())
        return real_execve()(path, argv, envp);
    return exec_path(FT_CALL_ID_execle, real_execve(), NULL, path, argv, envp);
}

FT_EXPORT(int, execveat, (int dirfd, const char *path, char *const *argv, char *const *envp, int flags))
{
    FT_REAL(int, execveat, (int, const char *, char *const *, char *const *, int));
    if (real == NULL)
        return FT_ABSENT(int);
    if (!ft_enter())
        return real(dirfd, path, argv, envp, flags);
    struct ft_args args = {AT(dirfd, path), ARG((unsigned)flags), RET(STATUS)};
    char found[FOUND_BYTES];
    note_descriptor(&args, dirfd, path, found, sizeof(found));
    WITH_ENVIRONMENT(list, envp)
    args.follow = (uint8_t)environment_.follow;
    record_before(FT_CALL_ID_execveat, &args);
    int r = real(dirfd, path, argv, list, flags);
    WITHOUT_ENVIRONMENT(r, errno, list, envp, ft_gap(FT_SHIM_GAP_ENV_CLEANED), real(dirfd, path, argv, envp, flags));
    return record_failure(FT_CALL_ID_execveat, &args, r);
}

FT_EXPORT(int, fexecve, (int fd, char *const *argv, char *const *envp))
{
    FT_REAL(int, fexecve, (int, char *const *, char *const *));
    if (envp == NULL || !ft_enter()) /* without a list it fails */
        return real(fd, argv, envp);
    struct ft_args args = {FD(fd), RET(NONE)};
    char found[FOUND_BYTES];
    note_descriptor(&args, fd, NULL, found, sizeof(found));
    WITH_ENVIRONMENT(list, envp)
    args.follow = (uint8_t)environment_.follow;
    ft_event_before(FT_CALL_ID_fexecve, &args);
    int r = real(fd, argv, list);
    WITHOUT_ENVIRONMENT(r, errno, list, envp, ft_gap(FT_SHIM_GAP_ENV_CLEANED), real(fd, argv, envp));
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
    struct ft_args args = {AT(FT_AT_FDCWD, path), RET(ERRNUM)};
    char found[FOUND_BYTES];
    ft_path_begin(&state, call);
    __atomic_fetch_add(&ft_process.spawn_count, 1, __ATOMIC_RELAXED);
    if (call == FT_CALL_ID_posix_spawnp || call == FT_CALL_ID_pidfd_spawnp)
        note_search(&args, found, sizeof(found));
    WITH_ENVIRONMENT(list, envp)
    args.follow = (uint8_t)environment_.follow;
    int r = real(out, path, actions, attributes, argv, list);
    WITHOUT_ENVIRONMENT(r, r, list, envp, args.follow = FT_FOLLOW_CLEANED,
                        real(out, path, actions, attributes, argv, envp));
    args.has_arg = r == 0 && out != NULL;
    args.arg = args.has_arg ? *(unsigned *)out : 0;
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
