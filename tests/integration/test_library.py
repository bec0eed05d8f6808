# SPDX-License-Identifier: MIT
"""libflowtap-trace, through a program that uses its header alone, against what the command says of the same traces."""

import base64
import collections
import json
import math
import random
import resource
import struct

import harness
import pytest
from generated import document, events_of, generate

KINDS = ("call", "span", "instant", "counter")
NONE = 2 ** 32 - 1


def read(mode, *words, status=0, limit=None):
    """What the program prints of a trace: its objects, and its line on stderr."""
    bound = (lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))) if limit else None
    done = harness.call([harness.program("read_trace"), mode, *words], preexec_fn=bound, deadline=120)
    assert done.returncode == status, (done.returncode, done.stderr[-2000:])
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr.decode()


def text(value):
    return bytes.fromhex(value)


def spoken(event, key):
    """The bytes of a text in `events --format json`."""
    exact = event.get(key + "_bytes")
    return base64.b64decode(exact) if exact else event.get(key, "").encode()


def argument(arg):
    if "text" in arg:
        return text(arg["text"]).decode()
    return arg["integer"] if "integer" in arg else struct.unpack("d", struct.pack("Q", arg["bits"]))[0]


def of_library(row):
    """A row as a tuple that can be compared and sorted: all that the command tells of an event."""
    kind = KINDS[row["kind"]]
    bits = {name: 1 << i for i, name in enumerate(("size", "offset", "result", "bytes", "word", "errno"))}
    has = {name for name, bit in bits.items() if row["has"] & bit}
    event = {"ts": row["ts"], **{key: text(row[key]) for key in ("name", "cat", "host", "path", "path2")},
             "tags": {text(t["key"]): text(t["value"]) for t in row["tags"]},
             "args": {text(a["key"]).decode(): argument(a) for a in row["args"]}}
    event |= {key: row[key] for key in ("pid", "tid") if row[key]} | {key: row[key] for key in ("size", "offset") if key in has}
    if row["fd"] >= 0:
        event["fd"] = row["fd"]
    if kind in ("call", "span"):
        event["dur"] = row["dur"]
    if kind == "call":
        event |= {"errno": row["errno"]} | ({"result": row["result"]} if "result" in has else {})
    if kind == "counter" and "word" in has:
        number = row["word"] if row["word"] < 2 ** 63 else row["word"] - 2 ** 64
        event["value"] = struct.unpack("d", struct.pack("Q", row["word"]))[0] if row["flags"] & 32 else number
    if kind == "span" and "word" in has:
        event |= {"id": row["word"], "begin_tid": row["result"]}
    return canonical(event)


def of_command(event):
    same = {key: event[key] for key in ("ts", "dur", "pid", "tid", "fd", "size", "offset", "result", "errno", "value", "id",
                                        "begin_tid") if key in event}
    same |= {key: spoken(event, key) for key in ("name", "cat", "host", "path", "path2")}
    same["tags"] = {key.encode(): value.encode() for key, value in event.get("tags", {}).items()}
    same["args"] = event.get("args", {})
    return canonical(same)


def plain(value):
    """Numbers as JSON has them: it knows no difference between 4.0 and 4, and nothing that is not finite."""
    if isinstance(value, float):
        return None if not math.isfinite(value) else int(value) if value.is_integer() else value
    return {key: plain(v) for key, v in value.items()} if isinstance(value, dict) else value


def canonical(event):
    event = plain(event)
    return repr(sorted((key, sorted(value.items()) if isinstance(value, dict) else value) for key, value in event.items()))


def same_events(path, criteria=(), where=None):
    rows, _ = read("events", *criteria, path)
    expected = collections.Counter(map(of_command, events_of(path, *(("--where", where) if where else ()))))
    assert collections.Counter(map(of_library, rows)) == expected, criteria
    return rows


