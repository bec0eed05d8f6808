# SPDX-License-Identifier: MIT
"""The examples of flowtap.3 are whole programs: they compile, and their traces have what they say."""

import collections
import re

import harness
import pytest

PAGE = harness.REPO / "client/annotate/flowtap.3"
EXAMPLES = {name: code.replace("\\-", "-").replace("\\e", "\\") for name, code in
            re.findall(r'^\.\\" example: (\S+)\n\.nf\n(.*?)^\.fi$', PAGE.read_text(), re.M | re.S)}


@pytest.fixture
def built(tmp_path, request):
    name = request.param
    (tmp_path / name).write_text(EXAMPLES[name])
    compiler = ["g++", "-std=c++17"] if name.endswith(".cc") else ["gcc", "-std=c99"]
    library = harness.BUILD / "lib"
    done = harness.call([*compiler, "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{harness.REPO}/client/annotate", "-o",
                         tmp_path / "program", tmp_path / name, f"-L{library}", f"-Wl,-rpath,{library}", "-lflowtap"])
    assert done.returncode == 0, done.stderr.decode()
    return tmp_path / "program"


def test_the_page_has_examples():
    assert set(EXAMPLES) == {"steps.c", "request.c", "load.cc"}


@pytest.mark.parametrize("built", ["steps.c"], indirect=True)
def test_steps(built, tap):
    trace = tap.run([built])
    steps = collections.Counter((e["cat"], e["tags"]["epoch"], e["args"]["number"]) for e in trace.events(name="step"))
    assert steps == {("compute", epoch, number): 1 for epoch in "01" for number in range(3)}
    assert [(e["value"], e["tags"]["epoch"]) for e in trace.events(name="loss")] == [(1.0, "0"), (0.5, "1")]


@pytest.mark.parametrize("built", ["request.c"], indirect=True)
def test_request(built, tap):
    event, = tap.run([built]).events(name="request", cat="net")
    assert event["id"] == 17 and event["args"] == {"status": 200} and event["tags"] == {"thread": "answers"}
    assert event["begin_tid"] != event["tid"]


@pytest.mark.parametrize("built", ["load.cc"], indirect=True)
def test_load(built, tap):
    loads = tap.run([built]).events(name="load", cat="data")
    assert [e["args"] for e in loads] == [{"batch": batch, "rate": 0.5} for batch in range(3)]
    assert all(e["tags"] == {"phase": "train"} for e in loads)
