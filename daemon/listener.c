// SPDX-License-Identifier: MIT
#include "daemon/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "daemon/admit.h"
#include "daemon/client.h"
#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/peers.h"
#include "daemon/policy.h"
#include "daemon/refusal.h"
#include "daemon/successor.h"
#include "daemon/test_point.h"
#include "daemon/unseen.h"

// Who comes so soon behind another waits in the queue: each of a crowd of short processes would wake us, and find us at work.
#define REST_MS 2
// Clients taken in one go before timers get their turn; fewer than the descriptors that are kept (admit.c).
#define ACCEPT_MAX 32

static int refused(const char *path, int error, const char *what)
{
    ft_log(FT_LOG_ERR, "%s: %s: %s", path, what, strerror(error));
    return -error;
}

static int take_lock(struct ft_listener *listener, const char *socket_path)
{
    char path[128];
    snprintf(path, sizeof(path), "%s.lock", socket_path);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return refused(path, errno, "cannot be opened");
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        int error = errno;
        close(fd);
        return refused(socket_path, error == EWOULDBLOCK ? EADDRINUSE : error, "another daemon serves here");
    }
    listener->lock_fd = fd;
    return 0;
}

static int bind_and_listen(struct ft_daemon *daemon, int fd)
{
    const char *path = daemon->config.socket;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%s.new", path);
    unlink(address.sun_path); // ours by the lock
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        return refused(address.sun_path, errno, "cannot be bound");
    if (chmod(address.sun_path, 0666) < 0 || listen(fd, (int)daemon->config.backlog) < 0 ||
        rename(address.sun_path, path) < 0) {
        int error = errno;
        unlink(address.sun_path);
        return refused(path, error, "cannot be listened on");
    }
    return 0;
}

static int make_socket(struct ft_daemon *daemon)
{
    struct ft_listener *listener = &daemon->listener;
    int r = ft_policy_make_folder(daemon);
    if (r == 0)
        r = take_lock(listener, daemon->config.socket);
    // Clients look for the policy first: it has to be there when the socket is.
    if (r == 0)
        r = ft_policy_write(daemon);
    if (r < 0)
        return r;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return refused(daemon->config.socket, errno, "no socket");
    r = bind_and_listen(daemon, fd);
    if (r < 0) {
        close(fd);
        return r;
    }
    listener->fd = fd;
    listener->is_ours = true;
    return 0;
}

// What the service manager hands over: the socket, where it has made one, and segments.
static void take_handed_over(struct ft_daemon *daemon)
{
    struct ft_listener *listener = &daemon->listener;
    char **names = NULL;
    int count = daemon->config.private ? 0 : sd_listen_fds_with_names(1, &names);
    for (int i = 0; i < count; i++) {
        int fd = SD_LISTEN_FDS_START + i;
        bool is_socket = listener->fd < 0 && sd_is_socket(fd, AF_UNIX, SOCK_SEQPACKET, 1) > 0;
        if (is_socket) {
            fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
            listener->fd = fd;
        } else if (names && names[i] && strcmp(names[i], FT_ARRIVALS_NAME) == 0) {
            ft_arrivals_add(daemon, fd);
        } else {
            ft_successor_add(daemon, fd, names && names[i] ? names[i] : "");
        }
        free(names ? names[i] : NULL);
    }
    free(names);
}

int ft_listener_open(struct ft_daemon *daemon)
{
    struct ft_listener *listener = &daemon->listener;
    listener->fd = listener->lock_fd = -1;
    ft_peers_init(&listener->peers);
    listener->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    take_handed_over(daemon);
    return listener->fd >= 0 ? ft_policy_refresh(daemon) : make_socket(daemon);
}

static int accept_client(int listener_fd, struct ft_client *client)
{
    struct sockaddr_un address;
    socklen_t bytes = sizeof(address);
    int fd = accept4(listener_fd, (struct sockaddr *)&address, &bytes, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0)
        ft_client_read(&address, bytes, client);
    return fd;
}

// No descriptors: one client is refused with the spare one, else the queue would wake us without end.
// False where not even that can be done now.
static bool refuse_one(struct ft_daemon *daemon)
{
    struct ft_listener *listener = &daemon->listener;
    ft_log_limited_about(FT_LOG_ERR, FT_LOG_ABOUT(.message = FT_LOG_REFUSED),
                         "no descriptors left: clients are refused; raise the limit of open files");
    ft_status_add(&daemon->status, refused_own, 1);
    close(listener->spare_fd);
    struct ft_client client;
    int fd = accept_client(listener->fd, &client);
    struct ucred peer;
    socklen_t bytes = sizeof(peer);
    if (fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0)
        ft_unseen_note_closed(daemon, peer.uid, (uint32_t)peer.pid, &client,
                              "the daemon had no descriptor left for it (its limit of open files)");
    if (fd >= 0) {
        ft_refusal_send(fd, FT_REFUSAL_RESOURCES);
        close(fd);
    }
    listener->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return fd >= 0;
}

