# SPDX-License-Identifier: MIT
"""Calls that go past the wrappers: rings of io_uring, raw system calls, objects bound past the library."""

import os
import subprocess

import pytest

import harness
from traced import Trace

PLUGIN = """
#include <fcntl.h>
#include <unistd.h>
int read_file(void)
{
    char byte;
    int fd = open("/etc/hostname", O_RDONLY);
    int is_read = fd >= 0 && read(fd, &byte, 1) == 1;
    close(fd);
    return !is_read;
}
"""


def ring(tap, how, count, status=0):
    plain = tap.plain([harness.program("rings"), how, str(count)])
    harness.needs(plain.returncode != 77, "the kernel gives no io_uring here")
    trace = tap.run([harness.program("rings"), how, str(count)], status=status)
    assert {g["kind"] for g in trace.gaps()} == {"io_uring"}, trace.gaps()
    assert all(g["exe"] == str(harness.program("rings")) and g["reason"] for g in trace.gaps())
    return trace.gaps()


@pytest.mark.parametrize("how,times", [("raw", 1), ("polled", 1), ("closed", 1), ("several", 3), ("child", 1)])
def test_calls_through_rings_are_counted(tap, how, times):
    assert [g["count"] for g in ring(tap, how, 100)] == [100 * times]


def test_a_ring_that_a_child_uses_is_the_childs(tap):
    gaps = ring(tap, "inherited", 50)
    assert 50 in [g["count"] for g in gaps] and len({g["pid"] for g in gaps}) == len(gaps), gaps


def test_a_ring_of_a_process_that_is_killed(tap):
    assert [g["count"] for g in ring(tap, "killed", 100, status=137)] == [100]


def told_while_it_lives(tap, argv, count):
    """A ring made by instructions of the program's own: the daemon finds it among the descriptors, and says so at once."""
    plain = tap.plain(argv)
    harness.needs(plain.returncode != 77, "the kernel gives no io_uring here")
    assert plain.returncode == 0
    daemon = tap.daemon()
    process = subprocess.Popen(argv, cwd=tap.work, env=daemon.env(), stdin=subprocess.PIPE)
    try:
        def told():
            trace = Trace(daemon.spool, harness.read_command)
            return bool(trace.flow_files()) and sum(g["count"] for g in trace.gaps("io_uring")) == count
        harness.wait_until("the gap, while the process lives", told)
    finally:
        process.stdin.close()
        assert process.wait(harness.DEADLINE_S) == 0
    trace = daemon.stop()
    assert [(g["kind"], g["count"], g["pid"]) for g in trace.gaps()] == [("io_uring", count, process.pid)]
    return trace


def test_a_ring_made_by_instructions_of_the_programs_own(tap):
    harness.needs(os.uname().machine == "x86_64", "written for x86-64")
    told_while_it_lives(tap, [harness.program("rings"), "inline", "30"], 30)


def test_a_ring_of_liburing(tap):
    """A write and a read through it are the gap; what is done without it are events."""
    trace = told_while_it_lives(tap, [harness.program("rings_liburing")], 2)
    assert (tap.work / "data").read_bytes() == b"x" * 1000
    assert [e["name"] for e in trace.events(path=str(tap.work / "data"))] == ["open", "close"]
    assert trace.summary()["dropped"] == 0


@pytest.mark.parametrize("use", ["1", "0"])
def test_node_with_a_ring(tap, use):
    """Newer versions of its libuv make a ring also where files do not go through one."""
    harness.needs_program("node")
    (tap.work / "text").write_text("x" * 100)
    code = "require('fs').readFile('text', (e, d) => console.log(d.length))"
    log = tap.folder / "strace"
    plain = tap.plain(["strace", "-f", "-qq", "-o", log, "-e", "trace=io_uring_setup", "node", "-e", code],
                      env=harness.clean_environment(UV_USE_IO_URING=use))
    assert plain.stdout == b"100\n"
    makes_ring = "io_uring_setup" in log.read_text()
    harness.needs(makes_ring or use == "0", "this node makes no ring")
    trace = tap.run(["node", "-e", code], env={"UV_USE_IO_URING": use})
    assert trace.ran.stdout == b"100\n"
    assert (sum(g["count"] for g in trace.gaps("io_uring")) > 0) == makes_ring, trace.gaps()


