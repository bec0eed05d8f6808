// SPDX-License-Identifier: MIT
#include "daemon/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "daemon/refusal.h"
#include "proto/status.pb-c.h"

enum { GAUGES_MAX = 32, USERS_MAX = 256, TROUBLES_MAX = 4, TROUBLE_BYTES = 512 };
// So long after a write has failed it is still a trouble: it is tried again every second.
#define TROUBLE_NS INT64_C(10000000000)

typedef Flowtap__Status__Number number_message;
typedef Flowtap__Status__User user_message;

// A reply under construction: messages, and the arrays of pointers to them that protobuf-c wants.
struct answer {
    Flowtap__Status message;
    number_message counters[FT_STATUS_ROWS], gauges[GAUGES_MAX];
    number_message *counter_list[FT_STATUS_ROWS], *gauge_list[GAUGES_MAX];
    user_message users[USERS_MAX], *user_list[USERS_MAX];
    char troubles[TROUBLES_MAX][TROUBLE_BYTES], *trouble_list[TROUBLES_MAX];
};

static void set_number(number_message *number, const char *name, const char *help, uint64_t value)
{
    flowtap__status__number__init(number);
    number->name = (char *)(uintptr_t)name;
    number->help = (char *)(uintptr_t)help;
    number->value = value;
}

static void add_counters(struct answer *answer, struct ft_status *status)
{
    struct ft_status_row rows[FT_STATUS_ROWS];
    size_t count = ft_status_read(status, rows);
    for (size_t i = 0; i < count; i++) {
        set_number(&answer->counters[i], rows[i].name, rows[i].help, rows[i].value);
        answer->counter_list[i] = &answer->counters[i];
    }
    answer->message.n_counters = count;
    answer->message.counters = answer->counter_list;
}

static void add_gauge(struct answer *answer, const char *name, const char *help, uint64_t value)
{
    size_t at = answer->message.n_gauges++;
    set_number(&answer->gauges[at], name, help, value);
    answer->gauge_list[at] = &answer->gauges[at];
}

