// SPDX-License-Identifier: MIT
#include "daemon/growth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/procfs.h"

#define GRANT_CHUNKS 256u
// Left to the programs themselves, and to the daemon.
#define RESERVE_BYTES (UINT64_C(16) << 20)
// Of what is left, the rings take one in so many.
#define PART 4
// How old what is known of a group may be: where a ring grows towards a limit, where there is one, where there is none.
#define GROWING_NS INT64_C(10000000)
#define LIMITED_NS INT64_C(100000000)
#define UNLIMITED_NS INT64_C(1000000000)

uint32_t ft_growth_allowed(uint64_t left, uint32_t taken, uint32_t process_count)
{
    const uint64_t unasked = (uint64_t)FT_CHUNKS_UNASKED * FT_CHUNK_BYTES;
    uint64_t each = left / (process_count ? process_count : 1), allowed = taken;
    if (left == FT_HEADROOM_UNLIMITED)
        return FT_CHUNKS_BY_SHIM;
    if (left > RESERVE_BYTES)
        allowed += (left - RESERVE_BYTES) / PART / (process_count ? process_count : 1) / FT_CHUNK_BYTES;
    if (allowed < FT_CHUNKS_UNASKED && each >= PART * unasked)
        allowed = FT_CHUNKS_UNASKED;
    return allowed < 1 ? 1 : allowed < FT_CHUNKS_BY_SHIM ? (uint32_t)allowed : FT_CHUNKS_BY_SHIM;
}

