# SPDX-License-Identifier: MIT
"""What is done to the spool while jobs are written: their folders, its mounts, its quota.

Programs do not notice, no total is lost, `flowtap status` tells, and the daemon goes on by itself when the cause is gone.
"""

import json
import os
import subprocess

import pytest

import harness

STAGE = 500
NOBODY = 65534


class Job:
    """tests/programs/stages.c as a job that is written while something is done to its file or folder."""

    def __init__(self, tap, daemon, name, **options):
        self.daemon, self.stages = daemon, 0
        fifo = tap.folder / f"fifo-{name}"
        os.mkfifo(fifo)
        os.chmod(fifo, 0o666)
        self.process = subprocess.Popen([harness.program("stages"), fifo, str(STAGE)], env=daemon.env(FLOWTAP_JOB=name),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd="/tmp", **options)
        tap.cleanup.append(lambda: harness.end_child(self.process))
        self.fifo = open(fifo, "wb", buffering=0)
        tap.cleanup.append(self.fifo.close)
        self.folder = daemon.spool / str(options.get("user", os.getuid())) / name

    def stage(self):
        self.fifo.write(b"x")
        assert self.process.stdout.readline() == b"done\n"
        self.stages += 1

    def end(self):
        self.fifo.close()
        assert self.process.wait(harness.DEADLINE_S) == 0

    def check(self, trace):
        """Every call is in the totals, and what is not stored is told as dropped."""
        assert trace.image("/stages")["events"] == 2 + self.stages * (STAGE + 2) + 1
        pread, = [c for c in trace.summary()["calls"] if c["name"] == "pread"]
        assert (pread["count"], pread["bytes"]) == (self.stages * STAGE, self.stages * STAGE)


def counters(daemon):
    done = harness.call([harness.FLOWTAP, "status", "--json", "--socket", daemon.socket])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["counters"]


def wait_for_events(daemon, least):
    harness.wait_until(f"{least} events in files", lambda: counters(daemon)["events"] >= least)


def mounted(tap, folder, *options):
    harness.needs(os.geteuid() == 0, "mounting needs root")
    folder.mkdir(exist_ok=True)
    done = harness.call(["mount", "-t", "tmpfs", *options, "none", folder])
    harness.needs(done.returncode == 0, f"no such tmpfs can be mounted here: {done.stderr.decode().strip()}")
    tap.cleanup.append(lambda: harness.call(["umount", "-l", folder]))
    return folder


def start(tap, *settings, spool=None):
    daemon = harness.Daemon(tap, "d", ["block_age=50ms", "job_linger=0s", *settings])
    daemon.spool = spool or daemon.spool
    return daemon.start()


def renamed(folder):
    os.rename(folder, folder.with_name("away"))
    return lambda: os.rename(folder.with_name("away"), folder)


def locked(folder):
    mode = folder.stat().st_mode
    os.chmod(folder, 0)
    return lambda: os.chmod(folder, mode)


def without_acl(folder):
    for path in (folder, *folder.iterdir()):
        if "system.posix_acl_access" in os.listxattr(path):
            os.removexattr(path, "system.posix_acl_access")
    return lambda: None


def of_others(folder):
    harness.needs(os.geteuid() == 0, "giving files away needs root")
    for path in (folder, *folder.iterdir()):
        os.chown(path, NOBODY - 1, NOBODY - 1)
    return lambda: None


@pytest.mark.parametrize("change", [renamed, locked, without_acl, of_others])
def test_a_folder_that_is_changed_under_its_job(tap, change):
    daemon = start(tap)
    job = Job(tap, daemon, "one")
    job.stage()
    wait_for_events(daemon, STAGE)
    undo = change(job.folder)
    job.stage()
    wait_for_events(daemon, 2 * STAGE)
    undo()
    job.stage()
    job.end()
    trace = daemon.stop()
    job.check(trace)
    assert trace.summary()["dropped"] == 0 and not trace.summary()["partial"]


