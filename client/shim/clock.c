// SPDX-License-Identifier: MIT
#include "client/shim/clock.h"

#include "client/shim/real.h"

#include <time.h>

typedef int clock_function(clockid_t, struct timespec *);

static clock_function *vdso_clock;

static int64_t read_clock(clockid_t clock)
{
    struct timespec now;
    if (vdso_clock == NULL || vdso_clock(clock, &now) != 0) {
        if (ft_process.sandboxed || ft_sys(SYS_clock_gettime, clock, &now) != 0)
            return 0;
    }
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t ft_clock_mono_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

void ft_clock_init(void)
{
#if defined(__x86_64__)
    vdso_clock = (clock_function *)ft_real_in_vdso("__vdso_clock_gettime");
#else
    vdso_clock = (clock_function *)ft_real_in_vdso("__kernel_clock_gettime");
#endif
    ft_process.pair_ticks = ft_ticks();
    ft_process.pair_mono_ns = ft_clock_mono_ns();
}

void ft_clock_prepare_coarse(void)
{
    if (ft_process.clock != FT_CLOCK_TICKS || ft_process.ticks_per_second != 0)
        return;
    uint64_t ticks = ft_ticks() - ft_process.pair_ticks;
    int64_t ns = ft_clock_mono_ns() - ft_process.pair_mono_ns;
    if (ns <= 0)
        return;
    ft_process.ticks_per_second = (uint64_t)((unsigned __int128)ticks * 1000000000u / (uint64_t)ns);
}

static uint64_t coarse_ticks(void)
{
    int64_t ns = read_clock(CLOCK_MONOTONIC_COARSE);
    if (ft_process.clock != FT_CLOCK_TICKS)
        return (uint64_t)ns;
    int64_t since = ns - ft_process.pair_mono_ns;
    uint64_t size = (uint64_t)(since < 0 ? -since : since);
    uint64_t ticks = (uint64_t)((unsigned __int128)size * ft_process.ticks_per_second / 1000000000u);
    return since < 0 ? ft_process.pair_ticks - ticks : ft_process.pair_ticks + ticks;
}

uint64_t ft_now_slow(void)
{
    if (ft_thread.why & FT_WHY_COARSE)
        return coarse_ticks();
    if (ft_process.clock == FT_CLOCK_MONOTONIC_NS)
        return (uint64_t)ft_clock_mono_ns();
    return ft_ticks();
}
