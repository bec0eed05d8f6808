# SPDX-License-Identifier: MIT
"""A test program's own account of its calls (tests/programs/record.h) against the trace of that run."""

import collections
import dataclasses
import os
import re

FIELDS = ("fd", "size", "offset", "result")
ABSENT = "absent"


@dataclasses.dataclass
class Call:
    pid: int
    tid: int
    before: int
    after: int
    name: str
    path: str | None
    fd: int | str | None
    size: int | str | None
    offset: int | str | None
    result: int | str | None
    errno: int


class SideLog:
    def __init__(self, path):
        self.opened = None
        self.calls = []
        with open(path, encoding="ascii") as log:
            for line in log:
                words = line.rstrip("\n").split("\t")
                if words[0] == "#":
                    self.opened = self.opened or int(words[2])
                    self.base = os.fsdecode(bytes.fromhex(words[3]))
                else:
                    self.calls.append(self._call(words))
        assert self.calls, f"{path} holds no call"

    def _call(self, words):
        value = {"-": None, "!": ABSENT}
        numbers = [value[w] if w in value else int(w) for w in words[6:10]]
        path = None if words[5] == "-" else self._path(os.fsdecode(bytes.fromhex(words[5])))
        return Call(*map(int, words[:4]), words[4], path, *numbers, int(words[10]))

    def _path(self, path):
        """What a trace calls the file: joined to the directory at start, without `//` and `/./`."""
        path = re.sub(r"/(\./|/)+", "/", os.path.join(self.base, path))
        return path.removesuffix("/.") or "/"

    def by_thread(self):
        threads = collections.defaultdict(list)
        for c in self.calls:
            threads[c.tid].append(c)
        return threads


def clock(trace):
    """(offset from CLOCK_MONOTONIC to ts, stated error bound) of a trace of one host."""
    files = trace.info()["files"]
    offsets = {f["realtime_offset_ns"] for f in files}
    assert len(offsets) == 1, offsets
    return offsets.pop(), max(f["clock_error_ns"] for f in files)


def field_wrong(want, have):
    if want is None:
        return False
    return have is not None if want == ABSENT else have != want


def check_call(call, event, offset, bound):
    """A list of what is wrong with the event of this call."""
    wrong = []
    if event["name"] != call.name:
        wrong.append(f"name {event['name']}")
    if call.path is not None and event.get("path") != call.path:
        wrong.append(f"path {event.get('path')!r}")
    for field in FIELDS:
        if field_wrong(getattr(call, field), event.get(field)):
            wrong.append(f"{field} {event.get(field)}")
    if (event.get("errno") or 0) != call.errno:
        wrong.append(f"errno {event.get('errno')}")
    if event["pid"] != call.pid:
        wrong.append(f"pid {event['pid']}")
    start = event["ts"] - offset
    if start < call.before - bound or start + event["dur"] > call.after + bound:
        wrong.append(f"time {start}..{start + event['dur']}, not within {call.before}..{call.after} ± {bound}")
    return wrong


def compare(trace, log_path, ignore=(), bound_at_most=1_000_000):
    """Every call of the account is an event of its thread, in order, field by field; and there are no others."""
    log = SideLog(log_path)
    offset, bound = clock(trace)
    assert bound <= bound_at_most, f"a stated error bound of {bound} ns says nothing"
    events = collections.defaultdict(list)
    for e in trace.events():
        if e["name"] not in ignore and e["ts"] - offset >= log.opened - bound:
            events[e["tid"]].append(e)
    lines = []
    for tid, calls in log.by_thread().items():
        own = events.pop(tid, [])
        stamps = [e["ts"] for e in own]
        if stamps != sorted(stamps):
            lines.append(f"thread {tid}: events out of order")
        for i, call in enumerate(calls):
            if i >= len(own):
                lines.append(f"thread {tid}: no event for {call} and {len(calls) - i - 1} later ones")
                break
            wrong = check_call(call, own[i], offset, bound)
            if wrong:
                lines.append(f"thread {tid}, call {i}: {call}\n    trace has {', '.join(wrong)}")
                if wrong[0].startswith("name"):
                    lines.append(f"    events from here: {[(e['name'], e.get('path')) for e in own[i:i + 6]]}")
                    break
        else:
            if len(own) > len(calls):
                lines.append(f"thread {tid}: events that the program did not make: {own[len(calls):][:6]}")
    others = {tid: [e["name"] for e in es][:6] for tid, es in events.items()}
    if others:
        lines.append(f"events of threads that made no call: {others}")
    assert not lines, "\n".join(lines[:12])
    return log
