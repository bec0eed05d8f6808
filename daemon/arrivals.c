// SPDX-License-Identifier: MIT
#include "daemon/arrivals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/unseen.h"
#include "proto/trace_reader.h"

// Of the table's first entry: what another version left is not looked at.
#define VERSION UINT64_C(0x0131766972726166)
#define TABLE_BYTES ((size_t)(FT_ARRIVALS_MAX + 1) * sizeof(struct ft_arrival))
// Gaps of the lost ones are in their files by then, unless writing fails.
#define TOLD_NS INT64_C(5000000000)
#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW)

static int make_table(void)
{
    const struct ft_arrival first = {.segment = VERSION};
    int fd = memfd_create(FT_ARRIVALS_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -errno;
    // All of its memory now: a shortage is an error here, and a signal when it is used.
    if (ftruncate(fd, (off_t)TABLE_BYTES) < 0 || fallocate(fd, 0, 0, (off_t)TABLE_BYTES) < 0 ||
        fcntl(fd, F_ADD_SEALS, SEALS) < 0 || pwrite(fd, &first, sizeof(first), 0) != (ssize_t)sizeof(first)) {
        int error = errno;
        close(fd);
        return -error;
    }
    return fd;
}

static bool is_table(int fd)
{
    struct ft_arrival first;
    struct stat status;
    int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & SEALS) == SEALS && fstat(fd, &status) == 0 && (size_t)status.st_size == TABLE_BYTES &&
           pread(fd, &first, sizeof(first), 0) == (ssize_t)sizeof(first) && first.segment == VERSION;
}

static int map_table(struct ft_arrivals *arrivals)
{
    void *table = mmap(NULL, TABLE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, arrivals->fd, 0);
    arrivals->free = malloc(FT_ARRIVALS_MAX * sizeof(*arrivals->free));
    if (table == MAP_FAILED || !arrivals->free)
        return -ENOMEM;
    arrivals->table = table;
    for (uint32_t at = FT_ARRIVALS_MAX; at > 0; at--) // the lowest is taken first: few pages are in use
        if (arrivals->table[at].state == FT_ARRIVAL_NONE)
            arrivals->free[arrivals->free_count++] = (uint16_t)at;
    return 0;
}

void ft_arrivals_add(struct ft_daemon *daemon, int fd)
{
    struct ft_arrivals *arrivals = &daemon->arrivals;
    if (arrivals->fd >= 0 || !is_table(fd)) {
        ft_store_remove(daemon, FT_ARRIVALS_NAME); // all of that name
        close(fd);
        return;
    }
    arrivals->fd = fd;
    arrivals->is_held = true;
}

void ft_arrivals_open(struct ft_daemon *daemon)
{
    struct ft_arrivals *arrivals = &daemon->arrivals;
    if (daemon->store.fd < 0 && arrivals->fd < 0)
        return;
    if (arrivals->fd < 0)
        arrivals->fd = make_table();
    int r = arrivals->fd < 0 ? arrivals->fd : map_table(arrivals);
    if (r < 0)
        ft_log(FT_LOG_WARNING, "whom a kill of this daemon would lose is not noted: %s", strerror(-r));
    else if (!arrivals->is_held)
        arrivals->is_held = ft_store_hold(daemon, FT_ARRIVALS_NAME, arrivals->fd);
}

void ft_arrivals_close(struct ft_daemon *daemon)
{
    struct ft_arrivals *arrivals = &daemon->arrivals;
    if (arrivals->table)
        munmap(arrivals->table, TABLE_BYTES);
    if (arrivals->fd >= 0)
        close(arrivals->fd);
    free(arrivals->free);
    *arrivals = (struct ft_arrivals){.fd = -1};
}

// A successor reads what is there when we are killed: an entry is whole before it says that it is one. (Of one process,
// the compiler alone could reorder the stores.)
static void set_state(struct ft_arrival *arrival, enum ft_arrival_state state)
{
    __atomic_store_n(&arrival->state, (uint32_t)state, __ATOMIC_RELEASE);
}

uint32_t ft_arrivals_note(struct ft_daemon *daemon, int socket_fd)
{
    struct ft_arrivals *arrivals = &daemon->arrivals;
    struct ucred peer;
    socklen_t bytes = sizeof(peer);
    if (!arrivals->table || !arrivals->free_count || getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) < 0)
        return 0;
    uint32_t at = arrivals->free[--arrivals->free_count];
    struct ft_arrival *arrival = &arrivals->table[at];
    arrival->uid = peer.uid;
    arrival->pid = (uint32_t)peer.pid;
    arrival->segment = arrival->folder = 0;
    set_state(arrival, FT_ARRIVAL_COMING);
    return at;
}

