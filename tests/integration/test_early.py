# SPDX-License-Identifier: MIT
"""Code of the program that runs before and after everything else, and programs that are linked or started unusually."""

import os

import pytest

import harness

BEFORE = ["resolver", "preinit", "constructor101", "constructor", "main"]
ENDS = {
    "return": (5, ["on_exit", "atexit", "destructor", "destructor101"]),
    "quick": (3, ["at_quick_exit"]),
    "now": (4, []),
    "kill": (137, []),
}


def touched(trace, folder):
    """Names of the files that were written, in the order of the writes."""
    return [os.path.relpath(e["path"], folder) for e in trace.events(name="write") if e["path"].startswith(f"{folder}/")]


@pytest.mark.parametrize("end", ENDS)
def test_the_first_and_the_last_call_of_a_program_are_recorded(tap, end):
    status, after = ENDS[end]
    trace = tap.run([harness.program("early"), end], status=status)
    assert touched(trace, tap.work) == BEFORE + after
    for name in BEFORE + after:
        assert [e["name"] for e in trace.events(path=str(tap.work / name))] == ["open", "write", "close"]
    assert trace.file(tap.work / "late")["written_bytes"] == 6
    assert [p["argv"] for p in trace.processes()] == [[str(harness.program("early")), end]]


LOADED_BY = {
    "plain": ([], {}),
    "linker": (["/lib64/ld-linux-x86-64.so.2"], {}),
    "linker with a path": (["/lib64/ld-linux-x86-64.so.2", "--library-path", "/lib"], {}),
    "all symbols bound at once": ([], {"LD_BIND_NOW": "1"}),
    "what the linker says in a file": ([], {"LD_DEBUG": "all", "LD_DEBUG_OUTPUT": "debug"}),
    "allocator's checks": ([], {"GLIBC_TUNABLES": "glibc.malloc.check=3:glibc.rtld.optional_static_tls=0"}),
}


@pytest.mark.parametrize("how", LOADED_BY)
def test_a_program_started_in_another_way(tap, how):
    words, env = LOADED_BY[how]
    harness.needs(all(os.path.exists(w) for w in words if w.startswith("/lib64")), "another place of ld.so")
    argv = [*words, harness.program("early")]
    plain = harness.call(argv, cwd=tap.work, env=harness.clean_environment(**env))
    daemon = tap.daemon()
    assert daemon.call(argv, cwd=tap.work, env=env).same() == plain.same()
    assert touched(daemon.stop(), tap.work) == BEFORE + ENDS["return"][1]


LINKED = {
    "pie, lazy": ["-fPIE", "-pie", "-Wl,-z,lazy"],
    "pie, now": ["-fPIE", "-pie", "-Wl,-z,relro,-z,now"],
    "fixed address": ["-fno-PIE", "-no-pie"],
    "no plt": ["-fno-plt", "-Wl,-z,now"],
    "old hash table alone": ["-Wl,--hash-style=sysv"],
    "everything needed": ["-Wl,--no-as-needed", "-lm", "-ldl", "-lpthread", "-lrt", "-lutil"],
    "a search path": ["-Wl,--enable-new-dtags,-rpath,$ORIGIN:/nowhere"],
    "separate code": ["-Wl,-z,separate-code", "-Wl,-z,pack-relative-relocs"],
    "export dynamic": ["-rdynamic", "-Wl,-Bsymbolic"],
    "no stack": ["-Wl,-z,execstack"],
}


@pytest.mark.parametrize("how", LINKED)
def test_a_program_linked_in_another_way(tap, how):
    program = tap.compiled("linked", (harness.PROGRAMS / "early.c").read_text(), *LINKED[how])
    plain = harness.call([program], cwd=tap.work)
    daemon = tap.daemon()
    assert daemon.call([program], cwd=tap.work).same() == plain.same()
    assert touched(daemon.stop(), tap.work) == BEFORE + ENDS["return"][1]


