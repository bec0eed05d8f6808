// SPDX-License-Identifier: MIT
#include "daemon/children.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/expected.h"
#include "daemon/missing.h"

// Two clocks tell when it was made and when it attached; a coarse one is up to 10 ms behind.
#define SLACK_NS INT64_C(20000000)

// ------------------------------------------------------------------------------------------------- what is waited for

// `since_ns` of what is given is when the call began.
static void expect(struct ft_drain *drain, struct ft_process *process, struct ft_children_expected *given,
                   struct ft_bytes path)
{
    struct ft_children *children = &process->job->children;
    given->uid = process->uid;
    given->gid = process->gid;
    given->parent = process->segment.id;
    given->parent_pid = process->pid;
    given->due_ns = drain->now_ns + FT_EXPECTED_PATIENCE_NS;
    given->since_ns -= SLACK_NS;
    if (given->way == FT_CHILDREN_EXECUTED && given->since_ns <= process->start_ns) // it is not the image before
        given->since_ns = process->start_ns + 1;
    given->is_inside = process->ns_pid != process->pid && given->way != FT_CHILDREN_EXECUTED;
    bool may_be_hidden = given->way != FT_CHILDREN_FORKED; // another program ran, and then one that attached
    const struct ft_seen_pid *attached = ft_expected_find_attached(children, given);
    if (!given->pid || (attached && (!may_be_hidden || attached->exe == ft_seen_hash(path))) ||
        ft_expected_is_known(children, given->pid, given->way, given->parent)) // told by a daemon before us
        return;
    struct ft_children_expected *one = ft_expected_add(children, given, path);
    if (one && !attached && may_be_hidden)
        one->at_first = ft_exe_examine_again(one->path, children->known, FT_CHILDREN_VERDICTS);
    if (one && !attached && drain->writer && children->told_part == drain->part)
        ft_expected_put(one, drain->writer);
}

static char *copy_path(struct ft_process *process, const struct ft_record_event *record)
{
    // Of a call that searched PATH the second file is what it found.
    struct ft_name *name = ft_names_find(&process->names, record->file2 ? record->file2 : record->file);
    if (name)
        ft_names_join(&process->names, name);
    return name ? strndup(name->text, name->bytes_got) : strdup("");
}

// The exec that this pid had announced failed.
static void forget_exec(struct ft_children *children, uint32_t pid, uint64_t segment)
{
    for (struct ft_children_expected **link = &children->expected; *link;) {
        struct ft_children_expected *one = *link;
        if (one->way == FT_CHILDREN_EXECUTED && one->pid == pid && one->parent == segment)
            ft_expected_forget(children, link);
        else
            link = &one->next;
    }
}

void ft_children_note_exec(struct ft_process *process, struct ft_process_line *line,
                           const struct ft_record_event *record, int64_t start_ns)
{
    bool is_vfork = record->flags & FT_CALL_VFORK;
    struct ft_process_exec *exec = is_vfork ? &line->exec : &process->exec;
    free(exec->path);
    *exec = (struct ft_process_exec){.follow = (uint8_t)FT_FOLLOW_OF(record->flags), .since_ns = start_ns};
    exec->path = record->has_result ? NULL : copy_path(process, record);
}

static void expect_executed(struct ft_drain *drain, struct ft_process *process)
{
    struct ft_children_expected one = {.pid = process->pid,
                                       .way = FT_CHILDREN_EXECUTED,
                                       .follow = process->exec.follow,
                                       .since_ns = process->exec.since_ns};
    expect(drain, process, &one, FT_BYTES(process->exec.path));
}

// An exec is recorded before it happens, and a second time with its error where it failed.
static void note_exec(struct ft_drain *drain, struct ft_process *process, struct ft_process_line *line,
                      const struct ft_record_event *record, int64_t start_ns)
{
    ft_children_note_exec(process, line, record, start_ns);
    if (record->flags & FT_CALL_VFORK)
        return;
    forget_exec(&process->job->children, process->pid, process->segment.id);
    if (process->exec.path)
        expect_executed(drain, process);
}

