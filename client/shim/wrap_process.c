// SPDX-License-Identifier: MIT
/* Calls that make processes, and calls that end one. A child attaches before it returns to the program. */
#include "client/shim/environment.h"
#include "client/shim/forks.h"
#include "client/shim/name.h"
#include "client/shim/shapes.h"
#include "client/shim/stub_ids.h"
#include "client/shim/uring.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>

_Static_assert(FT_STUB_VFORK == FT_CALL_ID_vfork, "assembly knows the id");

static void publish_vfork(unsigned is_begin, uint32_t child)
{
    struct ft_chunk_head *chunk;
    uint8_t before = ft_recording_begin();
    uint64_t *word = ft_ring_reserve(ft_thread.writer, 1, ft_now(), &chunk);
    if (word != NULL) {
        word[1] = child;
        word[2] = ft_now();
        word[3] = 0;
        __atomic_store_n(&word[0], FT_W0(FT_RECORD_VFORK, 1, is_begin, 0, chunk->fill, FT_FD16_NONE), __ATOMIC_RELEASE);
    }
    ft_recording_end(before);
}

static unsigned vfork_level(void)
{
    unsigned depth = ft_thread.vfork_depth;
    return (depth < FT_VFORK_LEVELS ? depth : FT_VFORK_LEVELS) - 1;
}

/* From here to leave_vfork a child may run on this thread's memory. */
static void enter_vfork(void)
{
    struct ft_thread *thread = &ft_thread;
    __atomic_fetch_add(&ft_process.spawn_count, 1, __ATOMIC_RELAXED);
    if (thread->vfork_depth++ == 0) {
        thread->vfork_moved = 0;
        thread->vfork_renamed = 0;
        thread->vfork_touched = 0;
        thread->vfork_call = thread->line->call;
        thread->vfork_sandbox = (struct ft_sandbox){0};
    }
    thread->vfork_announced &= (uint8_t)~(1u << vfork_level());
    thread->vfork_start[vfork_level()] = ft_now();
    thread->writer->vfork_pid = UINT32_MAX; /* not known yet */
    thread->why |= FT_WHY_VFORK;
    thread->mode = FT_MODE_SLOW;
    FT_TEST_POINT(vfork_entered);
}

int ft_vfork_is_announced(void)
{
    return ft_thread.vfork_announced >> vfork_level() & 1;
}

void ft_vfork_announce(void)
{
    uint32_t child = ft_is_shut_in() ? 0 : (uint32_t)ft_sys(SYS_getpid);
    ft_thread.vfork_announced |= (uint8_t)(1u << vfork_level());
    ft_thread.writer->vfork_pid = child != 0 ? child : UINT32_MAX;
    publish_vfork(1, child);
}

/* Back in the parent, or in a vfork child whose own child is gone. That one may have died in the middle of a call. */
static void leave_vfork(long child)
{
    struct ft_thread *thread = &ft_thread;
    int was_announced = ft_vfork_is_announced();
    FT_TEST_POINT(vfork_left);
    thread->vfork_depth--;
    if (thread->vfork_depth == 0) {
        ft_sandbox_leave(&thread->vfork_sandbox);
        thread->line->call = thread->vfork_call;
        thread->vfork_moved = 0;
        thread->writer->vfork_pid = 0;
        thread->why &= (uint16_t)~(FT_WHY_VFORK | FT_WHY_CLOSING); /* it may have died in that */
        if (thread->why == 0)
            thread->mode = FT_MODE_ON;
        if (thread->vfork_renamed)
            ft_fd_forget_directories();
    } else {
        thread->line->call = 0;
        thread->writer->vfork_pid = ft_is_shut_in() ? UINT32_MAX : (uint32_t)ft_sys(SYS_getpid);
    }
    if (was_announced)
        publish_vfork(0, child > 0 ? (uint32_t)child : 0);
    if (thread->vfork_depth != 0 && !ft_vfork_is_announced())
        ft_vfork_announce();
    ft_environment_give_pages(thread->vfork_pages, thread->vfork_pages_bytes);
}