@pytest.mark.parametrize("how", ["link", "owner", "mode"])
def test_a_folder_in_which_others_decide_is_not_used(tap, how):
    """Its owner could lead the daemon, which gives the job's user leave to read, to files of others."""
    harness.needs(os.geteuid() == 0, "changing the user needs root")
    daemon = start(tap)
    secret, folder = tap.folder / "secret", daemon.spool / str(NOBODY) / "one"
    for path in (tap.folder, daemon.folder, daemon.spool):
        os.chmod(path, 0o755)
    secret.mkdir(mode=0o700)
    folder.parent.mkdir()
    if how == "link":
        os.chown(folder.parent, NOBODY, NOBODY)
        folder.symlink_to(secret)
    else:
        folder.mkdir()
        os.chown(folder, NOBODY if how == "owner" else 0, 0)
        os.chmod(folder, 0o777 if how == "mode" else 0o755)
    job = Job(tap, daemon, "one", user=NOBODY, group=NOBODY, extra_groups=[])
    job.stage()
    harness.wait_until("it to be told", lambda: counters(daemon)["disk_full"] > 0 or list(folder.glob("*.flow")))
    assert not list(folder.glob("*")) and "system.posix_acl_access" not in os.listxattr(secret)
    job.stage()
    if how == "link":
        folder.unlink()
    else:
        folder.rmdir()
    os.chown(folder.parent, 0, 0)
    harness.wait_until("the file", lambda: list(folder.glob("*.flow")))
    job.stage()
    job.end()
    job.check(daemon.stop())


def test_another_mount_over_the_spool(tap):
    """What is open below goes on there; what begins meanwhile is above, and what ends there is left alone."""
    daemon = start(tap, spool=mounted(tap, tap.folder / "below"))
    job = Job(tap, daemon, "one")
    job.stage()
    wait_for_events(daemon, STAGE)
    mounted(tap, daemon.spool)
    job.stage()
    assert daemon.call(["true"], env={"FLOWTAP_JOB": "two"}).returncode == 0
    harness.wait_until("the other job's file", lambda: list(daemon.spool.rglob("two/*.flow")))
    wait_for_events(daemon, 2 * STAGE)
    harness.wait_until("the mount to be free", lambda: harness.call(["umount", daemon.spool]).returncode == 0)
    job.stage()
    job.end()
    trace = daemon.stop()
    job.check(trace)
    assert trace.summary()["dropped"] == 0 and len(trace.flow_files()) == 1


def test_a_spool_that_is_unmounted_under_a_job(tap):
    """What was there is gone with it. What comes then is in the folder below, and the totals are all of them."""
    daemon = start(tap, spool=mounted(tap, tap.folder / "spool"))
    job = Job(tap, daemon, "one")
    job.stage()
    wait_for_events(daemon, STAGE)
    assert harness.call(["umount", "-l", daemon.spool]).returncode == 0

    def has_next_file():
        job.stage()
        return list(daemon.spool.rglob("*.flow"))

    harness.wait_until("the next file", has_next_file)
    job.stage()
    job.end()
    trace = daemon.stop(check="unmounted")
    assert "unmounted" in daemon.log()
    assert trace.image("/stages")["events"] == 2 + job.stages * (STAGE + 2) + 1
    last = job.stages * STAGE - 1
    assert last % STAGE in {e["offset"] % STAGE for e in trace.events(name="pread")}


def test_a_spool_that_is_read_only_for_a_while(tap):
    spool = mounted(tap, tap.folder / "spool")
    daemon = start(tap, spool=spool)
    # The file system itself cannot be, while the daemon holds its reserve there.
    assert harness.call(["mount", "--bind", spool, spool]).returncode == 0
    assert harness.call(["mount", "-o", "remount,bind,ro", spool]).returncode == 0
    job = Job(tap, daemon, "one")
    job.stage()
    harness.wait_until("it to be told", lambda: counters(daemon)["disk_full"] > 0)
    harness.wait_until("the mount to be free", lambda: harness.call(["umount", spool]).returncode == 0)
    job.stage()
    harness.wait_until("the file", lambda: list(spool.rglob("*.flow")))
    job.stage()
    job.end()
    trace = daemon.stop()
    job.check(trace)


def stage_until(job, daemon, what, counter, above):
    """Further stages of the job until a counter of the daemon is above a number."""
    def is_there():
        job.stage()
        return counters(daemon)[counter] > above

    harness.wait_until(what, is_there)


