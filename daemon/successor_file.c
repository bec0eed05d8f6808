// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/admit.h"
#include "daemon/log.h"
#include "daemon/procfs.h"
#include "daemon/successor_impl.h"

struct ft_stored *ft_successor_find(const struct ft_successor *successor, const struct ft_trace_process *record)
{
    for (size_t i = 0; i < successor->stored_count; i++) {
        struct ft_stored *stored = &successor->stored[i];
        if (!stored->process && !stored->is_done && stored->id.segment == record->segment &&
            stored->id.pid == record->pid && stored->id.uid == record->uid)
            return stored;
    }
    return NULL;
}

// The job of a chain, made when the first thing is to be told of it.
static struct ft_job *job_of(struct ft_successor *successor, struct ft_successor_chain *chain,
                             const struct ft_trace_header *header)
{
    struct ft_identity identity = {.source = header->job.source, .rank = -1, .local_rank = -1};
    if (chain->made)
        return chain->made;
    snprintf(identity.job, sizeof(identity.job), "%s", chain->job);
    chain->made = ft_job_make(successor->daemon, header->uid, &identity);
    if (!chain->made) {
        ft_log_limited_about(FT_LOG_ERR,
                             FT_LOG_ABOUT(.message = FT_LOG_REFUSED, .job = chain->job, FT_LOG_USER(header->uid)),
                             "job %s of user %u cannot be gone on with: max_jobs or memory", chain->job, header->uid);
        return NULL;
    }
    chain->made->storage.number = chain->next_part;
    chain->made->realtime_offset_ns = header->realtime_offset_ns;
    return chain->made;
}

static struct ft_process *new_process(int fd, const struct ft_stored_name *id)
{
    struct ft_process *process = calloc(1, sizeof(*process));
    if (!process)
        return NULL;
    process->pidfd = process->end_status = process->store_fd = process->segment.fd = -1;
    ft_names_init(&process->names);
    struct stat status;
    if (fd < 0)
        return process;
    if (fstat(fd, &status) < 0 || ft_segment_open(&process->segment, fd, (uint64_t)status.st_size) < 0) {
        process->segment.fd = -1;
        ft_process_destroy(process);
        return NULL;
    }
    process->segment.id = id->segment; // not what the client's memory says by now
    process->gid = id->gid;
    process->pidfd_id = id->pidfd_id;
    return process;
}

static bool add(struct ft_successor *successor, struct ft_process *process)
{
    if (successor->process_count == successor->process_room) {
        size_t room = successor->process_room ? successor->process_room * 2 : 64;
        struct ft_process **processes = realloc(successor->processes, room * sizeof(*processes));
        if (!processes)
            return false;
        successor->processes = processes;
        successor->process_room = room;
    }
    successor->processes[successor->process_count++] = process;
    return true;
}

// Nothing more is to be had of it.
static void make_lost(struct ft_process *process, bool is_corrupt)
{
    process->is_lost = process->is_cut_off = process->is_drained = true;
    process->is_corrupt = is_corrupt;
}

// A daemon before us has told that it is lost, or was left when that one ended.
static bool is_told(const struct ft_trace_reader *reader, uint32_t id)
{
    size_t count;
    const struct ft_trace_gap *gaps = ft_trace_reader_gaps(reader, &count);
    for (size_t i = 0; i < count; i++)
        if (gaps[i].process == id && gaps[i].kind == FT_GAP_DAEMON_STOPPED)
            return true;
    return false;
}

static void go_on_with(struct ft_successor *successor, struct ft_successor_chain *chain, struct ft_readback *readback,
                       uint32_t id)
{
    const struct ft_trace_process *record = ft_trace_reader_process(readback->reader, id);
    struct ft_stored *stored = ft_successor_find(successor, record);
    bool is_running =
        ft_readback_is_running(readback, id) && !ft_trace_reader_is_closed(readback->reader) && !chain->is_done;
    if (stored && !ft_readback_is_running(readback, id))
        stored->is_done = true; // all of it is here, and the service manager was not told any more
    if ((!stored && (!is_running || is_told(readback->reader, id))) || (stored && stored->is_done))
        return;
    struct ft_job *job = job_of(successor, chain, ft_trace_reader_header(readback->reader));
    struct ft_process *process = job ? new_process(stored ? stored->fd : -1, stored ? &stored->id : NULL) : NULL;
    bool is_segment = process && process->segment.fd >= 0;
    if (job && !process && stored) // what is held is no segment any more
        process = new_process(-1, NULL);
    if (!process)
        return;
    if (ft_readback_fill(readback, id, process) < 0 || !add(successor, process)) {
        readback->processes[id] = NULL;
        process->segment.fd = -1; // the list's still
        ft_process_destroy(process);
        return;
    }
    process->job = job;
    process->mode = ft_mode_of_process(job->daemon, process);
    job->is_capped |= process->dropped[FT_CAUSE_CAPPED] > 0;
    if (stored) {
        stored->process = process;
        stored->fd = is_segment ? -1 : stored->fd;
    }
    if (!is_segment)
        make_lost(process, stored != NULL);
    if (readback->replaced_ns[id])
        ft_process_note_end(process, FT_PROCESS_REPLACED, readback->replaced_ns[id]);
}

