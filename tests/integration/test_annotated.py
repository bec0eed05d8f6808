# SPDX-License-Identifier: MIT
"""Spans, instants, counters, arguments and tags of C and C++ programs: the trace gives back what they gave."""

import csv
import io
import json

import pytest

import annotated
import harness

MODES = ["nested", "arguments", "threads", "fork", "vfork", "exec", "spawn", "handlers", "filter", "names", "limits"]


def run(tap, program, *argv, **options):
    log = tap.folder / "account"
    trace = tap.run([harness.program(program), *argv], env={"ANNOTATED_LOG": log}, **options)
    return trace, annotated.check(trace, log)


@pytest.mark.parametrize("mode", MODES)
def test_c_program(tap, mode):
    trace, lines = run(tap, "annotated", mode)
    assert lines and trace.summary()["dropped"] == 0
    assert not trace.events(cat="open")


def test_cut_arguments_are_told(tap):
    trace, _ = run(tap, "annotated", "arguments")
    assert [e["name"] for e in annotated.application_events(trace) if e.get("args_cut")] == ["many"]
    assert len(trace.events(name="many")[0]["args"]) == 16


@pytest.mark.parametrize("mode", ["arguments", "names", "counters", "async"])
def test_arguments_in_csv_are_those_in_json(tap, mode):
    path = run(tap, "annotated", mode)[0].path
    rows = list(csv.DictReader(io.StringIO(harness.read_command("events", "--format", "csv", path).stdout.decode(), newline="")))
    events = [json.loads(line) for line in harness.read_command("events", "--format", "json", path).stdout.splitlines()]
    assert [json.loads(row["args"]) if row["args"] else None for row in rows] == [event.get("args") for event in events]
    assert mode in ("names", "counters") or any("args" in event for event in events)
    assert [row["value"] for row in rows] == [json.dumps(event["value"]) if "value" in event else "" for event in events] or mode == "counters"


def test_tags_beyond_the_limit_are_left_out(tap):
    """16 are kept in the process, for scopes and children; 64 stand in the trace."""
    trace, _ = run(tap, "annotated", "limits")
    assert trace.events(name="many")[0]["tags"] == {f"key {i}": "x" for i in range(64)}
    assert trace.summary()["settings_ignored"] == 4


def test_counters(tap):
    trace, _ = run(tap, "annotated", "counters")
    assert {e["name"]: e["value"] for e in trace.events(cat="c")} == {
        "least": -2**63, "most": 2**63 - 1, "third": 1 / 3, "whole": 4}
    assert all("dur" not in e and "args" not in e for e in trace.events(cat="c"))


def test_asynchronous_spans(tap):
    """Ended by another thread, each once; what found no place is dropped and accounted for."""
    trace, _ = run(tap, "annotated", "async")
    main = trace.processes()[0]["pid"]
    for name, rest in (("even", 0), ("odd", 1)):
        spans = trace.events(name=name)
        assert sorted(e["id"] for e in spans) == list(range(rest, 200, 2))
        assert all(e["begin_tid"] == main != e["tid"] and e["args"] == {"twice": 2 * e["id"]} for e in spans)
        assert all(a["ts"] <= b["ts"] for a, b in zip(spans, spans[1:]))
    many = trace.events(name="many")
    assert 1000 < len(many) < 3000 and len({e["id"] for e in many}) == len(many)
    assert trace.summary()["dropped_by_cause"]["ring_full"] == 3000 - len(many) == trace.summary()["dropped"]


def test_a_forked_child_has_its_parents_tags_and_not_its_spans(tap):
    trace, lines = run(tap, "annotated", "fork")
    assert len(trace.processes()) == 4
    for p in trace.processes():
        assert len(trace.events(pid=p["pid"], name="around")) <= 1
    calls = [e for e in trace.events(name="_exit")]
    assert len(calls) == 3 and all(e["tags"] == {"model": "m", "epoch": "3"} for e in calls)


def test_vfork_children_own_their_spans(tap):
    trace, _ = run(tap, "annotated", "vfork")
    children = trace.events(name="child") + trace.events(name="seven")
    parent = trace.events(name="parent")[0]["pid"]
    assert len(children) == 20 and len({e["pid"] for e in children}) == 20 and parent not in {e["pid"] for e in children}


def test_strict_mode(tap):
    """No system call is made where each would be the end; the times are those of the coarse clock."""
    trace, _ = run(tap, "annotated", "strict")
    inside = trace.events(name="inside")
    assert [e["args"]["i"] for e in inside] == list(range(50)) and all(e["tags"] == {"epoch": "8"} for e in inside)


def test_cpp_program(tap):
    trace, lines = run(tap, "annotated_scopes")
    assert len(lines) == 13 and trace.count(name="by macro") == 1 and trace.summary()["dropped"] == 0


@pytest.mark.parametrize("mode", ["nested", "threads", "fork", "vfork", "async", "limits", "spawn"])
def test_untraced_it_does_nothing(tap, mode):
    """Without the library, and with it and tracing off: the same output as traced, but for what says whether it is."""
    argv, log = [harness.program("annotated"), mode], tap.folder / "account"
    for env in ({}, {"LD_PRELOAD": harness.PRELOAD}, {"LD_PRELOAD": harness.PRELOAD, "FLOWTAP": "0"}):
        done = tap.plain(argv, env=harness.clean_environment(ANNOTATED_LOG=log, **env))
        assert (done.returncode, set(done.stdout.split()), done.stderr) == (0, {b"0"}, b"")


def test_summary_has_times_of_the_application(tap):
    trace, _ = run(tap, "annotated", "nested")
    summary = trace.summary()
    spans = {(s["category"], s["name"]): s for s in summary["spans"]}
    assert spans["app", "outer"]["count"] == 1 and spans["data", "third"]["count"] == 1
    outer, inner = (trace.events(name=n)[0]["dur"] / 1e9 for n in ("outer", "inner"))
    assert summary["app_time"] == pytest.approx(outer, abs=1e-8)
    assert summary["compute_time"] == pytest.approx(inner, abs=1e-8)
    assert 0 < summary["app_io_time"] < inner + outer


EMPTY = r"""
#include <flowtap.h>
int main(void)
{
    flowtap_span span;
    flowtap_begin(&span, "", "");
    flowtap_arg_integer(&span, "", 1);
    flowtap_arg_text(&span, NULL, "text");
    flowtap_end(&span);
    flowtap_counter(NULL, "counted", 1);
    return 0;
}
"""


def test_empty_names_and_keys_are_no_damage(tap):
    program = tap.compiled("empty", EMPTY, f"-I{harness.REPO}/client/annotate", f"-L{harness.PLACE}/lib",
                           f"-Wl,-rpath,{harness.PLACE}/lib", after=["-lflowtap"])
    trace = tap.run([program])
    assert len(annotated.application_events(trace)) == 2 and not trace.summary()["partial"]
    verified = harness.read_command("verify", trace.path)
    assert verified.returncode == 0, verified.stdout
