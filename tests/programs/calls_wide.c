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
    GIVES(1, "__isoc99_fwscanf", "out", NA, NA, NA, fwscanf(f, L"%d", &number));
    CHECK(number == 7);
    GIVES(L'\n', "ungetwc", "out", NA, NA, NA, (long)ungetwc(L'\n', f));
    GIVES(0, "fclose", "out", NA, NA, NA, fclose(f));
}

int main(void)
{
    CHECK(setlocale(LC_ALL, "C.UTF-8"));
    fresh_file("text", "");
    CHECK(freopen("text", "w", stdout));
    record_open();
    output();
    input();
    return 0;
}