@pytest.fixture(scope="module", params=["training", "metadata", "checkpoint"])
def trace(request, tmp_path_factory):
    """Several blocks on each of three hosts."""
    return generate(tmp_path_factory.mktemp(request.param) / "t", request.param, "--hosts", "3", events=9_000)


@pytest.fixture(scope="module")
def annotated():
    """A real trace: threads, children, spans, counters, tags, names that are no text."""
    tap = harness.Tap()
    code = ("import os, subprocess, sys\n"
            "os.close(os.open(b'odd\\xff\\n\"name', os.O_CREAT | os.O_WRONLY))\n"
            "os.rename(b'odd\\xff\\n\"name', 'plain')\n"
            "subprocess.run(['cat', 'plain', 'absent'])\n"
            "sys.exit(max(subprocess.run([sys.argv[1], mode]).returncode\n"
            "             for mode in ('arguments', 'counters', 'async', 'nested')))\n")
    made = tap.run(["/usr/bin/python3", "-S", "-E", "-c", code, harness.program("annotated")], options=["--tag", "run=7"])
    yield made
    tap.finish(keep=False)


def test_all_events_are_those_of_the_command(trace):
    rows = same_events(trace)
    assert len(rows) == 9_000


def test_all_events_of_a_real_trace_are_those_of_the_command(annotated):
    rows = same_events(annotated.path)
    assert {row["kind"] for row in rows} == {0, 1, 2, 3} and any(row["args"] for row in rows)
    assert any(b"\xff" in text(row["path"]) for row in rows) and any(row["path2"] for row in rows)
    assert any({"key": b"run".hex(), "value": b"7".hex(), "n": 0} in row["tags"] for row in rows)


def test_the_events_of_a_thread_come_in_order(trace):
    last = {}
    for row in read("events", trace)[0]:
        assert row["ts"] >= last.get(row["thread"], 0)
        last[row["thread"]] = row["ts"]
    assert len(last) > 3


def test_shares_are_all_of_it_and_each_once(trace):
    whole, said = read("events", trace)
    blocks = int(said.split()[1])
    parts, _ = read("events", "--shares", "4", trace)
    assert blocks >= 3 and collections.Counter(map(of_library, parts)) == collections.Counter(map(of_library, whole))


def test_facts_are_those_of_the_reports(trace):
    facts, *records = read("facts", trace)[0]
    summary, processes, files = (document(name, trace) for name in ("summary", "processes", "files"))
    assert (facts["events"], facts["hosts"], facts["processes"], facts["parts"], facts["partial"]) == (
        summary["stored"], len({p["host"] for p in processes["processes"]}), len(processes["processes"]), 3, 0)
    told = {(text(r["host"]).decode(), r["pid"]): r for r in records if "exe" in r and "process" in r}
    for process in processes["processes"]:
        record = told[process["host"], process["pid"]]
        assert round(process["start"] * 1e9) == pytest.approx(record["start"], abs=1000)
        rank = -1 if process["rank"] is None else process["rank"]
        assert (process["exe"], rank, process["events"]) == (text(record["exe"]).decode(), record["rank"], record["emitted"])
    paths = {(text(r["host"]).decode(), text(r["path"]).decode()) for r in records if "kind" in r}
    assert {(f["host"], f["path"]) for f in files["files"]} <= paths


def test_what_could_not_be_seen_is_told(tap):
    made = tap.run(["bash", "-c", "env -i LD_PRELOAD= /bin/true; exit 3"], options=["--no-follow-clean-env"], status=3)
    facts, *records = read("facts", made.path)[0]
    gaps = [(r["gap"], r["pid"], r["count"]) for r in records if "gap" in r]
    assert gaps and gaps == [(g["kind"], g["pid"], g["count"]) for g in document("summary", made.path)["gaps"]]
    roots = [r for r in records if r.get("parent") == NONE]
    assert [(r["exit"], r["code"]) for r in roots] == [("code", 3)] and [text(a["text"]) for a in roots[0]["argv"]][:2] == [b"bash", b"-c"]
    assert facts["partial"] == 0 and all(r["closed"] and r["clocks"] and r["last_clock"] for r in records if "part" in r)


