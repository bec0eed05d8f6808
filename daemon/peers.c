// SPDX-License-Identifier: MIT
#include "daemon/peers.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "daemon/admit.h"
#include "daemon/client.h"
#include "daemon/daemon.h"
#include "daemon/job.h"
#include "daemon/log.h"
#include "daemon/refusal.h"
#include "daemon/unseen.h"

struct ft_peer {
    struct ft_peer *next; // younger
    struct ft_daemon *daemon;
    int fd;
    uint32_t uid, pid, arrival;
    struct ft_client client;
    uv_poll_t watch;
};

static void on_closed(uv_handle_t *handle)
{
    struct ft_peer *peer = handle->data;
    if (peer->fd >= 0)
        close(peer->fd);
    free(peer);
}

static void forget(struct ft_peers *peers, struct ft_peer *peer)
{
    struct ft_peer **link = &peers->oldest;
    while (*link != peer)
        link = &(*link)->next;
    *link = peer->next;
    if (peers->end == &peer->next)
        peers->end = link;
    peers->count--;
    ft_arrivals_forget(peer->daemon, peer->arrival);
    uv_close((uv_handle_t *)&peer->watch, on_closed);
}

// Where it has sent, its entry is done with, or its process's.
static void admit(struct ft_peer *peer)
{
    if (ft_admit(peer->daemon, peer->fd, peer->arrival, &peer->client) == -EAGAIN)
        return;
    peer->arrival = 0;
    forget(&peer->daemon->listener.peers, peer);
}

static void on_peer(uv_poll_t *watch, int status, int events)
{
    struct ft_peer *peer = watch->data;
    (void)events;
    if (status < 0)
        forget(&peer->daemon->listener.peers, peer);
    else
        admit(peer);
}

static unsigned count_of_user(const struct ft_peers *peers, uint32_t uid)
{
    unsigned count = 0;
    for (const struct ft_peer *peer = peers->oldest; peer; peer = peer->next)
        count += peer->uid == uid;
    return count;
}

static uint32_t user_who_has_most(const struct ft_peers *peers)
{
    uint32_t uid = 0;
    unsigned most = 0;
    for (const struct ft_peer *peer = peers->oldest; peer; peer = peer->next) {
        unsigned count = peer->uid == uid && most ? 0 : count_of_user(peers, peer->uid);
        if (count > most) {
            most = count;
            uid = peer->uid;
        }
    }
    return uid;
}

// Who has to go for a newcomer where there is no room; NULL where there is.
static struct ft_peer *find_victim(const struct ft_daemon *daemon, const struct ft_peer *newcomer)
{
    const struct ft_peers *peers = &daemon->listener.peers;
    bool is_user_full = count_of_user(peers, newcomer->uid) >= (uint64_t)daemon->config.max_connections_per_user;
    if (!is_user_full && peers->count < (uint64_t)daemon->config.max_connections)
        return NULL;
    uint32_t uid = is_user_full ? newcomer->uid : user_who_has_most(peers);
    struct ft_peer *of_process = NULL, *of_user = NULL;
    for (struct ft_peer *peer = peers->oldest; peer; peer = peer->next) {
        if (!of_process && peer->uid == newcomer->uid && peer->pid == newcomer->pid)
            of_process = peer;
        if (!of_user && peer->uid == uid)
            of_user = peer;
    }
    return of_process ? of_process : of_user;
}

void ft_peers_init(struct ft_peers *peers)
{
    *peers = (struct ft_peers){.end = &peers->oldest};
}

void ft_peers_add(struct ft_daemon *daemon, int fd, uint32_t arrival, const struct ft_client *client)
{
    struct ft_peers *peers = &daemon->listener.peers;
    struct ucred who;
    socklen_t bytes = sizeof(who);
    struct ft_peer *peer = calloc(1, sizeof(*peer));
    if (!peer || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &bytes) < 0 ||
        uv_poll_init(&daemon->loop, &peer->watch, fd) < 0) {
        ft_status_add(&daemon->status, refused_own, 1);
        ft_arrivals_forget(daemon, arrival);
        ft_refusal_send(fd, FT_REFUSAL_RESOURCES);
        free(peer);
        close(fd);
        return;
    }
    peer->daemon = daemon;
    peer->fd = fd;
    peer->uid = who.uid;
    peer->pid = (uint32_t)who.pid;
    peer->arrival = arrival;
    peer->client = *client;
    peer->watch.data = peer;
    struct ft_peer *victim = find_victim(daemon, peer);
    if (victim) {
        ft_status_add(&daemon->status, refused_message, 1);
        ft_log_limited_about(FT_LOG_WARNING, FT_LOG_ABOUT(FT_LOG_USER(victim->uid)),
                             "user %u: too many connections that say nothing; the oldest are closed: max_connections "
                             "or max_connections_per_user",
                             victim->uid);
        ft_unseen_note_closed(daemon, victim->uid, victim->pid, &victim->client,
                              "it had connected and not sent its memory, and others needed the room: max_connections, "
                              "max_connections_per_user");
        ft_refusal_send(victim->fd, FT_REFUSAL_CONNECTIONS);
        forget(peers, victim);
    }
    *peers->end = peer;
    peers->end = &peer->next;
    peers->count++;
    uv_poll_start(&peer->watch, UV_READABLE | UV_DISCONNECT, on_peer);
}

void ft_peers_admit(struct ft_daemon *daemon)
{
    for (struct ft_peer *peer = daemon->listener.peers.oldest, *next; peer; peer = next) {
        next = peer->next;
        admit(peer);
    }
}

void ft_peers_close(struct ft_daemon *daemon)
{
    struct ft_peers *peers = &daemon->listener.peers;
    while (peers->oldest) {
        ft_unseen_note_closed(daemon, peers->oldest->uid, peers->oldest->pid, &peers->oldest->client,
                              "the daemon ended when the process had connected and not sent its memory yet");
        forget(peers, peers->oldest);
    }
}
