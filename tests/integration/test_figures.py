# SPDX-License-Identifier: MIT
"""Every figure of `summary`, `processes` and `files` against slow, plain Python over the events."""

import collections
import tempfile

import pytest
from generated import events_of, generate
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plain import TRANSFERS, calls_of, common, exact, length, ns, union

SETTINGS = settings(max_examples=15, deadline=None, derandomize=True, database=None,
                    suppress_health_check=list(HealthCheck))
REMEMBERED = 8


def is_span(event):
    return "errno" not in event and "dur" in event


def time_of(event):
    return event["ts"], event["ts"] + event["dur"]


def unions_of(calls, spans):
    """The unions over time of some calls and spans, and what the other kind left uncovered."""
    io, moving = union((c.start, c.end) for c in calls), union((c.start, c.end) for c in calls if c.ways & {"read", "write"})
    app = union(time_of(e) for e in spans)
    compute = union(time_of(e) for e in spans if e["cat"] == "compute")
    app_io = union(time_of(e) for e in spans if e["cat"] in ("io", "data"))
    return {"io_time": length(io), "app_time": length(app), "compute_time": length(compute), "app_io_time": length(app_io),
            "unoverlapped_io_time": length(io) - length(common(io, compute)),
            "unoverlapped_compute_time": length(compute) - length(common(io, compute)),
            "unoverlapped_app_io_time": length(app_io) - length(common(app_io, compute))}, length(moving)


def accesses_of(calls):
    """How many requests of each way are sequential and how many are not: (way, is sequential) -> count."""
    counts, remembered = collections.Counter(), collections.defaultdict(list)
    for call in calls:
        event = call.event
        if len(call.ways) != 1 or not call.ways & {"read", "write"} or event["errno"] or "offset" not in event:
            continue
        if event["name"] in TRANSFERS and "path" not in event:
            continue
        way, = call.ways
        files = remembered[event["host"], event["pid"], event["tid"]]
        key = (event["path"], way)
        ends = [end for file, end in files if file == key]
        counts[way, event["offset"] == 0 or event["offset"] in ends] += 1
        files[:] = ([(key, event["offset"] + call.bytes)] + [one for one in files if one[0] != key])[:REMEMBERED]
    return counts


def check_bandwidth(told, calls, ways, time):
    """What is divided by a time has moved in it; None where nothing has, of bytes that there are."""
    moved, timed = (sum(getattr(c, kind) * len(c.moved & ways) for c in calls) for kind in ("bytes", "timed_bytes"))
    if moved and not timed:
        assert told is None
    else:
        assert float(told) == pytest.approx(timed * 10 ** 9 / time if time else 0)


def check_summary(summary, calls, spans):
    times, moving = unions_of(calls, spans)
    assert {key: ns(summary[key]) for key in times} == times
    assert ns(summary["moved"]["busy_time"]) == moving
    check_bandwidth(summary["moved"]["busy_bandwidth"], calls, {"read", "write"}, moving)
    counts = accesses_of(calls)
    for way in ("read", "write"):
        own = [c for c in calls if way in c.ways]
        assert summary[way]["count"] == len(own)
        assert summary[way]["bytes"] == sum(c.bytes for c in calls if way in c.moved)
        assert ns(summary[way]["time"]) == sum(c.end - c.start for c in own)
        busy = length(union((c.start, c.end) for c in own))
        assert ns(summary[way]["busy_time"]) == busy
        check_bandwidth(summary[way]["bandwidth"], calls, {way}, sum(c.end - c.start for c in own))
        check_bandwidth(summary[way]["busy_bandwidth"], calls, {way}, busy)
        assert summary[way]["small"] == sum(0 < c.bytes < 4096 for c in own)
        assert summary[way]["empty"] == sum(c.bytes == 0 for c in own)
        assert (summary[way]["sequential"], summary[way]["random"]) == (counts[way, True], counts[way, False]), way
    assert summary["moved"]["bytes"] == sum(c.bytes * len(c.moved) for c in calls)


