// SPDX-License-Identifier: MIT
#include "daemon/storage.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/access.h"
#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/own_files.h"
#include "daemon/share.h"
#include "daemon/stored_name.h"
#include "daemon/test_point.h"

#define RETRY_NS INT64_C(1000000000)
#define PARTS_MAX 1000000
// Others that write to the same folder may take a number first.
#define NAME_TRIES 100
#define CLOCK_INTERVAL_NS INT64_C(10000000000)
// What a time's error may come to over a file's life, as a header is written at its beginning.
#define ERROR_BOUND_MIN_NS 1000

#define about(of) FT_LOG_ABOUT(.message = FT_LOG_NOT_WRITTEN, .job = (of)->identity.job, FT_LOG_USER((of)->uid))

int ft_storage_check_spool(const struct ft_daemon *daemon)
{
    const struct ft_config *config = &daemon->config;
    struct stat status;
    int error = 0;
    if (mkdir(config->spool_dir, config->private ? 0777 : 0755) < 0 && errno != EEXIST)
        error = errno;
    else if (stat(config->spool_dir, &status) < 0)
        error = errno;
    else if (!S_ISDIR(status.st_mode))
        error = ENOTDIR;
    else if (access(config->spool_dir, W_OK | X_OK) < 0)
        error = errno;
    if (error)
        ft_log(FT_LOG_ERR, "%s: no trace can be written here: %s; set spool_dir to a folder that may be written",
               config->spool_dir, strerror(error));
    return -error;
}

// What stands behind a component that is not the name itself: jobs of different names have different folders.
enum { SUFFIX_BYTES = 9 };

// One component of a path from what a job calls itself.
static void clean_component(char *out, size_t room, const char *text)
{
    size_t at = 0;
    bool is_name = text[0];
    for (; text[at] && at < room - 1; at++) {
        char c = text[at];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                        c == '_' || (c == '.' && at);
        out[at] = is_plain ? c : '_';
        is_name &= is_plain;
    }
    out[at] = '\0';
    if (is_name)
        return;
    at = at < room - 1 - SUFFIX_BYTES ? at : room - 1 - SUFFIX_BYTES;
    snprintf(out + at, SUFFIX_BYTES + 1, "-%08x", (unsigned)(ft_stored_name_folder(text) & UINT32_MAX));
}

void ft_storage_job_folder(const struct ft_job *job, char *out, size_t room)
{
    clean_component(out, room, job->key);
}

// The job's folder, made with its parents: <spool_dir>/<uid>/<job>. A private daemon writes into spool_dir itself.
static int make_folder(const struct ft_job *job, char *out, size_t room)
{
    const struct ft_config *config = &job->daemon->config;
    char name[FT_IDENTITY_JOB_MAX + 1];
    if (mkdir(config->spool_dir, config->private ? 0777 : 0755) < 0 && errno != EEXIST)
        return -errno;
    snprintf(out, room, "%s", config->spool_dir);
    if (config->private)
        return 0;
    ft_storage_job_folder(job, name, sizeof(name));
    for (int level = 0; level < 2; level++) {
        size_t used = strlen(out);
        int n =
            level ? snprintf(out + used, room - used, "/%s", name) : snprintf(out + used, room - used, "/%u", job->uid);
        if (n < 0 || (size_t)n >= room - used)
            return -ENAMETOOLONG;
        if (mkdir(out, 0750) < 0 && errno != EEXIST)
            return -errno;
        int fd = ft_access_open_folder(out, config->spool_dir);
        if (fd < 0)
            return fd;
        ft_access_give_to_group(fd, out, config->admin_group);
        ft_access_let_user_read(fd, job->uid, true);
        close(fd);
    }
    return 0;
}

static int make_path(struct ft_storage *storage, const struct ft_job *job, const char *folder)
{
    int n = snprintf(storage->path, sizeof(storage->path), "%s/%.200s-%.8s-%u.flow", folder, job->daemon->host,
                     job->daemon->boot_id, storage->number);
    return n < 0 || (size_t)n >= sizeof(storage->path) ? -ENAMETOOLONG : 0;
}