static void note_fork(struct ft_drain *drain, struct ft_process *process, const struct ft_record_event *record,
                      int64_t start_ns)
{
    bool is_process = record->call != FT_CALL_ID_clone || !(record->arg & CLONE_VM);
    struct ft_children_expected one = {.pid = (uint32_t)record->result,
                                       .way = FT_CHILDREN_FORKED,
                                       .follow = (uint8_t)FT_FOLLOW_OF(record->flags),
                                       .since_ns = start_ns};
    if (record->result > 0 && is_process)
        expect(drain, process, &one, process->exe);
}

static void note_spawn(struct ft_drain *drain, struct ft_process *process, const struct ft_record_event *record,
                       int64_t start_ns)
{
    char *path = record->result == 0 && record->has_arg ? copy_path(process, record) : NULL;
    struct ft_children_expected one = {.pid = (uint32_t)record->arg,
                                       .way = FT_CHILDREN_SPAWNED,
                                       .follow = (uint8_t)FT_FOLLOW_OF(record->flags),
                                       .since_ns = start_ns};
    if (path)
        expect(drain, process, &one, FT_BYTES(path));
    free(path);
}

// The shell of system, popen and wordexp has no pid here: it is a gap at once where it is known that it cannot attach.
static void note_shell(struct ft_drain *drain, struct ft_children *children, const struct ft_record_event *record)
{
    unsigned follow = FT_FOLLOW_OF(record->flags);
    if (follow == FT_FOLLOW_ORDINARY || follow == FT_FOLLOW_LIMIT)
        return;
    children->shells[follow]++;
    children->due_ns = drain->now_ns;
}

static void put_shells(struct ft_children *children, struct ft_trace_writer *writer, int64_t now_ns)
{
    const struct ft_children_expected one = {.path = "/bin/sh"};
    for (unsigned follow = 0; follow < FT_CHILDREN_FOLLOWS; follow++)
        for (; children->shells[follow]; children->shells[follow]--)
            ft_expected_put_gap(writer, &one, ft_missing_by_follow(follow), now_ns);
}

void ft_children_note_call(struct ft_drain *drain, struct ft_process *process, struct ft_process_line *line,
                           const struct ft_record_event *record, int64_t start_ns)
{
    switch (record->call) {
    case FT_CALL_ID_execve ... FT_CALL_ID_fexecve:
        note_exec(drain, process, line, record, start_ns);
        break;
    case FT_CALL_ID_fork:
    case FT_CALL_ID__Fork:
    case FT_CALL_ID___fork:
    case FT_CALL_ID_clone: // one that shares memory and is waited for is a vfork: see its end
    case FT_CALL_ID_forkpty:
        note_fork(drain, process, record, start_ns);
        break;
    case FT_CALL_ID_posix_spawn:
    case FT_CALL_ID_posix_spawnp:
        note_spawn(drain, process, record, start_ns);
        break;
    case FT_CALL_ID_system:
    case FT_CALL_ID_popen:
    case FT_CALL_ID_wordexp:
        note_shell(drain, &process->job->children, record);
        break;
    default: // vfork: see its end
        break;
    }
}

void ft_children_note_vfork_end(struct ft_drain *drain, struct ft_process *process, struct ft_process_line *line,
                                uint32_t pid)
{
    struct ft_children_expected one = {
        .pid = pid, .way = FT_CHILDREN_SPAWNED, .follow = line->exec.follow, .since_ns = line->exec.since_ns};
    if (line->exec.path)
        expect(drain, process, &one, FT_BYTES(line->exec.path));
    free(line->exec.path);
    line->exec.path = NULL;
}

// -------------------------------------------------------------------------------------------------- what becomes of it

void ft_children_note_over(struct ft_drain *drain, struct ft_process *process)
{
    struct ft_children *children = &process->job->children;
    // Where a daemon before us had read of the exec.
    if (process->exec.path && process->exit != FT_EXIT_EXEC)
        expect_executed(drain, process);
    for (struct ft_children_expected *one = children->expected; one; one = one->next) {
        if (one->parent != process->segment.id)
            continue;
        one->has_come |= one->way == FT_CHILDREN_EXECUTED && process->exit == FT_EXIT_EXEC;
        if (!one->has_failed_gap && !ft_expected_find_attached(children, one))
            ft_missing_take_failure(one, process);
    }
}

