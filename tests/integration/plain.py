# SPDX-License-Identifier: MIT
"""The figures of reports once more: slow and plain, over `events --format json` and what `files` says a path is.

Only of generated traces, whose calls that move data return how many bytes they moved.
"""

import collections
import heapq
import json
from decimal import Decimal

from generated import events_of, reported

READS = {"read", "pread64", "fread"}
WRITES = {"write", "pwrite64", "fprintf"}
LATE = {"aio_return", "aio_return64"}  # their bytes were moved before, in another time
TRANSFERS = {"copy_file_range", "sendfile"} | LATE
METADATA = {"open64", "openat64", "fstat", "lstat", "stat", "lseek64", "close", "fclose", "fsync", "rename", "unlink", "mkdir",
            "access", "fstatat", "opendir", "readdir", "readdir64", "closedir", "rmdir"}
STREAMS = {"fclose"}
MOVES = READS | WRITES | TRANSFERS | STREAMS
STORED = {"regular", "directory", "block", "unknown"}


def exact(command, path, *options):
    """A document whose fractions are kept as they are written."""
    return json.loads(reported(command, path, "--json", *options), parse_float=Decimal)


def ns(seconds):
    return int(Decimal(seconds) * 10 ** 9)


class Call:
    """One call on files, as summaries count it: which ways it counts, and which ways its bytes went."""

    def __init__(self, event, ways, moved):
        self.event, self.ways, self.moved = event, ways, moved
        self.start, self.end = event["ts"], event["ts"] + event["dur"]
        self.bytes = event["result"] if moved else 0
        self.timed_bytes = 0 if event["name"] in LATE else self.bytes


def kinds_of(path):
    return {(f["host"], f["path"]): f["kind"] for f in exact("files", path)["files"]}


def call_of(event, kinds):
    def is_stored(key):
        return key in event and kinds[event["host"], event[key]] in STORED

    name, stored = event["name"], is_stored("path")
    if name in READS | WRITES:
        way = {"read" if name in READS else "write"} if stored else set()
        return Call(event, way, way)
    if name in TRANSFERS:
        ways = ({"read"} if stored else set()) | ({"write"} if is_stored("path2") else set())
        return Call(event, ways, ways)
    assert name in METADATA, name
    return Call(event, {"metadata"} if stored else set(), {"write"} if stored and name in STREAMS else set())


def calls_of(path, *options, events=None):
    """All calls that count as I/O on files."""
    kinds = kinds_of(path)
    events = events_of(path, *options) if events is None else events
    return [call for call in (call_of(e, kinds) for e in events if "errno" in e) if call.ways]


def other_io_of(events, calls):
    """What moved bytes of no file: how many calls, their bytes and their time."""
    counted = {id(call.event) for call in calls}
    other = [e for e in events if "errno" in e and e["name"] in MOVES - STREAMS and id(e) not in counted]
    return len(other), sum(max(e["result"], 0) for e in other), sum(e["dur"] for e in other)


def union(intervals):
    joined = []
    for start, end in sorted(i for i in intervals if i[1] > i[0]):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def length(intervals):
    return sum(end - start for start, end in intervals)


def common(a, b):
    return [(max(x, u), min(y, v)) for x, y in a for u, v in b if max(x, u) < min(y, v)]


def owned_pieces(events):
    """Each moment of a thread belongs to the innermost of its events: (number of the event, start, end)."""
    threads = collections.defaultdict(list)
    for number, event in enumerate(events):
        if event.get("dur", 0) > 0 and "id" not in event:
            start, end = event["ts"], event["ts"] + event["dur"]
            threads[event["host"], event["pid"], event["tid"]].append((start, end, number))
    for intervals in threads.values():
        intervals.sort()
        going_on, now, at = [], None, 0
        while at < len(intervals) or going_on:
            if not going_on:
                now = intervals[at][0]
            while at < len(intervals) and intervals[at][0] <= now:
                start, end, number = intervals[at]
                heapq.heappush(going_on, (end, -start, number))
                at += 1
            end, _, number = going_on[0]
            until = min(end, intervals[at][0]) if at < len(intervals) else end
            if now < until:
                yield number, now, until
            now = max(now, until)
            while going_on and going_on[0][0] <= now:
                heapq.heappop(going_on)
