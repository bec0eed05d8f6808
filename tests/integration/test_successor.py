# SPDX-License-Identifier: MIT
"""Each event exactly once, whatever becomes of the daemon: it is killed, restarted, killed again while it takes over."""

import collections
import contextlib
import json
import os
import random
import signal
import struct
import subprocess

import pytest

import harness
import manager
import traced


class Load:
    """Processes that write numbered records, and what they say that they did."""

    def __init__(self, daemon, folder, processes=8, fork_every=4000, count=None, hold=False, under=(), env=None):
        folder.mkdir(exist_ok=True)
        words = [*under, harness.program("write_load"), folder, processes, fork_every, *([count] if count else []), *(["hold"] if hold else [])]
        self.process = daemon.spawn(words, stdout=subprocess.PIPE, env={"FLOWTAP_JOB": "load", **(env or {})})
        self.daemon, self.count = daemon, processes + 1

    def is_held(self):
        """By the service manager, all that live as long as this: before that a kill of the daemon may lose them."""
        return len(self.daemon.names()) >= self.count

    def stop(self):
        """{pid: how many it wrote}."""
        os.killpg(self.process.pid, signal.SIGTERM)
        out, _ = self.process.communicate(timeout=harness.DEADLINE_S)
        assert self.process.returncode == 0
        said = [[int(word) for word in line.split()] for line in out.splitlines()]
        self.parents = {pid: parent for pid, _, parent in said}
        return {pid: count for pid, count, _ in said}


def check_exactly_once(trace, wrote, may_be_lost=(), parents=None):
    """Every record of every process is there once; the accounting closes over all files.

    A process of may_be_lost can have been between the daemon's accept and its storing when that was killed: then
    nothing of it is there but what was in the file by then, and a gap names it; or, where it had not sent its memory yet, it
    went on untraced, and what it forked (`parents` knows) did too.
    """
    trace.check_accounting()
    offsets = collections.defaultdict(collections.Counter)
    for event in trace.events(name="pwrite"):
        offsets[event["pid"]][event["offset"]] += 1
        assert event["path"].endswith(f"-{event['pid']}"), event
    gaps = {gap["pid"] for gap in trace.gaps()}
    for pid, count in wrote.items():
        twice = sorted(n for n, times in offsets[pid].items() if times > 1)
        assert not twice, f"process {pid}: {len(twice)} records twice, from {twice[:5]}"
        missing = sorted(set(range(count)) - set(offsets[pid]))
        if missing and pid in may_be_lost and missing[0] == len(offsets[pid]):  # there is nothing behind what is missing
            told = {pid} if offsets[pid] else {pid, (parents or {}).get(pid)}
            assert told & gaps, f"process {pid} is lost from {missing[0]}, and no gap says so: {trace.gaps()}"
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
    harness.wait_until("the first block", lambda: size_of(daemon) > 3000 and load.is_held())
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
    harness.wait_until("all of them in the file", lambda: are_stored(daemon, 3) and load.is_held())
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


def test_tags_hold_across_kills(tap):
    """Of two loads of one job, each with its own; also of what they start between two daemons."""
    daemon = manager.Manager(tap, "block_age=50ms").start()
    tags = [{"epoch": "3", "model": "a b"}, {"epoch": "4"}]
    loads = [Load(daemon, tap.work / f"load{i}", processes=2, fork_every=100,
                  env={"FLOWTAP_TAGS": ",".join(f"{k}={v}" for k, v in one.items())}) for i, one in enumerate(tags)]
    for parts in (1, 2, 3):
        before = stored(daemon)
        harness.wait_until("some more in the file", lambda before=before: stored(daemon) > before + 200)
        assert len(flow_files(daemon)) == parts
        daemon.kill()
        daemon.start()
    before = stored(daemon)
    harness.wait_until("some more in the last file", lambda: stored(daemon) > before + 200)
    wrote = [load.stop() for load in loads]
    trace = daemon.stop()
    check_exactly_once(trace, {**wrote[0], **wrote[1]}, may_be_lost={pid for one in wrote for pid in one})
    for load, of_load, own in zip(loads, wrote, tags):
        pids = {load.process.pid, *of_load}
        told = [p["tags"] for p in trace.processes() if p["pid"] in pids]
        assert len(told) > 4 and all(one == own for one in told), told
        assert {json.dumps(e["tags"], sort_keys=True) for e in trace.events() if e["pid"] in pids} == {json.dumps(own, sort_keys=True)}
    # The tables of every part alone say so, too.
    for path in trace.flow_files():
        part = traced.Trace(path, harness.read_command)
        assert part.events(name="pwrite") and all(e["tags"] in tags for e in part.events()), path


