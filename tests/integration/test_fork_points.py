# SPDX-License-Identifier: MIT
"""A handler forks at each instruction that matters, and the child goes back into the call that was interrupted.

A call whose recording had begun is one event of the parent; any other is one of each process in which it ended.
"""

import signal

import pytest

import harness

NUMBERS = 800
WHERE = {
    "call_shown": [("burst", 1), ("burst", 77), ("plain", 130)],
    "call_done": [("burst", 1), ("burst", 77), ("plain", 130)],
    "recording": [("burst", 3), ("burst", 77), ("plain", 130), ("plain", 131)],
    "line_known": [("burst", 2), ("burst", 77), ("plain", 130)],
    "emitted": [("burst", 2), ("burst", 77), ("plain", 130)],
    "reserved": [("burst", 1), ("burst", 77), ("burst", 200)],
    "written": [("burst", 1), ("burst", 77), ("burst", 200)],
    "published": [("burst", 1), ("burst", 77), ("burst", 200)],
    "reserved_long": [("plain", 2), ("plain", 20)],
    "written_long": [("plain", 2), ("plain", 20)],
    "name_reserved": [("plain", 2), ("plain", 20)],
    "name_written": [("plain", 2), ("plain", 20)],
    "chunk_padded": [("burst", 1), ("burst", 3), ("burst", 5)],
    "chunk_full": [("burst", 1), ("burst", 3), ("burst", 5)],
    "chunk_taken": [("burst", 2), ("burst", 4), ("burst", 5), ("burst", 6)],
    "chunk_headed": [("burst", 2), ("burst", 4), ("burst", 5), ("burst", 6)],
    "chunk_filled": [("burst", 2), ("burst", 4), ("burst", 5), ("burst", 6)],
}
CASES = [(point, mode, count) for point, places in WHERE.items() for mode, count in places]


def call(tap, daemon, preload, wish, *words):
    done = daemon.call([harness.program("fork_at"), *words], cwd=tap.work, env={"LD_PRELOAD": preload, "FLOWTAP_TEST_POINT": wish})
    assert done.same() == (0, b"", b"")


def numbers(trace, process, fd=None):
    return [e["offset"] // 8 for e in trace.events(name="pwrite", pid=process["pid"]) if fd in (None, e["fd"])]


@pytest.mark.parametrize("point,mode,count", CASES)
def test_a_handler_forks(tap, preload, point, mode, count):
    daemon = tap.daemon()
    call(tap, daemon, preload, f"{point}:{count}:{int(signal.SIGUSR1)}", mode, str(NUMBERS))
    trace = daemon.stop()
    parent, child = sorted(trace.processes(), key=lambda p: p["start"])
    assert child["parent"] == parent["pid"] and trace.summary()["dropped"] == 0
    assert numbers(trace, parent) == list(range(NUMBERS))
    own = numbers(trace, child)
    assert 10 < len(own) <= NUMBERS and own == list(range(NUMBERS - len(own), NUMBERS))
    # a call that had ended when the parent was about to record it is without its name in the child
    unnamed = [e for e in trace.events() if e["name"] in ("open", "pwrite", "close") and e.get("path") != str(tap.work / "numbers")]
    assert len(unnamed) <= (point in ("call_done", "recording")), unnamed
    assert all(e["pid"] == child["pid"] and "path" not in e for e in unnamed), unnamed


@pytest.mark.parametrize("point,mode,count", [c for c in CASES if c[1:] != ("burst", 1)])
def test_a_handler_forks_a_child_that_cannot_attach(tap, preload, point, mode, count):
    daemon = tap.daemon()
    call(tap, daemon, preload, f"{point}:{count}:{int(signal.SIGUSR1)}", mode, str(NUMBERS), "limited")
    trace = daemon.stop()
    parent = trace.one_process()
    assert numbers(trace, parent) == list(range(NUMBERS))
    assert trace.summary()["dropped"] == 0
    assert [(g["kind"], g["count"]) for g in trace.gaps()] == [("rlimit", 1)], trace.gaps()


@pytest.mark.parametrize("point", ["call_shown", "line_known", "emitted", "reserved", "written", "published", "chunk_taken", "chunk_filled"])
def test_a_child_forks_where_it_was_forked(tap, preload, point):
    """Each goes back through the calls of all before it, of which none may find what is its own."""
    daemon = tap.daemon()
    wish = f"{point}:2:{int(signal.SIGUSR1)}:1" if point.startswith("chunk") else f"{point}:30:{int(signal.SIGUSR1)}:17"
    call(tap, daemon, preload, wish, "deep", str(NUMBERS))
    trace = daemon.stop()
    family = sorted(trace.processes(), key=lambda p: p["start"])
    assert [p["parent"] for p in family[1:]] == [p["pid"] for p in family[:-1]] and len(family) == 4
    assert trace.summary()["dropped"] == 0
    fds = {e["path"]: e["result"] for e in trace.events(name="open", pid=family[0]["pid"])}
    for depth, process in enumerate(family):
        for level in range(4):
            path, count = tap.work / (f"depth-{level}" if level else "numbers"), 40 if level else NUMBERS
            own = numbers(trace, process, fds[str(path)])
            assert own == list(range(count - len(own), count)), (depth, level)
            assert len(own) == count if level == depth else (len(own) > 0) == (level < depth), (depth, level)


@pytest.mark.parametrize("point,count", [("dropping", 1), ("dropping", 50), ("dropped", 1), ("dropped", 50)])
def test_a_handler_forks_while_the_ring_is_full(tap, preload, point, count):
    """In a segment of 1 MiB, with a daemon that does not drain it; what the child makes then its own segment holds."""
    daemon = tap.daemon()
    daemon.process.send_signal(signal.SIGSTOP)
    script = f"ulimit -v 500000; exec {harness.program('fork_at')} burst 40000"
    done = daemon.call(["sh", "-c", script], cwd=tap.work,
                       env={"LD_PRELOAD": preload, "FLOWTAP_TEST_POINT": f"{point}:{count}:{int(signal.SIGUSR1)}"})
    assert done.same() == (0, b"", b"")
    daemon.process.send_signal(signal.SIGCONT)
    trace = daemon.stop()
    parent, child = sorted((p for p in trace.processes() if p["exe"].endswith("/fork_at")), key=lambda p: p["start"])
    assert child["dropped"] == 0 < parent["dropped"] == parent["dropped_by_cause"]["ring_full"]
    own = numbers(trace, child)
    assert 1000 < len(own) and own == list(range(40000 - len(own), 40000))
    assert sum(c["count"] for c in trace.summary()["calls"] if c["name"] == "pwrite") == 40000 + len(own)
