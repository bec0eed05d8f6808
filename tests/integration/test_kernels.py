# SPDX-License-Identifier: MIT
"""Kernels that lack what the shim would like, as far as a filter that refuses it can stand for them."""

import pytest

import harness


def lacking(tap, what, argv):
    """Under a filter put in before the program is executed, by a process that is not traced itself."""
    daemon = tap.daemon()
    env = [f"{k}={v}" for k, v in daemon.env().items() if k.startswith("FLOWTAP") or k == "LD_PRELOAD"]
    done = harness.call([harness.program("lacking"), what, "env", *env, *argv], cwd=tap.work)
    plain = tap.plain([harness.program("lacking"), what, *argv])
    return daemon, done, plain


def test_before_memory_could_be_populated(tap):
    """Linux 5.4 to 5.13: what was taken at attach is all that the shim has itself."""
    daemon, done, plain = lacking(tap, "populate", [harness.program("hammer"), "100", "20"])
    assert done.same() == plain.same() == (0, b"", b"")
    trace = daemon.stop()
    summary = trace.summary()
    assert summary["events"] == 100 * 22
    assert summary["dropped"] == summary["dropped_by_cause"]["ring_full"]


@pytest.mark.parametrize("what", ["memfd_create", "fallocate", "prlimit64", "statx"])
def test_what_attaching_needs(tap, what):
    daemon, done, plain = lacking(tap, what, ["sh", "-c", "cat /etc/hostname; exit 3"])
    assert done.same() == plain.same()
    daemon.call(["true"])
    trace = daemon.stop()
    if what != "prlimit64":
        assert not [p for p in trace.processes() if p["exe"].endswith("/cat") and p["events"]]


@pytest.mark.parametrize("what", ["tgkill", "prctl", "mremap", "getcwd", "gettid"])
def test_what_attaching_can_do_without(tap, what):
    daemon, done, plain = lacking(tap, what, [harness.program("touch_all"), "a", "b", "c"])
    assert done.same() == plain.same() == (0, b"", b"")
    trace = daemon.stop()
    assert [trace.count(name=n) for n in ("open", "write", "close")] == [3, 3, 3]
