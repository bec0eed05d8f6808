# SPDX-License-Identifier: MIT
"""Stacks that are small, or none of the thread's own: what the shim adds fits, and calls are counted right on all of them."""

import json

import counted
import harness

# What a call may go deeper than untraced. An exec is recorded before it is made, with its path and what it replaces.
DEEPER_BYTES = 1024
DEEPER_BYTES_EXEC = 1536


def test_calls_of_every_kind_in_the_smallest_thread(tap):
    untraced, trace = tap.plain_and_run([harness.program("stack_use")])
    plain = json.loads(untraced.stdout)
    deeper = {kind: depth - plain[kind] for kind, depth in json.loads(trace.ran.stdout).items()}
    too_deep = {kind: n for kind, n in deeper.items() if n > (DEEPER_BYTES_EXEC if "exec" in kind or kind == "vfork" else DEEPER_BYTES)}
    assert not too_deep, deeper
    assert trace.count(name="rename") == 2 and trace.summary()["dropped"] == 0


def test_coroutines_and_jumps_out_of_streams(tap):
    trace = tap.run_as_plain([harness.program("coroutines")])
    counted.check(tap, trace)
    assert trace.count(name="fputs") == 16 * 20
    assert not trace.one_process()["in_call"]


def test_exceptions_out_of_callbacks(tap):
    trace = tap.run([harness.program("throw_out")])
    counts = counted.check(tap, trace)
    assert counts == {"compare": 4, "nftw": 2, "ftw": 2, "scandir": 2, "twalk": 2, "caught": 12, "after": 12}
    assert not trace.one_process()["in_call"]
