# SPDX-License-Identifier: MIT
"""The Python package, built offline, with its extension and without: the trace gives back what it gave."""

import collections
import re
import shutil
import sys
import tempfile

import harness
import pytest

PROGRAM = harness.PROGRAMS / "annotated_python.py"


@pytest.fixture(scope="module", params=["native", "pure"])
def package(request):
    """Where it is installed, and what it stands on."""
    place = tempfile.mkdtemp(prefix="flowtap-python-")
    env = harness.clean_environment(FLOWTAP_PURE="1" if request.param == "pure" else None)
    done = harness.call([sys.executable, "-m", "pip", "install", "-q", "--no-index", "--disable-pip-version-check", "--target",
                         place, harness.REPO / "client/python"], env=env, deadline=300)
    assert done.returncode == 0, done.stderr.decode()
    yield place, request.param
    shutil.rmtree(place)


@pytest.fixture(scope="module")
def traced(package):
    place, kind = package
    tap = harness.Tap()
    trace = tap.run([sys.executable, PROGRAM], env={"PYTHONPATH": place}, deadline=180)
    assert trace.ran.stdout.decode().split() == [f"flowtap._{kind}", "True"], trace.ran
    yield trace
    tap.finish(False)


def only(trace, **want):
    (event,) = trace.events(**want)
    return event


def args_of(trace, **want):
    return only(trace, **want).get("args")


def test_untraced_it_does_nothing(package, tap):
    place, kind = package
    done = tap.plain([sys.executable, PROGRAM], env=harness.clean_environment(PYTHONPATH=place))
    assert done.returncode == 0 and done.stdout.decode().split() == [f"flowtap._{kind}", "False"], done.stderr


def test_its_examples_are_true(package, tap):
    code = "import doctest, flowtap, sys; done = doctest.testmod(flowtap); sys.exit(done.failed or not done.attempted)"
    done = tap.plain([sys.executable, "-c", code], env=harness.clean_environment(PYTHONPATH=package[0]))
    assert done.returncode == 0, done.stdout.decode()


def test_the_readmes_example_is_true(package, tap):
    """A span has the tags that hold where it ends."""
    (code,) = re.findall(r"^```python\n(import flowtap  .*?)^```$", (harness.REPO / "README.md").read_text(), re.M | re.S)
    code = "loader, train = [1, 2], print\n" + code.replace("def save(): ...", "def save(): ...\nsave()")
    trace = tap.run([sys.executable, "-c", code], env={"PYTHONPATH": package[0]})
    assert [(e["cat"], e["args"], e["tags"]) for e in trace.events(name="step")] == [("compute", {"batch": 3}, {"epoch": "1"})] * 2
    assert len(trace.events(name="fetch")) >= 2 and len(trace.events(name="save")) == 1


def test_spans_and_their_arguments(traced):
    outer, inner = only(traced, name="outer"), only(traced, name="inner")
    assert outer["cat"] == "app" and inner["cat"] == "data"
    assert outer["ts"] <= inner["ts"] and inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"]
    assert inner["args"] == {"batch": 3, "rate": 0.5, "path": "a/b", "flag": 1, "large": str(2**70), "bytes": 10, "other": "None"}
    assert not traced.events(name="cancelled")
    assert len([e for e in traced.events() if e["name"].startswith("odd ") and e["name"].endswith(" name")]) == 1
    many = only(traced, name="many")
    assert many["args"] == {f"k{i}": i for i in range(16)} and many["args_cut"]


def test_what_is_decorated(traced):
    count = collections.Counter(e["name"] for e in traced.events() if e["cat"] in ("app", "compute", "model", "data"))
    assert {name: count[name] for name in ("function", "named", "generator", "coroutine", "async_generator")} == {
        "function": 1, "named": 1, "generator": 3, "coroutine": 1, "async_generator": 3}
    assert args_of(traced, name="named") == {"kernel": "fft"}
    assert [count[f"Model.{name}"] for name in ("__init__", "forward", "static", "made")] == [1, 1, 1, 1]
    assert {e["cat"] for e in traced.events() if e["name"].startswith("Model.")} == {"model"}
    assert count["fetch"] == 3, "one for each item"
    assert all(e["args"] == {"epoch": 1} for e in traced.events(name="fetch"))


