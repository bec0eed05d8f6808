# SPDX-License-Identifier: MIT
"""The traces of many nodes are one job: what is said of it is what its files say one by one, in memory that goes with nothing else."""

import collections
import itertools
import json
import os
import re
import resource

import harness
import pytest
from generated import document, events_of, generate
from reading import on, peak_memory
from test_address_space import COMMANDS

NODES, EVENTS, MEMORY = 1000, 100_000, 4 << 30
PROCESSES = 16  # of each node of a kind that the generator makes
# flowtap(1): what each trace file takes of a reader, beside its names, files, processes and threads; `diff` reads two of each.
FILE_BYTES, NOISE_BYTES = 96 << 10, 8 << 20


def limited(command, path, *options):
    done = harness.call([harness.FLOWTAP, command, "--json", *options, path], deadline=300,
                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)))
    assert done.returncode == 0 and not done.stderr, (command, done.stderr)
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """A thousand files, and the events of each, read alone."""
    path = generate(tmp_path_factory.mktemp("nodes") / "t", "metadata", "--hosts", str(NODES), events=EVENTS)
    return path, [events_of(file) for file in sorted(path.iterdir())]


def keys_of(event):
    """All of an event but when it was since the trace's first one."""
    return json.dumps({key: value for key, value in event.items() if key != "t"}, sort_keys=True)


def test_a_thousand_nodes_are_one_job(tmp_path):
    path = generate(tmp_path / "t", "checkpoint", "--hosts", str(NODES), events=EVENTS)
    summary = limited("summary", path)
    assert (summary["hosts"], summary["events"], summary["stored"]) == (NODES, EVENTS, EVENTS)
    assert not summary["partial"] and summary["clock_error"] > 0 and len(summary["jobs"]) == 1
    processes = limited("processes", path)["processes"]
    assert summary["processes"] == len(processes) and len({p["host"] for p in processes}) == NODES
    files = limited("files", path)["files"]
    assert summary["files"] == len(files)
    assert sum(f["read_bytes"] for f in files) == summary["read"]["bytes"]
    assert sum(f["written_bytes"] for f in files) == summary["write"]["bytes"]
    assert sum(b["reads"] for b in limited("timeline", path)["bins"]) == summary["read"]["count"]


def test_its_events_are_those_of_all_files_in_order_of_time(job):
    path, singles = job
    events = events_of(path)
    assert [e["ts"] for e in events] == sorted(e["ts"] for one in singles for e in one)
    assert sorted(map(keys_of, events)) == sorted(keys_of(e) for one in singles for e in one)
    start = round(limited("summary", path)["start"] * 1e9)
    assert all(round(e["t"] * 1e9) == e["ts"] - start for e in events)
    counts = collections.Counter((e["host"], e["name"]) for one in singles for e in one)
    groups = limited("events", path, "--by", "host,name")["groups"]
    assert {(g["group"]["host"], g["group"]["name"]): g["count"] for g in groups} == counts
    longest = events_of(path, "--sort", "-dur", "--top", "50")
    assert [e["dur"] for e in longest] == sorted((e["dur"] for one in singles for e in one), reverse=True)[:50]


def test_its_findings_are_of_all_files(job):
    path, singles = job
    finding, = (f for f in limited("diagnose", path)["findings"] if f["check"] == "lookups")
    looks = collections.Counter((e["host"], e["path"]) for one in singles for e in one
                                if re.search("stat|open|access|readlink|scandir", e["name"]))
    assert finding["figure"].startswith(f"{sum(looks.values()):,} opens, stats and the like")
    assert finding["files"] and all(file["count"] == looks[file["host"], file["path"]] for file in finding["files"])


@pytest.mark.parametrize("command", [["files"], ["summary"], ["diagnose"]], ids="-".join)
def test_a_file_is_shown_with_its_host_where_there_are_several(tmp_path, command):
    """A path that nodes share is a row for each of them; of one node alone nobody needs to be told its name."""
    for nodes in (1, 4):
        path = generate(tmp_path / str(nodes), "metadata", "--hosts", str(nodes), events=20_000)
        lines = harness.read_command(*command, path).stdout.decode().splitlines()
        begin = next(i for i, line in enumerate(lines) if line.split()[-1:] == ["PATH"])
        rows = [line.split() for line in itertools.takewhile(lambda line: "/data/" in line, lines[begin + 1:])]
        assert (lines[begin].split()[-2] == "HOST") == (nodes > 1) and len(rows) > 3
        if nodes > 1:
            hosts = {(file["host"], file["path"]) for file in document("files", path)["files"]}
            assert {(row[-2], row[-1]) for row in rows} <= hosts and len({(row[-2], row[-1]) for row in rows}) == len(rows)


