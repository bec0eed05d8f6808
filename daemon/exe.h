// SPDX-License-Identifier: MIT
//
// Why an executed file cannot load the recorder: found by looking at the file.
#ifndef FT_DAEMON_EXE_H
#define FT_DAEMON_EXE_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "proto/trace_event.h"

struct ft_exe_verdict {
    enum ft_gap gap;
    const char *reason; // static
    bool is_certain;    // the file alone tells that it cannot attach, whatever else is seen of its pid
    bool is_absent;     // there is no such file, or not any more
};

// Who executed it.
struct ft_exe_look {
    uid_t uid;
    gid_t gid;
    uint32_t root_pid; // the path is seen from this process's root, where it lives; 0: from ours
};

// `name` is as its process named it: a path, or the bare name of a program. FT_GAP_NOT_ATTACHED where the file gives no
// reason.
struct ft_exe_verdict ft_exe_examine(const char *name, const struct ft_exe_look *look);

// What a living process runs now.
struct ft_exe_verdict ft_exe_examine_running(uint32_t pid, const struct ft_exe_look *look);

// As ft_exe_examine from our root, for files that are asked for again and again: a file that has not changed is not read
// again. `known` has `count` entries, zeroed at first.
struct ft_exe_known {
    uint64_t path; // hash
    dev_t dev;
    ino_t inode;
    struct timespec changed;
    struct ft_exe_verdict verdict;
};
struct ft_exe_verdict ft_exe_examine_again(const char *path, struct ft_exe_known *known, unsigned count);

#endif
