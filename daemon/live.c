// SPDX-License-Identifier: MIT
#include "daemon/live.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/drain.h"
#include "proto/calls.h"

static atomic_uint files_of_all;

static void forget(struct ft_live *live)
{
    if (!live->is_on)
        return;
    atomic_fetch_sub(&files_of_all, live->paths.count);
    ft_intern_fini(&live->paths);
    free(live->files);
    free(live->path_of_file);
    live->files = NULL;
    live->path_of_file = NULL;
    live->files_room = live->path_of_file_room = 0;
    live->is_on = false;
}

void ft_live_fini(struct ft_live *live)
{
    forget(live);
    if (live->picture)
        ft_live_give_back(live->picture);
    live->picture = NULL;
}

static void begin(struct ft_job *job, int64_t now_ns)
{
    struct ft_live *live = &job->live;
    if (ft_intern_init(&live->paths) < 0)
        return;
    live->is_on = true;
    live->since_ns = live->as_of_ns = now_ns;
    live->sum = (struct ft_live_sum){0};
    live->calls_left_out = 0;
    live->part = 0;
    live->made_ns = 0;
    live->shown_ops = 0;
    for (struct ft_process *process = job->processes; process; process = process->next)
        process->live = (struct ft_live_sum){0};
}

struct ft_live *ft_live_check(struct ft_job *job, int64_t now_ns)
{
    struct ft_live *live = &job->live;
    bool is_watched = atomic_load_explicit(&live->until_ns, memory_order_relaxed) > now_ns;
    if (is_watched && !live->is_on)
        begin(job, now_ns);
    else if (!is_watched)
        forget(live);
    return live->is_on ? live : NULL;
}

// The id of a path, made where it is new; 0 where there is no room.
static uint32_t find_path(struct ft_live *live, const void *path, size_t bytes)
{
    bytes = bytes < FT_LIVE_PATH_MAX ? bytes : FT_LIVE_PATH_MAX;
    if (!bytes)
        return 0;
    uint32_t id = ft_intern_find(&live->paths, path, (uint32_t)bytes);
    if (id || live->paths.count >= FT_LIVE_FILES_MAX ||
        ft_array_grow(&live->files, &live->files_room, live->paths.count, sizeof(*live->files)) < 0)
        return id;
    bool has_room = atomic_fetch_add(&files_of_all, 1) < FT_LIVE_FILES_OF_ALL_MAX;
    int64_t made = has_room ? ft_intern_add(&live->paths, path, (uint32_t)bytes) : 0;
    if (made <= 0) {
        atomic_fetch_sub(&files_of_all, 1);
        return 0;
    }
    live->files[made - 1] = (struct ft_live_sum){0};
    return (uint32_t)made;
}

static void forget_file_ids(struct ft_live *live)
{
    if (live->path_of_file_room)
        memset(live->path_of_file, 0, live->path_of_file_room * sizeof(*live->path_of_file));
}

// Where a file's sum is; NULL where it has none of its own.
static struct ft_live_sum *sum_of_file(struct ft_drain *drain, uint32_t file)
{
    struct ft_live *live = drain->live;
    if (live->part != drain->part) {
        forget_file_ids(live);
        live->part = drain->part;
    }
    if (file >= live->path_of_file_room) {
        size_t room = live->path_of_file_room ? live->path_of_file_room : 1024;
        while (room <= file)
            room *= 2;
        uint32_t *larger = realloc(live->path_of_file, room * sizeof(*larger));
        if (!larger)
            return NULL;
        memset(larger + live->path_of_file_room, 0, (room - live->path_of_file_room) * sizeof(*larger));
        live->path_of_file = larger;
        live->path_of_file_room = room;
    }
    uint32_t *id = &live->path_of_file[file];
    if (!*id) {
        struct ft_bytes path = ft_trace_writer_file_path(drain->writer, file);
        *id = find_path(live, path.data, path.len);
    }
    return *id ? &live->files[*id - 1] : NULL;
}

static void add(struct ft_live_sum *to, const struct ft_live_sum *what)
{
    to->ops += what->ops;
    to->read_bytes += what->read_bytes;
    to->written_bytes += what->written_bytes;
    to->io_ns += what->io_ns;
}

static void add_to_file(struct ft_drain *drain, uint32_t file, const struct ft_live_sum *what)
{
    struct ft_live_sum *sum = sum_of_file(drain, file);
    if (sum)
        add(sum, what);
    else
        drain->live->calls_left_out += what->ops;
}

