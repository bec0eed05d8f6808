// SPDX-License-Identifier: MIT
// 16 coroutines on stacks of 8 KiB, with a page behind each that may not be touched. Each makes calls, gives way between
// them and, by a stream whose bytes it takes itself, also in the middle of one. At the end a jump out of such a stream.
#define _GNU_SOURCE
#include "counted.h"

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { COUNT = 16, ROUNDS = 20, STACK = 8192, PAGE = 4096 };

static ucontext_t loop, contexts[COUNT];
static int current, is_over[COUNT];
static long taken;
static jmp_buf back;
static int does_jump;

static void give_way(void)
{
    swapcontext(&contexts[current], &loop);
}

static ssize_t take(void *unused, const char *bytes, size_t n)
{
    (void)unused, (void)bytes;
    counted_touch("in stream");
    taken += (long)n;
    if (does_jump)
        longjmp(back, 1);
    give_way();
    counted_touch("in stream");
    return (ssize_t)n;
}

static void coroutine(int n)
{
    FILE *f = fopencookie(NULL, "w", (cookie_io_functions_t){.write = take});
    CHECKED(f != NULL && setvbuf(f, NULL, _IONBF, 0) == 0);
    for (int i = 0; i < ROUNDS; i++) {
        counted_touch("coroutine");
        give_way();
        CHECKED(fputs("text", f) >= 0);
        counted_touch("coroutine");
    }
    fclose(f);
    is_over[n] = 1;
}

int main(void)
{
    counted_of("coroutine");
    counted_of("in stream");
    counted_of("after");
    for (int i = 0; i < COUNT; i++) {
        char *memory = mmap(NULL, STACK + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECKED(memory != MAP_FAILED && mprotect(memory, PAGE, PROT_NONE) == 0 && getcontext(&contexts[i]) == 0);
        contexts[i].uc_stack = (stack_t){.ss_sp = memory + PAGE, .ss_size = STACK};
        contexts[i].uc_link = &loop;
        makecontext(&contexts[i], (void (*)(void))coroutine, 1, i);
    }
    for (int left = COUNT; left > 0;)
        for (int i = 0; i < COUNT; i++) {
            if (is_over[i])
                continue;
            current = i;
            swapcontext(&loop, &contexts[i]);
            left -= is_over[i];
        }
    FILE *f = fopencookie(NULL, "w", (cookie_io_functions_t){.write = take});
    setvbuf(f, NULL, _IONBF, 0);
    does_jump = 1;
    if (setjmp(back) == 0)
        fputc('x', f);
    for (int i = 0; i < 10; i++)
        counted_touch("after");
    dprintf(1, "%ld\n", taken);
    counted_print();
    return 0;
}
