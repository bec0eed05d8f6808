# SPDX-License-Identifier: MIT
"""The daemon is stopped or killed at each instruction that matters: each event is in the trace once, and nobody is lost unseen.

The daemon of VARIANT=points raises a signal where a file says (daemon/test_point.h). What the programs really did they
say themselves (write_load).
"""

import os
import re
import signal
import subprocess

import pytest

import harness
import manager
from test_successor import Load, check_exactly_once, size_of
from traced import Trace

POINTS = harness.REPO / "daemon/test_points.def"

# point: (when it is armed, the time that is meant)
#   first    nobody has come yet: the root of all that will
#   attach   a traced shell is held and written; what it starts is still to come
#   steady   two processes are held and written, and go on writing
#   rotate   the same, with a file that is followed each second
#   end      the same two, which then end
#   next     the same two; the next daemon is meant, which takes over
WHERE = {
    "accepted": [("first", 1), ("attach", 1), ("attach", 4)],
    "received": [("first", 1), ("attach", 1), ("attach", 4)],
    "joined": [("first", 1), ("attach", 1), ("attach", 4)],
    "held": [("attach", 1), ("attach", 4)],
    "records_put": [("attach", 1), ("steady", 1)],
    "records_written": [("attach", 1), ("steady", 1), ("next", 1)],
    "file_unnamed": [("rotate", 1), ("next", 1)],
    "file_named": [("rotate", 1), ("next", 1)],
    "copied": [("steady", 1), ("steady", 3), ("next", 1)],
    "block_built": [("steady", 1), ("next", 1)],
    "frame_in_part": [("steady", 1), ("steady", 2), ("steady", 7), ("end", 1), ("next", 1)],
    "block_written": [("steady", 1), ("steady", 3), ("next", 1)],
    "consumed_stored": [("steady", 1), ("steady", 2), ("steady", 5), ("next", 1)],
    "consumed_whole": [("steady", 1), ("steady", 2), ("next", 1)],
    "chunk_freed": [("steady", 1), ("steady", 2), ("next", 1)],
    "index_built": [("rotate", 1), ("end", 1)],
    "index_written": [("rotate", 1), ("end", 1)],
    "file_followed": [("rotate", 1)],
    "finished": [("end", 1), ("end", 2)],
    "given_up": [("end", 1), ("end", 2)],
    "taken_over": [("next", 1)],
}
CASES = [(point, when, count) for point, places in WHERE.items() for when, count in places]
LOSES = ("accepted", "received", "joined")  # nobody holds the process's memory then


def test_every_point_of_the_daemon_has_its_cases():
    assert re.findall(r"^FT_POINT\((\w+),", POINTS.read_text(), re.M) == list(WHERE)


def test_every_point_of_the_daemon_is_passed_somewhere():
    """A change that moves code must not lose the points in it: its tests would wait for nothing."""
    code = "".join(p.read_text() for p in POINTS.parent.glob("*.c"))
    assert [point for point in WHERE if code.count(f"FT_TEST_POINT({point})") != 1] == []


