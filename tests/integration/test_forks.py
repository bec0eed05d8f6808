# SPDX-License-Identifier: MIT
"""fork wherever it is called, and whatever becomes of the child: nothing twice, nothing lost, each under its own pid."""

import collections
import os
import signal

import pytest

import counted
import harness

ENDS = {"idle": {"code": 0}, "_exit": {"code": 0}, "exit": {"code": 0}, "return": {"code": 0}, "exec": {"code": 0},
        "abort": {"signal": int(signal.SIGABRT)}, "segv": {"signal": int(signal.SIGSEGV)},
        "sigkill": {"signal": int(signal.SIGKILL)}}
# place, files of the children, other files
PLACES = {
    "thread": (1, 0), "threads": (1, 80), "generations": (10, 0), "handler": (3, 0), "nested": (1, 0),
    "constructor": (1, 0), "destructor": (1, 0), "atfork": (2, 0),
}


def pids(trace, name):
    return {e["pid"] for e in trace.events() if e.get("path", "").endswith("/" + name)}


@pytest.mark.parametrize("how", ENDS)
def test_a_thousand_writes_and_eight_children(tap, how):
    trace = tap.run([harness.program("fork_ends"), how])
    assert trace.count(name="write", path=str(tap.work / "many")) == 1000
    (parent,) = pids(trace, "many")
    children = [pids(trace, f"own-{i}") for i in range(8)] if how != "idle" else []
    assert all(len(c) == 1 for c in children)
    assert len(set().union({parent}, *children)) == len(children) + 1
    for i in range(len(children)):
        path = str(tap.work / f"own-{i}")
        assert [trace.count(name=n, path=path) for n in ("open", "write", "close")] == [1, 1, 1]
    assert trace.summary()["dropped"] == 0
    entries = [p for p in trace.processes() if p["pid"] != parent and p["exe"].endswith("/true" if how == "exec" else "/fork_ends")]
    assert len(entries) == 8 and {p["parent"] for p in entries} == {parent}
    assert all({k: p["exit"].get(k) for k in ENDS[how]} == ENDS[how] for p in entries), entries
    assert trace.gaps() == []


def test_a_thousand_writes_and_eight_children_that_live_on(tap):
    fifo = tap.work / "hold"
    os.mkfifo(fifo)
    trace = tap.run([harness.program("fork_ends"), "never"])
    tap.cleanup.append(lambda: os.close(os.open(fifo, os.O_RDWR | os.O_NONBLOCK)))
    assert trace.count(name="write", path=str(tap.work / "many")) == 1000
    assert sum(g["count"] for g in trace.gaps("still_running")) == 8
    assert len(set().union(*(pids(trace, f"own-{i}") for i in range(8)))) == 8


@pytest.mark.parametrize("place", PLACES)
def test_a_fork_is_followed_wherever_it_is_called(tap, place):
    children, others = PLACES[place]
    trace = tap.run([harness.program("fork_where"), place])
    files = [f"child-{n + 1}" for n in range(children)] + ["parent"]
    for name in files:
        assert [trace.count(name=n, path=str(tap.work / name)) for n in ("open", "write", "close")] == [1, 1, 1], name
    (parent,) = pids(trace, "parent")
    assert parent not in set().union(*(pids(trace, name) for name in files[:-1]))
    assert len([f for f in trace.files() if "/thread-" in f["path"]]) == others
    assert trace.summary()["dropped"] == 0 and trace.gaps() == []


