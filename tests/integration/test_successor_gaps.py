# SPDX-License-Identifier: MIT
"""What daemons that are killed one after the other tell as gaps: each of them once, in all their files together."""

import collections
import json
import subprocess
import sys

import pytest

import harness
import manager
import traced
from test_status import status
from test_successor import Load, are_stored, flow_files, stored


def test_whom_a_kill_lost_is_a_gap_once_however_often_the_next_daemons_are_killed(tap):
    daemon = manager.Manager(tap, "max_stored=5").start()  # who is held keeps the job's file open
    load = Load(daemon, tap.work / "load", processes=20, fork_every=0, count=20, hold=True)
    harness.wait_until("all of it in the file", lambda: are_stored(daemon, 21, 400) and len(daemon.names()) == 5)
    for parts in (2, 3, 4):
        daemon.kill()
        daemon.start()
        harness.wait_until("the next file, and a gap for each", lambda parts=parts: len(flow_files(daemon)) >= parts and lost(daemon) >= 16)
    wrote = load.stop()
    trace = daemon.stop()
    gaps = collections.Counter()
    for path in trace.flow_files():  # of several a reader takes back what a later one goes on with
        for gap in traced.Trace(path, harness.read_command).gaps("daemon_stopped"):
            gaps[gap["pid"]] += gap["count"]
    assert len(wrote) == 20 and len(gaps) == 16 and set(gaps) <= {load.process.pid, *wrote}
    assert set(gaps.values()) == {1}, gaps


def lost(daemon):
    return len({gap["pid"] for gap in traced.Trace(daemon.spool, harness.read_command).gaps("daemon_stopped")})


def test_whom_nobody_held_is_told_as_lost_and_not_as_running(tap):
    daemon = tap.daemon("block_age=20ms")
    script = "import os, sys\nf = os.open('d', os.O_RDWR | os.O_CREAT)\nfor i in range(50): os.pwrite(f, b'x', i)\nsys.stdin.read()\n"
    job = subprocess.Popen([sys.executable, "-S", "-E", "-c", script], stdin=subprocess.PIPE, env=daemon.env(), cwd=tap.work)
    tap.cleanup.append(lambda: harness.end_child(job))
    harness.wait_until("its events", lambda: stored(daemon) >= 50)
    daemon.kill()
    daemon.start()
    harness.wait_until("the gap", lambda: lost(daemon) == 1)
    assert ", 0 processes are gone on with, 1 lost" in daemon.log().replace(";", ","), daemon.log()
    counters = status(daemon.socket)["counters"]
    assert (counters["taken_over"], counters["taken_lost"]) == (0, 1)
    text = harness.read_command("processes", daemon.spool).stdout.decode()
    assert " lived on " in text and " running " not in text and "nobody held what the process recorded after the last block" in text, text
    job.communicate(b"")
    daemon.stop()


RAW = r"""
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    char what, byte;
    int fd = open(argv[0], O_RDONLY);
    while (read(0, &what, 1) == 1) {
        for (int i = 0; what == 'r' && i < 5; i++)
            syscall(SYS_pread64, fd, &byte, 1, (off_t)i);
        if (pread(fd, &byte, 1, 0) != 1)
            return 1;
    }
    return 0;
}
"""


def test_what_was_counted_is_told_once_across_kills(tap):
    """A daemon that is killed as soon as the gap is in the file: the next one tells what came after that."""
    daemon = manager.Manager(tap, "block_age=20ms").start()
    program = daemon.spawn([tap.compiled("raw", RAW)], stdin=subprocess.PIPE, env={"FLOWTAP_JOB": "raw"})

    def send(what):
        program.stdin.write(what)
        program.stdin.flush()

    def told():
        send(b"p")  # gaps are told with records, and these come with events
        done = harness.read_command("summary", "--json", daemon.spool)
        gaps = json.loads(done.stdout)["gaps"] if done.returncode == 0 else []
        return sum(gap["count"] for gap in gaps if gap["kind"] == "raw_syscall")

    for count in (5, 10, 15):
        send(b"r")
        harness.wait_until(f"{count} of them in the file", lambda count=count: told() >= count)
        daemon.kill()
        daemon.start()
    program.stdin.close()
    assert program.wait(harness.DEADLINE_S) == 0
    assert sum(gap["count"] for gap in daemon.stop().gaps("raw_syscall")) == 15


INSIDE = """
import subprocess, sys
for line in sys.stdin:
    if line.strip():
        subprocess.run([sys.argv[1]], close_fds=False)
    open("/dev/null").close()
"""


@pytest.mark.parametrize("words", [[], ["unshare", "--pid", "--fork"]], ids=["here", "another pid namespace"])
def test_a_child_that_did_not_come_is_told_once_across_kills(tap, words):
    """Also where its pid is a number of a namespace that is not the daemon's."""
    harness.needs(harness.call([*words, "true"]).returncode == 0, f"{words} is refused here")
    daemon = manager.Manager(tap, "block_age=20ms").start()
    static = tap.compiled("static", "int main(void) { return 0; }", "-static")
    parent = daemon.spawn([*words, sys.executable, "-c", INSIDE, static], stdin=subprocess.PIPE, env={"FLOWTAP_JOB": "inside"})

    def send(line):
        parent.stdin.write(line)
        parent.stdin.flush()

    def told():
        send(b"\n")
        done = harness.read_command("summary", "--json", daemon.spool)
        gaps = json.loads(done.stdout)["gaps"] if done.returncode == 0 else []
        return sum(gap["count"] for gap in gaps if gap["kind"] == "static")

    for count in (1, 2, 3):
        send(b"x\n")
        harness.wait_until(f"{count} of them in the file", lambda count=count: told() >= count)
        daemon.kill()
        daemon.start()
    parent.stdin.close()
    assert parent.wait(harness.DEADLINE_S) == 0
    assert sum(gap["count"] for gap in daemon.stop().gaps("static")) == 3  # what is expected still is settled at the end
