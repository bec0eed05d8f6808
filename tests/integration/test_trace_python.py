# SPDX-License-Identifier: MIT
"""The trace file is readable without Flowtap: the Python of proto/trace-file.md, as it stands there, reads what `flowtap events` reads."""

import json
import re
import subprocess

import frames
import harness
import pytest

# Those with names are whole files; what a fuzzer made has a hash for a name.
CORPUS = sorted(p for p in (harness.REPO / "tests/fuzz/corpus/trace").iterdir()
                if not p.name.startswith("found-") and not re.fullmatch("[0-9a-f]{40}", p.name))


@pytest.fixture(scope="module")
def reader():
    return frames.page()


@pytest.fixture(scope="module")
def description():
    return frames.description()


def by_page(trace):
    """What the page's reader gives, in the words of `flowtap events`."""
    for event in trace["events"]:
        thread = trace["threads"][event["thread"]]
        call = trace["calls"].get(event["call"])
        path = trace["files"].get(event["file"], {}).get("path", b"")
        yield {
            "ts": event["ts"] + trace["header"].realtime_offset_ns, "tid": thread.tid,
            "dur": event["dur"] if event["kind"] < 2 else None,  # an instant has none
            "name": call.name.decode() if call and event["kind"] == 0 else None, "path": path,
            "fd": event["fd"] if event["fd"] >= 0 else None,
            "errno": event.get("errno") if event["kind"] == 0 else None,  # nor has a span an errno
            "result": event.get("result") if event["kind"] == 0 else None,  # of a span: who began it
            **{field: event.get(field) for field in ("size", "offset")},
        }


def by_flowtap(path):
    out = subprocess.run([harness.FLOWTAP, "events", path, "--format", "json"], check=True, capture_output=True).stdout
    for line in out.decode().splitlines():
        yield json.loads(line)


def key(event):
    return tuple(event.get(field) or 0 for field in ("ts", "tid", "dur", "fd", "size", "offset", "result", "errno"))


def assert_same(ours, theirs):
    ours, theirs = sorted(ours, key=key), sorted(theirs, key=key)
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs):
        for field in ("ts", "tid", "fd", "size", "offset", "result"):
            assert one[field] == other.get(field), (field, one, other)
        # The command leaves these out, or gives 0, where nothing is known.
        for field in ("dur", "errno"):
            assert (one[field] or 0) == other.get(field, 0), (field, one, other)
        if one["name"] is not None:
            assert one["name"] == other["name"]
        if other.get("path_bytes") is None:
            assert one["path"].decode() == other.get("path", "")


@pytest.mark.parametrize("path", CORPUS, ids=lambda p: p.name)
def test_the_corpus_reads_the_same(path, reader, description):
    assert_same(by_page(reader["read"](path.read_bytes(), description)), by_flowtap(path))


def test_a_real_trace_reads_the_same(tap, reader, description):
    tap.run(["tar", "-C", "/usr/share", "-cf", "/dev/null", "common-licenses"])
    files = sorted(tap.folder.rglob("*.flow"))
    assert files
    for path in files:
        trace = reader["read"](path.read_bytes(), description)
        assert trace["events"] and trace["header"].host
        assert all(event["name"] for event in by_page(trace)), "the file names the calls that it uses"
        assert_same(by_page(trace), by_flowtap(path))