@pytest.mark.parametrize("thread", ["other", "main"])
def test_children_of_a_handler_go_on_with_what_it_interrupted(tap, thread):
    """Emitted equals stored for each child, which is checked for every trace; and its calls are all there."""
    trace = tap.run([harness.program("fork_timer"), "150", *(["main"] if thread == "main" else [])], deadline=120)
    owners = collections.Counter(e["pid"] for e in trace.events(name="write") if "/child-" in e.get("path", ""))
    names = {e["path"].rsplit("-", 1)[1] for e in trace.events(name="write") if "/child-" in e.get("path", "")}
    assert names == {str(pid) for pid in owners} and len(owners) == 150 and set(owners.values()) == {1}
    writes = collections.Counter(e["pid"] for e in trace.events(name="pwrite"))
    assert writes == collections.Counter({pid: 50 for pid in owners})
    # the parent calls without end: where the daemon gets no processor, its ring is full
    assert all(p["dropped"] == 0 for p in trace.processes() if p["pid"] in owners)
    assert {c for c, n in trace.summary()["dropped_by_cause"].items() if n} <= {"ring_full"}


KEEPS_MAPPINGS = r"""
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    char line[600];
    unsigned long from, to;
    int status;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx", &from, &to) == 2 && strstr(line, " rw-s "))
            madvise((void *)from, to - from, MADV_DONTFORK);
    for (int i = 0; i < 3; i++)
        if (fork() == 0)
            _exit(write(open("own", O_CREAT | O_WRONLY | O_APPEND, 0600), "x", 1) != 1);
    while (wait(&status) > 0)
        if (status != 0)
            return 1;
    return 0;
}
"""


def test_children_that_do_not_get_shared_mappings(tap):
    """As of who registers memory with a device: the segment is not there either."""
    trace = tap.run([tap.compiled("keeps", KEEPS_MAPPINGS)])
    assert (tap.work / "own").read_bytes() == b"xxx"
    missing = 3 - trace.count(name="write", path=str(tap.work / "own"))
    assert sum(g["count"] for g in trace.gaps("not_attached")) == missing and {g["kind"] for g in trace.gaps()} <= {"not_attached"}, trace.gaps()


@pytest.mark.parametrize("memory", [[], ["vfork"]], ids=["apart", "shared"])
def test_a_child_that_shares_the_descriptors(tap, memory):
    trace = tap.run([harness.program("clone_shared_tables"), "files", *memory])
    writes = {e["size"]: e for e in trace.events(name="write")}
    want = {3: "first", 7: "mine", 5: "other", 4: "first", 8: "other"}
    assert (tap.work / "other").read_bytes() == b"childparent!!"
    for size, name in want.items():
        assert writes[size].get("path") in ({str(tap.work / name)} | ({None} if size == 5 else set())), (size, writes[size])
    assert writes[8]["pid"] == writes[3]["pid"] != writes[5]["pid"]


@pytest.mark.parametrize("memory", [[], ["vfork"]], ids=["apart", "shared"])
def test_a_child_that_shares_the_directory(tap, memory):
    trace = tap.run([harness.program("clone_shared_tables"), "fs", *memory])
    assert (tap.work / "below/after").exists()
    assert trace.count(name="open", path=str(tap.work / "below/after")) == 1


@pytest.mark.parametrize("how", ["handler", "atfork"])
def test_a_fork_that_a_jump_left_is_no_childs(tap, how):
    """A child that nobody saw being made attaches while it is alone; where it has threads by then, it is a gap."""
    trace = tap.run([harness.program("fork_left"), how])
    names = {name: [trace.count(name=call, path=str(tap.work / name)) for call in ("open", "write", "close")]
             for name in ("main", "alone", "threaded")}
    assert names == {"main": [2, 2, 2], "alone": [1, 1, 1], "threaded": [0, 0, 0]}
    assert [(g["kind"], g["count"]) for g in trace.gaps()] == [("not_attached", 1)], trace.gaps()
    assert len(trace.processes()) == 2 and trace.summary()["dropped"] == 0


def test_more_forks_at_a_time_than_are_told_apart(tap):
    trace = tap.run([harness.program("fork_many"), "20"])
    assert counted.check(tap, trace) == {"inside": 320, "own": 320}
    assert len(trace.processes()) == 1 + 320 and trace.gaps() == [], trace.gaps()
