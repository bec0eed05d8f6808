// SPDX-License-Identifier: MIT
//
// Messages of the daemon: to the journal with its fields where systemd reads our stderr, else to stderr as one line.
// A message says what, which file, why. Messages that a client or a full disk could repeat without end go through
// ft_log_limited(), which prints once a minute per call site and says how many it left out.
// Any thread may call these.
#ifndef FT_DAEMON_LOG_H
#define FT_DAEMON_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum ft_log_level { FT_LOG_ERR = 3, FT_LOG_WARNING = 4, FT_LOG_INFO = 6, FT_LOG_DEBUG = 7 };

struct ft_log_site {
    int64_t next_ns;
    uint64_t left_out;
};

// Level by its config word; -1 if unknown.
int ft_log_level_parse(const char *word);
void ft_log_init(int level);

__attribute__((format(printf, 2, 3))) void ft_log(int level, const char *format, ...);

// False where this call site spoke less than a minute ago; *left_out says how often it was silent since.
bool ft_log_site_may_speak(struct ft_log_site *site, uint64_t *left_out);

#define ft_log_limited(level, format, ...)                                                                           \
    do {                                                                                                             \
        static struct ft_log_site site_;                                                                             \
        uint64_t left_out_;                                                                                          \
        if (ft_log_site_may_speak(&site_, &left_out_))                                                               \
            ft_log(level, left_out_ ? format " (%llu more since the last message)" : format "%.0llu", ##__VA_ARGS__, \
                   (unsigned long long)left_out_);                                                                   \
    } while (0)

#endif
