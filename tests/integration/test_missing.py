# SPDX-License-Identifier: MIT
"""What damage costs has a number: events are those stored, those dropped and those missing, in every report that tells of them."""

import json
import re

import pytest

import harness
import test_damage
from test_schemas import check, check_reports

sound, blocks = test_damage.sound, test_damage.blocks  # fixtures


def document(command, path):
    return json.loads(harness.read_command(command, "--json", path).stdout)


def balances(told):
    return told["events"] == told["stored"] + told["dropped"] + told["missing"]


def test_nothing_is_missing_of_what_is_whole(tap, sound):
    data, events, name = sound
    path = tap.folder / name
    path.write_bytes(data)
    assert [document(command, path)["missing"] for command in ("summary", "processes", "verify")] == [0, 0, 0]
    assert b"missing" not in b"".join(harness.read_command(command, path).stdout for command in ("summary", "processes", "verify"))
    assert len(events) == document("summary", path)["stored"]
    assert json.loads(harness.read_command("diff", "--json", path, path).stdout)["missing"] == {"a": 0, "b": 0}
    assert b"missing" not in harness.read_command("diff", path, path).stdout


@pytest.mark.parametrize("trace", ["sound", "blocks"])
def test_each_event_of_a_damaged_block_is_missing(tap, request, trace):
    data, events, name = request.getfixturevalue(trace)
    path = tap.folder / name
    costly = 0
    starts = [0, *test_damage.frames(data), len(data)]
    for begin, end in zip(starts, starts[1:]):  # in its head, and in what is behind it
        for at in {min(begin + 40, end - 1), (begin + end) // 2, end - 2}:
            damaged = bytearray(data)
            damaged[at] ^= 0xff
            path.write_bytes(damaged)
            summary, processes, verify = (document(command, path) for command in ("summary", "processes", "verify"))
            if summary["unclosed"] or summary["events"] != len(events):  # what its process counted is lost itself
                continue
            assert balances(summary) and summary["missing"] == len(events) - summary["stored"], at
            assert processes["missing"] == verify["missing"] == summary["missing"], at
            assert all(balances(process) for process in processes["processes"])
            if summary["missing"] and not costly:
                check_told(path, summary["missing"], len(events))
            costly += summary["missing"] > 0
    assert costly > 0


def check_told(path, missing, events):
    summary, processes, verify = (harness.read_command(command, path).stdout.decode() for command in ("summary", "processes", "verify"))
    doctor = harness.read_command("doctor", "--trace", path).stdout.decode()
    assert re.search(rf"^Not seen .*; {missing:,} events? missing; .*; the trace is partial$", summary, re.M), summary
    for text in (processes, verify):
        assert f"\n{missing:,} event{'s are' if missing > 1 else ' is'} missing: in what is damaged" in text, text
    assert f"{missing:,} of {events:,} events are missing" in doctor
    diff, pair = harness.read_command("diff", path, path).stdout.decode(), json.loads(harness.read_command("diff", "--json", path, path).stdout)
    for side in ("A", "B"):
        assert f"\nOf {side} {missing:,} event{'s are' if missing > 1 else ' is'} missing: what vanished may be that.\n" in diff, diff
    assert pair["missing"] == {"a": missing, "b": missing} and pair["partial"]
    check("diff", pair)
    for command in ("summary", "processes", "verify"):
        check(command, document(command, path))


def test_sums_alone_are_told_as_such(tap):
    trace = tap.run(["cat", "/etc/hostname"], env={"FLOWTAP_MODE": "profile"})
    count = trace.summary()["profiled"]
    assert count > 0 and trace.summary()["missing"] == 0
    assert f"{count:,} events of 1 processes as sums alone (mode profile), none dropped" in harness.read_command(
        "doctor", "--trace", trace.path).stdout.decode()
    assert f": 0 events, sums alone of {count:,}\n  sound\n" in harness.read_command("verify", trace.path).stdout.decode()
    assert document("verify", trace.path)["files"][0]["profiled"] == count
    assert f"\n{count:,} events are there as sums alone: what was moved is counted, not when.\n" in harness.read_command(
        "processes", trace.path).stdout.decode()


def test_of_sums_alone_none_is_chosen_and_no_figure_is_0(tap):
    path = tap.run(["cat", "/etc/hostname"], env={"FLOWTAP_MODE": "profile"}).path
    told = json.loads(harness.read_command("summary", "--json", "--where", "name=read", path).stdout)
    check_reports(path)
    assert told["chosen"] is None and told["profiled"] > 0
    for key in ("read", "write", "metadata", "other_io", "moved"):
        figures = {name: value for name, value in told[key].items() if name != "dropped"}
        assert set(figures.values()) == {None}, (key, figures)
    for key in ("io_time", "app_time", "compute_time", "app_io_time", "unoverlapped_io_time", "unoverlapped_compute_time",
                "unoverlapped_app_io_time"):
        assert told[key] is None, key
    text = harness.read_command("summary", "--where", "name=read", path).stdout.decode()
    assert " in 0 calls" not in text and "0 s of it" not in text and "\nRead " not in text
    assert "\nChosen       unknown, since there are sums alone (mode profile): name=read\n" in text
    for command in ("files", "processes", "timeline"):
        assert json.loads(harness.read_command(command, "--json", "--where", "name=read", path).stdout)["profiled_left_out"] == told["profiled"]
        assert f"\n{told['profiled']:,} events " in harness.read_command(command, "--where", "name=read", path).stdout.decode()
