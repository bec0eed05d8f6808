// SPDX-License-Identifier: MIT
//
// Configuration. FT_CONFIG_KEYS is the only place where a key is named: the struct's fields, the parser, `--set`,
// `--help` and the check of etc/flowtapd.conf expand from it.
//
// Order, later wins: defaults, /etc/flowtap/flowtapd.conf, its drop-ins flowtapd.conf.d/*.conf in order of their
// names, `--set key=value`.
#ifndef FT_DAEMON_CONFIG_H
#define FT_DAEMON_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define FT_CONFIG_DEFAULT_PATH "/etc/flowtap/flowtapd.conf"
#define FT_CONFIG_SECTION "flowtapd"

// type, name, default as written in a file, least, most (of a STRING's length), what it does
#define FT_CONFIG_KEYS(X)                                                                                            \
    X(STRING, socket, "/run/flowtap/flowtapd.sock", 1, 99, "path of the socket that programs attach to")             \
    X(STRING, spool_dir, "/var/spool/flowtap", 1, 3000, "folder that holds the trace files")                         \
    X(STRING, mode, "trace", 1, 16, "trace (every event) or off (attach nobody)")                                    \
    X(STRING, include, "", 0, 8192, "colon-separated globs of paths to record; empty: all")                          \
    X(STRING, exclude, "", 0, 8192, "colon-separated globs of paths not to record")                                  \
    X(BOOL, follow_clean_env, "yes", 0, 1, "exec puts Flowtap's variables back where a program cleaned them")        \
    X(STRING, log_level, "info", 1, 16, "err, warning, info or debug")                                               \
    X(STRING, admin_group, "", 0, 64, "group that may read every trace; empty: the daemon's own")                    \
    X(BOOL, private, "no", 0, 1, "serve one command of one user, then end (flowtap run)")                            \
    X(STRING, command, "", 0, 4096, "program that a private daemon was started for; a gap where it is not seen")     \
    X(NUMBER, ready_fd, "-1", -1, 1 << 20, "descriptor that gets one byte R when the socket listens")                \
    X(NUMBER, hold_fd, "-1", -1, 1 << 20, "pipe whose end of file tells a private daemon to finish")                 \
    X(NUMBER, backlog, "4096", 1, 65535, "processes that may wait in the socket's queue")                            \
    X(TIME, poll_busy, "2ms", 1000000, 1000000000, "how often a busy process is looked at")                          \
    X(TIME, poll_idle, "100ms", 1000000, 10000000000, "how often an idle process is looked at, at least")            \
    X(TIME, clock_interval, "10ms", 1000000, 1000000000, "distance of clock pairs while events arrive")              \
    X(TIME, counters_interval, "1s", 10000000, 3600000000000, "how often /proc/PID/io is read")                      \
    X(NUMBER, block_events, "65536", 1024, 65536, "events that close a block")                                       \
    X(TIME, block_age, "5s", 1000000, 600000000000, "age of the oldest event that closes a block")                   \
    X(TIME, block_after_end, "200ms", 0, 60000000000, "a block is closed so long after a process ended")             \
    X(TIME, job_linger, "1m", 0, 86400000000000, "a job's file stays open so long after its last process")           \
    X(TIME, torn_wait, "1s", 0, 60000000000, "how long an event that was begun and not published is waited for")     \
    X(TIME, end_grace, "500ms", 0, 60000000000, "a private daemon waits so long for processes that are ending")      \
    X(BYTES, rotate_size, "1G", 1 << 20, INT64_C(1) << 50, "size at which a trace file is followed by the next")     \
    X(TIME, rotate_age, "1d", 1000000000, INT64_C(1) << 60, "age at which a trace file is followed by the next")     \
    X(BYTES, rotate_memory, "128M", 1 << 20, INT64_C(1) << 40, "memory for names at which a file is followed")       \
    X(BYTES, reserve, "4M", 0, 1 << 30, "disk space kept to write totals when the disk is full")                     \
    X(NUMBER, max_processes, "16384", 1, 1000000, "processes attached at a time")                                    \
    X(NUMBER, max_processes_per_user, "8192", 1, 1000000, "the same for one user")                                   \
    X(NUMBER, max_connections, "1024", 1, 65536, "connections that have sent nothing yet, at a time")                \
    X(NUMBER, max_connections_per_user, "256", 1, 65536, "the same for one user")                                    \
    X(NUMBER, max_jobs, "4096", 1, 100000, "trace files open at a time")                                             \
    X(BYTES, max_segment, "32M", 1 << 16, 1 << 30, "largest segment that a process may bring")                       \
    X(BYTES, max_user_memory, "256M", 0, INT64_C(1) << 40, "ring memory taken for one user on the daemon's account") \
    X(NUMBER, max_stored, "4000", 0, 1000000, "segments that the service manager holds for the next daemon")

struct ft_config {
#define FT_CONFIG_FIELD_STRING(name) char *name;
#define FT_CONFIG_FIELD_BOOL(name) int64_t name;
#define FT_CONFIG_FIELD_NUMBER(name) int64_t name;
#define FT_CONFIG_FIELD_BYTES(name) int64_t name##_bytes;
#define FT_CONFIG_FIELD_TIME(name) int64_t name##_ns;
#define X(type, name, value, least, most, help) FT_CONFIG_FIELD_##type(name)
    FT_CONFIG_KEYS(X)
#undef X
};

// Why a value was refused: one line, without the file's name.
struct ft_config_error {
    char text[256];
};

// Fills in the defaults. Release with ft_config_fini().
int ft_config_init(struct ft_config *config);
void ft_config_fini(struct ft_config *config);

// One key; -EINVAL with a reason where key or value are no good, -ENOMEM. Nothing changes on error.
int ft_config_set(struct ft_config *config, const char *key, const char *value, struct ft_config_error *error);

// `key=value`, as of --set.
int ft_config_set_pair(struct ft_config *config, const char *pair, struct ft_config_error *error);

// Reads text of a configuration file. The first error ends it; the error's text begins with the line's number.
int ft_config_parse(struct ft_config *config, const char *text, size_t length, struct ft_config_error *error);

// The file and its drop-ins; a missing file is no error.
int ft_config_load(struct ft_config *config, const char *path, struct ft_config_error *error);

// What one key alone cannot tell: words that are none. -EINVAL with a reason.
int ft_config_check(const struct ft_config *config, struct ft_config_error *error);

// Every key with its default and meaning, for --help.
void ft_config_print_keys(FILE *out);

#endif