def test_tags(traced):
    tags = {name: only(traced, name=name).get("tags", {}) for name in ("tagged", "scoped", "back", "cleared", "in thread")}
    assert tags["tagged"] == tags["back"] == {"epoch": "1", "phase": "train"}
    assert tags["scoped"] == {"epoch": "1", "phase": "validate", "extra": "x"}
    assert tags["cleared"] == {}
    assert tags["in thread"]["thread"] == "second" and tags["in thread"]["model"] == "resnet"


def test_points_in_time_and_asynchronous_spans(traced):
    assert args_of(traced, name="point", cat="c") == {"why": "x"}
    assert only(traced, name="queue")["value"] == 7 and only(traced, name="loss", cat="train")["value"] == 0.25
    request = only(traced, name="request", cat="net")
    assert request["id"] == 5 and request["args"] == {"status": 200} and request["begin_tid"] != request["tid"]


def test_children_have_the_tags_that_they_are_to_have(traced):
    tags = only(traced, name="in fork")["tags"]
    assert tags["step"] == "9" and tags["model"] == "resnet"
    work = traced.events(name="work")
    assert sorted(e["args"]["index"] for e in work) == [0, 1, 2, 3]
    images = {p["pid"]: p for p in sorted(traced.processes(), key=lambda p: p["start"])}  # the last of each
    for event in (*work, only(traced, name="in program")):
        assert images[event["pid"]]["tags"]["run"] == "nightly"


CALLS = """
import flowtap, sys
def raises(call, *args, **named):
    try:
        call(*args, **named)
    except TypeError:
        return True
assert raises(flowtap.span) and raises(flowtap.span, category="c") and raises(flowtap.span, "a", "b", "c")
assert raises(flowtap.span, "a", name="b") and raises(flowtap.span, "a", "b", x=1, category="c")
assert raises(flowtap.instant) and raises(flowtap.instant, "a", "b", "c")
made = "".join(["cate", "gory"])  # a keyword that is no text of the program
with flowtap.span("one", **{made: "c1", "x": 1}), flowtap.span(name="two", category="c2"), flowtap.span("three", "c3", own=1):
    pass
by_hand = flowtap.span.__new__ if "native" in flowtap._impl.__name__ else lambda span, *args, **named: span(*args, **named)
with by_hand(flowtap.span, "four", category="c4", y=2) as again:
    pass
with again:                   # once more
    again.arg(z=3)
    with flowtap.span("inside", category="c5"):
        pass
kept = [flowtap.span(f"kept{i}", category="c6") for i in range(3)]
for span in kept:
    span.__enter__()
for span in kept:
    span.__exit__(None, None, None)
cyclic = flowtap.span("cycle", category="c7", x=1)
cyclic.arg(me=cyclic)
del cyclic, span, kept, again
"""


def test_a_span_is_made_in_any_way(package, tap):
    trace = tap.run([sys.executable, "-c", CALLS], env={"PYTHONPATH": package[0]})
    assert trace.ran.returncode == 0, trace.ran.stderr
    told = collections.Counter((e["name"], e["cat"], str(e.get("args"))) for e in trace.events() if "errno" not in e)
    assert told == {("one", "c1", "{'x': 1}"): 1, ("two", "c2", "None"): 1, ("three", "c3", "{'own': 1}"): 1,
                    ("four", "c4", "{'y': 2}"): 1, ("four", "c4", "{'y': 2, 'z': 3}"): 1, ("inside", "c5", "None"): 1,
                    **{(f"kept{i}", "c6", "None"): 1 for i in range(3)}}
