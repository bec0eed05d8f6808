// SPDX-License-Identifier: MIT
//
// Which pids attached lately, whatever their job, or are told as a gap of their own: a child that began a session of its
// own may be another job's.
//
// The loop thread writes, the jobs' workers read. One word for each pid modulo the size: who is overwritten within
// seconds had a namesake 65,536 pids away, and may be told as a gap though it is none.
#ifndef FT_DAEMON_ATTACHED_H
#define FT_DAEMON_ATTACHED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { FT_ATTACHED_SLOTS = 65536 };

struct ft_attached {
    _Atomic uint64_t slots[FT_ATTACHED_SLOTS]; // pid above, then whether it is a gap, seconds of CLOCK_MONOTONIC below
};

#define FT_ATTACHED_GAP (UINT64_C(1) << 31)

static inline uint64_t ft_attached_seconds(int64_t ns)
{
    return (uint64_t)(ns / 1000000000) & (FT_ATTACHED_GAP - 1);
}

static inline void ft_attached_note(struct ft_attached *attached, uint32_t pid, bool is_gap, int64_t now_ns)
{
    uint64_t word = (uint64_t)pid << 32 | (is_gap ? FT_ATTACHED_GAP : 0) | ft_attached_seconds(now_ns);
    atomic_store_explicit(&attached->slots[pid % FT_ATTACHED_SLOTS], word, memory_order_relaxed);
}

static inline bool ft_attached_since(const struct ft_attached *attached, uint32_t pid, int64_t since_ns)
{
    uint64_t word = atomic_load_explicit(&attached->slots[pid % FT_ATTACHED_SLOTS], memory_order_relaxed);
    return word >> 32 == pid && (word & (FT_ATTACHED_GAP - 1)) >= ft_attached_seconds(since_ns);
}

// Of the last of its images alone.
static inline bool ft_attached_is_gap_since(const struct ft_attached *attached, uint32_t pid, int64_t since_ns)
{
    uint64_t word = atomic_load_explicit(&attached->slots[pid % FT_ATTACHED_SLOTS], memory_order_relaxed);
    return (word & FT_ATTACHED_GAP) && ft_attached_since(attached, pid, since_ns);
}

#endif
