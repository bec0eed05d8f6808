// SPDX-License-Identifier: MIT
#include "daemon/listener.h"

#include <errno.h>
#include <fcntl.h>
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
#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/policy.h"

// Clients taken in one go before timers get their turn.
#define ACCEPT_MAX 256
#define PEER_PATIENCE_NS INT64_C(5000000000)

struct ft_peer {
    struct ft_peer *next;
    struct ft_daemon *daemon;
    int fd;
    int64_t until_ns;
    uv_poll_t watch;
};

static int refused(const char *path, int error, const char *what)
{
    ft_log(FT_LOG_ERR, "%s: %s: %s", path, what, strerror(error));
    return -error;
}

static int make_folder(const char *socket_path, bool is_private)
{
    char folder[128];
    snprintf(folder, sizeof(folder), "%s", socket_path);
    char *slash = strrchr(folder, '/');
    if (!slash || slash == folder)
        return 0;
    *slash = '\0';
    if (mkdir(folder, is_private ? 0700 : 0755) < 0 && errno != EEXIST)
        return refused(folder, errno, "cannot be made");
    return 0;
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
    int r = make_folder(daemon->config.socket, daemon->config.private);
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

int ft_listener_open(struct ft_daemon *daemon)
{
    struct ft_listener *listener = &daemon->listener;
    listener->fd = listener->lock_fd = -1;
    listener->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (int i = 0, count = sd_listen_fds(1); i < count; i++) {
        int fd = SD_LISTEN_FDS_START + i;
        if (listener->fd < 0 && sd_is_socket(fd, AF_UNIX, SOCK_SEQPACKET, 1) > 0) {
            fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
            listener->fd = fd;
        }
    }
    return listener->fd >= 0 ? ft_policy_write(daemon) : make_socket(daemon);
}

static void on_peer_closed(uv_handle_t *handle)
{
    struct ft_peer *peer = handle->data;
    if (peer->fd >= 0)
        close(peer->fd);
    free(peer);
}

static void forget_peer(struct ft_peer *peer)
{
    struct ft_listener *listener = &peer->daemon->listener;
    struct ft_peer **link = &listener->peers;
    while (*link && *link != peer)
        link = &(*link)->next;
    if (*link)
        *link = peer->next;
    listener->peer_count--;
    uv_close((uv_handle_t *)&peer->watch, on_peer_closed);
}

static void on_peer(uv_poll_t *watch, int status, int events)
{
    struct ft_peer *peer = watch->data;
    (void)events;
    if (status < 0 || ft_admit(peer->daemon, peer->fd) != -EAGAIN)
        forget_peer(peer);
}

// Who is silent must not keep others out. New ones are put in front.
static void forget_oldest_peer(struct ft_daemon *daemon)
{
    struct ft_peer *peer = daemon->listener.peers;
    while (peer && peer->next)
        peer = peer->next;
    ft_status_add(&daemon->status, refused_message, 1);
    if (peer)
        forget_peer(peer);
}

// A client that has connected and not sent yet: it is between its two system calls.
static void wait_for(struct ft_daemon *daemon, int fd)
{
    struct ft_listener *listener = &daemon->listener;
    if (listener->peer_count >= FT_LISTENER_PEERS_MAX)
        forget_oldest_peer(daemon);
    struct ft_peer *peer = calloc(1, sizeof(*peer));
    if (!peer || uv_poll_init(&daemon->loop, &peer->watch, fd) < 0) {
        ft_status_add(&daemon->status, refused_own, 1);
        free(peer);
        close(fd);
        return;
    }
    peer->daemon = daemon;
    peer->fd = fd;
    peer->until_ns = ft_clock_mono_ns() + PEER_PATIENCE_NS;
    peer->watch.data = peer;
    peer->next = listener->peers;
    listener->peers = peer;
    listener->peer_count++;
    uv_poll_start(&peer->watch, UV_READABLE | UV_DISCONNECT, on_peer);
}

// No descriptors: one client is refused with the spare one, else the queue would wake us without end.
static void refuse_one(struct ft_daemon *daemon)
{
    struct ft_listener *listener = &daemon->listener;
    ft_log_limited(FT_LOG_ERR, "no descriptors left: clients are refused; raise the limit of open files");
    ft_status_add(&daemon->status, refused_own, 1);
    close(listener->spare_fd);
    int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0)
        close(fd);
    listener->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

// Clients that have sent meanwhile.
static void admit_peers(struct ft_daemon *daemon)
{
    struct ft_peer *peer = daemon->listener.peers;
    while (peer) {
        int r = ft_admit(daemon, peer->fd);
        struct ft_peer *next = peer->next;
        if (r != -EAGAIN)
            forget_peer(peer);
        peer = next;
    }
}

// False where nobody waits.
static bool accept_one(struct ft_daemon *daemon)
{
    int fd = accept4(daemon->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        bool is_ours = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
        if (is_ours)
            refuse_one(daemon);
        return is_ours || errno == ECONNABORTED || errno == EINTR;
    }
    // Before this one connected, a pid's image before has sent: images come in their order.
    admit_peers(daemon);
    if (ft_admit(daemon, fd) == -EAGAIN)
        wait_for(daemon, fd);
    else
        close(fd);
    return true;
}

void ft_listener_accept_all(struct ft_daemon *daemon)
{
    admit_peers(daemon);
    if (daemon->listener.fd >= 0 && !daemon->is_ending)
        for (int left = (int)daemon->config.backlog * 2; left > 0 && accept_one(daemon); left--)
            ;
}

static void on_client(uv_poll_t *watch, int status, int events)
{
    struct ft_daemon *daemon = watch->data;
    (void)events;
    for (int left = ACCEPT_MAX; status == 0 && left > 0 && accept_one(daemon); left--)
        ;
}

int ft_listener_start(struct ft_daemon *daemon)
{
    struct ft_listener *listener = &daemon->listener;
    int r = uv_poll_init(&daemon->loop, &listener->watch, listener->fd);
    if (r < 0)
        return r;
    listener->watch.data = daemon;
    return uv_poll_start(&listener->watch, UV_READABLE, on_client);
}

void ft_listener_sweep(struct ft_daemon *daemon, int64_t now_ns)
{
    for (struct ft_peer *peer = daemon->listener.peers, *next; peer; peer = next) {
        next = peer->next;
        if (now_ns >= peer->until_ns) {
            ft_status_add(&daemon->status, refused_message, 1);
            forget_peer(peer);
        }
    }
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
    while (listener->peers)
        forget_peer(listener->peers);
    if (listener->is_ours) {
        remove_beside(daemon->config.socket, "");
        ft_policy_remove(daemon);
        remove_beside(daemon->config.socket, ".lock");
        listener->is_ours = false;
    }
    if (listener->fd >= 0 && !uv_is_closing((uv_handle_t *)&listener->watch))
        uv_close((uv_handle_t *)&listener->watch, on_listener_closed);
    if (listener->lock_fd >= 0)
        close(listener->lock_fd);
    if (listener->spare_fd >= 0)
        close(listener->spare_fd);
    listener->lock_fd = listener->spare_fd = -1;
}