def test_raw_system_calls_that_do_io_are_counted(tap):
    trace = tap.run([harness.program("raw_calls")])
    assert trace.gaps() == [] or [(g["kind"], g["count"]) for g in trace.gaps()] == [("raw_syscall", 21)], trace.gaps()
    seen = sum(trace.count(name=n) for n in ("openat", "pread64", "pwrite64"))
    assert seen + sum(g["count"] for g in trace.gaps("raw_syscall")) == 21


@pytest.mark.parametrize("how, count", [
    ("none", 0),
    ("data", 2),  # read and pread64 of a file that is the program's, whatever name it was opened by
    ("path", 1),  # what cannot be looked at may be anything
])
def test_raw_calls_that_ask_the_kernel_about_itself_are_no_gap(tap, how, count):
    trace = tap.run([harness.program("raw_kernel_text"), how])
    assert sum(g["count"] for g in trace.gaps()) == count and all(g["kind"] == "raw_syscall" for g in trace.gaps())


def plugin(tap):
    (tap.work / "plugin.c").write_text(PLUGIN)
    assert tap.plain(["gcc", "-shared", "-fPIC", "-o", "plugin.so", "plugin.c"]).returncode == 0
    return "./plugin.so"


@pytest.mark.parametrize("how", ["deep", "space"])
def test_an_object_bound_past_the_library_is_named(tap, how):
    trace = tap.run([harness.program("bound_past"), how, plugin(tap)])
    gaps = trace.gaps()
    assert [(g["kind"], g["exe"], g["count"]) for g in gaps] == [("deepbind", str(harness.program("bound_past")), 1)], gaps
    assert "plugin.so" in gaps[0]["reason"]


def test_an_object_opened_as_usual_is_traced(tap):
    trace = tap.run([harness.program("bound_past"), "plain", plugin(tap)])
    assert trace.gaps() == [] and trace.file("/etc/hostname")["reads"] == 1


@pytest.mark.parametrize("how", ["deep", "space"])
def test_an_object_that_is_not_there_is_no_gap(tap, how):
    assert tap.run([harness.program("bound_past"), how, "./absent.so"], status=3).gaps() == []


def test_a_bsymbolic_object_is_traced(tap):
    plugin(tap)
    assert tap.plain(["gcc", "-shared", "-fPIC", "-Wl,-Bsymbolic", "-o", "plugin.so", "plugin.c"]).returncode == 0
    trace = tap.run([harness.program("bound_past"), "plain", "./plugin.so"])
    assert trace.gaps() == [] and trace.file("/etc/hostname")["reads"] == 1


def test_all_of_many_objects_are_counted(tap):
    code = ("import ctypes, os, shutil, sys\n"
            "for i in range(300):\n    shutil.copy('plugin.so', f'p{i}.so'); ctypes.CDLL(f'./p{i}.so', mode=os.RTLD_DEEPBIND)\n")
    plugin(tap)
    trace = tap.run(["/usr/bin/python3", "-c", code])
    assert sum(g["count"] for g in trace.gaps("deepbind")) == 300
    assert any("p0.so" in g["reason"] for g in trace.gaps()) and len(trace.gaps()) <= 300


def test_a_child_that_shares_memory_is_a_gap(tap):
    trace = tap.run([harness.program("clone_shared"), "shared"])
    assert [(g["kind"], g["count"]) for g in trace.gaps()] == [("clone_shared", 1)], trace.gaps()
    assert trace.file(tap.work / "before")["writes"] == trace.file(tap.work / "after")["writes"] == 1


@pytest.mark.parametrize("how", ["vfork", "copy"])
def test_other_clones_are_traced(tap, how):
    trace = tap.run([harness.program("clone_shared"), how])
    assert trace.gaps() == []
    assert trace.count(name="write") == 3
    assert [trace.file(tap.work / name)["opens"] for name in ("before", "child", "after")] == [1, 1, 1]
