# SPDX-License-Identifier: MIT
"""Signal handlers that make calls: recorded like any others, and the program is as it would be."""

import pytest

import counted
import harness

# how, how many
WAYS = [
    ("nested", 100),
    ("altstack", 100),
    ("altstack-thread", 100),
    ("fault", 100),
    ("fault-jump", 100),
    ("sigwait", 200),
    ("signalfd", 200),
    ("children", 100),
    ("fork", 100),
    ("timer-signal", 300),
    ("timer-thread", 100),
    ("jump-read", 50),
]


ENDS = [("pthread_exit", 0), ("exit", 4), ("_exit", 4), ("exec", 4)]


def check(tap, status, *argv):
    _, trace = tap.plain_and_run(argv, status=status)
    counts = counted.check(tap, trace)
    assert counts["main"] or counts["handler"]
    for p in trace.processes():
        assert not p["in_call"], p["in_call"]


@pytest.mark.parametrize("how, count", WAYS, ids=[w[0] for w in WAYS])
def test_calls_in_handlers(tap, how, count):
    check(tap, 0, harness.program("handlers"), how, str(count))


@pytest.mark.parametrize("how, status", ENDS, ids=[e[0] for e in ENDS])
def test_handlers_that_end_things(tap, how, status):
    check(tap, status, harness.program("handler_ends"), how, "100")