# A library whose IFUNC resolver and constructor make calls. It stands behind ours in link order, so ld.so relocates it
# first: the resolver's calls reach wrappers that have no thread storage yet.
RESOLVER = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
static int one(void) { return 1; }
__attribute__((used)) static int (*resolve(void))(void)
{
    char b[16];
    struct stat st;
    int fds[2], fd = open("/proc/cpuinfo", O_RDONLY), n = read(fd, b, sizeof b);
    FILE *f = fopen("/proc/self/status", "r");
    int r = f && fgets(b, sizeof b, f) && stat("/", &st) == 0 && pipe(fds) == 0 && close(fds[0]) == 0;
    r = r && close(fds[1]) == 0 && fclose(f) == 0 && access("/nowhere", 0) == -1 && printf("resolved%c", 10) == 9;
    return n == 16 && close(fd) == 0 && r ? one : 0;
}
int hidden(void) __attribute__((ifunc("resolve"), visibility("hidden")));
static int made;
__attribute__((constructor)) static void construct(void) { made = access("constructed", 0) + 2; }
int lib(void) { return hidden() + made; }
"""
CALLER = "#include <unistd.h>\nint lib(void);\nint main(void) { return access(\"in_main\", 0) + lib() != 1; }\n"


@pytest.mark.parametrize("binding", ["now", "lazy"])
def test_a_library_whose_resolver_makes_calls(tap, binding):
    tap.compiled("libresolver.so", RESOLVER, "-shared", "-fPIC", f"-Wl,-z,{binding}")
    program = tap.compiled("caller", CALLER, after=[f"-L{tap.folder}", "-lresolver", f"-Wl,-rpath,{tap.folder}"])
    plain = tap.plain([program])
    assert plain.same() == (0, b"resolved\n", b"")
    assert tap.plain([program], env=harness.clean_environment(LD_PRELOAD=harness.PRELOAD)).same() == plain.same()
    daemon = tap.daemon()
    assert daemon.call([program], cwd=tap.work).same() == plain.same()
    seen = [os.path.basename(e["path"]) for e in daemon.stop().events(name="access")]
    assert seen == ["constructed", "in_main"]


AUDIT = r"""
#define _GNU_SOURCE
#include <link.h>
#include <stdint.h>
unsigned la_version(unsigned v) { return v; }
unsigned la_objopen(struct link_map *m, Lmid_t l, uintptr_t *c) { return LA_FLG_BINDTO | LA_FLG_BINDFROM; }
uintptr_t la_symbind64(Elf64_Sym *s, unsigned n, uintptr_t *r, uintptr_t *d, unsigned *f, const char *name)
{
    return s->st_value;
}
"""


def test_beside_an_auditing_library(tap):
    audit = tap.compiled("audit.so", AUDIT, "-shared", "-fPIC")
    for argv, status in (([harness.program("early")], 5), (["sh", "-c", "cat /etc/passwd; ls /; exit 7"], 7)):
        env = {"LD_AUDIT": str(audit)}
        plain = harness.call(argv, cwd=tap.work, env=harness.clean_environment(**env))
        daemon = tap.daemon()
        assert daemon.call(argv, cwd=tap.work, env=env).same() == plain.same()
        assert plain.returncode == status
        assert daemon.stop().count(name="open") + len(plain.stdout) > 5


def test_wrong_libraries_in_the_search_path(tap):
    wrong = tap.folder / "wrong"
    wrong.mkdir()
    made = tap.compiled("wrong/libwrong.so", "int wrong_library(void) { return 1; }\n", "-shared", "-fPIC")
    names = ("libz.so.1", "libstdc++.so.6", "libm.so.6", "libprotobuf-c.so.1", "libuv.so.1", "libsystemd.so.0",
             "libgcc_s.so.1", "libflowtap.so.0")
    for name in names:
        os.link(made, wrong / name)
    argv = [harness.program("early")]
    daemon = tap.daemon()
    assert daemon.call(argv, cwd=tap.work, env={"LD_LIBRARY_PATH": str(wrong)}).same() == (5, b"", b"")
    assert touched(daemon.stop(), tap.work) == BEFORE + ENDS["return"][1]


OPENS_US = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    void *so = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
    int (*shut)(int) = (int (*)(int))dlsym(so, "close");
    long (*move)(int, long, int) = (long (*)(int, long, int))dlsym(so, "lseek");
    int fd = open("/etc/passwd", O_RDONLY);
    return !so || move(fd, 5, SEEK_SET) != 5 || shut(fd) || shut(fd) != -1;
}
"""


def test_the_library_opened_by_a_program(tap):
    program = tap.compiled("opens", OPENS_US)
    assert tap.plain([program, harness.PRELOAD]).same() == (0, b"", b"")
    daemon = tap.daemon()
    env = daemon.env(LD_PRELOAD=None)
    assert tap.plain([program, harness.PRELOAD], env=env).same() == (0, b"", b"")
    daemon.stop()


def test_calls_that_libc_has_in_several_versions(tap):
    plain = tap.plain([harness.program("versions")])
    assert plain.returncode == 6 and plain.stdout.count(b"posix_spawn: Exec format error") == 4, plain.stdout
    trace = tap.run([harness.program("versions")], options=["--quiet"], status=6)
    assert trace.ran.same() == plain.same()
    for name in ("posix_spawn", "posix_spawnp"):
        # The C library's own handle is not ours, so its calls pass by unseen.
        assert [e["errno"] for e in trace.events(name=name)] == [8] * 3
    assert trace.count(name="realpath") == trace.count(name="shm_open") == trace.count(name="lio_listio") == 3
