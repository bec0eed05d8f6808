# SPDX-License-Identifier: MIT
"""What goes wrong around the daemon: it degrades, says so in `flowtap status`, recovers, and loses no total.

Calls of the daemon fail by a preloaded library (tests/programs/fault.so.c); the program does its calls in stages, so
that a test knows which were made while what was wrong.
"""

import errno
import json
import os
import subprocess
import time

import pytest

import harness

STAGE = 3000


class Stages:
    """tests/programs/stages.c under a daemon whose calls can be made to fail."""

    def __init__(self, tap, *settings):
        self.tap = tap
        self.control = tap.folder / "fault"
        self.control.write_bytes(bytes(4096))
        self.daemon = harness.Daemon(tap, "d", ["block_age=100ms", *settings],
                                     env={"LD_PRELOAD": harness.program("fault.so"), "FAULT_CONTROL": self.control,
                                          "FAULT_BELOW": tap.folder / "d/spool"})
        self.stages = 0

    def fail(self, text=""):
        """What fails from now on; nothing, without text. The file is mapped: it is changed in place."""
        with open(self.control, "r+b") as f:
            f.write(text.encode().ljust(4096, b"\0"))

    def start(self, fails=""):
        self.daemon.start()
        self.fail(fails)
        fifo = self.tap.work / "fifo"
        os.mkfifo(fifo)
        self.process = subprocess.Popen([harness.program("stages"), fifo, str(STAGE)], env=self.daemon.env(),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd=self.tap.work)
        self.tap.cleanup.append(lambda: harness.end_child(self.process))
        self.fifo = open(fifo, "wb", buffering=0)
        self.tap.cleanup.append(self.fifo.close)
        return self

    def stage(self):
        self.fifo.write(b"x")
        assert self.process.stdout.readline() == b"done\n"
        self.stages += 1

    def stage_at_once(self):
        """A stage of which the daemon sees nothing before all is there: none of it is in an earlier block."""
        with harness.stopped(self.daemon):
            self.stage()

    def status(self):
        done = harness.call([harness.FLOWTAP, "status", "--json", "--socket", self.daemon.socket])
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def wait_for_counter(self, name, least=1):
        harness.wait_until(f"{name} in status", lambda: self.status()["counters"][name] >= least)

    def finish(self):
        """Ends the program and the daemon; checks that the account closes and every call is in the totals."""
        self.fifo.close()
        assert self.process.wait(harness.DEADLINE_S) == 0
        trace = self.daemon.stop()
        self.check(trace)
        return trace

    def check(self, trace):
        process = trace.image("/stages")
        assert process["events"] == 2 + self.stages * (STAGE + 2) + 1, process
        pread = [c for c in trace.summary()["calls"] if c["name"] == "pread"][0]
        assert (pread["count"], pread["bytes"]) == (self.stages * STAGE, self.stages * STAGE)
        offsets = [e["offset"] for e in trace.events(name="pread")]
        assert len(set(offsets)) == len(offsets), "no event twice"
        assert harness.read_command("verify", trace.path).returncode == 0


ERRORS = [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS]


@pytest.mark.parametrize("error", ERRORS, ids=errno.errorcode.get)
def test_writes_that_fail_for_a_while(tap, error):
    stages = Stages(tap).start()
    stages.stage()
    stages.wait_for_counter("events", STAGE)
    stages.fail(f"write={error}")
    stages.stage()
    stages.wait_for_counter("disk_full")
    (trouble,) = stages.status()["troubles"]
    assert str(stages.daemon.spool) in trouble and os.strerror(error) in trouble
    stages.fail()
    harness.wait_until("a later stage to be written", lambda: stages.stage() or stages.status()["counters"]["events"] >= 2 * STAGE)
    trace = stages.finish()
    assert 0 < trace.summary()["dropped_by_cause"]["disk_full"] == trace.summary()["dropped"]
    assert trace.summary()["stored"] >= 2 * STAGE


@pytest.mark.parametrize("error", ERRORS, ids=errno.errorcode.get)
def test_writes_that_fail_to_the_end(tap, error):
    """What was written before stays readable; the rest is gone from a trace that could not be written, and the log says so."""
    stages = Stages(tap).start()
    stages.stage()
    stages.wait_for_counter("events", STAGE)
    stages.fail(f"write={error}")
    stages.stage()
    stages.wait_for_counter("disk_full")
    stages.fifo.close()
    assert stages.process.wait(harness.DEADLINE_S) == 0
    trace = stages.daemon.stop(check="unwritten")
    assert trace.count(name="pread") >= STAGE
    assert os.strerror(error) in stages.daemon.log()


