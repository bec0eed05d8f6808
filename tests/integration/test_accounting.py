# SPDX-License-Identifier: MIT
"""emitted = stored + dropped, exactly, at any number of threads, with a daemon that is stopped, and with a full disk."""

import signal
import subprocess
import time

import pytest

import harness
import traced
from reading import peak_memory


def account(trace, preads=None):
    """The account of the one hammer process, checked against the summary and `verify`."""
    summary = trace.summary()
    (process,) = [p for p in trace.processes() if p["exe"].endswith("/hammer")]
    assert process["events"] == process["stored"] + process["dropped"]
    assert process["dropped"] == sum(process["dropped_by_cause"].values())
    assert harness.read_command("verify", trace.path).returncode == 0
    (pread,) = [c for c in summary["calls"] if c["name"] == "pread"]
    assert pread["count"] == (process["events"] - 2 * summary["threads"] if preads is None else preads), pread
    return process


@pytest.mark.parametrize("threads", [1, 8, 64])
def test_threads_that_only_read(tap, threads):
    trace = tap.run([harness.program("hammer"), str(threads), str(400_000 // threads)], check="sums")
    process = account(trace)
    assert process["events"] == threads * (400_000 // threads + 2)
    assert {c for c, n in process["dropped_by_cause"].items() if n} <= {"ring_full"}


def test_ten_million_events_while_the_daemon_is_stopped(tap):
    """Detail is dropped, totals stay exact, memory stays; when the daemon goes on, so does recording."""
    argv = [harness.program("hammer"), 2, 5_000_000]
    plain_bytes = peak_memory([argv[0], 2, 1000])
    daemon = tap.daemon()
    daemon.process.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    traced_bytes = peak_memory(argv, daemon.env())
    took = time.monotonic() - began
    daemon.process.send_signal(signal.SIGCONT)
    assert daemon.call([harness.program("touch_all"), tap.work / "later"]).returncode == 0
    trace = daemon.stop(check="sums")
    assert traced_bytes - plain_bytes < (4 << 20) + (1 << 20), (plain_bytes, traced_bytes)
    process = account(trace, preads=10_000_000)
    assert process["events"] == 2 * 5_000_002
    assert process["dropped_by_cause"]["ring_full"] == process["dropped"] > 9_000_000
    assert process["stored"] > 100_000
    pread = [c for c in trace.summary()["calls"] if c["name"] == "pread"][0]
    assert (pread["count"], pread["bytes"]) == (10_000_000, 10_000_000)
    # every call took part of the time of its thread, and no less than the shortest one
    assert 10_000_000 * pread["min"] <= pread["time"] <= 2 * took
    assert trace.image("/touch_all")["dropped"] == 0 and trace.count(path=str(tap.work / "later")) > 0


def test_a_daemon_that_is_stopped_in_the_middle(tap):
    daemon = tap.daemon()
    process = subprocess.Popen([harness.program("fork_threads"), "50"], cwd=tap.work, env=daemon.env(),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    harness.wait_until("the program to have begun", (tap.work / "children").exists)
    daemon.process.send_signal(signal.SIGSTOP)
    written = int(process.communicate(timeout=60)[0])
    daemon.process.send_signal(signal.SIGCONT)
    trace = daemon.stop()
    if trace.summary()["dropped"] == 0:
        assert sum(trace.file(tap.work / f"thread-{n}")["writes"] for n in range(8)) == written
    assert trace.file(tap.work / "children")["writes"] == 50 or trace.summary()["dropped"]


def test_a_full_disk_costs_detail_and_says_so(tap, small_disk):
    daemon = tap.daemon(f"spool_dir={small_disk}")
    # noise that does not compress: each call at another offset with another size
    code = ("import os, random\nf = os.open('noise', os.O_RDWR | os.O_CREAT)\nr = random.Random(1)\n"
            "for i in range(1500000):\n    os.pread(f, r.getrandbits(20), r.getrandbits(60))\n")
    done = daemon.call(["/usr/bin/python3", "-S", "-E", "-c", code], cwd=tap.work, deadline=120)
    assert done.same() == (0, b"", b"")
    daemon.process.send_signal(signal.SIGTERM)
    assert daemon.process.wait(60) in (0, 1)
    trace = traced.Trace(small_disk, harness.read_command)
    summary = trace.summary()
    assert summary["dropped_by_cause"]["disk_full"] > 0, summary["dropped_by_cause"]
    assert summary["events"] == summary["stored"] + summary["dropped"]
    pread = [c for c in summary["calls"] if c["name"].startswith("pread")][0]
    assert pread["count"] == 1_500_000, pread
