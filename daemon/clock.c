// SPDX-License-Identifier: MIT
#include "daemon/clock.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ERROR_FLOOR_NS 200
#define ERROR_CEILING_NS 1000000
#define TRIES 4
// Pairs nearer to each other than this say little of a rate.
#define RATE_PAIR_NS 100000
// Two pairs taken soon after each other tell the rate no better.
#define OLD_RATE_MAX 0.01

#if defined(__x86_64__)
#define CLOCKSOURCE "tsc\n"
uint64_t ft_clock_ticks(void)
{
    return __builtin_ia32_rdtsc();
}
#elif defined(__aarch64__)
#define CLOCKSOURCE "arch_sys_counter\n"
uint64_t ft_clock_ticks(void)
{
    uint64_t ticks;
    __asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(ticks)::"memory");
    return ticks;
}
#else
#define CLOCKSOURCE "none\n"
uint64_t ft_clock_ticks(void)
{
    return (uint64_t)ft_clock_mono_ns();
}
#endif

static int64_t clock_ns(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int64_t ft_clock_mono_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

int64_t ft_clock_realtime_offset_ns(void)
{
    int64_t best = 0, best_window = INT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        int64_t before = clock_ns(CLOCK_MONOTONIC);
        int64_t realtime = clock_ns(CLOCK_REALTIME);
        int64_t after = clock_ns(CLOCK_MONOTONIC);
        if (after - before >= best_window) // the thread lost its processor in between
            continue;
        best_window = after - before;
        best = realtime - (before + best_window / 2);
    }
    return best;
}

static bool clocksource_is_ours(void)
{
    char text[64] = "";
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    return n > 0 && strcmp(text, CLOCKSOURCE) == 0;
}

void ft_clock_init(struct ft_clock_pairs *clock, int64_t interval_ns)
{
    memset(clock, 0, sizeof(*clock));
    pthread_mutex_init(&clock->lock, NULL);
    clock->has_ticks = clocksource_is_ours();
    clock->interval_ns = interval_ns;
    clock->error_ns = ERROR_FLOOR_NS;
}

void ft_clock_fini(struct ft_clock_pairs *clock)
{
    pthread_mutex_destroy(&clock->lock);
}

static double slope(const struct ft_clock_pair *a, const struct ft_clock_pair *b)
{
    return (double)(b->mono_ns - a->mono_ns) / (double)(b->ticks - a->ticks);
}

// Every second pair of the older half goes: what is old is known less finely, but stays known.
static void thin_out(struct ft_clock_pairs *clock)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < clock->count; i++)
        if (i >= FT_CLOCK_PAIRS_MAX / 2 || i % 2 == 0)
            clock->pairs[kept++] = clock->pairs[i];
    clock->count = kept;
}

static void note_error(struct ft_clock_pairs *clock, const struct ft_clock_pair *pair, int64_t window_ns)
{
    int64_t error = window_ns / 2 + 1;
    const struct ft_clock_pair *last = &clock->pairs[clock->count - 1];
    // Only pairs that lie well apart foretell a rate.
    bool is_foretold = clock->count >= 2 && last->mono_ns - last[-1].mono_ns >= clock->interval_ns / 2 &&
                       pair->mono_ns - last->mono_ns < 2 * clock->interval_ns;
    if (is_foretold) {
        double ahead = slope(last - 1, last) * (double)(pair->ticks - last->ticks);
        int64_t off = pair->mono_ns - last->mono_ns - (int64_t)ahead;
        error += off < 0 ? -off : off;
    }
    if (error > clock->error_ns)
        clock->error_ns = error < ERROR_CEILING_NS ? error : ERROR_CEILING_NS;
}

static void push_locked(struct ft_clock_pairs *clock, struct ft_clock_pair pair, int64_t window_ns)
{
    if (clock->count) {
        const struct ft_clock_pair *last = &clock->pairs[clock->count - 1];
        if (pair.ticks <= last->ticks || pair.mono_ns <= last->mono_ns)
            return;
        note_error(clock, &pair, window_ns);
    }
    // A pair taken soon after another, because records had to have one behind them, makes the other needless.
    if (clock->count >= 2 &&
        clock->pairs[clock->count - 1].mono_ns - clock->pairs[clock->count - 2].mono_ns < clock->interval_ns / 2)
        clock->count--;
    if (clock->count == FT_CLOCK_PAIRS_MAX)
        thin_out(clock);
    clock->pairs[clock->count++] = pair;
}

void ft_clock_push(struct ft_clock_pairs *clock, struct ft_clock_pair pair, int64_t window_ns)
{
    pthread_mutex_lock(&clock->lock);
    push_locked(clock, pair, window_ns);
    pthread_mutex_unlock(&clock->lock);
}

void ft_clock_push_old(struct ft_clock_pairs *clock, struct ft_clock_pair pair)
{
    pthread_mutex_lock(&clock->lock);
    const struct ft_clock_pair *first = &clock->pairs[0], *last = &clock->pairs[clock->count ? clock->count - 1 : 0];
    bool is_older = clock->count >= 2 && clock->count < FT_CLOCK_PAIRS_MAX && pair.ticks < first->ticks &&
                    pair.mono_ns < first->mono_ns;
    double off = is_older ? slope(&pair, first) / slope(first, last) - 1 : 1;
    if (off > -OLD_RATE_MAX && off < OLD_RATE_MAX) {
        memmove(&clock->pairs[1], &clock->pairs[0], clock->count * sizeof(clock->pairs[0]));
        clock->pairs[0] = pair;
        clock->count++;
    }
    pthread_mutex_unlock(&clock->lock);
}

