# SPDX-License-Identifier: MIT
"""Functions of libraries that the user names (FLOWTAP_FUNCTIONS): calls of any signature, seen and let through unchanged."""

import collections
import platform
import shutil

import pytest

import harness

SOURCES = harness.PROGRAMS / "levels"
MODES = ["signatures", "callbacks", "threads", "jumps", "forks", "ends"]
# How a program finds the library's functions: at the first call, or all at the start into memory that is read-only then.
BINDINGS = {
    "lazy": ["-Wl,-z,lazy"],
    "now": ["-Wl,-z,now", "-Wl,-z,relro"],
    "no_plt": ["-fno-plt", "-Wl,-z,now", "-Wl,-z,relro"],
    "no_pie": ["-no-pie", "-fno-pie", "-Wl,-z,lazy"],
    "sysv_hash": ["-Wl,--hash-style=sysv", "-Wl,-z,now"],
}
# Spans that may be missing: calls that no slot leads to.
pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="functions of libraries are recorded on x86-64")


def has_avx2():
    with open("/proc/cpuinfo") as f:
        return " avx2 " in f.read().replace("\n", " ")


def compile_to(target, *argv, compiler="gcc"):
    done = harness.call([compiler, "-O2", "-g", "-D_GNU_SOURCE", "-Wno-psabi", "-o", target, *argv], deadline=120)
    assert done.returncode == 0, done.stderr.decode()
    return target


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Builds what is asked for, once."""
    folder, kept = tmp_path_factory.mktemp("levels"), {}
    folder.chmod(0o755)
    wide = ["-mavx2"] if has_avx2() else []
    library = compile_to(folder / "liblevels.so.3", *wide, "-shared", "-fPIC", "-Wl,-soname,liblevels.so.3",
                         SOURCES / "library.c")
    link = [library, f"-Wl,-rpath,{folder}", "-pthread"]

    def build(source, binding="lazy", *flags):
        if (source, binding, flags) not in kept:
            target = folder / f"{source}-{binding}-{len(kept)}"
            compiler = "g++" if source.endswith(".cc") else "gcc"
            kept[source, binding, flags] = compile_to(
                target, *wide, *BINDINGS[binding], *flags, SOURCES / source, *link, compiler=compiler)
        return kept[source, binding, flags]
    return build


def check(tap, argv, functions="liblevels.so:lib_*", **options):
    """As untraced, and with as many spans as the program says."""
    plain = tap.plain(argv)
    trace = tap.run(argv, env={"FLOWTAP_FUNCTIONS": functions}, **options)
    assert (plain.returncode, plain.stdout) == (0, trace.ran.stdout), (plain.stderr, trace.ran.stderr)
    calls, spans = int(trace.ran.stderr.split()[0]), trace.events(cat="liblevels.so")
    assert len(spans) == calls, collections.Counter(e["name"] for e in spans)
    summary = trace.summary()
    assert summary["dropped"] == 0 and summary["app_time"] == 0
    assert {c["category"]: c["count"] for c in summary["categories"]}.get("liblevels.so", 0) == calls
    return trace, spans


@pytest.mark.parametrize("binding", BINDINGS)
@pytest.mark.parametrize("mode", MODES)
def test_calls_are_let_through_unchanged(tap, built, mode, binding):
    check(tap, [built("main.c", binding), mode])


@pytest.mark.parametrize("binding", BINDINGS)
def test_addresses_of_functions_stay(tap, built, binding):
    """What a program compares is what it would be untraced, and is called as ever; without PIE it is the program's own."""
    argv = [built("main.c", binding), "addresses"]
    plain = tap.plain(argv)
    trace = tap.run(argv, env={"FLOWTAP_FUNCTIONS": "liblevels.so:lib_*"})
    names = [e["name"] for e in trace.events(cat="liblevels.so")]
    assert plain.stdout == trace.ran.stdout and plain.stdout.startswith(b"1 ")
    assert names.count("lib_pointer") == 1 and names.count("lib_addressed") in (0, 2)


def test_exceptions_cancellation_and_backtraces_pass_through(tap, built):
    check(tap, [built("thrown.cc")])


def test_calls_of_handlers_are_seen(tap, built):
    trace = tap.run([built("main.c"), "signals"], env={"FLOWTAP_FUNCTIONS": "liblevels.so:lib_*"})
    assert trace.ran.stdout == b"1\n"
    assert trace.summary()["dropped"] == 0
    assert trace.count(cat="liblevels.so") == int(trace.ran.stderr.split()[0])


def test_calls_that_find_no_place_are_dropped_events(tap, built):
    """6,001 are running at a time."""
    argv = [built("main.c"), "deep"]
    plain = tap.plain(argv)
    trace = tap.run(argv, env={"FLOWTAP_FUNCTIONS": "liblevels.so:lib_*"})
    assert trace.ran.stdout == plain.stdout
    assert len(trace.events(cat="liblevels.so")) == 4096 and trace.summary()["dropped"] == 6001 - 4096


def plugins(built, binding, threads):
    """As many objects as there are threads, the second one PLUGIN.1."""
    plugin = built("plugin.c", binding, "-shared", "-fPIC")
    for i in range(1, threads):
        shutil.copy(plugin, f"{plugin}.{i}")
    return plugin


@pytest.mark.parametrize("binding", ["lazy", "now", "no_plt"])
@pytest.mark.parametrize("threads", [1, 2, 8])
def test_plugins_are_seen_from_their_first_call(tap, built, binding, threads):
    """Each time they are opened, also by several threads at a time."""
    check(tap, [built("opener.c"), plugins(built, binding, threads), str(200 // threads), str(threads)])


@pytest.mark.parametrize("binding", ["lazy", "now", "no_plt"])
@pytest.mark.parametrize("how", ["forking", "ended", "ended-cancelled", "cancelled", "crowd-cancelled"])
def test_plugins_are_seen_beside_a_fork_and_without_the_first_thread(tap, built, binding, how):
    """Opened while another thread is within fork(), they are looked at once their symbols are asked for; a fork that was
    cancelled is none, nor are more than have a place."""
    check(tap, [built("opener.c"), plugins(built, binding, 4), "30", how])


@pytest.mark.parametrize("how", ["starved", "cramped"])
def test_plugins_are_seen_when_there_is_memory_again(tap, built, how):
    """For the look at them, or for the tables of what is found."""
    check(tap, [built("opener.c"), plugins(built, "lazy", 1), "30", how])


def test_children_open_libraries_beside_a_thread_that_asks_for_symbols(tap, built):
    """What another thread opened keeps no lock of ld.so busy that they would find held."""
    check(tap, [built("asker.c")])
