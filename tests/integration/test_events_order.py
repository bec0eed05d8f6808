# SPDX-License-Identifier: MIT
"""`events --sort`, `--top` and `--by` against plain Python over all events in order of time."""

import collections
import csv
import re
import tempfile

import pytest
from generated import document, events_of, generate, reported
from harness import FLOWTAP, call
from hypothesis import given
from hypothesis import strategies as st
from plain import exact, ns
from test_figures import SETTINGS
from test_groups import processes_of, value_of

NUMBERS = ["ts", "t", "dur", "size", "offset", "result", "bytes", "fd", "errno", "pid", "tid", "rank"]
TEXTS = ["name", "cat", "host", "path", "path2", "kind", "call", "exe", "job", "user", "tag.epoch"]
LISTS = ["name", "name,tag.epoch", "path", "errno,name", "kind,call", "host,tid", "rank,epoch", "path,path2,pid", "exe,cat"]
WHERES = [None, "size<4096", "kind=span", "dur>1us && !(errno=0)", "path~'*0*' || cat=compute", "t<0"]
KINDS = ["random", "random", "training", "checkpoint", "metadata"]


def bytes_of(event):
    """Of the calls that the generator makes."""
    return event["result"] if "size" in event and "errno" in event else None


def field_of(event, field, processes):
    if field == "bytes":
        return bytes_of(event)
    if field == "t":
        return event["ts"]
    if field in ("ts", "dur", "size", "offset", "result", "fd"):
        return event.get(field)
    return value_of(field, event, processes)


def rank_of(value):
    """Numbers by what they count, then texts by their bytes."""
    if isinstance(value, int):
        return (0, value, b"")
    is_number = re.fullmatch(r"-?\d{1,17}", value)
    return (0, int(value), value.encode()) if is_number else (1, 0, value.encode())


def in_order(items, value, is_descending):
    """Those without a value last; equal ones stay as they were."""
    known = sorted((i for i in items if value(i) is not None), key=lambda i: rank_of(value(i)), reverse=is_descending)
    return known + [i for i in items if value(i) is None]


def choice(where):
    return [] if where is None else ["--where", where]


@SETTINGS
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 2 ** 32), hosts=st.integers(1, 3), count=st.integers(1, 500),
       field=st.sampled_from(NUMBERS + TEXTS), is_descending=st.booleans(), top=st.integers(0, 40),
       where=st.sampled_from(WHERES))
def test_events_stand_in_the_order_of_a_field(kind, seed, hosts, count, field, is_descending, top, where):
    with tempfile.TemporaryDirectory(prefix="flowtap-test-") as folder:
        path = generate(f"{folder}/t", kind, "--seed", str(seed), "--hosts", str(hosts), events=count)
        events, processes = events_of(path, *choice(where)), processes_of(path)
        wanted = in_order(events, lambda e: field_of(e, field, processes), is_descending)
        sort = ["--sort", ("-" if is_descending else "") + field, "--top", str(top)]
        assert events_of(path, *sort, *choice(where)) == wanted[:top or None]


@pytest.mark.parametrize("kind,field", [("random", "dur"), ("training", "offset"), ("metadata", "path")])
def test_blocks_and_threads_that_read_them_change_no_order(tmp_path, kind, field):
    path = generate(tmp_path / "t", kind, "--hosts", "2", events=300_000)
    events, processes = events_of(path), processes_of(path)
    wanted = in_order(events, lambda e: field_of(e, field, processes), True)
    assert events_of(path, "--sort", f"-{field}", "--top", "1000") == wanted[:1000]
    assert events_of(path, f"--sort=-{field}", "--limit", "7") == wanted[:7]


@SETTINGS
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 2 ** 32), hosts=st.integers(1, 3), count=st.integers(1, 700),
       by=st.sampled_from(LISTS), where=st.sampled_from(WHERES))
def test_groups_are_the_sums_of_their_events(kind, seed, hosts, count, by, where):
    with tempfile.TemporaryDirectory(prefix="flowtap-test-") as folder:
        path = generate(f"{folder}/t", kind, "--seed", str(seed), "--hosts", str(hosts), events=count)
        check_groups(path, by, where)


def test_groups_of_many_blocks(tmp_path):
    path = generate(tmp_path / "t", "training", "--hosts", "2", events=300_000)
    check_groups(path, "name,tag.epoch", None)
    check_groups(path, "path,rank", "bytes>4096")


