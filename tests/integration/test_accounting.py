# SPDX-License-Identifier: MIT
"""emitted = stored + dropped, exactly, at any number of threads, with a daemon that is stopped, and with a full disk."""

import os
import signal
import subprocess

import pytest

import harness
import traced


def account(trace):
    """The account of the one hammer process, checked against the summary and `verify`."""
    summary = trace.summary()
    (process,) = [p for p in trace.processes() if p["exe"].endswith("/hammer")]
    assert process["events"] == process["stored"] + process["dropped"]
    assert process["dropped"] == sum(process["dropped_by_cause"].values())
    assert harness.read_command("verify", trace.path).returncode == 0
    preads = [c for c in summary["calls"] if c["name"] == "pread"]
    assert preads[0]["count"] == process["events"] - 2 * summary["threads"], preads
    return process


@pytest.mark.parametrize("threads", [1, 8, 64])
def test_threads_that_only_read(tap, threads):
    trace = tap.run([harness.program("hammer"), str(threads), str(400_000 // threads)], check=False)
    process = account(trace)
    assert process["events"] == threads * (400_000 // threads + 2)
    assert {c for c, n in process["dropped_by_cause"].items() if n} <= {"ring_full"}


def test_a_stopped_daemon_costs_detail_and_no_time(tap):
    daemon = tap.daemon()
    daemon.process.send_signal(signal.SIGSTOP)
    done = daemon.call([harness.program("hammer"), "2", "1000000"], deadline=60)
    daemon.process.send_signal(signal.SIGCONT)
    assert done.same() == (0, b"", b"")
    trace = daemon.stop(check=False)
    process = account(trace)
    assert process["events"] == 2 * 1_000_002
    assert process["dropped_by_cause"]["ring_full"] == process["dropped"] > 1_000_000
    assert process["stored"] > 100_000
    pread = [c for c in trace.summary()["calls"] if c["name"] == "pread"][0]
    assert (pread["count"], pread["bytes"]) == (2_000_000, 2_000_000)


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


@pytest.fixture
def small_disk(tap):
    harness.needs(os.geteuid() == 0, "mounting needs root")
    disk = tap.folder / "disk"
    disk.mkdir()
    done = harness.call(["mount", "-t", "tmpfs", "-o", "size=6m", "none", disk])
    harness.needs(done.returncode == 0, f"no tmpfs can be mounted here: {done.stderr.decode().strip()}")
    tap.cleanup.append(lambda: harness.call(["umount", "-l", disk]))
    return disk


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
