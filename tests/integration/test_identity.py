# SPDX-License-Identifier: MIT
"""Job, step and rank of a process, and how they are known: cgroup, environment, login session."""

import fcntl
import os
import signal
import struct
import subprocess
import sys

import cgroups
import harness

SLURM = {"SLURM_JOB_ID": "4711", "SLURM_STEP_ID": "2", "SLURM_PROCID": "3", "SLURM_LOCALID": "1"}
CHILD = "import multiprocessing as m; m.set_start_method('fork'); p = m.Process(target=print); p.start(); p.join()"


def identity(process):
    return tuple(process[key] for key in ("job", "job_source", "step", "step_source", "rank", "rank_source", "local_rank"))


def test_what_the_environment_claims_holds_for_the_tree(tap):
    daemon = tap.daemon()
    assert daemon.call([sys.executable, "-c", CHILD], env=SLURM).returncode == 0
    # A child that cleans its environment is still of its parent's job.
    assert daemon.call(["env", "-u", "SLURM_JOB_ID", "-u", "SLURM_STEP_ID", "-u", "SLURM_PROCID", "-u", "SLURM_LOCALID",
                        "true"], env=SLURM).returncode == 0
    trace = daemon.stop()
    processes = trace.processes()
    assert len(processes) == 4
    for process in processes:
        assert identity(process) == ("4711", "environment", "2", "environment", 3, "environment", 1), process
    assert [folder.name for folder in (daemon.spool / str(os.getuid())).iterdir()] == ["4711"]
    text = harness.read_command("processes", daemon.spool).stdout.decode()
    assert "4711.2 by environment" in text and "3 (1) by environment" in text, text


def test_jobs_at_once_stay_apart(tap):
    daemon = tap.daemon()
    for job in ("7", "8"):
        assert daemon.call(["true"], env={"PBS_JOBID": f"{job}.server", "PMI_RANK": job}).returncode == 0
    assert daemon.call(["true"]).returncode == 0
    processes = daemon.stop().processes()
    known = {p["job"]: p for p in processes}
    assert set(known) >= {"7.server", "8.server"} and len(known) == 3
    assert known["7.server"]["rank"] == 7 and known["8.server"]["rank"] == 8
    session = next(p for job, p in known.items() if not job.endswith(".server"))
    assert session["job_source"] == "session" and session["rank"] is None and session["rank_source"] is None


def test_the_cgroup_goes_before_the_environment(tap):
    group = cgroups.Group(tap, f"slurm_flowtap/uid_0/job_{os.getpid()}/step_5/task_6")
    daemon = tap.daemon()
    # Alive until it is admitted: of one that has ended the cgroup is another test's matter.
    reader, writer = os.pipe()
    held = subprocess.Popen(["cat"], stdin=reader, stdout=subprocess.DEVNULL, env=daemon.env(SLURM_JOB_ID="1"),
                            preexec_fn=group.enter)
    os.close(reader)
    tap.cleanup.append(lambda: harness.end_child(held))
    folder = daemon.spool / str(os.getuid()) / str(os.getpid())
    harness.wait_until("the job's file", folder.exists)
    os.close(writer)
    held.wait()
    processes = daemon.stop().processes()
    assert [identity(p) for p in processes] == [(str(os.getpid()), "cgroup", "5", "cgroup", 6, "cgroup", None)]


def kernel_tells_cgroup_of_ended():
    """PIDFD_GET_INFO of a zombie tells its cgroup."""
    child = subprocess.Popen(["true"])
    try:
        fd = os.pidfd_open(child.pid)
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        info = bytearray(struct.pack("QQ48x", 1 << 2 | 1 << 3, 0))
        fcntl.ioctl(fd, 0xC040FF0B, info)
        os.close(fd)
        return struct.unpack_from("Q", info)[0] & 1 << 2
    except OSError:
        return False
    finally:
        child.wait()


def test_of_one_that_has_ended_the_kernel_still_tells(tap):
    harness.needs(kernel_tells_cgroup_of_ended(), "the kernel does not tell the cgroup of a process that has ended (before 6.13)")
    group = cgroups.Group(tap, f"slurm_flowtap/uid_0/job_{os.getpid()}/step_5")
    daemon = tap.daemon()
    daemon.process.send_signal(signal.SIGSTOP)
    ended = subprocess.Popen(["true"], env=daemon.env(SLURM_JOB_ID="1"), preexec_fn=group.enter)
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    daemon.process.send_signal(signal.SIGCONT)
    trace = daemon.stop()
    ended.wait()
    assert [identity(p)[:4] for p in trace.processes()] == [(str(os.getpid()), "cgroup", "5", "cgroup")]


RUNS_ANOTHER = "import subprocess; open('began', 'w').close(); input(); subprocess.run(['true'], check=True)"


def test_of_one_that_has_ended_the_session_is_its_parents(tap):
    """Its cgroup, which names no job, is all that the kernel still tells; short programs of a script made a job of their own."""
    daemon = tap.daemon()
    parent = subprocess.Popen([sys.executable, "-c", RUNS_ANOTHER], stdin=subprocess.PIPE, env=daemon.env(), cwd=tap.work)
    tap.cleanup.append(lambda: harness.end_child(parent))
    harness.wait_until("the parent's file", lambda: list(daemon.spool.rglob("*.flow")))
    harness.wait_until("the parent's start", (tap.work / "began").exists)
    daemon.process.send_signal(signal.SIGSTOP)
    parent.communicate(b"\n")
    daemon.process.send_signal(signal.SIGCONT)
    processes = daemon.stop().processes()
    assert len(processes) >= 2 and {p["job_source"] for p in processes} == {"session"}
    assert len({p["job"] for p in processes}) == 1, [(p["exe"], p["job"]) for p in processes]


def test_a_false_claim_of_a_cgroup_is_a_claim(tap):
    """A cgroup that a process names and is not in is not the kernel's word."""
    harness.needs(os.geteuid() == 0, "a mount namespace needs root")
    daemon = tap.daemon()
    false = tap.work / "cgroup"
    false.write_text("0::/system.slice/slurmstepd.scope/job_99/step_0/user/task_0\n")
    daemon.process.send_signal(signal.SIGSTOP)
    done = harness.call(["unshare", "-m", "sh", "-c", f"mount --bind {false} /proc/$$/cgroup && exec env FLOWTAP=1 "
                         f"LD_PRELOAD={harness.PRELOAD} FLOWTAP_SOCKET={daemon.socket} true"])
    harness.needs(done.returncode == 0, f"no mounts over /proc here: {done.stderr.decode().strip()}")
    daemon.process.send_signal(signal.SIGCONT)
    processes = daemon.stop().processes()
    assert [identity(p)[:2] for p in processes] == [("99", "environment")]