def check_groups(path, by, where):
    keys, processes = by.split(","), processes_of(path)
    counts, moved, times = (collections.Counter() for _ in range(3))
    for event in events_of(path, *choice(where)):
        group = tuple(value_of(key, event, processes) for key in keys)
        counts[group] += 1
        moved[group] += bytes_of(event) or 0
        times[group] += event.get("dur", 0)
    told = exact("events", path, "--by", by, *choice(where))
    assert told["by"] == keys and not told["partial"]
    groups = [tuple(one["group"][key] for key in keys) for one in told["groups"]]
    assert len(set(groups)) == len(groups)
    assert {g: one["count"] for g, one in zip(groups, told["groups"])} == counts
    assert {g: one["bytes"] for g, one in zip(groups, told["groups"])} == dict(moved)
    assert {g: ns(one["time"]) for g, one in zip(groups, told["groups"])} == dict(times)
    # By all keys, none first; by a figure, equal ones so.
    ordered = sorted(counts, key=lambda g: [(0,) if v is None else (1, *rank_of(v)) for v in g])
    assert groups == ordered
    for figure, sums in (("count", counts), ("bytes", moved), ("time", times)):
        for sign in (1, -1):
            wanted = sorted(ordered, key=lambda g: sign * sums[g])[:5]
            rows = document("events", path, "--by", by, "--sort", ("-" if sign < 0 else "") + figure, "--top", "5",
                            *choice(where))["groups"]
            assert [tuple(one["group"][key] for key in keys) for one in rows] == wanted, (figure, sign)


def test_groups_in_the_other_forms(tmp_path):
    path = generate(tmp_path / "t", "training", events=3000)
    groups = document("events", path, "--by", "name,tag.epoch", "--sort", "-bytes")["groups"]
    assert events_of(path, "--by", "name,tag.epoch", "--sort", "-bytes") == groups
    rows = list(csv.DictReader(reported("events", path, "--by", "name,tag.epoch", "--sort", "-bytes", "--format",
                                        "csv").decode().splitlines()))
    assert [(r["name"], r["tag.epoch"] or None, int(r["count"]), int(r["bytes"]), float(r["time"])) for r in rows] == \
        [(g["group"]["name"], g["group"]["tag.epoch"], g["count"], g["bytes"], g["time"]) for g in groups]
    lines = reported("events", path, "--by", "name,tag.epoch", "--sort", "-bytes", "--top", "2").decode().splitlines()
    assert lines[0].split() == ["COUNT", "BYTES", "TIME", "name", "tag.epoch"] and len(lines) == 4
    assert lines[3] == f"... and {len(groups) - 2} more"
    assert [line.split()[-2] for line in lines[1:3]] == [g["group"]["name"] for g in groups[:2]]


@pytest.mark.parametrize("options,why", [
    (["--sort", "durr"], "--sort: no field 'durr'; a tag is tag.NAME"),
    (["--sort", "dur,name"], "--sort: one field, not several"),
    (["--sort", "-"], "--sort: an empty key"),
    (["--by", "name", "--sort", "dur"], "--sort: groups go by count, bytes, time or one of name, not by 'dur'"),
    (["--by", "name,,pid"], "--by: an empty key"),
])
def test_what_cannot_be_understood(tmp_path, options, why):
    path = generate(tmp_path / "t", "random", events=10)
    done = call([FLOWTAP, "events", *options, path])
    assert done.returncode == 2 and done.stdout == b"" and done.stderr.decode().startswith(f"flowtap events: {why}")
    assert done.stderr.count(b"\n") == 1


def test_more_than_can_be_put_in_order_is_refused_and_a_part_of_it_is_not(tmp_path):
    path = generate(tmp_path / "t", "same", events=1_050_000)
    for options in (["--sort", "-dur"], ["--sort", "-dur", "--where", "size>0"], ["--sort", "dur", "--top", "1000001"]):
        done = call([FLOWTAP, "events", *options, path])
        assert done.returncode == 1 and done.stdout == b"" and b"--top" in done.stderr and done.stderr.count(b"\n") == 1
    longest, = events_of(path, "--sort", "-dur", "--top", "1")
    assert int(document("summary", path)["calls"][0]["max"] * 1e9 + .5) == longest["dur"]


def test_what_is_damaged_is_left_out_and_told(tmp_path):
    path = generate(tmp_path / "t", "same", events=200_000)
    file, = path.glob("*.flow")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xff
    file.write_bytes(data)
    for options in (["--sort", "-dur", "--top", "3"], ["--by", "name"]):
        done = call([FLOWTAP, "events", "--json", *options, path])
        assert done.returncode == 0 and b'"partial": true' in done.stdout.replace(b'"partial":true', b'"partial": true')


@pytest.mark.parametrize("options", [["--sort", "-dur", "--top", "3"], ["--by", "name"]])
def test_what_was_dropped_is_told(tmp_path, options):
    path = generate(tmp_path / "t", "random", "--dropped", "50", events=2000)
    dropped = document("summary", path)["dropped"]
    told = document("events", path, *options)
    assert dropped > 0 and (told["dropped"], told["profiled"]) == (dropped, 0)
    assert reported("events", path, *options).decode().splitlines()[-1] == f"{dropped:,} events were dropped and are not in it."
    whole = generate(tmp_path / "whole", "random", events=2000)
    assert "not in it" not in reported("events", whole, *options).decode()
