# SPDX-License-Identifier: MIT
"""Other libraries beside ours: allocators that write, plugins that skip preloads, sanitizers, many objects."""

import shutil

import pytest

import harness

CHATTY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>
static void *(*real)(size_t);
static int fd = -1;
void *malloc(size_t n)
{
    if (!real)
        real = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    if (fd < 0)
        fd = open("/dev/null", O_WRONLY);
    if (write(fd, "m", 1) != 1)
        return NULL;
    return real(n);
}
"""

COUNTING = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static long calls;
int close(int fd)
{
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "close");
    calls++;
    return real(fd);
}
__attribute__((destructor)) static void tell(void)
{
    char text[32];
    int n = snprintf(text, sizeof text, NAME " %ld\n", calls);
    if (write(2, text, (size_t)n) < 0)
        abort();
}
"""

PLUGIN = r"""
#include <fcntl.h>
#include <unistd.h>
long plugin(const char *name)
{
    char b[64];
    int fd = open(name, O_RDONLY);
    long n = read(fd, b, sizeof b);
    close(fd);
    return n;
}
"""

LOADER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
int main(int argc, char **argv)
{
    void *so = dlopen(argv[1], RTLD_NOW | (argc > 3 ? RTLD_DEEPBIND : 0));
    long (*plugin)(const char *) = (long (*)(const char *))dlsym(so, "plugin");
    return (int)plugin(argv[2]);
}
"""


def built(tap, name, source, *flags, after=()):
    (tap.folder / f"{name}.c").write_text(source)
    done = harness.call(["gcc", "-O1", "-w", *flags, "-o", tap.folder / name, tap.folder / f"{name}.c", *after])
    assert done.returncode == 0, done.stderr.decode()
    return tap.folder / name


@pytest.mark.parametrize("order", ["before", "after"])
def test_an_allocator_that_writes(tap, order):
    other = built(tap, "chatty.so", CHATTY, "-shared", "-fPIC")
    daemon = tap.daemon()
    both = [str(other), str(harness.PRELOAD)] if order == "before" else [str(harness.PRELOAD), str(other)]
    for argv in (["ls", "/"], ["sh", "-c", "echo a | cat"], ["/usr/bin/python3", "-c", "print(1)"]):
        plain = harness.call(argv, env=harness.clean_environment(LD_PRELOAD=other))
        assert daemon.call(argv, env={"LD_PRELOAD": ":".join(both)}).same() == plain.same()
    daemon.stop()


def test_counting_shims_before_and_after_see_every_call(tap):
    import itertools
    a = built(tap, "a.so", COUNTING, "-shared", "-fPIC", '-DNAME="a"')
    b = built(tap, "b.so", COUNTING, "-shared", "-fPIC", '-DNAME="b"')
    for order in itertools.permutations([a, b, harness.PRELOAD]):
        daemon = tap.daemon()
        done = daemon.call([harness.program("touch_all"), "x", "y", "z"], cwd=tap.work,
                           env={"LD_PRELOAD": ":".join(map(str, order))})
        assert sorted(done.stderr.splitlines()) == [b"a 3", b"b 3"], order
        assert daemon.stop().count(name="close") == 3, order


@pytest.mark.parametrize("deep", [False, True], ids=["plain", "deepbind"])
def test_a_plugin_is_recorded_or_the_trace_says_that_it_is_not(tap, deep):
    plugin = built(tap, "plugin.so", PLUGIN, "-shared", "-fPIC")
    loader = built(tap, "loader", LOADER)
    (tap.work / "text").write_text("x" * 33)
    trace = tap.run([loader, plugin, tap.work / "text", *(["deep"] if deep else [])], status=33)
    seen = [e for e in trace.events(name="read") if e.get("path") == str(tap.work / "text")]
    if deep and not seen:
        assert trace.gaps("deepbind"), trace.summary()["gaps"]
    else:
        assert [e["result"] for e in seen] == [33]


def test_a_program_of_a_hundred_shared_objects(tap):
    for i in range(100):
        (tap.folder / f"o{i}.c").write_text(f'#include <unistd.h>\nint f{i}(void) {{ return access("x", 0) + {i}; }}\n')
    script = "ls o*.c | xargs -P 2 -I{} sh -c 'gcc -shared -fPIC -Wl,-z,relro,-z,now -o lib$(basename {} .c).so {}'"
    assert harness.call(["sh", "-c", script], cwd=tap.folder, deadline=180).returncode == 0
    main = "".join(f"int f{i}(void);\n" for i in range(100)) + "int main(void)\n{\n    int n = 0;\n" + \
        "".join(f"    n += f{i}();\n" for i in range(100)) + "    return n == 0;\n}\n"
    program = built(tap, "many", main, after=[f"-L{tap.folder}", f"-Wl,-rpath,{tap.folder}",
                                              *(f"-lo{i}" for i in range(100))])
    trace = tap.run([program])
    assert trace.count(name="access") == 100


def test_stat_is_counted_once_beside_fakeroot(tap):
    harness.needs_program("fakeroot")
    (tap.work / "f").write_text("")
    trace = tap.run(["fakeroot", "/usr/bin/python3", "-S", "-E", "-c", "import os; os.stat('f'); os.lstat('f')"])
    names = [e["name"] for e in trace.events() if e.get("path") == str(tap.work / "f")]
    assert sorted(names) in (["lstat", "stat"], ["lstat64", "stat64"], ["__lxstat64", "__xstat64"]), names


def test_flowtap_itself_is_in_no_trace(tap):
    trace = tap.run(["true"])
    assert [p["exe"].rsplit("/", 1)[1] for p in trace.processes()] == ["true"]


def test_text_without_interpreter_is_enoexec(tap):
    import os
    script = tap.work / "script"
    script.write_text("echo run\n")
    os.chmod(script, 0o755)
    code = "import os\ntry:\n    os.posix_spawn('./script', ['script'], os.environ)\nexcept OSError as e:\n    print(e.errno)"
    trace = tap.run(["/usr/bin/python3", "-c", code])
    assert trace.ran.stdout == b"8\n"


@pytest.mark.parametrize("name", ["calls_dup", "calls_stdio", "stdio_threads", "fork_idle", "tls_end"])
def test_valgrind_finds_nothing(tap, name):
    harness.needs_program("valgrind")
    argv = ["valgrind", "-q", "--error-exitcode=9", "--child-silent-after-fork=yes", harness.program(name)]
    plain = tap.plain(argv, deadline=120)
    harness.needs(plain.returncode == 0, f"valgrind complains of the untraced program: {plain.stderr[-200:]}")
    shutil.rmtree(tap.work)
    tap.work.mkdir()
    daemon = tap.daemon()
    traced = daemon.call(argv, cwd=tap.work, deadline=120)
    assert traced.same() == plain.same()
    assert daemon.stop().summary()["events"] > 10
