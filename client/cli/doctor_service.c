// SPDX-License-Identifier: MIT
/* Checks of the daemon that this environment's programs attach to: its socket, and the policy file beside it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>

#include "client/cli/cli.h"
#include "client/cli/daemon_ask.h"
#include "client/cli/doctor.h"
#include "client/cli/units.h"
#include "proto/policy.pb-c.h"

#ifndef FT_VERSION
#define FT_VERSION "unknown"
#endif

#define SPOOL_BYTES_LOW (UINT64_C(16) << 20)

/* The socket that the recorder takes. */
static const char *socket_path(const struct ft_doctor *doctor)
{
    const char *path = doctor->values[FT_SETTING_FLOWTAP_SOCKET];
    return path && ft_setting_use_of_socket(path) == FT_SETTING_USED ? path : FT_SOCKET_DEFAULT;
}

static bool is_in_container(void)
{
    return access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0 || getenv("container") ||
           getenv("SINGULARITY_NAME") || getenv("APPTAINER_NAME");
}

/* Whether programs that are started from here are meant to attach to it. */
static bool is_meant(const struct ft_doctor *doctor)
{
    return doctor->values[FT_SETTING_FLOWTAP_SOCKET] || doctor->is_preloaded ||
           (doctor->values[FT_SETTING_FLOWTAP] && ft_setting_is(doctor->values[FT_SETTING_FLOWTAP], "1"));
}

static void tell_absent(struct ft_doctor *doctor, const char *path, int error)
{
    const char *container = is_in_container() ? "; this is a container: bind the folder of the socket into it" : "";
    if (!is_meant(doctor)) {
        ft_doctor_note(doctor, path, "`flowtap run` needs none", "no Flowtap service here (%s: %s)", path,
                       strerror(error));
        return;
    }
    char *advice =
        ft_cli_format("start flowtapd, name its socket in FLOWTAP_SOCKET, or use `flowtap run`%s", container);
    ft_doctor_problem(doctor, path, advice, "the socket %s cannot be reached: %s; nothing is recorded", path,
                      strerror(error));
    free(advice);
}

static void tell_refused(struct ft_doctor *doctor, const char *path, int error)
{
    switch (error) {
    case ECONNREFUSED:
        ft_doctor_problem(doctor, path, "start flowtapd again; it replaces the socket",
                          "nobody listens on the socket %s: %s", path, strerror(error));
        break;
    case EACCES:
    case EPERM:
        ft_doctor_problem(doctor, path, "its mode must be 0666, and its folder open to you",
                          "the socket %s refuses you: %s", path, strerror(error));
        break;
    case EPROTOTYPE:
        ft_doctor_problem(doctor, path, "name flowtapd's own socket",
                          "the socket %s is another program's: its type is not "
                          "SOCK_SEQPACKET",
                          path);
        break;
    case EAGAIN:
        ft_doctor_problem(doctor, path, "look whether flowtapd is stopped or overloaded, and restart it",
                          "the queue of the socket %s is full: programs stay untraced", path);
        break;
    default:
        tell_absent(doctor, path, error);
    }
}

/* Behind the last semicolon the daemon says what to do, as a rule. */
static void tell_trouble(struct ft_doctor *doctor, const char *path, const char *trouble)
{
    const char *end = strrchr(trouble, ';'), *advice = end && end[1] == ' ' ? end + 2 : NULL;
    ft_doctor_problem(doctor, path, advice ? advice : "its log tells more", "the daemon on %s says: %.*s", path,
                      (int)(advice ? (size_t)(end - trouble) : strlen(trouble)), trouble);
}

/* What it says of itself; it may be of another version, or no flowtapd at all. */
static void tell_status(struct ft_doctor *doctor, const char *path, int pid, const Flowtap__Status *status)
{
    doctor->has_service = true;
    for (size_t i = 0; i < status->n_troubles; i++) {
        tell_trouble(doctor, path, status->troubles[i]);
    }
    if (strcmp(status->version, FT_VERSION) != 0) {
        ft_doctor_note(doctor, path, "restart it where it was upgraded", "the daemon on %s is version %s, this is %s",
                       path, ft_doctor_quote(status->version, strlen(status->version)), FT_VERSION);
    } else {
        ft_doctor_ok(doctor, path, "the daemon on %s (process %d, version %s) answers", path, pid, FT_VERSION);
    }
}

