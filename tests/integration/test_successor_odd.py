# SPDX-License-Identifier: MIT
"""What a daemon that takes over may find: memory that is none, files of another boot, a full disk, very many."""

import json
import os
import random
import struct
import subprocess
import zlib

import pytest

import harness
import manager
import traced
from test_status import status
from test_successor import Load, check_exactly_once, flow_files, size_of, stored


def held_memory(daemon, pid):
    """Name and descriptor of a process's memory that the manager holds."""
    ((name, fd),) = [(name, fd) for name, fd in daemon.stored if name.split("-")[3:4] == [f"{pid:x}"]]
    return name, fd


def zero_head(fd, rng):
    os.pwrite(fd, bytes(4096), 0)


def other_geometry(fd, rng):
    os.pwrite(fd, struct.pack("<8I", *(rng.randrange(1, 5000) for _ in range(8))), 64)


def all_chunks_noise(fd, rng):
    pool = struct.unpack("<I", os.pread(fd, 4, 64 + 24))[0]
    for chunk in range(4):
        os.pwrite(fd, rng.randbytes(4096), (pool + chunk) * 4096)


def states_noise(fd, rng):
    os.pwrite(fd, bytes(rng.randrange(6) for _ in range(3968)), 128)


def words_noise(fd, rng):
    pool = struct.unpack("<I", os.pread(fd, 4, 64 + 24))[0]
    for chunk in range(4):
        os.pwrite(fd, rng.randbytes(8), (pool + chunk) * 4096 + 40)


def another_identity(fd, rng):
    os.pwrite(fd, rng.randbytes(16), 32)
    hello = struct.unpack("<I", os.pread(fd, 4, 64 + 8))[0] * 4096
    os.pwrite(fd, rng.randbytes(4096), hello)


def counts_of_the_moon(fd, rng):
    lines = struct.unpack("<I", os.pread(fd, 4, 64 + 16))[0] * 4096
    os.pwrite(fd, struct.pack("<Q", rng.getrandbits(60)), lines + 64 + 8)
    os.pwrite(fd, struct.pack("<4I", 1, 1, 0xffffffff, 0xffffffff), 96)


TAMPERINGS = (zero_head, other_geometry, all_chunks_noise, states_noise, words_noise, another_identity, counts_of_the_moon)


@pytest.mark.parametrize("tamper", TAMPERINGS, ids=lambda f: f.__name__)
def test_memory_that_its_process_made_nonsense_of(tap, tamper):
    """It costs that process, at most; the others are as if nothing had been."""
    rng = random.Random(7)
    daemon = manager.Manager(tap).start()
    good = Load(daemon, tap.work / "good", processes=2, fork_every=0)
    bad = Load(daemon, tap.work / "bad", processes=1, fork_every=0, count=3000, hold=True)
    harness.wait_until("all of them held", lambda: len(daemon.names()) == good.count + bad.count)
    (path,) = harness.wait_until("the file of the bad one", lambda: list((tap.work / "bad").iterdir()))
    harness.wait_until("its last record", lambda: path.stat().st_size == 3000)
    harness.wait_until("blocks in the file", lambda: stored(daemon) > 4000)
    pid = int(path.name.split("-")[1])
    daemon.kill()
    tamper(held_memory(daemon, pid)[1], rng)
    daemon.start()
    harness.wait_until("the next file", lambda: len(flow_files(daemon)) == 2)
    daemon.restart()
    assert bad.stop() == {pid: 3000}
    wrote = good.stop()
    trace = daemon.stop(check="tampered")
    summary = trace.summary()
    assert summary["events"] == summary["stored"] + summary["dropped"] or tamper in (words_noise, counts_of_the_moon)
    offsets = {p: sorted(e["offset"] for e in trace.events(name="pwrite", pid=p)) for p in wrote}
    assert offsets == {p: list(range(n)) for p, n in wrote.items()}
    (process,) = [p for p in trace.processes() if p["pid"] == pid]
    assert process["exe"].endswith("write_load")
    assert daemon.names() == []


