# SPDX-License-Identifier: MIT
"""`--where` against the same expression evaluated by Python over `events --format json`."""

import collections
import fnmatch
import operator
import random
import re

import harness
import pytest
from generated import document, events_of, generate

OPS = {"=": operator.eq, "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
       ">=": operator.ge}
PATTERNS = {"~": operator.eq, "!~": operator.ne}  # of one that has no sign of a pattern
UNITS = {"size": ("", "B", "k", "KiB"), "offset": ("", "MiB"), "bytes": ("", "KiB"), "result": ("",), "dur": ("", "us", "ms"),
         "t": ("s", "ms"), "errno": ("",), "pid": ("",), "tid": ("",), "rank": ("",), "fd": ("",), "ts": ("", "ns", "us")}
FACTORS = {"": 1, "B": 1, "k": 1000, "KiB": 1024, "MiB": 1 << 20, "ns": 1, "us": 1000, "ms": 10 ** 6, "s": 10 ** 9}
OF_PROCESS = ("exe", "job", "user")
TEXTS = ("name", "cat", "path", "path2", "host", "tag.epoch", "kind", "call", *OF_PROCESS)


def kind(event):
    return "call" if "errno" in event else "span" if "dur" in event else "counter"


class Trace:
    """Its events, with what an expression may name and JSON says elsewhere."""

    def __init__(self, path):
        self.path, self.events = path, events_of(path)
        processes = document("processes", path)["processes"]
        self.processes = {(p["host"], p["pid"]): p for p in processes}
        start = min([e["ts"] for e in self.events] + [round(p["start"] * 1e9) for p in processes])
        self.start = self.events[0]["ts"] - round(self.events[0]["t"] * 1e9) if self.events else start
        for event in self.events:
            event["rank"] = self.processes[event["host"], event["pid"]]["rank"]

    def value(self, event, field):
        if field.startswith("tag."):
            return event.get("tags", {}).get(field[4:])
        if field == "kind":
            return kind(event)
        if field == "call":
            return event["name"] if kind(event) == "call" else ""
        if field in OF_PROCESS:
            return self.processes[event["host"], event["pid"]][field]
        if field == "t":
            return event["ts"] - self.start
        if field == "bytes":
            return self.bytes(event)
        return event.get(field)

    @staticmethod
    def bytes(event):
        """Of the calls that the generator makes: what a call that has a size returned."""
        return event["result"] if "size" in event and "errno" in event else None


def comparison(chance, trace):
    """A random comparison as text, and as a function of an event."""
    if chance.random() < 0.5:
        field, op = chance.choice(TEXTS), chance.choice(["=", "!=", "~", "!~"])
        values = {trace.value(e, field) for e in chance.sample(trace.events, 20)} - {None, ""} or {"x"}
        text = chance.choice(sorted(values))
        if "~" in op:
            cut = chance.randrange(len(text) + 1)
            text = chance.choice([text[:cut] + "*", "*" + text[cut:], "*" + text[cut:cut + 3] + "*", text, "?" + text[1:]])
            holds = re.compile(fnmatch.translate(text)).match
        else:
            holds = text.__eq__
        wants = not op.startswith("!")
        # What the event does not have is unlike everything, and not different from it either.
        return f'{field}{op}"{text}"', lambda e: bool(trace.value(e, field)) and bool(holds(trace.value(e, field))) == wants
    if chance.random() < 0.1:
        op, limit = chance.choice(["<", "<=", ">", ">="]), chance.randrange(-1, 12)  # a tag that holds a number
        return f"tag.epoch{op}{limit}", lambda e: (tag := trace.value(e, "tag.epoch")) is not None and OPS[op](int(tag), limit)
    field, op = chance.choice(sorted(UNITS)), chance.choice(sorted(OPS))
    unit = chance.choice(UNITS[field])
    seen = [v for e in chance.sample(trace.events, 20) if (v := trace.value(e, field)) is not None] or [3]
    number = chance.choice(seen) // FACTORS[unit] + chance.choice([-1, 0, 0, 1])
    limit = number * FACTORS[unit]
    return (f"{field} {op} {number}{unit}",
            lambda e: trace.value(e, field) is not None and OPS[op](trace.value(e, field), limit))


