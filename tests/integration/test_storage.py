# SPDX-License-Identifier: MIT
"""Where traces are, who may read them, how long they stay, and what is done when a job has ended."""

import grp
import json
import os
import signal
import stat
import subprocess
import sys

import pytest

import harness

NOBODY = 65534
MIB = 1 << 20


# Names that nothing makes small, in the file and in memory.
NAMES = "import os; [os.access('/' + os.urandom(100).hex(), 0) for i in range(10000)]"


def run_job(daemon, job, argv=("true",), **options):
    done = daemon.call(list(argv), env={"SLURM_JOB_ID": str(job), **options.pop("env", {})}, **options)
    assert done.returncode == 0, done.stderr
    return done


def folder_of(daemon, job, uid=None):
    return daemon.spool / str(os.getuid() if uid is None else uid) / str(job)


def is_closed(daemon, job):
    """Whether all files of the job have their ends, as the command sees them."""
    folder = folder_of(daemon, job)
    if not list(folder.glob("*.flow")):
        return False
    done = harness.read_command("info", "--json", folder)
    return done.returncode == 0 and all(f["closed"] for f in json.loads(done.stdout)["files"])


def wait_closed(daemon, *jobs):
    for job in jobs:
        harness.wait_until(f"the end of job {job}", lambda job=job: is_closed(daemon, job))


def hold_job(tap, daemon, job):
    """A process of that job that lives until its pipe is closed; gives the pipe's end and the process."""
    reader, writer = os.pipe()
    held = subprocess.Popen(["cat"], stdin=reader, stdout=subprocess.DEVNULL, env=daemon.env(SLURM_JOB_ID=str(job)))
    os.close(reader)
    tap.cleanup.append(lambda: harness.end_child(held))
    harness.wait_until("the held job's file", lambda: list(folder_of(daemon, job).glob("*.flow")))
    return writer, held


@pytest.mark.parametrize("how", ["removed", "emptied", "folder", "spool"])
def test_a_file_that_somebody_takes_away_is_followed_by_the_next(tap, how):
    daemon = tap.daemon()
    writer, held = hold_job(tap, daemon, 7)
    first = next(folder_of(daemon, 7).glob("*.flow"))
    if how == "removed":
        first.unlink()
    elif how == "emptied":
        os.truncate(first, 0)
    else:
        os.rename(folder_of(daemon, 7) if how == "folder" else daemon.spool, tap.folder / "away")
        harness.shutil.rmtree(tap.folder / "away")
    run_job(daemon, 7, ["cat", "/etc/hostname"])
    os.close(writer)
    assert held.wait(harness.DEADLINE_S) == 0
    trace = daemon.stop(check="emptied")
    if how == "emptied":
        first.unlink()
    trace.check_sums()
    assert trace.count(name="read", path="/etc/hostname") == 2
    assert "was removed or emptied" in daemon.log()


# As file systems in user space do it that count no links.
NO_LINKS = """
#define _GNU_SOURCE
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
int fstat(int fd, struct stat *status)
{
    int r = syscall(SYS_newfstatat, fd, "", status, 0x1000);
    status->st_nlink = S_ISREG(status->st_mode) ? 0 : status->st_nlink;
    return r;
}
int fstat64(int fd, struct stat64 *status) { return fstat(fd, (struct stat *)status); }
"""


def test_a_file_system_without_links_has_one_file_of_a_job(tap):
    counts_none = tap.compiled("counts_none.so", NO_LINKS, "-shared", "-fPIC")
    daemon = harness.Daemon(tap, "d", ["block_age=20ms"], env={"LD_PRELOAD": counts_none}).start()
    writer, held = hold_job(tap, daemon, 7)
    for _ in range(5):
        size = sum(path.stat().st_size for path in folder_of(daemon, 7).glob("*.flow"))
        run_job(daemon, 7)
        harness.wait_until("a block", lambda size=size: sum(p.stat().st_size for p in folder_of(daemon, 7).glob("*.flow")) > size)
    os.close(writer)
    assert held.wait(harness.DEADLINE_S) == 0
    assert len(daemon.stop().flow_files()) == 1
    assert "removed or emptied" not in daemon.log()


def test_a_trace_is_final_soon_after_its_job(tap):
    daemon = tap.daemon("job_linger=100ms")
    run_job(daemon, 7)
    wait_closed(daemon, 7)
    assert daemon.process.poll() is None
    # Its processes come again: the next file, and all of it is one job.
    run_job(daemon, 7)
    harness.wait_until("the second file", lambda: len(list(folder_of(daemon, 7).glob("*.flow"))) == 2)
    wait_closed(daemon, 7)
    trace = daemon.stop()
    assert len(trace.processes()) == 2 and trace.gaps() == []


