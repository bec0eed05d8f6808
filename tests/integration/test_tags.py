# SPDX-License-Identifier: MIT
"""Tags that a program sets while it runs: which events have them, by thread and time, also across a daemon's death."""

import collections
import os
import signal
import subprocess

import pytest

import harness
import manager

ROUNDS = 4000


@pytest.mark.parametrize("age", ["10ms", "5s"])
def test_a_tag_of_the_process_holds_by_time(tap, age):
    """Two threads hand over by a barrier: neither one's earlier events have the new tag, nor later ones the old."""
    daemon = tap.daemon(f"block_age={age}")
    done = daemon.call([harness.program("tagged_steps"), tap.work, "handover", ROUNDS])
    assert done.returncode == 0, done.stderr
    trace = daemon.stop()
    for name in ("main", "worker"):
        writes = trace.events(name="pwrite", path=str(tap.work / name))
        assert [e["offset"] for e in writes] == list(range(ROUNDS))
        wrong = [(e["offset"], e["tags"]) for e in writes if e["tags"] != {"round": str(e["offset"])}]
        assert not wrong, (name, len(wrong), wrong[:5])
    # What began before the tag has the one before.
    around = {e["args"]["step"]: e for e in trace.events(name="around")}
    assert sorted(around) == [n for n in range(ROUNDS) if n % 8 < 2]
    wrong = [(n, e.get("tags")) for n, e in around.items() if e.get("tags", {}) != ({"round": str(n - 1)} if n else {})]
    assert not wrong, (len(wrong), wrong[:5])
    assert trace.one_process()["tags"] == {"round": str(ROUNDS - 1)}


def check_steps(trace, work, counts, kills):
    """Each step once and with the tags that its number says; main's tag of the process by time on the worker's."""
    writes = {name: trace.events(name="pwrite", path=str(work / name)) for name in ("main", "worker")}
    for name, events in writes.items():
        assert sorted(e["offset"] for e in events) == list(range(counts[name])), name
        for e in events:
            n = e["offset"]
            own = {k: v for k, v in e["tags"].items() if name == "main" or k != "phase"}
            assert own == {"epoch": str(n // 50), "batch": str(n), **({"phase": str(n // 80)} if name == "main" else {})}, e
    # The worker's events between two of main's have the phase of one or the other.
    last, waiting, blurred = -1, [], 0
    for e in sorted(writes["main"] + writes["worker"], key=lambda e: e["ts"]):
        phase = int(e["tags"].get("phase", -1))
        if e["path"].endswith("worker"):
            assert phase >= last, (phase, last, e)
            waiting.append(phase)
            continue
        # One that began before a tag and ended behind a kill has the new one.
        blurred += sum(one > phase for one in waiting)
        assert blurred <= kills, (waiting, e)
        last, waiting = phase, []
    children = collections.defaultdict(list)
    for e in trace.events(name="pwrite", path=str(work / "child")):
        children[e["pid"]].append(e)
    # A child may have come and not been held yet when the daemon was killed: then it is a gap.
    assert len(children) + sum(gap["count"] for gap in trace.gaps()) == counts["main"] // 100, trace.gaps()
    told = collections.Counter(tuple(sorted(e["tags"].items())) for events in children.values() for e in events[:1])
    forked = collections.Counter((("epoch", str(n // 50)), ("phase", str(n // 80))) for n in range(99, counts["main"], 100))
    assert not told - forked, told - forked
    assert {gap["kind"] for gap in trace.gaps()} <= {"daemon_stopped", "not_attached"} and len(trace.gaps()) <= kills
    assert all(e["tags"] == events[0]["tags"] for events in children.values() for e in events)


def steps_in_file(daemon, work):
    done = harness.read_command("files", "--json", daemon.spool)
    files = manager.Trace(daemon.spool, harness.read_command).files() if done.returncode == 0 else []
    return sum(f["writes"] for f in files if f["path"] == str(work / "main"))


@pytest.mark.parametrize("age", ["20ms", "1s"])
def test_tags_set_at_run_time_hold_across_kills(tap, age):
    """Of a thread, of the process, in a scope: what comes after kill -9 and take-over has them as if nothing had been."""
    daemon = manager.Manager(tap, f"block_age={age}").start()
    program = daemon.spawn([harness.program("tagged_steps"), tap.work, "steps"], stdout=subprocess.PIPE,
                           env={"FLOWTAP_JOB": "steps"})
    harness.wait_until("it is held", daemon.names)
    for _ in range(4):
        before = steps_in_file(daemon, tap.work)
        harness.wait_until("more steps in the file", lambda before=before: steps_in_file(daemon, tap.work) > before + 150)
        daemon.kill()
        daemon.start()
    before = steps_in_file(daemon, tap.work)
    harness.wait_until("more steps in the last file", lambda: steps_in_file(daemon, tap.work) > before + 150)
    os.kill(program.pid, signal.SIGTERM)
    out, _ = program.communicate(timeout=harness.DEADLINE_S)
    assert program.returncode == 0
    counts = {name.decode(): int(n) for name, n in (line.split() for line in out.splitlines())}
    trace = daemon.stop()
    assert len(trace.flow_files()) == 5
    check_steps(trace, tap.work, counts, kills=4)
    main = [p for p in trace.processes() if p["pid"] == program.pid]
    assert [p["tags"]["phase"] for p in main] == [str((counts["main"] - 1) // 80)]