def test_a_quota_that_is_reached(tap):
    """The daemon's user may have so much there; when there is room again, it goes on."""
    spool = mounted(tap, tap.folder / "spool", "-o", "usrquota,usrquota_block_hardlimit=2M")
    harness.needs_program("setpriv")
    daemon = harness.Daemon(tap, "d", ["block_age=50ms", "job_linger=0s", "reserve=64K"], binary="setpriv")
    daemon.words = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--bounding-set=-all", harness.FLOWTAPD]
    daemon.spool = spool
    for path in (tap.folder, tap.work):
        os.chmod(path, 0o755)
    for path in (daemon.folder, spool):
        os.chown(path, NOBODY, NOBODY)
    os.chmod(daemon.folder, 0o755)
    daemon.start()
    job = Job(tap, daemon, "one", user=NOBODY, group=NOBODY, extra_groups=[])
    job.stage()
    wait_for_events(daemon, STAGE)
    filler = spool / "filler"
    full = harness.call(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
                         "dd", "if=/dev/zero", f"of={filler}", "bs=4k"])
    assert full.returncode != 0 and b"quota" in full.stderr.lower(), full.stderr
    stage_until(job, daemon, "it to be told", "disk_full", 0)
    filler.unlink()
    stage_until(job, daemon, "it to go on", "events", counters(daemon)["events"])
    job.end()
    trace = daemon.stop()
    job.check(trace)
    assert set(c for c, n in trace.summary()["dropped_by_cause"].items() if n) <= {"disk_full"}


def btrfs(tap, name):
    """A folder on a btrfs of its own that may have 8 MiB; and what changes that."""
    harness.needs(os.geteuid() == 0, "mounting needs root")
    for program in ("mkfs.btrfs", "btrfs"):
        harness.needs_program(program)
    image, top = tap.folder / f"{name}.img", tap.folder / f"{name}-btrfs"
    with open(image, "wb") as file:
        file.truncate(256 << 20)
    assert harness.call(["mkfs.btrfs", "-q", image]).returncode == 0
    top.mkdir()
    done = harness.call(["mount", "-t", "btrfs", "-o", "loop", image, top])
    harness.needs(done.returncode == 0, f"no btrfs can be mounted here: {done.stderr.decode().strip()}")
    tap.cleanup.append(lambda: harness.call(["umount", "-l", top]))

    def limit(size):
        done = harness.call(["btrfs", "qgroup", "limit", size, top / name])
        assert done.returncode == 0, done.stderr

    for words in (["quota", "enable", top], ["subvolume", "create", top / name]):
        done = harness.call(["btrfs", *words])
        harness.needs(done.returncode == 0, f"this btrfs has no quotas: {done.stderr.decode().strip()}")
    limit("8M")
    return top / name, limit


@pytest.mark.parametrize("how", ["raised", "freed"])
def test_a_quota_of_the_spool_s_own(tap, how):
    """Of a subvolume, which holds for root, too. Totals are kept, it is told, and when there is room again it goes on."""
    spool, limit = btrfs(tap, "spool")
    daemon = start(tap, "reserve=64K", spool=spool)
    job = Job(tap, daemon, "one")
    job.stage()
    wait_for_events(daemon, STAGE)
    full = harness.call(["dd", "if=/dev/zero", f"of={spool}/filler", "bs=4k"])
    assert full.returncode != 0 and b"quota" in full.stderr.lower(), full.stderr
    stage_until(job, daemon, "it to be told", "disk_full", 0)
    assert "Disk quota exceeded" in daemon.log()
    text = harness.call([harness.FLOWTAP, "status", "--socket", daemon.socket])
    assert text.returncode == 0 and b"quota exceeded" in text.stdout, text.stdout
    if how == "raised":
        limit("64M")
    else:
        (spool / "filler").unlink()
    stage_until(job, daemon, "it to go on", "events", counters(daemon)["events"])
    job.end()
    trace = daemon.stop()
    job.check(trace)
    assert [c for c, n in trace.summary()["dropped_by_cause"].items() if n] == ["disk_full"]
