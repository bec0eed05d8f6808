# SPDX-License-Identifier: MIT
"""Of each function in `summary` all figures, what went on beside files, and how many took part: against plain Python over the events."""

import collections
import tempfile

from generated import events_of, generate
from hypothesis import given
from hypothesis import strategies as st
from plain import READS, STORED, STREAMS, TRANSFERS, WRITES, exact, kinds_of, ns
from test_figures import SETTINGS, is_span

MOVE = READS | WRITES | TRANSFERS | STREAMS


def bucket_of(size):
    """The power of two that it is in, both ends included."""
    bits = size.bit_length()
    return (1 << (bits - 1), (1 << bits) - 1) if bits else (0, 0)


def check_sizes(told, moved):
    """Their buckets, and percentiles of the nearest rank: in the same power of two, and within what there was."""
    buckets = {(b["from"], b["to"]): b["count"] for b in told["sizes"]["buckets"]}
    assert buckets == collections.Counter(map(bucket_of, moved)), told["name"]
    for percent in (50, 95, 99):
        size = told[f"size_p{percent}"]
        if moved:
            assert bucket_of(sorted(moved)[-(-len(moved) * percent // 100) - 1]) == bucket_of(size), (told["name"], percent)
        else:
            assert size is None


def check_list(told, events):
    own = collections.defaultdict(list)
    for event in events:
        own[event["name"], event["cat"]].append(event)
    assert sorted((one["name"], one["category"]) for one in told) == sorted(own)
    for one in told:
        chosen = own[one["name"], one["category"]]
        times = [e["dur"] for e in chosen]
        moved = [e["result"] for e in chosen] if one["name"] in MOVE else []
        assert (one["count"], one["bytes"], ns(one["time"])) == (len(chosen), sum(moved), sum(times)), one["name"]
        assert (ns(one["min"]), ns(one["max"])) == (min(times), max(times)), one["name"]
        assert (one["errors"], one["dropped"]) == (sum(e.get("errno", 0) != 0 for e in chosen), 0), one["name"]
        check_sizes(one, moved)


def check_other(told, events, kinds):
    """Reads and writes of what is no file, directory or block device on any side."""
    sides = {name: ("path", "path2") if name in TRANSFERS else ("path",) for name in READS | WRITES | TRANSFERS}
    own = []
    for event in events:
        touched = [kinds[event["host"], event[side]] for side in sides.get(event["name"], ()) if side in event]
        if "errno" in event and touched and not STORED & set(touched):
            own.append(event)
    assert (told["count"], told["bytes"], ns(told["time"])) == (len(own), sum(e["result"] for e in own), sum(e["dur"] for e in own))
    return len(own)


def check_numbers(path, summary, events, kinds):
    processes = exact("processes", path)["processes"]
    assert summary["events"] == summary["stored"] == len(events) and summary["dropped"] == summary["missing"] == 0
    assert summary["hosts"] == len({p["host"] for p in processes})
    assert summary["processes"] == len({(p["host"], p["pid"]) for p in processes}) and summary["images"] == len(processes)
    assert summary["threads"] >= len({(e["host"], e["pid"], e["tid"]) for e in events})
    assert summary["files"] == len(kinds)
    assert ns(summary["start"]) == min([ns(p["start"]) for p in processes] + [e["ts"] for e in events])
    assert ns(summary["end"]) == max([ns(p["end"]) for p in processes] + [e["ts"] + e.get("dur", 0) for e in events])
    assert ns(summary["wall_time"]) == ns(summary["end"]) - ns(summary["start"])


@SETTINGS
@given(kind=st.sampled_from(["random", "random", "random", "training", "checkpoint", "metadata"]), seed=st.integers(0, 2 ** 32),
       hosts=st.integers(1, 3), count=st.integers(1, 900))
def test_figures_of_calls_are_what_python_finds(kind, seed, hosts, count):
    with tempfile.TemporaryDirectory(prefix="flowtap-test-") as folder:
        path = generate(f"{folder}/t", kind, "--seed", str(seed), "--hosts", str(hosts), events=count)
        events, kinds, summary = events_of(path), kinds_of(path), exact("summary", path)
        check_list(summary["calls"], [e for e in events if "errno" in e])
        check_list(summary["spans"], [e for e in events if is_span(e)])
        check_other(summary["other_io"], events, kinds)
        check_numbers(path, summary, events, kinds)


def test_some_of_the_made_traces_have_other_files(tmp_path):
    """Else nothing would be said of them."""
    path = generate(tmp_path / "t", "random", events=900)
    assert check_other(exact("summary", path)["other_io"], events_of(path), kinds_of(path)) > 0