def test_the_jobs_user_reads_and_others_do_not(tap):
    harness.needs(os.geteuid() == 0, "changing the user needs root")
    daemon = tap.daemon("job_linger=100ms", "admin_group=daemon")
    for path in (tap.folder, daemon.folder):
        os.chmod(path, 0o755)
    as_user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    run_job(daemon, 7, cwd="/", **as_user)
    folder = folder_of(daemon, 7, NOBODY)
    found = harness.wait_until("the file", lambda: list(folder.glob("*.flow")))
    status = found[0].stat()
    assert stat.S_IMODE(status.st_mode) == 0o640 and status.st_uid == os.geteuid()
    assert status.st_gid == grp.getgrnam("daemon").gr_gid
    daemon.stop()
    harness.needs("system.posix_acl_access" in os.listxattr(found[0]), "the file system has no ACLs")

    def reads(uid, gid):
        return harness.call([harness.FLOWTAP, "summary", "--json", folder], cwd="/", user=uid, group=gid,
                            extra_groups=[]).returncode
    assert reads(NOBODY, NOBODY) == 0
    assert reads(NOBODY - 1, NOBODY - 1) == 1
    assert reads(NOBODY - 1, grp.getgrnam("daemon").gr_gid) == 0


@pytest.mark.parametrize("setting", ["rotate_size=1M", "rotate_age=1s", "rotate_memory=1M"])
def test_a_file_is_followed_by_the_next(tap, setting):
    daemon = tap.daemon(setting, "block_age=50ms")
    writer, held = hold_job(tap, daemon, 7)
    for _ in range(100):
        if len(list(folder_of(daemon, 7).glob("*.flow"))) > 1:
            break
        run_job(daemon, 7, [sys.executable, "-c", NAMES])
    os.close(writer)
    held.wait()
    trace = daemon.stop()
    assert len(trace.flow_files()) > 1 and trace.gaps() == []
    assert trace.summary()["jobs"][0]["job"] == "7" and len(trace.summary()["jobs"]) == 1


@pytest.mark.parametrize("setting,gone", [("retain_age=1h", [1, 2, 3]), ("retain_size=2500K", [1]),
                                          ("retain_user_size=1500K", [1, 2])])
def test_what_is_over_a_limit_goes_oldest_first_and_never_what_runs(tap, setting, gone):
    daemon = tap.daemon(setting, "job_linger=0s")
    writer, held = hold_job(tap, daemon, 9)
    for job in (3, 1, 2):
        run_job(daemon, job)
        wait_closed(daemon, job)
    # Young ones of one MiB each; the running one is the oldest of all.
    for job in (9, 1, 2, 3):
        for path in folder_of(daemon, job).glob("*.flow"):
            if job != 9:
                os.truncate(path, MIB)
            age = 30 * 86400 - job if job != 9 else 60 * 86400
            os.utime(path, (path.stat().st_atime - age, path.stat().st_mtime - age))
    run_job(daemon, 4)
    harness.wait_until("the oldest to go", lambda: not any(folder_of(daemon, job).exists() for job in gone))
    wait_closed(daemon, 4)
    os.close(writer)
    held.wait()
    daemon.stop(check="truncated")
    left = {path.name for path in folder_of(daemon, 4).parent.iterdir()}
    assert left == {str(job) for job in (1, 2, 3, 4, 9) if job not in gone}
    processes = json.loads(harness.read_command("processes", "--json", folder_of(daemon, 9)).stdout)["processes"]
    assert [p["job"] for p in processes] == ["9"]


def test_a_command_is_run_for_each_job_that_has_ended(tap):
    out = tap.folder / "out"
    daemon = tap.daemon("job_linger=0s", f'job_finished_command=cp -r "$FLOWTAP_JOB_FOLDER" {out}/'
                        f' && echo "$FLOWTAP_JOB_ID $FLOWTAP_JOB_UID" >> {out}/jobs; test $FLOWTAP_JOB_ID != bad')
    out.mkdir()
    for job in ("7", "bad"):
        run_job(daemon, job)
        harness.wait_until("the command's result", lambda job=job: f"job {job} of user" in daemon.log())
    assert (out / "jobs").read_text().split("\n")[:2] == [f"7 {os.getuid()}", f"bad {os.getuid()}"]
    copied = harness.read_command("verify", out / "7")
    assert copied.returncode == 0, copied.stderr
    assert json.loads(harness.read_command("info", "--json", out / "7").stdout)["files"][0]["closed"]
    log = daemon.log()
    assert "job 7 of user" in log and "job_finished_command done" in log
    assert "job bad of user" in log and "job_finished_command failed" in log and "exit status 1" in log
    daemon.stop()


def test_a_command_that_hangs_holds_nothing_up_and_is_ended(tap):
    hung = tap.folder / "hung"
    daemon = tap.daemon("job_linger=0s", "job_finished_timeout=3s",
                        f'job_finished_command=test "$FLOWTAP_JOB_ID" != 7 || {{ touch {hung}; sleep 1000; }}')
    run_job(daemon, 7)
    harness.wait_until("the command to hang", hung.exists)
    run_job(daemon, 8)
    wait_closed(daemon, 8)
    harness.wait_until("the other's result", lambda: "job 8 of user" in daemon.log())
    harness.wait_until("its end", lambda: "over job_finished_timeout" in daemon.log())
    daemon.stop()


def test_the_daemon_ends_while_a_command_runs(tap):
    hung = tap.folder / "hung"
    daemon = tap.daemon("job_linger=0s", f"job_finished_command=echo $$ > {hung}.new; mv {hung}.new {hung}; exec sleep 1000")
    run_job(daemon, 7)
    harness.wait_until("the command to hang", hung.exists)
    os.kill(daemon.process.pid, signal.SIGTERM)
    assert daemon.process.wait(harness.DEADLINE_S) == 0
    os.kill(int(hung.read_text()), signal.SIGKILL)
