// SPDX-License-Identifier: MIT
// Streams in all the ways in which what a call gives is not what it moved: each way has a file of its own.
// CFLAGS: -fno-builtin -U_FORTIFY_SOURCE
#define _GNU_SOURCE
#include <locale.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "record.h"

enum { SIZE = 30001 };
static char text[SIZE + 1], room[SIZE + 1];

// Lines of all lengths, some with zeros in them; not a multiple of anything.
static FILE *made(const char *name, const char *mode, int with_zeros)
{
    for (int i = 0; i < SIZE; i++)
        text[i] = i % 97 == 96 || i % 1013 == 7 ? '\n' : with_zeros && i % 5 == 0 ? 0 : (char)('a' + i % 26);
    FILE *f = fopen(name, "w");
    CHECK(f && fwrite(text, 1, SIZE, f) == SIZE && fclose(f) == 0);
    f = fopen(name, mode);
    CHECK(f);
    return f;
}

static void items(void)
{
    FILE *f = made("items", "r", 1);
    size_t n = 0, got;
    CHECK(fread(room, 0, 5, f) == 0 && fread(room, 5, 0, f) == 0);
    while ((got = fread(room, 7, 3, f)) > 0)
        n += got;
    CHECK(n == SIZE / 7 && feof(f) && fclose(f) == 0);
    f = made("large-items", "r", 1);
    CHECK(fread(room, 10000, 5, f) == 3 && fclose(f) == 0);
    f = made("locked-items", "r", 1);
    while ((fread_unlocked)(room, 4096, 1, f) > 0)
        ;
    CHECK(fclose(f) == 0);
}

static void lines(void)
{
    char *line = NULL;
    size_t n = 0;
    FILE *f = made("lines", "r", 0);
    while (fgets(room, 50, f))
        ;
    fclose(f);
    f = made("lines-with-zeros", "r", 1);
    while (fgets(room, 100, f))
        ;
    fclose(f);
    f = made("getline", "r", 1);
    while (getline(&line, &n, f) > 0)
        ;
    fclose(f);
    f = made("getdelim", "r", 1);
    while (getdelim(&line, &n, 'q', f) > 0)
        ;
    fclose(f);
    free(line);
}

static void put_back(void)
{
    FILE *f = made("put-back", "r", 0);
    for (int i = 0; i < 20; i++)
        CHECK(fgetc(f) != EOF);
    CHECK(ungetc('!', f) == '!' && ungetc('?', f) == '?');
    CHECK(fgetc(f) == '?' && fgetc(f) == '!' && fgetc(f) != EOF);
    for (int c, i = 0; (c = fgetc(f)) != EOF; i++)
        if (i % 1000 == 0)
            CHECK(ungetc(c ^ 1, f) != EOF && fread(room, 1, 3, f) > 0);
    fclose(f);
}

static void seeks(void)
{
    fpos_t place;
    FILE *f = made("seeks", "r", 0);
    for (int i = 0; i < 200; i++) {
        CHECK(fseek(f, i * 7919L % SIZE, SEEK_SET) == 0 && fread(room, 1, 10, f) > 0);
        if (i % 7 == 0)
            CHECK(fseeko(f, 5, SEEK_CUR) == 0 && ftell(f) > 0);
    }
    CHECK(fgetpos(f, &place) == 0);
    CHECK(fseek(f, 0, SEEK_END) == 0 && ftell(f) == SIZE);
    rewind(f);
    CHECK(fread(room, 1, 4096, f) == 4096);
    CHECK(fsetpos(f, &place) == 0 && fgetc(f) != EOF);
    fclose(f);
    f = made("both", "r+", 0);
    for (int i = 0; i < 50; i++) {
        CHECK(fseek(f, i * 591L, SEEK_SET) == 0 && fread(room, 1, 100, f) == 100);
        CHECK(fseek(f, i * 591L, SEEK_SET) == 0 && fwrite(room, 1, 33, f) == 33);
    }
    fclose(f);
    f = fopen("beyond", "w+");
    for (int i = 0; i < 20; i++) {
        CHECK(fseek(f, i * 5000L + 77, SEEK_SET) == 0 && fwrite(text, 1, 100, f) == 100);
        CHECK(fseek(f, i * 5000L + 177, SEEK_SET) == 0 && fseek(f, i * 2500L, SEEK_SET) == 0);
    }
    fclose(f);
    f = made("direct", "r", 0);
    CHECK(fread(room, 1, 8192, f) == 8192 && fread(room, 1, 4096, f) == 4096 && fseek(f, 8200, SEEK_SET) == 0);
    CHECK(fgetc(f) != EOF && fseek(f, 8300, SEEK_SET) == 0 && fseek(f, 40000, SEEK_SET) == 0 && fgetc(f) == EOF);
    fclose(f);
    f = fopen("unseen", "w+");
    __fsetlocking(f, FSETLOCKING_BYCALLER);
    for (int i = 0; i < 100; i++) {
        for (int k = 0; k < 10; k++)
            CHECK(__builtin_expect(putc_unlocked('z', f) == 'z', 1));
        CHECK(fseek(f, i * 3, SEEK_SET) == 0);
    }
    fclose(f);
}

