# SPDX-License-Identifier: MIT
"""Programs built with -finstrument-functions: their calls are spans, named by the file's symbols when the trace is read."""

import collections
import json
import re
import shutil

import harness
import pytest

DEPTH = 1024


def functions(trace, **want):
    return trace.events(cat="function", **want)


def counts(trace, **want):
    return collections.Counter(event["name"] for event in functions(trace, **want))


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Copies that a test may change."""
    folder = tmp_path_factory.mktemp("instrumented")
    return [shutil.copy(harness.program(name), folder) for name in ("instrumented", "instrumented_library.so")]


@pytest.fixture(scope="module")
def traced():
    tap = harness.Tap()
    trace = tap.run([harness.program("instrumented"), harness.program("instrumented_library.so")])
    assert trace.ran.stdout == b"done\n"
    yield trace
    tap.finish(False)


def test_each_call_is_one_span(traced):
    found = counts(traced)
    # recurse: 21, the 2001 as far as there is room below main, 4 threads of 10 times 4, and 2 in the child.
    assert found == {"read_file": 1, "recurse": 21 + (DEPTH - 1) + 160 + 2, "jumps_over": 1, "leaves_often": 1, "in_loop": 3000,
                     "in_thread": 4, "in_child": 1,
                     "library_outer": 1, "library_inner": 5, "main": 1}


def test_what_a_function_does_lies_in_it(traced):
    span, = functions(traced, name="read_file")
    calls = [e for e in traced.events(path="/etc/passwd") if e["pid"] == span["pid"]]
    assert [e["name"] for e in calls] == ["open", "read", "close"]
    for call in calls:
        assert span["ts"] <= call["ts"] and call["ts"] + call["dur"] <= span["ts"] + span["dur"]
        assert call["tid"] == span["tid"]


def test_calls_nest_as_they_were_made(traced):
    main, = functions(traced, name="main")
    for event in functions(traced):
        if event["pid"] == main["pid"] and event["tid"] == main["tid"]:
            assert main["ts"] <= event["ts"] and event["ts"] + event["dur"] <= main["ts"] + main["dur"], event
    threads = {e["tid"]: e for e in functions(traced, name="in_thread")}
    assert len(threads) == 4 and main["tid"] not in threads
    inner = collections.Counter(e["tid"] for e in functions(traced, name="recurse"))
    assert all(inner[tid] == 40 for tid in threads)


def test_a_filter_and_a_summary_know_the_names(traced):
    done = harness.call([harness.FLOWTAP, "events", "--where", "name=library_inner", "--format", "json", traced.path])
    assert len(done.stdout.splitlines()) == 5
    done = harness.call([harness.FLOWTAP, "summary", "--json", "--by", "name", traced.path])
    assert {"recurse", "read_file", "library_outer"} <= {one["group"]["name"] for one in json.loads(done.stdout)["groups"]}


def test_names_of_cxx_are_those_of_the_source(tap):
    trace = tap.run([harness.program("instrumented_scopes")])
    assert trace.ran.stdout == b"22\n"
    assert counts(trace) == {"main": 1, "shapes::circle::area() const": 1, "int shapes::twice<int>(int)": 1,
                             "double shapes::twice<double>(double)": 1, "shapes::thrower(int)": 4}


def test_without_the_same_file_there_is_its_name_and_an_address(tap, places):
    program, library = places
    trace = tap.run([program, library])
    assert {"recurse", "library_inner"} <= set(counts(trace))
    shutil.copy(harness.program("instrumented_scopes"), program)  # another build-id
    open(library, "wb").close()
    names = {
        json.loads(line)["name"] for line in harness.call(
            [harness.FLOWTAP, "events", "--format", "json", "--where", "cat=function", trace.path]).stdout.splitlines()}
    assert len(names) == 10
    assert all(re.fullmatch(r"instrumented(_library\.so)?\+0x[0-9a-f]+", name) for name in names), names


def test_untraced_it_runs_as_it_is(tap):
    done = tap.plain([harness.program("instrumented"), harness.program("instrumented_library.so")])
    assert done.returncode == 0 and done.stdout == b"done\n"