// accept4 makes a socket and a file before it finds that nobody waits: asking first is cheaper.
static bool is_anybody_waiting(const struct ft_daemon *daemon)
{
    struct pollfd look = {.fd = daemon->listener.fd, .events = POLLIN};
    return poll(&look, 1, 0) > 0;
}

struct arrived {
    int fd;
    uint32_t arrival;
    struct ft_client client;
};

// The next that waits; false where nobody does, or not now.
static bool accept_one(struct ft_daemon *daemon, struct arrived *out)
{
    while (is_anybody_waiting(daemon)) {
        out->fd = accept_client(daemon->listener.fd, &out->client);
        if (out->fd >= 0) {
            out->arrival = out->client.is_program ? ft_arrivals_note(daemon, out->fd) : 0;
            FT_TEST_POINT(accepted);
            return true;
        }
        bool is_ours = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
        bool may_go_on = errno == ECONNABORTED || errno == EINTR || (is_ours && refuse_one(daemon));
        if (!may_go_on)
            break;
    }
    return false;
}

// Takes a batch of them. True where there may be more.
static bool accept_batch(struct ft_daemon *daemon)
{
    struct arrived all[ACCEPT_MAX];
    int count = 0;
    while (count < ACCEPT_MAX && accept_one(daemon, &all[count]))
        count++;
    // Before one of these connected, a pid's image before, and its parent, have sent: images come in their order.
    ft_peers_admit(daemon);
    for (const struct arrived *one = all; one < all + count; one++) {
        if (ft_admit(daemon, one->fd, one->arrival, &one->client) == -EAGAIN)
            ft_peers_add(daemon, one->fd, one->arrival, &one->client);
        else
            close(one->fd);
    }
    return count == ACCEPT_MAX;
}

void ft_listener_accept_all(struct ft_daemon *daemon)
{
    ft_peers_admit(daemon);
    if (daemon->listener.fd < 0 || daemon->is_ending)
        return;
    for (int left = (int)daemon->config.backlog * 2; left > 0 && accept_batch(daemon); left -= ACCEPT_MAX)
        ;
}

static void on_client(uv_poll_t *watch, int status, int events);

static void on_rested(uv_timer_t *rest)
{
    struct ft_daemon *daemon = rest->data;
    if (!is_anybody_waiting(daemon))
        uv_poll_start(&daemon->listener.watch, UV_READABLE, on_client);
    else
        uv_timer_start(rest, on_rested, accept_batch(daemon) ? 0 : REST_MS, 0);
}

static void on_client(uv_poll_t *watch, int status, int events)
{
    struct ft_daemon *daemon = watch->data;
    (void)events;
    if (status < 0)
        return;
    uv_poll_stop(watch);
    uv_timer_start(&daemon->listener.rest, on_rested, accept_batch(daemon) ? 0 : REST_MS, 0);
}

int ft_listener_start(struct ft_daemon *daemon)
{
    struct ft_listener *listener = &daemon->listener;
    int r = uv_poll_init(&daemon->loop, &listener->watch, listener->fd);
    if (r < 0)
        return r;
    uv_timer_init(&daemon->loop, &listener->rest);
    listener->watch.data = listener->rest.data = daemon;
    return uv_poll_start(&listener->watch, UV_READABLE, on_client);
}

static void remove_beside(const char *socket_path, const char *suffix)
{
    char path[128];
    snprintf(path, sizeof(path), "%s%s", socket_path, suffix);
    unlink(path);
}

static void on_listener_closed(uv_handle_t *handle)
{
    struct ft_daemon *daemon = handle->data;
    close(daemon->listener.fd);
    daemon->listener.fd = -1;
}

void ft_listener_close(struct ft_daemon *daemon)
{
    struct ft_listener *listener = &daemon->listener;
    ft_peers_close(daemon);
    if (listener->is_ours) {
        remove_beside(daemon->config.socket, "");
        ft_policy_remove(daemon);
        remove_beside(daemon->config.socket, ".lock");
        listener->is_ours = false;
    }
    if (listener->fd >= 0 && !uv_is_closing((uv_handle_t *)&listener->watch)) {
        uv_close((uv_handle_t *)&listener->rest, NULL);
        uv_close((uv_handle_t *)&listener->watch, on_listener_closed);
    }
    if (listener->lock_fd >= 0)
        close(listener->lock_fd);
    if (listener->spare_fd >= 0)
        close(listener->spare_fd);
    listener->lock_fd = listener->spare_fd = -1;
}
