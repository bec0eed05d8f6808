# SPDX-License-Identifier: MIT
"""All users together take no more of the daemon's memory than max_memory, and none can take what others are to find."""

import json
import os
import subprocess

import harness

NOBODY = 65534
MOST = 1 << 20
# Files that are held open, by names of some 300 bytes: what is known of these is memory on the user's account.
MANY, SOME = 1040, 350
HOLDS = """
import os, resource, sys
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
for i in range(int(sys.argv[1])):
    os.read(os.open(f"f{i}", os.O_RDONLY | os.O_CREAT), 1)
print("all", flush=True)
sys.stdin.read()
"""


def status(daemon):
    done = harness.call([harness.FLOWTAP, "status", "--json", "--socket", daemon.socket])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def taken(daemon, uid):
    return next((user["memory_bytes"] for user in status(daemon)["users"] if user["uid"] == uid), 0)


def hold(tap, daemon, uid, count):
    """A program of that user that holds so many files, all of it read by the daemon."""
    folder = tap.work / ("n" * 250) / str(uid)
    folder.mkdir(parents=True)
    os.chown(folder, uid, uid)
    events = status(daemon)["counters"]["events"]
    program = subprocess.Popen(["/usr/bin/python3", "-S", "-c", HOLDS, str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               user=uid, group=uid, extra_groups=[], cwd=folder, env=daemon.env(FLOWTAP_JOB=f"of-{uid}"))
    tap.cleanup.append(lambda: harness.end_child(program))
    assert program.stdout.read(4) == b"all\n"

    def is_stored():
        now = status(daemon)
        return now["counters"]["events"] >= events + 2 * count and not now["gauges"]["events_waiting"] | now["gauges"]["jobs_busy"]
    harness.wait_until("all of it in the file", is_stored)
    return program


def test_no_user_takes_what_the_others_are_to_find(tap):
    harness.needs(os.geteuid() == 0, "changing the user needs root")
    daemon = tap.daemon(f"max_memory={MOST}", f"max_user_memory={MOST}", "block_age=50ms")
    for path in (tap.folder, tap.work, daemon.folder):
        os.chmod(path, 0o755)
    users = {"first": NOBODY, "greedy": NOBODY - 1, "modest": NOBODY - 2}
    programs = {who: hold(tap, daemon, uid, SOME if who == "modest" else MANY) for who, uid in users.items()}
    gauges = status(daemon)["gauges"]
    assert gauges["max_taken_bytes"] == MOST and gauges["taken_bytes"] == sum(taken(daemon, uid) for uid in users.values())
    assert taken(daemon, users["first"]) > MOST / 3 > taken(daemon, users["greedy"])
    assert taken(daemon, users["modest"]) > 0
    for program in programs.values():
        program.communicate(timeout=harness.DEADLINE_S)
        assert program.returncode == 0
    harness.wait_until("all given back", lambda: status(daemon)["gauges"]["taken_bytes"] == 0)
    trace = daemon.stop()
    processes = {who: trace.one_process(pid=programs[who].pid) for who in users}
    assert {who: p["names_lost"] > 0 for who, p in processes.items()} == {"first": False, "greedy": True, "modest": False}
    assert all(p["dropped"] == 0 and p["events"] == p["stored"] for p in processes.values())
