# SPDX-License-Identifier: MIT
"""Programs under valgrind, which knows each byte that is read before it was written, and each stack.

Its own start is a shell and a static program; the program's events are those that come from when its image is there.
"""

import collections
import json
import re
import shutil

import pytest

import counted
import harness

VALGRIND = ["valgrind", "-q", "--error-exitcode=9", "--child-silent-after-fork=yes"]


@pytest.fixture(autouse=True)
def has_valgrind():
    harness.needs_program("valgrind")


def skip_where_it_complains_of_the_untraced(tap, argv):
    plain = tap.plain([*VALGRIND, *argv], deadline=120)
    harness.needs(plain.returncode != 9, f"valgrind complains of the untraced program: {plain.stderr[-200:]}")


def traced(tap, argv):
    shutil.rmtree(tap.work)
    tap.work.mkdir()
    daemon = tap.daemon()
    done = daemon.call(argv, cwd=tap.work, env={"PWD": tap.work}, deadline=120)  # which a shell looks whether it is true
    trace = daemon.stop()
    trace.ran = done
    return trace


@pytest.mark.parametrize("name", [
    "calls_dup", "calls_stdio", "stdio_threads", "fork_idle", "tls_end", "early", "calls_open", "calls_data", "calls_dir",
    "calls_fortified", "calls_names", "calls_stat", "calls_process", "calls_aio", "vfork_fds", "many_fds",
    "jump_out"])
def test_valgrind_finds_nothing(tap, name):
    argv = [harness.program(name)]
    plain = tap.plain(argv)
    trace = traced(tap, [*VALGRIND, *argv])
    if trace.ran.same() != plain.same():
        skip_where_it_complains_of_the_untraced(tap, argv)
    assert trace.ran.same() == plain.same()
    assert trace.summary()["events"] > 10


def events_of(tap, trace, name):
    """What the program, what it forks and what it executes did, and how often; numbers in names differ, but for those of its own files."""
    start = min(p["start"] for p in trace.processes() if (p["exe"] or "").endswith(f"/{name}"))
    since = start - trace.summary()["start"]
    found = collections.Counter()
    for e in trace.events():
        path = e.get("path") or ""
        own = path.startswith(f"{tap.work}/")
        if e["t"] >= since and not path.startswith("/proc/"):
            found[e["name"], path.removeprefix(f"{tap.work}/") if own else re.sub(r"\d+", "N", path), e.get("errno")] += 1
    return found


# All that they do is the same in each run.
SAME = [
    "handlers nested 20", "handlers sigwait 20", "handlers signalfd 20",
    "handler_ends pthread_exit 20", "handler_ends exit 20", "handler_ends _exit 20", "handler_ends exec 20",
    "cancel pending", "threads16", "first_ended return", "fork_left handler", "fork_left atfork",
    *(f"fork_where {place}" for place in ("thread", "threads", "generations", "handler", "nested", "constructor", "destructor", "atfork")),
]


@pytest.mark.parametrize("words", SAME)
def test_the_same_events_as_without_valgrind(tap, words):
    name, *arguments = words.split()
    argv = [harness.program(name), *arguments]
    alone = traced(tap, argv)
    below = traced(tap, [*VALGRIND, *argv])
    if below.ran.same() != alone.ran.same():
        skip_where_it_complains_of_the_untraced(tap, argv)
    assert below.ran.same() == alone.ran.same()
    assert events_of(tap, below, name) == events_of(tap, alone, name)
    assert {g["kind"] for g in below.gaps()} == {g["kind"] for g in alone.gaps()} | {"static"}  # valgrind itself
    assert below.summary()["dropped"] == 0


# How much they do depends on the timer; they say it.
TIMED = ["handlers timer-signal 20", "handlers timer-thread 20", "handlers jump-read 20", "handlers children 20", "cancel async 20"]


def ended_well(tap, words):
    name, *arguments = words.split()
    argv = [harness.program(name), *arguments]
    trace = traced(tap, [*VALGRIND, *argv])
    if trace.ran.returncode != 0:
        skip_where_it_complains_of_the_untraced(tap, argv)
    assert (trace.ran.returncode, trace.ran.stderr) == (0, b"")
    return trace


@pytest.mark.parametrize("words", TIMED)
def test_the_events_that_a_program_counts(tap, words):
    trace = ended_well(tap, words)
    counts = counted.check(tap, trace, torn_at_most=20 if words.startswith("cancel") else 0)
    assert any(counts.values())


@pytest.mark.parametrize("thread", ["other", "main"])
def test_a_timer_whose_handler_forks(tap, thread):
    trace = ended_well(tap, "fork_timer 10" + " main" * (thread == "main"))
    owners = {e["path"].rsplit("-", 1)[1]: e["pid"] for e in trace.events(name="write") if "/child-" in e.get("path", "")}
    assert len(owners) == 10 and all(name == str(pid) for name, pid in owners.items())
    assert collections.Counter(e["pid"] for e in trace.events(name="pwrite")) == {pid: 50 for pid in owners.values()}


@pytest.mark.parametrize("how", ["", " jump"], ids=["returns", "jumps"])
def test_a_timer_whose_handler_makes_calls(tap, how):
    trace = ended_well(tap, "timer_io 30" + how)
    made = json.loads(trace.ran.stdout)
    handler = trace.file(tap.work / "handler")
    assert (handler["opens"], handler["writes"]) == (made["ticks"], made["ticks"])
    causes = trace.summary()["dropped_by_cause"]
    assert causes.pop("torn") <= made["ticks"] * bool(how) and not any(causes.values()), causes
    assert how or trace.count(name="lseek", path=str(tap.work / "main")) == made["seeks"]