def test_a_restart_goes_on_and_a_stop_is_a_gap(tap):
    daemon = manager.Manager(tap).start()
    load = Load(daemon, tap.work / "load", processes=3, fork_every=0)
    harness.wait_until("a block in the file", lambda: size_of(daemon) > 3000 and load.is_held())
    daemon.restart()
    assert len(daemon.names()) == 4
    trace = traced.Trace(daemon.spool, harness.read_command)
    harness.wait_until("a second file", lambda: len(flow_files(daemon)) == 2)
    daemon.restart()
    harness.wait_until("a third file", lambda: len(flow_files(daemon)) == 3)
    wrote = load.stop()
    trace = daemon.stop()
    check_exactly_once(trace, wrote)
    assert trace.gaps() == [] and not trace.summary()["partial"], trace.gaps()
    assert all(json.loads(harness.read_command("info", "--json", path).stdout)["files"][0]["closed"]
               for path in trace.flow_files())


def test_restarts_while_processes_come_and_go(tap):
    """What lives a moment ends while the daemon does, or has sent its segment to the next one already."""
    daemon = manager.Manager(tap).start()
    load = Load(daemon, tap.work / "load", processes=6, fork_every=300)
    for _ in range(5):
        until = size_of(daemon) + 1000
        harness.wait_until("so much", lambda until=until: size_of(daemon) >= until)
        daemon.restart()
    wrote = load.stop()
    trace = daemon.stop()
    check_exactly_once(trace, wrote)
    assert trace.gaps() == [] and not trace.summary()["partial"], json.dumps(trace.gaps())


def test_a_stop_while_processes_run_is_a_gap_for_each(tap):
    daemon = manager.Manager(tap).start()
    load = Load(daemon, tap.work / "load", processes=3, fork_every=0)
    harness.wait_until("a block in the file", lambda: size_of(daemon) > 3000 and load.is_held())
    trace = daemon.stop()
    stopped = {gap["pid"] for gap in trace.gaps("daemon_stopped")}
    assert len(stopped) == 4 and trace.summary()["stored"] > 0
    daemon.start()
    wrote = load.stop()
    assert set(wrote) < stopped
    again = daemon.stop()
    assert [path for path in again.flow_files()] == [path for path in trace.flow_files()]


@pytest.mark.parametrize("held", [True, False])
def test_idle_processes_are_gone_on_with(tap, held):
    """A hundred that sleep while the daemon is killed; where nobody held their memory each of them is a gap."""
    daemon = manager.Manager(tap, *(() if held else ("max_stored=0",))).start()
    load = Load(daemon, tap.work / "load", processes=100, fork_every=0, count=20, hold=True)
    harness.wait_until("all of it in the file", lambda: are_stored(daemon, 101, 2000))
    if held:
        harness.wait_until("all of them held", lambda: len(daemon.names()) == 101)
    daemon.kill()
    daemon.start()
    harness.wait_until("the next file", lambda: len(flow_files(daemon)) == 2)
    trace = traced.Trace(daemon.spool, harness.read_command)
    wrote = load.stop()
    trace = daemon.stop()
    check_exactly_once(trace, wrote)
    assert len(wrote) == 100 and len(trace.processes()) == 101
    exits = {p["pid"]: p.get("exit") for p in trace.processes()}
    if held:
        assert trace.gaps() == []
        assert all(exits[pid]["code"] == 0 for pid in wrote)
    else:
        assert {gap["pid"] for gap in trace.gaps("daemon_stopped")} == set(exits)


def stored(daemon):
    done = harness.read_command("summary", "--json", daemon.spool)
    return json.loads(done.stdout)["stored"] if done.returncode == 0 else 0


def are_stored(daemon, processes, pwrites=1):
    """Whether so many processes are in the file, with so many records of theirs: not only what else they called."""
    done = harness.read_command("summary", "--json", daemon.spool)
    told = json.loads(done.stdout) if done.returncode == 0 else {"processes": 0, "calls": []}
    return told["processes"] >= processes and sum(c["count"] for c in told["calls"] if c["name"] == "pwrite") >= pwrites


def test_a_stop_tells_of_children_that_are_waited_for_still(tap, preload):
    """Two that are killed while they attach; nobody else is left when the daemon is told to end."""
    daemon = manager.Manager(tap, "block_after_end=0").start()
    done = daemon.call([harness.program("numbered"), tap.work / "witness", 9, "fork"], cwd=tap.work,
                       env={"LD_PRELOAD": preload, "FLOWTAP_TEST_POINT": f"memory_taken:2:{int(signal.SIGKILL)}"})
    assert done.returncode == 0
    harness.wait_until("all of it in the file", lambda: size_of(daemon) and not daemon.names())
    trace = daemon.stop()
    # not_attached where their time was over by then, else daemon_stopped: "was starting when the daemon ended"
    assert sum(gap["count"] for gap in trace.gaps()) == 2, trace.gaps()


