// SPDX-License-Identifier: MIT
// The rest of stdio: standard streams, unlocked and fortified names, lists of arguments, positions, buffers.
// CFLAGS: -fno-builtin -fno-inline -U_FORTIFY_SOURCE -Wno-deprecated-declarations -Wno-unused-result
#define _GNU_SOURCE
#include <stdarg.h>
#include <unistd.h>
#include <wchar.h>

#include "record.h"

int _IO_getc(FILE *);
int _IO_putc(int, FILE *);
int __uflow(FILE *);
int __underflow(FILE *);
int __overflow(FILE *, int);
int __printf_chk(int, const char *, ...);
int __vprintf_chk(int, const char *, va_list);
int __vdprintf_chk(int, int, const char *, va_list);
int __isoc99_vfscanf(FILE *, const char *, va_list);
int __isoc99_vscanf(const char *, va_list);
char *gets(char *);
char *__gets_chk(char *, size_t);
// Not the C99 forms that the header makes of them.
int plain_fscanf(FILE *, const char *, ...) __asm__("fscanf");
int plain_scanf(const char *, ...) __asm__("scanf");
int plain_vfscanf(FILE *, const char *, va_list) __asm__("vfscanf");
int plain_vscanf(const char *, va_list) __asm__("vscanf");

static char buffer[256];

#define GIVES(value, ...) CHECK(CALL(__VA_ARGS__) == (value))
#define GOOD(...) GIVES(0, __VA_ARGS__)

static void printed(const char *format, ...)
{
    va_list a;
    va_start(a, format);
    GIVES(2, "vprintf", "text", NA, NA, NA, vprintf(format, a));
    va_end(a);
    va_start(a, format);
    GIVES(2, "__vprintf_chk", "text", NA, NA, NA, __vprintf_chk(1, format, a));
    va_end(a);
    va_start(a, format);
    GIVES(2, "vdprintf", "text", 1, NA, NA, vdprintf(1, format, a));
    va_end(a);
    va_start(a, format);
    GIVES(2, "__vdprintf_chk", "text", 1, NA, NA, __vdprintf_chk(1, 1, format, a));
    va_end(a);
}

static void output(void)
{
    FILE *f = CALL("fopen", "out", NA, NA, NA, fopen("out", "w"));
    GOOD("setvbuf", "out", NA, 100, NA, setvbuf(f, buffer, _IOFBF, 100));
    GIVES('a', "fputc_unlocked", "out", NA, 1, NA, fputc_unlocked('a', f));
    GIVES('b', "putc_unlocked", "out", NA, 1, NA, (putc_unlocked)('b', f));
    GIVES('c', "_IO_putc", "out", NA, 1, NA, _IO_putc('c', f));
    GIVES('d', "__overflow", "out", NA, 1, NA, __overflow(f, 'd'));
    GOOD("putw", "out", NA, 4, NA, putw(77, f));
    GOOD("fflush_unlocked", "out", NA, NA, NA, fflush_unlocked(f));
    CALL("setbuf", "out", NA, NA, NA, (setbuf(f, NULL), 0));
    CALL("setbuffer", "out", NA, 10, NA, (setbuffer(f, buffer, 10), 0));
    CALL("setlinebuf", "out", NA, NA, NA, (setlinebuf(f), 0));
    GOOD("fclose", "out", NA, NA, NA, fclose(f));
    GIVES('x', "putchar", "text", NA, 1, NA, (putchar)('x'));
    GIVES('y', "putchar_unlocked", "text", NA, 1, NA, (putchar_unlocked)('y'));
    GIVES(2, "printf", "text", NA, NA, NA, printf("%d\n", 1));
    GIVES(2, "__printf_chk", "text", NA, NA, NA, __printf_chk(1, "%d\n", 2));
    CHECK(CALL("puts", "text", NA, NA, NA, puts("line")) >= 0);
    printed("%d\n", 3);
    CALL("perror", NULL, NA, NA, NA, (perror("said"), 0));
}

