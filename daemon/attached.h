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
    _Atomic uint64_t slots[FT_ATTACHED_SLOTS]; // pid above, seconds of CLOCK_MONOTONIC below
};

static inline void ft_attached_note(struct ft_attached *attached, uint32_t pid, int64_t now_ns)
{
    uint64_t word = (uint64_t)pid << 32 | (uint32_t)(now_ns / 1000000000);
    atomic_store_explicit(&attached->slots[pid % FT_ATTACHED_SLOTS], word, memory_order_relaxed);
}

static inline bool ft_attached_since(const struct ft_attached *attached, uint32_t pid, int64_t since_ns)
{
    uint64_t word = atomic_load_explicit(&attached->slots[pid % FT_ATTACHED_SLOTS], memory_order_relaxed);
    return word >> 32 == pid && (int64_t)(uint32_t)word >= since_ns / 1000000000;
}

#endif
