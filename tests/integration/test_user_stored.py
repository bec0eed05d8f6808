# SPDX-License-Identifier: MIT
"""max_user_stored: a user who fills the spool gets sums, then totals alone, until there is room again; nobody else notices."""

import os
import shutil

import pytest

import harness
from test_profile import jobs

NOBODY = 65534
CALLS = 500
MOST = 1_000_000
NAMES = 3000
# Names that no compression makes small: 64 random bytes each, so six times as many take more than MOST.
OPENER = """
import os, sys
for _ in range(int(sys.argv[1])):
    try:
        os.open("/nowhere/" + os.urandom(64).hex(), os.O_RDONLY)
    except FileNotFoundError:
        pass
"""


def run_as(user, daemon, job, argv):
    done = harness.call(argv, env=daemon.env(FLOWTAP_JOB=job), cwd="/tmp", user=user, group=user, extra_groups=[])
    assert done.returncode == 0, done.stderr


def open_names(daemon, job, count=NAMES, user=NOBODY):
    run_as(user, daemon, job, ["python3", "-c", OPENER, str(count)])


def bytes_of(daemon, user):
    return sum(path.stat().st_size for path in (daemon.spool / str(user)).rglob("*.flow"))


def trace_of(daemon, user, job):
    return harness.Trace(daemon.spool / str(user) / job, harness.read_command)


def opens_of(trace):
    """Of all names: counted, and stored one by one."""
    summary = trace.summary()
    assert summary["events"] == summary["stored"] + summary["dropped"]
    assert set(cause for cause, n in summary["dropped_by_cause"].items() if n) <= {"capped", "disk_full"}
    count = sum(call["count"] for call in summary["calls"] if call["name"] in ("open", "open64"))
    return count, len([e for e in trace.events() if e.get("path", "").startswith("/nowhere/")])


def start(tap, *settings):
    harness.needs(os.geteuid() == 0, "being another user needs root")
    daemon = harness.Daemon(tap, "d", [f"max_user_stored={MOST}", "block_age=20ms", "block_after_end=0s", "job_linger=0s", *settings])
    for path in (tap.folder, tap.work):
        os.chmod(path, 0o755)
    daemon.start()
    for path in (daemon.folder, daemon.spool):
        os.chmod(path, 0o755)
    return daemon


def wait_for_end(daemon, user, job):
    harness.wait_until(f"the end of {job}", lambda: [j for j in jobs(daemon) if (j["uid"], j["job"], j["state"]) == (user, job, "finished")])


def test_one_who_fills_the_spool(tap):
    daemon = start(tap)
    open_names(daemon, "first", 6 * NAMES)
    wait_for_end(daemon, NOBODY, "first")
    before = bytes_of(daemon, NOBODY)
    assert before >= MOST * 9 // 8
    for number in range(3):
        open_names(daemon, f"more-{number}")
        run_as(0, daemon, f"beside-{number}", [harness.program("hammer"), 2, CALLS])
        wait_for_end(daemon, NOBODY, f"more-{number}")
    daemon.stop()
    assert bytes_of(daemon, NOBODY) - before < 3 * 30_000, "records of processes alone"
    for number in range(3):
        more = trace_of(daemon, NOBODY, f"more-{number}")
        count, stored = opens_of(more)
        assert count >= NAMES and stored == 0 and more.summary()["stored"] == 0
        beside = trace_of(daemon, 0, f"beside-{number}").summary()
        assert beside["events"] == beside["stored"] == 2 * (CALLS + 2)
    assert daemon.log().count(f"user {NOBODY}: has all of max_user_stored") == 1 and "user 0" not in daemon.log()


@pytest.mark.parametrize("restarts", [False, True], ids=["same", "next"])
def test_what_is_removed_makes_room(tap, restarts):
    """What was there when the daemon began counts as well."""
    daemon = start(tap)
    open_names(daemon, "first", 6 * NAMES)
    wait_for_end(daemon, NOBODY, "first")
    if restarts:
        daemon.stop()
        daemon.start()

    def is_capped(job):
        open_names(daemon, job, 1)
        wait_for_end(daemon, NOBODY, job)
        return trace_of(daemon, NOBODY, job).summary()["dropped"] > 0

    numbers = iter(range(1000))
    harness.wait_until("it to be over", lambda: is_capped(f"over-{next(numbers)}"))
    shutil.rmtree(daemon.spool / str(NOBODY) / "first")
    harness.wait_until("the room to be found", lambda: not is_capped(f"after-{next(numbers)}"))
    open_names(daemon, "last", 50)
    daemon.stop()
    assert opens_of(trace_of(daemon, NOBODY, "last"))[1] == 50