def expression(chance, trace, depth):
    roll = chance.random()
    if depth == 0 or roll < 0.3:
        return comparison(chance, trace)
    text, holds = expression(chance, trace, depth - 1)
    if roll < 0.45:
        return f"!({text})", lambda e: not holds(e)
    other_text, other_holds = expression(chance, trace, depth - 1)
    if roll < 0.75:
        return f"({text}) && {other_text}" if "||" not in other_text else f"({text})&&({other_text})", \
            lambda e: holds(e) and other_holds(e)
    return f"({text})||{other_text}", lambda e: holds(e) or other_holds(e)


@pytest.fixture(scope="module", params=["training", "metadata", "checkpoint"])
def trace(request, tmp_path_factory):
    """One block of events on each of several hosts."""
    folder = tmp_path_factory.mktemp(request.param)
    return Trace(generate(folder / "t", request.param, "--hosts", "6", events=12_000))


def identity(event):
    return (event["ts"], event.get("tid"), event["name"], event.get("path"), event.get("offset"))


def test_random_expressions_choose_what_python_chooses(trace):
    chance = random.Random(11)
    hits = 0
    for _ in range(25):
        text, holds = expression(chance, trace, 3)
        expected = [identity(e) for e in trace.events if holds(e)]
        got = [identity(e) for e in events_of(trace.path, "--where", text)]
        assert got == expected, (text, len(got), len(expected))
        hits += 0 < len(expected) < len(trace.events)
    assert hits > 5


def fields_of_the_page():
    """As the section EXPRESSIONS of flowtap(1) has them."""
    text = (harness.REPO / "client/cli/flowtap.1").read_text().split(".SH EXPRESSIONS")[1].split(".B values")[0]
    return {name for line in re.findall(r"^(.*?)Operators:", text, re.M | re.S) for name in re.findall(r"\\fB([a-z]+\d?)\.?(?:\\fR|\\fI)", line)}


def test_every_field_and_operator_of_the_page(tmp_path):
    """Each by itself: it chooses what Python does, or is refused where the page gives the field no such operator."""
    trace, chance, patterns = Trace(generate(tmp_path / "t", "random", "--hosts", "2", events=400)), random.Random(5), PATTERNS.keys()
    assert fields_of_the_page() - {"tag"} == (set(TEXTS) - {"tag.epoch"}) | set(UNITS)
    for field in (*TEXTS, *UNITS):
        is_number = field in UNITS
        values = sorted({trace.value(e, field) for e in trace.events} - {None, ""}) or [3 if is_number else "x"]
        value = chance.choice(values)
        word = f'"{value}"' if not is_number else f"{value}ns" if field == "t" else value
        for op, holds in {**OPS, **PATTERNS}.items():
            if op not in patterns if is_number else op in ("=", "==", "!=", *patterns):
                expected = [identity(e) for e in trace.events if (own := trace.value(e, field)) not in (None, "") and holds(own, value)]
                assert [identity(e) for e in events_of(trace.path, "--where", f"{field}{op}{word}")] == expected, (field, op, word)
            elif field != "tag.epoch":
                done = harness.call([harness.FLOWTAP, "events", "--where", f"{field}{op}{word}", trace.path])
                assert done.returncode == 2 and not done.stdout and f"column {len(field) + 1}:" in done.stderr.decode(), done.stderr


def test_files_and_processes_count_the_chosen_events_alone(trace):
    for where, holds in (("size<8KiB", lambda e: e.get("size", 8192) < 8192),
                         ("dur>=5us && path~'*/*0*'", lambda e: e.get("dur", 0) >= 5000 and "0" in e.get("path", "").lstrip("/"))):
        chosen = [e for e in trace.events if holds(e)]
        assert chosen
        by_path, by_process = collections.Counter(), collections.Counter()
        for event in chosen:
            by_process[event["host"], event["pid"]] += 1
            for path in {event[key] for key in ("path", "path2") if key in event}:
                by_path[event["host"], path] += 1
        processes = document("processes", trace.path, "--where", where)["processes"]
        assert {(p["host"], p["pid"]): p["chosen"] for p in processes} == by_process, where
        # Renamed files go by their first name: only those without a rename can be told by the path.
        renamed = {e[key] for e in trace.events if "path2" in e for key in ("path", "path2")}
        files = {(f["host"], f["path"]): f["events"] for f in document("files", trace.path, "--where", where)["files"]
                 if f["path"] not in renamed}
        assert files == {key: n for key, n in by_path.items() if key[1] not in renamed}, where