static void take_pair(struct ft_clock_pairs *clock)
{
    struct ft_clock_pair best = {0};
    uint64_t best_window = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = ft_clock_ticks();
        int64_t mono_ns = ft_clock_mono_ns();
        uint64_t after = ft_clock_ticks();
        if (after - before >= best_window)
            continue;
        best_window = after - before;
        best = (struct ft_clock_pair){.ticks = before + best_window / 2, .mono_ns = mono_ns};
    }
    double ns_per_tick = clock->count ? slope(&(struct ft_clock_pair){0}, &best) : 1;
    if (clock->count >= 2)
        ns_per_tick = slope(&clock->pairs[clock->count - 2], &clock->pairs[clock->count - 1]);
    push_locked(clock, best, (int64_t)((double)best_window * ns_per_tick));
}

void ft_clock_tick(struct ft_clock_pairs *clock, bool must)
{
    pthread_mutex_lock(&clock->lock);
    if (must || !clock->count || ft_clock_mono_ns() - clock->pairs[clock->count - 1].mono_ns >= clock->interval_ns)
        take_pair(clock);
    pthread_mutex_unlock(&clock->lock);
}

struct ft_clock_pair ft_clock_last(struct ft_clock_pairs *clock)
{
    pthread_mutex_lock(&clock->lock);
    struct ft_clock_pair pair = clock->count ? clock->pairs[clock->count - 1] : (struct ft_clock_pair){0};
    pthread_mutex_unlock(&clock->lock);
    return pair;
}

int64_t ft_clock_about_ns(struct ft_clock_pairs *clock, uint64_t ticks)
{
    struct ft_clock_view view;
    ft_clock_view_init(&view, clock);
    return view.count < 2 ? 0 : ft_clock_view_ns(&view, ticks);
}

int64_t ft_clock_error_ns(struct ft_clock_pairs *clock)
{
    pthread_mutex_lock(&clock->lock);
    int64_t error_ns = clock->error_ns;
    pthread_mutex_unlock(&clock->lock);
    return error_ns;
}

void ft_clock_view_init(struct ft_clock_view *view, struct ft_clock_pairs *clock)
{
    pthread_mutex_lock(&clock->lock);
    view->count = clock->count;
    memcpy(view->pairs, clock->pairs, view->count * sizeof(view->pairs[0]));
    pthread_mutex_unlock(&clock->lock);
    view->from_ticks = 1;
    view->to_ticks = 0;
    view->from_ns = 0;
    view->ns_per_tick = 1;
    view->rate = 0;
}

// A machine that was suspended, whose counter ran on and whose clock did not, has a pair of pairs far too flat.
#define RATE_LIKE_THE_STEEPEST 0.99

static double steepest(const struct ft_clock_view *view)
{
    double most = 0;
    for (unsigned i = 1; i < view->count; i++) {
        double one = slope(&view->pairs[i - 1], &view->pairs[i]);
        most = one > most && view->pairs[i].mono_ns - view->pairs[i - 1].mono_ns >= RATE_PAIR_NS ? one : most;
    }
    return most > 0 ? most : slope(&view->pairs[0], &view->pairs[view->count - 1]);
}

static double find_rate(const struct ft_clock_view *view)
{
    double least = steepest(view) * RATE_LIKE_THE_STEEPEST, ns = 0, ticks = 0;
    for (unsigned i = 1; i < view->count; i++) {
        const struct ft_clock_pair *a = &view->pairs[i - 1], *b = &view->pairs[i];
        if (slope(a, b) < least)
            continue;
        ns += (double)(b->mono_ns - a->mono_ns);
        ticks += (double)(b->ticks - a->ticks);
    }
    return ticks > 0 ? ns / ticks : 1;
}

double ft_clock_view_rate(struct ft_clock_view *view)
{
    if (view->count >= 2 && view->rate <= 0)
        view->rate = find_rate(view);
    return view->count >= 2 ? view->rate : 1;
}

void ft_clock_view_seek(struct ft_clock_view *view, uint64_t ticks)
{
    if (view->count < 2) {
        view->from_ticks = view->count ? view->pairs[0].ticks : 0;
        view->from_ns = view->count ? view->pairs[0].mono_ns : 0;
        view->to_ticks = UINT64_MAX;
        return;
    }
    unsigned low = 0, high = view->count - 2;
    while (low < high) {
        unsigned middle = (low + high + 1) / 2;
        if (view->pairs[middle].ticks <= ticks)
            low = middle;
        else
            high = middle - 1;
    }
    const struct ft_clock_pair *a = &view->pairs[low], *b = a + 1;
    const struct ft_clock_pair *last = &view->pairs[view->count - 1];
    view->from_ticks = a->ticks;
    view->from_ns = a->mono_ns;
    view->to_ticks = b->ticks;
    // Outside of all pairs the rate over all of them is the best guess.
    bool is_outside = ticks < view->pairs[0].ticks || ticks >= last->ticks;
    view->ns_per_tick = is_outside ? ft_clock_view_rate(view) : slope(a, b);
    if (ticks >= last->ticks) {
        view->from_ticks = last->ticks;
        view->from_ns = last->mono_ns;
        view->to_ticks = UINT64_MAX;
    }
}
