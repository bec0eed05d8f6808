# SPDX-License-Identifier: MIT
"""Processes in other time namespaces: their times stand on the host's clock, whichever clock the library takes them from."""

import os

import pytest

import harness

NO_NAMESPACE = 77
CLOCKSOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
COARSE_NS = 20_000_000  # two steps of the coarse clock
AHEAD = ["unshare", "-T", "--monotonic", "100000", "--boottime", "100000"]
BEHIND = ["unshare", "-T", "--monotonic", "-3", "--boottime", "-3"]


def check(tap, trace, name, slack_ns=0):
    """What happened between two moments is told as between them."""
    before, after = (int((tap.work / which).read_text()) for which in ("before", "after"))
    stamps = [(e["ts"], e["ts"] + e["dur"]) for e in trace.events(path=str(tap.work / name))]
    assert len(stamps) >= 10 and stamps == sorted(stamps)
    assert before - slack_ns <= stamps[0][0] and stamps[-1][1] <= after + slack_ns, (before, stamps[0], stamps[-1], after)
    assert trace.summary()["dropped"] == 0 and trace.gaps() == []
    for process in trace.processes():
        assert before / 1e9 - 60 <= process["start"] <= process["end"] <= after / 1e9 + 60, process


@pytest.mark.parametrize("how", ["counter", "none"])
def test_a_forked_child(tap, how):
    harness.needs(os.geteuid() == 0, "a time namespace needs root")
    daemon = tap.daemon()
    done = daemon.call([harness.program("other_clock"), how], cwd=tap.work)
    harness.needs(done.returncode != NO_NAMESPACE, "no time namespace can be made here")
    assert done.returncode == 0
    check(tap, daemon.stop(), "child", COARSE_NS if how == "none" else 0)


def script(tap, inside):
    """Its parts run in the namespaces that `inside` says, one after another."""
    now = "date +%s%N"
    write = "for i in 0 1 2 3 4 5 6 7 8 9; do echo x >> child; done"
    return f"cd {tap.work}; {now} > before; {' '.join(inside)} sh -c '{write}'; r=$?; {now} > after; exit $r"


def needs_namespaces(words):
    harness.needs_program("unshare")
    done = harness.call([*words, "true"])
    harness.needs(done.returncode == 0, f"no such namespace can be made here: {done.stderr.decode().strip()}")


@pytest.mark.parametrize("inside", [AHEAD, BEHIND, []], ids=["ahead", "behind", "same"])
@pytest.mark.parametrize("outside", [AHEAD, []], ids=["other", "host"])
@pytest.mark.parametrize("clock", ["counter", "kernel"])
def test_an_executed_image(tap, clock, outside, inside):
    """Also where the kernel's clock is not the counter, and where the daemon is in a namespace of its own."""
    needs_namespaces(AHEAD)
    needs_namespaces(BEHIND)
    out = tap.folder / "trace"
    (tap.folder / "source").write_text("hpet\n")
    hidden = f"mount --bind {tap.folder}/source {CLOCKSOURCE} && exec \"$@\""
    words = [] if clock == "counter" else ["unshare", "-m", "sh", "-c", hidden, "sh"]
    if words:
        harness.needs(os.path.exists(CLOCKSOURCE), f"there is no {CLOCKSOURCE} here")
        needs_namespaces(words)
    done = harness.call([*words, *outside, harness.FLOWTAP, "run", "-o", out, "--", "sh", "-c", script(tap, inside)])
    assert done.returncode == 0, done.stderr
    check(tap, harness.Trace(out, harness.read_command), "child")
