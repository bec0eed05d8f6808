// SPDX-License-Identifier: MIT
/*
 * libflowtap-functions.so: what gcc and clang call from programs built with -finstrument-functions. Each call of a function
 * becomes a span of category "function", under a name that says where its code lies (name.h).
 *
 * Nothing here makes a system call, allocates or takes a lock but the first call of a thread and of a function, which take
 * from tables of this library. Functions beyond them, deeper than a stack, or of more threads than there are stacks, are not
 * recorded. A function that is left by longjmp has no span; its frame goes with that of a function below it, or when the stack
 * is full.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "client/functions/name.h"
#include "proto/annotate.h"

#define EXPORT __attribute__((visibility("default")))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

enum { STACKS = 256, DEPTH = 1024 };

extern const struct ft_annotate_table flowtap_annotate_1 __attribute__((weak));

struct frame {
    const void *function;
    uintptr_t where; /* on the thread's stack, which grows down: below what called it */
    struct ft_annotate_mark mark;
};

/* Pages that no thread reaches are never touched. */
struct stack {
    uint32_t is_taken;
    uint32_t depth; /* calls that are open; those above DEPTH have no frame */
    struct frame frames[DEPTH];
};

static struct stack stacks[STACKS];
static __thread struct stack *own __attribute__((tls_model("initial-exec")));
static pthread_key_t key;
static int has_key;

/* At the end of a thread: calls of functions behind it find no stack of their own and take another. */
static void give_back(void *stack_untyped)
{
    struct stack *stack = stack_untyped;
    own = NULL;
    __atomic_store_n(&stack->is_taken, 0, __ATOMIC_RELEASE);
}

__attribute__((constructor)) static void begin(void)
{
    has_key = pthread_key_create(&key, give_back) == 0;
    ft_function_names_begin();
}

static struct stack *take_stack(void)
{
    for (size_t i = 0; has_key && i < STACKS; i++) {
        uint32_t free = 0;
        /* Acquire: partner is give_back(); what the thread before wrote there is over. */
        if (!__atomic_compare_exchange_n(&stacks[i].is_taken, &free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            continue;
        stacks[i].depth = 0;
        own = &stacks[i];
        pthread_setspecific(key, own);
        return own;
    }
    return NULL;
}

EXPORT void __cyg_profile_func_enter(void *function, void *caller);
EXPORT void __cyg_profile_func_exit(void *function, void *caller);

/* Whether the last of these frames was left by longjmp. Two that lie at one place may be inlined, one into the other. */
static int is_left(const struct stack *stack, uint32_t depth, uintptr_t where)
{
    uintptr_t last = stack->frames[depth - 1].where;
    return last < where || (last == where && depth > 1 && stack->frames[depth - 2].where <= where);
}

/*
 * The depth without what was left by longjmp at its end: frames that lie below where the thread is now, and all but the first
 * that lie just there. Of a program that changes stacks frames may be taken for left, and of functions inlined into each
 * other: their calls are not recorded. So this is done where there is no room alone.
 */
static uint32_t without_left(const struct stack *stack, uintptr_t where)
{
    uint32_t depth = DEPTH;
    while (depth > 0 && is_left(stack, depth, where))
        depth--;
    return depth == DEPTH ? stack->depth : depth;
}

EXPORT void __cyg_profile_func_enter(void *function, void *caller)
{
    const struct ft_annotate_table *shim = &flowtap_annotate_1;
    (void)caller;
    if (likely(shim == NULL || *shim->is_off))
        return;
    struct stack *stack = own != NULL ? own : take_stack();
    if (stack == NULL)
        return;
    uintptr_t where = (uintptr_t)__builtin_frame_address(0);
    uint32_t at = unlikely(stack->depth >= DEPTH) ? without_left(stack, where) : stack->depth;
    /* First the depth, then the frame: a handler that comes between takes the next one, and puts the depth back. */
    __atomic_store_n(&stack->depth, at + 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (at >= DEPTH)
        return;
    stack->frames[at].function = function;
    stack->frames[at].where = where;
    shim->mark(&stack->frames[at].mark);
}

/* The frame of this call: the last one, but for frames of functions that were left otherwise. DEPTH: there is none. */
static uint32_t find(const struct stack *stack, const void *function)
{
    for (uint32_t at = stack->depth; at-- > 0;)
        if (at < DEPTH && stack->frames[at].function == function)
            return at;
    return DEPTH;
}

EXPORT void __cyg_profile_func_exit(void *function, void *caller)
{
    const struct ft_annotate_table *shim = &flowtap_annotate_1;
    struct stack *stack = own;
    (void)caller;
    if (likely(stack == NULL))
        return;
    if (unlikely(stack->depth > DEPTH)) {
        uint32_t left = without_left(stack, (uintptr_t)__builtin_frame_address(0));
        stack->depth = left < DEPTH ? left : stack->depth - 1;
        if (stack->depth >= DEPTH)
            return;
    }
    uint32_t at = find(stack, function);
    if (at == DEPTH)
        return; /* entered before this was recorded */
    struct ft_annotate_event span = {.kind = FT_ANNOTATE_SPAN, .category = "function", .mark = stack->frames[at].mark};
    if (span.mark.ticks != 0) {
        span.name = ft_function_name(function);
        shim->event(&span);
    }
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    stack->depth = at;
}
