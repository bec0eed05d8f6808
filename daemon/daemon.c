// SPDX-License-Identifier: MIT
#include "daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "daemon/log.h"
#include "daemon/procfs.h"
#include "daemon/successor.h"

#define HOUSEKEEPING_MS 1000

static void raise_limit(__rlimit_resource_t resource, const char *name)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) < 0 || limit.rlim_cur >= limit.rlim_max)
        return;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(resource, &limit) < 0)
        ft_log(FT_LOG_WARNING, "the limit of %s stays as it is: %s", name, strerror(errno));
}

// A private daemon has the limits of the command that it serves. Before anything is written: a file that may not grow is
// an error to be told, not the end.
static void raise_limits(void)
{
    signal(SIGXFSZ, SIG_IGN);
    raise_limit(RLIMIT_NOFILE, "open files");
    raise_limit(RLIMIT_FSIZE, "the size of files");
}

// The kernel's table of descriptors grows by doubling, and for a process with several threads only after a grace period of
// all processors: some 20 ms in which nothing is drained. So it gets its size while there is one thread; it never shrinks.
static void reserve_descriptors(void)
{
    enum { RESERVED = 4096 };
    struct rlimit limit;
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    bool is_less = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < RESERVED;
    int last = fcntl(fd, F_DUPFD_CLOEXEC, (int)(is_less ? limit.rlim_cur : RESERVED) - 1);
    if (last >= 0)
        close(last);
    close(fd);
}

static void read_host(struct ft_daemon *daemon)
{
    if (gethostname(daemon->host, sizeof(daemon->host) - 1) < 0 || !daemon->host[0])
        snprintf(daemon->host, sizeof(daemon->host), "localhost");
    for (char *c = daemon->host; *c; c++)
        if (*c == '/')
            *c = '_';
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, daemon->boot_id, sizeof(daemon->boot_id) - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        snprintf(daemon->boot_id, sizeof(daemon->boot_id), "unknown0");
    daemon->boot_id[strcspn(daemon->boot_id, "\n")] = '\0';
}

static void find_memory_mount(struct ft_daemon *daemon)
{
    FILE *mountinfo = fopen("/proc/self/mountinfo", "re");
    if (!mountinfo)
        return;
    ft_headroom_find(mountinfo, &daemon->memory_mount);
    fclose(mountinfo);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct ft_daemon *daemon = handle->data;
    if (number == SIGHUP)
        ft_reload_start(daemon);
    else
        ft_daemon_end(daemon, FT_GAP_DAEMON_STOPPED);
}

// Where there are no pidfds, ends are found by looking.
static void look_for_ends(struct ft_daemon *daemon, int64_t now_ns)
{
    for (size_t i = 0; i < FT_DAEMON_PIDS; i++)
        for (struct ft_process *process = daemon->by_pid[i], *next; process; process = next) {
            struct ft_procfs_stat stat;
            next = process->next_of_pid;
            if (process->pidfd >= 0 || atomic_load(&process->state) != FT_PROCESS_ALIVE)
                continue;
            bool is_there = ft_procfs_stat(process->pid, &stat) == 0 && stat.state != 'Z' &&
                            (!process->start_time || stat.start_time == process->start_time);
            if (!is_there)
                ft_daemon_note_end(daemon, process, FT_PROCESS_ENDED, now_ns);
        }
}

static void on_housekeeping(uv_timer_t *timer)
{
    struct ft_daemon *daemon = timer->data;
    int64_t now_ns = ft_clock_mono_ns();
    ft_arrivals_tick(daemon, now_ns);
    look_for_ends(daemon, now_ns);
    ft_retain_tick(daemon, now_ns);
    ft_space_tick(daemon, now_ns);
    ft_spool_room_tick(daemon, now_ns);
    ft_heap_tick(daemon, now_ns);
    ft_metrics_tick(daemon, now_ns);
    ft_service_tick(daemon, now_ns);
    ft_reload_tick(daemon, now_ns);
}

static void start_signals(struct ft_daemon *daemon)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        uv_signal_init(&daemon->loop, &daemon->signals[i]);
        daemon->signals[i].data = daemon;
        uv_signal_start(&daemon->signals[i], on_signal, numbers[i]);
        uv_unref((uv_handle_t *)&daemon->signals[i]);
    }
    signal(SIGPIPE, SIG_IGN);
}

