# SPDX-License-Identifier: MIT
"""`diagnose`: each check on a trace that has it and on one that has not, and commands that work."""

import collections
import json
import os
import re
import shlex

import harness
import pytest
from generated import document, events_of, generate, reported
from plain import calls_of, exact, ns

HEAD = """
import os
import re
def new(name, size):
    with open(name, 'wb') as f:
        f.write(b'x' * size)
    return os.open(name, os.O_RDWR)
"""
STREAM = """
import ctypes
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
f = ctypes.c_void_p(libc.fopen(b'd', b'w'))
"""
BODIES = {
    # 2,000 requests of 100 bytes, or 200 of 64 KiB
    "small": "f = new('d', 200_000)\nfor i in range(2000): os.pread(f, 100, i * 100)",
    "large": "f = new('d', 65536 * 20)\nfor i in range(20): os.pread(f, 65536, i * 65536)",
    "syncs": "f = new('d', 1)\nfor i in range(120):\n    os.pwrite(f, b'y' * 100, i * 100)\n    os.fsync(f)",
    "one_sync": "f = new('d', 1)\nfor i in range(120):\n    os.pwrite(f, b'y' * 100, i * 100)\nos.fsync(f)",
    "read_back": "f = new('d', 20_000_000)\nfor i in range(20): os.pread(f, 1_000_000, i * 1_000_000)",
    "misaligned": "f = new('d', 10_000_000)\nfor i in range(1500): os.pread(f, 5000, 7 + i * 6000)",
    # Back and forth over 40 MB, and one after the other
    "random": "f = new('d', 40_000_000)\nfor i in range(1500): os.pread(f, 4096, i * 719 % 9000 * 4096)",
    # 1,500 lines to a stream that is flushed each time, or has no buffer, or has one
    "flushed": STREAM + "for i in range(1500):\n    libc.fputs(b'a line\\n', f)\n    libc.fflush(f)\nlibc.fclose(f)",
    "no_buffer": STREAM + "libc.setvbuf(f, None, 2, 0)\nfor i in range(1500): libc.fputs(b'a line\\n', f)\nlibc.fclose(f)",
    "buffered": STREAM + "for i in range(1500): libc.fputs(b'a line\\n', f)\nlibc.fflush(f)\nlibc.fclose(f)",
    "aligned": "f = new('d', 10_000_000)\nfor i in range(1500): os.pread(f, 4096, i * 4096)",
}


def as_it_stands(command, **options):
    """A shell runs the line that was printed."""
    env = harness.clean_environment(PATH=f"{harness.FLOWTAP.parent}:{os.environ['PATH']}")
    return harness.call(["sh", "-c", command], env=env, **options)


def check_severities(path, findings):
    """By the share that could be saved: of the wall time, or of that which all processes lived."""
    limits = {one["name"]: one["value"] for one in json.loads(harness.call([harness.FLOWTAP, "diagnose", "--checks", "--json"]).stdout)["limits"]}
    timeline, processes = exact("timeline", path), exact("processes", path)["processes"]
    wall = ns(timeline["end"]) - ns(timeline["start"])
    lived = sum(ns(p["end"]) - ns(p["start"]) for p in processes)
    for finding in findings:
        share = 100 * ns(finding["saving"]) / (wall if finding["check"] in ("serial", "stragglers", "lone_reader") else lived)
        wanted = "high" if share >= limits["high_percent"] else "medium" if share >= limits["medium_percent"] else "low"
        assert finding["severity"] == wanted, (finding["check"], share)
    order = [(("high", "medium", "low").index(f["severity"]), -f["saving"]) for f in findings]
    assert order == sorted(order)


def check_findings(path, wanted, unwanted):
    report = document("diagnose", path)
    found = {f["check"]: f for f in report["findings"]}
    assert set(wanted) <= found.keys() and not set(unwanted) & found.keys(), (found.keys(), wanted, unwanted)
    assert found.keys() <= set(report["checks"]) and not report["partial"]
    check_severities(path, exact("diagnose", path)["findings"])
    text = reported("diagnose", path).decode()
    for finding in found.values():
        assert finding["severity"] in ("low", "medium", "high") and float(finding["saving"]) >= 0 and finding["advice"]
        assert finding["figure"] in text and finding["title"] in text and finding["command"] in text
        assert shlex.split(finding["command"])[-1] == str(path)
        done = as_it_stands(finding["command"])
        assert done.returncode == 0 and done.stdout and b"no file" not in done.stdout, (finding["command"], done.stderr)
        if finding["files"]:
            assert finding["files"] == sorted(finding["files"], key=lambda file: -file["time"])
            assert all(file["time"] > 0 for file in finding["files"])
            assert finding["files"][0]["path"] in done.stdout.decode() or "--by folder" in finding["command"]
        for process in finding["processes"]:
            assert float(process["time"]) > 0 and str(process["pid"]) in done.stdout.decode()
        assert bool(finding["processes"]) == (finding["check"] in ("stragglers", "lone_reader"))
    return found


