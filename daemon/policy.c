// SPDX-License-Identifier: MIT
#include "daemon/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "daemon/log.h"
#include "daemon/procfs.h"
#include "proto/control.h"
#include "proto/policy.pb-c.h"

enum { GLOBS_MAX = 256 };

// Splits a colon-separated list into views of a copy, which it returns.
static char *split(const char *list, ProtobufCBinaryData *globs, size_t *count)
{
    char *copy = strdup(list), *save = NULL;
    *count = 0;
    for (char *glob = copy ? strtok_r(copy, ":", &save) : NULL; glob && *count < GLOBS_MAX;
         glob = strtok_r(NULL, ":", &save))
        globs[(*count)++] = (ProtobufCBinaryData){.data = (uint8_t *)glob, .len = strlen(glob)};
    return copy;
}

// Whether the kernel names a peer by pidfd: else a Hello has to tell when its process began.
static bool kernel_names_peers(void)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return false;
    int fd = ft_procfs_peer_pidfd(pair[0]);
    close(pair[0]);
    close(pair[1]);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static int replace_file(const char *path, const uint8_t *bytes, size_t count)
{
    char fresh[256];
    snprintf(fresh, sizeof(fresh), "%s.new", path);
    unlink(fresh);
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return -errno;
    int r = fchmod(fd, 0644) < 0 ? -errno : 0;
    ssize_t n = r == 0 ? write(fd, bytes, count) : 0;
    if (r == 0 && n != (ssize_t)count)
        r = n < 0 ? -errno : -ENOSPC;
    if (close(fd) < 0 && r == 0)
        r = -errno;
    if (r == 0 && rename(fresh, path) < 0)
        r = -errno;
    if (r < 0)
        unlink(fresh);
    return r;
}

static void policy_path(const struct ft_daemon *daemon, char *out, size_t room)
{
    snprintf(out, room, "%s%s", daemon->config.socket, FT_POLICY_SUFFIX);
}

// The most that any user has: whose own mode is off is refused when it attaches.
static Flowtap__Policy__Mode mode_of(const struct ft_config *config)
{
    if (strcmp(config->mode, "trace") == 0 || strstr(config->user_modes, "=trace"))
        return FLOWTAP__POLICY__MODE__TRACE;
    bool is_profile = strcmp(config->mode, "profile") == 0 || strstr(config->user_modes, "=profile");
    return is_profile ? FLOWTAP__POLICY__MODE__PROFILE : FLOWTAP__POLICY__MODE__OFF;
}

// The message for our configuration; its length or -errno.
static int make_policy(const struct ft_daemon *daemon, uint8_t bytes[FT_POLICY_BYTES_MAX])
{
    const struct ft_config *config = &daemon->config;
    ProtobufCBinaryData include[GLOBS_MAX], exclude[GLOBS_MAX];
    Flowtap__Policy policy = FLOWTAP__POLICY__INIT;
    policy.abi_major = FT_RING_ABI_MAJOR;
    policy.mode = mode_of(config);
    policy.clock = daemon->clock.has_ticks ? FLOWTAP__POLICY__CLOCK__TICKS : FLOWTAP__POLICY__CLOCK__MONOTONIC_NS;
    policy.want_start_time = !kernel_names_peers();
    policy.no_follow_clean_env = !config->follow_clean_env;
    char *include_copy = split(config->include, include, &policy.n_include);
    char *exclude_copy = split(config->exclude, exclude, &policy.n_exclude);
    policy.include = include;
    policy.exclude = exclude;
    int r = include_copy && exclude_copy ? 0 : -ENOMEM;
    if (r == 0 && flowtap__policy__get_packed_size(&policy) > FT_POLICY_BYTES_MAX)
        r = -E2BIG;
    if (r == 0)
        r = (int)flowtap__policy__pack(&policy, bytes);
    free(include_copy);
    free(exclude_copy);
    return r;
}

int ft_policy_write(struct ft_daemon *daemon)
{
    uint8_t bytes[FT_POLICY_BYTES_MAX];
    char path[128];
    policy_path(daemon, path, sizeof(path));
    int r = make_policy(daemon, bytes);
    if (r > 0)
        r = replace_file(path, bytes, (size_t)r);
    if (r < 0)
        ft_log(FT_LOG_ERR, "%s: cannot be written: %s", path, strerror(-r));
    return r;
}

static void folder_of(const struct ft_daemon *daemon, char *out, size_t room)
{
    snprintf(out, room, "%s", daemon->config.socket);
    char *slash = strrchr(out, '/');
    if (slash)
        slash[slash == out] = '\0';
}

int ft_policy_make_folder(const struct ft_daemon *daemon)
{
    char folder[128];
    folder_of(daemon, folder, sizeof(folder));
    if (!strchr(folder, '/') || mkdir(folder, daemon->config.private ? 0700 : 0755) == 0 || errno == EEXIST)
        return 0;
    int error = errno;
    ft_log(FT_LOG_ERR, "%s: cannot be made: %s", folder, strerror(error));
    return -error;
}

static bool is_written(const char *path, const uint8_t *bytes, size_t count)
{
    uint8_t there[FT_POLICY_BYTES_MAX];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : read(fd, there, sizeof(there));
    if (fd >= 0)
        close(fd);
    return n >= 0 && (size_t)n == count && memcmp(there, bytes, count) == 0;
}

int ft_policy_refresh(struct ft_daemon *daemon)
{
    uint8_t bytes[FT_POLICY_BYTES_MAX];
    char folder[128], path[128];
    folder_of(daemon, folder, sizeof(folder));
    if (access(folder, W_OK) == 0)
        return ft_policy_write(daemon);
    policy_path(daemon, path, sizeof(path));
    int count = make_policy(daemon, bytes);
    if (count < 0 || !is_written(path, bytes, (size_t)count))
        ft_log(FT_LOG_WARNING,
               "%s: programs are told something else than the configuration says, or nothing: "
               "systemctl reload flowtapd, or flowtapd --write-policy as root, writes it",
               path);
    return 0;
}

void ft_policy_remove(struct ft_daemon *daemon)
{
    char path[128];
    policy_path(daemon, path, sizeof(path));
    unlink(path);
}
