# SPDX-License-Identifier: MIT
"""Other shims before and behind the library: each of them sees every call, whatever the order and whatever the call."""

import itertools

import pytest

import harness

# Return type, parameters, arguments for the next one.
CALLS = {
    "open": ("int", "const char *p, int f, unsigned m", "p, f, m"),
    "open64": ("int", "const char *p, int f, unsigned m", "p, f, m"),
    "__open_2": ("int", "const char *p, int f", "p, f"),
    "openat": ("int", "int d, const char *p, int f, unsigned m", "d, p, f, m"),
    "openat64": ("int", "int d, const char *p, int f, unsigned m", "d, p, f, m"),
    "close": ("int", "int fd", "fd"),
    "read": ("long", "int fd, void *b, size_t n", "fd, b, n"),
    "__read_chk": ("long", "int fd, void *b, size_t n, size_t room", "fd, b, n, room"),
    "pread64": ("long", "int fd, void *b, size_t n, long o", "fd, b, n, o"),
    "__pread64_chk": ("long", "int fd, void *b, size_t n, long o, size_t room", "fd, b, n, o, room"),
    "write": ("long", "int fd, const void *b, size_t n", "fd, b, n"),
    "fcntl": ("int", "int fd, int c, long a", "fd, c, a"),
    "fcntl64": ("int", "int fd, int c, long a", "fd, c, a"),
    "fopen64": ("void *", "const char *p, const char *m", "p, m"),
    "fwrite": ("size_t", "const void *b, size_t s, size_t n, void *f", "b, s, n, f"),
    "fclose": ("int", "void *f", "f"),
    "vfprintf": ("int", "void *f, const char *t, va_list l", "f, t, l"),
    "__vfprintf_chk": ("int", "void *f, int k, const char *t, va_list l", "f, k, t, l"),
    "stat": ("int", "const char *p, void *s", "p, s"),
    "fstatat64": ("int", "int d, const char *p, void *s, int f", "d, p, s, f"),
    "statx": ("int", "int d, const char *p, int f, unsigned m, void *s", "d, p, f, m, s"),
    "execv": ("int", "const char *p, char *const *a", "p, a"),
    "execvp": ("int", "const char *p, char *const *a", "p, a"),
    "execve": ("int", "const char *p, char *const *a, char *const *e", "p, a, e"),
    "posix_spawn": ("int", "void *o, const char *p, void *a, void *t, char *const *v, char *const *e", "o, p, a, t, v, e"),
    "fork": ("int", "void", ""),
    "realpath": ("char *", "const char *p, char *b", "p, b"),
}