class Run:
    """A load under a daemon that gets a signal at one point."""

    def __init__(self, tap, binary, when):
        self.tap, self.when, self.wish = tap, when, tap.folder / "wish"
        settings = ["block_age=20ms", *(["rotate_age=1s"] if when == "rotate" else []), *(["job_linger=0"] if when == "end" else [])]
        self.daemon = manager.Manager(tap, *settings, binary=binary, own_env={"FLOWTAPD_TEST_POINT": self.wish}).start()
        self.load = None
        if when == "attach":
            self.go = tap.work / "go"
            os.mkfifo(self.go)
            shell = ["bash", "-c", f'trap : TERM; read line < {self.go}; "$@"; exit 0', "sh"]
            self.load = Load(self.daemon, tap.work / "load", processes=2, fork_every=40, under=shell)
            self.wait_held(1)
        elif when != "first":
            self.load = Load(self.daemon, tap.work / "load", processes=2, fork_every=0)
            self.wait_held(3)
        if self.load:
            self.wait_written()

    def wait_written(self):
        harness.wait_until("the first block", lambda: size_of(self.daemon) > 1000)

    def wait_held(self, count):
        harness.wait_until("the processes held", lambda: len(self.daemon.names()) == count)

    def arm(self, point, count, number):
        new = self.wish.with_suffix(".new")
        new.write_text(f"{point}:{count}:{int(number)}")
        new.rename(self.wish)

    def go_on(self):
        """What makes the point be reached, beside what goes on by itself."""
        if self.when == "first":
            self.load = Load(self.daemon, self.tap.work / "load", processes=2, fork_every=0)
        elif self.when == "attach":
            with open(self.go, "w", encoding="ascii") as line:
                line.write("\n")
        elif self.when == "end":
            self.wait_begun()
            self.wrote = self.load.stop()
        elif self.when == "next":
            self.daemon.kill()
            self.daemon.start(wait=False)

    def let_programs_write(self):
        """So much that chunks are filled, while the daemon stands."""
        files = list((self.tap.work / "load").iterdir()) if self.when in ("steady", "rotate", "next") else []
        sizes = {path: path.stat().st_size for path in files}
        harness.wait_until("more to be written", lambda: all(path.stat().st_size > size + 300 for path, size in sizes.items()))

    def wait_begun(self):
        most = 8 if self.when == "attach" else 1

        def have_begun():
            sizes = [path.stat().st_size for path in (self.tap.work / "load").iterdir()]
            return sum(size > 10 for size in sizes) > most and sum(sizes) > 200
        harness.wait_until("programs that have begun", have_begun)

    def stop_programs(self):
        if self.when == "end":
            return self.wrote
        self.wait_begun()
        return self.load.stop()

    def finish(self, point):
        wrote = self.stop_programs()
        trace = self.daemon.stop()
        # What was accepted together with the one that is meant, and not handed on yet, is lost with it.
        check_exactly_once(trace, wrote, may_be_lost=set(wrote) if self.when in ("first", "attach") else (), parents=self.load.parents)
        assert not trace.summary()["partial"] and self.daemon.names() == []
        gaps = trace.gaps()
        written = {e["pid"] for e in trace.events(name="pwrite")}
        assert [g for g in gaps if g["kind"] != "daemon_stopped" or g["pid"] in written] == [], gaps
        assert [g for g in gaps if g["count"] != 1 and g["pid"] in wrote] == [], gaps
        assert gaps if point in LOSES else self.when == "attach" or not gaps, gaps
        if self.when == "first":
            assert [g["pid"] for g in gaps][:1] == [self.load.process.pid], gaps
        assert len(wrote) >= 2 and sum(wrote.values()) > 100


def wait_stopped(process):
    harness.wait_until("the daemon to stand", lambda: process.poll() is not None or harness.state_of(process.pid) == "T")
    assert process.poll() is None


@pytest.mark.parametrize("point,when,count", CASES)
def test_killed(tap, points_daemon, point, when, count):
    run = Run(tap, points_daemon, when)
    run.arm(point, count, signal.SIGKILL)
    run.go_on()
    run.daemon.wait_killed()
    assert run.daemon.process.returncode == -signal.SIGKILL, run.daemon.log()
    run.daemon.start()
    run.finish(point)


def test_a_file_emptied_while_a_block_is_on_its_way_is_followed(tap, points_daemon):
    """The block's bytes are behind the cut then: the file is not empty when it is looked at again."""
    run = Run(tap, points_daemon, "steady")
    run.arm("block_built", 1, signal.SIGSTOP)
    wait_stopped(run.daemon.process)
    (first,) = run.daemon.spool.rglob("*.flow")
    os.truncate(first, 0)
    run.daemon.process.send_signal(signal.SIGCONT)
    harness.wait_until("the next file", lambda: len(list(run.daemon.spool.rglob("*.flow"))) == 2)
    run.load.stop()
    run.daemon.stop(check="emptied")
    assert run.daemon.log().count("was removed or emptied") == 1


