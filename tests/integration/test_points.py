# SPDX-License-Identifier: MIT
"""A process is stopped or killed at each instruction that matters: the trace is whole, and the accounting closes.

The shim of VARIANT=points raises a signal where FLOWTAP_TEST_POINT says (client/shim/test_point.h). What the program
really did is in a file of its own, in shared memory: numbers begun and done.
"""

import json
import os
import re
import signal
import struct
import subprocess
import sys

import pytest

import harness
from test_questions import connect
from test_run_daemon import children_of

POINTS = harness.REPO / "client/shim/test_points.def"
NUMBER = 400
BEFORE_NUMBERS = 5  # open, ftruncate, mmap, close of the witness; open of the numbers

# point: (mode of the program, the time that is meant); several where a point is passed for several reasons. A forked
# child goes on counting where its parent was: with 2 at a point of attaching, every child is meant.
WHERE = {
    "call_shown": [("burst", 1), ("burst", 77), ("plain", 130)],
    "call_done": [("burst", 1), ("burst", 77), ("plain", 130)],
    "recording": [("burst", 1), ("burst", 77), ("plain", 130)],
    "line_known": [("burst", 1), ("burst", 77), ("plain", 130)],
    "emitted": [("burst", 2), ("burst", 77), ("plain", 130)],
    "reserved": [("burst", 1), ("burst", 77), ("burst", 200)],
    "written": [("burst", 1), ("burst", 77), ("burst", 200)],
    "published": [("burst", 1), ("burst", 77), ("burst", 200)],
    "reserved_long": [("plain", 1), ("plain", 20)],
    "written_long": [("plain", 1), ("plain", 20)],
    "name_reserved": [("plain", 2), ("plain", 20)],
    "name_written": [("plain", 2), ("plain", 20)],
    "dropping": [("flood", 1), ("flood", 50)],
    "dropped": [("flood", 1), ("flood", 50)],
    "chunk_padded": [("burst", 1), ("burst", 3)],
    "chunk_full": [("burst", 1), ("burst", 3)],
    "chunk_taken": [("burst", 1), ("burst", 2), ("burst", 4)],
    "chunk_headed": [("burst", 1), ("burst", 2), ("burst", 4)],
    "chunk_filled": [("burst", 1), ("burst", 2), ("burst", 4)],
    "chunk_given_up": [],  # needs a handler between two instructions: below
    "growth_counted": [("flood", 1)],
    "growth_populated": [("flood", 1)],
    "thread_line": [("burst", 1)],
    "memfd_made": [("burst", 1), ("fork", 2)],
    "memory_taken": [("burst", 1), ("fork", 2)],
    "head_filled": [("burst", 1), ("fork", 2)],
    "ready": [("burst", 1), ("fork", 2)],
    "connected": [("burst", 1), ("fork", 2)],
    "sent": [("burst", 1), ("fork", 2)],
    "attached": [("burst", 1), ("fork", 2)],
    "child_new": [("fork", 1)],
    "vfork_entered": [("vfork", 1), ("vfork", 3)],
    "vfork_left": [("vfork", 1), ("vfork", 3)],
    "before_exec": [("exec", 1), ("vfork", 1)],
    "finishing": [("burst", 1), ("stdio", 1)],
    "finished": [("burst", 1), ("stdio", 1)],
}
CASES = [(point, mode, count) for point, places in WHERE.items() for mode, count in places]
NOT_ATTACHED = ("memfd_made", "memory_taken", "head_filled", "ready", "connected")


def test_every_point_of_the_shim_has_its_cases():
    assert re.findall(r"^FT_POINT\((\w+),", POINTS.read_text(), re.M) == list(WHERE)


def test_every_point_is_passed_somewhere():
    """A change that moves code must not lose the points in it: its tests would wait for nothing."""
    code = "".join(p.read_text() for p in POINTS.parent.glob("*.[ch]"))
    assert [point for point in WHERE if f"FT_TEST_POINT({point})" not in code] == []


