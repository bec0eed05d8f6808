# SPDX-License-Identifier: MIT
"""What is done while things end is recorded, and so is what others do until the process is gone."""

import resource
import signal
import struct
import subprocess

import pytest

import harness

AT_END = {"static": 1, "atexit": 1, "on_exit": 1, "destructor": 1}
IN_THREAD = {"thread": 1, "thread_local": 1, "key": 4}
CASES = [
    ("return", 3, {**AT_END, **IN_THREAD, "thread_local of main": 1, "library begins": 1, "library ends": 1}),
    ("quick", 3, {**IN_THREAD, "at_quick_exit": 1}),
    ("again", 5, {**AT_END, **IN_THREAD, "exits again": 1}),
    ("pthread_exit", 0, {**AT_END, **IN_THREAD, "key": 5, "after main": 50}),
]


def touched(trace, folder):
    return {p.name: trace.count(name="write", path=str(p)) for p in folder.iterdir() if p.name not in ("witness", "loop", "empty")}


@pytest.mark.parametrize("how, status, want", CASES, ids=[c[0] for c in CASES])
def test_destructors_and_handlers_of_the_end(tap, how, status, want):
    words = [how, "witness", harness.program("end_library.so")]
    plain = tap.plain([harness.program("ends"), *words])
    assert plain.returncode == status
    sizes = {p.name: p.stat().st_size for p in tap.work.iterdir() if p.name != "witness"}
    for path in tap.work.iterdir():
        path.unlink()
    trace = tap.run([harness.program("ends"), *words], status=status)
    seen = touched(trace, tap.work)
    assert {name: seen.get(name) for name in want} == want
    assert seen == sizes
    assert trace.summary()["dropped"] == 0


# how, status of waitpid's kind
LOOPS = [
    ("main returns", 3), ("exit of a thread", 3), ("_exit of a thread", 3), ("raw exit_group", 3),
    ("abort", -signal.SIGABRT), ("assert", -signal.SIGABRT), ("trap", -signal.SIGILL), ("overflow", -signal.SIGSEGV),
    ("pipe", -signal.SIGPIPE), ("bus", -signal.SIGBUS),
]


def no_core():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


@pytest.mark.parametrize("how, status", LOOPS, ids=[c[0] for c in LOOPS])
def test_threads_that_write_to_the_last(tap, how, status):
    daemon = tap.daemon()
    argv = [harness.program("ends"), how, "witness"]
    ended = subprocess.run([str(a) for a in argv], cwd=tap.work, env=daemon.env(), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           timeout=harness.DEADLINE_S, preexec_fn=no_core, check=False)
    assert ended.returncode == status
    trace = daemon.stop()
    done = sum(struct.unpack("<4Q", (tap.work / "witness").read_bytes()[:32]))
    causes = trace.summary()["dropped_by_cause"]
    assert causes["torn"] <= 5 and sum(causes.values()) == causes["torn"], causes
    written = trace.count(name="write", path=str(tap.work / "loop"))
    # of each thread one call may be done and not counted by it, or be torn
    assert done - causes["torn"] <= written <= done + 4, (written, done, causes)
    assert trace.one_process()["exit"] == ({"signal": -status} if status < 0 else {"code": status}) | {"source": trace.one_process()["exit"]["source"]}
