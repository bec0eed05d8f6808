# SPDX-License-Identifier: MIT
"""A handler forks at each instruction that matters, and the child goes back into the call that was interrupted.

The call is one event of the process in which it ended, whatever of its record was written by the time.
"""

import signal

import pytest

import harness

WHERE = {
    "call_shown": [("burst", 1), ("burst", 77), ("plain", 130)],
    "call_done": [("burst", 1), ("burst", 77), ("plain", 130)],
    "emitted": [("burst", 2), ("burst", 77), ("plain", 130)],
    "reserved": [("burst", 1), ("burst", 77), ("burst", 200)],
    "written": [("burst", 1), ("burst", 77), ("burst", 200)],
    "published": [("burst", 1), ("burst", 77), ("burst", 200)],
    "reserved_long": [("plain", 2), ("plain", 20)],
    "written_long": [("plain", 2), ("plain", 20)],
    "name_reserved": [("plain", 2), ("plain", 20)],
    "name_written": [("plain", 2), ("plain", 20)],
    "chunk_padded": [("burst", 1), ("burst", 3)],
    "chunk_full": [("burst", 1), ("burst", 3)],
    "chunk_taken": [("burst", 2), ("burst", 4)],
    "chunk_headed": [("burst", 2), ("burst", 4)],
    "chunk_filled": [("burst", 2), ("burst", 4)],
}
CASES = [(point, mode, count) for point, places in WHERE.items() for mode, count in places]


@pytest.mark.parametrize("point,mode,count", CASES)
def test_a_handler_forks(tap, preload, point, mode, count):
    daemon = tap.daemon()
    done = daemon.call([harness.program("fork_at"), mode], cwd=tap.work,
                       env={"LD_PRELOAD": preload, "FLOWTAP_TEST_POINT": f"{point}:{count}:{int(signal.SIGUSR1)}"})
    assert done.same() == (0, b"", b"")
    trace = daemon.stop()
    parent, child = sorted(trace.processes(), key=lambda p: p["start"])
    assert child["parent"] == parent["pid"]

    def numbers(process):
        return [e["offset"] // 8 for e in trace.events(name="pwrite", pid=process["pid"])]
    assert numbers(parent) == list(range(400))
    own = numbers(child)
    assert 10 < len(own) <= 400 and own == list(range(400 - len(own), 400))
    assert trace.summary()["dropped"] == 0
    # a call that had ended, and whose name the parent was about to tell, is without it in the child
    unnamed = [e for e in trace.events() if e["name"] in ("open", "pwrite", "close") and e.get("path") != str(tap.work / "numbers")]
    ended = point in ("call_done", "name_reserved", "name_written")
    assert len(unnamed) <= ended and all(e["pid"] == child["pid"] and "path" not in e for e in unnamed), unnamed


@pytest.mark.parametrize("point,mode,count", [c for c in CASES if c[1:] != ("burst", 1)])
def test_a_handler_forks_a_child_that_cannot_attach(tap, preload, point, mode, count):
    daemon = tap.daemon()
    done = daemon.call([harness.program("fork_at"), mode, "limited"], cwd=tap.work,
                       env={"LD_PRELOAD": preload, "FLOWTAP_TEST_POINT": f"{point}:{count}:{int(signal.SIGUSR1)}"})
    assert done.same() == (0, b"", b"")
    trace = daemon.stop()
    parent = trace.one_process()
    assert [e["offset"] // 8 for e in trace.events(name="pwrite", pid=parent["pid"])] == list(range(400))
    assert trace.summary()["dropped"] == 0
    assert [(g["kind"], g["count"]) for g in trace.gaps()] == [("rlimit", 1)], trace.gaps()
