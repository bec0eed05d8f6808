# SPDX-License-Identifier: MIT
"""Large traces as the generator makes them: what it says of itself, and what the commands say of it."""

import collections
import json

import pytest
from generated import generate, reported

EVENTS = 200_000
KINDS = ["random", "training", "checkpoint", "metadata", "same", "sequential", "tar"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_made_trace_is_sound_and_accounted_for(tmp_path, kind):
    folder = generate(tmp_path / "t", kind, "--dropped", "3", events=EVENTS)
    reported("verify", folder)
    summary = json.loads(reported("summary", folder, "--json"))
    assert not summary["partial"] and summary["gaps"] == []
    assert summary["events"] == EVENTS == summary["stored"] + summary["dropped"]
    assert summary["dropped"] == summary["dropped_by_cause"]["ring_full"] > 0
    events = reported("events", folder, "--format", "json").splitlines()
    own = sum(json.loads(line)["cat"] not in ("POSIX", "STDIO") for line in events)
    assert sum(call["count"] for call in summary["calls"]) + own == EVENTS
    processes = json.loads(reported("processes", folder, "--json"))["processes"]
    assert sum(process["events"] for process in processes) == EVENTS


def test_many_hosts_are_read_as_one_job(tmp_path):
    folder = generate(tmp_path / "t", "checkpoint", "--hosts", "50", events=EVENTS)
    assert len(list(folder.glob("*.flow"))) == 50
    summary = json.loads(reported("summary", folder, "--json"))
    assert summary["hosts"] == 50 and summary["events"] == EVENTS and summary["processes"] == 50 * 8


@pytest.mark.parametrize("kind", ["training", "metadata", "tar"])
def test_summary_and_files_say_what_the_events_say(tmp_path, kind):
    folder = generate(tmp_path / "t", kind, events=150_000)
    counts, by_file = collections.Counter(), collections.Counter()
    for line in reported("events", folder, "--format", "json").splitlines():
        event = json.loads(line)
        if event["cat"] in ("POSIX", "STDIO"):
            counts[event["name"]] += 1
            by_file[event["path"]] += 1
    summary = json.loads(reported("summary", folder, "--json"))
    assert {call["name"]: call["count"] for call in summary["calls"]} == counts
    files = json.loads(reported("files", folder, "--json"))["files"]
    # A rename is an event of both of its files.
    renames = sum(count for name, count in counts.items() if name == "rename")
    assert sum(file["events"] for file in files) == sum(by_file.values()) + renames
    assert summary["files"] == len(files)
