# SPDX-License-Identifier: MIT
"""A file cut at any byte and a file with any byte flipped never crash a reader, and give every undamaged block."""

import errno
import json
import os
import random
import re

import pytest

import harness
from reading import COMMANDS, check_told, on, read_all, reading_commands

EVENTS = ["events", "--format", "json"]


@pytest.fixture(scope="module")
def sound():
    """A small real trace of a few files and processes: its bytes, its events."""
    tap = harness.Tap()
    script = "for i in 1 2 3; do cat /etc/hostname > f$i; done; cat f1 f2 f3 > all; ls -l > list; exit 0"
    trace = tap.run(["bash", "-c", script])
    (path,) = trace.flow_files()
    yield path.read_bytes(), [json.dumps(e, sort_keys=True) for e in trace.events()], path.name
    tap.finish(keep=False)


def test_no_command_that_reads_traces_is_left_out():
    assert {words[0] for words in COMMANDS} == reading_commands()


def events_of(done, path):
    """The events of a damaged file, each one that the sound file has too."""
    lines = []
    for line in done.stdout.splitlines():
        lines.append(json.dumps(json.loads(line), sort_keys=True))
    return lines


def comparable(lines):
    """Events without `t` (it counts from the first event that is left)."""
    plain = []
    for line in lines:
        event = json.loads(line)
        del event["t"]
        plain.append(json.dumps(event, sort_keys=True))
    return plain


def positions(size, count, seed):
    rng = random.Random(seed)
    return sorted({0, 1, 7, 8, 15, 16, 31, 63, size - 1, *(rng.randrange(size) for _ in range(count))})


def test_a_sound_file_passes(tap, sound):
    data, events, name = sound
    path = tap.folder / name
    path.write_bytes(data)
    results = read_all(path)
    assert all(r.returncode == 0 for r in results.values()), results
    assert len(events) > 50 and events_of(results["events --format json"], path) == events


def frames(data):
    """Where its frames begin, all but the first: as many as its daemon, which writes by the clock, came to."""
    return [found.start() for found in re.finditer(b"\x89FLW", data) if found.start() > 0]


@pytest.mark.parametrize("count", [120, pytest.param(1000, marks=pytest.mark.soak)])
def test_cut_at_many_places(tap, sound, count):
    data, events, name = sound
    all_events = set(comparable(events))
    path = tap.folder / name
    most = -1
    starts = set(frames(data))
    for cut in sorted({*positions(len(data), count, 1), *starts}):
        path.write_bytes(data[:cut])
        results = read_all(path, (EVENTS, ["verify", "--json"], ["summary", "--json"]))
        # cut between two frames, it is a file that its daemon could not close
        told = results["verify --json"].returncode == 1 or not json.loads(results["verify --json"].stdout)["files"][0]["closed"]
        assert told, f"verify says nothing of a file cut at {cut} of {len(data)}"
        left = comparable(events_of(results["events --format json"], path))
        assert set(left) <= all_events, f"cut at {cut}: events that never were"
        assert len(left) >= most, f"cut at {cut}: fewer events than of a shorter file"
        most = len(left)
        if results["summary --json"].returncode == 0:
            is_partial = json.loads(results["summary --json"].stdout)["partial"]
            # a file that ends with a whole frame may be one that is still written
            assert is_partial or len(left) == len(events) or cut in starts and results["verify --json"].returncode == 0, \
                f"cut at {cut}: events are missing and nothing says partial"
    assert most == len(events), "a file that lost only the end of its index lost events"


def test_each_command_on_cut_files(tap, sound):
    data, _, name = sound
    path = tap.folder / name
    for cut in positions(len(data), 6, 2):
        path.write_bytes(data[:cut])
        results = read_all(path)
        assert results["doctor"].returncode == 1, f"doctor says nothing of a file cut at {cut} of {len(data)}"
        if results["verify"].returncode == 1:
            check_told(results, f"cut at {cut}")


@pytest.mark.parametrize("count", [300, pytest.param(1000, marks=pytest.mark.soak)])
def test_flipped_bytes(tap, sound, count):
    data, events, name = sound
    all_events = set(comparable(events))
    path = tap.folder / name
    survived = 0
    for at in positions(len(data), count, 3):
        damaged = bytearray(data)
        damaged[at] ^= random.Random(at).randrange(1, 256)
        path.write_bytes(damaged)
        results = read_all(path, (EVENTS, ["verify"]))
        assert results["verify"].returncode == 1, f"verify says nothing of the flipped byte {at}"
        left = comparable(events_of(results["events --format json"], path))
        assert len(set(left) & all_events) >= 0
        survived += len(left) == len(events)
    assert survived > 20, "damage outside of the blocks costs no event"


def test_each_command_on_flipped_bytes(tap, sound):
    data, _, name = sound
    path = tap.folder / name
    for at in positions(len(data), 12, 4):
        damaged = bytearray(data)
        damaged[at] ^= 0x55
        path.write_bytes(damaged)
        check_told(read_all(path), f"flipped byte {at}")


@pytest.fixture(scope="module")
def blocks():
    """A trace with many blocks: ten processes one after the other, each flushed when it ended."""
    tap = harness.Tap()
    daemon = tap.daemon()
    for i in range(10):
        done = daemon.call([harness.program("touch_all"), *(f"p{i}-{k}" for k in range(40))], cwd=tap.work,
                           env={"FLOWTAP_JOB": "one"})
        assert done.returncode == 0
        harness.wait_until("the process's events in the file", lambda i=i: stored(daemon) >= (i + 1) * 120)
    trace = daemon.stop()
    (path,) = trace.flow_files()
    yield path.read_bytes(), trace.events(), path.name
    tap.finish(keep=False)