def test_groups_are_the_sums_of_their_rows(trace):
    files = document("files", trace.path)["files"]
    for by, key in (("folder", lambda f: f["path"].rsplit("/", 1)[0] if "/" in f["path"] else None), ("host", lambda f: f["host"]),
                    ("kind", lambda f: f["kind"])):
        sums = collections.Counter()
        for file in files:
            sums[key(file)] += file["read_bytes"]
        groups = document("files", trace.path, "--by", by)["groups"]
        assert {g[by]: g["read_bytes"] for g in groups} == dict(sums), by
        assert sum(g["files"] for g in groups) == len(files)
    processes = document("processes", trace.path)["processes"]
    ranks = collections.Counter(p["rank"] for p in processes)
    groups = document("processes", trace.path, "--by", "rank")["groups"]
    assert {g["rank"]: g["processes"] for g in groups} == ranks
    assert sum(g["events"] for g in groups) == sum(p["events"] for p in processes)


def test_rows_of_processes_are_sorted_and_cut(trace):
    read = [p["read_bytes"] for p in document("processes", trace.path, "--sort", "read")["processes"]]
    assert read == sorted(read, reverse=True)
    assert [p["read_bytes"] for p in document("processes", trace.path, "--sort", "read", "--top", "3")["processes"]] == read[:3]


def test_blocks_that_cannot_match_are_passed_over(tmp_path):
    folder = generate(tmp_path / "t", "sequential", events=300_000)
    done = harness.call([harness.FLOWTAP, "events", "--where", "call=pread64 && t<1ms", "--stats", folder])
    assert done.returncode == 0 and done.stdout
    read, whole, skipped = map(int, re.search(r"blocks: (\d+) of (\d+) read, (\d+) skipped", done.stderr.decode()).groups())
    assert (read, whole, skipped) == (1, 5, 4)
    done = harness.call([harness.FLOWTAP, "files", "--where", "errno!=0 || size>1M && bytes>1M", "--stats", "--json", folder])
    assert b"0 of 5 read, 5 skipped" in done.stderr and b'"files": []' in done.stdout


@pytest.mark.parametrize("command", ["events", "files", "processes"])
@pytest.mark.parametrize("text,column", [("call=pread && siz<1", 15), ("size<4x", 6), ("(pid=1", 1), ("", 1)])
def test_an_error_points_at_its_place(command, text, column):
    done = harness.call([harness.FLOWTAP, command, "--where", text, "/nowhere"])
    assert done.returncode == 2 and not done.stdout
    line = done.stderr.decode()
    assert line.count("\n") == 1 and f"column {column}:" in line and text[:column - 1] + "^" + text[column - 1:] in line


def test_names_that_are_no_text_can_be_chosen(tap):
    tap.work.mkdir(exist_ok=True)
    code = "import os; os.close(os.open(b'odd\\xff\\n\"name', os.O_CREAT | os.O_WRONLY))"
    trace = tap.run(["/usr/bin/python3", "-S", "-E", "-c", code])
    chosen = events_of(trace.path, "--where", r'path~"*/odd\xff\x0a\"name" && errno=0')
    assert {e["name"] for e in chosen} >= {"close"} and all("path_bytes" in e for e in chosen)


@pytest.mark.parametrize("words,says", [
    (["--where", "call=preed"], "--where: the trace has no call 'preed'; is pread meant?"),
    (["--where", "dur>1ms && !(call=opeen)"], "--where: the trace has no call 'opeen'; is open meant?"),
    (["--where", "call~zz*"], "--where: the trace has no call 'zz*'"),
    (["--where", "name=fetched || bytes>1"], "--where: the trace has no name 'fetched'"),
    (["--where", "cat=POSXI"], "--where: the trace has no cat 'POSXI'"),
    (["--where", "tag.epohc=1"], "--where: the trace has no tag 'epohc'"),
    (["--by", "bogus"], "bogus: no field of events, and no process or event of the trace has a tag of that name"),
    (["--by", "host,tag.bogus"], "tag.bogus: no field of events"),
    (["--where", "call=preadv2 || call=pread64 || call~pre* || cat=POSIX || call!=nope || name=open"], None),
    (["--where", "cat=compute || name=forward || tag.epoch=7"], None),  # which the application gave
    (["--by", "epoch,rank,name"], None),
])
def test_a_word_that_nothing_of_the_trace_has_is_told(training, words, says):
    for command in ("summary", "events"):
        done = harness.call([harness.FLOWTAP, command, *words, training])
        lines = done.stderr.decode().splitlines()
        assert done.returncode == 0 and len(lines) == (says is not None), lines
        assert says is None or lines[0].startswith(f"flowtap {command}: warning: {says}"), lines


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    return generate(tmp_path_factory.mktemp("known") / "t", "training", events=2000)