void ft_vfork_begin(void);
long ft_vfork_end(long result);

__attribute__((visibility("hidden"))) void ft_vfork_begin(void)
{
    ft_real(FT_CALL_ID_vfork); /* known from here on, for the stub's short way */
    if (ft_enter())
        enter_vfork();
}

/* In the parent, with the kernel's answer; returns vfork's. */
__attribute__((visibility("hidden"))) long ft_vfork_end(long result)
{
    long r = result;
    if (result < 0) {
        errno = (int)-result;
        r = -1;
    }
    if (ft_thread.mode != FT_MODE_SLOW || ft_thread.vfork_depth == 0)
        return r;
    const struct ft_args args = {RET(VALUE)};
    struct ft_call_state state;
    uint64_t start = ft_thread.vfork_start[vfork_level()];
    leave_vfork(r);
    ft_path_begin(&state, FT_CALL_ID_vfork);
    state.start = start;
    ft_path_end(&state, FT_CALL_ID_vfork, &args, r);
    return r;
}

static pid_t fork_by(unsigned call, pid_t (*real)(void))
{
    const struct ft_args args = {RET(VALUE), .follow = ft_is_closed() ? FT_FOLLOW_SANDBOX : FT_FOLLOW_ORDINARY};
    struct ft_call_state state;
    ft_path_begin(&state, call);
    ft_process.fork_count++; /* descriptions opened so far are shared from here on */
    if (ft_unlikely(ft_uring_rings != 0))
        ft_uring_forking();
    ft_hello_keep();
    /* its atfork handlers may make calls in the child before it is ours */
    uint64_t *place = ft_fork_begin(__builtin_frame_address(0));
    pid_t r = real();
    if (r == 0) {
        ft_attach_child(FT_IMAGE_FORK);
        if (ft_wiped.base != 0 && state.call_before != 0)
            ft_name_again(state.file_before, state.fd_before);
        return 0;
    }
    ft_fork_end(place, __builtin_frame_address(0));
    ft_path_end(&state, call, &args, r);
    return r;
}

FT_EXPORT(pid_t, fork, (void))
{
    FT_REAL(pid_t, fork, (void));
    return ft_enter() ? fork_by(FT_CALL_ID_fork, real) : real();
}

FT_EXPORT(pid_t, __fork, (void))
{
    FT_REAL(pid_t, __fork, (void));
    return ft_enter() ? fork_by(FT_CALL_ID___fork, real) : real();
}

FT_EXPORT(pid_t, _Fork, (void))
{
    FT_REAL(pid_t, _Fork, (void));
    if (real == NULL)
        return FT_ABSENT(pid_t);
    return ft_enter() ? fork_by(FT_CALL_ID__Fork, real) : real();
}

struct clone_start {
    int (*function)(void *);
    void *arg;
};

/* What a new process shares may change under us from here on. A vfork child is gone when we go on: what it changed is. */
static void note_shared(int flags, int is_vfork)
{
    if (flags & CLONE_SETTLS)
        return;
    if (is_vfork) {
        if ((flags & CLONE_FILES) && ft_thread.vfork_depth == 0)
            ft_fd_forget_touched();
        if (flags & CLONE_FS)
            __atomic_store_n(&ft_process.cwd_file, 0, __ATOMIC_RELAXED);
        return;
    }
    ft_process.files_shared |= (flags & CLONE_FILES) != 0;
    ft_process.cwd_shared |= (flags & CLONE_FS) != 0;
    if (ft_process.files_shared) {
        ft_thread.why |= FT_WHY_FILES;
        ft_thread.mode = FT_MODE_SLOW;
    }
}

static int start_clone(void *given)
{
    struct clone_start start = *(struct clone_start *)given;
    ft_attach_child(FT_IMAGE_FORK);
    return start.function(start.arg);
}

