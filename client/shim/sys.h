// SPDX-License-Identifier: MIT
/*
 * Raw system calls, the clock, and the few single-instruction operations that the shim builds on. Nothing here touches
 * errno, takes a lock, allocates or is a cancellation point. A system call returns its result or -errno.
 */
#ifndef FT_SHIM_SYS_H
#define FT_SHIM_SYS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#define FT_HOT static inline __attribute__((always_inline))
#define ft_likely(x) __builtin_expect(!!(x), 1)
#define ft_unlikely(x) __builtin_expect(!!(x), 0)

/*
 * A large table that a short process does not reach. Each page that is written at the start costs a fault, so tables
 * lie behind the small variables, which are on one page together (the linker sorts these names). There is no .data:
 * ld.so would write that page too.
 */
#ifdef FT_SHIM_UNIT_TEST
#define FT_TABLE
#define FT_LAST_PAGE __attribute__((aligned(4096)))
#define FT_RELOCATED
#define FT_LATER
#else
#define FT_TABLE __attribute__((section(".bss.tables")))
#define FT_LAST_PAGE __attribute__((section(".bss.wiped"), aligned(4096)))
#define FT_RELOCATED __attribute__((section(".data.rel.ro")))
/* Constants that a start does not read: they lie with the code that needs them (order.ld). */
#define FT_LATER __attribute__((section(".constants.later")))
#endif

#if defined(__x86_64__)

FT_HOT long ft_sys6(long number, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

/* Brings a cache line here for writing; a hint that may name any address. */
FT_HOT void ft_prefetch(const void *address)
{
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)address));
}

FT_HOT uint64_t ft_ticks(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return ((uint64_t)high << 32) | low;
}

/* One instruction, so a signal handler of this thread runs before or after it; no lock, so for one thread only. */
FT_HOT uint64_t ft_local_add(uint64_t *word, uint64_t value)
{
    __asm__ volatile("xaddq %0, %1" : "+r"(value), "+m"(*word) : : "cc", "memory");
    return value;
}

FT_HOT void ft_local_increment(uint64_t *word)
{
    __asm__ volatile("incq %0" : "+m"(*word) : : "cc", "memory");
}

FT_HOT int ft_local_swap_if(uint64_t *word, uint64_t expected, uint64_t value)
{
    unsigned char done;
    __asm__ volatile("cmpxchgq %3, %1; sete %0"
                     : "=q"(done), "+m"(*word), "+a"(expected)
                     : "r"(value)
                     : "cc", "memory");
    return done;
}

#elif defined(__aarch64__)

FT_HOT long ft_sys6(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory", "cc");
    return x0;
}

FT_HOT void ft_prefetch(const void *address)
{
    __builtin_prefetch(address, 1);
}

FT_HOT uint64_t ft_ticks(void)
{
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}

/* An exclusive pair that an exception interrupts is repeated: as good as one instruction towards signal handlers. */
FT_HOT uint64_t ft_local_add(uint64_t *word, uint64_t value)
{
    return __atomic_fetch_add(word, value, __ATOMIC_RELAXED);
}

FT_HOT void ft_local_increment(uint64_t *word)
{
    __atomic_fetch_add(word, 1, __ATOMIC_RELAXED);
}

