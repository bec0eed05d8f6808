# SPDX-License-Identifier: MIT
"""`flowtap jobs`: which jobs run and have run, whose they are, what they have stored."""

import grp
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import time

import pytest

import harness

NOBODY = 65534


def jobs(daemon, **options):
    options.setdefault("cwd", "/")
    done = harness.call([harness.FLOWTAP, "jobs", "--json", "--socket", daemon.socket], **options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["jobs"]


def states(daemon, **options):
    return {job["job"]: job["state"] for job in jobs(daemon, **options)}


def open_to_all(tap, daemon):
    for path in (tap.folder, daemon.folder):
        os.chmod(path, 0o755)


def test_a_job_is_listed_while_it_runs_and_after(tap):
    daemon = tap.daemon("job_linger=100ms")
    assert jobs(daemon) == []
    begin = time.time()
    reader, writer = os.pipe()
    held = subprocess.Popen(["cat"], stdin=reader, stdout=subprocess.DEVNULL, env=daemon.env(SLURM_JOB_ID="8"))
    tap.cleanup.append(lambda: harness.end_child(held))
    os.close(reader)
    harness.wait_until("the job to run", lambda: states(daemon) == {"8": "running"})
    assert daemon.call([harness.program("hammer"), 2, 500], env={"SLURM_JOB_ID": "a b/c"}).returncode == 0
    harness.wait_until("the other job to end", lambda: states(daemon) == {"8": "running", "a b/c": "finished"})
    running, finished = jobs(daemon)
    assert (running["job"], finished["job"]) == ("8", "a b/c")
    assert finished["events"] == 2 * 502 and finished["files"] == 1 and finished["uid"] == os.getuid()
    (folder,) = (daemon.spool / str(os.getuid())).glob("a_b_c-*")
    assert finished["bytes"] == sum(p.stat().st_size for p in folder.iterdir())
    assert begin - 1 <= finished["start"] <= finished["last_written"] + 1 <= time.time() + 2
    text = harness.call([harness.FLOWTAP, "jobs", "--socket", daemon.socket]).stdout.decode()
    assert "a b/c" in text and "finished" in text and "1,004" in text
    os.close(writer)
    held.wait()
    harness.wait_until("all to end", lambda: set(states(daemon).values()) == {"finished"})
    daemon.stop()


def test_events_of_a_running_job_are_those_of_all_its_files(tap):
    daemon = tap.daemon("block_age=50ms", "rotate_size=1M")
    names = "import os; [os.access('/' + os.urandom(100).hex(), 0) for i in range(3000)]"
    reader, writer = os.pipe()
    held = subprocess.Popen(["cat"], stdin=reader, stdout=subprocess.DEVNULL, env=daemon.env(SLURM_JOB_ID="8"))
    tap.cleanup.append(lambda: harness.end_child(held))
    os.close(reader)
    runs = 0
    while runs < 100 and len(list(daemon.spool.rglob("*.flow"))) < 2:
        assert daemon.call(["/usr/bin/python3", "-c", names], env={"SLURM_JOB_ID": "8"}).returncode == 0
        runs += 1
    harness.wait_until("all its events", lambda: jobs(daemon)[0]["events"] >= 3000 * runs)
    assert jobs(daemon)[0]["state"] == "running" and jobs(daemon)[0]["files"] >= 2
    told = jobs(daemon)[0]["events"]
    os.close(writer)
    held.wait()
    assert daemon.stop().summary()["stored"] >= told


def test_what_a_killed_daemon_left_is_unclosed(tap):
    daemon = tap.daemon("job_linger=1h")
    assert daemon.call([harness.program("hammer"), 1, 500], env={"SLURM_JOB_ID": "8"}).returncode == 0
    harness.wait_until("its events", lambda: (jobs(daemon) or [{"events": 0}])[0]["events"] == 502)
    daemon.kill()
    daemon.settings = ["job_linger=0s"]
    daemon.start()
    harness.wait_until("it to be known as such", lambda: states(daemon) == {"8": "unclosed"})
    assert [jobs(daemon)[0]["events"] for _ in range(2)] == [502] * 2  # as its blocks say
    assert daemon.call([harness.program("hammer"), 1, 500], env={"SLURM_JOB_ID": "8"}).returncode == 0
    harness.wait_until("both to be counted", lambda: jobs(daemon)[0]["events"] == 1004)
    daemon.stop()


def test_each_user_sees_its_own_and_the_admin_group_all(tap):
    harness.needs(os.geteuid() == 0, "changing the user needs root")
    daemon = tap.daemon("job_linger=100ms", "admin_group=daemon")
    open_to_all(tap, daemon)
    admins = grp.getgrnam("daemon").gr_gid
    assert daemon.call(["true"], env={"SLURM_JOB_ID": "7"}).returncode == 0
    assert daemon.call(["true"], env={"SLURM_JOB_ID": "8"}, cwd="/", user=NOBODY, group=NOBODY,
                       extra_groups=[]).returncode == 0
    harness.wait_until("both", lambda: states(daemon) == {"7": "finished", "8": "finished"})
    assert set(states(daemon, user=NOBODY, group=NOBODY, extra_groups=[])) == {"8"}
    assert states(daemon, user=NOBODY - 1, group=NOBODY, extra_groups=[]) == {}
    assert set(states(daemon, user=NOBODY - 1, group=NOBODY, extra_groups=[admins])) == {"7", "8"}
    assert set(states(daemon, user=NOBODY - 1, group=admins, extra_groups=[])) == {"7", "8"}
    daemon.stop()


def test_many_questions_at_once_harm_nobody(tap):
    """More than are answered at a time, by askers that go away or never read."""
    daemon = tap.daemon("job_linger=100ms")
    held = []
    for i in range(200):
        one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        one.connect(str(daemon.socket))
        one.send(struct.pack("<IIIIQII", 0x31417446, 4 + i % 2, harness_abi(), 0, i, i, i))
        (held.append if i % 3 else socket.socket.close)(one)
    assert daemon.call(["true"], env={"SLURM_JOB_ID": "7"}).returncode == 0
    harness.wait_until("the job", lambda: states_or_none(daemon) == {"7": "finished"})
    for one in held:
        one.close()
    daemon.stop()


def ask(daemon, uid, kind):
    """One connection of a user's, with a question that waits in it."""
    one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    one.settimeout(harness.DEADLINE_S)
    os.seteuid(uid)  # who asks is who connects
    try:
        one.connect(str(daemon.socket))
    finally:
        os.seteuid(0)
    one.send(struct.pack("<IIIIQII", 0x31417446, kind, harness_abi(), 0, 0, 0, 0))
    return one


def is_answered(one):
    with one:
        reply = one.recv(1 << 16)
        return bool(reply) and not reply.startswith(b"FtN1")  # control.h: a refusal


def counters(daemon):
    done = harness.call([harness.FLOWTAP, "status", "--json", "--socket", daemon.socket])
    return json.loads(done.stdout)["counters"]


def test_who_asks_and_asks_leaves_others_their_answers(tap):
    """All wait when the daemon goes on: a user has its share of what is answered at a time, and others have theirs."""
    harness.needs(os.geteuid() == 0, "changing the user needs root")
    daemon = tap.daemon("max_questions_per_user=3")
    open_to_all(tap, daemon)
    os.kill(daemon.process.pid, signal.SIGSTOP)
    greedy = [ask(daemon, NOBODY, kind) for kind in (4, 6) * 10]
    others = [ask(daemon, NOBODY - 1, kind) for kind in (4, 6, 2, 3)]
    greedy += [ask(daemon, NOBODY, 4)]
    os.kill(daemon.process.pid, signal.SIGCONT)
    assert [is_answered(one) for one in others] == [True] * 4
    assert [is_answered(one) for one in greedy] == [True] * 3 + [False] * 18
    assert counters(daemon)["not_answered"] == 18
    assert harness.call([harness.FLOWTAP, "top", "--json", "-n", "1", "--socket", daemon.socket]).returncode == 0
    assert jobs(daemon, user=NOBODY, group=NOBODY, extra_groups=[]) == []  # its turn comes again
    daemon.stop(check="no trace")


def test_an_answer_not_read_yet_is_not_emptied_by_who_asks_and_asks(tap):
    """What the daemon keeps of answers is limited: who has most of it loses it first."""
    harness.needs(os.geteuid() == 0, "changing the user needs root")
    daemon = tap.daemon("job_linger=100ms")
    open_to_all(tap, daemon)
    assert daemon.call(["true"], env={"SLURM_JOB_ID": "7"}, cwd="/", user=NOBODY - 1, group=NOBODY,
                       extra_groups=[]).returncode == 0
    harness.wait_until("the job", lambda: states(daemon) == {"7": "finished"})
    _, (memory,), _, _ = socket.recv_fds(ask(daemon, NOBODY - 1, 4), 64, 1)
    size = os.fstat(memory).st_size
    assert size > 0
    kept = [socket.recv_fds(ask(daemon, NOBODY, 4), 64, 1)[1][0] for _ in range(100)]
    assert os.fstat(memory).st_size == size
    assert os.fstat(kept[0]).st_size == 0 < os.fstat(kept[-1]).st_size
    for fd in (memory, *kept):
        os.close(fd)
    daemon.stop()


def states_or_none(daemon):
    done = harness.call([harness.FLOWTAP, "jobs", "--json", "--socket", daemon.socket])
    return {j["job"]: j["state"] for j in json.loads(done.stdout)["jobs"]} if done.returncode == 0 else None


def harness_abi():
    text = (harness.REPO / "proto/ring.h").read_text()
    return int(next(line for line in text.splitlines() if "FT_RING_ABI_MAJOR" in line and "define" in line).split()[2].rstrip("uU"))


def test_unclosed_files_are_read_once_however_many(tap):
    """Each in a folder of its own; what the daemon has read by then (/proc/PID/io) tells."""
    daemon = tap.daemon("job_linger=1h")
    assert daemon.call([harness.program("hammer"), 1, 500], env={"SLURM_JOB_ID": "8"}).returncode == 0
    harness.wait_until("its events", lambda: (jobs(daemon) or [{"events": 0}])[0]["events"] == 502)
    daemon.kill()
    (file,) = daemon.spool.rglob("*.flow")
    content = file.read_bytes() + bytes(1 << 16)  # a hole at the end, which has to be looked through
    for i in range(600):
        folder = file.parent.parent / f"more{i}"
        folder.mkdir()
        (folder / file.name).write_bytes(content)
    daemon.settings = ["job_linger=0s"]
    daemon.start()
    harness.wait_until("the daemon to answer", lambda: states_or_none(daemon))

    def bytes_read():
        return int(pathlib.Path(f"/proc/{daemon.process.pid}/io").read_text().split()[1])

    assert sum(job["events"] for job in jobs(daemon)) == 601 * 502
    before = bytes_read()
    assert sum(job["events"] for job in jobs(daemon)) == 601 * 502
    assert bytes_read() - before < 600 * (1 << 15)
    daemon.stop(check="copies")


def test_one_user_does_not_take_the_jobs_of_all(tap):
    """Names of jobs cost nothing: who makes up too many has those beyond as gaps, and others have theirs."""
    harness.needs(os.geteuid() == 0, "changing the user needs root")
    daemon = tap.daemon("max_jobs=6", "max_jobs_per_user=3", "job_linger=1h")
    open_to_all(tap, daemon)

    def run(uid, job):
        assert daemon.call(["true"], env={"FLOWTAP_JOB": job}, cwd="/", user=uid, group=NOBODY, extra_groups=[]).returncode == 0

    for i in range(8):
        run(NOBODY, f"greedy{i}")
    run(NOBODY - 1, "mine")
    harness.wait_until("all to be seen", lambda: counters(daemon)["attached"] + counters(daemon)["refused_limit"] == 9)
    assert (counters(daemon)["attached"], counters(daemon)["refused_limit"]) == (4, 5)
    trace = daemon.stop()
    assert sum(gap["count"] for gap in trace.gaps("not_admitted")) == 5
    assert sorted(job["job"] for job in trace.summary()["jobs"]) == ["greedy0", "greedy1", "greedy2", "mine"]


def test_jobs_whose_names_look_alike_are_told_apart(tap):
    """No byte of a name leads out of the user's folder, and none makes one job of two."""
    daemon = tap.daemon("job_linger=0s")
    names = ["a_b", "a/b", "a b", "a\nb", "..", ".", " ", "-rf", ".removed-1", "/etc", "%s%n", "x" * 120 + "/", "x" * 120 + " ", "\u00e9"]
    for name in names:
        assert daemon.call(["true"], env={"FLOWTAP_JOB": name}).returncode == 0
    harness.wait_until("all of them", lambda: states(daemon) == dict.fromkeys(names, "finished"))
    assert {job["files"] for job in jobs(daemon)} == {1}
    assert [p.name for p in daemon.spool.iterdir()] == [str(os.getuid())]
    out = tap.folder / "out"
    for name in names:
        done = harness.call([harness.FLOWTAP, "fetch", "--socket", daemon.socket, "-o", out, "--", name])
        assert done.returncode == 0, (name, done.stderr)
        told = json.loads(harness.read_command("summary", "--json", out).stdout)["jobs"]
        assert [job["job"] for job in told] == [name]
        shutil.rmtree(out)
    daemon.stop()