static bool find_group(const struct ft_headroom_mount *mount, uint32_t pid, char *out)
{
    char text[4096];
    int n = ft_procfs_read(pid, "cgroup", text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = '\0';
    return ft_headroom_group_of(mount, text, out);
}

// It may have been moved since.
static void learn_group(const struct ft_headroom_mount *mount, struct ft_process *process)
{
    char group[FT_HEADROOM_GROUP_MAX];
    free(process->growth.group);
    process->growth.group = find_group(mount, process->pid, group) ? strdup(group) : NULL;
}

static uint64_t left_to(struct ft_job *job, struct ft_process *process, bool has_grown, int64_t now_ns)
{
    const struct ft_headroom_mount *mount = &job->daemon->memory_mount;
    if (mount->version == FT_HEADROOM_NONE)
        return FT_HEADROOM_UNLIMITED;
    if (!process->growth.told || has_grown)
        learn_group(mount, process);
    if (!process->growth.group)
        return 0;
    uint64_t left = ft_headroom_get(&job->headroom, mount, process->growth.group, now_ns, UNLIMITED_NS);
    if (left == FT_HEADROOM_UNLIMITED)
        return left;
    return ft_headroom_get(&job->headroom, mount, process->growth.group, now_ns, has_grown ? GROWING_NS : LIMITED_NS);
}

static void tell(struct ft_job *job, struct ft_process *process, bool has_changed, int64_t now_ns)
{
    struct ft_growth *growth = &process->growth;
    uint32_t taken = process->segment.counts.chunks_taken;
    bool has_grown = taken > 2 * FT_CHUNKS_AT_ATTACH && taken > growth->taken; // its first step says little
    bool is_new = !growth->told && (growth->was_looked_at || has_grown); // most end before they are looked at twice
    growth->was_looked_at = true;
    if (!is_new && !(growth->told && (has_grown || now_ns >= growth->next_ns)))
        return;
    uint64_t left = left_to(job, process, has_grown, now_ns);
    uint32_t allowed = ft_growth_allowed(left, taken, job->worker_count);
    // Where nothing is known of its groups, nothing more is to be had from them than what goes unasked.
    if (left == 0 && !growth->group && allowed < FT_CHUNKS_UNASKED)
        allowed = FT_CHUNKS_UNASKED;
    bool is_limited = left != FT_HEADROOM_UNLIMITED && has_changed;
    growth->next_ns = now_ns + (is_limited ? LIMITED_NS : UNLIMITED_NS);
    growth->taken = taken > growth->taken ? taken : growth->taken;
    if (allowed == growth->told)
        return;
    growth->told = allowed;
    ft_segment_allow(&process->segment, allowed);
}

// Of the shim's own share, as far as it may take it; under a filter it takes no more.
static uint32_t share_of_shim(const struct ft_process *process)
{
    const struct ft_segment *segment = &process->segment;
    uint32_t taken = segment->counts.chunks_taken;
    uint32_t allowed = process->growth.told ? process->growth.told : FT_CHUNKS_UNASKED;
    uint32_t share = segment->counts.sandbox || allowed < taken ? taken : allowed;
    share = share < FT_CHUNKS_BY_SHIM ? share : FT_CHUNKS_BY_SHIM;
    return share < segment->geometry.chunks_max ? share : segment->geometry.chunks_max;
}

// The groups that the daemon itself is in: a private daemon shares them with its program. What it cannot see does not limit.
static bool has_room_of_its_own(const struct ft_headroom_mount *mount, uint64_t bytes)
{
    char group[FT_HEADROOM_GROUP_MAX];
    if (mount->version == FT_HEADROOM_NONE || !find_group(mount, (uint32_t)getpid(), group))
        return true;
    uint64_t left = ft_headroom_read(mount, group);
    return left >= bytes && left - bytes >= RESERVE_BYTES;
}

// The cheap question first, and not at each look of a ring that stays full.
static void make_larger(struct ft_job *job, struct ft_process *process, int64_t now_ns)
{
    uint64_t bytes = (uint64_t)GRANT_CHUNKS * FT_CHUNK_BYTES;
    if (now_ns < process->growth.next_make_ns)
        return;
    process->growth.next_make_ns = now_ns + LIMITED_NS;
    if (!ft_users_take_bytes(&job->daemon->users, process->uid, bytes)) {
        ft_log_limited_about(
            FT_LOG_WARNING, FT_LOG_ABOUT(FT_LOG_USER(process->uid)),
            "user %u: has all of max_user_memory, or of what max_memory leaves it; rings grow no more, and what "
            "finds one full is counted, not kept",
            process->uid);
        return;
    }
    if (!has_room_of_its_own(&job->daemon->memory_mount, bytes)) {
        ft_users_give_bytes(&job->daemon->users, process->uid, bytes);
        return;
    }
    process->growth.next_make_ns = 0;
    process->quota_bytes += bytes;
    if (ft_segment_grant(&process->segment, GRANT_CHUNKS) < 0) {
        ft_users_give_bytes(&job->daemon->users, process->uid, bytes);
        process->quota_bytes -= bytes;
    }
}

void ft_growth_look(struct ft_job *job, struct ft_process *process, bool has_changed, int64_t now_ns)
{
    const struct ft_segment *segment = &process->segment;
    if (segment->fd < 0)
        return;
    tell(job, process, has_changed, now_ns);
    if (!has_changed)
        return;
    uint32_t own = share_of_shim(process), made = ft_segment_granted(segment), all = own + made;
    uint32_t used = segment->counts.chunks_used;
    bool was_full = segment->counts.chunks_wanted != process->chunks_wanted;
    process->chunks_wanted = segment->counts.chunks_wanted;
    process->is_pressed |= was_full || used * 2 >= all;
    bool shim_grows = segment->counts.chunks_taken + FT_CHUNKS_STEP <= own; // it has memory of its own to come
    // A small ring is full before the next look.
    bool is_nearly_full = used * 4 >= (all < GRANT_CHUNKS ? all : all * 3);
    if (process->growth.told && !shim_grows && (was_full || is_nearly_full) &&
        FT_CHUNKS_BY_SHIM + made < segment->geometry.chunks_max)
        make_larger(job, process, now_ns);
}

int64_t ft_growth_next_ns(const struct ft_process *process)
{
    return process->growth.told ? process->growth.next_ns : 0;
}

void ft_growth_cut_off(struct ft_process *process)
{
    struct ft_segment *segment = &process->segment;
    process->growth.has_fd = ft_segment_granted(segment) > 0;
    if (process->growth.has_fd)
        process->growth.fd = segment->fd;
    else
        close(segment->fd);
    segment->fd = -1;
}

void ft_growth_take_back(struct ft_process *process)
{
    const struct ft_segment *segment = &process->segment;
    int fd = process->growth.has_fd ? process->growth.fd : segment->fd;
    off_t at = (off_t)(segment->geometry.pool_page + FT_CHUNKS_BY_SHIM) * FT_PAGE_BYTES;
    off_t bytes = (off_t)ft_segment_granted(segment) * FT_CHUNK_BYTES;
    if (fd < 0 || bytes == 0)
        return;
    // Admission has seen that no seal forbids it; where it fails all the same, closing does what it can.
    if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, bytes) < 0)
        ft_log_limited(FT_LOG_WARNING, "process %u: memory of its ring cannot be taken back: %s", process->pid,
                       strerror(errno));
}

void ft_growth_fini(struct ft_growth *growth)
{
    if (growth->has_fd)
        close(growth->fd);
    growth->has_fd = false;
    free(growth->group);
}
