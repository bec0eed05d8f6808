// SPDX-License-Identifier: MIT
#include "client/shim/clock.h"

#include "client/shim/real.h"

#include <sys/prctl.h>
#include <time.h>

typedef int clock_function(clockid_t, struct timespec *);

static int no_clock(clockid_t clock, struct timespec *now)
{
    (void)clock;
    (void)now;
    return -1;
}

/* Looked for where it is needed: finding and reading it costs more than the one system call at attach. */
static clock_function *vdso_clock(void)
{
#if defined(__x86_64__)
    static const char name[] = "__vdso_clock_gettime";
#else
    static const char name[] = "__kernel_clock_gettime";
#endif
    static clock_function *found;
    clock_function *clock = __atomic_load_n(&found, __ATOMIC_RELAXED);
    if (clock == NULL) {
        clock = (clock_function *)ft_real_in_vdso(name);
        clock = clock != NULL ? clock : no_clock;
        __atomic_store_n(&found, clock, __ATOMIC_RELAXED);
    }
    return clock;
}

static int64_t ask_clock(clockid_t clock)
{
    struct timespec now;
    if (ft_is_shut_in() || ft_sys(SYS_clock_gettime, clock, &now) != 0)
        return 0;
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t read_clock(clockid_t clock)
{
    struct timespec now;
    if (vdso_clock()(clock, &now) != 0)
        return ask_clock(clock);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t ft_clock_mono_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

/* A counter that was taken away (PR_SET_TSC) stays so over fork and exec: the vDSO's fine clock would fault too. */
static int is_counter_there(void)
{
    int state = 0;
    return ft_sys(SYS_prctl, PR_GET_TSC, &state) != 0 || state != PR_TSC_SIGSEGV;
}

void ft_clock_prepare_coarse(void)
{
    if (ft_process.clock != FT_CLOCK_TICKS || ft_process.ticks_per_second != 0)
        return;
    uint64_t ticks = ft_ticks() - ft_process.pair_ticks;
    int64_t now = ft_clock_mono_ns(), ns = now - ft_process.pair_mono_ns;
    ft_process.pair_real_ns = read_clock(CLOCK_REALTIME) - ns;
    if (ns <= 0)
        return;
    ft_process.ticks_per_second = (uint64_t)((unsigned __int128)ticks * 1000000000u / (uint64_t)ns);
}

static uint64_t ticks_of_coarse(int64_t ns)
{
    if (ft_process.clock != FT_CLOCK_TICKS)
        return (uint64_t)ns;
    int64_t since = ns - ft_process.pair_mono_ns;
    uint64_t size = (uint64_t)(since < 0 ? -since : since);
    uint64_t ticks = (uint64_t)((unsigned __int128)size * ft_process.ticks_per_second / 1000000000u);
    return since < 0 ? ft_process.pair_ticks - ticks : ft_process.pair_ticks + ticks;
}

/* Two looks at coarse clocks are up to two of their steps apart; time namespaces that differ by less do not matter. */
enum { SAME_CLOCK_NS = 20000000 };

/* How far the clock of this pair is before that of the parent's, in a child whose time namespace is another one. */
static int64_t ahead_of_parent(int64_t mono, int64_t real)
{
    const struct ft_process *p = &ft_process;
    int64_t ahead = (mono - real) - (p->pair_mono_ns - p->pair_real_ns);
    return p->pair_real_ns != 0 && (ahead > SAME_CLOCK_NS || ahead < -SAME_CLOCK_NS) ? ahead : 0;
}

void ft_clock_pair(enum ft_image image)
{
    struct ft_process *p = &ft_process;
    if (!is_counter_there())
        p->coarse = 1;
    if (p->coarse && image == FT_IMAGE_EXEC)
        p->clock = FT_CLOCK_MONOTONIC_NS;
    int64_t ns = ask_clock(p->coarse ? CLOCK_MONOTONIC_COARSE : CLOCK_MONOTONIC);
    int64_t real = 0;
    if (p->coarse || p->clock != FT_CLOCK_TICKS)
        real = ask_clock(p->coarse ? CLOCK_REALTIME_COARSE : CLOCK_REALTIME);
    if (p->clock != FT_CLOCK_TICKS)
        p->pair_ticks = (uint64_t)ns;
    else
        p->pair_ticks = p->coarse ? ticks_of_coarse(ns - ahead_of_parent(ns, real)) : ft_ticks();
    p->pair_mono_ns = ns;
    p->pair_real_ns = real;
}

uint64_t ft_now_slow(void)
{
    if (ft_thread.why & FT_WHY_COARSE)
        return ticks_of_coarse(read_clock(CLOCK_MONOTONIC_COARSE));
    if (ft_process.clock == FT_CLOCK_MONOTONIC_NS)
        return (uint64_t)ft_clock_mono_ns();
    return ft_ticks();
}