def check_percentiles(summary, events):
    durations = collections.defaultdict(list)
    for event in events:
        if "errno" in event:
            durations[event["name"]].append(event["dur"])
    for call in summary["calls"]:
        own = sorted(durations[call["name"]])
        assert sum(b["count"] for b in call["durations"]["buckets"]) == len(own) == call["count"]
        for bucket in call["durations"]["buckets"]:
            assert bucket["count"] == sum(ns(bucket["from"]) <= dur <= ns(bucket["to"]) for dur in own)
        for percent in (50, 95, 99):
            # Of the nearest rank: in the same power of two, and within what there was.
            wanted, told = own[-(-len(own) * percent // 100) - 1], ns(call[f"p{percent}"])
            assert wanted.bit_length() == told.bit_length() and own[0] <= told <= own[-1]


def check_processes(path, summary, calls, spans, *options):
    processes = exact("processes", path, *options)["processes"]
    for process in processes:
        key = (process["host"], process["pid"])
        own = [c for c in calls if (c.event["host"], c.event["pid"]) == key]
        times, moving = unions_of(own, [e for e in spans if (e["host"], e["pid"]) == key])
        assert {name: ns(process["busy"][name]) for name in times} == times
        assert ns(process["busy"]["moving_time"]) == moving
        check_bandwidth(process["busy"]["bandwidth"], own, {"read", "write"}, moving)
        assert ns(process["io_time"]) == sum(c.end - c.start for c in own)
        assert process["read_bytes"] == sum(c.bytes for c in own if "read" in c.moved)
        assert process["written_bytes"] == sum(c.bytes for c in own if "write" in c.moved)
    waits = {(p["host"], p["pid"]): ns(p["busy"]["unoverlapped_app_io_time"]) for p in processes
             if ns(p["busy"]["compute_time"]) > 0 and ns(p["busy"]["unoverlapped_app_io_time"]) > 0}
    told = [ns(one["time"]) for one in summary["waits"]]
    assert summary["waits_found"] == len(waits) and told == sorted(waits.values(), reverse=True)[:5]
    assert all(waits[one["host"], one["pid"]] == ns(one["time"]) for one in summary["waits"])
    wanted, least = [], max(1_000_000, ns(summary["wall_time"]) // 100)  # what is less is noise
    for exe in {p["exe"] for p in processes}:
        io = sorted(ns(p["busy"]["io_time"]) for p in processes if p["exe"] == exe and (options or p["dropped"] == 0))
        median = io[(len(io) - 1) // 2] if io else 0
        wanted += [one - median for one in io if len(io) >= 3 and one - median >= least]
    told = [ns(one["io_time"]) - ns(one["median"]) for one in summary["stragglers"]]
    assert summary["stragglers_found"] == len(wanted) and told == sorted(wanted, reverse=True)[:5]


def check_hottest(path, summary, *options):
    files = {(f["host"], f["path"]): f for f in exact("files", path, *options)["files"]}
    times = {key: f["read_time"] + f["write_time"] + f["metadata_time"] for key, f in files.items()
             if f["kind"] in ("regular", "directory", "block", "unknown")}
    told = [(one["host"], one["path"]) for one in summary["hottest_files"]]
    assert [times[key] for key in told] == sorted((t for t in times.values() if t), reverse=True)[:5]
    for one in summary["hottest_files"]:
        file = files[one["host"], one["path"]]
        assert one["processes"] == file["processes"] and one["read_bytes"] == file["read_bytes"]
        assert one["calls"] == file["reads"] + file["writes"] + file["metadata"]


@SETTINGS
@given(kind=st.sampled_from(["random", "random", "random", "training", "checkpoint"]), seed=st.integers(0, 2 ** 32),
       hosts=st.integers(1, 3), count=st.integers(1, 900))
def test_figures_are_what_python_finds(kind, seed, hosts, count):
    with tempfile.TemporaryDirectory(prefix="flowtap-test-") as folder:
        path = generate(f"{folder}/t", kind, "--seed", str(seed), "--hosts", str(hosts), events=count)
        events = events_of(path)
        calls, spans, summary = calls_of(path, events=events), [e for e in events if is_span(e)], exact("summary", path)
        check_summary(summary, calls, spans)
        check_percentiles(summary, events)
        check_processes(path, summary, calls, spans)
        check_hottest(path, summary)


def test_blocks_and_threads_change_no_figure(tmp_path):
    """Larger than a block: what is joined over the borders of blocks is as in one piece."""
    path = generate(tmp_path / "t", "training", events=140_000)
    events = events_of(path)
    calls, spans, summary = calls_of(path, events=events), [e for e in events if is_span(e)], exact("summary", path)
    counts = accesses_of(calls)
    for way in ("read", "write"):
        assert (summary[way]["sequential"], summary[way]["random"]) == (counts[way, True], counts[way, False]), way
        assert ns(summary[way]["busy_time"]) == length(union((c.start, c.end) for c in calls if way in c.ways))
    processes = exact("processes", path)["processes"]
    by_process = collections.defaultdict(list)
    for call in calls:
        by_process[call.event["host"], call.event["pid"]].append((call.start, call.end))
    for process in processes:
        assert ns(process["busy"]["io_time"]) == length(union(by_process[process["host"], process["pid"]]))