def test_short_writes_lose_nothing(tap):
    stages = Stages(tap)
    stages.fail("short=1")
    stages.start()
    for _ in range(5):
        stages.stage()
    assert stages.finish().summary()["dropped"] == 0


@pytest.mark.parametrize("call,error", [("open", errno.EACCES), ("open", errno.EMFILE), ("open", errno.ENOSPC), ("mkdir", errno.EROFS),
                                        ("mkdir", errno.EDQUOT)])
def test_a_file_that_cannot_be_made_at_first(tap, call, error):
    stages = Stages(tap).start(fails=f"{call}={error}")
    stages.stage()
    stages.wait_for_counter("disk_full")
    assert os.strerror(error) in stages.status()["troubles"][0]
    stages.fail()
    stages.stage()
    trace = stages.finish()
    assert trace.summary()["dropped"] == trace.summary()["dropped_by_cause"]["disk_full"]


def test_a_reserve_that_cannot_be_taken(tap):
    stages = Stages(tap)
    stages.fail(f"fallocate={errno.ENOSPC}\nftruncate={errno.EIO}")
    stages.start()
    stages.stage()
    stages.fail()
    stages.stage()
    stages.finish()


@pytest.mark.parametrize("bytes_", [100, 1000, 4096])
def test_no_memory_for_a_block(tap, bytes_):
    """Its events are dropped as that, not as a full disk; and it is told."""
    stages = Stages(tap).start()
    stages.wait_for_counter("attached")
    stages.stage_at_once()
    stages.wait_for_counter("events", STAGE)
    stages.fail(f"memory={bytes_}")
    stages.stage_at_once()
    harness.wait_until("a word about it", lambda: "no memory for a block" in stages.daemon.log())
    stages.fail()
    trouble, = stages.status()["troubles"]
    assert "no memory" in trouble
    stages.stage()
    causes = {cause: n for cause, n in stages.finish().summary()["dropped_by_cause"].items() if n}
    assert list(causes) == ["daemon_limit"] and causes["daemon_limit"] >= STAGE, causes


def test_events_for_which_a_block_has_no_room_are_counted_once(tap):
    """Some find no memory for their rows; then the whole block finds none for its streams, which are not there yet."""
    stages = Stages(tap).start()
    stages.wait_for_counter("attached")
    stages.fail("memory=60000")
    stages.stage_at_once()
    harness.wait_until("a word about it", lambda: "no memory for a block" in stages.daemon.log())
    stages.fail()
    stages.stage()
    assert stages.finish().summary()["dropped_by_cause"]["daemon_limit"] >= STAGE
    assert "contradict" not in stages.daemon.log()


def test_a_process_for_which_there_is_no_memory_is_told_as_that(tap):
    """It sent a sound segment: neither the gap nor the counter says otherwise."""
    run = Stages(tap).start()
    run.stage()
    run.wait_for_counter("attached")
    run.fail("memory=4096\n")
    assert run.daemon.call(["true"]).returncode == 0
    harness.wait_until("the process to be refused", lambda: "not admitted" in run.daemon.log())
    run.fail()
    run.wait_for_counter("refused_own")
    assert run.status()["counters"]["refused_memory"] == 0
    run.stage()
    gap, = run.finish().gaps("not_admitted")
    assert "memory" in gap["reason"] and "segment" not in gap["reason"], gap


@pytest.mark.parametrize("seconds", [86400, -86400])
def test_a_clock_that_is_stepped(tap, seconds):
    stages = Stages(tap).start()
    stages.stage()
    stages.wait_for_counter("events", STAGE)
    stages.fail(f"realtime={seconds}")
    stages.stage()
    trace = stages.finish()
    stamps = [e["ts"] for e in trace.events(name="pread")]
    assert len(stamps) == 2 * STAGE and stamps == sorted(stamps)
    assert stamps[-1] - stamps[0] < 3600e9 and trace.summary()["wall_time"] < 3600