/*
 * Three kinds: a new process (its memory is a copy: the child attaches as after fork); one that shares memory and is
 * waited for (as vfork); one that shares memory and this thread's storage while both run: not recorded, a gap.
 */
FT_EXPORT(int, clone, (int (*function)(void *), void *stack, int flags, void *arg, void *a, void *b, void *c))
{
    FT_REAL(int, clone, (int (*)(void *), void *, int, void *, void *, void *, void *));
    if (function == NULL || !ft_enter())
        return real(function, stack, flags, arg, a, b, c);
    const struct ft_args args = {ARG((unsigned)flags), RET(VALUE)};
    struct ft_call_state state;
    ft_path_begin(&state, FT_CALL_ID_clone);
    struct clone_start start = {function, arg};
    int r, is_vfork = (flags & CLONE_VM) && (flags & CLONE_VFORK) && !(flags & CLONE_SETTLS);
    ft_process.fork_count++;
    if (is_vfork)
        enter_vfork();
    if ((flags & CLONE_VM) && !is_vfork && !(flags & CLONE_SETTLS)) {
        ft_gap(FT_SHIM_GAP_CLONE_SHARED);
        ft_thread.why |= FT_WHY_SHARED;
        ft_thread.mode = FT_MODE_SLOW;
    }
    if (!is_vfork)
        note_shared(flags, 0);
    if (!(flags & CLONE_VM))
        ft_hello_keep();
    if (flags & CLONE_VM)
        r = real(function, stack, flags, arg, a, b, c);
    else
        r = real(start_clone, stack, flags, &start, a, b, c);
    if (is_vfork) {
        leave_vfork(r);
        note_shared(flags, 1);
    }
    ft_path_end(&state, FT_CALL_ID_clone, &args, r);
    return r;
}

/* A call of libc that forks inside and may come back in the child: then the pid is another. */
struct either {
    struct ft_call_state state;
    uint32_t pid;
    uint64_t *place;
};

static void begin_in_either(struct either *either, unsigned call, const void *frame)
{
    ft_path_begin(&either->state, call);
    ft_process.fork_count++;
    ft_hello_keep();
    either->pid = ft_process.pid;
    either->place = ft_fork_begin(frame);
}

/* The child has attached by now if its atfork handlers made calls; descriptors 0 to 2 may have become others in it. */
static void end_in_either(struct either *either, unsigned call, int r, const void *frame)
{
    const struct ft_args args = {RET(VALUE)};
    struct ft_call_state *state = &either->state;
    if (ft_wiped.base != 0 && ft_process.pid == either->pid) {
        ft_fork_end(either->place, frame);
    } else {
        uint64_t start = state->start;
        ft_attach_child(FT_IMAGE_FORK);
        if (!ft_enter())
            return;
        ft_fd_closing_range(0, 2);
        ft_path_begin(state, call);
        state->start = start;
    }
    ft_path_end(state, call, &args, r);
}

FT_EXPORT(int, daemon, (int no_chdir, int no_close))
{
    FT_REAL(int, daemon, (int, int));
    if (!ft_enter())
        return real(no_chdir, no_close);
    struct either either;
    begin_in_either(&either, FT_CALL_ID_daemon, __builtin_frame_address(0));
    int r = real(no_chdir, no_close);
    end_in_either(&either, FT_CALL_ID_daemon, r, __builtin_frame_address(0));
    return r;
}

FT_EXPORT(int, forkpty, (int *main, char *name, const void *attributes, const void *size))
{
    FT_REAL(int, forkpty, (int *, char *, const void *, const void *));
    if (real == NULL)
        return FT_ABSENT(int);
    if (!ft_enter())
        return real(main, name, attributes, size);
    struct either either;
    begin_in_either(&either, FT_CALL_ID_forkpty, __builtin_frame_address(0));
    int r = real(main, name, attributes, size);
    if (r > 0)
        ft_fd_closing(*main);
    end_in_either(&either, FT_CALL_ID_forkpty, r, __builtin_frame_address(0));
    return r;
}

