// SPDX-License-Identifier: MIT
//
// Messages of the daemon: to the journal where that reads our stderr (JOURNAL_STREAM), else to stderr as one line.
// A message says what, which file, why. In the journal it has fields: whom it is about (FLOWTAP_JOB, FLOWTAP_UID,
// FLOWTAP_PID), and MESSAGE_ID where an operator may wait for it (FT_LOG_MESSAGES). Messages that a client or a full disk could repeat without end go through
// ft_log_limited(), which prints once a minute per call site and says how many it left out.
// Any thread may call these.
#ifndef FT_DAEMON_LOG_H
#define FT_DAEMON_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum ft_log_level { FT_LOG_ERR = 3, FT_LOG_WARNING = 4, FT_LOG_INFO = 6, FT_LOG_DEBUG = 7 };

// What an operator may wait for: name, its id (journalctl MESSAGE_ID=...; never changed), what it says.
#define FT_LOG_MESSAGES(X)                                                                       \
    X(STARTED, "2576778591b248f0897e2d8d63d58735", "the daemon serves")                          \
    X(STOPPED, "b85b6c1f0c1f43c9adcd3d364730a3c1", "the daemon was told to end")                 \
    X(CONFIG, "65b5d9db767143c6acffe8e311abc1c0", "the configuration was read again")            \
    X(BAD_CONFIG, "2937e0ff7acf4daf955a646d1d6bbf15", "something is wrong in the configuration") \
    X(REFUSED, "6778b549c2f544068fc2d65556ddb4cc", "a process is not traced")                    \
    X(CUT_OFF, "1d6f3715dcea45a79ba4ab00bbe36482", "a process is traced no longer")              \
    X(NOT_WRITTEN, "2a130ca5188c4d15943bff1763e78e56", "a trace cannot be written")

enum ft_log_message {
    FT_LOG_PLAIN,
#define X(name, id, help) FT_LOG_##name,
    FT_LOG_MESSAGES(X)
#undef X
};

// Fields of one message; what is 0 is not known. A user is known where a process or a job is.
struct ft_log_about {
    enum ft_log_message message;
    const char *job;
    uint32_t pid;
    bool has_uid;
    uint32_t uid;
};

#define FT_LOG_USER(id) .has_uid = true, .uid = (id)
#define FT_LOG_ABOUT(...) (&(const struct ft_log_about){__VA_ARGS__})

struct ft_log_site {
    int64_t next_ns;
    uint64_t left_out;
};

// Level by its config word; -1 if unknown.
int ft_log_level_parse(const char *word);
void ft_log_init(int level);

__attribute__((format(printf, 3, 4))) void ft_log_about(int level, const struct ft_log_about *about, const char *format,
                                                        ...);
#define ft_log(level, ...) ft_log_about(level, FT_LOG_ABOUT(.message = FT_LOG_PLAIN), __VA_ARGS__)

// Of a configuration (struct ft_config_report).
void ft_log_config(bool is_error, const char *text);

// Time now on CLOCK_MONOTONIC, for a call site.
int64_t ft_log_now_ns(void);
// False where this call site spoke less than a minute ago; *left_out says how often it was silent since.
bool ft_log_site_may_speak(struct ft_log_site *site, int64_t now_ns, uint64_t *left_out);

#define ft_log_limited_about(level, about, format, ...)                                                            \
    do {                                                                                                           \
        static struct ft_log_site site_;                                                                           \
        uint64_t left_out_;                                                                                        \
        if (ft_log_site_may_speak(&site_, ft_log_now_ns(), &left_out_))                                            \
            ft_log_about(level, about, left_out_ ? format " (%llu more since the last message)" : format "%.0llu", \
                         ##__VA_ARGS__, (unsigned long long)left_out_);                                            \
    } while (0)
#define ft_log_limited(level, ...) ft_log_limited_about(level, FT_LOG_ABOUT(.message = FT_LOG_PLAIN), __VA_ARGS__)

#endif
