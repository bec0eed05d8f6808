# SPDX-License-Identifier: MIT
"""A handler at each instruction of the shim that matters, doing what handlers may do: nothing is lost, nothing is there twice."""

import json
import signal

import pytest

import harness

POINTS = ["call_shown", "call_done", "recording", "line_known", "emitted", "reserved", "written", "published", "reserved_long", "written_long",
          "name_reserved", "name_written", "chunk_padded", "chunk_full", "chunk_taken", "chunk_headed", "chunk_filled"]
ROUNDS = 60


@pytest.mark.parametrize("how", ["io", "jump", "fork", "fork-exit", "end-thread"])
@pytest.mark.parametrize("point", POINTS)
def test_interrupted(tap, preload, point, how):
    """The n-th time that the point is passed: before a few records are in a chunk, and after many."""
    for count in (5, 13) if point.startswith("chunk") else (60, 90):
        daemon = tap.daemon()
        folder = tap.work / str(count)
        folder.mkdir()
        done = daemon.call([harness.program("interrupted"), how, str(ROUNDS)], cwd=folder,
                           env={"LD_PRELOAD": preload, "FLOWTAP_TEST_POINT": f"{point}:{count}:{int(signal.SIGUSR1)}"})
        assert (done.returncode, done.stderr) == (0, b""), done.stderr
        said = [json.loads(line) for line in done.stdout.splitlines()]
        check(daemon.stop(), folder, how, said, count)


def check(trace, folder, how, said, count):
    handled = sum(s["handler"] for s in said)
    assert handled == 40, f"the point was not passed {count} times"
    main = [p for p in trace.processes() if p["exe"].endswith("/interrupted")]
    assert len(main) == (2 if how.startswith("fork") else 1)
    assert len(said) == (2 if how == "fork" else 1)
    causes = trace.summary()["dropped_by_cause"]
    # what a jump or the thread's end leaves is torn; what a fork interrupts is the parent's, once
    is_left = how in ("jump", "end-thread")
    assert causes.pop("torn") <= is_left and not any(causes.values()), trace.summary()["dropped_by_cause"]
    for name in ("main", "handler"):
        opened = trace.count(name="open", path=str(folder / name)), trace.count(name="write", path=str(folder / name))
        want = sum(s[name] for s in said)
        # the interrupted call itself: who leaves it has it not in the program's count or not in the trace, a fork makes it return twice
        slack = 1 if (is_left or how == "fork") and name == "main" else 0
        assert all(abs(n - want) <= slack for n in opened), (name, opened, want)
    if how.startswith("fork"):
        assert trace.count(name="write", path=str(folder / "child")) == 40
