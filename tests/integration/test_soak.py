# SPDX-License-Identifier: MIT
"""Everything at once: processes come and go, programs and the daemon are killed, the disk is full for a while.

In the end all files verify, the account closes, every process is in the trace or is a gap, and the daemon holds no more
memory and descriptors than it should: the last one serves a part of the time, so that what it does not give back adds up.
FLOWTAP_SOAK_SECONDS says how long the long run takes.
"""

import collections
import contextlib
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import time

import pytest

import harness
import manager
import traced

SHORT_S = 20
LONG_S = int(os.environ.get("FLOWTAP_SOAK_SECONDS", 1200))
LAST_PART = 0.3  # of the time: no daemon is killed any more
RSS_MOST = 256 << 20
RESTING_MOST = 20 << 20  # where nothing is left to serve; of what is less than 16 MiB nothing is looked for
DESCRIPTORS_MOST = 40
DISK = "512m"


class Numbered:
    """A program that counts its own calls in shared memory, so that it can be killed at any moment."""

    def __init__(self, daemon, folder):
        folder.mkdir()
        self.path = folder / "witness"
        self.process = daemon.spawn([harness.program("numbered"), self.path, 2_000_000_000, "fork"], cwd=folder)

    def kill(self):
        """Its pid, and how many of its calls had returned for certain."""
        self.process.kill()
        self.process.wait()
        data = self.path.read_bytes() if self.path.exists() else b""
        done = struct.unpack("<3Q", data)[1] if len(data) == 24 else 0
        return self.process.pid, done


class World:
    def __init__(self, tap, disk, seed):
        self.tap, self.disk, self.rng = tap, disk, random.Random(seed)
        self.daemon = manager.Manager(tap, f"spool_dir={disk}", "job_linger=1s", "session_linger=1s", "rotate_size=8M")
        self.daemon.spool = disk
        self.daemon.start()
        self.spawner = self.daemon.spawn([harness.program("spawner"), 50], stdout=subprocess.PIPE)
        self.numbered = [self.make_numbered(i) for i in range(2)]
        self.made, self.killed, self.rss_most = 2, [], 0

    def make_numbered(self, number):
        return Numbered(self.daemon, self.tap.work / f"n{number}")

    def kill_a_program(self):
        self.killed.append(self.numbered.pop(0).kill())
        self.numbered.append(self.make_numbered(self.made))
        self.made += 1

    def kill_the_daemon(self):
        self.daemon.kill()
        self.daemon.start()

    def fill_the_disk(self):
        filler = self.disk / "filler"
        with contextlib.suppress(OSError), open(filler, "wb") as f:
            while True:
                f.write(bytes(1 << 20))
        self.let_pass(1.5)
        filler.unlink()

    def let_pass(self, seconds):
        """Time in which the daemon's memory is looked at."""
        end = time.monotonic() + seconds

        def is_over():
            self.rss_most = max(self.rss_most, self.status("VmRSS") << 10)
            return time.monotonic() >= end

        harness.wait_until("the time to pass", is_over, seconds + 60)

    def status(self, name):
        with open(f"/proc/{self.daemon.process.pid}/status") as f:
            return next((int(line.split()[1]) for line in f if line.startswith(name)), 0)

    def descriptors(self):
        """What the daemon has open."""
        folder = f"/proc/{self.daemon.process.pid}/fd"
        found = []
        for fd in os.listdir(folder):
            with contextlib.suppress(OSError):
                found.append(os.readlink(f"{folder}/{fd}"))
        return found

    def gauges(self):
        done = harness.call([harness.FLOWTAP, "status", "--json", "--socket", self.daemon.socket])
        return [f"{k} {v}" for k, v in json.loads(done.stdout)["gauges"].items()] if done.returncode == 0 else ["no answer"]

    @contextlib.contextmanager
    def told_with(self, what):
        """A failure inside says what it was about."""
        try:
            yield
        except AssertionError as error:
            raise AssertionError(f"{error}: {collections.Counter(what())}") from None

    def end_programs(self):
        self.killed += [one.kill() for one in self.numbered]
        self.spawner.send_signal(signal.SIGTERM)
        out, _ = self.spawner.communicate(timeout=harness.DEADLINE_S)
        return collections.Counter(int(line) for line in out.split())


@pytest.fixture
def disk(tap):
    harness.needs(os.geteuid() == 0, "mounting needs root")
    path = tap.folder / "disk"
    path.mkdir()
    done = harness.call(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "none", path])
    harness.needs(done.returncode == 0, f"no tmpfs can be mounted here: {done.stderr.decode().strip()}")
    tap.cleanup.append(lambda: harness.call(["umount", "-l", path]))
    return path


def soak(tap, disk, seconds, seed):
    world = World(tap, disk, seed)
    end = time.monotonic() + seconds
    steps = [world.kill_a_program, world.fill_the_disk, world.kill_a_program]
    while time.monotonic() < end:
        is_last = time.monotonic() >= end - LAST_PART * seconds
        world.let_pass(world.rng.uniform(0.1, 2))
        world.rng.choice(steps if is_last else [*steps, world.kill_the_daemon, world.kill_the_daemon])()
    children = world.end_programs()
    harness.wait_until("all of it stored", lambda: not world.daemon.names())
    with world.told_with(lambda: [*world.descriptors(), *world.gauges()]):
        harness.wait_until("the descriptors given back", lambda: len(world.descriptors()) < DESCRIPTORS_MOST)
        harness.wait_until("the memory given back", lambda: world.status("RssAnon") << 10 < RESTING_MOST)
    trace = traced.Trace(world.daemon.stop(check="too long").path, read_much)
    assert world.rss_most < RSS_MOST, world.rss_most
    try:
        check(trace, children, world.killed)
    except AssertionError:
        shutil.copytree(disk, tap.folder / "kept")  # the disk itself is unmounted
        raise


def read_much(*words):
    """Some programs fork as fast as they can: there may be a million of processes, and more."""
    return harness.call([harness.FLOWTAP, *words], deadline=300, env=harness.clean_environment(FLOWTAP_READ_MEMORY="8G"))


def check(trace, children, killed):
    verified = read_much("verify", trace.path)
    assert verified.returncode == 0, verified.stdout[-2000:]
    summary, processes = trace.summary(), trace.processes()
    assert summary["events"] == summary["stored"] + summary["dropped"]
    for p in processes:
        assert p["events"] == p["stored"] + p["dropped"], p
    gaps = collections.Counter()
    for gap in summary["gaps"]:
        gaps[gap["pid"]] += gap["count"]
    seen = {p["pid"] for p in processes}
    missing = [pid for pid in children if pid not in seen and not gaps[pid]]
    # where very many were refused, the rest of them is a number
    assert len(missing) <= gaps[None], f"{len(missing)} of {len(children)} processes are neither there nor a gap: {missing[:5]}"
    events = collections.Counter()
    for p in processes:
        events[p["pid"]] += p["events"]
    lost = [(pid, done, events[pid]) for pid, done in killed if events[pid] < done and not gaps[pid]]
    assert len(lost) <= gaps[None], lost
    assert len(children) > 100 and len(killed) >= 2


def test_a_short_soak(tap, disk):
    soak(tap, disk, SHORT_S, seed=1)


@pytest.mark.soak
@pytest.mark.timeout(LONG_S + 600)
def test_a_long_soak(tap, disk):
    soak(tap, disk, LONG_S, seed=int(time.time()))