// An image that attached by another path than was executed: an interpreter, a link, or what a program that cannot be
// traced executed in its turn.
static void check_hidden(struct ft_children *children, struct ft_trace_writer *writer,
                         const struct ft_children_expected *one, const struct ft_seen_pid *attached, int64_t now_ns)
{
    if (one->way == FT_CHILDREN_FORKED || one->path[0] != '/' || attached->exe == ft_seen_hash(FT_BYTES(one->path)))
        return;
    struct ft_exe_verdict verdict = ft_exe_examine_again(one->path, children->known, FT_CHILDREN_VERDICTS);
    if (verdict.is_certain)
        ft_expected_put_gap(writer, one, verdict, now_ns);
}

// It attached to another job, to which a session, a control group or a user of its own took it; or it is told as a gap of
// its own.
static bool is_elsewhere(const struct ft_job *job, const struct ft_children_expected *one)
{
    if (one->way != FT_CHILDREN_EXECUTED)
        return !one->is_inside && ft_attached_since(&job->daemon->attached, one->pid, one->since_ns);
    const struct ft_process *process = ft_missing_find_parent(job, one);
    return one->has_come || ft_attached_is_gap_since(&job->daemon->attached, one->pid, one->since_ns) ||
           (process && atomic_load(&process->state) == FT_PROCESS_REPLACED);
}

// It, or what it sent, may be on its way to a socket that is the service manager's. A reader takes the gap back where it
// came to the next daemon.
static bool may_be_seen_by_successor(const struct ft_job *job, const struct ft_children_expected *one,
                                     struct ft_exe_verdict verdict, bool is_early)
{
    return job->daemon->store.fd >= 0 && is_early && one->way != FT_CHILDREN_EXECUTED && !one->is_inside &&
           !verdict.is_certain && verdict.gap == FT_GAP_NOT_ATTACHED;
}

// True when it is settled: attached, or told as a gap.
static bool settle(struct ft_job *job, struct ft_trace_writer *writer, struct ft_children_expected *one, int64_t now_ns,
                   bool all)
{
    const struct ft_seen_pid *attached = ft_expected_find_attached(&job->children, one);
    if (attached) {
        check_hidden(&job->children, writer, one, attached, now_ns);
        return true;
    }
    if (!all && one->due_ns > now_ns)
        return false;
    if (is_elsewhere(job, one))
        return true;
    bool is_running = ft_missing_is_alive(one);
    struct ft_exe_verdict verdict = ft_missing_find_reason(job, one, is_running);
    bool may_come = is_running && !verdict.is_certain && verdict.gap != FT_GAP_SECURE_EXEC &&
                    one->follow == FT_FOLLOW_ORDINARY && !one->has_failed_gap;
    if (may_come && !all) {
        one->due_ns = now_ns + FT_EXPECTED_PATIENCE_NS;
        return false;
    }
    if (all && may_be_seen_by_successor(job, one, verdict, may_come || one->due_ns > now_ns))
        verdict = (struct ft_exe_verdict){.gap = FT_GAP_DAEMON_STOPPED, .reason = "was starting when the daemon ended"};
    struct ft_process *process = one->way == FT_CHILDREN_EXECUTED ? ft_missing_find_parent(job, one) : NULL;
    if (process) { // told
        free(process->exec.path);
        process->exec.path = NULL;
    }
    if (one->way == FT_CHILDREN_EXECUTED && is_running && job->daemon->store.fd >= 0 && all)
        return true; // a successor goes on with it
    // Of one between two images it is told that it lived on; of one inside another namespace's namespace nothing is known.
    if (!may_come || (one->way != FT_CHILDREN_EXECUTED && !one->is_inside))
        ft_expected_put_gap(writer, one, verdict, now_ns);
    return true;
}

void ft_children_check(struct ft_job *job, struct ft_trace_writer *writer, int64_t now_ns, bool all)
{
    struct ft_children *children = &job->children;
    int64_t next_ns = INT64_MAX;
    if (writer)
        put_shells(children, writer, now_ns);
    if (!writer && !all) { // what is settled without a file is told nowhere
        children->due_ns = now_ns + FT_EXPECTED_PATIENCE_NS;
        return;
    }
    for (struct ft_children_expected **link = &children->expected; *link;) {
        struct ft_children_expected *one = *link;
        if (settle(job, writer, one, now_ns, all)) {
            ft_expected_forget(children, link);
            continue;
        }
        next_ns = one->due_ns < next_ns ? one->due_ns : next_ns;
        link = &one->next;
    }
    children->due_ns = next_ns;
}
