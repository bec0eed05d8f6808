# SPDX-License-Identifier: MIT
"""P5: clients that send anything, write anything into their segments, and want more than their share.

The daemon serves on, takes no more than its limits, and a well-behaved client beside them loses nothing. The liars are
tests/programs/hostile_message.c, hostile_segment.c and hostile_annotated.c; a new case is one function there.
"""

import os
import pathlib
import subprocess

import pytest

import harness

CALLS = 500
GOOD = CALLS + 2  # hammer's open and close
HELD_LEAST = 200  # max_connections_per_user is 256, and others may be on their way
DAEMON_RSS_MOST = 700 << 20
HELD = ("connections_that_say_nothing",)  # until those beside it are done
# In order but for one thing each: the number of descriptors, what they are, a seal.
NEVER_TAKEN = ("message_descriptors", "descriptors_of_every_kind", "seals_of_every_kind")


def cases():
    for name in ("hostile_message", "hostile_segment", "hostile_annotated"):
        source = (harness.PROGRAMS / f"{name}.c").read_text()
        for case in source[source.index("cases[] = {"):].split("CASE(")[1:]:
            yield pytest.param(name, case.split(")")[0], id=case.split(")")[0])


@pytest.fixture(scope="module", params=["plain", "sanitized"])
def daemon(request):
    """One daemon for all the liars, also one that is built to notice what goes wrong in it."""
    tap = harness.Tap()
    binary = harness.FLOWTAPD
    if request.param == "sanitized":
        built = harness.REPO / "build/asan"
        binary = built / "bin/flowtapd"
        made = harness.call(["make", "-s", "VARIANT=asan", f"O={built}", binary], cwd=harness.REPO, deadline=600)
        assert made.returncode == 0, made.stderr.decode()
    one = harness.Daemon(tap, "d", ["max_user_memory=64M", "session_linger=0s", "job_linger=0s"], binary).start()
    one.good, one.refused = set(), set()
    yield one
    trace = one.stop(check="hostile")
    for job in one.good:
        mine = harness.Trace(one.spool / str(os.getuid()) / job, harness.read_command)
        mine.check_accounting()
        assert mine.summary()["events"] == mine.summary()["stored"] == GOOD, job
    assert harness.call([harness.FLOWTAP, "verify", one.spool], deadline=120).returncode == 0
    assert trace.summary()["events"] == trace.summary()["stored"] + trace.summary()["dropped"]
    assert [p for p in trace.processes() if p["pid"] in one.refused] == []
    tap.finish(keep=False)


def rss(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) << 10
    raise AssertionError("no VmRSS")


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


@pytest.mark.parametrize("name,case", cases())
def test_a_liar_hurts_nobody(tap, daemon, name, case):
    before = descriptors(daemon.process.pid)
    liar = subprocess.Popen([harness.program(name), case, daemon.socket], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tap.work)
    tap.cleanup.append(lambda: harness.end_child(liar))
    if case in HELD:
        assert liar.stdout.readline() == b"holds\n"
        harness.wait_until("the silent held", lambda: descriptors(daemon.process.pid) - before >= HELD_LEAST)
    for i in range(3):
        job = f"good-{case}-{i}"
        done = daemon.call([harness.program("hammer"), 1, CALLS], env={"FLOWTAP_JOB": job}, cwd=tap.work)
        assert done.returncode == 0
        daemon.good.add(job)
    if case in HELD:
        assert liar.poll() is None and descriptors(daemon.process.pid) - before >= HELD_LEAST
    liar.communicate(timeout=harness.DEADLINE_S)
    assert liar.returncode == 0
    if case in NEVER_TAKEN:
        daemon.refused.add(liar.pid)
    assert daemon.process.poll() is None, daemon.log()
    # what it held is given back: a segment's descriptor with its process, a silent connection with its peer
    harness.wait_until("the liar's descriptors closed", lambda: descriptors(daemon.process.pid) <= before)
    assert rss(daemon.process.pid) < DAEMON_RSS_MOST
