# SPDX-License-Identifier: MIT
"""Limits, memory, namespaces and identities that a program is put into: it is as it would be, and what is missing is said."""

import ctypes
import os
import pathlib
import re
import resource
import signal
import subprocess
import time

import pytest

import harness

SCRIPTS = {
    "fsize": "ulimit -f 100; head -c 200000 /dev/zero > big; echo $?; cat a.txt; ulimit -f",
    "as": "ulimit -v 50000; cat a.txt; ulimit -v; sh -c 'cat a.txt'",
    "nofile": "ulimit -n 4; cat a.txt a.txt; ulimit -n",
    "memlock": "ulimit -l 0; cat a.txt; ulimit -l",
    "stack": "ulimit -s 128; cat a.txt; sh -c 'ulimit -s'",
    "stack without limit": "ulimit -s unlimited; cat a.txt; ulimit -s",
    "processes": "ulimit -u 20000; cat a.txt; ulimit -u",
    "cpu": "ulimit -t 1; sh -c 'while :; do :; done'; echo $?",
    "data": "ulimit -d 20000; cat a.txt; ulimit -d",
    "signals": "ulimit -i 0; cat a.txt; ulimit -i",
    "core": "ulimit -c 0; sh -c 'kill -SEGV $$'; echo $?; ulimit -c",
    "no randomisation": "setarch -R sh -c 'cat a.txt; setarch -R true'",
    "no new privileges": "setpriv --no-new-privs sh -c 'cat a.txt; grep NoNewPrivs /proc/self/status'",
    "no capabilities": "setpriv --bounding-set=-all --inh-caps=-all sh -c 'cat a.txt; grep Cap /proc/self/status'",
    "another user": "setpriv --reuid 65534 --regid 65534 --clear-groups sh -c 'id -u; cat a.txt; (cat a.txt)'",
    "user namespace": "unshare -Ur sh -c 'id -u; cat a.txt; echo x > in-user'",
    "pid namespace": "unshare -pf --mount-proc sh -c 'echo $$; cat a.txt; (cat a.txt; exit 3); echo $?'",
    "network namespace": "unshare -n sh -c 'cat a.txt; echo x > in-net'",
    "all namespaces": "unshare -Urpfnmiu --mount-proc sh -c 'echo $$; cat a.txt; echo x > in-all'",
    "dumpable": "python3 -c 'import ctypes, os; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); print(open(\"a.txt\").read()); os.system(\"cat a.txt\")'",
}


def without_pids(text):
    """A shell names the process that was killed by its number."""
    return re.sub(rb"(line \d+:) +\d+ (?=[A-Z])", rb"\1 PID ", text)


@pytest.mark.parametrize("what", SCRIPTS, ids=[s.replace(" ", "-") for s in SCRIPTS])
def test_as_untraced(tap, what):
    needed = SCRIPTS[what].split()[0]
    if needed in ("setarch", "setpriv", "unshare", "python3"):
        harness.needs_program(needed)
    os.chmod(tap.folder, 0o755)
    os.chmod(tap.work, 0o777)
    (tap.work / "a.txt").write_text("text\n")
    plain = tap.plain(["bash", "-c", SCRIPTS[what]])
    if needed == "unshare":
        harness.needs(b"unshare:" not in plain.stderr, plain.stderr.decode().strip())
    daemon = tap.daemon()
    done = daemon.call(["bash", "-c", SCRIPTS[what]], cwd=tap.work)
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout)
    assert without_pids(done.stderr) == without_pids(plain.stderr)
    trace = daemon.stop()
    read = sum(e["name"] == "read" and e["result"] == 5 and e["path"] == str(tap.work / "a.txt") for e in trace.events())
    want = "a.txt" in SCRIPTS[what]
    assert read or not want or trace.gaps(), trace.summary()["gaps"]


@pytest.mark.parametrize("offset", ["100000", "-60"])
def test_a_time_namespace(tap, offset):
    """Its clocks are others; times are told by those outside."""
    (tap.work / "a.txt").write_text("text\n")
    argv = ["unshare", "-T", "--monotonic", offset, "--boottime", offset, "sh", "-c", "cat a.txt; (cat a.txt); exec cat a.txt"]
    plain = tap.plain(argv)
    harness.needs(plain.returncode == 0, plain.stderr.decode().strip())
    before = time.time()
    trace = tap.run(argv)
    assert trace.ran.stdout == plain.stdout
    processes = trace.processes()
    assert sum(p["exe"].endswith("/cat") for p in processes) == 3
    for p in processes:
        assert before - 0.1 < p["start"] <= p["end"] < time.time(), p
    for e in trace.events():
        assert any(p["start"] - 0.001 <= e["ts"] / 1e9 <= p["end"] + 0.001 for p in processes if p["pid"] == e["pid"]), e


