// SPDX-License-Identifier: MIT
#include "daemon/children.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/exe.h"
#include "proto/trace_resume.h"

// A child that attaches at all has done so long before; what it waits for here is its admission.
#define PATIENCE_NS INT64_C(1000000000)
// How much earlier than its parent's record was read a child may have been admitted; pids do not come round that soon.
#define EARLIER_NS INT64_C(10000000000)
#define SEEN_ROOM_MIN 256u
#define SEEN_ROOM_MAX (1u << 20)

void ft_children_fini(struct ft_children *children)
{
    for (struct ft_children_expected *one = children->expected, *next; one; one = next) {
        next = one->next;
        free(one);
    }
    free(children->seen);
    memset(children, 0, sizeof(*children));
}

static void insert(uint32_t *seen, uint32_t room, uint32_t pid)
{
    uint32_t at = pid * UINT32_C(0x9e3779b1) & (room - 1);
    while (seen[at] && seen[at] != pid)
        at = (at + 1) & (room - 1);
    seen[at] = pid;
}

static bool is_seen(const struct ft_children *children, uint32_t pid)
{
    uint32_t room = children->seen_room;
    for (uint32_t at = room ? pid * UINT32_C(0x9e3779b1) & (room - 1) : 0; room && children->seen[at];
         at = (at + 1) & (room - 1))
        if (children->seen[at] == pid)
            return true;
    return false;
}

// Twice the room; where that is too much, a new beginning: then a child may pass for one that did not attach only if it
// did so before, and pids that are asked for are young.
static void make_room(struct ft_children *children)
{
    uint32_t room = children->seen_room ? children->seen_room * 2 : SEEN_ROOM_MIN;
    bool is_too_much = room > SEEN_ROOM_MAX;
    if (is_too_much)
        room = SEEN_ROOM_MIN;
    uint32_t *seen = calloc(room, sizeof(*seen));
    if (!seen)
        return;
    for (uint32_t i = 0; i < children->seen_room && !is_too_much; i++)
        if (children->seen[i])
            insert(seen, room, children->seen[i]);
    free(children->seen);
    children->seen = seen;
    children->seen_room = room;
    children->seen_count = is_too_much ? 0 : children->seen_count;
}

void ft_children_note_attached(struct ft_children *children, uint32_t pid)
{
    if (children->seen_count >= children->seen_room / 2)
        make_room(children);
    if (!pid || children->seen_count >= children->seen_room / 2 || is_seen(children, pid))
        return;
    insert(children->seen, children->seen_room, pid);
    children->seen_count++;
}

// Whether the shim counted an exec of this process with a cleaned environment that we have not told of yet.
static bool take_env_cleaned(struct ft_process *process)
{
    uint64_t count[FT_SHIM_GAP_COUNT];
    if (process->segment.fd < 0 || ft_segment_read_gaps(&process->segment, count) < 0 ||
        count[FT_SHIM_GAP_ENV_CLEANED] <= process->gap_stated[FT_SHIM_GAP_ENV_CLEANED])
        return false;
    process->gap_stated[FT_SHIM_GAP_ENV_CLEANED]++;
    return true;
}

static void put_expected(const struct ft_children_expected *one, struct ft_trace_writer *writer)
{
    const struct ft_trace_expected expected = {
        .pid = one->pid, .path = FT_BYTES(one->path), .is_env_cleaned = one->is_env_cleaned};
    ft_trace_writer_put_expected(writer, &expected);
}

void ft_children_put(struct ft_children *children, struct ft_drain *drain)
{
    if (children->told_part == drain->part)
        return;
    for (const struct ft_children_expected *one = children->expected; one; one = one->next)
        put_expected(one, drain->writer);
    children->told_part = drain->part;
}

static bool is_expected(const struct ft_children *children, uint32_t pid)
{
    for (const struct ft_children_expected *one = children->expected; one; one = one->next)
        if (one->pid == pid)
            return true;
    return false;
}

static struct ft_children_expected *add_expected(struct ft_children *children, uint32_t pid, const char *path,
                                                 size_t bytes)
{
    struct ft_children_expected *one =
        children->expected_count < FT_CHILDREN_EXPECTED_MAX ? calloc(1, sizeof(*one)) : NULL;
    if (!one)
        return NULL;
    one->pid = pid;
    memcpy(one->path, path, bytes < sizeof(one->path) ? bytes : sizeof(one->path) - 1);
    one->next = children->expected;
    children->expected = one;
    children->expected_count++;
    return one;
}

