// SPDX-License-Identifier: MIT
#include "daemon/expected.h"

#include <stdlib.h>
#include <string.h>

#include "proto/trace_resume.h"

void ft_children_init(struct ft_children *children)
{
    *children = (struct ft_children){.due_ns = INT64_MAX};
}

void ft_children_fini(struct ft_children *children)
{
    for (struct ft_children_expected *one = children->expected, *next; one; one = next) {
        next = one->next;
        free(one);
    }
    ft_seen_fini(&children->seen);
    ft_seen_fini(&children->seen_inside);
    memset(children, 0, sizeof(*children));
}

void ft_children_note_attached(struct ft_children *children, uint32_t pid, uint32_t ns_pid, int64_t attached_ns,
                               struct ft_bytes exe)
{
    ft_seen_add(&children->seen, pid, attached_ns, exe);
    if (ns_pid != pid)
        ft_seen_add(&children->seen_inside, ns_pid, attached_ns, exe);
}

const struct ft_seen_pid *ft_expected_find_attached(const struct ft_children *children,
                                                    const struct ft_children_expected *one)
{
    return ft_seen_find(one->is_inside ? &children->seen_inside : &children->seen, one->pid, one->since_ns);
}

void ft_expected_put_gap(struct ft_trace_writer *writer, const struct ft_children_expected *one,
                         struct ft_exe_verdict verdict, int64_t now_ns)
{
    struct ft_trace_gap gap = {
        .kind = (uint8_t)verdict.gap,
        .pid = one->is_inside ? 0 : one->pid,
        .parent = one->parent,
        .inside_pid = one->is_inside ? one->pid : 0,
        .count = 1,
        .when_ns = now_ns,
        .exe = FT_BYTES(one->path),
        .reason = FT_BYTES(verdict.reason),
    };
    if (writer)
        ft_trace_writer_put_gap(writer, &gap);
}

// Executed images are not told: a successor knows them by what their process's records said last.
void ft_expected_put(const struct ft_children_expected *one, struct ft_trace_writer *writer)
{
    const struct ft_trace_expected expected = {
        .pid = one->pid,
        .path = FT_BYTES(one->path),
        .way = one->way,
        .follow = one->follow,
        .is_inside = one->is_inside,
        .uid = one->uid,
        .gid = one->gid,
        .parent = one->parent,
        .parent_pid = one->parent_pid,
        .since_ns = one->since_ns,
    };
    if (one->way != FT_CHILDREN_EXECUTED)
        ft_trace_writer_put_expected(writer, &expected);
}

void ft_children_put(struct ft_children *children, struct ft_drain *drain)
{
    if (children->told_part == drain->part)
        return;
    for (const struct ft_children_expected *one = children->expected; one; one = one->next)
        ft_expected_put(one, drain->writer);
    children->told_part = drain->part;
}

bool ft_expected_is_known(const struct ft_children *children, uint32_t pid, enum ft_children_way way, uint64_t parent)
{
    for (const struct ft_children_expected *one = children->expected; one; one = one->next)
        if (one->pid == pid && one->way == way && one->parent == parent)
            return true;
    return false;
}

struct ft_children_expected *ft_expected_add(struct ft_children *children, const struct ft_children_expected *given,
                                             struct ft_bytes path)
{
    struct ft_children_expected *one =
        children->expected_count < FT_CHILDREN_EXPECTED_MAX ? malloc(sizeof(*one)) : NULL;
    if (!one)
        return NULL;
    *one = *given;
    size_t bytes = path.len < sizeof(one->path) ? path.len : sizeof(one->path) - 1;
    memcpy(one->path, path.data, bytes);
    one->path[bytes] = '\0';
    one->next = children->expected;
    children->expected = one;
    children->expected_count++;
    children->due_ns = one->due_ns < children->due_ns ? one->due_ns : children->due_ns;
    return one;
}

void ft_children_restore(struct ft_children *children, const struct ft_trace_expected *expected, int64_t now_ns)
{
    const struct ft_children_expected one = {
        .pid = expected->pid,
        .uid = expected->uid,
        .gid = expected->gid,
        .way = expected->way == FT_CHILDREN_FORKED ? FT_CHILDREN_FORKED : FT_CHILDREN_SPAWNED,
        .follow = expected->follow,
        .is_inside = expected->is_inside,
        .parent = expected->parent,
        .parent_pid = expected->parent_pid,
        .since_ns = expected->since_ns,
        .due_ns = now_ns + FT_EXPECTED_PATIENCE_NS,
    };
    if (one.pid && !ft_expected_find_attached(children, &one) &&
        !ft_expected_is_known(children, one.pid, one.way, one.parent))
        ft_expected_add(children, &one, expected->path);
}

void ft_expected_forget(struct ft_children *children, struct ft_children_expected **link)
{
    struct ft_children_expected *one = *link;
    *link = one->next;
    free(one);
    children->expected_count--;
}
