# SPDX-License-Identifier: MIT
"""Threads that come and go, handlers that interrupt, jumps out of them, and what runs at the ends of things."""

import json

import pytest

import harness


def check_timer(tap, trace):
    made = json.loads(trace.ran.stdout)
    handler = trace.file(tap.work / "handler")
    assert (handler["opens"], handler["writes"]) == (made["ticks"], made["ticks"])
    assert trace.count(name="close", path=str(tap.work / "handler")) == made["ticks"]
    assert trace.file(tap.work / "threads")["writes"] == made["writes"]
    return made


def test_a_handler_between_any_two_instructions(tap):
    trace = tap.run([harness.program("timer_io"), "300"])
    made = check_timer(tap, trace)
    assert trace.count(name="lseek", path=str(tap.work / "main")) == made["seeks"]
    assert trace.summary()["dropped"] == 0


def test_a_handler_that_jumps_out(tap):
    """The call that it left can be lost between its return and its record: then it is torn, and nothing else is lost."""
    trace = tap.run([harness.program("timer_io"), "300", "jump"])
    made = check_timer(tap, trace)
    causes = trace.summary()["dropped_by_cause"]
    assert causes.pop("torn") <= made["ticks"] and not any(causes.values()), causes


@pytest.mark.soak
def test_a_handler_for_ten_seconds(tap):
    """More events than a test can hold one by one: what each file and call have is compared."""
    trace = tap.run([harness.program("timer_io"), "10000"], deadline=300, check=False)
    made = json.loads(trace.ran.stdout)
    summary = trace.summary()
    assert summary["events"] == summary["stored"] + summary["dropped"]
    assert summary["dropped"] == summary["dropped_by_cause"]["ring_full"]
    counts = {c["name"]: c["count"] for c in summary["calls"]}
    files = made["ticks"] + 6  # the handler's, the threads', main's and stdout
    assert counts["lseek"] == made["seeks"]
    assert counts["write"] - made["ticks"] - made["writes"] in (0, 1)
    assert counts["open"] == files - 1 and counts["close"] == made["ticks"]


def test_twenty_thousand_threads(tap):
    trace = tap.run([harness.program("thread_churn"), "20000"], deadline=120)
    writes = trace.events(name="write", path=str(tap.work / "churn"))
    assert len(writes) == 20_000
    assert trace.summary()["dropped"] == 0


def test_ends_of_threads_and_programs(tap):
    trace = tap.run([harness.program("tls_end")])
    for name in ("round-1", "round-2", "round-3", "round-4", "atexit", "destructor", "constructor"):
        assert trace.file(tap.work / name)["written_bytes"] == 1, name


def test_concurrent_streams(tap):
    trace = tap.run([harness.program("stdio_threads")])
    for n in range(8):
        assert trace.file(tap.work / f"own-{n}")["written_bytes"] == (tap.work / f"own-{n}").stat().st_size
    assert trace.file(tap.work / "shared")["written_bytes"] == (tap.work / "shared").stat().st_size


def test_jumps_and_exceptions_out_of_callbacks(tap):
    trace = tap.run([harness.program("jump_out")])
    for name in ("qsort", "nftw", "after-1", "after-2"):
        assert trace.file(tap.work / name)["opens"] >= 1, name