OPENS = """
import ctypes, os, sys
print("waits", flush=True)
for line in sys.stdin:
    ctypes.CDLL(line.strip(), mode=os.RTLD_DEEPBIND)
    os.stat("/")
"""


def told(daemon):
    """The gaps of libraries that search themselves first, and how many events there are."""
    trace = Trace(daemon.spool, harness.read_command)
    return trace.gaps("deepbind"), len(trace.events())


def torn_gap(tap, binary, plugin, parts):
    """Kills the daemon when it has written so many parts of a named gap and its block. True: it had the gap, not the block."""
    wish = tap.folder / "wish"
    daemon = manager.Manager(tap, "block_age=20ms", binary=binary, own_env={"FLOWTAPD_TEST_POINT": wish}).start()
    program = daemon.spawn(["/usr/bin/python3", "-u", "-c", OPENS], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                           env={"FLOWTAP_JOB": "opens"})
    assert program.stdout.readline() == b"waits\n"
    # All that it has done is in the file, and it does nothing: what is written next is of the plugin.
    harness.wait_until("its line to be in the file", lambda: size_of(daemon) > 1000 and Trace(
        daemon.spool, harness.read_command).count(name="write", pid=program.pid))
    _, events = told(daemon)
    wish.with_suffix(".new").write_text(f"frame_in_part:{parts}:{int(signal.SIGKILL)}")
    wish.with_suffix(".new").rename(wish)
    program.stdin.write(f"{plugin}\n".encode())
    program.stdin.flush()
    daemon.wait_killed()
    gaps_then, events_then = told(daemon)
    daemon.start()
    program.stdin.close()
    assert program.wait(harness.DEADLINE_S) == 0
    program.stdout.close()
    gaps = daemon.stop().gaps("deepbind")
    assert [gap["count"] for gap in gaps] == [1] and "plugin.so" in gaps[0]["reason"], (parts, gaps)
    return bool(gaps_then) and events_then == events


def test_a_named_gap_is_told_once_wherever_its_write_is_torn(tap, points_daemon):
    """The gap stands before the block that says that its record was read: one may be in the file without the other."""
    (tap.work / "plugin.c").write_text("int answer = 42;\n")
    plugin = tap.work / "plugin.so"
    assert tap.plain(["gcc", "-shared", "-fPIC", "-o", plugin, "plugin.c"]).returncode == 0
    between = [parts for parts in range(1, 6) if torn_gap(tap, points_daemon, plugin, parts)]
    assert between, "no kill fell between the gap's frame and the block's"


TWICE = [case for case in CASES if case[1] == "steady"] + [("file_followed", "rotate", 1)]
STOPS = [("index_built", "rotate", 1), *(case for case in CASES if case[1:] == ("steady", 1))]


@pytest.mark.parametrize("point,when,count", TWICE)
def test_killed_again_when_the_next_one_has_begun(tap, points_daemon, point, when, count):
    """The newest file tells of all processes then, and of no block: the ring alone tells how far it was read."""
    run = Run(tap, points_daemon, when)
    run.arm(point, count, signal.SIGKILL)
    run.daemon.wait_killed()
    run.arm("file_named", 1, signal.SIGSTOP)
    run.daemon.start(wait=False)
    wait_stopped(run.daemon.process)
    run.arm("frame_in_part", 4, signal.SIGKILL)  # 15 of 16 parts of the records and the first block
    run.daemon.process.send_signal(signal.SIGCONT)
    run.daemon.wait_killed()
    run.daemon.start()
    run.finish(point)


@pytest.mark.parametrize("then", ["killed", "continued"])
@pytest.mark.parametrize("point,when,count", STOPS)
def test_stopped_while_programs_go_on(tap, points_daemon, point, when, count, then):
    run = Run(tap, points_daemon, when)
    run.arm(point, count, signal.SIGSTOP)
    wait_stopped(run.daemon.process)
    run.let_programs_write()
    if then == "killed":
        run.daemon.kill()
        run.daemon.start()
    else:
        run.daemon.process.send_signal(signal.SIGCONT)
    run.finish(point)