PROGRAMS = [
    ("small", ["small_requests"], ["rereads", "lookups", "syncs", "serial", "read_back"]),
    ("large", [], ["small_requests", "rereads", "lookups", "syncs", "serial", "misaligned"]),
    ("syncs", ["syncs"], ["small_requests", "rereads", "lookups", "serial"]),
    ("one_sync", [], ["syncs", "rereads", "serial"]),
    ("read_back", ["read_back"], ["rereads", "syncs", "misaligned"]),
    ("misaligned", ["misaligned"], ["small_requests", "serial"]),
    ("aligned", [], ["misaligned", "read_back", "small_requests", "random_reads", "unbuffered", "stragglers", "lone_reader"]),
    ("random", ["random_reads"], ["small_requests", "misaligned", "unbuffered"]),
    ("flushed", ["unbuffered"], ["random_reads", "syncs", "small_requests"]),
    ("no_buffer", ["unbuffered"], ["random_reads", "syncs", "small_requests"]),
    ("buffered", [], ["unbuffered", "random_reads", "syncs"]),
]
JOBS = [
    ("same", ["rereads"], ["small_requests", "lookups", "syncs", "serial", "misaligned", "random_reads"]),
    ("sequential", [], ["rereads", "random_reads", "small_requests", "lookups", "syncs", "serial", "misaligned", "read_back"]),
    ("metadata", ["lookups"], ["syncs", "serial"]),
    ("serial", ["serial"], ["lookups", "rereads", "small_requests", "syncs"]),
    ("training", [], ["serial", "lookups", "syncs", "small_requests", "stragglers", "lone_reader", "unbuffered", "random_reads"]),
    ("random", ["random_reads"], ["stragglers", "serial", "syncs"]),
    ("even", [], ["stragglers", "lone_reader", "random_reads"]),
    ("straggler", ["stragglers"], ["lone_reader", "random_reads", "serial"]),
    ("lone", ["lone_reader"], ["stragglers", "random_reads", "serial"]),
]


@pytest.mark.parametrize("body,wanted,unwanted", PROGRAMS)
def test_a_program_that_does_it_and_one_that_does_not(tap, body, wanted, unwanted):
    trace = tap.run(["/usr/bin/python3", "-S", "-E", "-c", HEAD + BODIES[body]])
    found = check_findings(trace.path, wanted, unwanted)
    for check in wanted:
        assert found[check]["files"][0]["path"] == str(tap.work / "d")
    if body == "syncs":
        assert found["syncs"]["files"][0]["count"] == 120


@pytest.mark.parametrize("kind,wanted,unwanted", JOBS)
def test_a_job_that_has_it_and_one_that_has_not(tmp_path, kind, wanted, unwanted):
    # A name that a shell would take apart.
    check_findings(generate(tmp_path / "it's a $trace", kind, events=20_000), wanted, unwanted)


def test_each_check_has_a_trace_that_has_it_and_one_that_has_not():
    names = {one["name"] for one in json.loads(harness.call([harness.FLOWTAP, "diagnose", "--checks", "--json"]).stdout)["checks"]}
    for rows in (1, 2):
        assert {name for case in (*PROGRAMS, *JOBS) for name in case[rows]} == names


def test_the_line_works_for_a_name_like_an_option(tmp_path):
    generate(tmp_path / "-odd", "same", events=3000)
    done = harness.call([harness.FLOWTAP, "diagnose", "--json", "--", "-odd"], cwd=tmp_path)
    finding, = json.loads(done.stdout)["findings"]
    done = as_it_stands(finding["command"], cwd=tmp_path)
    assert done.returncode == 0 and done.stdout and not done.stderr, (finding["command"], done.stderr)


def test_figures_are_what_the_events_say(tmp_path):
    path = generate(tmp_path / "t", "same", events=3000)
    (finding,) = document("diagnose", path)["findings"]
    assert finding["files"][0]["bytes"] == (3000 - 1) * 4096
    path = generate(tmp_path / "s", "serial", events=1700)
    (finding,) = document("diagnose", path)["findings"]
    # Nothing overlaps: the shorter of the two could be hidden. What is read before the first step has no other to hide behind.
    events = events_of(path)
    first = min(e["ts"] for e in events if e["cat"] == "compute")
    compute = sum(e["dur"] for e in events if e["cat"] == "compute")
    between = sum(e["dur"] for e in events if e["cat"] == "POSIX" and e["ts"] > first)
    assert abs(finding["saving"] - min(between, compute) / 1e9) < 1e-6


