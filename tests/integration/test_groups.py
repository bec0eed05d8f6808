# SPDX-License-Identifier: MIT
"""`summary --by`: the figures of each group of events, against slow, plain Python over the events."""

import collections
import tempfile

import pytest
from generated import document, events_of, generate, reported
from harness import FLOWTAP, call
from hypothesis import given
from hypothesis import strategies as st
from plain import calls_of, common, exact, length, ns, other_io_of, owned_pieces, union
from test_figures import SETTINGS, is_span, time_of, unions_of
from test_where import kind

WAYS = ("read", "write", "metadata")
OF_PROCESS = {"host": "host", "pid": "pid", "exe": "exe", "job": "job", "user": "user"}
LISTS = ["epoch", "cat", "rank", "host", "epoch,cat", "rank,epoch", "pid,cat,epoch", "name", "exe,rank", "tag.epoch", "nothing",
         "tid,kind", "path", "call,errno", "path2,cat"]


def processes_of(path):
    return {(p["host"], p["pid"]): p for p in document("processes", path)["processes"]}


def value_of(key, event, processes):
    process = processes.get((event["host"], event["pid"]), {})
    if key in ("cat", "category"):
        return event["cat"]
    if key in ("name", "host", "pid", "tid"):
        return event[key]
    if key in ("path", "path2", "errno"):
        return event.get(key)
    if key == "kind":
        return kind(event)
    if key == "call":
        return event["name"] if kind(event) == "call" else None
    if key in ("exe", "job", "user"):
        return process.get(key)
    tags = event.get("tags", {})
    if key == "rank":
        rank = process.get("rank")
        return tags.get("rank") if rank is None else rank
    return tags.get(key.removeprefix("tag."))


def owners(events):
    """Of each event its own time, without what went on inside it."""
    own = collections.Counter()
    for number, start, end in owned_pieces(events):
        own[number] += end - start
    return own


def check_group(told, events, calls, own):
    spans = [e for _, e in events if is_span(e)]
    times, _ = unions_of(calls, spans)
    timed = [e for _, e in events if "dur" in e]
    assert told["events"] == len(events) and told["spans"] == len(spans)
    assert told["calls"] == sum("errno" in e for _, e in events)
    assert {key: ns(told[key]) for key in times} == times
    assert ns(told["time"]) == sum(e["dur"] for e in timed)
    assert ns(told["busy_time"]) == length(union(time_of(e) for e in timed))
    assert ns(told["exclusive_time"]) == sum(own[number] for number, _ in events)
    assert ns(told["start"]) == min(e["ts"] for _, e in events)
    assert ns(told["end"]) == max(e["ts"] + e.get("dur", 0) for _, e in events)
    for way in WAYS:
        assert told[way]["count"] == sum(way in c.ways for c in calls)
        assert told[way]["bytes"] == sum(c.bytes for c in calls if way in c.moved)
        assert ns(told[way]["time"]) == sum(c.end - c.start for c in calls if way in c.ways)
    other = told["other_io"]
    assert (other["count"], other["bytes"], ns(other["time"])) == other_io_of([e for _, e in events], calls)


def check(path, by, events):
    summary, processes, own = exact("summary", path, "--by", by), processes_of(path), owners(events)
    keys = by.split(",")
    wanted, calls = collections.defaultdict(list), collections.defaultdict(list)
    for number, event in enumerate(events):
        wanted[tuple(value_of(key, event, processes) for key in keys)].append((number, event))
    for one in calls_of(path, events=events):
        calls[tuple(value_of(key, one.event, processes) for key in keys)].append(one)
    assert summary["by"] == keys
    told = {tuple(group["group"][key] for key in keys): group for group in summary["groups"]}
    assert len(told) == len(summary["groups"]) and told.keys() == wanted.keys()
    for values, group in told.items():
        check_group(group, wanted[values], calls[values], own)
    # No moment of a thread is in two groups, and none is lost.
    threads = collections.defaultdict(list)
    for event in events:
        if "dur" in event and "id" not in event:
            threads[event["host"], event["pid"], event["tid"]].append(time_of(event))
    assert sum(ns(g["exclusive_time"]) for g in summary["groups"]) == sum(length(union(t)) for t in threads.values())


@SETTINGS
@given(kind=st.sampled_from(["random", "random", "random", "training", "checkpoint"]), seed=st.integers(0, 2 ** 32),
       hosts=st.integers(1, 3), count=st.integers(1, 700), by=st.sampled_from(LISTS))
