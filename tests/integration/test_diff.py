# SPDX-License-Identifier: MIT
"""`diff` of two runs against plain Python over the events of both."""

import collections
import tempfile

import harness
from generated import document, events_of, generate, reported
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plain import READS, STREAMS, TRANSFERS, WRITES, calls_of, common, exact, length, ns, union

SETTINGS = settings(max_examples=10, deadline=None, derandomize=True, database=None,
                    suppress_health_check=list(HealthCheck))
SIDES = ("a", "b")


def add(sums, key, count, size, time):
    before = sums[key]
    sums[key] = (before[0] + count, before[1] + size, before[2] + time)


def new_sums():
    return collections.defaultdict(lambda: (0, 0, 0))


def by_call(events):
    sums = new_sums()
    for event in events:
        moves = event["name"] in READS | WRITES | TRANSFERS | STREAMS
        add(sums, (event["name"], event["cat"]), 1, event["result"] if moves else 0, event["dur"])
    return sums


def by_file(events):
    """Every file of a generated trace has one path."""
    sums = new_sums()
    for event in events:
        first, second = event.get("path"), event.get("path2")
        moves = event["name"] in READS | WRITES | TRANSFERS | STREAMS
        size = event["result"] if moves else 0
        if first:
            add(sums, first, 1, size, event["dur"])
        if second and second != first:
            add(sums, second, 1, 0, 0)
        if second:
            add(sums, second, 0, size, event["dur"])
    return sums


def by_program(path, calls, events):
    exes = {(p["host"], p["pid"]): p["exe"] for p in document("processes", path)["processes"]}
    sums = new_sums()
    for exe in exes.values():
        add(sums, exe, 0, 0, 0)  # also one that did nothing
    for event in events:
        add(sums, exes[event["host"], event["pid"]], 1, 0, 0)
    for call in calls:
        key = exes[call.event["host"], call.event["pid"]]
        add(sums, key, 0, call.bytes * len(call.moved), call.event["dur"])
    return sums, collections.Counter(exes.values())


def check_list(rows, keys, plain):
    """The rows are those of both runs together, with each one's sums, ordered by the change of time."""
    got = [tuple(row[key] for key in keys) if len(keys) > 1 else row[keys[0]] for row in rows]
    assert len(set(got)) == len(got) and set(got) == set(plain[0]) | set(plain[1])
    for row, key in zip(rows, got):
        sums = [side.get(key, (0, 0, 0)) for side in plain]
        assert [(row[s]["count"], row[s]["bytes"], ns(row[s]["time"])) for s in SIDES] == sums, key
        assert ns(row["time_change"]) == sums[1][2] - sums[0][2] == ns(row["by_count"]) + ns(row["by_speed"])
        assert (row["change"] == "appeared") == (key not in plain[0]) and (row["change"] == "vanished") == (key not in plain[1])
        if row["change"] in ("slowed", "sped up"):
            assert (sums[1][2] / sums[1][0] > sums[0][2] / sums[0][0]) == (row["change"] == "slowed")
    changes = [abs(ns(row["time_change"])) for row in rows]
    assert changes == sorted(changes, reverse=True)


def check_totals(totals, plain):
    for side, (calls, events) in zip(SIDES, plain):
        ways = {way: [c for c in calls if way in c.ways] for way in ("read", "write", "metadata")}
        io = union((c.start, c.end) for c in calls)
        compute = union((e["ts"], e["ts"] + e["dur"]) for e in events if "errno" not in e and "dur" in e and e["cat"] == "compute")
        expected = {
            "read_bytes": sum(c.bytes for c in calls if "read" in c.moved),
            "written_bytes": sum(c.bytes for c in calls if "write" in c.moved),
            **{f"{way}_time": sum(c.event["dur"] for c in rows) for way, rows in ways.items()},
            **{key: len(ways[way]) for key, way in (("reads", "read"), ("writes", "write"), ("metadata", "metadata"))},
            "io_time": length(io), "compute_time": length(compute), "overlap_time": length(common(io, compute)),
        }
        assert {key: ns(totals[key][side]) if key.endswith("_time") else totals[key][side] for key in expected} == expected