FT_HOT int ft_local_swap_if(uint64_t *word, uint64_t expected, uint64_t value)
{
    return __atomic_compare_exchange_n(word, &expected, value, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

#else
#error "Flowtap runs on x86-64 and aarch64"
#endif

#define FT_SYS_1(n) ft_sys6((n), 0, 0, 0, 0, 0, 0)
#define FT_SYS_2(n, a) ft_sys6((n), (long)(a), 0, 0, 0, 0, 0)
#define FT_SYS_3(n, a, b) ft_sys6((n), (long)(a), (long)(b), 0, 0, 0, 0)
#define FT_SYS_4(n, a, b, c) ft_sys6((n), (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define FT_SYS_5(n, a, b, c, d) ft_sys6((n), (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define FT_SYS_6(n, a, b, c, d, e) ft_sys6((n), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define FT_SYS_7(n, a, b, c, d, e, f) ft_sys6((n), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define FT_SYS_PICK(_1, _2, _3, _4, _5, _6, _7, name, ...) name
#define ft_sys(...) \
    FT_SYS_PICK(__VA_ARGS__, FT_SYS_7, FT_SYS_6, FT_SYS_5, FT_SYS_4, FT_SYS_3, FT_SYS_2, FT_SYS_1, )(__VA_ARGS__)

/* Kernel interface, spelled out so that old headers do. */
enum {
    FT_AT_FDCWD = -100,
    FT_AT_SEARCHED = -200, /* ours: a name that PATH is searched for, relative to nothing */
    FT_MADV_WIPEONFORK = 18,
    FT_MADV_DONTDUMP = 16,
    FT_MADV_POPULATE_WRITE = 23,
    FT_MFD_CLOEXEC = 1,
    FT_MFD_ALLOW_SEALING = 2,
    FT_MFD_NOEXEC_SEAL = 8,
    FT_F_ADD_SEALS = 1033,
    FT_SEAL_SEAL = 1,
    FT_SEAL_SHRINK = 2,
    FT_SEAL_GROW = 4,
    FT_RWF_APPEND = 16,
    FT_SIG_SETMASK = 2,
};

/* No handler runs on this thread until ft_unblock_signals, with what it gave. */
FT_HOT uint64_t ft_block_signals(void)
{
    uint64_t all = ~UINT64_C(0), before = 0;
    ft_sys(SYS_rt_sigprocmask, FT_SIG_SETMASK, &all, &before, sizeof(all));
    return before;
}

FT_HOT void ft_unblock_signals(uint64_t before)
{
    ft_sys(SYS_rt_sigprocmask, FT_SIG_SETMASK, &before, 0, sizeof(before));
}

/* Compilers turn loops into calls of these; the shim must not import them. */
FT_HOT void ft_copy(void *to, const void *from, size_t n)
{
#if defined(__x86_64__)
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
#else
    unsigned char *t = to;
    const unsigned char *f = from;
    while (n-- > 0) {
        *t++ = *f++;
        __asm__ volatile("" : : : "memory");
    }
#endif
}

FT_HOT void ft_clear(void *at, size_t n)
{
#if defined(__x86_64__)
    __asm__ volatile("rep stosb" : "+D"(at), "+c"(n) : "a"(0) : "memory");
#else
    for (unsigned char *byte = at; n-- > 0; byte++) {
        *byte = 0;
        __asm__ volatile("" : : : "memory");
    }
#endif
}

/* Length of a string, at most `most`. By aligned words, which never reach into a page that the string, or `most`, does not. */
#if defined(__SANITIZE_ADDRESS__) /* in unit tests, where bytes behind a string are guarded */
FT_HOT size_t ft_length_most(const char *text, size_t most)
{
    size_t n = 0;
    while (n < most && text[n] != 0)
        n++;
    return n;
}
#else
FT_HOT size_t ft_length_most(const char *text, size_t most)
{
    typedef uint64_t __attribute__((may_alias)) word_t;
    const char *at = text;
    for (; (uintptr_t)at % sizeof(word_t) != 0 && (size_t)(at - text) < most; at++)
        if (*at == 0)
            return (size_t)(at - text);
    /* Words reach past a string's end: of one whose size the compiler knows, a literal, it may rely on that they do not. */
    if (__builtin_object_size(at, 0) != SIZE_MAX)
        __asm__("" : "+r"(at));
    for (; (size_t)(at - text) < most; at += sizeof(word_t)) {
        uint64_t word = *(const word_t *)(const void *)at;
        uint64_t zeros = (word - UINT64_C(0x0101010101010101)) & ~word & UINT64_C(0x8080808080808080);
        if (zeros == 0)
            continue;
        size_t n = (size_t)(at - text) + (unsigned)__builtin_ctzll(zeros) / 8;
        return n < most ? n : most;
    }
    return most;
}
#endif

FT_HOT size_t ft_length(const char *text)
{
    return ft_length_most(text, SIZE_MAX);
}

FT_HOT int ft_is_equal(const char *a, const char *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i])
            return 0;
    return 1;
}

FT_HOT int ft_has_prefix(const char *text, const char *prefix)
{
    while (*prefix != 0)
        if (*text++ != *prefix++)
            return 0;
    return 1;
}

#endif