static uint64_t own_memory_bytes(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file || fscanf(file, "%*u %lu", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

// What waits, in the order of an event's way.
static void add_queues(struct answer *answer, const struct ft_daemon *daemon)
{
    struct ft_queues_sum waiting = ft_queues_add_up(daemon);
    uint32_t connections;
    if (ft_queues_connections(daemon->listener.fd, &connections) == 0)
        add_gauge(answer, "connections_waiting", "connections in the socket's queue, not yet accepted", connections);
    add_gauge(answer, "segments_waiting", "processes with events in their rings that are in no file", waiting.segments);
    add_gauge(answer, "events_waiting", "of these: such events, as of the last look", waiting.events);
    add_gauge(answer, "blocks_waiting", "blocks that these will make, at least", waiting.blocks);
    add_gauge(answer, "waiting_bytes", "encoded, and could not be written yet", waiting.bytes);
    add_gauge(answer, "jobs_busy", "jobs that a worker has, or that wait for one", waiting.jobs_busy);
}

// What a daemon after this one would find with the service manager, and what not yet.
static void add_stored(struct answer *answer, const struct ft_daemon *daemon)
{
    if (daemon->store.fd < 0)
        return;
    add_gauge(answer, "segments_stored", "processes whose rings the service manager holds", daemon->store.count);
    add_gauge(answer, "segments_to_store", "that are to be handed to it", daemon->store.waiting);
    add_gauge(answer, "arrivals", "that a kill of the daemon would lose", ft_arrivals_count(daemon));
}

static void add_gauges(struct answer *answer, struct ft_daemon *daemon)
{
    answer->message.gauges = answer->gauge_list;
    add_gauge(answer, "processes", "processes attached, or ended and not yet all written", daemon->process_count);
    add_gauge(answer, "max_processes", "the most there may be", (uint64_t)daemon->config.max_processes);
    add_gauge(answer, "jobs", "jobs with an open trace file", daemon->job_count);
    add_gauge(answer, "connections", "clients that have connected and sent nothing", daemon->listener.peers.count);
    add_queues(answer, daemon);
    add_stored(answer, daemon);
    add_gauge(answer, "taken_bytes", "ring memory taken for users on the daemon's account",
              ft_users_bytes(&daemon->users));
    add_gauge(answer, "max_taken_bytes", "the most it may be (max_memory)", (uint64_t)daemon->config.max_memory_bytes);
    add_gauge(answer, "memory_bytes", "resident memory of the daemon", own_memory_bytes());
    ft_space_want(daemon);
    if (!daemon->space.is_known)
        return;
    add_gauge(answer, "spool_free_bytes", "free space where the traces are", daemon->space.last_free_bytes);
    add_gauge(answer, "spool_used_bytes", "used there, by whatever it be", daemon->space.last_used_bytes);
}

static void add_users(struct answer *answer, struct ft_daemon *daemon, uint32_t uid)
{
    struct ft_user users[USERS_MAX];
    size_t count = ft_users_list(&daemon->users, users, USERS_MAX);
    bool sees_all = uid == 0 || uid == geteuid();
    answer->message.users = answer->user_list;
    for (size_t i = 0; i < count; i++) {
        if ((!sees_all && users[i].uid != uid) || (!users[i].processes && !users[i].bytes))
            continue;
        size_t at = answer->message.n_users++;
        flowtap__status__user__init(&answer->users[at]);
        answer->users[at].uid = users[i].uid;
        answer->users[at].processes = users[i].processes;
        answer->users[at].memory_bytes = users[i].bytes;
        answer->user_list[at] = &answer->users[at];
    }
}

static void add_troubles(struct answer *answer, struct ft_daemon *daemon, int64_t now_ns)
{
    int64_t failed_ns = atomic_load(&daemon->status.write_failed_ns);
    answer->message.troubles = answer->trouble_list;
    for (size_t i = 0; i < TROUBLES_MAX; i++)
        answer->trouble_list[i] = answer->troubles[i];
    if (failed_ns && now_ns - failed_ns < TROUBLE_NS)
        snprintf(answer->troubles[answer->message.n_troubles++], TROUBLE_BYTES,
                 "%.300s: %s; events are counted, not stored: make room, or set spool_dir to another folder",
                 daemon->config.spool_dir, strerror(atomic_load(&daemon->status.write_error)));
    int64_t no_memory_ns = atomic_load(&daemon->status.no_memory_ns);
    if (no_memory_ns && now_ns - no_memory_ns < TROUBLE_NS)
        snprintf(
            answer->troubles[answer->message.n_troubles++], TROUBLE_BYTES,
            "no memory for a block of events; they are counted, not stored (daemon_limit): raise the daemon's limit");
    if (daemon->process_count >= (uint64_t)daemon->config.max_processes)
        snprintf(answer->troubles[answer->message.n_troubles++], TROUBLE_BYTES,
                 "%u processes are attached: more are not traced; raise max_processes", daemon->process_count);
    if (access("/proc/self/stat", R_OK) < 0)
        snprintf(answer->troubles[answer->message.n_troubles++], TROUBLE_BYTES,
                 "/proc: cannot be read: jobs and ends of processes are not known; mount it");
}

static void send_message(const ProtobufCMessage *message, int socket_fd)
{
    size_t bytes = protobuf_c_message_get_packed_size(message);
    uint8_t *packed = bytes <= FT_STATUS_BYTES_MAX ? malloc(bytes) : NULL;
    if (!packed) {
        ft_refusal_send(socket_fd, FT_REFUSAL_RESOURCES);
        return;
    }
    protobuf_c_message_pack(message, packed);
    (void)!send(socket_fd, packed, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    free(packed);
}

void ft_answer_make_status(struct ft_daemon *daemon, uint32_t uid, void (*use)(const Flowtap__Status *, void *),
                           void *context)
{
    struct answer *answer = calloc(1, sizeof(*answer));
    int64_t now_ns = ft_clock_mono_ns();
    if (!answer) {
        use(NULL, context);
        return;
    }
    flowtap__status__init(&answer->message);
    answer->message.version = FT_VERSION;
    answer->message.abi_major = FT_RING_ABI_MAJOR;
    answer->message.abi_minor = FT_RING_ABI_MINOR;
    answer->message.host = (ProtobufCBinaryData){strlen(daemon->host), (uint8_t *)daemon->host};
    answer->message.pid = (uint32_t)getpid();
    answer->message.uptime_ns = (uint64_t)(now_ns - daemon->started_ns);
    answer->message.mode = daemon->config.mode;
    answer->message.spool_dir =
        (ProtobufCBinaryData){strlen(daemon->config.spool_dir), (uint8_t *)daemon->config.spool_dir};
    add_counters(answer, &daemon->status);
    add_gauges(answer, daemon);
    add_users(answer, daemon, uid);
    add_troubles(answer, daemon, now_ns);
    use(&answer->message, context);
    free(answer);
}

static void send_status(const Flowtap__Status *status, void *socket_fd)
{
    if (status)
        send_message(&status->base, *(int *)socket_fd);
    else
        ft_refusal_send(*(int *)socket_fd, FT_REFUSAL_RESOURCES);
}

static ProtobufCBinaryData bytes_of(const char *text)
{
    return (ProtobufCBinaryData){text ? strlen(text) : 0, (uint8_t *)(uintptr_t)text};
}

static void answer_config(const struct ft_daemon *daemon, int socket_fd)
{
    Flowtap__Config message = FLOWTAP__CONFIG__INIT;
    Flowtap__Config__Key keys[FT_CONFIG_KEYS], *list[FT_CONFIG_KEYS];
    const char *path = daemon->options->config_path;
    message.path = bytes_of(path ? path : FT_CONFIG_DEFAULT_PATH);
    message.n_keys = FT_CONFIG_KEYS;
    message.keys = list;
    for (size_t i = 0; i < FT_CONFIG_KEYS; i++) {
        const struct ft_config_key *key = &ft_config_keys[i];
        const struct ft_config_value *value = &daemon->config.values[i];
        list[i] = &keys[i];
        flowtap__config__key__init(&keys[i]);
        keys[i].name = (char *)(uintptr_t)key->name;
        keys[i].help = (char *)(uintptr_t)key->help;
        keys[i].value = bytes_of(value->text);
        keys[i].default_ = bytes_of(key->value);
        keys[i].origin = bytes_of(value->origin);
        keys[i].is_live = key->is_live;
        keys[i].is_other = value->waiting != NULL;
        keys[i].waiting = bytes_of(value->waiting);
    }
    send_message(&message.base, socket_fd);
}

void ft_answer(struct ft_daemon *daemon, int socket_fd, uint32_t uid, enum ft_message question)
{
    ft_status_add(&daemon->status, asked, 1);
    if (question == FT_MESSAGE_CONFIG)
        answer_config(daemon, socket_fd);
    else
        ft_answer_make_status(daemon, uid, send_status, &socket_fd);
}
