# SPDX-License-Identifier: MIT
"""Jobs of a real Slurm, with cgroups and without: `--flowtap` of srun and sbatch, who is what, and traces that are whole."""

import collections
import json
import os
import pwd
import re
import signal

import pytest

import harness
import slurm
from test_jobs import states
from traced import Trace

PYTHON = "/usr/bin/python3"
RANKS = 4

# A pool of two workers, each of which reads a file of its own.
POOL = """
import multiprocessing, os, sys
def work(n):
    with open('/proc/self/status') as f:
        return len(f.read()) > 0
if __name__ == '__main__':
    multiprocessing.set_start_method('fork')
    children = [multiprocessing.Process(target=work, args=(n,)) for n in range(2)]
    [c.start() for c in children]
    [c.join() for c in children]
    sys.exit(sum(c.exitcode for c in children))
"""

# Runs at the same time as the other: each waits for the other's file.
MEET = """
import os, sys, time
mine, other = sys.argv[1:]
open(mine, 'w').close()
end = time.monotonic() + 60
while not os.path.exists(other):
    assert time.monotonic() < end, 'the other did not come'
    time.sleep(0.02)
"""

# Does not end when it is told to.
STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o600)
while True:
    os.write(fd, b'x')
    time.sleep(0.002)
"""


class Limited:
    """A job with a time limit: of minutes, so it runs beside all the other tests, with a daemon of its own."""

    def __init__(self, cluster, tap):
        self.daemon = serving(tap, cluster)
        self.written = cluster.shared / f"limited-{cluster.has_cgroups}"
        self.srun = cluster.launch("srun", "--flowtap", "--time=1", PYTHON, "-c", STUBBORN, self.written)
        tap.cleanup.append(lambda: harness.end_child(self.srun))
        harness.wait_until("it to write", lambda: self.written.exists() and self.written.stat().st_size > 200)
        (self.job,) = cluster.jobs()
        cluster.beside = self.job


@pytest.fixture(scope="module", params=["no cgroups", "cgroups"])
def cluster(request):
    one, tap, failed = slurm.Slurm(request.param == "cgroups"), harness.Tap(), request.session.testsfailed
    try:
        one.start()
        one.limited = Limited(one, tap)
        yield one
    finally:
        one.stop()
        tap.finish(keep=request.session.testsfailed > failed)


def serving(tap, cluster):
    """A flowtapd that any user's tasks reach; the plugin is told where."""
    one = tap.daemon("job_linger=1s")
    for path in (tap.folder, one.folder):
        os.chmod(path, 0o755)
    cluster.plugstack(f"socket={one.socket}")
    return one


@pytest.fixture
def daemon(tap, cluster):
    return serving(tap, cluster)


def ran(done):
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done


def spool_of(daemon, user="root"):
    return daemon.spool / str(pwd.getpwnam(user).pw_uid)


def final_trace(daemon, processes, user="root"):
    """The one job of that user, when it has ended, with so many processes at least: while the daemon goes on."""
    def is_final():
        folders = list(spool_of(daemon, user).glob("*"))
        if not folders or not list(folders[0].glob("*.flow")):
            return False
        files = json.loads(harness.read_command("info", "--json", folders[0]).stdout or b'{"files": []}')["files"]
        return files and all(one["closed"] for one in files) and sum(one["processes"] for one in files) >= processes
    harness.wait_until("the job's trace to be final", is_final)
    assert daemon.process.poll() is None
    folders = list(spool_of(daemon, user).iterdir())
    assert len(folders) == 1, folders
    trace = Trace(folders[0], harness.read_command)
    trace.check_accounting()
    return trace


def source(cluster):
    return "cgroup" if cluster.has_cgroups else "environment"