static void buffers(void)
{
    int number;
    FILE *f = made("unbuffered", "r", 0);
    setvbuf(f, NULL, _IONBF, 0);
    CHECK(fgetc(f) != EOF && fgets(room, 80, f) && fread(room, 3, 100, f) == 100);
    CHECK(fscanf(f, "%20s", room) == 1 && fscanf(f, "%d", &number) == 0 && fscanf(f, "%*[^\n]") == 0);
    fclose(f);
    f = fopen("out-unbuffered", "w");
    setbuf(f, NULL);
    CHECK(fprintf(f, "%d %s\n", 7, "seven") == 8 && fputs("text", f) >= 0 && fputc('c', f) == 'c');
    CHECK(fwrite("12345", 5, 1, f) == 1);
    fclose(f);
    f = fopen("out-by-line", "w");
    setlinebuf(f);
    for (int i = 0; i < 100; i++)
        CHECK(fprintf(f, i % 3 ? "%d" : "%d\n", i) > 0);
    fclose(f);
    f = made("large-buffer", "r", 0);
    setvbuf(f, malloc(65536), _IOFBF, 65536);
    CHECK(fgetc(f) != EOF && fread(room, 1, 20000, f) == 20000);
    fclose(f);
}

static void scans(void)
{
    FILE *f = fopen("scan", "w");
    for (int i = 0; i < 5000; i++)
        CHECK(fprintf(f, "%d,%d\n", i, i * i) > 0);
    fclose(f);
    f = fopen("scan", "r");
    int a, b, n = 0;
    while (fscanf(f, "%d,%d", &a, &b) == 2)
        n++;
    CHECK(n == 5000);
    fclose(f);
}

static void words(void)
{
    FILE *f = fopen("words", "w");
    for (int i = 0; i < 1000; i++)
        CHECK(putw(i - 500, f) == 0);
    fclose(f);
    f = fopen("words", "r");
    for (int i = 0; i < 1000; i++)
        CHECK(getw(f) == i - 500);
    CHECK(getw(f) == EOF && feof(f));
    fclose(f);
}

static void wide(void)
{
    wchar_t line[200];
    FILE *f = fopen("wide", "w");
    for (int i = 0; i < 400; i++)
        CHECK(fputws(L"caf\u00e9 \u20ac \U0001f4a9\n", f) >= 0 && fputwc(L'\u00e9', f) != WEOF &&
              fwprintf(f, L"%d\n", i) > 0);
    fclose(f);
    f = fopen("wide", "r");
    CHECK(fgetws(line, 100, f) && fgetwc(f) != WEOF);
    while (fgetws(line, 100, f))
        ;
    fclose(f);
}

static void others(void)
{
    FILE *f = fopen("append", "a+");
    CHECK(fwrite(text, 1, 5000, f) == 5000 && fflush(NULL) == 0 && fseek(f, 10, SEEK_SET) == 0);
    CHECK(fread(room, 1, 10, f) == 10 && fflush(f) == 0);
    fclose(f);
    f = fopen("all", "w");
    __fsetlocking(f, FSETLOCKING_BYCALLER);
    for (int k = 0; k < 10; k++)
        CHECK(putc_unlocked('z', f) == 'z');
    CHECK(fflush(NULL) == 0);
    for (int k = 0; k < 10; k++)
        CHECK(putc_unlocked('z', f) == 'z');
    CHECK(fcloseall() == 0);
    // in memory: nothing of it moves to or from a file
    f = fmemopen(text, 1000, "r");
    CHECK(f && fread(room, 1, 500, f) == 500 && fgetc(f) != EOF);
    fclose(f);
}

int main(void)
{
    CHECK(setlocale(LC_ALL, "C.UTF-8"));
    items();
    lines();
    put_back();
    seeks();
    buffers();
    scans();
    words();
    wide();
    others();
    return 0;
}
