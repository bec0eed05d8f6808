# SPDX-License-Identifier: MIT
"""Another preloaded library that does a call by another name of the same call: one event, wherever it stands; all else is events as ever."""

import collections

import pytest

import harness

# What fakeroot and its like do: what they stand before is called by an alias, by the same name as any caller would. Each ends either by
# a jump (which compilers make of a call in a return) or by a call.
OTHER = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#ifdef JUMPS
#define LAST(type, expression) return expression
#else
#define LAST(type, expression) type r = expression; __asm__ volatile("" : "+r"(r)); return r
#endif
int __xstat(int, const char *, struct stat *);
int __fxstat(int, int, struct stat *);
ssize_t __write(int, const void *, size_t);
int __close(int), __fcntl(int, int, ...), __dup2(int, int);
int stat(const char *path, struct stat *s) { LAST(int, __xstat(1, path, s)); }
int fstat(int fd, struct stat *s) { LAST(int, __fxstat(1, fd, s)); }
int open(const char *path, int flags, ...)
{
    va_list l;
    va_start(l, flags);
    unsigned mode = va_arg(l, unsigned);
    va_end(l);
    LAST(int, openat(AT_FDCWD, path, flags, mode));
}
int chmod(const char *path, mode_t mode) { LAST(int, fchmodat(AT_FDCWD, path, mode, 0)); }
int mkdir(const char *path, mode_t mode) { LAST(int, mkdirat(AT_FDCWD, path, mode)); }
int rename(const char *path, const char *other) { LAST(int, renameat(AT_FDCWD, path, AT_FDCWD, other)); }
ssize_t write(int fd, const void *b, size_t n) { LAST(ssize_t, __write(fd, b, n)); }
ssize_t pread(int fd, void *b, size_t n, off_t o) { LAST(ssize_t, pread64(fd, b, n, o)); }
off_t lseek(int fd, off_t o, int whence) { LAST(off_t, lseek64(fd, o, whence)); }
int dup2(int fd, int other) { LAST(int, __dup2(fd, other)); }
int fcntl(int fd, int command, ...) { LAST(int, __fcntl(fd, command, 0)); }
int close(int fd) { LAST(int, __close(fd)); }
FILE *fopen(const char *path, const char *mode) { LAST(FILE *, fopen64(path, mode)); }
size_t fwrite(const void *b, size_t s, size_t n, FILE *f) { LAST(size_t, fwrite_unlocked(b, s, n, f)); }
"""

# Each of these is one event, and there is no other one.
PROGRAM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
int main(void)
{
    struct stat s;
    char b[4];
    int fd = open("f", O_RDWR | O_CREAT, 0600);
    if (stat("f", &s) || fstat(fd, &s) || chmod("f", 0644) || mkdir("d", 0755) || rename("d", "e") || write(fd, "abc", 3) != 3)
        return 1;
    if (pread(fd, b, 3, 0) != 3 || lseek(fd, 1, SEEK_SET) != 1 || dup2(fd, 9) != 9 || fcntl(fd, F_GETFL) < 0 || close(fd))
        return 2;
    FILE *f = fopen("g", "w");
    return fwrite("abcd", 1, 4, f) != 4 || fclose(f);
}
"""
ONCE = [{"open", "openat"}, {"stat", "__xstat"}, {"fstat", "__fxstat"}, {"chmod", "fchmodat"}, {"mkdir", "mkdirat"}, {"rename", "renameat"},
        {"write", "__write"}, {"pread", "pread64"}, {"lseek", "lseek64"}, {"dup2", "__dup2"}, {"fcntl", "__fcntl"}, {"close", "__close"},
        {"fopen", "fopen64"}, {"fwrite", "fwrite_unlocked"}, {"fclose"}]
ORDERS = {"behind": "so:other", "before": "other:so", "both": "other:so:second"}


def traced(tap, program, preloads):
    daemon = tap.daemon()
    done = daemon.call([program], cwd=tap.work, env={"LD_PRELOAD": ":".join(map(str, preloads))})
    assert done.same() == (0, b"", b"")
    return daemon.stop()


