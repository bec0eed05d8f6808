// SPDX-License-Identifier: MIT
//
// Why an executed file cannot load the recorder: found by looking at the file.
#ifndef FT_DAEMON_EXE_H
#define FT_DAEMON_EXE_H

#include "proto/trace_event.h"

struct ft_exe_verdict {
    enum ft_gap gap;
    const char *reason; // static
};

// `name` is as its process named it: a path, which is opened from here, or the bare name of a program. FT_GAP_NOT_ATTACHED where the file gives no reason.
struct ft_exe_verdict ft_exe_examine(const char *name);

#endif