FT_EXPORT(int, login_tty, (int fd))
{
    FT_REAL(int, login_tty, (int));
    if (real == NULL)
        return FT_ABSENT(int);
    if (!ft_enter())
        return real(fd);
    const struct ft_args args = {FD(fd), RET(STATUS)};
    struct ft_call_state state;
    ft_begin(&state, FT_CALL_ID_login_tty, &args);
    ft_fd_closing_range(0, 2);
    if (fd > 2)
        ft_fd_closing(fd);
    state.slot = NULL;
    int r = real(fd);
    ft_end(&state, FT_CALL_ID_login_tty, &args, r);
    return r;
}

FT_EXPORT(int, system, (const char *command))
{
    FT_REAL(int, system, (const char *));
    if (!ft_enter())
        return real(command);
    struct ft_args args = {RET(VALUE)};
    struct ft_call_state state;
    struct ft_lent lent;
    ft_path_begin(&state, FT_CALL_ID_system);
    __atomic_fetch_add(&ft_process.spawn_count, 1, __ATOMIC_RELAXED);
    args.follow = (uint8_t)ft_environment_lend(&lent);
    int r = real(command);
    ft_environment_take_back(&lent);
    ft_path_end(&state, FT_CALL_ID_system, &args, r);
    return r;
}

/* Whether it may start a shell: `command` or $(command), not $((sum)). A quoted one is none, which costs nothing. */
static int has_command(const char *words)
{
    for (const char *at = words; *at != 0; at++)
        if (*at == '`' || (at[0] == '$' && at[1] == '(' && at[2] != '('))
            return 1;
    return 0;
}

FT_EXPORT(int, wordexp, (const char *words, void *expanded, int flags))
{
    FT_REAL(int, wordexp, (const char *, void *, int));
    if (!ft_enter())
        return real(words, expanded, flags);
    struct ft_args args = {RET(VALUE), ARG((unsigned)flags)};
    struct ft_call_state state;
    struct ft_lent lent;
    int may_start = has_command(words);
    ft_path_begin(&state, FT_CALL_ID_wordexp);
    if (may_start) {
        __atomic_fetch_add(&ft_process.spawn_count, 1, __ATOMIC_RELAXED);
        args.follow = (uint8_t)ft_environment_lend(&lent);
    }
    int r = real(words, expanded, flags);
    if (may_start)
        ft_environment_take_back(&lent);
    ft_path_end(&state, FT_CALL_ID_wordexp, &args, r);
    return r;
}

/* Ends of a process or thread: recorded before, with duration 0, since nothing is after. */
#define END(id, name, leave, params, arguments, ...)                       \
    FT_EXPORT(void, name, params)                                          \
    {                                                                      \
        FT_REAL(void, name, params);                                       \
        if (ft_enter()) {                                                  \
            const struct ft_args args = {__VA_ARGS__, .ret = FT_RET_NONE}; \
            leave();                                                       \
            ft_event_before(id, &args);                                    \
        }                                                                  \
        real arguments;                                                    \
        __builtin_unreachable();                                           \
    }

static void leave_thread(void)
{
    ft_calls_left();
    ft_forks_leave();
}

END(FT_CALL_ID_exit, exit, ft_calls_ending, (int status), (status), ARG((unsigned)status))
END(FT_CALL_ID__exit, _exit, ft_calls_ending, (int status), (status), ARG((unsigned)status))
END(FT_CALL_ID__Exit, _Exit, ft_calls_ending, (int status), (status), ARG((unsigned)status))
END(FT_CALL_ID_quick_exit, quick_exit, ft_calls_ending, (int status), (status), ARG((unsigned)status))
END(FT_CALL_ID_abort, abort, ft_calls_ending, (void), (), .has_fd = 0)
END(FT_CALL_ID_pthread_exit, pthread_exit, leave_thread, (void *value), (value), .has_fd = 0)