def test_groups_are_what_python_finds(kind, seed, hosts, count, by):
    with tempfile.TemporaryDirectory(prefix="flowtap-test-") as folder:
        path = generate(f"{folder}/t", kind, "--seed", str(seed), "--hosts", str(hosts), events=count)
        check(path, by, events_of(path))


@pytest.mark.parametrize("kind,by", [("random", "cat"), ("training", "epoch")])
def test_blocks_change_no_figure_of_a_group(tmp_path, kind, by):
    """Larger than a block: spans of one block have calls of another inside."""
    path = generate(tmp_path / "t", kind, events=140_000)
    events = events_of(path)
    summary, own = exact("summary", path, "--by", by), owners(events)
    wanted, spans, calls = collections.Counter(), collections.defaultdict(list), collections.defaultdict(list)
    for number, event in enumerate(events):
        value = value_of(by, event, {})
        wanted[value] += own[number]
        if is_span(event) and event["cat"] == "compute":
            spans[value].append(time_of(event))
    for one in calls_of(path, events=events):
        calls[value_of(by, one.event, {})].append((one.start, one.end))
    for group in summary["groups"]:
        value = group["group"][by]
        assert ns(group["exclusive_time"]) == wanted[value], value
        compute, io = union(spans[value]), union(calls[value])
        assert (ns(group["compute_time"]), ns(group["io_time"])) == (length(compute), length(io))
        if kind == "training":
            assert ns(group["unoverlapped_io_time"]) == length(io) - length(common(io, compute))


def test_categories_stand_side_by_side(tmp_path):
    path = generate(tmp_path / "t", "random", events=900)
    wanted = collections.Counter()
    for event in events_of(path):
        if "dur" in event:
            wanted[event["cat"], "count"] += 1
            wanted[event["cat"], "time"] += event["dur"]
    told = exact("summary", path)["categories"]
    assert {one["category"] for one in told} == {cat for cat, _ in wanted}
    for one in told:
        assert (one["count"], ns(one["time"])) == (wanted[one["category"], "count"], wanted[one["category"], "time"])
    assert [one["time"] for one in told] == sorted((one["time"] for one in told), reverse=True)


def test_groups_stand_in_order_of_their_values(tmp_path):
    path = generate(tmp_path / "t", "training", "--hosts", "3", events=9000)
    groups = [(one["group"]["rank"], one["group"]["epoch"]) for one in document("summary", path, "--by", "rank,epoch")["groups"]]
    wanted = sorted(groups, key=lambda one: (one[0], -1 if one[1] is None else int(one[1])))
    assert groups == wanted and {rank for rank, _ in groups} == set(range(12)) and (11, None) in groups
    lines = reported("summary", path, "--by", "rank,epoch").decode().splitlines()
    head, = (i for i, line in enumerate(lines) if line.startswith("Groups ("))
    assert lines[head] == f"Groups ({len(groups)})" and lines[head + 1].split()[-2:] == ["rank", "epoch"]
    shown = [tuple(line.split()[-2:]) for line in lines[head + 2:head + 2 + len(groups)]]
    assert shown == [(str(rank), epoch or "-") for rank, epoch in groups]


@pytest.mark.parametrize("by,why", [("", "an empty key"), ("a,,b", "an empty key"), ("a,", "an empty key"),
                                    (",".join("abcdefghi"), "more than 8 keys")])
def test_keys_that_cannot_be(tmp_path, by, why):
    path = generate(tmp_path / "t", "random", events=10)
    done = call([FLOWTAP, "summary", "--by", by, path])
    assert done.returncode == 2 and done.stdout == b""
    assert done.stderr.decode().startswith(f"flowtap summary: --by: {why}") and done.stderr.count(b"\n") == 1


def test_too_many_groups_are_refused(tmp_path):
    """Their memory is bounded: one line says so, and what has fewer is reported."""
    path = generate(tmp_path / "t", "metadata", events=500_000)
    for form in ([], ["--json"]):
        done = call([FLOWTAP, "summary", *form, "--by", "path,tid,call", path], deadline=300)
        assert done.returncode == 1 and done.stdout == b"", done.stderr
        assert done.stderr.decode().startswith("flowtap summary: more than 250,000 groups: ") and done.stderr.count(b"\n") == 1
    assert document("events", path, "--by", "path,tid,call")["groups"][250_000:]
    assert document("summary", path, "--by", "path")["groups"][10_000:]