def stored(daemon):
    done = harness.read_command("summary", "--json", daemon.spool)
    return json.loads(done.stdout)["stored"] if done.returncode == 0 else 0


def test_damage_in_one_place_costs_at_most_one_block(tap, blocks):
    data, events, name = blocks
    path = tap.folder / name
    assert len(events) == 1200
    rng = random.Random(5)
    for at in sorted(rng.randrange(len(data) // 4, len(data)) for _ in range(60)):
        damaged = bytearray(data)
        damaged[at] ^= 0xff
        path.write_bytes(damaged)
        done = harness.read_command("events", "--format", "json", path)
        left = done.stdout.count(b"\n")
        assert left >= 1200 - 240, f"byte {at} of {len(data)} cost {1200 - left} events of 1200"


def test_zeroed_beginning_and_garbage(tap, sound):
    data, _, name = sound
    path = tap.folder / name
    for content in (bytes(2048) + data[2048:], b"", b"\0" * 100_000, b"not a trace\n" * 1000, data + b"\0" * 1000,
                    data[100:], random.Random(6).randbytes(100_000)):
        path.write_bytes(content)
        results = read_all(path)
        assert results["verify"].returncode == 1 or content.startswith(data)


def test_what_is_behind_the_end_is_told_and_adds_nothing(tap, sound):
    """Zeros, garbage, and files put together: ids of another trace stand for other records."""
    data, events, name = sound
    (other,) = tap.run(["sh", "-c", "echo told > another; cat another"]).flow_files()
    path = tap.folder / name
    path.write_bytes(data)
    whole = json.loads(on(["summary", "--json"], path).stdout)
    begun = data[:frames(data)[-2]]  # all but its index
    for before, tail, what in ((data, bytes(1000), b"bytes behind the trace's end"), (data, b"\0", b"bytes behind the trace's end"),
                               (data, random.Random(7).randbytes(1000), b"bytes behind the trace's end"),
                               (data, data, b"another trace"), (data, other.read_bytes(), b"another trace"),
                               (data, other.read_bytes() * 3, b"another trace"), (begun, other.read_bytes(), b"another trace"),
                               (data, data[frames(data)[0]:], b"bytes behind the trace's end")):
        path.write_bytes(before + tail)
        results = read_all(path)
        check_told(results, what)
        assert events_of(results["events --format json"], path) == events
        assert re.search(rb"damage: %b.*, at byte %d," % (what, len(before)), results["verify"].stdout), results["verify"].stdout
        told = json.loads(results["summary --json"].stdout)
        for key in ("events", "stored", "dropped", "missing", "processes", "threads", "files", "calls", "gaps"):
            assert told[key] == whole[key], key


def needs_holes(path, size=1 << 42):
    """Makes the file so large, with nothing in it behind what is written, where the file system can and tells."""
    written = path.stat().st_size
    try:
        os.truncate(path, size)
        with open(path, "rb") as file:
            hole = os.lseek(file.fileno(), 0, os.SEEK_HOLE)
            try:
                data = os.lseek(file.fileno(), hole, os.SEEK_DATA)
            except OSError as error:
                data = size if error.errno == errno.ENXIO else hole
    except OSError as error:
        harness.needs(False, f"no file of {size >> 40} TiB can be made here: {error.strerror}")
    harness.needs(hole < written + (1 << 24) and data == size, "the file system does not tell holes by SEEK_HOLE")


def test_a_hole_costs_no_time(tap, sound):
    """Nor does it hide what is written behind it."""
    data, events, name = sound
    path = tap.folder / name
    path.write_bytes(data)
    needs_holes(path)
    results = read_all(path)
    assert comparable(events_of(results["events --format json"], path)) == comparable(events) and results["verify"].returncode == 1
    with open(path, "r+b") as file:
        file.seek((1 << 41) + 7)
        file.write(data)
    assert len(events_of(read_all(path, [EVENTS])["events --format json"], path)) >= len(events)


def test_missing_and_odd_paths_are_one_line_of_error(tap):
    for path in (tap.folder / "absent.flow", tap.folder / "empty-folder", "/dev/null", "/proc/self/mem"):
        if path.__class__ is not str and path.name == "empty-folder":
            path.mkdir()
        for words in COMMANDS:
            done = on(words, path)
            told = done.stdout if words == ["doctor"] else done.stderr
            assert done.returncode == 1, (words, path, done.returncode, done.stdout[:300])
            assert told.count(b"\n") == 1 and str(path).encode() in told, (words, done)


def test_a_folder_with_nothing_readable_is_one_line_of_error(tap):
    (tap.folder / "only").mkdir()
    for name in ("a.flow", "b.flow"):
        (tap.folder / "only" / name).write_bytes(b"not a trace\n" * 100)
    for words in (*COMMANDS, ["verify", "--json"]):
        done = on(words, tap.folder / "only")
        told = done.stdout if words == ["doctor"] else done.stderr
        assert (done.returncode, told.count(b"\n")) == (1, 1) and re.search(rb"\.flow(:| is) not a Flowtap trace file", told), (
            words, done)


def test_wrong_usage_is_status_2(tap):
    for words in ([], ["no-such-command"], ["summary"], ["events", "--format", "xml", "."], ["files", "--no-such"],
                  ["run"], ["run", "--tag", "x", "--", "true"]):
        done = harness.read_command(*words)
        assert done.returncode == 2, (words, done.returncode, done.stderr)
        assert done.stderr, words