static void scanned(FILE *f, const char *format, ...)
{
    va_list a;
    va_start(a, format);
    GIVES(1, "vfscanf", "numbers", NA, NA, NA, plain_vfscanf(f, format, a));
    va_end(a);
    va_start(a, format);
    GIVES(1, "__isoc99_vfscanf", "numbers", NA, NA, NA, __isoc99_vfscanf(f, format, a));
    va_end(a);
    va_start(a, format);
    GIVES(1, "vscanf", "input", NA, NA, NA, plain_vscanf(format, a));
    va_end(a);
    va_start(a, format);
    GIVES(1, "__isoc99_vscanf", "input", NA, NA, NA, __isoc99_vscanf(format, a));
    va_end(a);
}

static void input(void)
{
    int n;
    FILE *f = CALL("fopen", "numbers", NA, NA, NA, fopen("numbers", "r"));
    CHECK(CALL("fgets_unlocked", "numbers", NA, 256, NA, fgets_unlocked(buffer, 256, f)));
    GIVES(1, "fscanf", "numbers", NA, NA, NA, plain_fscanf(f, "%d", &n));
    scanned(f, "%d", &n);
    GIVES('\n', "fgetc_unlocked", "numbers", NA, 1, NA, fgetc_unlocked(f));
    GIVES('5', "getc_unlocked", "numbers", NA, 1, NA, (getc_unlocked)(f));
    GIVES('5', "ungetc", "numbers", NA, NA, NA, ungetc('5', f));
    GIVES('5', "_IO_getc", "numbers", NA, 1, NA, _IO_getc(f));
    GIVES('\n', "__underflow", "numbers", NA, NA, NA, __underflow(f));
    GIVES('\n', "__uflow", "numbers", NA, 1, NA, __uflow(f));
    GIVES(0x0a393837, "getw", "numbers", NA, 4, NA, getw(f));
    GOOD("fclose", "numbers", NA, NA, NA, fclose(f));
    GIVES('x', "getchar", "input", NA, 1, NA, (getchar)());
    GIVES('\n', "getchar_unlocked", "input", NA, 1, NA, (getchar_unlocked)());
    CHECK(CALL("gets", "input", NA, NA, NA, gets(buffer)));
    CHECK(CALL("__gets_chk", "input", NA, NA, NA, __gets_chk(buffer, 256)));
    GIVES(1, "scanf", "input", NA, NA, NA, plain_scanf("%d", &n));
    GIVES(1, SCANF_NAME("__isoc99_scanf", "__isoc23_scanf"), "input", NA, NA, NA, scanf("%d", &n));
}

static void positions(void)
{
    fpos_t place;
    fpos64_t place64;
    FILE *f = CALL("fopen", "numbers", NA, NA, NA, fopen("numbers", "r"));
    GOOD("fseeko", "numbers", NA, NA, 3, fseeko(f, 3, SEEK_SET));
    GIVES(3, "ftello", "numbers", NA, NA, NA, ftello(f));
    GIVES(3, "ftello64", "numbers", NA, NA, NA, ftello64(f));
    GOOD("fgetpos", "numbers", NA, NA, NA, fgetpos(f, &place));
    GOOD("fgetpos64", "numbers", NA, NA, NA, fgetpos64(f, &place64));
    GOOD("fsetpos", "numbers", NA, NA, NA, fsetpos(f, &place));
    GOOD("fsetpos64", "numbers", NA, NA, NA, fsetpos64(f, &place64));
    f = CALL("freopen64", "out", NA, NA, NA, freopen64("out", "r", f));
    CHECK(f);
    GOOD("fclose", "out", NA, NA, NA, fclose(f));
    f = CALL("tmpfile64", NULL, NA, NA, NA, tmpfile64());
    GOOD("fclose", NULL, NA, NA, NA, fclose(f));
    wchar_t *wide;
    size_t n;
    f = CALL("open_wmemstream", NULL, NONE, NA, NA, open_wmemstream(&wide, &n));
    GOOD("fclose", NULL, NONE, NA, NA, fclose(f));
    CALL("fcloseall", NULL, NA, NA, NA, fcloseall());
}

int main(void)
{
    fresh_file("numbers", "line\n1 2 3\n5\n789\n");
    fresh_file("input", "10 20x\nfirst\nsecond\n30 40");
    fresh_file("text", "");
    CHECK(freopen("text", "w", stdout) && freopen("input", "r", stdin));
    record_open();
    output();
    input();
    positions();
    return 0;
}
