# SPDX-License-Identifier: MIT
"""What a program says of its own spans (tests/programs/annotated.h) against what the trace has of them."""

import json

# Between a duration as the program measures it around a span, or in it, and the trace's: far more than the trace's clock
# may be wrong, also where the daemon seldom ran.
CLOCK_ERROR_NS = 1_000_000


def account(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def events_by_seq(trace):
    """Spans and instants that have a number, by process and number."""
    found = {}
    for event in trace.events():
        if "seq" in event.get("args", {}):
            key = event["pid"], event["args"]["seq"]
            assert key not in found, (found[key], event)
            found[key] = event
    return found


def check_one(event, line, by_seq, pid):
    assert (event["cat"], event["name"], event["tid"]) == (line["cat"], line["name"], line["tid"]), (event, line)
    assert {**event["args"]} == line["args"] and event.get("tags", {}) == line["tags"], (event, line)
    assert ("dur" in event) == (line["kind"] == "span"), event
    if line["kind"] == "span":
        error = CLOCK_ERROR_NS + line["outer"] // 100
        assert line["inner"] - error <= event["dur"] <= line["outer"] + error, (event, line)
    if line["parent"]:
        parent = by_seq[pid, line["parent"]]
        assert parent["ts"] <= event["ts"], (parent, event)
        assert event["ts"] + event.get("dur", 0) <= parent["ts"] + parent["dur"], (parent, event)


def check(trace, path):
    """Each is in the trace exactly as it was given, and nothing else with a number is. Gives the account."""
    lines, by_seq = account(path), events_by_seq(trace)
    for line in lines:
        assert (line["pid"], line["seq"]) in by_seq, line
        check_one(by_seq[line["pid"], line["seq"]], line, by_seq, line["pid"])
    assert len(lines) == len(by_seq)
    return lines


def application_events(trace, **want):
    return [e for e in trace.events(**want) if "errno" not in e]