def test_who_ends_while_no_daemon_runs_is_all_there(tap):
    daemon = manager.Manager(tap).start()
    load = Load(daemon, tap.work / "load", processes=4, fork_every=0)
    harness.wait_until("a block in the file", lambda: size_of(daemon) > 3000 and load.is_held())
    daemon.kill()
    wrote = load.stop()
    daemon.start()
    trace = daemon.stop()
    check_exactly_once(trace, wrote)
    assert trace.gaps() == [] and len(wrote) == 4
    ended = [p for p in trace.processes() if p["pid"] in wrote]
    # How it ended nobody saw; that it did is known.
    assert all(p["end"] and not p["exit"] for p in ended), ended


def test_who_starts_and_executes_while_no_daemon_runs_is_all_there(tap):
    daemon = manager.Manager(tap).start()
    go = tap.work / "go"
    os.mkfifo(go)
    script = f'read line < {go}; "$1" waiting & wait $!; exec "$1" executed'
    shell = daemon.spawn(["bash", "-c", script, "sh", harness.program("touch_all")], cwd=tap.work,
                         env={"FLOWTAP_JOB": "load"})
    harness.wait_until("the shell held", lambda: len(daemon.names()) == 1)
    daemon.kill()
    with open(go, "w", encoding="ascii") as line:
        line.write("\n")
    assert shell.wait(harness.DEADLINE_S) == 0
    done = daemon.call([harness.program("touch_all"), "new"], cwd=tap.work, env={"FLOWTAP_JOB": "load"})
    assert done.returncode == 0
    daemon.start()
    trace = daemon.stop()
    trace.check_accounting()
    for name in ("waiting", "executed", "new"):
        assert trace.count(name="write", path=str(tap.work / name)) == 1, name
    assert trace.gaps() == [], trace.gaps()
    images = [p for p in trace.processes() if p["pid"] == shell.pid]
    assert sorted(os.path.basename(p["exe"]) for p in images) == ["bash", "touch_all"], images


# ---- kills at a chosen place


def killed_at(which, when):
    harness.needs_program("strace")
    return ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={which}", "-e", f"inject={which}:signal=SIGKILL:when={when}"]


def frames(data):
    """Offsets of the frames' begins."""
    at = 0
    while at + 24 <= len(data):
        _, _, _, head, rest, _, _ = struct.unpack_from("<4sHHIIII", data, at)
        yield at
        at += 24 + head + rest
    assert at == len(data)


@pytest.mark.parametrize("which", ["write", "pwrite64"])
def test_killed_between_the_file_and_the_ring(tap, which):
    """Before a frame is written, or with a part of it; after it was, and before the ring knows."""
    daemon = manager.Manager(tap, "block_age=100ms").start(under=killed_at(which, 40 if which == "write" else 3))
    load = Load(daemon, tap.work / "load", processes=2, fork_every=0)
    for when in (9, 12, 17, 22):
        daemon.wait_killed()
        newest = max(flow_files(daemon), key=lambda path: path.stat().st_mtime_ns)
        data = newest.read_bytes()
        *_, last = frames(data)
        if which == "write":  # so much of the next frame was written
            newest.write_bytes(data + data[last:][:max(1, (len(data) - last) * when // 25)])
        daemon.start(wait=False, under=killed_at(which, when))
    daemon.wait_killed()
    daemon.start()
    wrote = load.stop()
    trace = daemon.stop()
    check_exactly_once(trace, wrote)
    assert trace.gaps() == [] and not trace.summary()["partial"]
    verified = json.loads(harness.read_command("verify", "--json", trace.path).stdout)
    problems = {p["what"] for f in verified["files"] for p in f["problems"]}
    assert any("the next one begins before that" in text for text in problems) == (which == "write"), problems
    if which == "write":  # alone, the first file cannot know that nothing is missing
        assert harness.read_command("verify", trace.flow_files()[0]).returncode == 1


@pytest.mark.parametrize("seed", range(4))
def test_killed_while_it_takes_over(tap, seed):
    rng = random.Random(seed)
    daemon = manager.Manager(tap).start()
    load = Load(daemon, tap.work / "load", processes=4, fork_every=5000)
    harness.wait_until("a block in the file", lambda: size_of(daemon) > 3000 and load.is_held())
    daemon.kill()
    for _ in range(4):
        daemon.start(wait=False, under=killed_at("all", rng.randrange(150, 900)))
        daemon.wait_killed()
    daemon.start()
    wrote = load.stop()
    trace = daemon.stop()
    check_exactly_once(trace, wrote, may_be_lost=set(wrote) - workers_of(trace))
    assert not trace.summary()["partial"]
