# SPDX-License-Identifier: MIT
"""`diagnose`: each check on a trace that has it and on one that has not, and commands that work."""

import json
import shlex

import harness
import pytest
from generated import document, generate, reported

HEAD = """
import os
def new(name, size):
    with open(name, 'wb') as f:
        f.write(b'x' * size)
    return os.open(name, os.O_RDWR)
"""
BODIES = {
    # 2,000 requests of 100 bytes, or 200 of 64 KiB
    "small": "f = new('d', 200_000)\nfor i in range(2000): os.pread(f, 100, i * 100)",
    "large": "f = new('d', 65536 * 20)\nfor i in range(20): os.pread(f, 65536, i * 65536)",
    "syncs": "f = new('d', 1)\nfor i in range(120):\n    os.pwrite(f, b'y' * 100, i * 100)\n    os.fsync(f)",
    "one_sync": "f = new('d', 1)\nfor i in range(120):\n    os.pwrite(f, b'y' * 100, i * 100)\nos.fsync(f)",
    "read_back": "f = new('d', 20_000_000)\nfor i in range(20): os.pread(f, 1_000_000, i * 1_000_000)",
    "misaligned": "f = new('d', 10_000_000)\nfor i in range(1500): os.pread(f, 5000, 7 + i * 6000)",
    "aligned": "f = new('d', 10_000_000)\nfor i in range(1500): os.pread(f, 4096, i * 4096)",
}


def check_findings(path, wanted, unwanted):
    report = document("diagnose", path)
    found = {f["check"]: f for f in report["findings"]}
    assert set(wanted) <= found.keys() and not set(unwanted) & found.keys(), (found.keys(), wanted, unwanted)
    assert found.keys() <= set(report["checks"]) and not report["partial"]
    text = reported("diagnose", path).decode()
    for finding in found.values():
        assert finding["severity"] in ("low", "medium", "high") and float(finding["saving"]) >= 0 and finding["advice"]
        assert finding["figure"] in text and finding["title"] in text and finding["command"] in text
        words = shlex.split(finding["command"])
        assert words[0] == "flowtap" and words[-1] == str(path)
        done = harness.call([harness.FLOWTAP, *words[1:]])
        assert done.returncode == 0 and done.stdout and b"no file" not in done.stdout, (finding["command"], done.stderr)
        if finding["files"]:
            assert finding["files"] == sorted(finding["files"], key=lambda file: -file["time"])
            assert finding["files"][0]["path"] in done.stdout.decode() or "--by folder" in finding["command"]
    return found


@pytest.mark.parametrize("body,wanted,unwanted", [
    ("small", ["small_requests"], ["rereads", "lookups", "syncs", "serial", "read_back"]),
    ("large", [], ["small_requests", "rereads", "lookups", "syncs", "serial", "misaligned"]),
    ("syncs", ["syncs"], ["small_requests", "rereads", "lookups", "serial"]),
    ("one_sync", [], ["syncs", "rereads", "serial"]),
    ("read_back", ["read_back"], ["rereads", "syncs", "misaligned"]),
    ("misaligned", ["misaligned"], ["small_requests", "serial"]),
    ("aligned", [], ["misaligned", "read_back", "small_requests"]),
])
def test_a_program_that_does_it_and_one_that_does_not(tap, body, wanted, unwanted):
    trace = tap.run(["/usr/bin/python3", "-S", "-E", "-c", HEAD + BODIES[body]])
    found = check_findings(trace.path, wanted, unwanted)
    for check in wanted:
        assert found[check]["files"][0]["path"] == str(tap.work / "d")
    if body == "syncs":
        assert found["syncs"]["files"][0]["count"] == 120


@pytest.mark.parametrize("kind,wanted,unwanted", [
    ("same", ["rereads"], ["small_requests", "lookups", "syncs", "serial", "misaligned"]),
    ("sequential", [], ["rereads", "small_requests", "lookups", "syncs", "serial", "misaligned", "read_back"]),
    ("metadata", ["lookups"], ["syncs", "serial"]),
    ("serial", ["serial"], ["lookups", "rereads", "small_requests", "syncs"]),
    ("training", [], ["serial", "lookups", "syncs", "small_requests"]),
])
def test_a_job_that_has_it_and_one_that_has_not(tmp_path, kind, wanted, unwanted):
    # A name that a shell would take apart.
    check_findings(generate(tmp_path / "it's a $trace", kind, events=20_000), wanted, unwanted)


def test_figures_are_what_the_events_say(tmp_path):
    path = generate(tmp_path / "t", "same", events=3000)
    (finding,) = document("diagnose", path)["findings"]
    assert finding["files"][0]["bytes"] == (3000 - 1) * 4096
    path = generate(tmp_path / "s", "serial", events=1700)
    (finding,) = document("diagnose", path)["findings"]
    summary = document("summary", path)
    # Nothing overlaps: the shorter of the two could be hidden.
    assert abs(finding["saving"] - min(summary["io_time"], summary["compute_time"])) < 1e-6


def test_the_checks_and_their_limits_are_told():
    done = harness.call([harness.FLOWTAP, "diagnose", "--checks"])
    assert done.returncode == 0
    text = done.stdout.decode()
    for name in ("small_requests", "rereads", "lookups", "syncs", "serial", "block_bytes", "io_percent"):
        assert name in text
    limits = text.split("limits:\n")[1].splitlines()
    assert all(len(line.split(None, 2)) == 3 for line in limits)


def test_no_trace_and_no_event(tmp_path):
    assert harness.call([harness.FLOWTAP, "diagnose"]).returncode == 2
    assert harness.call([harness.FLOWTAP, "diagnose", tmp_path]).returncode == 1
    path = generate(tmp_path / "t", "training", events=1)
    assert json.loads(reported("diagnose", path, "--json"))["findings"] == []