@SETTINGS
@given(kinds=st.lists(st.sampled_from(["random", "random", "training"]), min_size=2, max_size=2),
       seeds=st.lists(st.integers(0, 2 ** 32), min_size=2, max_size=2), counts=st.lists(st.integers(1, 500), min_size=2, max_size=2))
def test_all_sums_are_those_that_python_finds(kinds, seeds, counts):
    with tempfile.TemporaryDirectory(prefix="flowtap-test-") as folder:
        paths = [generate(f"{folder}/{i}", kinds[i], "--seed", str(seeds[i]), events=counts[i]) for i in range(2)]
        events = [events_of(path) for path in paths]
        calls = [calls_of(path, events=own) for path, own in zip(paths, events)]
        diff = exact("diff", paths[1], paths[0])
        assert (diff["a"], diff["b"]) == (paths[0], paths[1])
        plain = list(zip(calls, events))
        check_totals(diff["totals"], plain)
        made = [[e for e in own if "errno" in e] for _, own in plain]
        spans = [[e for e in own if "errno" not in e and "dur" in e] for _, own in plain]
        check_list(diff["calls"], ("name", "category"), [by_call(own) for own in made])
        check_list(diff["spans"], ("name", "category"), [by_call(own) for own in spans])
        check_list(diff["files"], ("path",), [by_file(own) for own in made])
        programs = [by_program(path, *run) for path, run in zip(paths, plain)]
        check_list(diff["programs"], ("exe",), [sums for sums, _ in programs])
        for row in diff["programs"]:
            assert [row[s]["processes"] for s in SIDES] == [counts[row["exe"]] for _, counts in programs]


def test_a_trace_does_not_differ_from_itself(tmp_path):
    path = generate(tmp_path / "t", "metadata", events=5000)
    diff = document("diff", path, str(path))
    assert all(row["change"] == "same" for key in ("calls", "spans", "files", "programs") for row in diff[key])
    assert all(total["a"] == total["b"] for total in diff["totals"].values())
    assert b"changed" not in reported("diff", path, str(path))


CODE = """
import os, sys
def read(name, times, size):
    f = os.open(name, os.O_RDONLY)
    for _ in range(times):
        os.pread(f, size, 0)
    os.close(f)
with open('both', 'wb') as f:
    f.write(b'x' * 100000)
read('both', int(sys.argv[1]), 1000)
open(sys.argv[2], 'wb').write(b'y')
"""


def test_what_appeared_vanished_and_grew(tap):
    runs = [tap.run(["/usr/bin/python3", "-S", "-E", "-c", CODE, *words]) for words in (["10", "first"], ["400", "second"])]
    diff = document("diff", runs[1].path, str(runs[0].path))
    changes = {row["path"]: row for row in diff["files"]}
    assert changes[str(tap.work / "first")]["change"] == "vanished" and changes[str(tap.work / "second")]["change"] == "appeared"
    both = changes[str(tap.work / "both")]
    assert both["b"]["bytes"] - both["a"]["bytes"] == 390 * 1000 and both["b"]["count"] - both["a"]["count"] == 390
    text = harness.call([harness.FLOWTAP, "diff", "--top", "3", runs[0].path, runs[1].path]).stdout.decode()
    assert "Files (" in text and "more (--top 0 shows all)" in text


def test_two_traces_are_wanted(tmp_path):
    path = generate(tmp_path / "t", "training", events=100)
    for words, status in (([], 2), ([path], 2), ([path, path, path], 2), ([path, tmp_path / "none"], 1), ([tmp_path / "none", path], 1)):
        done = harness.call([harness.FLOWTAP, "diff", *words])
        assert done.returncode == status and done.stderr.count(b"\n") == 1 and not done.stdout, words