class Run:
    """The program under a daemon of its own, with a signal at one point."""

    def __init__(self, tap, preload, point, mode, count, number, *settings, has_parent=True):
        self.daemon = tap.daemon(*settings)
        self.witness_path = tap.work / "witness"
        if mode == "flood":
            self.daemon.process.send_signal(signal.SIGSTOP)
        argv = [harness.program("numbered"), self.witness_path, 200_000 if mode == "flood" else NUMBER, mode.replace("flood", "burst")]
        wish = f"{point}:{count}:{int(number)}"
        is_below = point in NOT_ATTACHED and has_parent
        if is_below:  # a parent that did attach is there to tell of it
            argv = ["sh", "-c", 'FLOWTAP_TEST_POINT="$0" "$@"; exit $?', wish, *argv]
        env = self.daemon.env(LD_PRELOAD=preload, FLOWTAP_TEST_POINT=None if is_below else wish)
        self.process = subprocess.Popen([str(a) for a in argv], cwd=tap.work, env=env, stdin=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        tap.cleanup.append(self.process.kill)

    def witness(self):
        data = self.witness_path.read_bytes() if self.witness_path.exists() else b""
        return struct.unpack("<3Q", data) if len(data) == 24 else (0, 0, 0)

    def let_the_daemon_look(self):
        """Until a process that came later is in the file with its end: each pass looks at all segments."""
        assert self.daemon.call(["true"]).returncode == 0

        def is_stored():
            done = harness.read_command("processes", "--json", self.daemon.spool)
            return done.returncode == 0 and any(p["exe"] == "/usr/bin/true" and p["exit"] for p in json.loads(done.stdout)["processes"])

        harness.wait_until("the later process in the file", is_stored)

    def trace(self):
        self.daemon.process.send_signal(signal.SIGCONT)
        trace = self.daemon.stop()
        assert harness.call([harness.FLOWTAP, "verify", self.daemon.spool]).returncode == 0
        return trace


def numbers_of(trace):
    """Numbers of the program's first image, in the order of the trace."""
    first = min((p for p in trace.processes() if p["exe"].endswith("/numbered")), key=lambda p: p["start"], default=None)
    written = trace.events(name="pwrite", pid=first["pid"]) if first else []
    return [e["offset"] // 8 for e in written]


@pytest.mark.parametrize("point,mode,count", CASES)
def test_killed(tap, preload, point, mode, count):
    run = Run(tap, preload, point, mode, count, signal.SIGKILL)
    status = run.process.wait(harness.DEADLINE_S)
    begun, done, _ = run.witness()
    in_child = (mode == "fork" and point not in ("vfork_entered", "vfork_left")) or (point, mode) == ("before_exec", "vfork")
    if in_child:
        assert (status, begun, done) == (0, NUMBER, NUMBER), "the child alone was killed"
    trace = run.trace()
    torn = trace.summary()["dropped_by_cause"]["torn"]
    assert torn <= 1, torn
    if point in NOT_ATTACHED:
        gaps = trace.gaps("not_attached")
        assert sum(g["count"] for g in gaps) == (NUMBER // 8 if in_child else 1), gaps
        assert all(g["exe"].endswith("/numbered") for g in gaps), gaps
    if point in NOT_ATTACHED and not in_child:
        assert status == 128 + signal.SIGKILL
        assert not any(p["exe"].endswith("/numbered") and p["events"] for p in trace.processes())
        return
    numbers = numbers_of(trace)
    if mode == "flood":
        first = trace.image("/numbered")
        assert first["events"] == BEFORE_NUMBERS + done + 1, (first, done)
        # what is counted in the line and not yet per call is one call of one thread
        missing = first["events"] - torn - sum(c["count"] for c in trace.summary()["calls"])
        assert missing == (1 if point == "dropped" else 0)
        return
    numbers = numbers[:NUMBER] if mode == "exec" else numbers
    assert numbers == list(range(len(numbers))), "each once, in order"
    assert len(numbers) in (done, done + 1), (len(numbers), begun, done, torn)


STOPS = [(p, m, c) for p, m, c in CASES if m in ("burst", "plain") and p not in NOT_ATTACHED]


@pytest.mark.parametrize("patience", ["60s", "0s"])
@pytest.mark.parametrize("point,mode,count", STOPS)
def test_stopped_and_continued(tap, preload, point, mode, count, patience):
    """The daemon looks meanwhile. With patience 0 it has passed over what is not published when the program goes on."""
    run = Run(tap, preload, point, mode, count, signal.SIGSTOP, f"torn_wait={patience}")
    assert os.waitpid(run.process.pid, os.WUNTRACED) == (run.process.pid, signal.SIGSTOP << 8 | 0x7F)
    run.let_the_daemon_look()
    run.process.send_signal(signal.SIGCONT)
    assert run.process.wait(harness.DEADLINE_S) == 0
    assert run.witness()[:2] == (NUMBER, NUMBER)
    trace = run.trace()
    dropped = trace.summary()["dropped_by_cause"]
    assert dropped["torn"] <= (1 if patience == "0s" else 0) and sum(dropped.values()) == dropped["torn"], dropped
    numbers = numbers_of(trace)
    assert numbers == sorted(set(numbers)) and len(numbers) + dropped["torn"] >= NUMBER, (len(numbers), dropped)


@pytest.mark.parametrize("point", [*NOT_ATTACHED, "sent", "attached"])
def test_stopped_while_it_attaches(tap, preload, point):
    """Others come and are served meanwhile; when it goes on, it is recorded from its first call."""
    run = Run(tap, preload, point, "burst", 1, signal.SIGSTOP, has_parent=False)
    assert os.waitpid(run.process.pid, os.WUNTRACED) == (run.process.pid, signal.SIGSTOP << 8 | 0x7F)
    run.let_the_daemon_look()
    run.process.send_signal(signal.SIGCONT)
    assert run.process.wait(harness.DEADLINE_S) == 0
    trace = run.trace()
    assert numbers_of(trace) == list(range(NUMBER))
    assert trace.image("/numbered")["events"] == BEFORE_NUMBERS + NUMBER and trace.summary()["dropped"] == 0
    assert trace.gaps() == []


SILENT = "import socket, sys; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect(sys.argv[1]); input()"


def stopped_when_connected(tap, preload, has_parent, *settings):
    """And the daemon waits for what it sends."""
    run = Run(tap, preload, "connected", "burst", 1, signal.SIGSTOP, *settings, has_parent=has_parent)
    stopped = []

    def is_stopped():
        pids = [child[0] for child in children_of(run.process.pid)] or [run.process.pid]
        stopped[:] = [pid for pid in pids if harness.state_of(pid) == "T"]
        return stopped

    harness.wait_until("the stop", is_stopped)
    run.let_the_daemon_look()
    return run, stopped[0]


def test_a_daemon_that_is_slow_when_one_has_connected(tap, preload):
    """It finds what was sent meanwhile, by a process that is gone."""
    run, pid = stopped_when_connected(tap, preload, False)
    run.daemon.process.send_signal(signal.SIGSTOP)
    os.kill(pid, signal.SIGCONT)
    assert run.process.wait(harness.DEADLINE_S) == 0
    trace = run.trace()
    assert numbers_of(trace) == list(range(NUMBER)) and trace.gaps() == []


@pytest.mark.parametrize("has_parent", [False, True], ids=["alone", "child"])
@pytest.mark.parametrize("why", ["ended", "room"])
def test_a_connection_that_is_closed_before_it_sends_is_a_gap(tap, preload, why, has_parent):
    """Once, by name, with the reason; the program goes on untraced."""
    run, pid = stopped_when_connected(tap, preload, has_parent, "max_connections_per_user=2")
    if why == "room":
        mine = connect(run.daemon)  # one more of a process's own would take the place of the one before
        other = subprocess.Popen([sys.executable, "-c", SILENT, run.daemon.socket], stdin=subprocess.PIPE)
        tap.cleanup.append(lambda: harness.end_child(other))
        harness.wait_until("its place to be taken", lambda: "too many connections that say nothing" in run.daemon.log())
        os.kill(pid, signal.SIGCONT)
        assert run.process.wait(harness.DEADLINE_S) == 0
        other.communicate(b"\n", timeout=harness.DEADLINE_S)
        mine.close()
    trace = run.trace()
    if why == "ended":
        os.kill(pid, signal.SIGCONT)
        assert run.process.wait(harness.DEADLINE_S) == 0
    gap, = [gap for gap in trace.gaps() if gap["pid"] == pid]
    assert gap["kind"] == "not_admitted" and gap["exe"].endswith("/numbered") and gap["count"] == 1
    assert ("the daemon ended" if why == "ended" else "max_connections") in gap["reason"]
    assert run.witness()[:2] == (NUMBER, NUMBER) and numbers_of(trace) == []


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL], ids=["stopped", "killed"])
@pytest.mark.parametrize("count", [5, 13])
def test_a_chunk_that_a_handler_made_needless(tap, preload, count, number):
    """The handler comes when the chunk is taken and not yet used, and takes one of its own; then the first goes back."""
    daemon = tap.daemon()
    wish = f"chunk_filled:{count}:{int(signal.SIGUSR1)},chunk_given_up:1:{int(number)}"
    process = subprocess.Popen([harness.program("interrupted"), "io", "60"], cwd=tap.work, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, env=daemon.env(LD_PRELOAD=preload, FLOWTAP_TEST_POINT=wish))
    tap.cleanup.append(lambda: harness.end_child(process))
    if number == signal.SIGSTOP:
        assert os.waitpid(process.pid, os.WUNTRACED) == (process.pid, signal.SIGSTOP << 8 | 0x7F)
        process.send_signal(signal.SIGCONT)
    assert process.wait(harness.DEADLINE_S) == (0 if number == signal.SIGSTOP else -signal.SIGKILL)
    trace = daemon.stop()
    torn = trace.summary()["dropped_by_cause"]["torn"]
    assert torn == trace.summary()["dropped"] <= (number == signal.SIGKILL)
    assert trace.count(name="write", path=str(tap.work / "handler")) == 40
    wrote = (tap.work / "main").stat().st_size
    assert wrote - torn <= trace.count(name="write", path=str(tap.work / "main")) <= wrote
    assert wrote == 60 or number == signal.SIGKILL