def test_a_job_is_one_and_its_processes_know_their_rank(cluster, daemon, tap):
    done = ran(cluster.call("srun", "--flowtap", f"-n{RANKS}", "sh", "-c", f"echo $SLURM_JOB_ID; exec {PYTHON} -c \"$0\"", POOL))
    job = done.stdout.split()[0].decode()
    trace = final_trace(daemon, 4 * RANKS)
    processes = trace.processes()
    assert trace.path.name == job and trace.gaps() == []
    ranks = collections.Counter((p["rank"], p["local_rank"]) for p in processes)
    # Of each rank: the shell, what it executed, two workers.
    assert ranks == {(rank, rank): 4 for rank in range(RANKS)}
    for p in processes:
        assert (p["job"], p["job_source"], p["step"], p["step_source"]) == (job, source(cluster), "0", source(cluster)), p
        assert p["rank_source"] == p["local_rank_source"] == "environment" and p["exit"]["source"] != "none"
    harness.wait_until("the job to be listed as finished", lambda: states(daemon) == {job: "finished"})
    ran(harness.call([harness.FLOWTAP, "fetch", "--socket", daemon.socket, job, "-o", tap.folder / "copy"]))
    assert Trace(tap.folder / "copy", harness.read_command).processes() == processes
    text = harness.read_command("processes", trace.path).stdout.decode()
    assert f"{job}.0 by {source(cluster)}" in text and "3 (3) by environment" in text


def test_jobs_of_two_users_at_once_stay_apart(cluster, daemon):
    users, running = ("nobody", "daemon"), []
    files = [cluster.shared / f"{user}-{os.getpid()}-{cluster.has_cgroups}" for user in users]
    for i, user in enumerate(users):
        entry = pwd.getpwnam(user)
        running.append(cluster.launch("srun", "--flowtap", PYTHON, "-c", MEET, files[i], files[1 - i], user=entry.pw_uid,
                                      group=entry.pw_gid, extra_groups=[]))
    for one in running:
        ran(harness.finish(one, one.args, deadline=120))
    jobs = set()
    for i, user in enumerate(users):
        trace = final_trace(daemon, 1, user)
        jobs.add(trace.path.name)
        assert {p["uid"] for p in trace.processes()} == {pwd.getpwnam(user).pw_uid}
        assert {p["job"] for p in trace.processes()} == {trace.path.name}
        assert trace.file(files[i])["opens"] == 1 and trace.gaps() == []
    assert len(jobs) == 2
    assert {path.name for path in daemon.spool.iterdir()} == {str(pwd.getpwnam(user).pw_uid) for user in users}


def check_killed(daemon, written, job):
    """Told by SIGTERM, which it ignores, then by SIGKILL."""
    trace = final_trace(daemon, 1)
    process = trace.processes()[-1]
    assert process["exit"]["signal"] == signal.SIGKILL and process["job"] == job.decode()
    # Each write that it made, but for one that the kill may have caught between its return and its record.
    size = written.stat().st_size
    assert size - trace.file(written)["written_bytes"] in (0, 1) and process["dropped"] <= 1
    assert harness.read_command("verify", trace.path).returncode == 0


def test_a_job_that_is_cancelled_is_whole(cluster, daemon):
    written = cluster.shared / f"written-{cluster.has_cgroups}"
    one = cluster.launch("srun", "--flowtap", PYTHON, "-c", STUBBORN, written)
    harness.wait_until("it to write", lambda: written.exists() and written.stat().st_size > 200)
    jobs = cluster.jobs()
    assert len(jobs) == 1
    ran(cluster.call("scancel", jobs[0].decode()))
    harness.finish(one, one.args, deadline=120)
    check_killed(daemon, written, jobs[0])