static void ask(struct ft_doctor *doctor, const char *path, int fd, int pid)
{
    Flowtap__Status *status = NULL;
    int error = ft_ask_status_over(fd, &status);
    if (error == 0) {
        doctor->status = status;
        tell_status(doctor, path, pid, status);
    } else if (error == -ETIMEDOUT) {
        ft_doctor_problem(doctor, path, "continue or restart it; programs that start now wait in its queue",
                          "the daemon on %s (process %d) does not answer: it is stopped or hangs", path, pid);
    } else if (ft_ask_is_passing(error)) {
        doctor->has_service = true;
        ft_doctor_problem(doctor, path, "ask again; see max_connections in flowtapd(8)",
                          "the daemon on %s (process %d) %s", path, pid, ft_ask_explain(error));
    } else {
        doctor->has_service = true;
        ft_doctor_problem(doctor, path, "install both from one version, and restart the daemon",
                          "who listens on %s (process %d): %s", path, pid, ft_ask_explain(error));
    }
}

static void look_at_listener(struct ft_doctor *doctor, const char *path, int fd)
{
    struct ucred peer = {0};
    socklen_t bytes = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) < 0) {
        ft_doctor_problem(doctor, path, "look at its process: it may be none of Flowtap's",
                          "who listens on %s cannot be asked: %s", path, strerror(errno));
    } else if (peer.uid != 0 && peer.uid != geteuid()) {
        ft_doctor_problem(doctor, path, "use a daemon of root's or of your own",
                          "who listens on %s is user %u: programs attach to root and their own user only", path,
                          peer.uid);
    } else {
        ask(doctor, path, fd, (int)peer.pid);
    }
}

void ft_doctor_socket(struct ft_doctor *doctor)
{
    const char *path = socket_path(doctor);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat st;
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (stat(path, &st) < 0) {
        tell_absent(doctor, path, errno);
        return;
    }
    if (!S_ISSOCK(st.st_mode)) {
        ft_doctor_problem(doctor, path, "name flowtapd's own socket", "%s is no socket, but %s", path,
                          S_ISDIR(st.st_mode)   ? "a folder"
                          : S_ISREG(st.st_mode) ? "a file"
                                                : "something else");
        return;
    }
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return; /* the check of the sandbox has told */
    }
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        tell_refused(doctor, path, errno);
    } else {
        look_at_listener(doctor, path, fd);
    }
    close(fd);
}

/* Reads the file as the recorder does; how many bytes, or -errno. */
static ssize_t read_policy(const char *path, uint8_t *bytes, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return -errno;
    }
    struct stat status;
    bool is_trusted = fstat(fd, &status) == 0 && (status.st_uid == 0 || status.st_uid == geteuid());
    ssize_t got = is_trusted ? pread(fd, bytes, room, 0) : -1;
    got = !is_trusted ? -EPERM : got < 0 ? -errno : got;
    close(fd);
    return got;
}

