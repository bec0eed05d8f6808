# SPDX-License-Identifier: MIT
"""`flowtap status`: the daemon says how it does; where none answers, one line says why."""

import json
import os
import signal
import socket
import subprocess

import pytest

import harness
import manager


def status(path, **options):
    done = harness.call([harness.FLOWTAP, "status", "--json", "--socket", path], **options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def gauges_that(daemon, are):
    """The gauges, where those are as `are` says: each is told for itself, by several threads."""
    gauges = status(daemon.socket)["gauges"]
    return gauges if are.items() <= gauges.items() else None


def test_counts_are_those_of_the_trace(tap):
    daemon = tap.daemon()
    assert daemon.call([harness.program("hammer"), 2, 500]).returncode == 0
    harness.wait_until("the events to be written", lambda: status(daemon.socket)["counters"]["events"] >= 2 * 502)
    seen = status(daemon.socket)
    assert seen["counters"]["events"] == 2 * 502 and seen["counters"]["attached"] == 1
    assert seen["troubles"] == [] and seen["spool_dir"] == str(daemon.spool) and seen["pid"] == daemon.process.pid
    text = harness.call([harness.FLOWTAP, "status"], env=harness.clean_environment(FLOWTAP_SOCKET=daemon.socket))
    assert text.returncode == 0 and b"1,004" in text.stdout and b"events written" in text.stdout
    daemon.stop()


def test_what_waits_is_told(tap):
    daemon = tap.daemon("block_age=10m")
    reader, writer = os.pipe()
    script = "for i in 1 2 3 4 5; do echo > /dev/null; done; read line"
    held = subprocess.Popen(["sh", "-c", script], stdin=reader, env=daemon.env())
    os.close(reader)
    waits = {"segments_waiting": 1, "blocks_waiting": 1, "waiting_bytes": 0, "processes": 1}
    gauges = harness.wait_until("events that wait", lambda: (g := gauges_that(daemon, waits)) and g["events_waiting"] >= 5 and g)
    assert gauges["connections_waiting"] == 0 and gauges["spool_free_bytes"] > 0 and gauges["spool_used_bytes"] > 0
    os.close(writer)
    held.wait(harness.DEADLINE_S)
    none = dict.fromkeys(["processes", "segments_waiting", "events_waiting", "blocks_waiting"], 0)
    harness.wait_until("all to be written", lambda: gauges_that(daemon, none))
    daemon.stop()


def test_what_the_service_manager_holds_is_told(tap):
    daemon = manager.Manager(tap).start()
    held = daemon.spawn(["sh", "-c", "read line"], stdin=subprocess.PIPE)
    harness.wait_until("the process held", lambda: gauges_that(daemon, {"segments_stored": 1, "segments_to_store": 0, "arrivals": 0}))
    held.stdin.close()
    held.wait(harness.DEADLINE_S)
    harness.wait_until("it to be given up", lambda: status(daemon.socket)["gauges"]["segments_stored"] == 0)
    daemon.stop()


def test_dropped_events_are_counted_by_cause(tap):
    daemon = tap.daemon("torn_wait=0s")
    daemon.process.send_signal(signal.SIGSTOP)
    assert daemon.call([harness.program("hammer"), 1, 500_000]).returncode == 0
    daemon.process.send_signal(signal.SIGCONT)
    dropped = harness.wait_until("the end to be known", lambda: status(daemon.socket)["counters"]["dropped_ring_full"])
    assert dropped == daemon.stop().summary()["dropped_by_cause"]["ring_full"]


def test_each_user_sees_itself_alone(tap):
    harness.needs(os.geteuid() == 0, "changing the user needs root")
    daemon = tap.daemon()
    for path in (tap.folder, daemon.folder):
        os.chmod(path, 0o755)
    reader, writer = os.pipe()
    held = subprocess.Popen(["cat"], stdin=reader, stdout=subprocess.DEVNULL, env=daemon.env())
    os.close(reader)
    harness.wait_until("the process to be attached", lambda: status(daemon.socket)["users"])
    assert [u["uid"] for u in status(daemon.socket)["users"]] == [0]
    assert status(daemon.socket, user=65534, group=65534, extra_groups=[])["users"] == []
    os.close(writer)
    held.wait()
    daemon.stop()


def make_nobodys(path):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.bind(str(path))
    s.close()


def make_silent(path):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.bind(str(path))
    s.listen()
    return s


def make_stream(path):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.bind(str(path))
    s.listen()
    return s


@pytest.mark.parametrize("make,says", [
    (lambda path: None, b"no such socket"),
    (make_nobodys, b"nobody listens"),
    (make_silent, b"does not answer"),
    (make_stream, b"another kind of socket"),
    (lambda path: path.write_text("text"), b"nobody listens"),
])
def test_where_none_answers_one_line_says_why(tap, make, says):
    path = tap.work / "s"
    held = make(path)
    done = harness.call([harness.FLOWTAP, "status", "--socket", path])
    assert done.returncode == 1 and done.stdout == b"" and done.stderr.count(b"\n") == 1
    assert str(path).encode() in done.stderr and says in done.stderr, done.stderr
    del held


def test_a_path_that_is_too_long_is_said(tap):
    done = harness.call([harness.FLOWTAP, "status", "--socket", "/" + "x" * 200])
    assert done.returncode == 1 and b"too long" in done.stderr
