# SPDX-License-Identifier: MIT
"""Threads that come and go, handlers that interrupt, jumps out of them, and what runs at the ends of things."""

import collections
import json
import signal

import pytest

import counted
import harness


def check_timer(tap, trace):
    made = json.loads(trace.ran.stdout)
    handler = trace.file(tap.work / "handler")
    assert (handler["opens"], handler["writes"]) == (made["ticks"], made["ticks"])
    assert trace.count(name="close", path=str(tap.work / "handler")) == made["ticks"]
    assert trace.file(tap.work / "threads")["writes"] == made["writes"]
    return made


def test_a_handler_between_any_two_instructions(tap):
    trace = tap.run([harness.program("timer_io"), "300"])
    made = check_timer(tap, trace)
    assert trace.count(name="lseek", path=str(tap.work / "main")) == made["seeks"]
    assert trace.summary()["dropped"] == 0


def test_a_handler_that_jumps_out(tap):
    """The call that it left can be lost between its return and its record: then it is torn, and nothing else is lost."""
    trace = tap.run([harness.program("timer_io"), "300", "jump"])
    made = check_timer(tap, trace)
    causes = trace.summary()["dropped_by_cause"]
    assert causes.pop("torn") <= made["ticks"] and not any(causes.values()), causes


@pytest.mark.soak
def test_a_handler_for_ten_seconds(tap):
    """More events than a test can hold one by one: what each file and call have is compared."""
    trace = tap.run([harness.program("timer_io"), "10000"], deadline=300, check="sums")
    made = json.loads(trace.ran.stdout)
    summary = trace.summary()
    assert summary["dropped"] == summary["dropped_by_cause"]["ring_full"]
    counts = {c["name"]: c["count"] for c in summary["calls"]}
    files = made["ticks"] + 6  # the handler's, the threads', main's and stdout
    assert counts["lseek"] == made["seeks"]
    assert counts["write"] - made["ticks"] - made["writes"] in (0, 1)
    assert counts["open"] == files - 1 and counts["close"] == made["ticks"]


@pytest.mark.parametrize("count", [20_000, pytest.param(100_000, marks=pytest.mark.soak)])
def test_threads_of_one_write_each(tap, count):
    trace = tap.run([harness.program("thread_churn"), str(count)], deadline=300)
    writes = trace.events(name="write", path=str(tap.work / "churn"))
    assert len(writes) == count
    assert trace.summary()["dropped"] == 0


def test_ends_of_threads_and_programs(tap):
    trace = tap.run([harness.program("tls_end")])
    for name in ("round-1", "round-2", "round-3", "round-4", "atexit", "destructor", "constructor"):
        assert trace.file(tap.work / name)["written_bytes"] == 1, name


def test_concurrent_streams(tap):
    trace = tap.run([harness.program("stdio_threads")])
    for n in range(8):
        assert trace.file(tap.work / f"own-{n}")["written_bytes"] == (tap.work / f"own-{n}").stat().st_size
    assert trace.file(tap.work / "shared")["written_bytes"] == (tap.work / "shared").stat().st_size


def test_jumps_and_exceptions_out_of_callbacks(tap):
    trace = tap.run([harness.program("jump_out")])
    for name in ("qsort", "nftw", "after-1", "after-2"):
        assert trace.file(tap.work / name)["opens"] >= 1, name


MADE_BESIDE = 2 * 3 + 2  # many_threads looks at its own memory twice, and prints two lines


def test_three_thousand_threads_at_once(tap):
    """Each holds a chunk; where the ring is not made larger in time, calls and bytes are counted."""
    trace = tap.run([harness.program("many_threads"), "3000"], deadline=180)
    summary = trace.summary()
    assert summary["events"] == 3 * (3000 + 2000) + MADE_BESIDE
    assert summary["dropped"] == summary["dropped_by_cause"]["ring_full"]
    counts = {c["name"]: (c["count"], c["bytes"]) for c in summary["calls"]}
    assert counts["open"][0] == 3000 + 2000 + 2 and counts["write"][0] in (5001, 5002)


def test_threads_that_come_and_go_take_no_memory(tap):
    """Apart from the ring, which grows with what is in it and not with threads."""
    trace = tap.run([harness.program("many_threads"), "16"])
    assert counted.check(tap, trace) == {"at once": 16, "in turn": 2000}
    before, after = map(int, trace.ran.stdout.split(b"\n")[0].split())
    assert after <= before + 64, (before, after)


