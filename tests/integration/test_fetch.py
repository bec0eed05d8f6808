# SPDX-License-Identifier: MIT
"""`flowtap fetch`: one's own job's trace, copied from the daemon's hands."""

import grp
import os
import subprocess

import harness
from test_jobs import NOBODY, open_to_all, states


def fetch(daemon, *words, **options):
    options.setdefault("cwd", daemon.tap.work)
    return harness.call([harness.FLOWTAP, "fetch", "--socket", daemon.socket, *words], **options)


def run_jobs(daemon, *names, **options):
    for name in names:
        assert daemon.call([harness.program("hammer"), 1, 500], env={"SLURM_JOB_ID": name}, **options).returncode == 0
    harness.wait_until("the jobs to end", lambda: all(states(daemon).get(name) == "finished" for name in names))


def test_a_fetched_trace_is_the_job(tap):
    daemon = tap.daemon("job_linger=100ms")
    run_jobs(daemon, "7", "8")
    done = fetch(daemon, "7", "-o", tap.folder / "copy")
    assert done.returncode == 0 and done.stderr == b"", done.stderr
    original = next((daemon.spool / str(os.getuid()) / "7").iterdir())
    assert [p.name for p in (tap.folder / "copy").iterdir()] == [original.name]
    assert (tap.folder / "copy" / original.name).read_bytes() == original.read_bytes()
    assert harness.read_command("verify", tap.folder / "copy").returncode == 0
    # A folder's name is made where none is given; all is copied anew a second time.
    assert fetch(daemon, "7").returncode == 0 and fetch(daemon, "7").returncode == 0
    assert [p.name for p in (tap.work / "flowtap-7").iterdir()] == [original.name]
    daemon.stop()


def test_a_job_of_many_files_is_fetched_whole(tap):
    daemon = tap.daemon("job_linger=0s")
    count = 12
    for n in range(count):
        assert daemon.call(["true"], env={"SLURM_JOB_ID": "7"}).returncode == 0
        harness.wait_until("its file", lambda n=n: len(list(daemon.spool.rglob("*.flow"))) > n)
        harness.wait_until("its end", lambda: states(daemon) == {"7": "finished"})
    assert fetch(daemon, "7", "-o", tap.folder / "copy").returncode == 0
    assert len(list((tap.folder / "copy").iterdir())) == len(list(daemon.spool.rglob("*.flow"))) >= count
    daemon.stop()


def test_a_running_job_is_fetched_as_far_as_it_is(tap):
    daemon = tap.daemon("block_age=50ms")
    reader, writer = os.pipe()
    held = subprocess.Popen(["cat"], stdin=reader, stdout=subprocess.DEVNULL, env=daemon.env(SLURM_JOB_ID="7"))
    tap.cleanup.append(lambda: harness.end_child(held))
    os.close(reader)
    harness.wait_until("its file", lambda: list(daemon.spool.rglob("*.flow")))
    done = fetch(daemon, "7", "-o", tap.folder / "copy")
    assert done.returncode == 0 and b"still runs" in done.stderr
    assert harness.read_command("processes", tap.folder / "copy").returncode == 0
    os.close(writer)
    held.wait()
    daemon.stop()


def test_others_get_nothing_and_the_admin_group_all(tap):
    harness.needs(os.geteuid() == 0, "changing the user needs root")
    daemon = tap.daemon("job_linger=100ms", "admin_group=daemon")
    open_to_all(tap, daemon)
    tap.work.chmod(0o1777)
    own = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "cwd": "/"}
    run_jobs(daemon, "7", **own)
    run_jobs(daemon, "8")
    other = {**own, "user": NOBODY - 1}
    assert fetch(daemon, "7", "-o", tap.work / "own", **own).returncode == 0
    for job in ("7", "8"):
        done = fetch(daemon, job, "-o", tap.work / "other", **other)
        assert done.returncode == 1 and b"no such job" in done.stderr and not (tap.work / "other").exists()
    admins = {**other, "extra_groups": [grp.getgrnam("daemon").gr_gid]}
    assert fetch(daemon, "7", "-o", tap.work / "admin", **admins).returncode == 0
    assert len(list((tap.work / "admin").iterdir())) == 1
    # Where two users have a job of one name, one has to say whose.
    run_jobs(daemon, "8", **own)
    harness.wait_until("both", lambda: len(list(daemon.spool.rglob("8"))) == 2)
    done = fetch(daemon, "8", "-o", tap.work / "which")
    assert done.returncode == 1 and b"--user" in done.stderr
    assert fetch(daemon, "8", "-o", tap.work / "which", "--user", "root").returncode == 0
    daemon.stop()


def test_what_cannot_be_had_is_one_line(tap):
    daemon = tap.daemon("job_linger=0s")
    run_jobs(daemon, "7")
    blocked = tap.folder / "file"
    blocked.write_text("")
    for words, says in ((("9",), b"no such job"), (("7", "-o", blocked), b"cannot be"), (("7", "-o", "/none/x"), b"cannot be made")):
        done = fetch(daemon, *words)
        assert done.returncode == 1 and done.stderr.count(b"\n") == 1 and says in done.stderr, done.stderr
    assert fetch(daemon).returncode == 2
    daemon.stop()
    assert fetch(daemon, "7").returncode == 1