static bool is_storage(const struct ft_drain *drain, uint32_t file)
{
    unsigned of = file ? ft_trace_writer_file_class(drain->writer, file) : FT_FILE_CLASS_NONE;
    return of == FT_FILE_CLASS_STORAGE || of == FT_FILE_CLASS_UNKNOWN;
}

void ft_live_add(struct ft_drain *drain, struct ft_process *process, const struct ft_event *event)
{
    // Of a call that was going on when the watching began, what came later.
    int64_t watched_ns = event->start_ns + event->dur_ns - drain->live->since_ns;
    if (event->kind != FT_EVENT_CALL || watched_ns < 0)
        return;
    enum ft_group group = ft_call_group(event->call);
    bool is_transfer = group == FT_GROUP_TRANSFER;
    bool is_first = is_storage(drain, event->file), is_second = is_storage(drain, event->file2);
    bool is_io = group != FT_GROUP_PROCESS && (is_first || (is_transfer && is_second));
    uint64_t bytes = event->has & FT_HAS_BYTES ? event->bytes : 0;
    int64_t io_ns = event->dur_ns < watched_ns ? event->dur_ns : watched_ns;
    struct ft_live_sum what = {.ops = 1, .io_ns = is_io ? (uint64_t)io_ns : 0};
    what.read_bytes = is_first && (group == FT_GROUP_READ || is_transfer) ? bytes : 0;
    what.written_bytes = (is_first && group == FT_GROUP_WRITE) || (is_second && is_transfer) ? bytes : 0;
    add(&process->live, &what);
    if (event->start_ns + event->dur_ns < drain->live->as_of_ns - FT_LIVE_LATE_NS)
        return;
    add(&drain->live->sum, &what);
    if (is_first) {
        struct ft_live_sum of_first = what;
        of_first.written_bytes = is_transfer ? 0 : what.written_bytes;
        add_to_file(drain, event->file, &of_first);
    }
    if (is_second) {
        what.read_bytes = 0;
        add_to_file(drain, event->file2, &what);
    }
}

uint64_t ft_live_dropped_of(const struct ft_process *process)
{
    uint64_t dropped = process->segment.counts.dropped + process->segment.counts.limited;
    for (int cause = 0; cause < FT_CAUSE_COUNT; cause++)
        dropped += process->dropped[cause];
    return dropped;
}

void ft_live_note_gone(struct ft_live *live, const struct ft_process *process)
{
    live->ended_events += process->segment.counts.emitted;
    live->ended_dropped += ft_live_dropped_of(process);
}

static int busier_first(const void *a, const void *b, void *files)
{
    const struct ft_live_sum *x = (const struct ft_live_sum *)files + *(const uint32_t *)a - 1,
                             *y = (const struct ft_live_sum *)files + *(const uint32_t *)b - 1;
    uint64_t x_bytes = x->read_bytes + x->written_bytes, y_bytes = y->read_bytes + y->written_bytes;
    return x_bytes != y_bytes ? (x_bytes < y_bytes) - (x_bytes > y_bytes) : (x->ops < y->ops) - (x->ops > y->ops);
}

void ft_live_make_room(struct ft_live *live)
{
    uint32_t order[FT_LIVE_FILES_MAX];
    struct ft_intern kept;
    struct ft_live_sum *files;
    if (live->paths.count < FT_LIVE_FILES_MAX || ft_intern_init(&kept) < 0)
        return;
    files = calloc(FT_LIVE_FILES_MAX, sizeof(*files));
    for (uint32_t i = 0; i < FT_LIVE_FILES_MAX; i++)
        order[i] = i + 1;
    qsort_r(order, FT_LIVE_FILES_MAX, sizeof(*order), busier_first, live->files);
    for (uint32_t i = 0; files && i < FT_LIVE_FILES_MAX; i++) {
        uint32_t bytes;
        const uint8_t *path = ft_intern_get(&live->paths, order[i], &bytes);
        int64_t id = i < FT_LIVE_FILES_MAX / 2 ? ft_intern_add(&kept, path, bytes) : 0;
        if (id > 0)
            files[id - 1] = live->files[order[i] - 1];
        else
            live->calls_left_out += live->files[order[i] - 1].ops;
    }
    if (!files) {
        ft_intern_fini(&kept);
        return;
    }
    atomic_fetch_sub(&files_of_all, live->paths.count - kept.count);
    ft_intern_fini(&live->paths);
    free(live->files);
    live->paths = kept;
    live->files = files;
    live->files_room = FT_LIVE_FILES_MAX;
    forget_file_ids(live);
}
