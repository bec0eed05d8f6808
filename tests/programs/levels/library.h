// SPDX-License-Identifier: MIT
// A library with functions of every kind of signature, for calls that a tracer stands before (test_levels.py).
#ifndef FT_TEST_LEVELS_LIBRARY_H
#define FT_TEST_LEVELS_LIBRARY_H

#include <complex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

struct small {
    int a;
    float b;
};
struct two_words {
    double a;
    long b;
};
struct large {
    long a[12];
    double b;
};

int lib_none(void);
long lib_ints(int a, long b, short c, char d, unsigned e, void *f);
long lib_many(long a, long b, long c, long d, long e, long f, long g, long h, int i, double j, char k);
double lib_doubles(double a, float b, double c, double d, float e, double f, double g, double h, double i, double j);
long double lib_long_double(long double a, int b, long double c);
struct small lib_small(struct small a, int b);
struct two_words lib_two_words(struct two_words a, struct two_words b);
struct large lib_large(struct large a, int b, struct large c);
__int128 lib_int128(__int128 a, __int128 b);
double _Complex lib_complex(double _Complex a, float _Complex b);
long double _Complex lib_complex_long(long double _Complex a);
long lib_variadic(const char *kinds, ...);
long lib_variadic_list(const char *kinds, va_list list);
int lib_recursive(int depth, int (*next)(int));
long lib_sorted(long (*call)(void *), void *data);
void lib_jump(jmp_buf where);
int lib_errno(int set);
const char *lib_text(int i);
int lib_addressed(void);
int (*lib_pointer(void))(void);
#ifdef __AVX2__
__m256d lib_vector(__m256d a, __m256i b, float c, __m256 d);
#endif

#endif
