# SPDX-License-Identifier: MIT
"""A trace without an event says why, in its summary, its list of events and by `doctor`: for each reason that there is."""

import json
import re

import pytest

import frames
import harness
from generated import generate
from reading import on, read_all


def check_empty(path, reason, by=("summary", "events")):
    """The reason in words; no document is missing, and `doctor` has something to say."""
    results = read_all(path)
    for name in by:
        told = results[name].stdout.decode()
        assert re.search(rf"^0 events, because .*{reason}", told, re.M), (name, told, results[name].stderr)
    assert json.loads(results["summary --json"].stdout)["stored"] == 0
    assert results["events --format json"].stdout == b""
    assert results["doctor"].returncode == 1 and results["doctor"].stdout.startswith(b"problem: "), results["doctor"]


@pytest.mark.parametrize("options,reason", [(["--include", "/no/such/*"], r"FLOWTAP_INCLUDE=/no/such/\*"),
                                            (["--exclude", "/*"], r"FLOWTAP_EXCLUDE=/\*")], ids=["include", "exclude"])
def test_filters(tap, options, reason):
    trace = tap.run([harness.program("touch_all"), "a"], options=options)
    assert trace.events() == [] and (tap.work / "a").exists()
    check_empty(trace.path, reason)


@pytest.mark.parametrize("flags", [[], ["-static"]], ids=["dynamic", "static"])
def test_the_mode_is_off(tap, flags):
    trace = tap.run([tap.compiled("still", "int main(void) { return 0; }", *flags)], env={"FLOWTAP_MODE": "off"})
    assert b"0 events, because FLOWTAP_MODE is off" in trace.ran.stderr
    check_empty(trace.path, "FLOWTAP_MODE of its environment turns tracing off")
    assert b"was started with tracing switched off" in on(["doctor"], trace.path).stdout


def test_no_process_attached(tap):
    path = tap.run(["cat", "/etc/hostname"]).flow_files()[0]
    header = [part for part in frames.take_apart(path.read_bytes()) if part[0] in (1, 5)]
    path.write_bytes(frames.put_together(header))
    check_empty(path, "no process attached")


def test_what_ran_could_not_be_seen(tap):
    program = tap.compiled("still", "int main(void) { return 0; }", "-static")
    trace = tap.run([program])
    assert [gap["kind"] for gap in trace.gaps()] == ["static"]
    check_empty(trace.path, "static")


def test_all_was_dropped(tap):
    check_empty(generate(tap.folder / "t", "sequential", "--dropped", "1000", events=500), "dropped", ["events"])  # whose totals are there


def test_sums_alone(tap):
    path = tap.run(["cat", "/etc/hostname"], env={"FLOWTAP_MODE": "profile"}).path
    assert re.search(rb"^0 events, because .*mode profile", on(["events"], path).stdout, re.M)


def test_killed_before_its_first_event(tap):
    """What attached and ended at once: of a real trace, the process with no call made."""
    path = tap.run(["sh", "-c", "kill -9 $$"], status=None).flow_files()[0]
    parts = frames.take_apart(path.read_bytes())
    for kind, tables, _ in parts:
        for process in tables.processes if kind == 2 else ():
            process.emitted = process.stored = 0
            del process.dropped_calls[:]
    path.write_bytes(frames.put_together([part for part in parts if part[0] != 3]))
    check_empty(path, "the programs made no call that is recorded")


def test_what_held_them_is_gone(tap):
    path = tap.run(["cat", "/etc/hostname"]).flow_files()[0]
    parts = frames.take_apart(path.read_bytes())
    data = frames.put_together(parts)
    (block,) = [frames.put(*part) for part in parts if part[0] == 3]
    path.write_bytes(data.replace(block, block[:30] + b"!" + block[31:]))
    check_empty(path, "damaged or missing", ["events"])


def test_an_empty_file(tap):
    path = tap.folder / "empty.flow"
    path.write_bytes(b"")
    assert b"empty" in on(["doctor"], path).stdout
    done = on(["summary"], path)
    assert done.returncode == 1 and b"empty" in done.stderr and done.stderr.count(b"\n") == 1
    assert harness.read_command("verify", path).returncode == 1
