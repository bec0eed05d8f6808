// SPDX-License-Identifier: MIT
// Wide characters, written and read by every function that there is.
// CFLAGS: -fno-builtin -U_FORTIFY_SOURCE
#define _GNU_SOURCE
#include <locale.h>
#include <stdarg.h>
#include <wchar.h>

#include "record.h"

int __fwprintf_chk(FILE *, int, const wchar_t *, ...);
int __vfwprintf_chk(FILE *, int, const wchar_t *, va_list);
wchar_t *__fgetws_chk(wchar_t *, size_t, int, FILE *);
wchar_t *__fgetws_unlocked_chk(wchar_t *, size_t, int, FILE *);

int __vwprintf_chk(int, const wchar_t *, va_list);
int __wprintf_chk(int, const wchar_t *, ...);
// Not the C99 forms that the header makes of them, and those under their own names.
int plain_fwscanf(FILE *, const wchar_t *, ...) __asm__("fwscanf");
int plain_wscanf(const wchar_t *, ...) __asm__("wscanf");
int plain_vfwscanf(FILE *, const wchar_t *, va_list) __asm__("vfwscanf");
int plain_vwscanf(const wchar_t *, va_list) __asm__("vwscanf");
int __isoc99_vfwscanf(FILE *, const wchar_t *, va_list);
int __isoc99_vwscanf(const wchar_t *, va_list);

#define GIVES(value, ...) CHECK(CALL(__VA_ARGS__) == (value))

static FILE *f;

static void listed(const wchar_t *format, ...)
{
    va_list a;
    va_start(a, format);
    GIVES(2, "vfwprintf", "out", NA, NA, NA, vfwprintf(f, format, a));
    va_end(a);
    va_start(a, format);
    GIVES(2, "__vfwprintf_chk", "out", NA, NA, NA, __vfwprintf_chk(f, 1, format, a));
    va_end(a);
    va_start(a, format);
    GIVES(2, "vwprintf", "text", NA, NA, NA, vwprintf(format, a));
    va_end(a);
    va_start(a, format);
    GIVES(2, "__vwprintf_chk", "text", NA, NA, NA, __vwprintf_chk(1, format, a));
    va_end(a);
}

static void scanned(const wchar_t *format, ...)
{
    va_list a;
    va_start(a, format);
    GIVES(1, "vfwscanf", "numbers", NA, NA, NA, plain_vfwscanf(f, format, a));
    va_end(a);
    va_start(a, format);
    GIVES(1, "__isoc99_vfwscanf", "numbers", NA, NA, NA, __isoc99_vfwscanf(f, format, a));
    va_end(a);
    va_start(a, format);
    GIVES(1, "vwscanf", "input", NA, NA, NA, plain_vwscanf(format, a));
    va_end(a);
    va_start(a, format);
    GIVES(1, "__isoc99_vwscanf", "input", NA, NA, NA, __isoc99_vwscanf(format, a));
    va_end(a);
}

static void output(void)
{
    f = CALL("fopen", "out", NA, NA, NA, fopen("out", "w"));
    CHECK(f);
    GIVES(L'\u00e9', "fputwc", "out", NA, NA, NA, (long)fputwc(L'\u00e9', f));
    GIVES(L'\u20ac', "putwc", "out", NA, NA, NA, (long)putwc(L'\u20ac', f));
    GIVES(L'x', "fputwc_unlocked", "out", NA, NA, NA, (long)fputwc_unlocked(L'x', f));
    GIVES(L'y', "putwc_unlocked", "out", NA, NA, NA, (long)putwc_unlocked(L'y', f));
    GIVES(1, "fputws", "out", NA, NA, NA, fputws(L"\U0001f4a9\n", f));
    GIVES(1, "fputws_unlocked", "out", NA, NA, NA, fputws_unlocked(L"ab\n", f));
    GIVES(3, "fwprintf", "out", NA, NA, NA, fwprintf(f, L"%d\n", 12));
    GIVES(3, "__fwprintf_chk", "out", NA, NA, NA, __fwprintf_chk(f, 1, L"%d\n", 34));
    listed(L"%d\n", 7);
    GIVES(0, "fclose", "out", NA, NA, NA, fclose(f));
    GIVES(L'z', "putwchar", "text", NA, NA, NA, (long)putwchar(L'z'));
    GIVES(L'z', "putwchar_unlocked", "text", NA, NA, NA, (long)putwchar_unlocked(L'z'));
    GIVES(2, "wprintf", "text", NA, NA, NA, wprintf(L"%d\n", 5));
    GIVES(2, "__wprintf_chk", "text", NA, NA, NA, __wprintf_chk(1, L"%d\n", 6));
    GIVES(0, "fflush", "text", NA, NA, NA, fflush(stdout));
}

static void input(void)
{
    wchar_t line[100];
    int number;
    f = CALL("fopen", "out", NA, NA, NA, fopen("out", "r"));
    GIVES(L'\u00e9', "fgetwc", "out", NA, NA, NA, (long)fgetwc(f));
    GIVES(L'\u20ac', "getwc", "out", NA, NA, NA, (long)getwc(f));
    GIVES(L'x', "fgetwc_unlocked", "out", NA, NA, NA, (long)fgetwc_unlocked(f));
    GIVES(L'y', "getwc_unlocked", "out", NA, NA, NA, (long)getwc_unlocked(f));
    CHECK(CALL("fgetws", "out", NA, NA, NA, fgetws(line, 100, f)));
    CHECK(CALL("fgetws_unlocked", "out", NA, NA, NA, fgetws_unlocked(line, 100, f)));
    CHECK(CALL("__fgetws_chk", "out", NA, NA, NA, __fgetws_chk(line, 100, 100, f)));
    CHECK(CALL("__fgetws_unlocked_chk", "out", NA, NA, NA, __fgetws_unlocked_chk(line, 100, 100, f)));
    GIVES(1, SCANF_NAME("__isoc99_fwscanf", "__isoc23_fwscanf"), "out", NA, NA, NA, fwscanf(f, L"%d", &number));
    CHECK(number == 7);
    GIVES(L'\n', "ungetwc", "out", NA, NA, NA, (long)ungetwc(L'\n', f));
    GIVES(0, "fclose", "out", NA, NA, NA, fclose(f));
}

static void numbers(void)
{
    int number;
    f = CALL("fopen", "numbers", NA, NA, NA, fopen("numbers", "r"));
    GIVES(1, "fwscanf", "numbers", NA, NA, NA, plain_fwscanf(f, L"%d", &number));
    scanned(L"%d", &number);
    CHECK(number == 20);
    GIVES(0, "fclose", "numbers", NA, NA, NA, fclose(f));
    GIVES(1, "wscanf", "input", NA, NA, NA, plain_wscanf(L"%d", &number));
    GIVES(1, SCANF_NAME("__isoc99_wscanf", "__isoc23_wscanf"), "input", NA, NA, NA, wscanf(L"%d", &number));
    GIVES(L'x', "getwchar", "input", NA, NA, NA, (long)getwchar());
    GIVES(L'y', "getwchar_unlocked", "input", NA, NA, NA, (long)getwchar_unlocked());
}

int main(void)
{
    CHECK(setlocale(LC_ALL, "C.UTF-8"));
    fresh_file("text", "");
    fresh_file("numbers", "1 2 3 ");
    fresh_file("input", "10 20 30 40xy");
    CHECK(freopen("text", "w", stdout) && freopen("input", "r", stdin));
    record_open();
    output();
    input();
    numbers();
    return 0;
}