int ft_daemon_init(struct ft_daemon *daemon)
{
    const struct ft_config *config = &daemon->config;
    ft_log_init(ft_log_level_parse(config->log_level));
    raise_limits();
    reserve_descriptors();
    read_host(daemon);
    ft_service_init(daemon);
    ft_clock_init(&daemon->clock, config->clock_interval_ns);
    ft_clock_tick(&daemon->clock, true);
    ft_process_private_session();
    daemon->realtime_offset_ns = ft_clock_realtime_offset_ns();
    daemon->started_ns = ft_clock_mono_ns();
    ft_hook_init(&daemon->hook);
    ft_retain_init(&daemon->retain);
    ft_mounts_init(&daemon->mounts);
    find_memory_mount(daemon);
    struct ft_users_limits limits = ft_users_limits_of(config);
    ft_users_init(&daemon->users, &limits);
    int r = ft_user_modes_make(&daemon->user_modes, config->user_modes);
    if (r == 0)
        r = uv_loop_init(&daemon->loop);
    if (r < 0)
        return r;
    start_signals(daemon); // from here on an end is a clean one
    atomic_store(&daemon->reserve.fd, -1);
    daemon->arrivals.fd = -1;
    r = ft_storage_check_spool(daemon);
    if (r < 0)
        return r;
    ft_space_init(daemon);
    ft_heap_init(daemon);
    ft_reserve_init(&daemon->reserve, config);
    ft_store_open(daemon);
    r = ft_listener_open(daemon);
    if (r < 0)
        return r;
    ft_arrivals_open(daemon);
    ft_successor_take_over(daemon);
    uv_timer_init(&daemon->loop, &daemon->housekeeping);
    daemon->housekeeping.data = daemon;
    uint64_t every_ms = ft_service_tick_ms(daemon, HOUSEKEEPING_MS);
    uv_timer_start(&daemon->housekeeping, on_housekeeping, every_ms, every_ms);
    r = ft_listener_start(daemon);
    return r < 0 ? r : ft_private_start(daemon);
}

static void tell_started(const struct ft_daemon *daemon)
{
    uint64_t lost = atomic_load(&daemon->status.taken_lost);
    if (!daemon->config.private)
        ft_log_about(FT_LOG_INFO, FT_LOG_ABOUT(.message = FT_LOG_STARTED),
                     "flowtapd " FT_VERSION " serves %s, traces go to %s; %u processes are gone on with, "
                     "%" PRIu64 " lost",
                     daemon->config.socket, daemon->config.spool_dir, daemon->process_count - (uint32_t)lost, lost);
}

int ft_daemon_run(struct ft_daemon *daemon)
{
    ft_resting_init();
    tell_started(daemon);
    ft_private_tell_ready(daemon);
    uv_run(&daemon->loop, UV_RUN_DEFAULT);
    return 0;
}

void ft_daemon_note_job_gone(struct ft_daemon *daemon)
{
    if (!daemon->is_ending || daemon->job_count)
        return;
    for (size_t i = 0; i < sizeof(daemon->signals) / sizeof(daemon->signals[0]); i++)
        uv_close((uv_handle_t *)&daemon->signals[i], NULL);
    uv_close((uv_handle_t *)&daemon->housekeeping, NULL);
    ft_hook_close(daemon);
    ft_store_close(daemon);
    ft_private_close(daemon);
}

void ft_daemon_end(struct ft_daemon *daemon, enum ft_gap gap)
{
    if (daemon->is_ending)
        return;
    ft_listener_accept_all(daemon);
    ft_store_all(daemon);
    daemon->is_ending = true;
    atomic_store(&daemon->ending_gap, (int)gap);
    ft_service_notify(daemon, "STOPPING=1");
    if (!daemon->config.private)
        ft_log_about(FT_LOG_INFO, FT_LOG_ABOUT(.message = FT_LOG_STOPPED), "told to end: %u processes were attached",
                     daemon->process_count);
    ft_listener_close(daemon);
    if (daemon->config.private)
        ft_job_get_private(daemon); // a file also where nobody attached
    for (struct ft_job *job = daemon->jobs; job; job = job->next)
        ft_job_finish(job);
    ft_daemon_note_job_gone(daemon);
}

void ft_daemon_fini(struct ft_daemon *daemon)
{
    ft_arrivals_close(daemon);
    ft_reserve_fini(&daemon->reserve);
    uv_loop_close(&daemon->loop);
    ft_retain_fini(&daemon->retain);
    ft_users_fini(&daemon->users);
    ft_mounts_fini(&daemon->mounts);
    ft_clock_fini(&daemon->clock);
    ft_user_modes_fini(&daemon->user_modes);
}