def test_what_is_held_and_is_no_segment_of_ours(tap):
    daemon = manager.Manager(tap).start()
    load = Load(daemon, tap.work / "load", processes=2, fork_every=0)
    harness.wait_until("a block in the file", lambda: size_of(daemon) > 3000 and load.is_held())
    daemon.kill()
    read, write = os.pipe()
    memfd = os.memfd_create("unsealed")
    os.ftruncate(memfd, 1 << 20)
    name = daemon.names()[0]
    number = int(name.split("-")[6], 16) ^ 1
    like_ours = "-".join([*name.split("-")[:6], f"{number:x}", name.split("-")[7]])
    with daemon.lock:
        daemon.stored += [("nonsense", read), (like_ours, write), (f"{name}x", memfd), ("ft1-", os.dup(memfd)),
                          ("ft1-0-0--1-0-0-1-1", os.dup(memfd)), (name, os.dup(memfd))]
    daemon.start()
    harness.wait_until("the next file", lambda: len(flow_files(daemon)) == 2)
    wrote = load.stop()
    trace = daemon.stop()
    check_exactly_once(trace, wrote)
    assert daemon.names() == []


def test_five_hundred_at_once(tap):
    daemon = manager.Manager(tap).start()
    load = Load(daemon, tap.work / "load", processes=500, fork_every=0, count=30, hold=True)
    harness.wait_until("all of it in the file", lambda: stored(daemon) >= 500 * 30)
    harness.wait_until("all of them held", lambda: len(daemon.names()) == 501)
    for _ in range(2):
        daemon.kill()
        daemon.start()
    harness.wait_until("the next file", lambda: len(flow_files(daemon)) >= 2)
    wrote = load.stop()
    trace = daemon.stop()
    check_exactly_once(trace, wrote)
    assert trace.gaps() == [] and len(wrote) == 500 and daemon.names() == []


def of_another_boot(data, boot):
    """The file with another boot id in its header."""
    _, kind, flags, head, rest, rest_crc, _ = struct.unpack_from("<4sHHIIII", data, 0)
    assert kind == 1
    at = data.index(boot.encode(), 24)
    message = data[24:at] + b"0" * 36 + data[at + 36:24 + head]
    begin = struct.pack("<4sHHIII", data[:4], kind, flags, head, rest, rest_crc)
    return begin + struct.pack("<I", zlib.crc32(begin + message)) + message + data[24 + head:]


def test_files_of_another_boot_are_left_alone(tap):
    daemon = manager.Manager(tap).start()
    load = Load(daemon, tap.work / "load", processes=2, fork_every=0)
    harness.wait_until("a block in the file", lambda: size_of(daemon) > 3000 and load.is_held())
    daemon.kill()
    (path,) = flow_files(daemon)
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        boot = file.read().strip()
    old = of_another_boot(path.read_bytes(), boot)
    # One with its own name, one that has ours, and one of ours that is none.
    path.with_name(path.name.replace(boot[:8], "00000000")).write_bytes(old)
    path.with_name(path.name.replace("-0.flow", "-7.flow")).write_bytes(old)
    path.with_name(path.name.replace("-0.flow", "-8.flow")).write_bytes(b"nonsense")
    daemon.start()
    harness.wait_until("the next file", lambda: len(flow_files(daemon)) == 5)
    wrote = load.stop()
    daemon.stop(check="foreign files")
    for name in ("-7.flow", "-8.flow"):
        path.with_name(path.name.replace("-0.flow", name)).unlink()
    path.with_name(path.name.replace(boot[:8], "00000000")).unlink()
    trace = traced.Trace(daemon.spool, harness.read_command)
    check_exactly_once(trace, wrote)
    assert trace.gaps() == []


def test_a_full_disk_while_it_takes_over(tap, small_disk):
    daemon = manager.Manager(tap, f"spool_dir={small_disk}", "reserve=0")
    daemon.spool = small_disk
    filler = small_disk / "filler"
    filler.write_bytes(bytes(256 << 10))  # what is given back later; the load may fill the rest by itself
    daemon.start()
    load = Load(daemon, tap.work / "load", processes=2, fork_every=0)
    harness.wait_until("a block in the file", lambda: size_of(daemon) > 3000 and load.is_held())
    daemon.kill()
    with pytest.raises(OSError), open(filler, "ab") as more:
        while True:
            more.write(bytes(4096))
            more.flush()
    daemon.start()
    harness.wait_until("a word about the disk", lambda: "No space left" in daemon.log())
    daemon.kill()
    daemon.start()
    filler.unlink()
    before = size_of(daemon)
    harness.wait_until("room is used", lambda: size_of(daemon) > before + 1000)
    wrote = load.stop()
    trace = daemon.stop()
    summary = trace.summary()
    causes = {cause for cause, count in summary["dropped_by_cause"].items() if count}
    assert causes <= {"disk_full", "ring_full", "torn"}, summary["dropped_by_cause"]
    assert not summary["partial"], harness.read_command("verify", trace.path).stdout
    for pid, count in wrote.items():
        offsets = [e["offset"] for e in trace.events(name="pwrite", pid=pid)]
        assert len(offsets) == len(set(offsets)) and set(offsets) <= set(range(count))


