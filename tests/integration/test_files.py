# SPDX-License-Identifier: MIT
"""Every figure of `files`, its groups, order and cut, against slow, plain Python over the events."""

import collections
import tempfile

from generated import events_of, generate
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plain import METADATA, READS, STREAMS, TRANSFERS, WRITES, exact, ns

SETTINGS = settings(max_examples=15, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))

SUMS = ("reads", "writes", "metadata", "read_bytes", "written_bytes", "read_time", "write_time", "metadata_time", "opens", "errors",
        "events")

# An expression, and the same of an event.
WHERES = [(None, lambda e: True), ("dur>=1us", lambda e: e.get("dur", -1) >= 1000),
          ("size<4KiB || kind=span", lambda e: e.get("size", 4096) < 4096 or "errno" not in e),
          ("errno!=0", lambda e: e.get("errno", 0) != 0), ("path~'*1*' && call!=read", lambda e: "1" in e.get("path", "") and
                                                          "errno" in e and e["name"] != "read"),
          ("path2~'*'", lambda e: "path2" in e), ("call=no_such", lambda e: False)]

SORTS = {"time": lambda f: f["read_time"] + f["write_time"] + f["metadata_time"], "read": lambda f: f["read_bytes"],
         "written": lambda f: f["written_bytes"], "calls": lambda f: f["events"], "opens": lambda f: f["opens"]}


def sides_of(event, is_second):
    """Which way the call counts for its first or second file, and which way its bytes went there."""
    name = event["name"]
    if name in TRANSFERS:
        return ("write", "write") if is_second else ("read", "read")
    if is_second:
        return None, None
    if name in READS | WRITES:
        way = "read" if name in READS else "write"
        return way, way
    assert name in METADATA, name
    return "metadata", "write" if name in STREAMS else None


def add(file, event, is_second):
    way, moved = sides_of(event, is_second)
    dur, bytes_moved = event.get("dur", 0), max(event.get("result", 0), 0)
    if way:
        file[{"read": "reads", "write": "writes", "metadata": "metadata"}[way]] += 1
        file[way + "_time"] += dur
    if moved:
        file["read_bytes" if moved == "read" else "written_bytes"] += bytes_moved
    if not is_second:
        file["opens"] += event["name"].startswith("open") and not event["errno"]
    if not is_second or event["name"] in TRANSFERS:
        file["errors"] += event["errno"] != 0


def files_of(events):
    """(host, path) -> its sums, and the processes that touched it."""
    files, processes = collections.defaultdict(collections.Counter), collections.defaultdict(set)
    for event in events:
        for is_second, key in enumerate(("path", "path2")):
            if key in event:
                place = event["host"], event[key]
                add(files[place], event, bool(is_second))
                processes[place].add(event["pid"])
        for place in {(event["host"], event[key]) for key in ("path", "path2") if key in event}:
            files[place]["events"] += 1
    return files, processes


def figures(row):
    return {name: ns(row[name]) if name.endswith("_time") else row[name] for name in SUMS}


def total(rows):
    sums = collections.Counter()
    for row in rows:
        sums.update(row)
    return {name: sums[name] for name in SUMS}


def check_files(told, files, processes, renamed):
    rows = {(f["host"], f["path"]): f for f in told}
    assert len(rows) == len(told)
    for place, sums in files.items():
        if place not in renamed:
            assert figures(rows[place]) == {name: sums[name] for name in SUMS}, place
            assert rows[place]["processes"] == len(processes[place]), place
    assert set(rows) - renamed == set(files) - renamed
    assert total(map(figures, told)) == total(files.values())


def check_order(path, options, told, sort, top):
    rows = exact("files", path, *options, "--sort", sort, "--top", str(top))["files"]
    if sort == "path":
        wanted = sorted(told, key=lambda f: f["path"].encode())
        assert [f["path"] for f in rows] == [f["path"] for f in wanted][:top or None]
        return
    key = SORTS.get(sort, lambda f: f[sort])
    assert [key(f) for f in rows] == sorted(map(key, told), reverse=True)[:top or None], sort


def group_of(file, by):
    path = file["path"]
    name = path.rsplit("/", 1)[-1]
    if by == "folder":
        return path.rsplit("/", 1)[0] or "/" if "/" in path else None
    if by == "suffix":
        return "." + name[1:].rsplit(".", 1)[1] if "." in name[1:] else None
    return file[by]


def check_groups(path, options, told, by):
    groups = exact("files", path, *options, "--by", by)["groups"]
    members = collections.defaultdict(list)
    for file in told:
        members[group_of(file, by)].append(figures(file))
    assert {g[by]: (g["files"], figures(g)) for g in groups} == {key: (len(own), total(own)) for key, own in members.items()}, by


@SETTINGS
@given(kind=st.sampled_from(["random", "random", "training", "checkpoint", "metadata"]), seed=st.integers(0, 2 ** 32),
       hosts=st.integers(1, 3), count=st.integers(1, 700), where=st.sampled_from(WHERES),
       sort=st.sampled_from([*SORTS, "processes", "path"]), top=st.integers(0, 12),
       by=st.sampled_from(["folder", "suffix", "mount", "fstype", "host", "kind"]))
def test_figures_of_files_are_what_python_finds(kind, seed, hosts, count, where, sort, top, by):
    with tempfile.TemporaryDirectory(prefix="flowtap-test-") as folder:
        path = generate(f"{folder}/t", kind, "--seed", str(seed), "--hosts", str(hosts), events=count)
        events, (text, holds) = events_of(path), where
        options = ("--where", text) if text else ()
        # What was renamed goes by its first name, and has the figures of both.
        renamed = {(e["host"], e[key]) for e in events if e["name"] == "rename" for key in ("path", "path2") if key in e}
        told = exact("files", path, *options)["files"]
        check_files(told, *files_of(filter(holds, events)), renamed)
        check_order(path, options, told, sort, top)
        check_groups(path, options, told, by)
