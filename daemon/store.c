// SPDX-License-Identifier: MIT
#include "daemon/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/stored_name.h"
#include "daemon/test_point.h"

#define NS_PER_S INT64_C(1000000000)
// So many held, and so many new in a second, are few.
#define HELD_FEW 256
#define NEW_FEW 32
// Else: how often, and how old one must be, so that it is held within a second of its attaching.
#define TICK_MS 250
#define AGE_NS INT64_C(750000000)

// Of 128 KiB, what is left beside the variable's name and the names of sockets.
#define NAMES_BYTES_MAX ((size_t)126 * 1024)

struct ft_store_removal {
    struct ft_store_removal *next;
    char name[];
};

static int connect_to(const char *address)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    size_t length = strlen(address);
    if ((address[0] != '/' && address[0] != '@') || length >= sizeof(name.sun_path))
        return -EINVAL;
    memcpy(name.sun_path, address, length + 1);
    if (address[0] == '@')
        name.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (address[0] == '/'));
    if (fd >= 0 && connect(fd, (struct sockaddr *)&name, bytes) == 0)
        return fd;
    int error = errno;
    if (fd >= 0)
        close(fd);
    return -error;
}

void ft_store_open(struct ft_daemon *daemon)
{
    struct ft_store *store = &daemon->store;
    const char *address = getenv("NOTIFY_SOCKET"), *most = getenv("FDSTORE");
    store->fd = -1;
    store->max = (uint32_t)daemon->config.max_stored;
    // systemd 254 and later say how many it takes; one is the table of arrivals.
    if (most && strtoul(most, NULL, 10) <= store->max)
        store->max = strtoul(most, NULL, 10) ? (uint32_t)strtoul(most, NULL, 10) - 1 : 0;
    if (daemon->config.private || !address || !store->max)
        return;
    store->fd = connect_to(address);
    if (store->fd < 0) {
        ft_log(FT_LOG_WARNING, "%s: the service manager cannot be reached: %s; no segment outlives this daemon",
               address, strerror(-store->fd));
        store->fd = -1;
        return;
    }
    if (uv_poll_init(&daemon->loop, &store->writable, store->fd) < 0) {
        close(store->fd);
        store->fd = -1;
        return;
    }
    uv_timer_init(&daemon->loop, &store->timer);
    store->timer.data = store->writable.data = daemon;
    store->is_started = true;
}

void ft_store_close(struct ft_daemon *daemon)
{
    struct ft_store *store = &daemon->store;
    if (!store->is_started)
        return;
    uv_close((uv_handle_t *)&store->timer, NULL);
    uv_close((uv_handle_t *)&store->writable, NULL);
    store->is_started = false;
}

static void on_writable(uv_poll_t *watch, int status, int events);

// False where the manager has to read first, or cannot be reached.
static bool send_message(struct ft_store *store, const char *text, int fd)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {0};
    struct iovec from = {.iov_base = (void *)(uintptr_t)text, .iov_len = strlen(text)};
    struct msghdr message = {.msg_iov = &from, .msg_iovlen = 1};
    if (fd >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof(control);
        struct cmsghdr *part = CMSG_FIRSTHDR(&message);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(part), &fd, sizeof(fd));
    }
    if (store->is_blocked)
        return false;
    if (sendmsg(store->fd, &message, MSG_NOSIGNAL) >= 0)
        return true;
    store->is_blocked =
        errno == EAGAIN && store->is_started && uv_poll_start(&store->writable, UV_WRITABLE, on_writable) == 0;
    return false;
}

static void make_name(const struct ft_process *process, char out[FT_STORED_NAME_BYTES])
{
    char folder[FT_IDENTITY_JOB_MAX + 1];
    ft_storage_job_folder(process->job, folder, sizeof(folder));
    const struct ft_stored_name name = {
        .uid = process->uid,
        .gid = process->gid,
        .pid = process->pid,
        .start_time = atomic_load(&process->start_time),
        .pidfd_id = process->pidfd_id,
        .segment = process->segment.id,
        .folder = ft_stored_name_folder(folder),
    };
    ft_stored_name_print(&name, out);
}

bool ft_store_hold(struct ft_daemon *daemon, const char *name, int fd)
{
    char text[FT_STORED_NAME_BYTES + 64];
    // FDPOLL=0: a memfd has nothing to be polled for.
    snprintf(text, sizeof(text), "FDSTORE=1\nFDNAME=%.*s\nFDPOLL=0", FT_STORED_NAME_BYTES, name);
    return send_message(&daemon->store, text, fd);
}

static bool hand_over(struct ft_daemon *daemon, struct ft_process *process, int fd)
{
    char name[FT_STORED_NAME_BYTES];
    struct ft_store *store = &daemon->store;
    make_name(process, name);
    size_t bytes = strlen(name) + 1;
    if (store->count >= store->max || store->names_bytes > NAMES_BYTES_MAX - bytes)
        return false;
    char *copy = strdup(name);
    if (!copy || !ft_store_hold(daemon, name, fd)) {
        free(copy);
        return false;
    }
    process->stored_name = copy;
    store->count++;
    store->names_bytes += bytes;
    FT_TEST_POINT(held);
    ft_arrivals_forget(daemon, process->arrival);
    process->arrival = 0;
    return true;
}

