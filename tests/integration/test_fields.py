# SPDX-License-Identifier: MIT
"""What `events` gives back is what the program did: every field, times within the stated bound, order per thread."""

import json
import subprocess

import harness
import sidelog


def test_fields_times_and_order_of_four_threads(tap):
    log = tap.folder / "side.log"
    trace = tap.run([harness.program("fields")], env={"SIDE_LOG": log})
    account = sidelog.compare(trace, log)
    assert len(account.calls) == 4 * (2 + 7 * 300)
    assert len(account.by_thread()) == 4


def test_every_line_is_json_with_the_promised_keys(tap):
    trace = tap.run([harness.program("fields")])
    allowed = {"ts", "t", "dur", "name", "cat", "host", "pid", "tid", "path", "path2", "fd", "size", "offset", "result",
               "errno", "tags"}
    for event in trace.events():
        assert {"ts", "t", "dur", "name", "cat", "host", "pid", "tid"} <= event.keys() <= allowed, event
        assert isinstance(event["ts"], int) and isinstance(event["dur"], int)
    first = min(e["ts"] for e in trace.events())
    for event in trace.events()[:1000]:
        assert abs(event["t"] - (event["ts"] - first) / 1e9) < 1 or event["t"] >= 0
    done = harness.read_command("events", "--format", "json", trace.path)
    assert subprocess.run(["jq", "-e", "-s", "length"], input=done.stdout, stdout=subprocess.PIPE,
                          check=True).stdout.strip() == str(len(trace.events())).encode()


def test_a_call_on_no_file_has_no_path(tap):
    trace = tap.run(["sh", "-c", f"{harness.program('touch_all')} a b; true"])
    nameless = [e for e in trace.events() if e["name"] in ("fork", "vfork", "_exit")]
    assert len(nameless) >= 2 and trace.count(path=str(tap.work / "b")) == 3
    assert not [e for e in nameless if "path" in e], nameless


def test_tags_of_the_run_are_on_every_event(tap):
    trace = tap.run(["cat", "/etc/hostname"], options=["--tag", "team=blue", "--tag", "run=7"])
    assert trace.events() and all(e["tags"] == {"team": "blue", "run": "7"} for e in trace.events())
    assert trace.summary()["tags"]


def test_csv_has_a_row_for_each_event(tap):
    import csv
    import io
    trace = tap.run(["cat", "/etc/hostname"])
    done = harness.read_command("events", "--format", "csv", trace.path)
    rows = list(csv.DictReader(io.StringIO(done.stdout.decode())))
    assert [(r["name"], r["ts"]) for r in rows] == [(e["name"], str(e["ts"])) for e in trace.events()]


def test_every_reporting_command_prints_one_document(tap):
    trace = tap.run(["cat", "/etc/hostname"])
    for command in ("summary", "files", "processes", "info", "verify"):
        done = harness.read_command(command, "--json", trace.path)
        assert done.returncode == 0 and done.stderr == b"", (command, done.stderr)
        assert isinstance(json.loads(done.stdout), dict)
