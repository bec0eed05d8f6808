# SPDX-License-Identifier: MIT
"""A vfork child works on its parent's memory: what it does is recorded as its own, and leaves nothing of it behind."""

import collections
import signal

import pytest

import harness


def run(tap, how, status=0):
    trace = tap.run([harness.program("vforks"), how], status=status, deadline=120)
    (parent,) = {e["pid"] for e in trace.events(name="open") if e.get("path") == str(tap.work / "other")}
    # whatever a child did: the parent's descriptors, its directory and its line are as before
    writes = [e for e in trace.events(name="write", pid=parent) if not e.get("path", "").endswith("/threads")]
    assert [(e["path"], e["size"]) for e in writes] == [(str(tap.work / "mine"), 7), (str(tap.work / "after"), 4)]
    assert trace.summary()["dropped"] == 0 and trace.gaps() == []
    assert {p["pid"] for p in trace.processes()} >= {e["pid"] for e in trace.events()}
    return trace, parent, [e for e in trace.events() if e["pid"] != parent]


@pytest.mark.parametrize("how", ["changes", "clone"])
def test_a_child_that_changes_everything(tap, how):
    trace, parent, events = run(tap, how)
    (child,) = {e["pid"] for e in events}
    assert [e["size"] for e in events if e["name"] == "write"] == [5, 6]
    assert (tap.work / "mine").read_bytes() == b"parent!" and (tap.work / "other").read_bytes() == b"child"
    assert (tap.work / "below/inner").read_bytes() == b"inside"
    opened = [e for e in events if e["name"] == "open"]
    assert [e.get("path") for e in opened] in ([str(tap.work / "below/inner")], ["inner"], [None]), opened
    assert [(e["name"], e["errno"]) for e in events if e["name"] == "execl"] == [("execl", 0), ("execl", 2)]
    assert trace.count(name="vfork" if how == "changes" else "clone", pid=parent, result=child) == 1


def test_a_child_that_is_killed_in_a_call(tap):
    trace, parent, events = run(tap, "killed", status=128 + signal.SIGKILL)
    assert all(p["in_call"] == [] for p in trace.processes()), trace.processes()
    assert trace.count(name="vfork", pid=parent) == 1


def test_children_of_vfork_children(tap):
    trace, parent, events = run(tap, "nested")
    forks = {e["pid"]: e["result"] for e in trace.events(name="vfork")}
    one = forks[parent]
    three = forks[one]
    five = forks[three]
    assert len(forks) == 3
    writes = collections.Counter((e["pid"], e["size"]) for e in events if e["name"] == "write")
    assert writes == {(one, 3): 1, (three, 5): 1, (five, 5): 1, (three, 6): 1, (one, 7): 1}
    assert {p["pid"]: p["parent"] for p in trace.processes() if p["pid"] != parent} == {one: parent, three: one, five: three}
    starts = {e["pid"]: e["ts"] for e in reversed(trace.events(name="vfork"))}
    assert starts[parent] < starts[one] < starts[three]


@pytest.mark.parametrize("how", ["changes", "clone", "nested"])
def test_a_child_has_the_tags_that_its_parent_began_with(tap, how):
    trace = tap.run([harness.program("vforks"), how], options=["--tag", "run=7", "--tag", "phase=a b"], deadline=120)
    tags = {"run": "7", "phase": "a b"}
    assert len({e["pid"] for e in trace.events()}) > 1
    assert [e for e in trace.events() if e.get("tags") != tags] == []
    assert [p for p in trace.processes() if p["tags"] != tags] == []


def test_vfork_by_a_pointer(tap):
    trace, parent, events = run(tap, "pointer")
    child = trace.image("/true")["pid"]
    assert {e["pid"] for e in events} == {child}
    assert trace.count(name="vfork", pid=parent, result=child) == 1


def test_vfork_beside_threads_that_write(tap):
    trace, parent, events = run(tap, "threads")
    children = collections.Counter(e["pid"] for e in events if e["name"] == "write")
    assert len(children) == 200 and set(children.values()) == {1}
    own = {e["result"] for e in trace.events(name="vfork", pid=parent)}
    assert own == set(children)
    threads = trace.file(tap.work / "threads")
    assert threads["writes"] == (tap.work / "threads").stat().st_size


def test_vfork_two_hundred_times(tap):
    trace, parent, events = run(tap, "many")
    assert len({e["pid"] for e in events}) == 200
    assert trace.file(tap.work / "other")["writes"] == 200
