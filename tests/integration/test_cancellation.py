# SPDX-License-Identifier: MIT
"""Cancelled threads: they end where they would, their cleanup handlers run, and all that was done before and after is recorded."""

import counted
import harness


def both(tap, *words):
    """The untraced run's stdout, and the trace of the same with the same stdout."""
    plain = tap.plain([harness.program("cancel"), *words])
    assert (plain.returncode, plain.stderr) == (0, b""), plain
    for path in tap.work.iterdir():
        path.unlink()
    trace = tap.run([harness.program("cancel"), *words])
    return plain, trace


def test_cancelled_before_the_call(tap):
    plain, trace = both(tap, "pending")
    assert trace.ran.stdout == plain.stdout
    counted.check(tap, trace)


def test_cancelled_in_a_call_that_waits(tap):
    plain, trace = both(tap, "blocked")
    assert trace.ran.stdout == plain.stdout
    counted.check(tap, trace)
    assert not [p["in_call"] for p in trace.processes() if not p["exit"].get("signal") and p["in_call"]]


def test_cancelled_at_any_instruction(tap):
    threads = 300
    _, trace = both(tap, "async", str(threads))
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
