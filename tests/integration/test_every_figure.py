# SPDX-License-Identifier: MIT
"""Each number that the schemas of `summary`, `files`, `timeline` and `diff` promise is found by plain Python, too, or by a test that is
named here: a new one without either fails."""

import collections
import fnmatch
import json
import pathlib

import harness
import pytest
import test_diff
import test_figures
import test_files
import test_timeline
from generated import events_of, generate
from plain import MOVES, calls_of, exact, ns, other_io_of

HERE = pathlib.Path(__file__).parent

# What generated traces do not have, or Python cannot know from their events: where it is tested.
UNSEEN = {"dropped": "test_dropped.test_every_report_says_what_was_not_seen", "gap_count": "test_dropped.test_gaps_are_told_by_every_report",
          "unclosed": "test_unclosed.test_every_report_tells_of_files_that_are_still_open",
          "profiled_left_out": "test_missing.test_of_sums_alone_none_is_chosen_and_no_figure_is_0"}
ELSEWHERE = {
    "summary": {
        "chosen": "test_summary_where.test_figures_are_what_python_finds_of_the_chosen",
        "coverage.*": "test_counts.test_coverage_stands_beside_the_kernels_figures",
        "dropped_by_cause.*": "test_accounting.test_ten_million_events_while_the_daemon_is_stopped",
        "gaps.*": "test_gaps.test_static_program_started_in_every_way", "groups.*": "test_groups.test_groups_are_what_python_finds",
        "profiled": "test_profile.test_a_profile_has_the_sums_of_the_trace", "capped_since": "test_profile.check_cap",
        "settings_ignored": "test_annotated.test_tags_beyond_the_limit_are_left_out",
        "spans.sizes.*": "test_every_figure.check_buckets",  # there are none
        "*.dropped": "test_dropped.test_bandwidths_and_shares_are_those_of_stored_calls",  # of reads and writes
        "unclosed": UNSEEN["unclosed"]},
    "files": UNSEEN | {f"files.{key}": "test_every_figure.test_files_are_who_the_system_says" for key in ("dev", "inode")} |
             {"files.birth": "test_replaced.test_a_file_that_was_removed_unseen_is_another_one",
              "groups.*": "test_files.test_figures_of_files_are_what_python_finds"},
    "timeline": UNSEEN | {"profiled": "test_profile.check_timeline"},
    "diff": {"dropped.?": "test_dropped.test_diff_says_of_which_run_events_were_dropped", "gap_count.?": UNSEEN["gap_count"],
             "missing.?": "test_missing.check_told", "unclosed": "test_unclosed.test_diff_says_which_of_the_two_is_open"},
}


def leaves(schema, at=()):
    """The places of numbers, those of array items under the array's name."""
    kinds = schema.get("type", [])
    if {"number", "integer"} & ({kinds} if isinstance(kinds, str) else set(kinds)):
        yield ".".join(at)
    for key, value in schema.get("properties", {}).items():
        yield from leaves(value, (*at, key))
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from leaves(schema[key], at if key == "items" else (*at, "*"))
    assert "$ref" not in schema and "anyOf" not in schema


def strangers(told, schema, at):
    """Keys that the schema does not name."""
    if isinstance(told, list):
        for one in told:
            yield from strangers(one, schema.get("items", {}), at)
    elif isinstance(told, dict):
        for key, value in told.items():
            known = schema.get("properties", {}).get(key, schema.get("additionalProperties"))
            if isinstance(known, dict):
                yield from strangers(value, known, (*at, key))
            else:
                yield ".".join((*at, key))


@pytest.mark.parametrize("report", ["summary", "files", "timeline", "processes", "diagnose", "info", "verify", "diff"])
def test_no_key_is_unknown_to_its_schema(tmp_path, report):
    schema = json.loads((harness.REPO / f"tests/data/schemas/{report}.json").read_text())
    path = generate(tmp_path / "t", "random", "--hosts", "2", events=900)
    assert not set(strangers(exact(report, path, *[path] * (report == "diff")), schema, ()))


class Watched(dict):
    """An object of a document that notes which of its numbers are asked for."""

    def __init__(self, of, asked, at=()):
        super().__init__(of)
        self.asked, self.at = asked, at

    def __getitem__(self, key):
        value, at = super().__getitem__(key), (*self.at, key)
        self.asked.add(".".join(at))
        if isinstance(value, dict):
            return Watched(value, self.asked, at)
        if isinstance(value, list):
            return [Watched(one, self.asked, at) if isinstance(one, dict) else one for one in value]
        return value


def check_all_asked(report, asked):
    schema = json.loads((harness.REPO / f"tests/data/schemas/{report}.json").read_text())
    left = set(leaves(schema)) - asked
    named = {place for place in left if any(fnmatch.fnmatchcase(place, pattern) for pattern in ELSEWHERE[report])}
    assert left == named, sorted(left - named)
    for pattern, test in ELSEWHERE[report].items():
        assert fnmatch.filter(left, pattern), f"{pattern}: tested here, or no number of the schema"
        file, _, name = test.partition(".")
        assert f"\ndef {name}(" in (HERE / f"{file}.py").read_text(), test