static void end_wait(struct ft_store *store, struct ft_process *process)
{
    if (process->store_fd < 0)
        return;
    close(process->store_fd);
    process->store_fd = -1;
    store->waiting--;
}

// One that ended waits for its age, too: most are in a file and gone by then, and cost the manager nothing.
static bool is_due(const struct ft_process *process, int64_t now_ns)
{
    return process->is_stored_at_once || now_ns - process->admitted_ns >= AGE_NS;
}

static void store_due(struct ft_daemon *daemon, bool all)
{
    int64_t now_ns = ft_clock_mono_ns();
    for (size_t i = 0; daemon->store.waiting && i < FT_DAEMON_PIDS; i++)
        for (struct ft_process *process = daemon->by_pid[i]; process; process = process->next_of_pid)
            if (process->store_fd >= 0 && (all || is_due(process, now_ns)) &&
                hand_over(daemon, process, process->store_fd))
                end_wait(&daemon->store, process);
}

static void send_removals(struct ft_store *store)
{
    while (store->removals) {
        struct ft_store_removal *one = store->removals;
        char text[FT_STORED_NAME_BYTES + 288];
        snprintf(text, sizeof(text), "FDSTOREREMOVE=1\nFDNAME=%.255s", one->name);
        if (!send_message(store, text, -1))
            return;
        store->removals = one->next;
        free(one);
    }
}

static void on_tick(uv_timer_t *timer)
{
    struct ft_daemon *daemon = timer->data;
    send_removals(&daemon->store);
    store_due(daemon, false);
    if (!daemon->store.waiting && !daemon->store.removals)
        uv_timer_stop(timer);
}

static void on_writable(uv_poll_t *watch, int status, int events)
{
    struct ft_daemon *daemon = watch->data;
    (void)status;
    (void)events;
    uv_poll_stop(watch);
    daemon->store.is_blocked = false;
    send_removals(&daemon->store);
    store_due(daemon, false);
}

static void start_timer(struct ft_store *store)
{
    if (store->is_started && !uv_is_active((uv_handle_t *)&store->timer))
        uv_timer_start(&store->timer, on_tick, TICK_MS, TICK_MS);
}

// Counts one more. In no second that ends now did more than a few come: neither in the one before nor in this one.
static bool came_few(struct ft_store *store, int64_t now_ns)
{
    int64_t past_ns = now_ns - store->second_ns;
    if (past_ns >= NS_PER_S) {
        store->in_second_before = past_ns < 2 * NS_PER_S ? store->in_second : 0;
        store->in_second = 0;
        store->second_ns = now_ns;
    }
    return store->in_second++ < NEW_FEW && store->in_second_before < NEW_FEW;
}

void ft_store_note_admitted(struct ft_daemon *daemon, struct ft_process *process)
{
    struct ft_store *store = &daemon->store;
    if (store->fd < 0)
        return;
    process->admitted_ns = ft_clock_mono_ns();
    bool is_quiet = came_few(store, process->admitted_ns) && store->count < HELD_FEW;
    if (is_quiet && hand_over(daemon, process, process->segment.fd))
        return;
    // A descriptor of its own: the segment's is the worker's to close.
    process->store_fd = fcntl(process->segment.fd, F_DUPFD_CLOEXEC, 0);
    if (process->store_fd < 0)
        return;
    process->is_stored_at_once = is_quiet;
    store->waiting++;
    start_timer(store);
}

void ft_store_note_held(struct ft_daemon *daemon, struct ft_process *process, char *name)
{
    process->stored_name = name;
    daemon->store.count++;
    daemon->store.names_bytes += strlen(name) + 1;
}

void ft_store_remove(struct ft_daemon *daemon, const char *name)
{
    struct ft_store *store = &daemon->store;
    size_t bytes = strlen(name) + 1;
    struct ft_store_removal *one = store->fd >= 0 ? malloc(sizeof(*one) + bytes) : NULL;
    if (!one)
        return;
    memcpy(one->name, name, bytes);
    one->next = store->removals;
    store->removals = one;
    send_removals(store);
    if (store->removals)
        start_timer(store);
}

void ft_store_note_gone(struct ft_daemon *daemon, struct ft_process *process, bool is_kept)
{
    end_wait(&daemon->store, process);
    ft_arrivals_forget(daemon, process->arrival);
    process->arrival = 0;
    if (!process->stored_name)
        return;
    if (!is_kept) {
        daemon->store.count--;
        daemon->store.names_bytes -= strlen(process->stored_name) + 1;
        FT_TEST_POINT(finished);
        ft_store_remove(daemon, process->stored_name);
        FT_TEST_POINT(given_up);
    }
    free(process->stored_name);
    process->stored_name = NULL;
}

void ft_store_all(struct ft_daemon *daemon)
{
    struct ft_store *store = &daemon->store;
    const struct timeval patience = {.tv_sec = 1};
    if (store->fd < 0)
        return;
    fcntl(store->fd, F_SETFL, fcntl(store->fd, F_GETFL) & ~O_NONBLOCK);
    setsockopt(store->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    store->is_blocked = false;
    send_removals(store);
    store_due(daemon, true);
}