def test_descriptors_that_run_out(tap):
    """Who cannot be taken is a gap; who came before and comes after is served."""
    daemon = tap.daemon()
    harness.call(["prlimit", f"--pid={daemon.process.pid}", "-n80:80"])
    held = []
    for _ in range(60):
        held.append(subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=daemon.env()))
        tap.cleanup.append(lambda p=held[-1]: harness.end_child(p))

    def status():
        done = harness.call([harness.FLOWTAP, "status", "--json", "--socket", daemon.socket])
        return json.loads(done.stdout) if done.returncode == 0 else None

    for process in held[:40]:
        process.stdin.close()
        assert process.wait(harness.DEADLINE_S) == 0
    harness.wait_until("refusals in status", lambda: (status() or {"counters": {"refused_own": 0}})["counters"]["refused_own"])
    harness.wait_until("room", lambda: (status() or {"gauges": {"processes": 1}})["gauges"]["processes"] == 0)
    assert daemon.call([harness.program("hammer"), 1, 100]).returncode == 0
    for process in held[40:]:
        process.stdin.close()
        assert process.wait(harness.DEADLINE_S) == 0
    trace = daemon.stop()
    assert trace.image("/hammer")["events"] == 102
    seen = len([p for p in trace.processes() if p["exe"] == "/usr/bin/cat"])
    assert 0 < seen < 60 and sum(g["count"] for g in trace.gaps("not_admitted")) == 60 - seen, (seen, trace.gaps())


def test_pids_that_are_used_again(tap):
    harness.needs(os.geteuid() == 0, "a pid namespace needs root")
    before = open("/proc/sys/kernel/pid_max").read()
    code = ("echo 400 > /proc/sys/kernel/pid_max || exit 77; i=0; while [ $i -lt 700 ]; do /bin/echo $i > /dev/null; i=$((i+1)); done; exit 0")
    probe = harness.call(["unshare", "-pf", "--mount-proc", "sh", "-c", "echo 400 > /proc/sys/kernel/pid_max"])
    after = open("/proc/sys/kernel/pid_max").read()
    if after != before:
        open("/proc/sys/kernel/pid_max", "w").write(before)
    harness.needs(probe.returncode == 0 and after == before, "pid_max is not a pid namespace's own here")
    out = tap.folder / "trace"
    done = harness.call(["unshare", "-pf", "--mount-proc", harness.FLOWTAP, "run", "-o", out, "--", "sh", "-c", code], deadline=120)
    assert done.returncode == 0, done.stderr
    trace = harness.Trace(out, harness.read_command)
    trace.check_accounting()
    echoes = [p for p in trace.processes() if p["exe"] == "/usr/bin/echo"]
    assert len(echoes) == 700 and all(p["exit"].get("code") == 0 for p in echoes)
    assert len({p["pid"] for p in echoes}) < 400 and trace.gaps() == []


SHORT = """
import os, sys
for i in range(int(sys.argv[1])):
    if os.fork() == 0:
        os.close(os.open("/dev/null", 0))
        WORK
    if i % 50 == 49:
        [os.wait() for _ in range(50)]
"""


@pytest.mark.parametrize("count,each", [(3000, "fork"), (1000, "exec")])
@pytest.mark.parametrize("parents", [1, 4])
def test_thousands_of_short_processes(tap, count, each, parents, record_property):
    """As fast as they come, by one and by several at a time: each is there, with each of its calls and its end."""
    work = "os._exit(0)" if each == "fork" else "os.execv('/bin/true', ['true'])"
    argv = ["/usr/bin/python3", "-S", "-E", "-c", SHORT.replace("WORK", work), str(count // parents)]
    daemon = tap.daemon()
    begun = time.monotonic()
    running = [subprocess.Popen(argv, cwd=tap.work, env=daemon.env(), stdin=subprocess.DEVNULL) for _ in range(parents)]
    tap.cleanup += [lambda one=one: harness.end_child(one) for one in running]
    assert [one.wait(120) for one in running] == [0] * parents
    record_property("processes a second", round(count / (time.monotonic() - begun)))
    trace = daemon.stop()
    assert trace.gaps() == [] and trace.summary()["dropped"] == 0 and not trace.summary()["partial"]
    makers = {one.pid for one in running}
    made = [p for p in trace.processes() if p["parent"] in makers and not p["is_exec"]]
    assert len(made) == len({(p["pid"], p["start"]) for p in made}) == count
    assert {p["events"] for p in made} == {3}, "open, close, and the call that ends it"
    ended = made if each == "fork" else [p for p in trace.processes() if p["exe"].endswith("/true")]
    assert len(ended) == count and {p["exit"]["code"] for p in ended if p["exit"]} == {0}
    assert trace.count(name="_exit" if each == "fork" else "execv") == count
