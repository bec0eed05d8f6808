/* SPDX-License-Identifier: MIT */
/*
 * Who holds something that is given back when its call ends. A call may never end: a handler's jump or a cancellation
 * leaves it, or its thread ends with it. So what is held says whose it is, and who wants it looks whether it was left. Who
 * was only interrupted (by a handler with a stack of its own, above it) sees that when it gives it back.
 */
#ifndef FT_SHIM_HOLDER_H
#define FT_SHIM_HOLDER_H

#include "client/shim/shim.h"

enum { FT_HOLDER_FRAME_BITS = 42, FT_HOLDER_FRAME_SHIFT = 5 };

/* A call of this thread: tid << FRAME_BITS | address of the call's frame >> FRAME_SHIFT. 0 is nobody. */
static inline uint64_t ft_holder_of(const void *frame)
{
    return (uint64_t)ft_thread.tid << FT_HOLDER_FRAME_BITS |
           ((uintptr_t)frame >> FT_HOLDER_FRAME_SHIFT & ((UINT64_C(1) << FT_HOLDER_FRAME_BITS) - 1));
}

static inline int ft_holder_is_same_thread(uint64_t a, uint64_t b)
{
    return a >> FT_HOLDER_FRAME_BITS == b >> FT_HOLDER_FRAME_BITS;
}

/* holder.c. Asks the kernel whether a thread of this process has ended; of the first one only until it has. */
int ft_holder_thread_has_ended(uint64_t tid);

/* By a call of this thread whose frame is not above the one that asks, or, which the kernel must tell, by a thread that ended. */
static inline int ft_holder_has_left(uint64_t holder, uint64_t asking, int may_ask)
{
    if (ft_holder_is_same_thread(holder, asking))
        return holder <= asking;
    return may_ask && ft_holder_thread_has_ended(holder >> FT_HOLDER_FRAME_BITS);
}

#endif
