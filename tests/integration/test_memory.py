# SPDX-License-Identifier: MIT
"""A job whose memory cgroup has little left: the program lives as without us, and what found no room is counted."""

import contextlib
import os
import signal
import struct
import subprocess

import pytest

import cgroups
import harness

MIB = 1 << 20
STEP = 16 << 10
EVENTS = 200_000
CHUNKS_BY_SHIM = 1024
CHUNKS_ALLOWED_AT = 52  # in struct ft_head, proto/ring.h


def lives(version, limit, argv, env):
    """Whether a command, given a line, ends well in a new group with that limit."""
    with cgroups.MemoryGroup(version, limit) as group:
        return harness.call(group.starts(argv), env=env, stdin=b"\n").returncode == 0


def least_limit(version, argv):
    """The smallest limit with which the untraced program lives, by steps: what it uses. However often it reads."""
    too_low, enough = 0, 4 * MIB
    assert lives(version, enough, argv, harness.clean_environment())
    while enough - too_low > STEP:
        limit = (too_low + enough) // 2
        does = all(lives(version, limit, argv, harness.clean_environment()) for _ in range(3))
        too_low, enough = (too_low, limit) if does else (limit, enough)
    return enough


def check_counts(trace, program, events, runs):
    """`events`: preads of one run."""
    (pread,) = [c for c in trace.summary()["calls"] if c["name"] == "pread"]
    assert pread["count"] == runs * events
    processes = [p for p in trace.processes() if p["exe"].endswith(program)]
    assert len(processes) == runs
    for process in processes:
        assert events <= process["events"] == process["stored"] + process["dropped"]
        assert process["dropped"] == process["dropped_by_cause"]["ring_full"]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("threads", [1, 8])