def test_vfork_children_are_counted_once(tap):
    """Each eighth number a vfork child that executes something; killed in the midst, again and again."""
    daemon = manager.Manager(tap, "block_age=20ms").start()
    witness = tap.work / "witness"
    process = daemon.spawn([harness.program("numbered"), witness, 4000, "vfork"], cwd=tap.work,
                           env={"FLOWTAP_JOB": "load"}, stdout=subprocess.DEVNULL)
    rng = random.Random(3)
    for _ in range(6):
        until = stored(daemon) + rng.randrange(50, 400)
        harness.wait_until("some more", lambda until=until: stored(daemon) >= until or process.poll() is not None)
        daemon.kill()
        daemon.start()
    assert process.wait(harness.DEADLINE_S) == 0
    trace = daemon.stop()
    numbers = [e["offset"] // 8 for e in trace.events(name="pwrite", pid=process.pid)]
    assert sorted(numbers) == list(range(4000))
    assert not trace.summary()["partial"]
    assert harness.read_command("verify", trace.path).returncode == 0


@pytest.mark.parametrize("setting,attached", [("max_jobs_per_user=1", 2), ("max_jobs=1", 1)])
def test_what_is_held_of_more_jobs_than_there_may_be_by_now(tap, setting, attached):
    """A user's share is not asked of what a daemon before had; who finds no room at all is told of."""
    control = tap.folder / "fault"
    control.write_bytes(bytes(4096))
    env = {"LD_PRELOAD": harness.program("fault.so"), "FAULT_CONTROL": control}
    daemon = manager.Manager(tap, own_env=env)
    env["FAULT_BELOW"] = daemon.spool
    daemon.start()
    with open(control, "r+b") as f:
        f.write(b"open=28\nwrite=28\n")  # no file tells of them
    cats = [daemon.spawn(["cat"], stdin=subprocess.PIPE, env={"FLOWTAP_JOB": name}) for name in ("a", "b")]
    harness.wait_until("both held", lambda: len(daemon.names()) == 2)
    daemon.kill()
    control.write_bytes(bytes(4096))
    daemon.settings = (setting,)
    daemon.start()
    for cat in cats:
        cat.stdin.close()
        cat.wait(harness.DEADLINE_S)
    done = harness.call([harness.FLOWTAP, "status", "--json", "--socket", daemon.socket])
    counters = json.loads(done.stdout)["counters"]
    assert (counters["attached"], counters["refused_limit"]) == (attached, 2 - attached)
    trace = daemon.stop()
    assert len(trace.processes()) == attached
    assert sum(gap["count"] for gap in trace.gaps("not_admitted")) == 2 - attached
    assert (attached == 2) == ("no room for another job" not in daemon.log())


@pytest.mark.parametrize("setting", ["max_segment=1M", "max_processes=1", "max_processes_per_user=1", "max_jobs_per_user=1",
                                     "max_user_memory=0", "max_memory=0", "max_user_jobs_memory=1M", "max_stored=0"])
def test_a_lower_limit_is_for_who_comes_then(tap, setting):
    daemon = manager.Manager(tap, "block_age=50ms").start()
    held = [daemon.spawn(["sh", "-c", "read line; echo > /dev/null"], stdin=subprocess.PIPE, env={"FLOWTAP_JOB": job}) for job in "ab"]
    harness.wait_until("both to be held", lambda: status(daemon.socket)["gauges"]["segments_stored"] == 2)
    daemon.settings = (*daemon.settings, setting)
    daemon.restart()
    for one in held:
        one.communicate(b"\n")
    trace = daemon.stop()
    assert trace.gaps() == [] and len(trace.processes()) == 2