// A file with the next free number. It gets its name when its header is in it, so that a kill leaves none without; where
// the file system cannot do that, it has it at once.
static int create_file(struct ft_storage *storage, const struct ft_job *job)
{
    char folder[3600];
    int r = make_folder(job, folder, sizeof(folder));
    for (; r == 0 && storage->number < PARTS_MAX; storage->number++) {
        r = make_path(storage, job, folder);
        if (r < 0 || access(storage->path, F_OK) == 0)
            continue;
        storage->fd = open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC | O_APPEND, 0640);
        storage->has_name = storage->fd < 0;
        pthread_mutex_lock(&job->daemon->retain.lock);
        if (storage->fd < 0)
            storage->fd = open(storage->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW | O_APPEND, 0640);
        pthread_mutex_unlock(&job->daemon->retain.lock);
        if (storage->fd >= 0)
            return 0;
        r = errno == EEXIST ? 0 : -errno;
    }
    if (r == -ENOENT) // the folder was just removed, with what a job of this name had left long ago
        r = -EEXIST;
    return r < 0 ? r : -EEXIST;
}

static int link_name(const struct ft_storage *storage, struct ft_daemon *daemon)
{
    char fd_path[64];
    snprintf(fd_path, sizeof(fd_path), "/proc/self/fd/%d", storage->fd);
    pthread_mutex_lock(&daemon->retain.lock);
    int r = linkat(AT_FDCWD, fd_path, AT_FDCWD, storage->path, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
    pthread_mutex_unlock(&daemon->retain.lock);
    return r == -ENOENT ? -EEXIST : r;
}

// -EEXIST where somebody else took the name meanwhile, or the folder was removed.
static int give_name(struct ft_storage *storage, const struct ft_job *job)
{
    int r = storage->has_name ? 0 : link_name(storage, job->daemon);
    if (r < 0)
        return r;
    struct stat status;
    storage->has_name = true;
    storage->counts_links = fstat(storage->fd, &status) == 0 && status.st_nlink > 0;
    if (!job->daemon->config.private) {
        ft_access_give_to_group(storage->fd, storage->path, job->daemon->config.admin_group);
        ft_access_let_user_read(storage->fd, job->uid, false);
    }
    return 0;
}

static int create_writer(struct ft_storage *storage, const struct ft_job *job)
{
    struct ft_daemon *daemon = job->daemon;
    struct passwd entry, *user = NULL;
    char strings[4096];
    getpwuid_r(job->uid, &entry, strings, sizeof(strings), &user);
    char number[16];
    snprintf(number, sizeof(number), "%u", job->uid);
    int64_t error_ns = 2 * ft_clock_error_ns(&daemon->clock);
    struct ft_trace_header header = {
        .writer = FT_BYTES("flowtapd " FT_VERSION),
        .host = FT_BYTES(daemon->host),
        .boot_id = FT_BYTES(daemon->boot_id),
        .user = FT_BYTES(user ? user->pw_name : number),
        .uid = job->uid,
        .job = {.id = FT_BYTES(job->identity.job), .source = job->identity.source, .rank = -1, .local_rank = -1},
        .realtime_offset_ns = job->realtime_offset_ns,
        .clock_error_ns = (uint64_t)(error_ns > ERROR_BOUND_MIN_NS ? error_ns : ERROR_BOUND_MIN_NS),
        .created_ns = ft_clock_mono_ns() + ft_clock_realtime_offset_ns(),
        .part = storage->number,
    };
    return ft_trace_writer_create(&header, NULL, &storage->writer);
}

static void close_file(struct ft_storage *storage)
{
    if (storage->writer)
        ft_trace_writer_destroy(storage->writer);
    if (storage->fd >= 0)
        close(storage->fd);
    storage->writer = NULL;
    storage->fd = -1;
    storage->number++;
    atomic_store(&storage->inode, 0);
    atomic_store(&storage->rows, 0);
}

// A file's inode is set before its first row and taken away before its rows are (close_file): rows between two looks that
// see the same file are that file's. Rows of none were the last file's, which is closed and says itself.
void ft_storage_read_open(const struct ft_storage *storage, uint64_t *inode, uint64_t *rows)
{
    do {
        *inode = atomic_load(&storage->inode);
        *rows = atomic_load(&storage->rows);
    } while (atomic_load(&storage->inode) != *inode);
    *rows = *inode ? *rows : 0;
}

// What failed is tried again every second, and once more when there will be no other time.
static bool must_wait(const struct ft_storage *storage, struct ft_job *job, int64_t now_ns)
{
    return storage->retry_ns && now_ns < storage->retry_ns && !atomic_load(&job->is_finishing);
}

// The header at once: from now on the file opens, whatever becomes of us.
static int open_file(struct ft_storage *storage, struct ft_job *job, int64_t now_ns)
{
    uint64_t rows_lost;
    storage->fd = -1;
    struct stat status;
    int r = create_file(storage, job);
    if (r < 0)
        return r;
    if (fstat(storage->fd, &status) == 0)
        atomic_store(&storage->inode, status.st_ino);
    r = create_writer(storage, job);
    if (r == 0 && ft_storage_write(storage, job, now_ns, &rows_lost) < 0 && ft_storage_is_behind(storage))
        r = -ENOSPC;
    bool is_noted = r == 0 && ft_own_files_note(&job->daemon->config, storage->path);
    FT_TEST_POINT(file_unnamed);
    if (r == 0)
        r = give_name(storage, job);
    if (r < 0 && is_noted)
        ft_own_files_withdraw(&job->daemon->config, storage->path);
    FT_TEST_POINT(file_named);
    if (r < 0)
        close_file(storage);
    else
        ft_place_init(&storage->place, storage->path);
    if (r < 0 && r != -EEXIST)
        storage->number--; // it is free still
    return r;
}

// Removed or emptied by somebody else: what is written there from now on, nobody would read. An emptied file may have
// grown again since: we append to it.
static bool is_gone(const struct ft_storage *storage)
{
    struct stat status;
    if (!storage->has_name || fstat(storage->fd, &status) < 0)
        return false;
    return (storage->counts_links && status.st_nlink == 0) ||
           (uint64_t)status.st_size < ft_trace_writer_whole(storage->writer);
}

static bool is_out_of_reach(struct ft_storage *storage, int64_t now_ns)
{
    return is_gone(storage) || ft_place_is_detached(&storage->place, storage->fd, storage->path, now_ns);
}

int ft_storage_begin(struct ft_storage *storage, struct ft_job *job, int64_t now_ns)
{
    if (storage->writer && !ft_storage_wants_next(storage, job, now_ns))
        return 0;
    if (storage->writer) {
        if (is_out_of_reach(storage, now_ns))
            ft_log_limited_about(FT_LOG_ERR, about(job), "%s: was removed or emptied%s; the next file begins",
                                 storage->path, storage->place.is_detached ? ", or unmounted" : "");
        ft_storage_finish(storage, job, now_ns);
        FT_TEST_POINT(file_followed);
    }
    if (must_wait(storage, job, now_ns))
        return -ENOSPC;
    storage->retry_ns = 0;
    int r = -EEXIST;
    for (int left = NAME_TRIES; r == -EEXIST && left > 0; left--)
        r = open_file(storage, job, now_ns);
    if (r < 0) {
        storage->retry_ns = now_ns + RETRY_NS;
        ft_status_note_write_error(&job->daemon->status, -r, now_ns);
        ft_log_limited_about(FT_LOG_ERR, about(job), "%s: no trace file can be made: %s", job->daemon->config.spool_dir,
                             strerror(-r));
        return r;
    }
    if (!storage->part++)
        storage->first_number = storage->number;
    storage->created_ns = now_ns;
    storage->next_clock_ns = now_ns;
    return 0;
}

bool ft_storage_wants_next(struct ft_storage *storage, const struct ft_job *job, int64_t now_ns)
{
    const struct ft_config *config = &job->daemon->config;
    return ft_trace_writer_bytes(storage->writer) >= (uint64_t)config->rotate_size_bytes ||
           now_ns - storage->created_ns >= config->rotate_age_ns ||
           ft_trace_writer_memory(storage->writer) >= (size_t)config->rotate_memory_bytes ||
           ft_share_wants_next(job, now_ns) || is_out_of_reach(storage, now_ns);
}

bool ft_storage_is_full(struct ft_storage *storage, struct ft_job *job, int64_t now_ns)
{
    if (!storage->retry_ns)
        return false;
    if (must_wait(storage, job, now_ns))
        return true;
    // There is room for events again when there is room for the reserve.
    bool has_room = ft_reserve_take(&job->daemon->reserve, &job->daemon->config);
    storage->retry_ns = has_room ? 0 : now_ns + RETRY_NS;
    return !has_room;
}

static int write_all(struct ft_storage *storage, const struct ft_job *job)
{
    size_t bytes;
    const uint8_t *data;
    while ((data = ft_trace_writer_data(storage->writer, &bytes)), bytes) {
        ssize_t n = write(storage->fd, data, FT_TEST_POINT_PART(bytes));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        ft_trace_writer_consume(storage->writer, (size_t)n);
        ft_status_add(&job->daemon->status, bytes, (uint64_t)n);
        ft_users_add_written(&job->daemon->users, job->uid, (uint64_t)n);
        if ((size_t)n < bytes)
            FT_TEST_POINT(frame_in_part);
    }
    return 0;
}

// Cuts off what was written of a frame, so that the file ends with a whole one. One that somebody emptied stays short.
static void cut_back(struct ft_storage *storage)
{
    if (!is_gone(storage) && ftruncate(storage->fd, (off_t)ft_trace_writer_whole(storage->writer)) < 0)
        ft_log_limited(FT_LOG_ERR, "%s: cannot be cut back: %s", storage->path, strerror(errno));
    ft_trace_writer_rewind(storage->writer);
}

int ft_storage_write(struct ft_storage *storage, struct ft_job *job, int64_t now_ns, uint64_t *rows_lost)
{
    *rows_lost = 0;
    int r = write_all(storage, job);
    if (r == 0)
        return 0;
    ft_status_note_write_error(&job->daemon->status, -r, now_ns);
    ft_log_limited_about(FT_LOG_ERR, about(job),
                         "%s: %s; events are counted, not stored, and writing is tried again every second",
                         storage->path, strerror(-r));
    cut_back(storage);
    *rows_lost = ft_trace_writer_drop_blocks(storage->writer);
    storage->retry_ns = now_ns + RETRY_NS;
    // Names and process records, which hold the totals, are small: the reserve is for them.
    ft_reserve_give_up(&job->daemon->reserve);
    if (write_all(storage, job) < 0)
        cut_back(storage);
    return r;
}

void ft_storage_note_clock(struct ft_storage *storage, struct ft_clock_pairs *clock, int64_t now_ns)
{
    if (!storage->writer || now_ns < storage->next_clock_ns)
        return;
    struct ft_clock_pair pair = ft_clock_last(clock);
    struct ft_trace_clock record = {
        .mono_ns = pair.mono_ns, .ticks = pair.ticks, .realtime_offset_ns = ft_clock_realtime_offset_ns()};
    ft_trace_writer_put_clock(storage->writer, &record);
    storage->next_clock_ns = now_ns + CLOCK_INTERVAL_NS;
}

bool ft_storage_is_behind(const struct ft_storage *storage)
{
    size_t bytes = 0;
    if (storage->writer)
        ft_trace_writer_data(storage->writer, &bytes);
    return bytes > 0;
}

bool ft_storage_finish(struct ft_storage *storage, struct ft_job *job, int64_t now_ns)
{
    uint64_t rows_lost;
    if (!storage->writer)
        return true;
    int r = ft_trace_writer_finish(storage->writer);
    FT_TEST_POINT(index_built);
    if (r == 0)
        r = ft_storage_write(storage, job, now_ns, &rows_lost);
    FT_TEST_POINT(index_written);
    if (r < 0)
        ft_log_about(FT_LOG_ERR, about(job), "%s: ends without its index: %s", storage->path, strerror(-r));
    bool is_whole = !ft_storage_is_behind(storage);
    job->bytes_before += ft_trace_writer_bytes(storage->writer);
    close_file(storage);
    return is_whole;
}
