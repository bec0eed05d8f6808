# SPDX-License-Identifier: MIT
"""Of dropped events there are counts, bytes and times alone: what needs each of them is told of the stored ones, or unknown."""

import collections
import json

import harness
import pytest
from generated import document, events_of, generate, reported
from plain import calls_of, exact, length, ns, union

KINDS = ["random", "training", "checkpoint", "sequential"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("permille", ["0", "60"])
def test_bandwidths_and_shares_are_those_of_stored_calls(tmp_path, kind, permille):
    path = generate(tmp_path / "t", kind, "--dropped", permille, events=20_000)
    summary, calls = exact("summary", path), calls_of(path, events=events_of(path))
    for way in ("read", "write"):
        told, own = summary[way], [c for c in calls if way in c.ways]
        assert told["count"] - told["dropped"] == len(own)
        assert told["stored_bytes"] == sum(c.bytes for c in calls if way in c.moved) <= told["bytes"]
        assert ns(told["busy_time"]) == length(union((c.start, c.end) for c in own))
        timed = sum(c.timed_bytes for c in calls if way in c.moved)
        assert float(told["busy_bandwidth"] * told["busy_time"]) == pytest.approx(timed)
        assert told["small"] + told["empty"] <= told["sized"] <= len(own)
        assert told["small"] == sum(0 < c.bytes < 4096 for c in own)
    stored = collections.Counter(e["name"] for e in events_of(path) if "errno" in e)
    for call in summary["calls"]:
        assert call["count"] - call["dropped"] == stored[call["name"]] == sum(bucket["count"] for bucket in call["durations"]["buckets"])
    assert sum(call["dropped"] for call in summary["calls"]) == summary["dropped"]
    moved = summary["moved"]
    assert moved["stored_bytes"] == summary["read"]["stored_bytes"] + summary["write"]["stored_bytes"]
    assert float(moved["busy_bandwidth"] * moved["busy_time"]) == pytest.approx(sum(c.timed_bytes * len(c.moved) for c in calls))
    assert moved["stored_bytes"] > 0 and (moved["stored_bytes"] < moved["bytes"]) == (permille != "0")


def test_text_says_what_its_figures_are_of(tmp_path):
    some = reported("summary", generate(tmp_path / "some", "sequential", "--dropped", "400", events=5000)).decode()
    wall, = (line for line in some.splitlines() if line.startswith("Wall time"))
    reads, = (line for line in some.splitlines() if line.startswith("Reads"))
    assert "at least" in wall and "stored" in wall and reads.endswith("that are stored)")
    none = reported("summary", generate(tmp_path / "none", "sequential", events=5000)).decode()
    assert "at least" not in none and "that are stored" not in none


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_known_of_any_is_never_0(tmp_path, kind):
    path = generate(tmp_path / "t", kind, "--dropped", "1000", events=3000)
    summary = document("summary", path)
    way = "read" if summary["read"]["count"] else "write"
    assert summary[way]["dropped"] == summary[way]["count"] > 0 and summary[way]["time"] > 0
    unknown = ("busy_time", "busy_bandwidth", "sequential", "random", "small", "empty")
    assert {summary[way][key] for key in unknown} == {summary["io_time"], summary["unoverlapped_io_time"]} == {None}
    assert {summary["moved"][key] for key in ("busy_time", "busy_bandwidth")} == {None}
    for call in summary["calls"]:
        assert {call[key] for key in ("min", "max", "p50", "p99", "errors")} == {None} and call["count"] > 0
    text = reported("summary", path).decode()
    rows = [line.split() for line in text.split("Hottest calls")[1].split("\n\n")[0].splitlines()[2:]]
    calls = [row for row in rows if row[-1] in {call["name"] for call in summary["calls"]}]
    assert calls and all(row[-5:-1] == ["-", "-", "-", "-"] for row in calls)
    assert "with I/O" not in text and "moved under" not in text and "while some" not in text and "of the I/O" not in text
    unions, moved = ("io_time", "overlap_time"), ("read_bytes", "written_bytes", "reads", "writes", "metadata", "concurrency")
    timeline = document("timeline", path)
    for bin_ in (timeline["total"], *timeline["bins"]):
        assert {bin_[key] for key in (*unions, *moved)} == {None}
        assert (bin_["compute_time"] is None) == (bin_["categories"] is None) == (summary["stored"] == 0)
    totals = json.loads(reported("diff", path, "--json", path))["totals"]
    assert all(totals[key][side] is None for key in unions for side in "ab")


@pytest.mark.parametrize("kind", ["even", "lone", "straggler"])
def test_processes_of_which_events_were_dropped_are_not_compared(tmp_path, kind):
    none, some = (generate(tmp_path / n, kind, "--dropped", n, events=20_000) for n in ("0", "990"))
    assert (document("summary", none)["stragglers_found"] > 0) == (kind != "even")
    assert document("summary", some)["stragglers_found"] == 0
    found = {finding["check"] for finding in document("diagnose", some)["findings"]}
    assert not found & {"stragglers", "lone_reader"}


def test_lines_of_a_stream_that_its_buffer_served_are_not_weighed_as_requests(tap):
    code = """
#include <stdio.h>
int main(void)
{
    char line[64];
    FILE *file = fopen("lines", "w");
    for (int i = 0; i < 2000; i++)
        fprintf(file, "%d\\n", 10000 + i);
    fclose(file);
    file = fopen("lines", "r");
    while (fgets(line, sizeof(line), file))
        ;
    fclose(file);
    return 0;
}
"""
    trace = tap.run([tap.compiled("by_line", code)])
    read = trace.summary()["read"]
    fgets, = (call for call in trace.summary()["calls"] if call["name"] == "fgets")
    assert (fgets["count"], fgets["bytes"], read["count"], read["bytes"]) == (2001, 12_000, 2001, 12_000)
    refills = sum(bucket["count"] for bucket in fgets["sizes"]["buckets"])
    assert read["sized"] == refills < 10 and read["small"] + read["empty"] <= refills and read["small"] >= 1
    assert trace.summary()["write"]["sized"] == trace.summary()["write"]["small"] == 2000


REPORTS = {"files": (), "diagnose": (), "timeline": (), "events": ("--limit", "3"), "processes": ()}


@pytest.mark.parametrize("command", REPORTS)
def test_every_report_says_what_was_not_seen(tmp_path, command):
    none, some = (generate(tmp_path / f"t{n}", "sequential", "--dropped", n, events=2000) for n in ("0", "400"))
    dropped = document("summary", some)["dropped"]
    assert f"{dropped:,} events were dropped" in reported(command, some, *REPORTS[command]).decode()
    assert "dropped" not in reported(command, none, *REPORTS[command]).decode()
    assert ("Nothing is known" in reported("processes", some).decode(), "Nothing is known" in reported("processes", none).decode()) == (False, True)
    assert [document(command, path)["dropped"] for path in (none, some)] == [0, dropped]
    assert document(command, some)["gap_count"] == 0


def test_diff_says_of_which_run_events_were_dropped(tmp_path):
    none, some = (generate(tmp_path / f"t{n}", "sequential", "--dropped", n, events=2000) for n in ("0", "400"))
    dropped = document("summary", some)["dropped"]
    told = json.loads(reported("diff", some, "--json", none))
    assert told["dropped"] == {"a": 0, "b": dropped} and told["gap_count"] == {"a": 0, "b": 0}
    text = reported("diff", some, none).decode()
    assert f"Of B {dropped:,} events were dropped" in text and "Of A" not in text


@pytest.mark.parametrize("form", ["json", "csv"])
def test_rows_without_a_place_for_it_say_so_on_stderr(tmp_path, form):
    path = generate(tmp_path / "t", "sequential", "--dropped", "400", events=2000)
    done = harness.read_command("events", "--format", form, path)
    assert done.returncode == 0 and b"events were dropped" in done.stderr and b"dropped" not in done.stdout


def test_gaps_are_told_by_every_report(tap):
    trace = tap.run(["/bin/sh", "-c", "cat /etc/hostname >out; env -i /bin/true", "sh"], env={"FLOWTAP_TAGS": "a=b"},
                    options=["--no-follow-clean-env"])
    count = len(trace.summary()["gaps"])
    assert count > 0
    for command in ("files", "diagnose", "timeline", "events"):
        assert f"{count} gap" in reported(command, trace.path).decode(), command
        assert document(command, trace.path)["gap_count"] == count
    assert json.loads(reported("diff", trace.path, "--json", trace.path))["gap_count"] == {"a": count, "b": count}


def test_of_a_process_whose_events_were_all_dropped_nothing_is_0(tmp_path):
    known, unknown = (document("processes", generate(tmp_path / f"t{n}", "sequential", "--dropped", n, events=500))["processes"]
                      for n in ("400", "1000"))
    for process in unknown:
        assert process["stored"] == 0 < process["dropped"] == process["events"]
        assert {process[key] for key in ("io_time", "read_bytes", "written_bytes")} == {*process["busy"].values()} == {None}
    group, = document("processes", tmp_path / "t1000", "--by", "exe")["groups"]
    assert {group[key] for key in ("io_time", "read_bytes", "written_bytes")} == {None}
    for process in known:
        assert process["io_time"] > 0 and None not in process["busy"].values()


def test_of_a_process_whose_spans_alone_are_stored_its_calls_are_not_0(tmp_path):
    path = generate(tmp_path / "t", "training", "--dropped", "1000", events=3000)
    processes = [p for p in document("processes", path)["processes"] if p["dropped"] and p["stored"]]
    assert processes
    for process in processes:
        assert {process[key] for key in ("io_time", "read_bytes", "written_bytes")} == {None}
        assert process["busy"]["io_time"] is process["busy"]["unoverlapped_compute_time"] is process["busy"]["bandwidth"] is None
        assert process["busy"]["app_time"] > 0
