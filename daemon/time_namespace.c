// SPDX-License-Identifier: MIT
#include "daemon/time_namespace.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

#include "daemon/clock.h"
#include "proto/ring.h"

// Two looks at coarse clocks are up to two of their steps apart; time namespaces that differ by less do not matter.
#define SAME_CLOCK_NS INT64_C(20000000)

// Then a difference would be that somebody set CLOCK_REALTIME since.
static bool is_in_ours(uint32_t pid)
{
    char path[40];
    struct stat own, other;
    snprintf(path, sizeof(path), "/proc/%u/ns/time", pid);
    return stat("/proc/self/ns/time", &own) < 0 || (stat(path, &other) == 0 && own.st_ino == other.st_ino);
}

static bool is_plausible(int64_t ns)
{
    return ns > 0 && ns < INT64_MAX / 2;
}

int64_t ft_time_namespace_ahead_ns(uint32_t pid, const struct ft_hello *hello_untrusted)
{
    int64_t mono_ns = hello_untrusted->attach_mono_ns, real_ns = hello_untrusted->attach_real_ns;
    if (hello_untrusted->clock != FT_CLOCK_MONOTONIC_NS || !is_plausible(mono_ns) || !is_plausible(real_ns))
        return 0;
    int64_t ahead_ns = (mono_ns - real_ns) + ft_clock_realtime_offset_ns();
    int64_t apart_ns = ahead_ns < 0 ? -ahead_ns : ahead_ns;
    return apart_ns > SAME_CLOCK_NS && apart_ns < INT64_MAX / 8 && !is_in_ours(pid) ? ahead_ns : 0;
}
