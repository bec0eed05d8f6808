// SPDX-License-Identifier: MIT
//
// What the loop sees of a job that somebody watches.
#include <stdlib.h>

#include "daemon/daemon.h"
#include "daemon/live.h"

enum { TEXT_BYTES_MAX = FT_LIVE_PATH_MAX };

static struct ft_live_text put_text(struct ft_live_picture *picture, const void *bytes, size_t count)
{
    struct ft_live_text text = {.at = (uint32_t)picture->text.len};
    count = count < TEXT_BYTES_MAX ? count : TEXT_BYTES_MAX;
    if (count && ft_buffer_append(&picture->text, bytes, count) == 0)
        text.bytes = (uint32_t)count;
    return text;
}

// What a thread is in: the one that is in its call for longest. Lines are the client's: they may say anything.
static void put_call(struct ft_job *job, struct ft_process *process, struct ft_live_picture *picture,
                     struct ft_live_row *row, int64_t now_ns)
{
    const struct ft_segment *segment = &process->segment;
    uint32_t file = 0;
    for (uint32_t i = 0; segment->lines && segment->fd >= 0 && i < segment->counts.lines_used; i++) {
        const struct ft_line *line = &segment->lines[i];
        if (!line->call || line->call >= FT_TRACE_CALL_MAX)
            continue;
        int64_t since_ns = ft_process_ns(process, job->view, line->call_start);
        since_ns = since_ns < process->start_ns ? process->start_ns : since_ns > now_ns ? now_ns : since_ns;
        if (row->call && now_ns - since_ns <= row->call_ns)
            continue;
        row->call = (uint32_t)line->call;
        row->call_ns = now_ns - since_ns;
        file = line->file;
    }
    struct ft_name *name = row->call && file ? ft_names_find(&process->names, file) : NULL;
    if (name) {
        ft_names_join(&process->names, name);
        row->call_path = put_text(picture, name->text, name->bytes_got);
    }
}

static void put_process(struct ft_job *job, struct ft_process *process, struct ft_live_picture *picture, int64_t now_ns)
{
    struct ft_live_row *row = &picture->processes[picture->process_count++];
    *row = (struct ft_live_row){
        .id = process->segment.id,
        .sum = process->live,
        .events = process->segment.counts.emitted,
        .dropped = ft_live_dropped_of(process),
        .since_ns = process->start_ns > job->live.since_ns ? process->start_ns : job->live.since_ns,
        .pid = process->pid,
        .name = put_text(picture, process->exe.data, process->exe.len),
    };
    put_call(job, process, picture, row, now_ns);
}

// Those that did something, then, while there is room, the others.
static void put_processes(struct ft_job *job, struct ft_live_picture *picture, int64_t now_ns)
{
    for (int idle = 0; idle < 2; idle++)
        for (struct ft_process *process = job->processes; process; process = process->next) {
            if ((process->live.ops == 0) != idle)
                continue;
            if (picture->process_count < FT_LIVE_PROCESSES_MAX)
                put_process(job, process, picture, now_ns);
            else
                picture->processes_left_out++;
        }
}

// FNV-1a: what a file goes by in all pictures, also where the table was emptied in between.
static uint64_t id_of(const uint8_t *path, uint32_t bytes)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (uint32_t i = 0; i < bytes; i++)
        hash = (hash ^ path[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static void put_files(const struct ft_live *live, struct ft_live_picture *picture)
{
    for (uint32_t id = 1; id <= live->paths.count; id++) {
        uint32_t bytes;
        const uint8_t *path = ft_intern_get(&live->paths, id, &bytes);
        picture->files[picture->file_count++] = (struct ft_live_row){.id = id_of(path, bytes),
                                                                     .sum = live->files[id - 1],
                                                                     .since_ns = live->since_ns,
                                                                     .name = put_text(picture, path, bytes)};
    }
    picture->calls_left_out = live->calls_left_out;
}

static void put_job(const struct ft_job *job, struct ft_live_picture *picture)
{
    const struct ft_live *live = &job->live;
    picture->job = (struct ft_live_row){
        .sum = live->sum, .since_ns = live->since_ns, .events = live->ended_events, .dropped = live->ended_dropped};
    for (const struct ft_process *process = job->processes; process; process = process->next) {
        picture->job.events += process->segment.counts.emitted;
        picture->job.dropped += ft_live_dropped_of(process);
    }
}

// Up to when all that was done is known; never less than what was shown.
static int64_t as_of_ns(const struct ft_job *job, int64_t now_ns)
{
    int64_t least_ns = now_ns;
    for (const struct ft_process *process = job->processes; process; process = process->next)
        if (!process->is_drained && process->known_ns < least_ns)
            least_ns = process->known_ns;
    return least_ns > job->live.as_of_ns ? least_ns : job->live.as_of_ns;
}

static struct ft_live_picture *make_picture(struct ft_job *job, int64_t now_ns)
{
    struct ft_live_picture *picture = calloc(1, sizeof(*picture));
    size_t processes = job->worker_count < FT_LIVE_PROCESSES_MAX ? job->worker_count : FT_LIVE_PROCESSES_MAX;
    if (!picture)
        return NULL;
    atomic_init(&picture->references, 1);
    picture->processes = calloc(processes + 1, sizeof(*picture->processes));
    picture->files = calloc(job->live.paths.count + 1, sizeof(*picture->files));
    if (!picture->processes || !picture->files) {
        ft_live_give_back(picture);
        return NULL;
    }
    picture->as_of_ns = job->live.as_of_ns = as_of_ns(job, now_ns);
    ft_clock_view_init(job->view, &job->daemon->clock);
    put_processes(job, picture, now_ns);
    put_files(&job->live, picture);
    put_job(job, picture);
    ft_live_make_room(&job->live);
    return picture;
}

static void leave(struct ft_job *job, struct ft_live_picture *picture)
{
    pthread_mutex_lock(&job->lock);
    struct ft_live_picture *before = job->live.picture;
    job->live.picture = picture;
    pthread_mutex_unlock(&job->lock);
    if (before)
        ft_live_give_back(before);
}

int64_t ft_live_show(struct ft_job *job, int64_t now_ns)
{
    bool was_on = job->live.is_on;
    struct ft_live *live = ft_live_check(job, now_ns);
    if (!live && was_on)
        leave(job, NULL);
    if (!live)
        return INT64_MAX;
    struct ft_live_picture *picture = now_ns - live->made_ns >= FT_LIVE_EVERY_NS ? make_picture(job, now_ns) : NULL;
    if (picture) {
        live->made_ns = now_ns;
        live->shown_ops = live->sum.ops;
        leave(job, picture);
    }
    return live->shown_ops == live->sum.ops ? INT64_MAX : live->made_ns + FT_LIVE_EVERY_NS;
}

struct ft_live_picture *ft_live_take(struct ft_job *job)
{
    pthread_mutex_lock(&job->lock);
    struct ft_live_picture *picture = job->live.picture;
    if (picture)
        atomic_fetch_add(&picture->references, 1);
    pthread_mutex_unlock(&job->lock);
    return picture;
}

void ft_live_give_back(struct ft_live_picture *picture)
{
    if (atomic_fetch_sub(&picture->references, 1) > 1)
        return;
    free(picture->processes);
    free(picture->files);
    ft_buffer_fini(&picture->text);
    free(picture);
}
