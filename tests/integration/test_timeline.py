# SPDX-License-Identifier: MIT
"""`timeline` against plain Python over the events, and against `summary`."""

import collections
import sys
import tempfile

import harness
import pytest
from generated import events_of, generate, reported
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plain import calls_of, common, exact, length, ns, owned_pieces, union

SETTINGS = settings(max_examples=10, deadline=None, derandomize=True, database=None,
                    suppress_health_check=list(HealthCheck))


def expected_bins(calls, spans, start, end, width, count):
    """(read bytes, written bytes, times and calls by way, unions) of each bin."""
    bins = []
    for i in range(count):
        low, high = start + i * width, end if i + 1 == count else start + (i + 1) * width
        is_last = i + 1 == count

        def starts_here(call, low=low, high=high, is_last=is_last):
            return low <= call.start and (call.start < high or is_last)

        def share(call, low=low, high=high):
            """Bytes and time of the call in the bin: what was moved up to the bin's end, but not before it."""
            if call.end == call.start:
                return (call.bytes, 0) if starts_here(call) else (0, 0)
            upto = [min(max(at - call.start, 0), call.end - call.start) for at in (low, high)]
            done = [call.bytes * at // (call.end - call.start) for at in upto]
            return done[1] - done[0], upto[1] - upto[0]

        shares = [(call, *share(call)) for call in calls]
        io = [(max(a, low), min(b, high)) for a, b in union((c.start, c.end) for c in calls) if max(a, low) < min(b, high)]
        compute = [(max(a, low), min(b, high)) for a, b in spans if max(a, low) < min(b, high)]
        requests = [c.bytes for c in calls if starts_here(c) and c.ways & {"read", "write"}]
        bins.append({
            "read_bytes": sum(b for c, b, _ in shares if "read" in c.moved),
            "written_bytes": sum(b for c, b, _ in shares if "write" in c.moved),
            **{key: sum(starts_here(c) for c in calls if way in c.ways)
               for key, way in (("reads", "read"), ("writes", "write"), ("metadata", "metadata"))},
            **{f"{way}_time": sum(t for c, _, t in shares if way in c.ways) for way in ("read", "write", "metadata")},
            "request_size": sum(requests) / len(requests) if requests else None,
            "io_time": length(io), "compute_time": length(compute), "overlap_time": length(common(io, compute)),
        })
    return bins


def categories_of(row):
    return {one["category"]: ns(one["exclusive_time"]) for one in row["categories"]}


def check_categories(document, events):
    """A moment of a thread is in the category of its innermost event alone, in each bin and in all."""
    start, end, width = (ns(document[key]) for key in ("start", "end", "width"))
    bins = [collections.Counter() for _ in document["bins"]]
    for number, begin, until in owned_pieces(events):
        for i in range((begin - start) // width, min((until - start) // width + 1, len(bins))):
            low, high = start + i * width, end if i + 1 == len(bins) else start + (i + 1) * width
            bins[i][events[number]["cat"]] += max(0, min(until, high) - max(begin, low))
    for row, want in zip([*document["bins"], document["total"]], [*bins, sum(bins, collections.Counter())]):
        assert categories_of(row) == {category: time for category, time in want.items() if time > 0}
    assert all(one["exclusive_time"] > 0 for row in document["bins"] for one in row["categories"])
    times = list(categories_of(document["total"]).values())
    assert times == sorted(times, reverse=True)


def check(document, calls, spans):
    start, end, width = (ns(document[key]) for key in ("start", "end", "width"))
    assert len(document["bins"]) == max(1, -(-(end - start) // width))
    expected = expected_bins(calls, spans, start, end, width, len(document["bins"]))
    for i, (got, want) in enumerate(zip(document["bins"], expected)):
        assert ns(got["t"]) == i * width
        for key, value in want.items():
            if key == "request_size":
                assert (got[key] is None) == (value is None) and (value is None or abs(float(got[key]) - value) < 1e-6 * value + 1e-9)
            else:
                assert (ns(got[key]) if key.endswith("_time") else got[key]) == value, (i, key)
        seconds = (min(start + (i + 1) * width, end) - start - i * width) / 1e9
        assert seconds == 0 or abs(float(got["read_bandwidth"]) - want["read_bytes"] / seconds) < 1e-6 * (1 + want["read_bytes"] / seconds)
        busy = sum(want[f"{way}_time"] for way in ("read", "write", "metadata")) / 1e9
        assert seconds == 0 or abs(float(got["concurrency"]) - busy / seconds) < 1e-6 * (1 + busy / seconds)


def compute_of(events):
    return union((e["ts"], e["ts"] + e["dur"]) for e in events if "errno" not in e and "dur" in e and e["cat"] == "compute")


@SETTINGS
@given(kind=st.sampled_from(["random", "random", "training", "checkpoint"]), seed=st.integers(0, 2 ** 32), hosts=st.integers(1, 3),
       count=st.integers(1, 600), bins=st.integers(1, 40))
def test_bins_hold_what_python_puts_there(kind, seed, hosts, count, bins):
    with tempfile.TemporaryDirectory(prefix="flowtap-test-") as folder:
        path = generate(f"{folder}/t", kind, "--seed", str(seed), "--hosts", str(hosts), events=count)
        events = events_of(path)
        calls = calls_of(path, events=events)
        for options in (["--bins", str(bins)], []):
            document = exact("timeline", path, *options)
            check(document, calls, compute_of(events))
            check_categories(document, events)


@pytest.mark.parametrize("kind", ["random", "training", "checkpoint", "metadata"])
def test_bins_add_up_to_the_summary(tmp_path, kind):
    path = generate(tmp_path / "t", kind, "--hosts", "3", events=200_000)
    summary, timeline = exact("summary", path), exact("timeline", path)
    by_category = exact("summary", path, "--by", "cat")["groups"]
    assert (timeline["start"], timeline["end"]) == (summary["start"], summary["end"])
    for part in ("bins", "total"):
        rows = timeline["bins"] if part == "bins" else [timeline["total"]]

        def total(key, rows=rows):
            return sum(row[key] for row in rows)

        assert total("read_bytes") == summary["read"]["bytes"] and total("written_bytes") == summary["write"]["bytes"]
        assert [total(key) for key in ("reads", "writes", "metadata")] == [summary[key]["count"] for key in ("read", "write", "metadata")]
        for way in ("read", "write", "metadata"):
            assert total(f"{way}_time") == summary[way]["time"], way
        assert total("io_time") == summary["io_time"] and total("compute_time") == summary["compute_time"]
        assert total("io_time") - total("overlap_time") == summary["unoverlapped_io_time"]
        times = collections.Counter()
        for row in rows:
            times.update(categories_of(row))
        assert times == {group["group"]["cat"]: ns(group["exclusive_time"]) for group in by_category if group["exclusive_time"]}


def test_a_part_of_the_time_is_drawn_closer(tmp_path):
    path = generate(tmp_path / "t", "random", events=3000)
    where = "t>=0.2 && t<0.6 && kind=call && cat=POSIX"
    document = exact("timeline", path, "--where", where, "--width", "10ms")
    chosen = events_of(path, "--where", where)
    assert ns(document["width"]) == 10_000_000
    assert ns(document["start"]) == chosen[0]["ts"] and ns(document["end"]) == max(e["ts"] + e["dur"] for e in chosen)
    check(document, calls_of(path, events=chosen), [])
    check_categories(document, chosen)


@pytest.mark.parametrize("locale,is_ascii", [("C", True), ("C.UTF-8", False)])
def test_the_plot_fits_and_is_plain_where_it_has_to_be(tmp_path, locale, is_ascii):
    path = generate(tmp_path / "t", "training", events=5000)
    for options in ([], ["--bins", "3"], ["--bins", "1000"]):
        done = harness.call([harness.FLOWTAP, "timeline", *options, path], env=harness.clean_environment(LC_ALL=locale))
        assert done.returncode == 0 and not done.stderr
        text = done.stdout.decode()
        strips = [line for line in text.splitlines() if line.startswith(" |")]
        assert len(strips) >= 8 and max(map(len, strips)) <= 80 and len(set(map(len, strips))) == 1
        assert text.isascii() == is_ascii


def test_categories_stand_side_by_side_where_there_are_spans(tmp_path):
    for kind, wanted in (("training", {"data", "compute", "POSIX"}), ("metadata", set())):
        text = reported("timeline", generate(tmp_path / kind, kind, events=5000)).decode()
        assert {line.split()[2] for line in text.splitlines() if line.startswith("Threads in ")} == wanted


def test_spans_that_share_a_category_with_calls_are_spans(tap):
    """Whichever of them comes first: here calls do."""
    program = "import flowtap\nopen('/etc/passwd').read()\nwith flowtap.span('s', category='POSIX'):\n  sum(range(100_000))\n"
    trace = tap.run([sys.executable, "-c", program], env={"PYTHONPATH": harness.REPO / "client/python", "FLOWTAP_PURE": 1})
    posix = ["errno" in e for e in sorted(trace.events(), key=lambda e: e["ts"]) if e["cat"] == "POSIX"]
    assert posix[0] and not all(posix)
    assert "Threads in POSIX" in reported("timeline", trace.path).decode()


@pytest.mark.parametrize("count", [63, 64, 65, 300])
def test_of_too_many_categories_the_rest_are_one(tap, count):
    """All are there in the sum: the first 63 that are found, and the others together; the page says so."""
    assert "Of more than 63 those that are found first" in (harness.REPO / "client/cli/flowtap-timeline.1").read_text()
    program = f"import flowtap\nfor i in range({count}):\n with flowtap.span('s', category=f'c{{i:03}}'):\n  sum(range(1000))\n"
    trace = tap.run([sys.executable, "-c", program], env={"PYTHONPATH": harness.REPO / "client/python", "FLOWTAP_PURE": 1})
    spans = [e for e in trace.events() if e["cat"].startswith("c") and e.get("kind") != "call"]
    assert len({e["cat"] for e in spans}) == count
    document = exact("timeline", trace.path, "--where", "kind=span")
    told = categories_of(document["total"])
    assert len(told) == min(count, 64) and (None in told) == (count > 63)
    assert sum(told.values()) == sum(until - begin for _, begin, until in owned_pieces(spans))
    assert harness.call([harness.FLOWTAP, "timeline", trace.path]).returncode == 0


def test_no_event_and_one_moment(tmp_path):
    """Nothing is divided by no time: a rate of it is not known."""
    path = generate(tmp_path / "t", "random", events=50)
    moment = next(e["ts"] for e in events_of(path) if e.get("dur") == 0 and "errno" in e)
    for where in ("size=-5", f"ts={moment} && dur=0"):
        document = exact("timeline", path, "--where", where)
        assert len(document["bins"]) == 1 and document["start"] == document["end"] and ns(document["width"]) == 1
        for row in (*document["bins"], document["total"]):
            assert [row[key] for key in ("read_bandwidth", "write_bandwidth", "concurrency")] == [None] * 3
        assert harness.call([harness.FLOWTAP, "timeline", "--where", where, path]).returncode == 0


@pytest.mark.parametrize("options,status", [(["--bins", "3", "--width", "1s"], 2), (["--width", "1KiB"], 2), (["--width", "0s"], 2),
                                            (["--width", "1ns"], 1), (["--bins", "1000000"], 1), (["--bins", str(2 ** 63)], 1)])
def test_what_cannot_be_divided_is_refused(tmp_path, options, status):
    path = generate(tmp_path / "t", "training", events=100)
    done = harness.call([harness.FLOWTAP, "timeline", *options, path])
    assert done.returncode == status and done.stderr.count(b"\n") == 1 and not done.stdout
