# SPDX-License-Identifier: MIT
"""Who connects to the daemon and sends nothing: a program of ours is a gap, anybody else is not.

The shim of VARIANT=points stops or kills the program where it has connected (client/shim/test_point.h).
"""

import os
import signal
import socket
import subprocess
import sys

import pytest

import harness
from test_points import stopped_when_connected
from test_questions import connect
from test_status import status

NAME_EXE = b"\0FtCn1\0\1" + bytes(16) + b"/bin/claimed".ljust(80, b"\0")  # struct ft_client_name of proto/control.h
SILENT = "import socket, sys; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect(sys.argv[1]); print(flush=True); input()"


def killed_when_connected(tap, daemon, preload, name="true", wish="connected:1:9"):
    """The pid of a program that had connected and was killed before it sent."""
    process = subprocess.Popen([name], env=daemon.env(LD_PRELOAD=preload, FLOWTAP_TEST_POINT=wish), stdin=subprocess.DEVNULL)
    tap.cleanup.append(lambda: harness.end_child(process))
    assert process.wait(harness.DEADLINE_S) == -signal.SIGKILL
    return process.pid


def assert_told(gap, pid, exe, word="did not send its memory"):
    assert (gap["kind"], gap["pid"], gap["count"]) == ("not_attached", pid, 1)
    assert gap["exe"].endswith(exe) and word in gap["reason"], gap


@pytest.mark.parametrize("has_others", [False, True], ids=["alone", "beside"])
def test_one_that_is_killed_before_it_sends(tap, preload, has_others):
    """By name, in a trace of its user's: that of another job, or one that is made for it."""
    daemon = tap.daemon()
    if has_others:
        assert daemon.call(["true"]).returncode == 0
    pid = killed_when_connected(tap, daemon, preload)
    trace = daemon.stop()
    gap, = trace.gaps()
    assert_told(gap, pid, "/true")
    assert len(trace.processes()) == has_others and trace.summary()["dropped"] == 0


def test_one_that_was_killed_before_the_daemon_looked(tap, preload):
    """Nothing of it is there but its connection and what that is called."""
    daemon = tap.daemon()
    daemon.process.send_signal(signal.SIGSTOP)
    pid = killed_when_connected(tap, daemon, preload)
    daemon.process.send_signal(signal.SIGCONT)
    gap, = daemon.stop().gaps()
    assert_told(gap, pid, "/true")


def test_one_that_is_killed_while_the_daemon_waits_for_it(tap, preload):
    run, pid = stopped_when_connected(tap, preload, False)
    os.kill(pid, signal.SIGKILL)
    run.process.wait(harness.DEADLINE_S)
    gap, = run.trace().gaps()
    assert_told(gap, pid, "/numbered")


@pytest.mark.parametrize("shell", ["bash", "dash"])
@pytest.mark.parametrize("line", ["exec /bin/true", "/bin/true", "/bin/true & wait", "(exec /bin/true)"])
def test_one_with_a_parent_that_tells_of_it_is_one_gap(tap, preload, shell, line):
    """Whether the parent executed it itself, by fork or by vfork."""
    harness.needs_program(shell)
    daemon = tap.daemon()
    line = f"export LD_PRELOAD={preload} FLOWTAP_TEST_POINT=connected:1:9; {line}"
    daemon.call([shell, "-c", f"{line}; exit 0"])
    trace = daemon.stop()
    gap, = trace.gaps()
    assert gap["kind"] == "not_attached" and gap["exe"].endswith("/true") and gap["count"] == 1


def test_a_hundred_are_all_counted(tap, preload):
    """The first by name, so many more by number."""
    daemon = tap.daemon()
    loop = "for i in $(seq 100); do LD_PRELOAD=$POINTS FLOWTAP=1 FLOWTAP_TEST_POINT=connected:1:9 env true; done; exit 0"
    harness.call(["sh", "-c", loop], env=daemon.env(LD_PRELOAD=None, FLOWTAP=None, POINTS=str(preload)))
    gaps = daemon.stop().gaps("not_attached")
    assert sum(gap["count"] for gap in gaps) == 100 and max(gap["count"] for gap in gaps) <= 36
    assert len([gap for gap in gaps if gap["pid"]]) == 64


@pytest.mark.parametrize("end", ["closed", "killed", "room", "ended", "empty"])
def test_others_that_say_nothing_are_no_gaps(tap, end):
    daemon = tap.daemon("max_connections_per_user=2")
    assert daemon.call(["true"]).returncode == 0
    probe = subprocess.Popen([sys.executable, "-c", SILENT, daemon.socket], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    tap.cleanup.append(lambda: harness.end_child(probe))
    assert probe.stdout.readline() == b"\n"
    status(daemon.socket)  # who came before has been accepted
    if end == "closed":
        probe.communicate(b"\n", timeout=harness.DEADLINE_S)
    elif end == "killed":
        probe.kill()
        probe.wait(harness.DEADLINE_S)
    elif end == "room":
        first, second = connect(daemon), subprocess.Popen([sys.executable, "-c", SILENT, daemon.socket], stdin=subprocess.PIPE)
        tap.cleanup.append(lambda: harness.end_child(second))
        harness.wait_until("one to be closed", lambda: "too many connections that say nothing" in daemon.log())
        first.close()
        second.communicate(b"\n", timeout=harness.DEADLINE_S)
    elif end == "empty":
        with connect(daemon) as one:
            one.send(b"")
    trace = daemon.stop()
    assert trace.gaps() == [] and len(trace.processes()) == 1


def test_flowtap_itself_is_no_gap(tap):
    daemon = tap.daemon()
    assert daemon.call(["true"]).returncode == 0
    for words in (["doctor"], ["status"], ["jobs"], ["top", "--once"]):
        harness.call([harness.FLOWTAP, *words, "--socket", daemon.socket], env=daemon.env(LD_PRELOAD=None))
    trace = daemon.stop()
    assert trace.gaps() == [] and len(trace.processes()) == 1


def test_what_a_connection_is_called_is_a_claim(tap):
    """It names a program where the kernel does not, and is cut to its length; one that is called otherwise is no program."""
    daemon = tap.daemon()
    for number, name in enumerate([NAME_EXE, NAME_EXE[:-1], b"\0" + NAME_EXE, NAME_EXE + b"\0", b"\0FtCn2" + NAME_EXE[6:]]):
        child = subprocess.Popen([sys.executable, "-c", "import socket, sys, os, signal\n"
                                  "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
                                  "s.bind(bytes.fromhex(sys.argv[2])); s.connect(sys.argv[1]); os.kill(os.getpid(), signal.SIGKILL)",
                                  daemon.socket, name.hex()])
        assert child.wait(harness.DEADLINE_S) == -signal.SIGKILL, number
    gap, = daemon.stop().gaps()
    assert (gap["kind"], gap["exe"], gap["count"]) == ("not_attached", "/bin/claimed", 1)

