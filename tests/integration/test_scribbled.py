# SPDX-License-Identifier: MIT
"""P5: a traced program writes over its own segment while it is recorded. The daemon serves on, what is lost is told, and
others lose nothing."""

import os
import subprocess

import pytest

import harness

CALLS = 300
VALUES = (0, 1, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF)
HEAD_BYTES = 128  # what stands before the chunks' states
CASES = {
    "fields": [("field", at, value) for at in range(0, HEAD_BYTES, 4) for value in VALUES],
    "states": [("field", 128 + at, value) for at in (0, 4, 1024, 3964) for value in VALUES],
    "random": [("random", pages, seed) for pages in (1, 24, 100) for seed in range(4)],
    "records": [("records",)],
}


@pytest.mark.parametrize("kind", CASES)
def test_a_program_that_writes_over_its_segment(tap, kind):
    daemon = tap.daemon("session_linger=0s", "job_linger=0s", "torn_wait=10s")
    path = tap.work / "written"
    for number, case in enumerate(CASES[kind]):
        neighbour = subprocess.Popen([harness.program("hammer"), "1", str(CALLS)], cwd=tap.work, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.DEVNULL, env=daemon.env(FLOWTAP_JOB=f"good-{number}"))
        tap.cleanup.append(neighbour.kill)
        done = daemon.call([harness.program("scribbler"), path, CALLS, *case], env={"FLOWTAP_JOB": f"bad-{number}"}, cwd=tap.work)
        assert (done.returncode, path.stat().st_size) == (0, CALLS), case
        assert neighbour.wait(harness.DEADLINE_S) == 0
    assert daemon.process.poll() is None, daemon.log()
    daemon.stop(check="hostile")
    assert harness.call([harness.FLOWTAP, "verify", daemon.spool], deadline=120).returncode == 0
    for number, case in enumerate(CASES[kind]):
        good, bad = (harness.Trace(daemon.spool / str(os.getuid()) / f"{name}-{number}", harness.read_command)
                     for name in ("good", "bad"))
        assert good.summary()["events"] == good.summary()["stored"] == CALLS + 2, case
        summary = bad.summary()
        assert summary["events"] == summary["stored"] + summary["dropped"], case
        if kind == "random":  # what a record says is its own claim
            continue
        wrote = bad.count(name="pwrite", path=str(path))
        assert wrote == 2 * CALLS or summary["dropped"] or bad.gaps(), (case, wrote, summary)
        if kind == "records":
            assert summary["dropped_by_cause"]["corrupt"] > 0, summary
