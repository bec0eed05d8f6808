# SPDX-License-Identifier: MIT
"""However a process ends, what it did is in the trace."""

import collections
import os
import signal
import struct
import subprocess
import threading
import time

import pytest

import harness

# how, status of the shell's kind, what `processes` says
ENDS = [
    ("_exit", 3, {"code": 3}),
    ("_Exit", 3, {"code": 3}),
    ("quick_exit", 3, {"code": 3}),
    ("exit", 3, {"code": 3}),
    ("return", 3, {"code": 3}),
    ("thread", 3, {"code": 3}),
    ("pthread_exit", 0, {"code": 0}),
    ("abort", 128 + signal.SIGABRT, {"signal": signal.SIGABRT}),
    ("segv", 128 + signal.SIGSEGV, {"signal": signal.SIGSEGV}),
    ("sigterm", 128 + signal.SIGTERM, {"signal": signal.SIGTERM}),
    ("sigkill", 128 + signal.SIGKILL, {"signal": signal.SIGKILL}),
]


@pytest.mark.parametrize("how, status, exit_", ENDS, ids=[e[0] for e in ENDS])
def test_a_thousand_records_survive(tap, how, status, exit_):
    trace = tap.run([harness.program("die"), how], status=status)
    writes = trace.events(name="write", path=str(tap.work / "records"))
    assert [(w["size"], w["result"], w["offset"]) for w in writes] == [(10, 10, i * 10) for i in range(1000)]
    assert trace.summary()["dropped"] == 0
    ended = trace.one_process()["exit"]
    assert {k: ended.get(k) for k in exit_} == {k: int(v) for k, v in exit_.items()}, ended


def test_a_thousand_records_survive_exec(tap):
    trace = tap.run([harness.program("die"), "exec"], status=3)
    assert trace.count(name="write", path=str(tap.work / "records")) == 1000
    images = sorted(trace.processes(), key=lambda p: p["start"])
    assert [os.path.basename(p["exe"]) for p in images] == ["die", os.path.basename(os.path.realpath("/bin/sh"))]
    assert len({p["pid"] for p in images}) == 1


@pytest.mark.parametrize("how", ["_exit", "sigkill", "segv"])
def test_hundred_short_processes_lose_nothing(tap, how):
    daemon = tap.daemon()
    script = f'for i in $(seq 100); do (exec "$0" {how}) 2>/dev/null; done'
    daemon.call(["dash", "-c", script, harness.program("die")], cwd=tap.work)
    trace = daemon.stop()
    assert trace.count(name="write", path=str(tap.work / "records")) == 100_000
    died = [p for p in trace.processes() if (p["exe"] or "").endswith("/die")]
    assert len(died) == 100


def test_a_read_that_hangs_is_shown_with_its_path(tap):
    os.mkfifo(tap.work / "fifo")
    daemon = tap.daemon()
    process = subprocess.Popen([harness.program("hang_fifo")], cwd=tap.work, env=daemon.env(), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE)
    tap.cleanup.append(process.kill)
    assert process.stdout.read(1) == b"R"
    harness.wait_until("the process to sleep in read", lambda: sleeps_in_read(process.pid))
    process.kill()
    process.wait()
    process.stdout.close()
    trace = daemon.stop()
    hung = trace.one_process(pid=process.pid)
    assert [(c["call"], c["path"]) for c in hung["in_call"]] == [("read", str(tap.work / "fifo"))]
    last_write = trace.events(name="write", pid=process.pid)[-1]
    since = hung["in_call"][0]["since"]
    assert last_write["ts"] / 1e9 <= since <= hung["end"] + 0.001
    assert hung["in_call"][0]["tid"] == process.pid
    assert hung["exit"]["signal"] == signal.SIGKILL
    assert trace.count(name="read", path=str(tap.work / "fifo")) == 0


def sleeps_in_read(pid):
    with open(f"/proc/{pid}/syscall", encoding="ascii") as f:
        return f.read().split()[0] == ("0" if os.uname().machine == "x86_64" else "63")


def kill_after(daemon, folder, delay_s):
    """8 children that write, ended by SIGTERM and, a little later, by SIGKILL; gives what they had done by then."""
    folder.mkdir()
    process = subprocess.Popen([harness.program("workers8"), "witness"], cwd=folder, env=daemon.env(), stdin=subprocess.DEVNULL,
                               start_new_session=True)

    def counts():
        return struct.unpack("<8Q", (folder / "witness").read_bytes()[:64])
    harness.wait_until("all children to write", lambda: (folder / "witness").exists() and (folder / "witness").stat().st_size and all(counts()))
    os.killpg(process.pid, signal.SIGTERM)
    threading.Event().wait(delay_s)
    harness.end_group(process)
    return counts()


@pytest.mark.parametrize("runs", [20, pytest.param(200, marks=pytest.mark.soak)])
def test_terminated_then_killed(tap, runs):
    """The pause is part of what is tried, not a wait for something: from none to 20 ms."""
    daemon = tap.daemon()
    done = {i: kill_after(daemon, tap.work / str(i), i % 21 / 1000) for i in range(runs)}
    trace = daemon.stop()
    causes = trace.summary()["dropped_by_cause"]
    assert causes["torn"] <= 8 * runs and sum(causes.values()) == causes["torn"], causes
    written = collections.Counter(e["path"] for e in trace.events(name="pwrite"))
    missing = 0
    for i, counts in done.items():
        for n, count in enumerate(counts):
            have = written[str(tap.work / str(i) / f"child-{n}")]
            assert count - 1 <= have <= count + 1, (i, n, count, have)
            missing += max(0, count - have)
    assert missing <= causes["torn"]


def test_the_exit_of_a_child_that_is_older_than_its_image(tap):
    """Where forking, executing and loading took long: the pid was made before one would think that it is this image's."""
    daemon = tap.daemon()
    daemon.process.send_signal(signal.SIGSTOP)
    older_s = 0.3  # than the daemon takes an image to be by the times alone
    made = time.monotonic()
    reader, writer = os.pipe()
    child = subprocess.Popen(["sh", "-c", f"read line; exec env FLOWTAP=1 LD_PRELOAD={harness.PRELOAD} "
                              f"FLOWTAP_SOCKET={daemon.socket} {harness.program('die')} _Exit"],
                             stdin=reader, cwd=tap.work)
    harness.wait_until("the child's age", lambda: time.monotonic() > made + older_s)
    os.write(writer, b"\n")
    os.close(writer)
    os.close(reader)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    daemon.process.send_signal(signal.SIGCONT)
    process = daemon.stop().one_process()
    child.wait()
    assert process["exit"] and process["exit"]["code"] == 3