@pytest.mark.parametrize("ends", ["jumps", "calls"])
@pytest.mark.parametrize("order", ORDERS)
def test_a_call_that_is_passed_on_by_another_name_is_one_event(tap, order, ends):
    flags = ["-shared", "-fPIC", "-O2", "-fno-builtin", *(["-DJUMPS"] if ends == "jumps" else [])]
    place = {"so": harness.PRELOAD, "other": tap.compiled("other.so", OTHER, *flags), "second": tap.compiled("second.so", OTHER, *flags)}
    program = tap.compiled("program", PROGRAM, "-fno-builtin")
    trace = traced(tap, program, [place[one] for one in ORDERS[order].split(":")])
    names = [e["name"] for e in trace.events()]
    assert len(names) == len(ONCE) and all(name in once for name, once in zip(names, ONCE)), names
    work = f"{tap.work}/"
    paths = [e.get("path", "").removeprefix(work) for e in trace.events()]
    assert paths == ["f", "f", "f", "f", "d", "d", "f", "f", "f", "f", "f", "f", "g", "g", "g"]
    assert trace.file(tap.work / "f")["written_bytes"] == trace.file(tap.work / "f")["read_bytes"] == 3
    assert trace.file(tap.work / "g")["written_bytes"] == 4


# Within a call that it passes on, this one makes others of its own, and has the program interrupted.
BUSY = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
int __xstat(int, const char *, struct stat *);
ssize_t __write(int, const void *, size_t);
extern void (*callback)(const char *) __attribute__((weak));
int stat(const char *path, struct stat *s)
{
    int log = openat(AT_FDCWD, "log", O_WRONLY | O_CREAT | O_APPEND, 0600);
    __write(log, path, 1);
    close(log);
    raise(SIGUSR1);                 /* the handler asks for the same path */
    if (&callback)
        callback(path);             /* so does this */
    access(path, F_OK);             /* another call on it */
    __xstat(1, "elsewhere", s);     /* the same call, of another file */
    return __xstat(1, path, s);
}
ssize_t write(int fd, const void *b, size_t n)
{
    ssize_t r = __write(fd, b, n);
    __write(fd + 1, "!", 1);        /* to another file */
    return r;
}
"""
INTERRUPTED = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
int __lxstat(int, const char *, struct stat *);
static const char *path = "f";
static int cookie_fd;
static void handler(int unused) { struct stat s; lstat(path, &s); }
static void call(const char *path) { struct stat s; __lxstat(1, path, &s); }
void (*callback)(const char *) = call;
static ssize_t put(void *unused, const char *b, size_t n) { return write(cookie_fd, b, n); }
int main(void)
{
    struct stat s;
    signal(SIGUSR1, handler);
    int fd = open("f", O_RDWR | O_CREAT, 0600), next = open("next", O_RDWR | O_CREAT, 0600);
    if (next != fd + 1 || stat(path, &s) || write(fd, "abc", 3) != 3)
        return 1;
    cookie_fd = fd;
    FILE *f = fopencookie(NULL, "w", (cookie_io_functions_t){.write = put});
    return fwrite("abcd", 1, 4, f) != 4 || fclose(f) || close(next) || close(fd);
}
"""


def test_what_happens_within_such_a_call_is_events(tap):
    other = tap.compiled("other.so", BUSY, "-shared", "-fPIC", "-fno-builtin")
    program = tap.compiled("program", INTERRUPTED, "-fno-builtin", "-rdynamic")
    trace = traced(tap, program, [harness.PRELOAD, other])
    names = collections.Counter((e["name"], e.get("path", "").removeprefix(f"{tap.work}/")) for e in trace.events())
    expected = {("open", "f"): 1, ("open", "next"): 1, ("close", "f"): 1, ("close", "next"): 1, ("openat", "log"): 1, ("__write", "log"): 1,
                ("close", "log"): 1, ("stat", "f"): 1, ("lstat", "f"): 1, ("__lxstat", "f"): 1, ("access", "f"): 1, ("__xstat", "elsewhere"): 1,
                ("write", "f"): 2, ("__write", "next"): 2, ("fopencookie", ""): 1, ("fwrite", ""): 1, ("fclose", ""): 1}
    assert names == collections.Counter(expected)


def test_fakeroot_outside_is_seen_through(tap):
    """Its library stands behind ours then. (test_loading.py has it inside.)"""
    harness.needs_program("fakeroot")
    (tap.work / "f").write_text("")
    script = ("import os; os.stat('f'); os.lstat('f'); os.chmod('f', 0o600); os.chown('f', 1, 2); fd = os.open('f', os.O_RDWR); os.fstat(fd); "
              "os.mkdir('d'); os.rmdir('d'); os.rename('f', 'g'); os.unlink('g')")
    out = tap.folder / "trace"
    done = harness.call(["fakeroot", harness.FLOWTAP, "run", "-o", out, "--", "/usr/bin/python3", "-S", "-E", "-c", script], cwd=tap.work)
    assert done.returncode == 0, done.stderr
    trace = harness.Trace(out, harness.read_command).check("events")
    names = [e["name"].removesuffix("64") for e in trace.events() if e.get("path", "").startswith(f"{tap.work}/")]
    assert names == ["stat", "lstat", "chmod", "chown", "open", "fstat", "mkdir", "rmdir", "rename", "unlink"]
