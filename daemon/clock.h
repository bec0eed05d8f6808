// SPDX-License-Identifier: MIT
//
// From the processor's counter to CLOCK_MONOTONIC.
//
// The daemon takes pairs (ticks, nanoseconds) while events arrive; a record's ticks become nanoseconds by linear
// interpolation between the pairs before and after it. A rate change of the kernel's clock between two pairs 10 ms
// apart is some 0.3 us of error; the pairs' own error is half of the window in which one was taken.
//
// struct ft_clock_pairs is shared: any thread may take pairs and snapshots. A snapshot belongs to one thread.
#ifndef FT_DAEMON_CLOCK_H
#define FT_DAEMON_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { FT_CLOCK_PAIRS_MAX = 2048 };
#define FT_CLOCK_DELTA_MAX 1e16

struct ft_clock_pair {
    uint64_t ticks;
    int64_t mono_ns;
};

struct ft_clock_pairs {
    pthread_mutex_t lock;
    bool has_ticks; // the kernel's clocksource is the counter that programs can read; else they give nanoseconds
    int64_t interval_ns;
    int64_t error_ns; // largest error seen: a pair against what the two before it foretold, and half of its window
    unsigned count;
    struct ft_clock_pair pairs[FT_CLOCK_PAIRS_MAX];
};

struct ft_clock_view {
    unsigned count;
    uint64_t from_ticks, to_ticks; // for these, from_ns and ns_per_tick hold
    int64_t from_ns;
    double ns_per_tick;
    double rate; // 0: not found yet
    struct ft_clock_pair pairs[FT_CLOCK_PAIRS_MAX];
};

int64_t ft_clock_mono_ns(void);
uint64_t ft_clock_ticks(void);
int64_t ft_clock_realtime_offset_ns(void);

void ft_clock_init(struct ft_clock_pairs *clock, int64_t interval_ns);
void ft_clock_fini(struct ft_clock_pairs *clock);

// Takes a pair if the last is older than the interval, or always (`must`).
void ft_clock_tick(struct ft_clock_pairs *clock, bool must);

// For tests and for pairs from elsewhere: ticks and nanoseconds both rise, others are ignored.
void ft_clock_push(struct ft_clock_pairs *clock, struct ft_clock_pair pair, int64_t window_ns);

// One of a daemon before us, older than all there are; ignored where its rate is not that of the others.
void ft_clock_push_old(struct ft_clock_pairs *clock, struct ft_clock_pair pair);

// The newest pair.
struct ft_clock_pair ft_clock_last(struct ft_clock_pairs *clock);

// About when the counter stood so, as a view of this moment tells it; 0 where there are no two pairs. What it says of
// times behind the newest pair is a guess: take one before.
int64_t ft_clock_about_ns(struct ft_clock_pairs *clock, uint64_t ticks);

// Bound of a time's error, to be stated in the trace.
int64_t ft_clock_error_ns(struct ft_clock_pairs *clock);

void ft_clock_view_init(struct ft_clock_view *view, struct ft_clock_pairs *clock);

// Finds the pairs around `ticks`; the slow part of ft_clock_view_ns().
void ft_clock_view_seek(struct ft_clock_view *view, uint64_t ticks);

// Nanoseconds per tick over all pairs but those between which the machine was suspended; 1 where they are too few.
double ft_clock_view_rate(struct ft_clock_view *view);

static inline int64_t ft_clock_view_ns(struct ft_clock_view *view, uint64_t ticks)
{
    if (ticks < view->from_ticks || ticks >= view->to_ticks)
        ft_clock_view_seek(view, ticks);
    double delta = ticks >= view->from_ticks ? (double)(ticks - view->from_ticks) : -(double)(view->from_ticks - ticks);
    // A client may claim any ticks; what it claims must still be a number of nanoseconds.
    delta = delta > FT_CLOCK_DELTA_MAX ? FT_CLOCK_DELTA_MAX : delta < -FT_CLOCK_DELTA_MAX ? -FT_CLOCK_DELTA_MAX : delta;
    return view->from_ns + (int64_t)(delta * view->ns_per_tick);
}

#endif