def test_two_of_them_side_by_side(job, tmp_path):
    """All nodes against a half of them."""
    path, singles = job
    half = tmp_path / "half"
    half.mkdir()
    for file in sorted(path.iterdir())[:NODES // 2]:
        os.link(file, half / file.name)
    done = harness.call([harness.FLOWTAP, "diff", "--json", "--top", "0", path, half], deadline=300)
    assert done.returncode == 0 and not done.stderr
    told = json.loads(done.stdout)
    for side, part in (("a", singles), ("b", singles[:NODES // 2])):
        calls, times = collections.Counter(), collections.Counter()
        for event in (e for one in part for e in one):
            calls[event["name"]] += 1
            times[event["name"]] += event["dur"]
        assert {c["name"]: c[side]["count"] for c in told["calls"] if c[side]["count"]} == calls
        assert {c["name"]: round(c[side]["time"] * 1e9) for c in told["calls"] if c[side]["count"]} == times
        assert told["totals"]["processes"][side] == PROCESSES * len(part)
        assert told["totals"]["reads"][side] == calls["read"] and told["totals"]["writes"][side] == calls["write"]


def test_each_file_is_checked(job, tmp_path):
    path, singles = job
    told = limited("verify", path)
    assert told["ok"] and not told["partial"] and [f["events"] for f in told["files"]] == [len(one) for one in singles]
    assert [f["events"] for f in limited("info", path)["files"]] == [len(one) for one in singles]
    copy = tmp_path / "copy"
    copy.mkdir()
    for at, file in enumerate(sorted(path.iterdir())):
        if at == NODES - 7:
            data = bytearray(file.read_bytes())
            data[len(data) // 2] ^= 0xff
            (copy / file.name).write_bytes(data)
        else:
            os.link(file, copy / file.name)
    done = on(["verify", "--json"], copy)
    told = json.loads(done.stdout)
    assert done.returncode == 1 and [at for at, file in enumerate(told["files"]) if not file["ok"]] == [NODES - 7]


def test_the_library_reads_them_as_one(job):
    path, singles = job
    done = [harness.call([harness.program("read_trace"), mode, path], deadline=120) for mode in ("facts", "count")]
    assert all(one.returncode == 0 for one in done), done[0].stderr
    facts, count = (json.loads(one.stdout.splitlines()[0]) for one in done)
    events = [e for one in singles for e in one]
    assert (facts["events"], facts["parts"], facts["hosts"], facts["partial"], count["count"]) == (EVENTS, NODES, NODES, 0, EVENTS)
    assert facts["processes"] == PROCESSES * NODES
    rows = harness.call([harness.program("read_trace"), "events", path], deadline=120).stdout.splitlines()
    assert collections.Counter((row["ts"], row["pid"], row["dur"]) for row in map(json.loads, rows)) == collections.Counter(
        (e["ts"], e["pid"], e["dur"]) for e in events)


@pytest.fixture(scope="module")
def clusters(tmp_path_factory):
    """The same events, from ever more nodes."""
    folder = tmp_path_factory.mktemp("clusters")
    return {nodes: generate(folder / str(nodes), "checkpoint", "--hosts", str(nodes), events=EVENTS) for nodes in (10, 100, 1000)}


@pytest.mark.parametrize("command", COMMANDS)
def test_memory_goes_with_the_number_of_files_alone(clusters, command):
    first = command.split()[0]
    peaks = {nodes: peak_memory([harness.FLOWTAP, *command.split(), *{"diff": [path, path], "doctor": ["--trace", path]}.get(first, [path])])
             for nodes, path in clusters.items()}
    each = FILE_BYTES * (2 if first == "diff" else 1)
    assert peaks[100] <= peaks[10] + 90 * each + NOISE_BYTES, peaks
    assert peaks[1000] <= peaks[100] + 900 * each + NOISE_BYTES, peaks