# ---- selecting


def test_each_criterion_chooses_what_its_expression_chooses(trace):
    events = events_of(trace)
    rows, _ = read("events", trace)
    middle, late = events[len(events) // 3]["ts"], events[len(events) // 2]["ts"]
    names = collections.Counter(e["name"] for e in events if "errno" in e)
    first, second = (name for name, _ in names.most_common(2))
    cases = [(("--start", str(middle)), f"ts>={middle}"), (("--end", str(middle)), f"ts<{middle}"),
             (("--start", str(middle), "--end", str(late)), f"ts>={middle} && ts<{late}"),
             (("--call", first), f"call={first}"), (("--call", first, "--call", second), f"call={first} || call={second}"),
             (("--call", "no_such_call"), "call=no_such_call"), (("--category", "STDIO"), "cat=STDIO"),
             (("--category", "POSIX", "--call", second, "--end", str(late)), f"cat=POSIX && call={second} && ts<{late}"),
             (("--tag", "epoch=1"), "tag.epoch=1"), (("--where", "size<8KiB && dur>1us"), "size<8KiB && dur>1us"),
             (("--where", f"call!={first}", "--category", "POSIX"), f"call!={first} && cat=POSIX")]
    for criteria, where in cases:
        same_events(trace, criteria, where)
    chosen = rows[len(rows) // 2]
    got = [of_library(r) for r in read("events", "--process", str(chosen["process"]), "--process", "0", trace)[0]]
    assert got == [of_library(r) for r in rows if r["process"] in (chosen["process"], 0)] and got
    file = next(r["file"] for r in rows if r["file"] != NONE)
    second_file = next((r["file2"] for r in rows if r["file2"] != NONE), file)
    got = [of_library(r) for r in read("events", "--file", str(file), "--file", str(second_file), trace)[0]]
    assert got == [of_library(r) for r in rows if {r["file"], r["file2"]} & {file, second_file}] and got


def test_blocks_that_cannot_match_are_passed_over(tmp_path):
    folder = generate(tmp_path / "t", "sequential", events=300_000)
    start = events_of(folder, "--limit", "1")[0]["ts"]
    rows, said = read("events", "--end", str(start + 1_000_000), "--call", "pread64", folder)
    assert rows and said.split()[:4] == ["blocks", "1", "skipped", "4"]
    assert read("events", "--call", "unlink", folder)[1].split()[:4] == ["blocks", "0", "skipped", "5"]


@pytest.mark.parametrize("criteria,says", [
    (("--where", "call=pread && siz<1"), "-22 at 14: where, column 15: there is no field 'siz'"),
    (("--where", ""), "-22 at 0: where, column 1: something is missing"),
    (("--process", "100000"), "-22 at 0: there is no process 100000"), (("--file", "100000"), "-22 at 0: there is no file 100000"),
    (("--tag", "=1"), "-22 at 0: a name of the selection is missing"), (("--shares", "0"), None),
    (("--where", "||".join(["pid=1"] * 250), *(["--call", "x"] * 40)), "-7 at 0: the selection has too many parts")])
def test_a_selection_that_cannot_be_is_an_error(trace, criteria, says):
    assert says is None or read("events", *criteria, trace, status=1)[1].startswith(says)


# ---- totals


def added_up(rows):
    """Per kind, name and category: what totals hold, classes of files apart."""
    sums = {}
    for row in rows:
        key = row["kind"], row["name"], row["cat"]
        one = sums.setdefault(key, {"count": 0, "errors": 0, "bytes": 0, "time": 0, "min": 2 ** 64, "max": 0, "sizes": [0] * 65,
                                    "durations": [0] * 65})
        one["count"] += 1
        one["errors"] += row["errno"] != 0
        one["time"] += row["dur"]
        one["min"], one["max"] = min(one["min"], row["dur"]), max(one["max"], row["dur"])
        one["durations"][row["dur"].bit_length()] += 1
        if row["has"] & 8:
            one["bytes"] += row["bytes"]
            one["sizes"][row["bytes"].bit_length()] += 1
    return sums


def without_classes(totals):
    sums = {}
    for total in totals:
        key = total["kind"], total["name"], total["cat"]
        if key not in sums:
            sums[key] = {name: total[name] for name in ("count", "errors", "bytes", "time", "min", "max", "sizes", "durations")}
            continue
        one = sums[key]
        one |= {name: one[name] + total[name] for name in ("count", "errors", "bytes", "time")}
        one |= {name: [a + b for a, b in zip(one[name], total[name])] for name in ("sizes", "durations")}
        one["min"], one["max"] = min(one["min"], total["min"]), max(one["max"], total["max"])
    return sums


@pytest.mark.parametrize("criteria", [(), ("--where", "dur>2us"), ("--category", "POSIX"), ("--call", "pread64", "--process", "1"),
                                      ("--tag", "epoch=1"), ("--where", "!(bytes>=1k) || errno!=0")])
def test_totals_are_the_sums_of_the_rows(trace, criteria):
    totals, said = read("totals", *criteria, trace)
    assert without_classes(totals) == added_up(read("events", *criteria, trace)[0]), said
    keys = [(t["kind"], t["name"], t["cat"], t["class"], t["class2"]) for t in totals]
    assert len(keys) == len(set(keys))


def test_totals_of_a_real_trace_are_the_sums_of_its_rows(annotated):
    for criteria in ((), ("--where", "kind=span || errno!=0"), ("--category", "STDIO")):
        totals, _ = read("totals", *criteria, annotated.path)
        assert without_classes(totals) == added_up(read("events", *criteria, annotated.path)[0]), criteria


def test_what_the_heads_decide_is_not_decoded(trace):
    for criteria, is_decoded in (((), False), (("--call", "pread64", "--call", "openat"), False), (("--category", "POSIX"), False),
                                 (("--end", "1"), False), (("--where", "size<10"), True)):
        assert (read("totals", *criteria, trace)[1].split()[-1] != "0") == is_decoded, criteria


def test_sums_of_profile_mode_are_in_the_totals(tap):
    daemon = tap.daemon("mode=profile")
    done = daemon.call([harness.program("touch_all"), "a", "b", "c"], cwd=tap.work)
    assert done.returncode == 0
    made = daemon.stop()
    facts = read("facts", made.path)[0][0]
    calls = {c["name"]: c["count"] for c in document("summary", made.path)["calls"]}
    totals = collections.Counter()
    for total in read("totals", made.path)[0]:
        totals[text(total["name"]).decode()] += total["count"]
    assert facts["events"] == 0 and facts["profiled"] == sum(calls.values()) > 0 and totals == calls


# ---- the page's example


@pytest.mark.parametrize("compiler", ["gcc", "g++"])
def test_the_example_of_the_page_does_what_it_says(tap, trace, compiler):
    page = (harness.REPO / "client/trace/flowtap-trace.3").read_text()
    example = page.split(".EX\n")[1].split("\n.EE")[0].replace("\\-", "-").replace("\\e", "\\")
    source = tap.folder / ("example.c" if compiler == "gcc" else "example.cc")
    source.write_text(example)
    made = harness.call([compiler, "-Wall", "-Wextra", "-Werror", "-pthread", "-o", tap.folder / "example", source,
                         f"-I{harness.REPO}/client/trace", f"-L{harness.BUILD}/lib", "-lflowtap-trace",
                         f"-Wl,-rpath,{harness.BUILD}/lib"], deadline=120)
    assert made.returncode == 0, made.stderr.decode()
    where = 'path~"*/*" && errno=0'
    done = harness.call([tap.folder / "example", where, trace])
    assert done.returncode == 0 and not done.stderr, done.stderr
    expected = collections.Counter()
    for row in read("events", "--where", where, *(w for call in ("read", "pread", "pread64", "readv") for w in ("--call", call)),
                    trace)[0]:
        expected[f"{text(row['host']).decode()} {row['pid']}"] += row["bytes"]
    told = {" ".join(fields[1:3]): int(fields[0]) for fields in map(str.split, done.stdout.decode().splitlines())}
    assert told == {key: n for key, n in expected.items() if n}
    assert harness.call([tap.folder / "example", "siz<1", trace]).stderr == b"where, column 1: there is no field 'siz'\n"


# ---- damage


def test_a_damaged_trace_gives_what_the_command_gives(tap, annotated):
    (path,) = annotated.flow_files()
    sound, chance = path.read_bytes(), random.Random(5)
    file, differed = tap.folder / "damaged.flow", 0
    for turn in range(40):
        damaged = bytearray(sound)
        if turn % 2:
            damaged = damaged[:chance.randrange(200, len(sound))]
        else:
            for _ in range(chance.randrange(1, 4)):
                damaged[chance.randrange(len(sound))] ^= chance.randrange(1, 256)
        file.write_bytes(damaged)
        done = harness.read_command("events", "--json", file)
        if done.returncode:
            continue
        rows, said = read("events", file)
        expected = json.loads(done.stdout)
        assert collections.Counter(map(of_library, rows)) == collections.Counter(map(of_command, expected["events"])), turn
        facts, *records = read("facts", file)[0]
        damage = [r for r in records if r.get("damage")]
        assert (facts["partial"] == 1) == bool(damage), (turn, records)
        assert expected["partial"] == (facts["partial"] == 1 or " damaged 0 " not in said), (turn, said)
        # A head tells of its rows also where their data is damaged.
        if " damaged 0 " in said:
            assert without_classes(read("totals", file)[0]) == added_up(rows), turn
        differed += bool(damage)
    assert differed > 12


@pytest.mark.parametrize("content,code", [(b"", -61), (b"no trace at all", -74), (None, -2)])
def test_what_is_no_trace_is_an_error(tap, content, code):
    path = tap.folder / "x.flow"
    if content is not None:
        path.write_bytes(content)
    for mode in ("events", "totals", "facts"):
        assert read(mode, path, status=1)[1].startswith(f"{code} at 0: {path}: ")
    (tap.folder / "nothing").mkdir()
    assert read("facts", tap.folder / "nothing", status=1)[1].startswith("-61 at 0: ")


def test_a_file_that_is_no_trace_is_a_problem_of_its_folder(tap, tmp_path):
    folder = generate(tmp_path / "t", "training", events=1000)
    (folder / "z.flow").write_bytes(b"x" * 100)
    facts, *records = read("facts", folder)[0]
    assert facts["partial"] == 1 and facts["events"] == 1000
    assert [text(r["path"]).endswith(b"/z.flow") for r in records if "problem" in r] == [True]


# ---- memory


def test_memory_does_not_grow_with_the_events(tmp_path):
    limit = 160 << 20
    for events in (200_000, 2_000_000):
        folder = generate(tmp_path / str(events), "sequential", events=events)
        assert read("count", folder, limit=limit)[0][0]["count"] == events
        assert sum(t["count"] for t in read("totals", "--where", "dur>1", folder, limit=limit)[0]) > events // 2


def test_too_little_memory_is_an_error(trace):
    failed = 0
    for mebibytes in range(10, 100, 6):
        done = harness.call([harness.program("read_trace"), "count", "--where", "dur>1us", trace],
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (mebibytes << 20,) * 2))
        assert done.returncode in (0, 1, 127), done
        failed += done.returncode == 1 and done.stderr.startswith(b"-12 at 0: out of memory")
    assert failed > 1