def test_a_program_with_little_memory_left_lives(tap, version, threads):
    cgroups.memory_root(version)
    argv = [harness.program("hammer"), threads, EVENTS // threads, "wait"]
    uses = least_limit(version, [harness.program("hammer"), threads, 100, "wait"])
    daemon = tap.daemon()
    lefts = (1, 1.5, 2, 4)
    for left in lefts:
        with cgroups.MemoryGroup(version, uses + int(left * MIB)) as group:
            process = Waiting(daemon, argv, group)
            harness.wait_until("it to be told", lambda: process.allowed() != 0)
            process.say_line()
            assert process.end() == 0, f"{left} MiB left beside {uses} bytes"
    check_counts(daemon.stop(check="sums"), "/hammer", EVENTS // threads * threads, len(lefts))


@pytest.mark.parametrize("version", [1, 2])
def test_the_same_while_the_daemon_is_stopped(tap, version):
    """Nobody says how much there is: a program of one thread looks by itself, and what is taken unasked fits."""
    cgroups.memory_root(version)
    uses = least_limit(version, [harness.program("reader"), 100])
    daemon = tap.daemon()
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        for _ in range(5):
            assert lives(version, uses + MIB, [harness.program("reader"), EVENTS], daemon.env()), uses
    finally:
        daemon.process.send_signal(signal.SIGCONT)
    check_counts(daemon.stop(check="sums"), "/reader", EVENTS, 5)


# What /proc/self/cgroup says, what files there are below /sys/fs/cgroup, and whether a burst finds room.
GROUPS = {
    "v2, no limit": ("0::/a/b", {"a/memory.max": "max", "a/b/memory.max": "max", "a/b/cgroup.procs": ""}, True),
    "v2, no controller": ("0::/a/b", {"a/b/cgroup.procs": ""}, True),
    "v2, the root": ("0::/", {"cgroup.procs": ""}, True),
    "v2, far": ("0::/a", {"a/memory.max": "209715200", "a/memory.current": "1", "a/cgroup.procs": ""}, True),
    "v2, near": ("0::/a", {"a/memory.max": "209715200", "a/memory.current": "209615200", "a/cgroup.procs": ""}, False),
    "v2, beyond": ("0::/a", {"a/memory.max": "209715200", "a/memory.current": "309615200", "a/cgroup.procs": ""}, False),
    "v2, a parent's": ("0::/a/b/c", {"a/memory.max": "9000000", "a/memory.current": "1", "a/b/c/memory.max": "max",
                                     "a/b/c/cgroup.procs": ""}, False),
    "v2, the root of a name space": ("0::/", {"memory.max": "9000000", "memory.current": "1", "cgroup.procs": ""}, False),
    "v2, mounted elsewhere": ("0::/a", {}, False),
    "v1, no limit": ("5:cpu:/x\n4:memory:/a\n0::/", {f"memory/{d}memory.limit_in_bytes": "9223372036854771712"
                                                     for d in ("", "a/")} | {"memory/a/cgroup.procs": ""}, True),
    "v1, near": ("4:hugetlb,memory:/a\n0::/", {
        "memory/memory.limit_in_bytes": "9223372036854771712", "memory/a/memory.limit_in_bytes": "209715200",
        "memory/a/memory.usage_in_bytes": "200000000", "memory/a/cgroup.procs": "", "cgroup.procs": ""}, False),
    "v1, without its files": ("4:memory:/a", {"memory/a/cgroup.procs": ""}, False),
    "nothing": ("", {"cgroup.procs": ""}, False),
    "no such lines": ("x\n:\n1:\n0::\n4:memory", {"cgroup.procs": ""}, False),
    "a long path": ("0::/" + "a" * 1500, {"cgroup.procs": ""}, False),
}


@pytest.mark.parametrize("name", GROUPS)
def test_a_burst_that_the_daemon_has_not_seen_yet(tap, name):
    """A program of one thread looks at its groups by itself, once its ring has what is taken unasked."""
    harness.needs(os.geteuid() == 0, "mounting needs root")
    harness.needs_program("unshare")
    text, files, has_room = GROUPS[name]
    (tap.work / "text").write_text(text + "\n" if text else "")
    (tap.work / "tree").mkdir()
    for path, content in files.items():
        (tap.work / "tree" / path).parent.mkdir(parents=True, exist_ok=True)
        (tap.work / "tree" / path).write_text(content + "\n")
    script = 'mount --bind text /proc/$$/cgroup && mount --bind tree /sys/fs/cgroup && exec "$@"'
    argv = ["unshare", "-m", "sh", "-c", script, "sh", harness.program("reader"), "40000"]
    plain = tap.plain(argv, stdin=b"\n")
    harness.needs(plain.returncode == 0, f"untraced: {plain.stderr.decode().strip()}")
    daemon = tap.daemon()
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        assert daemon.call(argv, stdin=b"\n", cwd=tap.work).same() == plain.same()
    finally:
        daemon.process.send_signal(signal.SIGCONT)
    reader = daemon.stop(check="sums").image("/reader")
    assert (reader["dropped"] == 0) == has_room, reader
    assert has_room or 15_000 < reader["stored"] <= 128 * 126


class Waiting:
    """A traced program that says that it is ready, and goes on at each line that it gets."""

    def __init__(self, daemon, argv, group=None):
        self.process = subprocess.Popen([str(a) for a in (group.starts(argv) if group else argv)], env=daemon.env(),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        daemon.tap.cleanup.append(lambda: harness.end_child(self.process))
        assert self.process.stdout.readline() == b"ready\n"
        with open(f"/proc/{self.process.pid}/maps", encoding="ascii") as maps:
            self.head = next(int(line.split("-")[0], 16) for line in maps if "memfd:flowtap" in line)

    def allowed(self):
        """The word that tells how many chunks it may take."""
        with open(f"/proc/{self.process.pid}/mem", "rb", buffering=0) as memory:
            return struct.unpack("=I", os.pread(memory.fileno(), 4, self.head + CHUNKS_ALLOWED_AT))[0]

    def say_line(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def go_on(self):
        self.say_line()
        assert self.process.stdout.readline() == b"done\n"

    def end(self):
        return harness.finish(self.process, ["it"]).returncode


EPOCHS = r"""
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static long own_kib(void)
{
    char line[256];
    long kib = -1;
    FILE *f = fopen("/proc/self/smaps_rollup", "r"); /* counted page by page; RssAnon is an estimate */
    while (fgets(line, sizeof line, f))
        sscanf(line, "Anonymous: %ld", &kib);
    fclose(f);
    return kib;
}
int main(void)
{
    char byte;
    long after_first = 0;
    int fd = open("data", O_RDWR | O_CREAT, 0600);
    ftruncate(fd, 16384L * 4096);
    for (int epoch = 0; epoch < 61; epoch++) {
        for (long i = 0; i < 16384; i++)
            if (pread(fd, &byte, 1, i * 7919 % 16384 * 4096 + epoch % 2) != 1)
                return 1;
        if (epoch == 0)
            after_first = own_kib();
    }
    printf("%ld\n", own_kib() - after_first);
    return 0;
}
"""


def test_a_million_calls_over_the_same_offsets_take_no_memory(tap):
    """As of epochs: what a call costs does not depend on those before it."""
    trace = tap.run([tap.compiled("epochs", EPOCHS)], check="sums")
    assert int(trace.ran.stdout) <= 64, "KiB of the program's own"
    (row,) = [c for c in trace.summary()["calls"] if c["name"] == "pread"]
    assert (row["count"], row["bytes"]) == (61 * 16384, 61 * 16384)


FEW_CALLS = r"""
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    char any;
    if (write(1, "!", 1) != 1 || read(0, &any, 1) != 1)
        return 1;
    for (int i = atoi(argv[1]); i > 0; i--)
        lseek(0, 0, SEEK_CUR);
    return write(1, "!", 1) != 1 || read(0, &any, 1) != 1;
}
"""


def segment_bytes(daemon):
    """Memory behind the one segment that the daemon holds."""
    held = []
    for fd in os.listdir(f"/proc/{daemon.process.pid}/fd"):
        path = f"/proc/{daemon.process.pid}/fd/{fd}"
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            if os.readlink(path).startswith("/memfd:flowtap"):
                held.append(os.stat(path))
    assert len(held) <= 1
    return held[0].st_blocks * 512 if held else 0


def test_a_process_of_few_calls_is_charged_little(tap):
    """Of a daemon that takes nothing meanwhile: all of its records are there at once."""
    daemon = tap.daemon()
    program = subprocess.Popen([tap.compiled("few_calls", FEW_CALLS), "390"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=daemon.env())
    assert program.stdout.read(1) == b"!"
    harness.wait_until("its segment", lambda: segment_bytes(daemon) > 0)
    assert segment_bytes(daemon) <= 24 << 10
    daemon.process.send_signal(signal.SIGSTOP)
    program.stdin.write(b"!")
    program.stdin.flush()
    assert program.stdout.read(1) == b"!"
    assert segment_bytes(daemon) <= 32 << 10
    daemon.process.send_signal(signal.SIGCONT)
    program.communicate(b"!")
    assert program.returncode == 0
    (lseek,) = [c for c in daemon.stop().summary()["calls"] if c["name"] == "lseek"]
    assert lseek["count"] == 390


def test_a_ring_that_was_allowed_all_its_share_holds_it(tap):
    """Also while the daemon is stopped: 4 MiB of 126 events in 4 KiB, but for the last steps of growth."""
    daemon = tap.daemon()
    reader = Waiting(daemon, [harness.program("reader"), 1_000_000])
    harness.wait_until("it to be told", lambda: reader.allowed() == CHUNKS_BY_SHIM)
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        reader.go_on()
    finally:
        daemon.process.send_signal(signal.SIGCONT)
    assert reader.end() == 0
    trace = daemon.stop(check="sums")
    assert 120_000 < trace.image("/reader")["stored"] <= CHUNKS_BY_SHIM * 126
    (pread,) = [c for c in trace.summary()["calls"] if c["name"] == "pread"]
    assert pread["count"] == 1_000_000


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("words", [[], ["lock"]], ids=["reads", "locks"])
def test_memory_that_gets_short_later(tap, version, words):
    """What was allowed is taken back; a ring that the daemon made larger meanwhile costs a process that locks its memory
    no more than before."""
    with contextlib.ExitStack() as stack:
        group = stack.enter_context(cgroups.MemoryGroup(version, 1 << 30))
        daemon = tap.daemon()
        reader = Waiting(daemon, [harness.program("reader"), 300_000, *words], group)
        harness.wait_until("it to be told", lambda: reader.allowed() == CHUNKS_BY_SHIM)
        reader_limit = group.usage() + (3 if words else 1) * MIB
        group.limit(reader_limit)
        harness.wait_until("it to be told otherwise", lambda: reader.allowed() < CHUNKS_BY_SHIM)
        for _ in range(5):
            reader.go_on()
        assert reader.end() == 0
        trace = daemon.stop(check="sums")
        (pread,) = [c for c in trace.summary()["calls"] if c["name"] == "pread"]
        assert pread["count"] == 1_500_000