def test_a_batch_script_and_its_steps_are_one_job(cluster, daemon):
    script = cluster.shared / f"script-{cluster.has_cgroups}"
    script.write_text("#!/bin/sh\nsrun -n2 true\n")
    out = cluster.shared / f"out-{cluster.has_cgroups}"
    done = cluster.call("sbatch", "--flowtap", "-n2", "-W", "-o", out, script)
    assert done.returncode == 0, (done.stderr, out.read_text())
    job = re.search(rb"job (\d+)", done.stdout)[1].decode()
    trace = final_trace(daemon, 5)
    assert trace.path.name == job
    steps = collections.Counter(p["step"] for p in trace.processes() if p["exe"].endswith("true"))
    assert steps == {"0": 2}, out.read_text()
    batch = {p["step"] for p in trace.processes() if not p["exe"].endswith("true")}
    assert batch == {"batch" if cluster.has_cgroups else None}


@pytest.mark.parametrize("cluster", ["no cgroups"], indirect=True)
def test_what_a_job_asks_for_is_what_its_tasks_get(cluster, daemon):
    library, other = cluster.library, "/lib/x86_64-linux-gnu/libutil.so.1"
    harness.needs(os.path.exists(other), f"{other} is not there")
    show = ("sh", "-c", 'echo "$FLOWTAP $FLOWTAP_MODE $LD_PRELOAD"')

    def said(*words, **env):
        return ran(cluster.call("srun", *words, *show, env=env)).stdout.decode().rstrip("\n")
    socket = f"socket={daemon.socket}"
    assert said() == "  "
    assert said("--flowtap") == said("--flowtap=trace") == f"1 trace {library}"
    assert said("--flowtap=profile") == f"1 profile {library}"
    assert said("--flowtap", LD_PRELOAD=other) == f"1 trace {library}:{other}"
    assert said("--flowtap", LD_PRELOAD=f"{other} {library}") == f"1 trace {other} {library}"
    assert said("--flowtap=off", FLOWTAP="1") == "0  "
    assert said(FLOWTAP="1") == "1  "
    cluster.plugstack(f"default=profile {socket}")
    assert said() == f"1 profile {library}" and said("--flowtap=off") == "  "
    cluster.plugstack(f"default=trace library=/nowhere.so {socket}")
    assert said() == "1 trace /nowhere.so"
    cluster.plugstack(f"default=trace forbid {socket}")
    assert said() == "  " and said(FLOWTAP="1") == "0  "


@pytest.mark.parametrize("cluster", ["no cgroups"], indirect=True)
@pytest.mark.parametrize("words,arguments,says", [
    (["--flowtap=some"], "", b"none of trace, profile, off"),
    (["--flowtap"], "forbid", b"does not allow it"),
])
def test_what_cannot_be_asked_for_is_an_error_at_once(cluster, daemon, words, arguments, says):
    cluster.plugstack(arguments)
    done = cluster.call("srun", *words, "true")
    assert done.returncode != 0 and says in done.stderr, done.stderr
    assert not cluster.jobs()


@pytest.mark.parametrize("cluster", ["no cgroups"], indirect=True)
def test_a_task_prolog_does_without_the_plugin(cluster, daemon):
    (cluster.folder / "plugstack.conf").write_text("")
    prolog = f"--task-prolog={cluster.folder}/lib/slurm/{slurm.PROLOG.name}"
    env = {"FLOWTAP_SOCKET": daemon.socket, "FLOWTAP_LIBRARY": cluster.library}
    ran(cluster.call("srun", prolog, "true", env=env))
    ran(cluster.call("srun", prolog, "-n2", PYTHON, "-c", "", env={**env, "FLOWTAP": "1"}))
    trace = final_trace(daemon, 2)
    assert sorted(p["rank"] for p in trace.processes()) == [0, 1]


def test_a_job_at_its_time_limit_is_whole(cluster):
    """The last one: it was started before all others. Slurm looks at limits each 30 s."""
    limited = cluster.limited
    done = harness.finish(limited.srun, limited.srun.args, deadline=240)
    assert b"DUE TO TIME LIMIT" in done.stderr, done.stderr
    check_killed(limited.daemon, limited.written, limited.job)
    limited.daemon.stop()