// Whether it was told of in a newer file.
static bool is_seen(struct ft_successor_chain *chain, uint64_t segment)
{
    size_t before = chain->seen.count;
    return ft_intern_add(&chain->seen, &segment, sizeof(segment)) > 0 && chain->seen.count == before;
}

// What tells of one that came to nothing says whose child it was; what tells of a process that a kill lost does not.
static bool is_gap_of(const struct ft_trace_gap *gap, const struct ft_trace_expected *one)
{
    if (!gap->parent)
        return !one->is_inside && gap->pid == one->pid;
    uint32_t pid = one->is_inside ? gap->inside_pid : gap->pid;
    return gap->parent == one->parent && pid == one->pid && gap->when_ns >= one->since_ns;
}

static bool has_gap(const struct ft_trace_reader *reader, const struct ft_trace_expected *one)
{
    size_t count;
    const struct ft_trace_gap *gaps = ft_trace_reader_gaps(reader, &count);
    for (size_t i = 0; i < count; i++)
        if (is_gap_of(&gaps[i], one))
            return true;
    return false;
}

static void restore_children(struct ft_job *job, const struct ft_readback *readback)
{
    const struct ft_trace_reader *reader = readback->reader;
    size_t count;
    for (uint32_t id = 1; id <= readback->process_max; id++) {
        const struct ft_trace_process *record = ft_trace_reader_process(reader, id);
        if (record && record->segment)
            ft_children_note_attached(&job->children, record->pid, record->ns_pid, record->start_ns, record->exe);
    }
    const struct ft_trace_expected *expected = ft_trace_reader_expected(reader, &count);
    for (size_t i = 0; i < count && !ft_trace_reader_is_closed(reader); i++)
        if (!has_gap(reader, &expected[i]))
            ft_children_restore(&job->children, &expected[i], ft_clock_mono_ns());
}

// The file ends where it was not meant to: what follows says where.
static void explain(struct ft_successor *successor, struct ft_successor_chain *chain,
                    const struct ft_readback *readback)
{
    const struct ft_trace_header *header = ft_trace_reader_header(readback->reader);
    uint64_t whole = ft_trace_reader_whole(readback->reader);
    bool is_torn = whole < ft_trace_reader_size(readback->reader);
    // Of a private daemon it is told even where it was quite idle: it had a command to serve.
    bool is_wanted = is_torn || successor->daemon->config.private;
    struct ft_job *job = is_wanted ? job_of(successor, chain, header) : chain->made;
    struct ft_trace_taken_over *list =
        job ? realloc(job->taken_over, (job->taken_over_count + 1) * sizeof(*list)) : NULL;
    if (!list)
        return;
    job->taken_over = list;
    list[job->taken_over_count++] = (struct ft_trace_taken_over){.part = header->part, .bytes = whole};
}

// The clocks as they stood: for what was recorded while no daemon took pairs.
static void take_clock(struct ft_daemon *daemon, const struct ft_trace_reader *reader)
{
    size_t count;
    const struct ft_trace_clock *clocks = ft_trace_reader_clocks(reader, &count);
    if (!count)
        return;
    struct ft_clock_pair pair = {.ticks = clocks[count - 1].ticks, .mono_ns = clocks[count - 1].mono_ns};
    ft_clock_push_old(&daemon->clock, pair);
}

// Who is told as lost in any job is not waited for in that of its parent.
static void note_lost(struct ft_daemon *daemon, const struct ft_trace_reader *reader)
{
    size_t count;
    const struct ft_trace_gap *gaps = ft_trace_reader_gaps(reader, &count);
    for (size_t i = 0; i < count; i++)
        if (gaps[i].kind == FT_GAP_DAEMON_STOPPED && gaps[i].pid)
            ft_attached_note(&daemon->attached, gaps[i].pid, false, ft_clock_mono_ns());
}

void ft_successor_read_file(struct ft_successor *successor, struct ft_successor_chain *chain,
                            struct ft_readback *readback, bool is_newest)
{
    const struct ft_trace_reader *reader = readback->reader;
    size_t taken_over;
    ft_arrivals_see_file(successor->daemon, reader);
    if (is_newest)
        note_lost(successor->daemon, reader);
    for (uint32_t id = 1; id <= readback->process_max; id++) {
        const struct ft_trace_process *record = ft_trace_reader_process(reader, id);
        if (record && is_newest)
            ft_attached_note(&successor->daemon->attached, record->pid, false, ft_clock_mono_ns());
        if (record && record->segment && !is_seen(chain, record->segment))
            go_on_with(successor, chain, readback, id);
    }
    ft_readback_segments(readback);
    if (chain->is_done)
        return;
    if (!ft_trace_reader_is_closed(reader))
        explain(successor, chain, readback);
    if (chain->made && is_newest)
        restore_children(chain->made, readback);
    if (chain->made)
        take_clock(successor->daemon, reader);
    ft_trace_reader_taken_over(reader, &taken_over);
    // It begins with all that ran when it began; or it was all over by then.
    chain->is_done = ft_trace_reader_is_closed(reader) || taken_over;
}
