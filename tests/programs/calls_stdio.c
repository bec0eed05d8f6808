// SPDX-License-Identifier: MIT
// Streams: every family of stdio calls on files of known size.
// CFLAGS: -fno-builtin -U_FORTIFY_SOURCE
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio_ext.h>
#include <unistd.h>
#include <wchar.h>

#include "record.h"

static char buffer[4096];

#define GIVES(value, ...) CHECK(CALL(__VA_ARGS__) == (value))

static int vprint(FILE *f, const char *format, ...)
{
    va_list a;
    va_start(a, format);
    int n = CALL("vfprintf", "out", NA, NA, NA, vfprintf(f, format, a));
    va_end(a);
    return n;
}

static void output(void)
{
    FILE *f = CALL("fopen", "out", NA, NA, NA, fopen("out", "w"));
    GIVES(10UL, "fwrite", "out", NA, 100, NA, fwrite(buffer, 10, 10, f));
    GIVES(7UL, "fwrite_unlocked", "out", NA, 7, NA, (fwrite_unlocked)(buffer, 1, 7, f));
    GIVES('a', "fputc", "out", NA, 1, NA, fputc('a', f));
    GIVES('b', "putc", "out", NA, 1, NA, (putc)('b', f));
    GIVES(1, "fputs", "out", NA, NA, NA, fputs("hello", f));
    GIVES(1, "fputs_unlocked", "out", NA, NA, NA, fputs_unlocked("again", f));
    GIVES(5, "fprintf", "out", NA, NA, NA, fprintf(f, "%d%s\n", 12, "xy"));
    CHECK(vprint(f, "%d", 345) == 3);
    GIVES(0, "fflush", "out", NA, NA, NA, fflush(f));
    GIVES(4096UL, "fwrite", "out", NA, 4096, NA, fwrite(buffer, 1, 4096, f));
    GIVES(0, "fclose", "out", NA, NA, NA, fclose(f));
}

static void input(void)
{
    char *line = NULL;
    size_t size = 0;
    FILE *f = CALL("fopen64", "in", NA, NA, NA, fopen64("in", "r"));
    GIVES(3UL, "fread", "in", NA, 30, NA, fread(buffer, 10, 3, f));
    GIVES(5UL, "fread_unlocked", "in", NA, 5, NA, (fread_unlocked)(buffer, 1, 5, f));
    GIVES('x', "fgetc", "in", NA, NA, NA, fgetc(f));
    GIVES('x', "getc", "in", NA, NA, NA, (getc)(f));
    // getline is inlined as __getdelim
    CHECK(CALL("fgets", "in", NA, NA, NA, fgets(buffer, 100, f)));
    GIVES(10L, "__getdelim", "in", NA, NA, NA, getline(&line, &size, f));
    GIVES(10L, "getdelim", "in", NA, NA, NA, getdelim(&line, &size, '\n', f));
    GIVES(0, "fseek", "in", NA, NA, NA, fseek(f, 50, SEEK_SET));
    GIVES(50L, "ftell", "in", NA, NA, NA, ftell(f));
    GIVES(0, "fseeko64", "in", NA, NA, NA, fseeko64(f, 0, SEEK_END));
    GIVES(0UL, "fread", "in", NA, 100, NA, fread(buffer, 1, 100, f));
    CALL("rewind", "in", NA, NA, NA, (rewind(f), 0));
    GIVES(1000UL, "fread", "in", NA, 4000, NA, fread(buffer, 1, 4000, f));
    GIVES(0, "fclose", "in", NA, NA, NA, fclose(f));
    free(line);
}

static void others(void)
{
    int a = 0;
    char word[16];
    FILE *f = CALL("fopen", "numbers", NA, NA, NA, fopen("numbers", "r"));
    GIVES(2, SCANF_NAME("__isoc99_fscanf", "__isoc23_fscanf"), "numbers", NA, NA, NA, fscanf(f, "%d %15s", &a, word));
    CHECK(a == 42);
    f = CALL("freopen", "in", NA, NA, NA, freopen("in", "r", f));
    CHECK(f);
    GIVES(1UL, "fread", "in", NA, 10, NA, fread(buffer, 10, 1, f));
    GIVES(0, "fclose", "in", NA, NA, NA, fclose(f));
    CHECK(CALL("fopen", "absent", NA, NA, NA, fopen("absent", "r")) == NULL && errno == ENOENT);
    GIVES(6, "dprintf", "text", 1, NA, NA, dprintf(1, "%s\n", "there"));
}

// getc and putc as macros work on the buffer alone; the bytes are counted when the buffer is filled and emptied.
static void inlined(void)
{
    FILE *f = CALL("fopen", "inlined", NA, NA, NA, fopen("inlined", "w"));
    __fsetlocking(f, FSETLOCKING_BYCALLER);
    for (int i = 0; i < 100; i++)
        CHECK(putc_unlocked('z', f) == 'z');
    GIVES(0, "fclose", "inlined", NA, NA, NA, fclose(f));
}

int main(void)
{
    memset(buffer, 'x', 1000);
    for (int i = 9; i < 1000; i += 10)
        buffer[i] = '\n';
    fresh_file("in", buffer);
    fresh_file("numbers", "42 words and more\n");
    fresh_file("text", "");
    CHECK(freopen("text", "w", stdout));
    record_open();
    output();
    input();
    others();
    inlined();
    return 0;
}