void ft_arrivals_note_segment(struct ft_daemon *daemon, uint32_t arrival, uint64_t segment, uint64_t folder)
{
    if (!arrival)
        return;
    daemon->arrivals.table[arrival].folder = folder;
    __atomic_store_n(&daemon->arrivals.table[arrival].segment, segment, __ATOMIC_RELEASE);
}

void ft_arrivals_forget(struct ft_daemon *daemon, uint32_t arrival)
{
    struct ft_arrivals *arrivals = &daemon->arrivals;
    if (!arrival || !arrivals->table || arrivals->table[arrival].state == FT_ARRIVAL_NONE)
        return;
    set_state(&arrivals->table[arrival], FT_ARRIVAL_NONE);
    arrivals->free[arrivals->free_count++] = (uint16_t)arrival;
}

uint32_t ft_arrivals_count(const struct ft_daemon *daemon)
{
    return daemon->arrivals.table ? FT_ARRIVALS_MAX - daemon->arrivals.free_count : 0;
}

// ------------------------------------------------------------------------------------------------------ the one before

// The next entry behind `at` that is in use, 0 none.
static uint32_t next_used(const struct ft_arrivals *arrivals, uint32_t at)
{
    if (!arrivals->table || arrivals->free_count == FT_ARRIVALS_MAX)
        return 0;
    for (at++; at <= FT_ARRIVALS_MAX; at++)
        if (arrivals->table[at].state != FT_ARRIVAL_NONE)
            return at;
    return 0;
}

void ft_arrivals_see_segment(struct ft_daemon *daemon, uint64_t segment)
{
    const struct ft_arrivals *arrivals = &daemon->arrivals;
    for (uint32_t at = 0; segment && (at = next_used(arrivals, at));)
        if (arrivals->table[at].segment == segment)
            ft_arrivals_forget(daemon, at);
}

bool ft_arrivals_concern(const struct ft_daemon *daemon, uint32_t uid, uint64_t folder)
{
    const struct ft_arrivals *arrivals = &daemon->arrivals;
    for (uint32_t at = 0; (at = next_used(arrivals, at));)
        if (arrivals->table[at].uid == uid && (arrivals->table[at].folder == folder || !arrivals->table[at].folder))
            return true;
    return false;
}

static bool has_gap(const struct ft_trace_reader *reader, uint32_t pid)
{
    size_t count;
    const struct ft_trace_gap *gaps = ft_trace_reader_gaps(reader, &count);
    for (size_t i = 0; i < count; i++)
        if (gaps[i].pid == pid && gaps[i].kind == FT_GAP_DAEMON_STOPPED)
            return true;
    return false;
}

void ft_arrivals_see_file(struct ft_daemon *daemon, const struct ft_trace_reader *reader)
{
    const struct ft_arrivals *arrivals = &daemon->arrivals;
    uint32_t most = ft_trace_reader_process_max(reader);
    for (uint32_t at = 0; (at = next_used(arrivals, at));)
        if (arrivals->table[at].state == FT_ARRIVAL_LOST && has_gap(reader, arrivals->table[at].pid))
            ft_arrivals_forget(daemon, at);
    for (uint32_t id = 1; id <= most && next_used(arrivals, 0); id++) {
        const struct ft_trace_process *record = ft_trace_reader_process(reader, id);
        ft_arrivals_see_segment(daemon, record ? record->segment : 0);
    }
}

void ft_arrivals_tell_lost(struct ft_daemon *daemon)
{
    struct ft_arrivals *arrivals = &daemon->arrivals;
    for (uint32_t at = 0; (at = next_used(arrivals, at));) {
        struct ft_arrival *arrival = &arrivals->table[at];
        set_state(arrival, FT_ARRIVAL_LOST);
        ft_unseen_note_lost(daemon, arrival->uid, arrival->pid, arrival->folder);
        arrivals->lost_ns = ft_clock_mono_ns();
    }
}

void ft_arrivals_tick(struct ft_daemon *daemon, int64_t now_ns)
{
    struct ft_arrivals *arrivals = &daemon->arrivals;
    if (arrivals->table && !arrivals->is_held)
        arrivals->is_held = ft_store_hold(daemon, FT_ARRIVALS_NAME, arrivals->fd);
    int64_t failed_ns = atomic_load(&daemon->status.write_failed_ns);
    int64_t since_ns = arrivals->lost_ns > failed_ns ? arrivals->lost_ns : failed_ns;
    if (!arrivals->lost_ns || now_ns - since_ns < TOLD_NS)
        return;
    for (uint32_t at = 0; (at = next_used(arrivals, at));)
        if (arrivals->table[at].state == FT_ARRIVAL_LOST)
            ft_arrivals_forget(daemon, at);
    arrivals->lost_ns = 0;
}