def test_core_flag_and_signal(tap):
    """waitpid says of a traced program what it would say."""
    def cores():
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    daemon = tap.daemon()
    for how in ("kill -ABRT $$", "kill -SEGV $$", "kill -TERM $$", "kill -KILL $$", "exit 9"):
        statuses = []
        for env in (harness.clean_environment(), daemon.env()):
            process = subprocess.Popen(["bash", "-c", how], cwd=tap.work, env=env, preexec_fn=cores, stdin=subprocess.DEVNULL)
            statuses.append(os.waitpid(process.pid, 0)[1])
            process.returncode = 0
        assert statuses[0] == statuses[1], (how, statuses)


def test_memory_of_the_job_at_its_limit(tap):
    """In a memory cgroup that is full the program is not ended on our account."""
    group = make_memory_group(tap, 8 << 20)
    argv = [harness.program("hammer"), "4", "100000"]
    plain = tap.plain(argv, preexec_fn=lambda: enter(group))
    harness.needs(plain.returncode == 0, f"untraced it ends with {plain.returncode} there")
    daemon = tap.daemon()
    done = daemon.call(argv, cwd=tap.work, preexec_fn=lambda: enter(group))
    assert done.same() == plain.same()
    trace = daemon.stop(check="sums")
    summary = trace.summary()
    assert summary["events"] == 4 * 100_002 == summary["stored"] + summary["dropped"] or trace.gaps()


def make_memory_group(tap, limit):
    """A memory cgroup of version 2 or 1 below the root; skips where none can be made."""
    harness.needs(os.geteuid() == 0, "a cgroup needs root")
    name = f"flowtap-test-{os.getpid()}-{limit}"
    for root, file in ((pathlib.Path("/sys/fs/cgroup"), "memory.max"), (pathlib.Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes")):
        group = root / name
        try:
            group.mkdir()
        except OSError:
            continue
        tap.cleanup.append(group.rmdir)
        if (group / file).exists():
            (group / file).write_text(str(limit))
            return group
    return pytest.skip("no memory cgroup can be made here")


def enter(group):
    (group / "cgroup.procs").write_text(str(os.getpid()))


def test_full_dev_shm(tap):
    harness.needs(os.geteuid() == 0, "mounting needs root")
    script = ("mount -t tmpfs -o size=4k none /dev/shm && (head -c 100000 /dev/zero > /dev/shm/full; true) 2>/dev/null && "
              "cat /etc/hostname && exec \"$0\" 2 1000")
    trace = tap.run(["unshare", "-m", "sh", "-c", script, harness.program("hammer")])
    assert trace.count(name="pread") == 2000


def test_strict_overcommit(tap):
    """Only where it is so already: it is the whole machine's."""
    with open("/proc/sys/vm/overcommit_memory", encoding="ascii") as f:
        harness.needs(f.read().strip() == "2", "vm.overcommit_memory is not 2 here, and it is the whole machine's")
    trace = tap.run([harness.program("hammer"), "4", "10000"])
    assert trace.count(name="pread") == 40_000


LANDLOCK_CREATE, LANDLOCK_RESTRICT = 444, 446


def test_landlock(tap):
    """A process that may open nothing any more goes on being recorded; what it forks and executes is, or is a gap."""
    libc = ctypes.CDLL(None, use_errno=True)
    harness.needs(libc.syscall(LANDLOCK_CREATE, None, 0, 1) > 0, "this kernel has no Landlock")
    code = ("import ctypes, os, struct\nlibc = ctypes.CDLL(None)\nf = os.open('a.txt', os.O_RDWR)\nlibc.prctl(38, 1, 0, 0, 0)\n"
            f"r = libc.syscall({LANDLOCK_CREATE}, struct.pack('Q', 0x1fff), 8, 0)\nassert libc.syscall({LANDLOCK_RESTRICT}, r, 0) == 0\n"
            "try:\n    open('b')\nexcept PermissionError:\n    os.pwrite(f, b'denied', 0)\nif os.fork() == 0:\n    os.pwrite(f, b'child', 10)\n"
            "    os._exit(0)\nos.wait()\n")
    (tap.work / "a.txt").write_text("")
    (tap.work / "b").write_text("")
    trace = tap.run(["/usr/bin/python3", "-c", code])
    assert (tap.work / "a.txt").read_bytes() == b"denied\0\0\0\0child"
    writes = sum(e["name"].startswith("pwrite") for e in trace.events())
    assert writes == 2 or (writes == 1 and trace.gaps()), trace.gaps()


def test_signals_while_attaching_wait(tap):
    """A handler's calls in a program that gets a signal as it starts."""
    (tap.work / "a.txt").write_text("text\n")
    daemon = tap.daemon()
    for _ in range(20):
        process = subprocess.Popen(["cat", "a.txt"], cwd=tap.work, env=daemon.env(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        process.send_signal(signal.SIGWINCH)
        assert process.communicate()[0] == b"text\n" and process.returncode == 0
    assert daemon.stop().file(tap.work / "a.txt")["read_bytes"] == 100
