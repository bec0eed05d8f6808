// SPDX-License-Identifier: MIT
#include "library.h"

#include <errno.h>

int lib_none(void)
{
    return 42;
}

long lib_ints(int a, long b, short c, char d, unsigned e, void *f)
{
    return a * 3 + b * 5 + c * 7 + d * 11 + e * 13 + (long)f;
}

long lib_many(long a, long b, long c, long d, long e, long f, long g, long h, int i, double j, char k)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + (long)(10 * j) + 11 * k;
}

double lib_doubles(double a, float b, double c, double d, float e, double f, double g, double h, double i, double j)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j;
}

long double lib_long_double(long double a, int b, long double c)
{
    return a * b + c;
}

struct small lib_small(struct small a, int b)
{
    return (struct small){a.a + b, a.b * (float)b};
}

struct two_words lib_two_words(struct two_words a, struct two_words b)
{
    return (struct two_words){a.a + b.a, a.b - b.b};
}

struct large lib_large(struct large a, int b, struct large c)
{
    struct large sum = {.b = a.b * b + c.b};
    for (int i = 0; i < 12; i++)
        sum.a[i] = a.a[i] * b + c.a[i];
    return sum;
}

__int128 lib_int128(__int128 a, __int128 b)
{
    return a * b + 7;
}

double _Complex lib_complex(double _Complex a, float _Complex b)
{
    return a * b;
}

long double _Complex lib_complex_long(long double _Complex a)
{
    return a * a;
}

long lib_variadic_list(const char *kinds, va_list list)
{
    long sum = 0, factor = 1;
    for (; *kinds != 0; kinds++, factor++) {
        if (*kinds == 'i')
            sum += factor * va_arg(list, int);
        else if (*kinds == 'd')
            sum += factor * (long)(va_arg(list, double) * 4);
        else if (*kinds == 'L')
            sum += factor * (long)(va_arg(list, long double) * 8);
        else
            sum += factor * va_arg(list, long);
    }
    return sum;
}

long lib_variadic(const char *kinds, ...)
{
    va_list list;
    va_start(list, kinds);
    long sum = lib_variadic_list(kinds, list);
    va_end(list);
    return sum;
}

int lib_recursive(int depth, int (*next)(int))
{
    return depth == 0 ? 0 : 1 + next(depth - 1);
}

long lib_sorted(long (*call)(void *), void *data)
{
    return call(data) + 1;
}

void lib_jump(jmp_buf where)
{
    longjmp(where, 5);
}

int lib_errno(int set)
{
    int before = errno;
    errno = set;
    return before;
}

const char *lib_text(int i)
{
    static const char *const texts[] = {"zero", "one", "two"};
    return texts[i];
}

int lib_addressed(void)
{
    return 43;
}

int (*lib_pointer(void))(void)
{
    return lib_addressed;
}

#ifdef __AVX2__
__m256d lib_vector(__m256d a, __m256i b, float c, __m256 d)
{
    __m256d low = _mm256_cvtepi32_pd(_mm256_castsi256_si128(b));
    __m256d high = _mm256_cvtepi32_pd(_mm256_extracti128_si256(b, 1));
    __m256d wide = _mm256_cvtps_pd(_mm256_extractf128_ps(d, 1));
    return _mm256_add_pd(_mm256_add_pd(_mm256_mul_pd(a, low), _mm256_mul_pd(high, _mm256_set1_pd(c))), wide);
}
#endif
