# SPDX-License-Identifier: MIT
"""Who wants more of the daemon than its share gets that and no more, is told in one line, and takes nothing from others."""

import json
import os
import select
import subprocess

import pytest

import harness
from test_questions import CONNECTIONS, JOBS, QUESTIONS, STATUS, Slow, ask, connect, refusal

CALLS = 500
NOBODY = 65534
MEMORY = 3 << 20
STEP = 1 << 20  # by which a ring grows


def run_beside(daemon, tap, job):
    assert daemon.call([harness.program("hammer"), 2, CALLS], env={"FLOWTAP_JOB": job}, cwd=tap.work).returncode == 0


def check(daemon, *jobs):
    """Those beside lost nothing."""
    daemon.stop()
    for job in jobs:
        summary = harness.Trace(daemon.spool / str(os.getuid()) / job, harness.read_command).summary()
        assert summary["events"] == summary["stored"] == 2 * (CALLS + 2), job


def count_of(daemon, words):
    return daemon.log().count(words)


def memory_of(daemon):
    done = harness.call([harness.FLOWTAP, "status", "--json", "--socket", daemon.socket])
    return sum(user["memory_bytes"] for user in json.loads(done.stdout)["users"] if user["uid"] == os.getuid())


def test_ring_memory_of_one_user(tap):
    """Twice: what was taken is given back."""
    daemon = tap.daemon(f"max_user_memory={MEMORY}")
    for turn in ("one", "two"):
        hog = subprocess.Popen([harness.program("hostile_segment"), "rings_without_end", daemon.socket], cwd=tap.work,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        tap.cleanup.append(lambda hog=hog: harness.end_child(hog))
        harness.wait_until("it to have all", lambda: memory_of(daemon) > MEMORY - STEP)
        harness.wait_until("it to be told", lambda: count_of(daemon, f"user {os.getuid()}: has all of max_user_memory"))
        run_beside(daemon, tap, turn)
        given, kept = map(int, hog.communicate(timeout=harness.DEADLINE_S)[0].split())
        assert given > 0 and kept <= MEMORY, (given, kept)
        harness.wait_until("it to be given back", lambda: memory_of(daemon) < STEP)
    assert count_of(daemon, "max_user_memory") == 1
    check(daemon, "one", "two")


def test_ring_memory_of_images_that_replace_each_other(tap):
    """All are kept open: what the daemon gave to one is taken out of it before another gets it."""
    daemon = tap.daemon(f"max_user_memory={MEMORY}")
    done = tap.plain([harness.program("hostile_segment"), "rings_in_turn", daemon.socket])
    given, kept = map(int, done.stdout.split())
    assert given > MEMORY >= kept > 0, (given, kept)
    daemon.stop(check="it lies about what it emitted")


def connect_as(uid, daemon):
    """The kernel keeps who one was when one connected."""
    for path in (daemon.tap.folder, daemon.folder):
        os.chmod(path, 0o755)
    os.seteuid(uid)
    try:
        return connect(daemon)
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("setting", ["max_connections", "max_connections_per_user"])
def test_connections_that_say_nothing(tap, setting):
    """The oldest of who has most have to go, and nobody else's."""
    harness.needs(os.geteuid() == 0, "being another user needs root")
    daemon = tap.daemon(f"{setting}=8")
    other = connect_as(NOBODY, daemon)
    silent = [connect(daemon) for _ in range(30)]
    room = 7 if setting == "max_connections" else 8
    assert [refusal(one) for one in silent[:-room]] == [CONNECTIONS] * (30 - room)
    assert select.select([other, *silent[-room:]], [], [], 0)[0] == []
    run_beside(daemon, tap, "beside")
    status = ask(daemon, STATUS)
    assert refusal(status) is None
    assert count_of(daemon, f"user {os.getuid()}: too many connections that say nothing") == 1
    check(daemon, "beside")


@pytest.mark.parametrize("setting", ["max_questions", "max_questions_per_user"])
def test_questions_that_are_slow(tap, setting):
    """Those that were let in are answered in the end; whoever only wants to be traced, or to know how it does, is served."""
    slow = Slow(tap, f"{setting}=4")
    run_beside(slow.daemon, tap, "before")
    slow.fail("opendir=1")
    asked = [ask(slow.daemon, JOBS) for _ in range(4)]
    harness.wait_until("all to be let in", lambda: slow.counters()["asked"] >= 4)
    for _ in range(10):
        assert refusal(ask(slow.daemon, JOBS)) == QUESTIONS
    run_beside(slow.daemon, tap, "beside")
    assert slow.counters()["not_answered"] == 10
    assert count_of(slow.daemon, f"user {os.getuid()}: too many questions at a time") == 1
    slow.fail()
    assert all(one.recv(1 << 10) for one in asked)
    check(slow.daemon, "before", "beside")
