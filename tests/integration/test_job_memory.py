# SPDX-License-Identifier: MIT
"""What open jobs take of the daemon's memory has a bound, however many a user makes up and whatever is in them.

What it had for those that are over goes back to the system.
"""

import json
import subprocess

import harness
import pytest

JOBS = 60
RESTING = 96 << 10  # flowtapd(8): "some 60 KiB"
NAMES = 3000  # of 200 bytes: more than the least part that a job has
PROCESSES = 2000
GIVEN_BACK = 16 << 20  # what is less is not looked for; it begins with less than 1 MiB
# Children that wait for the end of the input, each with some names of its own.
BURST = f"""
exec 3<&0
i=0
while [ $i -lt {PROCESSES} ]; do
    {{ for name in a b c d e f; do [ -e /none/$i/$name ]; done; read line <&3; }} &
    i=$((i+1))
done
wait
"""


def memory(daemon, name="RssAnon"):
    with open(f"/proc/{daemon.process.pid}/status") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith(name))


def gauges(daemon):
    done = harness.call([harness.FLOWTAP, "status", "--json", "--socket", daemon.socket])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["gauges"]


def make_jobs(daemon, numbers):
    """Each with some events, and at rest afterwards: all that it had is in its file."""
    for i in numbers:
        assert daemon.call(["ls", "/etc"], env={"FLOWTAP_JOB": f"job{i}"}).returncode == 0
    harness.wait_until("the jobs to rest", lambda: gauges(daemon)["processes"] == 0 and gauges(daemon)["jobs"] == numbers[-1] + 1)


@pytest.mark.parametrize("limit", ["max_user_jobs_memory", "max_jobs_memory"])
def test_a_job_that_rests_takes_little_where_there_are_many(tap, limit):
    daemon = tap.daemon("job_linger=1h", f"{limit}=1M")
    make_jobs(daemon, range(20))
    before = memory(daemon)
    make_jobs(daemon, range(20, 20 + JOBS))
    assert (memory(daemon) - before) / JOBS < RESTING
    trace = daemon.stop()
    assert len(trace.flow_files()) == 20 + JOBS


@pytest.mark.parametrize("limit", ["max_user_jobs_memory", "max_jobs_memory"])
def test_names_of_many_jobs_are_followed_by_the_next_file(tap, limit):
    """Nothing of it is lost: each name that was opened has its event, and the accounts balance."""
    daemon = tap.daemon("job_linger=1h", f"{limit}=1M")
    script = f"i=0; while [ $i -lt {NAMES} ]; do : > {'n' * 180}$RUN-$i; i=$((i+1)); done"
    runs = 0

    def has_next_file():
        nonlocal runs
        env = {"FLOWTAP_JOB": "long", "RUN": f"{runs:04}"}
        assert daemon.call(["sh", "-c", script], env=env, cwd=tap.work).returncode == 0
        runs += 1
        return len(list(daemon.spool.rglob("*.flow"))) > 20 + 1

    make_jobs(daemon, range(20))
    harness.wait_until("the next file", has_next_file)
    trace = daemon.stop()
    opened = sum(e["name"].startswith("open") and "n" * 180 in (e["path"] or "") for e in trace.events())
    assert opened == runs * NAMES


def test_memory_of_a_burst_of_processes_is_given_back(tap):
    daemon = tap.daemon("session_linger=0s")
    program = subprocess.Popen(["sh", "-c", BURST], stdin=subprocess.PIPE, env=daemon.env(), start_new_session=True)
    tap.cleanup.append(lambda: harness.end_group(program))
    harness.wait_until("all to be attached", lambda: gauges(daemon)["processes"] > PROCESSES)
    program.stdin.close()
    assert program.wait(harness.DEADLINE_S) == 0
    harness.wait_until("all to be over", lambda: gauges(daemon)["jobs"] == 0)
    assert memory(daemon, "VmHWM") > 3 * GIVEN_BACK, "too few processes to tell"
    harness.wait_until("the memory given back", lambda: memory(daemon) < GIVEN_BACK)