void ft_children_restore(struct ft_children *children, const struct ft_trace_expected *expected, int64_t now_ns)
{
    if (is_seen(children, expected->pid) || is_expected(children, expected->pid))
        return;
    struct ft_children_expected *one = add_expected(children, expected->pid, expected->path.data, expected->path.len);
    if (!one)
        return;
    one->due_ns = now_ns + PATIENCE_NS;
    one->is_env_cleaned = expected->is_env_cleaned;
}

static void expect(struct ft_drain *drain, struct ft_process *process, uint32_t pid, const char *path)
{
    struct ft_children *children = &process->job->children;
    bool is_our_namespace = process->ns_pid == process->pid;
    if (!pid || !is_our_namespace || is_seen(children, pid) || is_expected(children, pid))
        return;
    struct ft_children_expected *one =
        add_expected(children, pid, path ? path : process->exe.data, path ? strlen(path) : process->exe.len);
    if (!one)
        return;
    one->due_ns = drain->now_ns + PATIENCE_NS;
    one->is_env_cleaned = take_env_cleaned(process);
    if (drain->writer && children->told_part == drain->part)
        put_expected(one, drain->writer);
}

static char *copy_path(struct ft_process *process, uint32_t id)
{
    struct ft_name *name = ft_names_find(&process->names, id);
    if (name)
        ft_names_join(&process->names, name);
    return name ? strndup(name->text, name->bytes_got) : strdup("");
}

// An exec is recorded before it happens, and a second time with its error where it failed.
void ft_children_note_exec(struct ft_process *process, struct ft_process_line *line,
                           const struct ft_record_event *record)
{
    char **path = record->flags & FT_CALL_VFORK ? &line->exec_path : &process->exec_path;
    free(*path);
    *path = record->has_result ? NULL : copy_path(process, record->file);
}

void ft_children_note_call(struct ft_drain *drain, struct ft_process *process, struct ft_process_line *line,
                           const struct ft_record_event *record)
{
    switch (record->call) {
    case FT_CALL_ID_execve ... FT_CALL_ID_fexecve:
        ft_children_note_exec(process, line, record);
        break;
    case FT_CALL_ID_fork:
    case FT_CALL_ID__Fork:
        if (record->result > 0)
            expect(drain, process, (uint32_t)record->result, NULL);
        break;
    case FT_CALL_ID_posix_spawn:
    case FT_CALL_ID_posix_spawnp:
        if (record->result == 0 && record->has_arg) {
            char *path = copy_path(process, record->file);
            expect(drain, process, (uint32_t)record->arg, path);
            free(path);
        }
        break;
    default: // vfork: see its end; clone: by its flags it may be anything
        break;
    }
}

void ft_children_note_vfork_end(struct ft_drain *drain, struct ft_process *process, struct ft_process_line *line,
                                uint32_t pid)
{
    if (line->exec_path)
        expect(drain, process, pid, line->exec_path);
    free(line->exec_path);
    line->exec_path = NULL;
}

static void put_gap(struct ft_trace_writer *writer, const struct ft_children_expected *one, int64_t now_ns)
{
    struct ft_exe_verdict verdict = ft_exe_examine(one->path);
    if (verdict.gap == FT_GAP_NOT_ATTACHED && one->is_env_cleaned)
        verdict = (struct ft_exe_verdict){.gap = FT_GAP_ENV_CLEANED, .reason = "executed with a cleaned environment"};
    struct ft_trace_gap gap = {
        .kind = (uint8_t)verdict.gap,
        .pid = one->pid,
        .count = 1,
        .when_ns = now_ns,
        .exe = FT_BYTES(one->path),
        .reason = FT_BYTES(verdict.reason),
    };
    ft_trace_writer_put_gap(writer, &gap);
}

// It attached: in this job, or in another one, to which a session, a control group or a user of its own took it.
static bool is_here(const struct ft_job *job, const struct ft_children_expected *one)
{
    int64_t since_ns = one->due_ns - PATIENCE_NS - EARLIER_NS;
    return is_seen(&job->children, one->pid) || ft_attached_since(&job->daemon->attached, one->pid, since_ns);
}

int64_t ft_children_check(struct ft_job *job, struct ft_trace_writer *writer, int64_t now_ns, bool all)
{
    struct ft_children *children = &job->children;
    int64_t next_ns = INT64_MAX;
    for (struct ft_children_expected **link = &children->expected; *link;) {
        struct ft_children_expected *one = *link;
        bool has_come = is_here(job, one);
        if (!has_come && !all && one->due_ns > now_ns) {
            next_ns = one->due_ns < next_ns ? one->due_ns : next_ns;
            link = &one->next;
            continue;
        }
        if (!has_come && writer)
            put_gap(writer, one, now_ns);
        *link = one->next;
        free(one);
        children->expected_count--;
    }
    return next_ns;
}
