# SPDX-License-Identifier: MIT
"""Allocators loaded beside the library, which may do anything inside malloc, also while nothing is set up yet."""

import ctypes.util

import pytest

import harness

# The body of malloc before it calls the next one; `real` is found in one of the ways below.
INSIDE = {
    "write": 'static int fd = -1; if (fd < 0) fd = open("/dev/null", O_WRONLY); if (write(fd, "m", 1) != 1) return 0;',
    "open and read": 'char b[64]; int fd = open("/proc/self/status", O_RDONLY); if (read(fd, b, 64) != 64) return 0; close(fd);',
    "open and read under a lock": 'static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; char b[64]; int fd;'
        'pthread_mutex_lock(&m); fd = open("/sys/devices/system/cpu/online", O_RDONLY); read(fd, b, 64); close(fd);'
        'pthread_mutex_unlock(&m);',
    "mmap of a file": 'int fd = open("/proc/self/exe", O_RDONLY); void *p = mmap(0, 4096, PROT_READ, MAP_PRIVATE, fd, 0);'
        'close(fd); munmap(p, 4096);',
    "pthread_once": 'static pthread_once_t o = PTHREAD_ONCE_INIT; pthread_once(&o, once);',
    "fopen": 'if (!inside++) { FILE *f = fopen("/proc/self/maps", "r"); if (f) { fgetc(f); fclose(f); } }',
    "dprintf and stat": 'struct stat st; static int fd = -1; if (fd < 0) fd = open("/dev/null", O_WRONLY);'
        'if (!inside++) { dprintf(fd, "%zu", n); stat("/", &st); fstat(fd, &st); } inside = 0;',
    "readlink and getcwd": 'char b[256]; readlink("/proc/self/exe", b, 256); access("/", R_OK);',
}
SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
static __thread int inside __attribute__((tls_model("initial-exec")));
static char early[65536];
static size_t used;
static int finding;
static void *(*real_malloc)(size_t);
static void (*real_free)(void *);
static void *(*real_calloc)(size_t, size_t);
static void once(void) { int fd = open("/proc/meminfo", O_RDONLY); char b[32]; read(fd, b, 32); close(fd); }
static void *bump(size_t n) { void *p = early + used; used += (n + 15) & ~15ul; return p; }
static void find(void)
{
    finding = 1;
    real_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
    real_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
    real_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    finding = 0;
}
void *malloc(size_t n)
{
    if (!real_malloc) {
        if (finding)
            return bump(n);
        find();
    }
    BODY
    return real_malloc(n);
}
void *calloc(size_t n, size_t m)
{
    if (!real_calloc) {
        if (finding)
            return bump(n * m);
        find();
    }
    { size_t n = m; BODY }
    return real_calloc(n, m);
}
void free(void *p)
{
    if ((char *)p >= early && (char *)p < early + sizeof early)
        return;
    if (!real_free)
        find();
    real_free(p);
}
"""

THREADS = r"""
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *work(void *number)
{
    void *held[64] = {0};
    int fd = open("shared", O_WRONLY | O_CREAT | O_APPEND, 0600);
    for (int i = 0; i < 20000; i++) {
        int at = i % 64;
        free(held[at]);
        held[at] = i % 3 ? malloc(1 + i % 5000) : calloc(1 + i % 7, 100);
        held[at] = realloc(held[at], 1 + (i * 7) % 3000);
        if (i % 100 == 0 && write(fd, "x", 1) != 1)
            exit(3);
    }
    for (int i = 0; i < 64; i++)
        free(held[i]);
    close(fd);
    return number;
}
int main(void)
{
    pthread_t threads[8];
    for (long i = 0; i < 8; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)i))
            return 2;
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
"""


def both(order, other):
    pair = [str(harness.PRELOAD), str(other)]
    return ":".join(pair if order == "ours first" else reversed(pair))


def same_beside(tap, other, order, commands):
    daemon = tap.daemon()
    for argv in commands:
        plain = harness.call(argv, cwd=tap.work, env=harness.clean_environment(LD_PRELOAD=other))
        assert daemon.call(argv, cwd=tap.work, env={"LD_PRELOAD": both(order, other)}).same() == plain.same(), argv
        assert plain.returncode == 0, (argv, plain.stderr)
    return daemon.stop()


@pytest.mark.parametrize("order", ["ours first", "ours last"])
@pytest.mark.parametrize("inside", INSIDE)
def test_an_allocator_that_makes_calls(tap, inside, order):
    other = tap.compiled("other.so", SOURCE.replace("BODY", INSIDE[inside]), "-shared", "-fPIC", "-pthread")
    trace = same_beside(tap, other, order, [
        ["true"], ["timeout", "10", "ls", "/"], ["sh", "-c", "echo a | cat; (echo b)"],
        ["/usr/bin/python3", "-c", "import threading, subprocess; subprocess.run(['true']); print(1)"]])
    assert trace.summary()["processes"] >= 6 and not trace.gaps("not_attached")


@pytest.mark.parametrize("order", ["ours first", "ours last"])
@pytest.mark.parametrize("name", ["jemalloc", "tcmalloc_minimal", "mimalloc"])
def test_a_real_allocator(tap, name, order):
    found = ctypes.util.find_library(name)
    harness.needs(found, f"lib{name} is not installed")
    threads = tap.compiled("threads", THREADS, "-pthread")
    (tap.work / "read").write_text("x" * 1000)
    trace = same_beside(tap, found, order, [
        ["true"], ["/usr/bin/python3", "-c", "open('read').read()"], [threads], ["timeout", "10", "cat", "read"],
        ["sh", "-c", "cat read | wc -c"], [harness.program("thread_churn"), "100"],
        [harness.program("fork_idle"), "idle"] if (harness.PROGRAMS / "fork_idle.c").exists() else ["true"]])
    assert trace.file(tap.work / "shared")["writes"] == 8 * 200
    assert trace.file(tap.work / "churn")["writes"] == 100
    assert trace.file(tap.work / "read")["read_bytes"] == 3000