def check_buckets(one, kind, values, to):
    values = sorted(values)
    assert sum(bucket["count"] for bucket in one[kind]["buckets"]) == len(values)
    for bucket in one[kind]["buckets"]:
        assert bucket["count"] == sum(to(bucket["from"]) <= value <= to(bucket["to"]) for value in values), (one["name"], kind)


def check_percentiles(one, prefix, values, to, are_bounded):
    """Of the nearest rank: in the same power of two, of times within what there was."""
    values = sorted(values)
    for percent in (50, 95, 99):
        told = one[f"{prefix}p{percent}"]
        if not values:
            assert told is None
            continue
        wanted = values[-(-len(values) * percent // 100) - 1]
        assert wanted.bit_length() == to(told).bit_length(), (one["name"], prefix, percent)
        assert not are_bounded or values[0] <= to(told) <= values[-1], (one["name"], prefix, percent)


def check_kinds(rows, events):
    """Calls or spans of each name and category."""
    own = collections.defaultdict(list)
    for event in events:
        own[event["name"], event["cat"]].append(event)
    assert {(one["name"], one["category"]) for one in rows} == set(own) and len(rows) == len(own)
    for one in rows:
        made = own[one["name"], one["category"]]
        times = [event["dur"] for event in made]
        assert (one["count"], ns(one["time"]), ns(one["min"]), ns(one["max"])) == (len(made), sum(times), min(times), max(times))
        check_buckets(one, "durations", times, ns)
        check_percentiles(one, "", times, ns, True)
        sizes = [event["result"] for event in made if event["name"] in MOVES and event.get("result", 0) > 0]
        assert one["dropped"] == 0
        assert (one["errors"], one["bytes"]) == (sum(event.get("errno", 0) != 0 for event in made), sum(sizes))
        check_buckets(one, "sizes", sizes, int)
        check_percentiles(one, "size_", sizes, int, False)


def check_counts(told, path, events):
    calls, spans = [e for e in events if "errno" in e], [e for e in events if test_figures.is_span(e)]
    assert (told["events"], told["stored"], told["dropped"], told["missing"]) == (len(events), len(events), 0, 0)
    assert told["names_lost"] == sum(process["names_lost"] for process in exact("processes", path)["processes"])
    threads = {(e["host"], e["pid"], e["tid"]) for e in events}
    processes = exact("processes", path)["processes"]
    assert told["processes"] == told["images"] == len(processes) == len({key[:2] for key in threads})
    assert (told["hosts"], told["threads"]) == (len({e["host"] for e in events}), len(threads))
    assert told["files"] == len(exact("files", path)["files"]) == len({(e["host"], e[key]) for e in events for key in ("path", "path2") if key in e})
    assert ns(told["clock_error"]) == 1000, "what the generator writes"
    assert told["wall_time"] == told["end"] - told["start"]
    assert ns(told["start"]) <= min(e["ts"] for e in events) and ns(told["end"]) >= max(e["ts"] + e.get("dur", 0) for e in events)
    by_category = collections.defaultdict(list)
    for event in [*calls, *spans]:
        by_category[event["cat"]].append(event["dur"])
    assert {one["category"]: (one["count"], ns(one["time"])) for one in told["categories"]} == {c: (len(d), sum(d)) for c, d in by_category.items()}
    check_kinds(told["calls"], calls)
    check_kinds(told["spans"], spans)


def check_sides(told, path, events):
    calls = calls_of(path, events=events)
    metadata = [c for c in calls if "metadata" in c.ways]
    test_figures.check_bandwidth(told["metadata"]["bandwidth"], [], set(), 0)
    assert (told["metadata"]["count"], ns(told["metadata"]["time"])) == (len(metadata), sum(c.end - c.start for c in metadata))
    assert told["metadata"]["bytes"] == 0, "what closing a stream writes is written"
    other = told["other_io"]
    assert (other["count"], other["bytes"], ns(other["time"])) == other_io_of(events, calls)
    for way in ("read", "write"):
        own = [c for c in calls if way in c.ways]
        assert told[way]["sized"] == sum(c.bytes > 0 for c in own) and told[way]["stored_bytes"] == told[way]["bytes"]
    assert told["moved"]["stored_bytes"] == told["moved"]["bytes"]


def check_rows(told, path):
    """The tables of summary, by what processes and files say of the same."""
    processes = {(p["host"], p["pid"]): p for p in exact("processes", path)["processes"]}
    for one in told["stragglers"]:
        assert ns(one["io_time"]) == ns(processes[one["host"], one["pid"]]["busy"]["io_time"])
        assert one["rank"] == processes[one["host"], one["pid"]]["rank"]
    for one in told["waits"]:
        assert one["rank"] == processes[one["host"], one["pid"]]["rank"]
        assert processes[one["host"], one["pid"]]["busy"]["compute_time"] > 0
    files = {(f["host"], f["path"]): f for f in exact("files", path)["files"]}
    for one in told["hottest_files"]:
        file = files[one["host"], one["path"]]
        assert one["time"] == file["read_time"] + file["write_time"] + file["metadata_time"]
        assert one["written_bytes"] == file["written_bytes"]


def made(tmp_path, name="t", seed=3):
    path = generate(tmp_path / name, "random", "--seed", str(seed), "--hosts", "2", events=1500)
    events = events_of(path)
    return path, events, calls_of(path, events=events), [e for e in events if test_figures.is_span(e)]


def test_every_number_of_summary(tmp_path):
    asked, (path, events, calls, spans) = set(), made(tmp_path)
    told = Watched(exact("summary", path), asked)
    test_figures.check_summary(told, calls, spans)
    test_figures.check_processes(path, told, calls, spans)
    test_figures.check_hottest(path, told)
    check_counts(told, path, events)
    check_sides(told, path, events)
    check_rows(told, path)
    check_all_asked("summary", asked)


def test_every_number_of_files(tmp_path):
    asked, (path, events, _, _) = set(), made(tmp_path)
    renamed = {(e["host"], e[key]) for e in events if e["name"] == "rename" for key in ("path", "path2") if key in e}
    test_files.check_files(Watched(exact("files", path), asked)["files"], *test_files.files_of(events), renamed)
    check_all_asked("files", asked)


def test_every_number_of_timeline(tmp_path):
    asked, (path, events, calls, _) = set(), made(tmp_path)
    told = Watched(exact("timeline", path, "--bins", "7"), asked)
    test_timeline.check(told, calls, test_timeline.compute_of(events))
    test_timeline.check_categories(told, events)
    start, end, width = (ns(told[key]) for key in ("start", "end", "width"))
    (whole,) = test_timeline.expected_bins(calls, test_timeline.compute_of(events), start, end, end - start, 1)
    for i, row in enumerate([*told["bins"], told["total"]]):
        length_ns = end - start if i == len(told["bins"]) else min(start + (i + 1) * width, end) - start - i * width
        assert float(row["write_bandwidth"]) == pytest.approx(row["written_bytes"] * 1e9 / length_ns)
    total = told["total"]
    assert float(total["read_bandwidth"]) == pytest.approx(whole["read_bytes"] * 1e9 / (end - start))
    busy = sum(whole[f"{way}_time"] for way in ("read", "write", "metadata"))
    assert float(total["concurrency"]) == pytest.approx(busy / (end - start))
    assert float(total["request_size"]) == pytest.approx(whole.pop("request_size"))
    assert {key: ns(total[key]) if key.endswith("_time") else total[key] for key in whole} == whole
    check_all_asked("timeline", asked)


def test_every_number_of_diff(tmp_path):
    asked, runs = set(), [made(tmp_path, str(seed), seed) for seed in (5, 6)]
    told = Watched(exact("diff", runs[1][0], runs[0][0]), asked)
    test_diff.check_totals(told["totals"], [(calls, events) for _, events, calls, _ in runs])
    test_diff.check_list(told["calls"], ("name", "category"), [test_diff.by_call([e for e in run[1] if "errno" in e]) for run in runs])
    test_diff.check_list(told["spans"], ("name", "category"), [test_diff.by_call(run[3]) for run in runs])
    test_diff.check_list(told["files"], ("path",), [test_diff.by_file([e for e in run[1] if "errno" in e]) for run in runs])
    programs = [test_diff.by_program(run[0], run[2], [e for e in run[1] if "errno" in e or test_figures.is_span(e)]) for run in runs]
    for side, (path, _, _, _), (sums, counts) in zip(test_diff.SIDES, runs, programs):
        summary = exact("summary", path)
        assert told["totals"]["wall_time"][side] == summary["wall_time"]
        assert told["totals"]["processes"][side] == summary["images"] and told["totals"]["files"][side] == summary["files"]
        for row in told["programs"]:
            assert row[side]["processes"] == counts[row["exe"]]
            assert (row[side]["bytes"], ns(row[side]["time"])) == sums[row["exe"]][1:], row["exe"]
    for row in told["programs"]:
        assert row["time_change"] == row["by_count"] + row["by_speed"] == row["b"]["time"] - row["a"]["time"]
        assert row["a"]["count"] + row["b"]["count"] > 0
    check_all_asked("diff", asked)


def test_files_are_who_the_system_says(tap):
    (tap.work / "data").write_bytes(b"x" * 100)
    trace = tap.run(["cat", "data"])
    file, status = trace.file(tap.work / "data"), (tap.work / "data").stat()
    assert (file["inode"], file["dev"]) == (status.st_ino, status.st_dev)