def test_more_threads_at_once_than_lines(tap):
    """Beyond the lines that a segment has, events are counted and dropped, never silently."""
    trace = tap.run([harness.program("many_threads"), "4500"], deadline=180)
    summary = trace.summary()
    causes = summary["dropped_by_cause"]
    assert summary["events"] == 3 * (4500 + 2000) + MADE_BESIDE
    assert causes["daemon_limit"] > 0 and summary["dropped"] == causes["daemon_limit"] + causes["ring_full"], causes


def test_threads_that_start_before_all_is_initialised(tap):
    """What one thread calls while another attaches is at least counted: of what it calls, nothing but the beginning is missing."""
    for _ in range(5):
        daemon = tap.daemon()
        preload = f"{harness.program('early_thread.so')}:{harness.PRELOAD}"
        done = daemon.call([harness.program("touch_all"), "a"], cwd=tap.work, env={"LD_PRELOAD": preload})
        assert done.same() == (0, b"", b"")
        trace = daemon.stop()
        summary = trace.summary()
        assert summary["events"] == 3 * (4 * 200 + 1), summary["dropped_by_cause"]
        assert summary["dropped"] == summary["dropped_by_cause"]["daemon_limit"], summary["dropped_by_cause"]
        calls = collections.defaultdict(list)
        for event in trace.events():
            calls[event["tid"]].append(event["name"])
        first = trace.one_process()["pid"]
        for tid, names in calls.items():
            assert names == (["open", "write", "close"] * (1 if tid == first else 200))[-len(names):], tid


def test_flat_calls_of_eight_threads_have_no_parents(tap):
    """Each event is one line of its own, of the thread that made it; within a thread they follow each other."""
    trace = tap.run([harness.program("hammer"), "8", "500"])
    events = trace.events(name="pread")
    assert len(events) == 8 * 500
    assert all(not set(e) & {"parent", "children", "level"} for e in events)
    assert len({(e["tid"], e["ts"]) for e in events}) == len(events), "no two of a thread begin together"
    for tid in {e["tid"] for e in events}:
        own = [e for e in events if e["tid"] == tid]
        assert len(own) == 500
        assert all(a["ts"] + a["dur"] <= b["ts"] for a, b in zip(own, own[1:]))


FIRST_ENDED = {"return": 0, "pthread_exit": 0, "exit": 5, "_exit": 5, "exec": 0, "kill": 128 + signal.SIGKILL, "exit-cancelled": 5, "exec-cancelled": 0}


@pytest.mark.parametrize("how", FIRST_ENDED)
def test_a_process_whose_first_thread_has_ended(tap, how):
    """The kernel keeps that one until the last has ended, with no file and no memory of its own."""
    trace = tap.run([harness.program("first_ended"), how], status=FIRST_ENDED[how])
    said = trace.ran.stdout  # between what is executed prints
    counts = json.loads(said[said.index(b"{"):said.index(b"}") + 1])
    assert counts == {"alone": 2, "thread": 1, "forked": 2, "raw": 2, "executed": 2}
    for name in ("alone", "thread", "forked", "raw"):
        assert trace.count(name="write", path=str(tap.work / name)) == counts[name], name
    (pid,) = {e["pid"] for e in trace.events(name="write", path=str(tap.work / "alone"))}
    became = {p["pid"]: p for p in sorted(trace.processes(), key=lambda p: p["start"])}
    images = [p["exe"].rsplit("/", 1)[1] for p in sorted(trace.processes(), key=lambda p: p["start"]) if p["pid"] == pid]
    assert images == ["first_ended", "cat"][:1 + how.startswith("exec")]
    status = became.pop(pid)["exit"]
    assert status.get("code") == FIRST_ENDED[how] or 128 + status["signal"] == FIRST_ENDED[how]
    assert {p["parent"] for p in became.values()} == {pid}
    assert sorted(p["exit"]["code"] for p in became.values()) == [0, 0, 3, 3, 4, 4]
    assert trace.file(tap.work / "raw")["read_bytes"] == 2 * how.startswith("exec")
    assert not [p["in_call"] for p in trace.processes() if p["in_call"]]
    assert trace.gaps() == [] and trace.summary()["dropped"] == 0