HEAD = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
extern long write_number(const char *, long);
"""

# Each shim tells how often its functions were called, by a raw system call, when it is asked for the name "count me".
SHIM = HEAD + r"""
#include <sys/syscall.h>
#include <unistd.h>
struct counted { const char *name; long calls; };
static struct counted counts[] = { TABLE };
enum { COUNT = sizeof counts / sizeof counts[0] };
static void *next[COUNT];
__attribute__((constructor)) static void find(void)
{
    for (int i = 0; EAGER && i < COUNT; i++)
        next[i] = dlsym(RTLD_NEXT, counts[i].name);
}
static void *next_of(int i) { return next[i] ? next[i] : (next[i] = dlsym(RTLD_NEXT, counts[i].name)); }
__attribute__((destructor)) static void tell(void)
{
    char line[4096];
    size_t n = 0;
    for (int i = 0; i < COUNT; i++) {
        char digits[24];
        int d = 0;
        long rest = counts[i].calls;
        for (const char *c = WHO " "; *c;)
            line[n++] = *c++;
        for (const char *c = counts[i].name; *c;)
            line[n++] = *c++;
        line[n++] = ' ';
        do
            digits[d++] = '0' + rest % 10;
        while (rest /= 10);
        while (d)
            line[n++] = digits[--d];
        line[n++] = '\n';
    }
    asm volatile("syscall" : : "a"(SYS_write), "D"(2), "S"(line), "d"(n) : "rcx", "r11", "memory");
}
"""

# One call of each name, by dlsym where a program's source would not make it.
PROGRAM = HEAD + r"""
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
#define F(type, name, ...) ((type (*)(__VA_ARGS__))dlsym(RTLD_DEFAULT, name))
static int formatted(int checked, FILE *f, const char *t, ...)
{
    va_list l;
    va_start(l, t);
    int r = checked ? F(int, "__vfprintf_chk", FILE *, int, const char *, va_list)(f, 1, t, l) : vfprintf(f, t, l);
    va_end(l);
    return r;
}
int main(void)
{
    char b[16] = "abc", s[512], *none[] = {"none", NULL};
    int pid, status, fd = open("f", O_RDWR | O_CREAT, 0600), g = F(int, "open64", const char *, int, unsigned)("f", 0, 0);
    if (write(fd, b, 3) != 3 || read(g, b, 3) != 3 || F(long, "__read_chk", int, void *, size_t, size_t)(g, b, 3, 16))
        return 1;
    if (F(long, "pread64", int, void *, size_t, long)(g, b, 2, 1) != 2 ||
        F(long, "__pread64_chk", int, void *, size_t, long, size_t)(g, b, 2, 1, 16) != 2)
        return 2;
    F(int, "__open_2", const char *, int)("f", 0);
    openat(AT_FDCWD, "f", 0);
    F(int, "openat64", int, const char *, int, unsigned)(AT_FDCWD, "f", 0, 0);
    fcntl(fd, F_GETFL);
    F(int, "fcntl64", int, int, long)(fd, F_GETFL, 0);
    FILE *f = F(FILE *, "fopen64", const char *, const char *)("h", "w");
    if (fwrite(b, 1, 3, f) != 3 || formatted(0, f, "%d", 5) != 1 || formatted(1, f, "%d", 5) != 1 || fclose(f))
        return 3;
    stat("f", (void *)s);
    F(int, "fstatat64", int, const char *, void *, int)(AT_FDCWD, "f", s, 0);
    statx(AT_FDCWD, "f", 0, STATX_BASIC_STATS, (void *)s);
    execv("/nowhere", none);
    execvp("/nowhere", none);
    execve("/nowhere", none, environ);
    if (F(int, "posix_spawn", int *, const char *, void *, void *, char **, char **)(&pid, "/nowhere", 0, 0, none, environ)
        != ENOENT)
        return 4;
    free(realpath("f", NULL));
    if ((pid = fork()) == 0)
        _exit(0);
    if (waitpid(pid, &status, 0) != pid || status)
        return 5;
    return close(fd);
}
"""
HOW = {"at the first call": 0, "from its constructor": 1}


def shim(tap, who, eager):
    names = list(CALLS)
    text = SHIM.replace("TABLE", ", ".join(f'{{"{n}", 0}}' for n in names))
    for i, name in enumerate(names):
        type_, parameters, arguments = CALLS[name]
        text += f"{type_} wrap_{name}({parameters}) __asm__(\"{name}\");\n{type_} wrap_{name}({parameters})\n" \
                f"{{\n    counts[{i}].calls++;\n    return (({type_} (*)({parameters}))next_of({i}))({arguments});\n}}\n"
    return tap.compiled(f"{who}.so", text, "-shared", "-fPIC", "-Wl,--hash-style=sysv" if who == "b" else "-Wl,-z,now",
                        "-fno-builtin", f'-DWHO="{who}"', f"-DEAGER={eager}")


@pytest.mark.parametrize("how", HOW)
def test_each_shim_sees_every_call_in_every_order(tap, how):
    a, b = shim(tap, "a", HOW[how]), shim(tap, "b", HOW[how])
    program = tap.compiled("program", PROGRAM)
    plain = tap.plain([program], env=harness.clean_environment(LD_PRELOAD=f"{a}:{b}"))
    expected = {f"{who} {name}": 1 for who in "ab" for name in CALLS}
    assert plain.returncode == 0, plain.stderr
    assert {k: int(n) for k, n in (line.rsplit(" ", 1) for line in plain.stderr.decode().splitlines())} == expected
    for order in itertools.permutations([a, b, harness.PRELOAD]):
        daemon = tap.daemon()
        for on in (None, "1"):
            done = daemon.call([program], cwd=tap.work, env={"LD_PRELOAD": ":".join(map(str, order)), "FLOWTAP": on})
            assert (done.returncode, done.stdout) == (0, b"")
            seen = {k: int(n) for k, n in (line.rsplit(" ", 1) for line in done.stderr.decode().splitlines())}
            assert seen == expected, (order, {k: n for k, n in seen.items() if n != expected[k]})
        trace = daemon.stop()
        counts = {name: trace.count(name=name) for name in CALLS}
        want = {name: 2 if name.startswith("exec") else 1 for name in CALLS}  # a failed exec is two records
        assert counts == want, (order, {k: (n, want[k]) for k, n in counts.items() if n != want[k]})