static void explain_policy(struct ft_doctor *doctor, const char *path, const Flowtap__Policy *policy)
{
    size_t before = doctor->finding_count;
    if (policy->abi_major != FT_RING_ABI_MAJOR) {
        ft_doctor_problem(
            doctor, path, "install both from one version, and restart the daemon",
            "the daemon of %s speaks version %u of the protocol, this is version %u: programs stay untraced", path,
            policy->abi_major, FT_RING_ABI_MAJOR);
    }
    if (policy->mode == FLOWTAP__POLICY__MODE__OFF) {
        ft_doctor_problem(doctor, path, "ask who runs it, set mode=trace in flowtapd.conf, or use `flowtap run`",
                          "the daemon's policy %s switches tracing off for everybody (mode=off)", path);
    }
    if (policy->clock > FLOWTAP__POLICY__CLOCK__MONOTONIC_NS) {
        ft_doctor_problem(doctor, path, "install both from one version",
                          "the daemon's policy %s asks for a clock that this "
                          "version does not know",
                          path);
    }
    if (policy->no_follow_clean_env) {
        ft_doctor_note(
            doctor, path, "set follow_clean_env=yes in flowtapd.conf to follow them",
            "by the daemon's policy %s programs with a cleaned environment are not followed (gap env_cleaned)", path);
    }
    if (policy->n_include > 0) {
        ft_doctor_note(
            doctor, path, "FLOWTAP_INCLUDE can only narrow it: for more, change include in flowtapd.conf",
            "by the daemon's policy %s only paths are recorded that match one of %zu patterns, the first is '%s'", path,
            policy->n_include, ft_doctor_quote((const char *)policy->include[0].data, policy->include[0].len));
    }
    if (policy->n_exclude > 0) {
        ft_doctor_note(doctor, path, NULL,
                       "by the daemon's policy %s paths are left out that match one of %zu patterns, the first is '%s'",
                       path, policy->n_exclude,
                       ft_doctor_quote((const char *)policy->exclude[0].data, policy->exclude[0].len));
    }
    if (doctor->finding_count == before) {
        ft_doctor_ok(doctor, path, "the daemon's policy %s leaves tracing on", path);
    }
}

void ft_doctor_policy(struct ft_doctor *doctor)
{
    char path[FT_SOCKET_PATH_MAX + sizeof(FT_POLICY_SUFFIX)];
    uint8_t bytes[FT_POLICY_BYTES_MAX + 1];
    snprintf(path, sizeof(path), "%s" FT_POLICY_SUFFIX, socket_path(doctor));
    if (!doctor->has_service) {
        return;
    }
    ssize_t got = read_policy(path, bytes, sizeof(bytes));
    if (got < 0) {
        ft_doctor_problem(doctor, path,
                          got == -EACCES ? "make it readable for all (chmod a+r)"
                                         : "restart the daemon: it writes the file anew",
                          "the daemon's policy %s cannot be read: %s; programs stay untraced", path,
                          got == -ELOOP   ? "it is a symbolic link"
                          : got == -EPERM ? "it is another user's"
                                          : strerror((int)-got));
        return;
    }
    if (got > FT_POLICY_BYTES_MAX) {
        ft_doctor_problem(doctor, path, "restart the daemon: it writes the file anew",
                          "the daemon's policy %s is longer than %d bytes: the rest is not read", path,
                          FT_POLICY_BYTES_MAX);
        return;
    }
    ProtobufCMessage *message = NULL;
    if (got <= 0 || ft_ask_unpack(&flowtap__policy__descriptor, bytes, (size_t)got, &message) < 0) {
        ft_doctor_problem(doctor, path, "restart the daemon: it writes the file anew",
                          "the daemon's policy %s is %s: what it says is not certain", path, got ? "damaged" : "empty");
        return;
    }
    doctor->policy = (Flowtap__Policy *)(void *)message;
    explain_policy(doctor, path, doctor->policy);
}

void ft_doctor_spool(struct ft_doctor *doctor)
{
    const Flowtap__Status *status = doctor->status;
    struct statvfs fs;
    struct ft_unit_text bytes;
    char spool[PATH_MAX];
    if (!status || status->spool_dir.len == 0) {
        return;
    }
    snprintf(spool, sizeof(spool), "%.*s", (int)status->spool_dir.len, (const char *)status->spool_dir.data);
    if (statvfs(spool, &fs) < 0) {
        return; /* the daemon's own troubles tell what it meets there */
    }
    uint64_t available = (uint64_t)fs.f_bavail * fs.f_frsize;
    if (available < SPOOL_BYTES_LOW) {
        ft_doctor_problem(doctor, spool, "make room",
                          "the daemon's spool %s has %s left: detail is lost when it is full", spool,
                          ft_units_bytes(&bytes, available));
    } else {
        ft_doctor_ok(doctor, spool, "the daemon's spool %s has %s left", spool, ft_units_bytes(&bytes, available));
    }
}
