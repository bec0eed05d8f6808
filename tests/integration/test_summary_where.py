# SPDX-License-Identifier: MIT
"""`summary --where`: the figures of the chosen events, which plain Python chooses, and all else of the whole job."""

import collections
import re
import tempfile

import harness
import pytest
from generated import document, events_of, generate
from hypothesis import given
from hypothesis import strategies as st
from plain import calls_of, exact, ns
from test_figures import SETTINGS, check_hottest, check_percentiles, check_processes, check_summary, is_span

WHOLE = ("events", "stored", "dropped", "dropped_by_cause", "profiled", "hosts", "processes", "images", "threads", "jobs", "tags",
         "start", "end", "wall_time", "coverage", "gaps", "names_lost", "partial", "unclosed")
WHERES = [("size<4096", lambda e: e.get("size", 4096) < 4096),
          ("kind=span || dur>=20us", lambda e: is_span(e) or e.get("dur", 0) >= 20_000),
          ("path~'*1*' && !(errno=0)", lambda e: "1" in e.get("path", "") and e.get("errno") != 0),
          ("name!=read", lambda e: e["name"] != "read"),
          ("errno!=0", lambda e: e.get("errno", 0) != 0),
          ("size>1024TiB", lambda e: False),
          ("ts>=0", lambda e: True)]


def check_calls(told, events, kind):
    """Counts, sums and extremes of each function (or span) that was chosen, and none of another."""
    own = collections.defaultdict(list)
    for event in events:
        if "dur" in event and is_span(event) == (kind == "spans"):
            own[event["name"], event["cat"]].append(event)
    assert {(c["name"], c["category"]) for c in told[kind]} == set(own)
    for call in told[kind]:
        chosen = own[call["name"], call["category"]]
        times = [e["dur"] for e in chosen]
        assert (call["count"], ns(call["time"]), ns(call["min"]), ns(call["max"])) == (len(times), sum(times), min(times), max(times))
        assert call["errors"] == sum(e.get("errno", 0) != 0 for e in chosen) and call["dropped"] == 0


@SETTINGS
@given(kind=st.sampled_from(["random", "random", "training", "checkpoint", "metadata"]), seed=st.integers(0, 2 ** 32),
       hosts=st.integers(1, 3), count=st.integers(1, 700), where=st.sampled_from(WHERES))
def test_figures_are_what_python_finds_of_the_chosen(kind, seed, hosts, count, where):
    with tempfile.TemporaryDirectory(prefix="flowtap-test-") as folder:
        path = generate(f"{folder}/t", kind, "--seed", str(seed), "--hosts", str(hosts), "--dropped", "9", events=count)
        text, holds = where
        events = [e for e in events_of(path) if holds(e)]
        told, whole = exact("summary", path, "--where", text), exact("summary", path)
        calls, spans = calls_of(path, events=events), [e for e in events if is_span(e)]
        assert (told["where"], told["chosen"]) == (text, len(events)) and (whole["where"], whole["chosen"]) == (None, None)
        assert {key: told[key] for key in WHOLE} == {key: whole[key] for key in WHOLE}
        check_summary(told, calls, spans)
        check_percentiles(told, events)
        check_calls(told, events, "calls")
        check_calls(told, events, "spans")
        check_processes(path, told, calls, spans, "--where", text)
        check_hottest(path, told, "--where", text)
        assert told["files"] == len(exact("files", path, "--where", text)["files"])


def test_groups_are_of_the_chosen_alone(tmp_path):
    path = generate(tmp_path / "t", "training", "--hosts", "2", events=5000)
    told = document("summary", path, "--where", "size>=4096", "--by", "name")
    wanted = collections.Counter(e["name"] for e in events_of(path) if e.get("size", 0) >= 4096)
    assert {g["group"]["name"]: g["events"] for g in told["groups"]} == wanted and sum(wanted.values()) == told["chosen"]


@pytest.mark.parametrize("options", [(), ("--by", "name")])
def test_blocks_whose_heads_rule_it_out_are_passed_over(tmp_path, options):
    path = generate(tmp_path / "t", "sequential", events=300_000)
    wall = document("summary", path)["wall_time"]
    done = harness.call([harness.FLOWTAP, "summary", "--json", "--stats", "--where", f"t<{int(wall * 100_000)}us", *options, path])
    assert done.returncode == 0, done.stderr
    read, all_of_them, skipped = (int(n) for n in re.search(rb"(\d+) of (\d+) read, (\d+) skipped", done.stderr).groups())
    assert read + skipped == all_of_them and 0 < read < all_of_them


def test_the_text_says_what_is_chosen_and_what_cannot_be(tmp_path):
    path = generate(tmp_path / "t", "training", "--dropped", "50", events=2000)
    text = harness.call([harness.FLOWTAP, "summary", "--where", "size<4096", path]).stdout.decode()
    assert re.search(r"^Chosen +[\d,]+ of [\d,]+ events: size<4096$", text, re.M)
    assert "events were dropped and are not in it." in text


@pytest.mark.parametrize("options", [("--quick", "--where", "size<1"), ("--where", "size<"), ("--where", "nosuchfield=1 &&")])
def test_what_cannot_be_is_wrong_usage(tmp_path, options):
    path = generate(tmp_path / "t", "same", events=100)
    done = harness.call([harness.FLOWTAP, "summary", *options, path])
    assert done.returncode == 2 and not done.stdout and b"--where" in done.stderr
