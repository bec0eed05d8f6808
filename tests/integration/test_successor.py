# SPDX-License-Identifier: MIT
"""Each event exactly once, whatever becomes of the daemon: it is killed, restarted, killed again while it takes over."""

import collections
import contextlib
import os
import random
import signal
import subprocess

import pytest

import harness
import manager
import traced


class Load:
    """Processes that write numbered records, and what they say that they did."""

    def __init__(self, daemon, folder, processes=8, fork_every=4000, count=None):
        folder.mkdir(exist_ok=True)
        words = [harness.program("write_load"), folder, processes, fork_every, *([count] if count else [])]
        self.process = daemon.spawn(words, stdout=subprocess.PIPE, env={"FLOWTAP_JOB": "load"})
        self.daemon = daemon

    def stop(self):
        """{pid: how many it wrote}."""
        os.killpg(self.process.pid, signal.SIGTERM)
        out, _ = self.process.communicate(timeout=harness.DEADLINE_S)
        assert self.process.returncode == 0
        return {int(pid): int(count) for pid, count in (line.split() for line in out.splitlines())}


def check_exactly_once(trace, wrote, may_be_lost=()):
    """Every record of every process is there once; the accounting closes over all files.

    A process of may_be_lost can have been between the daemon's accept and its storing when that was killed: then
    nothing of it is there, and a gap names it.
    """
    trace.check_accounting()
    offsets = collections.defaultdict(collections.Counter)
    for event in trace.events(name="pwrite"):
        offsets[event["pid"]][event["offset"]] += 1
    gaps = {gap["pid"] for gap in trace.gaps()}
    for pid, count in wrote.items():
        twice = sorted(n for n, times in offsets[pid].items() if times > 1)
        assert not twice, f"process {pid}: {len(twice)} records twice, from {twice[:5]}"
        missing = sorted(set(range(count)) - set(offsets[pid]))
        if missing and pid in may_be_lost and not offsets[pid]:
            assert pid in gaps, f"process {pid} is lost, and no gap says so: {trace.gaps()}"
        else:
            assert not missing, f"process {pid}: {len(missing)} of {count} records missing, from {missing[:5]}"
        assert set(offsets[pid]) <= set(range(count)), f"process {pid}: records that it never wrote"
    assert {pid for pid, found in offsets.items() if found} <= set(wrote), "processes that never were"
    verified = harness.read_command("verify", trace.path)
    assert verified.returncode == 0, verified.stdout[-2000:]


def flow_files(daemon):
    return sorted(daemon.spool.rglob("*.flow"))


def size_of(daemon):
    return sum(path.stat().st_size for path in flow_files(daemon))


def workers_of(trace):
    """Processes that had children, or are such: all but the short-lived ones."""
    parents = {p["parent"] for p in trace.processes() if p.get("parent")}
    return {p["pid"] for p in trace.processes() if p["pid"] in parents}


def kill_again_and_again(tap, times, seed):
    rng = random.Random(seed)
    daemon = manager.Manager(tap).start()
    load = Load(daemon, tap.work / "load")
    harness.wait_until("the first block", lambda: size_of(daemon) > 3000)
    for _ in range(times):
        # A moment by chance: so much more in the file, or while the next daemon is taking over.
        until = size_of(daemon) + rng.randrange(1, 20000)
        deadline = rng.choice((0.002, 0.01, 0.05, 0.3))
        with contextlib.suppress(AssertionError):
            harness.wait_until("so much", lambda until=until: size_of(daemon) >= until, deadline)
        daemon.kill()
        daemon.start(wait=rng.random() < 0.8)
    daemon.wait_ready()
    wrote = load.stop()
    trace = daemon.stop()
    check_exactly_once(trace, wrote, may_be_lost=set(wrote) - workers_of(trace))
    kinds = {gap["kind"] for gap in trace.gaps()}
    assert kinds <= {"not_attached", "daemon_stopped"} and not trace.summary()["partial"], trace.summary()["gaps"]
    assert len(wrote) > 8 and sum(wrote.values()) > 1000


def test_killed_ten_times_under_load(tap):
    kill_again_and_again(tap, 10, seed=1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
def test_killed_a_hundred_times_under_load(tap, seed):
    kill_again_and_again(tap, 10, seed=100 + seed)


def test_one_kill_and_all_is_there(tap):
    daemon = manager.Manager(tap).start()
    load = Load(daemon, tap.work / "load", processes=2, fork_every=0)
    harness.wait_until("a block in the file", lambda: size_of(daemon) > 3000)
    before = traced.Trace(daemon.spool, harness.read_command).processes()
    daemon.kill()
    daemon.start()
    harness.wait_until("a second file", lambda: len(flow_files(daemon)) == 2)
    wrote = load.stop()
    trace = daemon.stop()
    assert len(trace.flow_files()) == 2
    check_exactly_once(trace, wrote)
    assert trace.gaps() == [] and not trace.summary()["partial"]
    # Who they are is what it was: the same process, not a second one.
    kept = ("pid", "parent", "exe", "argv", "job", "start", "rank", "tags")
    after = {p["pid"]: {k: p.get(k) for k in kept} for p in trace.processes()}
    assert len(after) == len(trace.processes()) == len(before)
    for p in before:
        assert after[p["pid"]] == {k: p.get(k) for k in kept}
    assert all(p["exit"]["code"] == 0 for p in trace.processes())
    assert daemon.names() == []