def test_what_is_read_before_all_computing_takes_no_turns_with_it(tap):
    script = HEAD + "import flowtap\nf = new('d', 1 << 20)\nfor i in range(3000): os.pread(f, 1 << 20, 0)\n" \
        "for i in range(3):\n    with flowtap.span('step', category='compute'):\n        sum(range(300_000))\n" \
        "for i in range(3000): os.pread(f, 1 << 20, 0)\nif not os.fork():\n    [os.pread(f, 1 << 20, 0) for i in range(3000)]\n" \
        "    os._exit(0)\nos.wait()\n"
    trace = tap.run(["/usr/bin/python3", "-c", script], env={"PYTHONPATH": harness.REPO / "client/python"})
    assert document("summary", trace.path)["compute_time"] > 0
    check_findings(trace.path, [], ["serial"])


def test_children_work_for_the_nearest_one_that_computes(tap):
    """What a grandchild reads after its grandparent's last span takes turns with nothing, though another process computes later."""
    script = HEAD + "import flowtap\nf = new('d', 1 << 20)\n" \
        "def compute(times):\n    for i in range(times):\n        with flowtap.span('step', category='compute'):\n            sum(range(300_000))\n" \
        "def read(): [os.pread(f, 1 << 20, 0) for i in range(2000)]\n" \
        "def child(*what):\n    if not os.fork():\n        [one() for one in what]\n        os._exit(0)\n    os.wait()\n" \
        "compute(3)\nchild(lambda: child(read, lambda: child(read)), read)\nchild(lambda: compute(60))\n"
    trace = tap.run(["/usr/bin/python3", "-c", script], env={"PYTHONPATH": harness.REPO / "client/python"})
    assert trace.summary()["read"]["bytes"] > 6000 << 20
    check_findings(trace.path, [], ["serial"])


def test_sums_of_thousands_of_files_are_their_events(tmp_path):
    """More files than a thread that reads has on hand, in several blocks: each has its own events, and all of them."""
    path = generate(tmp_path / "t", "metadata", events=200_000)
    finding, = (f for f in document("diagnose", path)["findings"] if f["check"] == "lookups")
    counts, times, moved = collections.Counter(), collections.Counter(), collections.Counter()
    for event in events_of(path):
        if re.search("stat|open|access|readlink|scandir", event["name"]):
            counts[event["path"]] += 1
            times[event["path"]] += event["dur"]
        moved[event["path"]] += event["result"] if event["name"] in ("read", "write") else 0
    assert len(counts) > 3000 and finding["figure"].startswith(f"{sum(counts.values()):,} opens, stats and the like")
    assert len(finding["files"]) > 1
    for file in finding["files"]:
        at = file["path"]
        assert (file["count"], file["bytes"], round(file["time"] * 1e9)) == (counts[at], moved[at], times[at])


def test_processes_are_who_the_events_say(tmp_path):
    path = generate(tmp_path / "t", "straggler", "--hosts", "2", events=20_000)
    finding, = (f for f in document("diagnose", path)["findings"] if f["check"] == "stragglers")
    times, moved = collections.Counter(), collections.Counter()
    for event in events_of(path):
        times[event["host"], event["pid"]] += event["dur"]
        moved[event["host"], event["pid"]] += event["result"]
    slowest = times.most_common(2)
    assert [(p["host"], p["pid"]) for p in finding["processes"]] == [who for who, _ in slowest]
    assert [round(p["time"] * 1e9) for p in finding["processes"]] == [time for _, time in slowest]
    assert [p["bytes"] for p in finding["processes"]] == [moved[who] for who, _ in slowest]
    median = sorted(times.values())[3]
    assert {round(p["median"] * 1e9) for p in finding["processes"]} == {median}
    assert round(finding["saving"] * 1e9) == slowest[0][1] - median
    path = generate(tmp_path / "u", "lone", events=20_000)
    finding, = (f for f in document("diagnose", path)["findings"] if f["check"] == "lone_reader")
    reader, = finding["processes"]
    reads = [e for e in events_of(path) if e["name"] == "pread64"]
    assert {e["pid"] for e in reads} == {reader["pid"]}
    assert (reader["bytes"], round(reader["time"] * 1e9)) == (sum(e["result"] for e in reads), sum(e["dur"] for e in reads))
    assert abs(finding["saving"] - reader["time"] * 3 / 4) < 1e-6


def test_jumps_are_what_python_finds(tmp_path):
    """Of one thread and one block: where reads of a file begin, against where the one before ended."""
    path = generate(tmp_path / "t", "random", events=20_000)
    assert len(document("files", path)["files"]) < 1024  # so many are remembered
    finding, = (f for f in document("diagnose", path)["findings"] if f["check"] == "random_reads")
    ends, jumps = {}, collections.Counter()
    for call in calls_of(path):
        event = call.event
        if "read" not in call.moved or call.bytes <= 0 or "offset" not in event:
            continue
        place, start = (event["pid"], event["tid"], event["path"]), event["offset"]
        if place in ends:
            is_near = ends[place] <= start <= ends[place] + 131072
            jumps[event["path"]] += start != 0 and not is_near and call.bytes < 1 << 20
        ends[place] = start + call.bytes
    assert {f["path"]: f["count"] for f in finding["files"]}.items() <= jumps.items()


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
