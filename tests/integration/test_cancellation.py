# SPDX-License-Identifier: MIT
"""Cancelled threads: they end where they would, their cleanup handlers run, and all that was done before and after is recorded."""

import counted
import harness


def test_cancelled_before_the_call(tap):
    trace = tap.run_as_plain([harness.program("cancel"), "pending"])
    counted.check(tap, trace)


def test_cancelled_in_a_call_that_waits(tap):
    trace = tap.run_as_plain([harness.program("cancel"), "blocked"])
    counted.check(tap, trace)
    assert not [p["in_call"] for p in trace.processes() if not p["exit"].get("signal") and p["in_call"]]


def test_cancelled_at_any_instruction(tap):
    threads = 300
    _, trace = tap.plain_and_run([harness.program("cancel"), "async", str(threads)])
    counted.check(tap, trace, torn_at_most=threads)
    made = int(trace.ran.stdout.splitlines()[0])
    seen = sum(e["name"].startswith(("stat", "__xstat")) and e["path"] == str(tap.work / "absent") for e in trace.events())
    assert made <= seen <= made + threads


def test_what_a_cancelled_thread_held_is_given_back(tap):
    """A filter has to read names into memory that threads share: it goes on excluding."""
    threads = 300
    trace = tap.run([harness.program("cancel"), "async", str(threads)], options=["--exclude", f"{tap.work}/hidden"])
    counted.check(tap, trace, torn_at_most=threads)
    assert trace.count(path=str(tap.work / "hidden")) == 0
