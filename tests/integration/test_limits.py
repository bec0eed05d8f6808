# SPDX-License-Identifier: MIT
"""The program's own limits, descriptors and memory are as they were; where there is no room, tracing is what yields."""

import os
import resource
import subprocess

import pytest

import harness

LIMITS = {
    "nofile 4": (resource.RLIMIT_NOFILE, 4),
    "nofile 5": (resource.RLIMIT_NOFILE, 5),
    "nofile 8": (resource.RLIMIT_NOFILE, 8),
    "fsize 100": (resource.RLIMIT_FSIZE, 100),
    "as 50 MB": (resource.RLIMIT_AS, 50_000_000),
    "as 20 MB": (resource.RLIMIT_AS, 20_000_000),
    "memlock 0": (resource.RLIMIT_MEMLOCK, 0),
    "data 10 MB": (resource.RLIMIT_DATA, 10_000_000),
    "stack 256 kB": (resource.RLIMIT_STACK, 256 * 1024),
}


@pytest.mark.parametrize("limit", LIMITS, ids=str)
def test_a_limited_program_is_the_same(tap, limit):
    which, value = LIMITS[limit]

    def narrow():
        resource.setrlimit(which, (value, resource.getrlimit(which)[1]))
    for name in "xyz":
        (tap.work / name).write_text(name * 50)
    argv = ["cat", "x", "y", "z", "/proc/self/limits"]
    plain = tap.plain(argv, preexec_fn=narrow)
    daemon = tap.daemon()
    traced = daemon.call(argv, cwd=tap.work, preexec_fn=narrow)
    assert traced.same() == plain.same()
    daemon.call(["true"])
    trace = daemon.stop()
    if not [p for p in trace.processes() if p["exe"].endswith("/cat") and p["events"]]:
        assert trace.gaps(), f"{limit}: not traced and no gap"


def test_prlimit_n4(tap):
    (tap.work / "x").write_text("x\n")
    daemon = tap.daemon()
    argv = ["prlimit", "-n4:4", "cat", "x", "x", "x"]
    plain = tap.plain(argv)
    traced = daemon.call(argv, cwd=tap.work)
    assert plain.returncode == 0 and traced.same() == plain.same()
    trace = daemon.stop()
    assert [g for g in trace.gaps() if os.path.basename(g["exe"] or "") == "cat"] or trace.count(path=str(tap.work / "x")), \
        trace.summary()["gaps"]


CLOSINGS = [(how, then) for how in ("range", "unshared", "from", "loop", "syscall")
            for then in ("nothing", "fork", "exec", "limit", "all")] + [("marked", "nothing"), ("marked", "exec")]


@pytest.mark.parametrize("how, then", CLOSINGS)
def test_closing_every_descriptor(tap, how, then):
    """The file holds what the program wrote and nothing else, and the trace all of it."""
    argv = [harness.program("close_all"), how, then]
    assert tap.plain(argv).returncode == 0
    trace = tap.run(argv)
    assert (tap.work / "file").read_bytes() == b"line\n" * 1000
    writes = trace.events(name="write", path=str(tap.work / "file"))
    if then == "limit" and not writes:
        assert trace.gaps(), "neither traced nor a gap"
    else:
        assert len(writes) == 1000 and {w["fd"] for w in writes} == {0 if then == "all" else 3}


def test_no_descriptor_of_ours_is_seen(tap):
    daemon = tap.daemon()
    script = "ls -l /proc/self/fd | sed 's/.*[0-9]:[0-9][0-9] //'; exec 3>f; ls /proc/self/fd"
    import re

    def listing(**options):
        out = harness.call(["bash", "-c", script], cwd=tap.work, **options).stdout
        return re.sub(rb"/proc/\d+|pipe:\[\d+\]", b"*", out)
    assert listing(env=daemon.env()) == listing()


def test_limits_mask_and_dispositions_are_as_untraced(tap):
    script = ("grep -E 'Sig[^Q]|Seccomp|NoNewPrivs|Threads' /proc/self/status; cat /proc/self/limits; "
              "cat /proc/self/oom_score_adj /proc/self/coredump_filter /proc/self/personality /proc/self/timerslack_ns")
    daemon = tap.daemon()
    assert daemon.call(["sh", "-c", script]).same() == harness.call(["sh", "-c", script]).same()


def test_core_dump_is_no_larger(tap):
    with open("/proc/sys/kernel/core_pattern", encoding="ascii") as f:
        harness.needs(not f.read().startswith(("|", "/")), "core_pattern does not put cores into the working directory")

    def cores():
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    daemon = tap.daemon()
    sizes = []
    for env in (harness.clean_environment(), daemon.env()):
        folder = tap.work / str(len(sizes))
        folder.mkdir()
        harness.call(["sh", "-c", "kill -SEGV $$"], cwd=folder, env=env, preexec_fn=cores)
        found = list(folder.glob("core*"))
        harness.needs(found, "this machine writes no core")
        sizes.append(found[0].stat().st_size)
    assert sizes[1] <= sizes[0] + (1 << 20), sizes


def test_mlockall_costs_little(tap):
    trace = tap.run([harness.program("lock_all")])
    assert trace.count(name="write", path=str(tap.work / "locked")) == 1000
    plain = tap.plain([harness.program("lock_all")])
    assert int(trace.ran.stdout) <= int(plain.stdout) + 4096, (trace.ran.stdout, plain.stdout)


@pytest.mark.parametrize("how", ["setrlimit", "prlimit", "lock"])
def test_memory_taken_away_while_threads_write(tap, how):
    """What the segment's mapping holds in reserve is not taken from what the program may have."""
    plain = tap.plain([harness.program("less_memory"), how])
    harness.needs(plain.returncode == 0, f"untraced: {plain.stderr.decode().strip()}")
    trace = tap.run([harness.program("less_memory"), how], check="sums")
    summary = trace.summary()
    made = int(trace.ran.stdout)
    assert [c["count"] for c in summary["calls"] if c["name"] == "pread"] == [made]
    assert summary["dropped"] == summary["dropped_by_cause"]["ring_full"]


def test_children_of_a_program_that_limits_its_memory(tap):
    """What is left of the segment is enough for one of a child's own, and of its child's."""
    code = ("import os, resource\nresource.setrlimit(resource.RLIMIT_AS, (500_000_000,) * 2)\ndef work(depth):\n"
            "    for i in range(100):\n        f = open(f'own-{depth}', 'a')\n        f.write('x')\n        f.close()\n"
            "    pid = os.fork() if depth < 3 else 0\n    if pid:\n        os.waitpid(pid, 0)\n"
            "    elif depth < 3:\n        work(depth + 1)\n        os._exit(0)\nwork(0)\nos.execv('/bin/cat', ['cat', 'own-3'])\n")
    trace = tap.run(["/usr/bin/python3", "-S", "-E", "-c", code])
    assert trace.ran.stdout == b"x" * 100 and trace.gaps() == []
    for depth in range(4):
        assert trace.file(tap.work / f"own-{depth}")["written_bytes"] == 100
    assert trace.file(tap.work / "own-3")["read_bytes"] == 100


def test_a_daemon_that_is_stopped_when_the_program_starts(tap):
    import signal
    daemon = tap.daemon()
    daemon.process.send_signal(signal.SIGSTOP)
    for i in range(20):
        done = daemon.call([harness.program("die"), "_exit"], cwd=tap.work, deadline=20)
        assert done.returncode == 3, i
    daemon.process.send_signal(signal.SIGCONT)
    trace = daemon.stop()
    assert trace.count(name="write", path=str(tap.work / "records")) == 20_000


def test_a_daemon_that_is_killed_changes_nothing(tap):
    daemon = tap.daemon()
    process = subprocess.Popen([harness.program("fork_threads"), "100"], cwd=tap.work, env=daemon.env(),
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    harness.wait_until("the program to have begun", (tap.work / "children").exists)
    daemon.kill()
    done = harness.finish(process, ["fork_threads"])
    assert done.returncode == 0 and done.stderr == b""


def test_what_a_killed_daemon_had_written_opens(tap):
    daemon = tap.daemon()
    for i in range(3):
        daemon.call([harness.program("touch_all"), *(f"k{i}-{n}" for n in range(20))], cwd=tap.work)
    harness.wait_until("three processes in the file", lambda: len(list(daemon.spool.rglob("*.flow"))) and stored(daemon) == 180)
    daemon.kill()
    import traced
    trace = traced.Trace(daemon.spool, harness.read_command)
    assert trace.count() == 180


def stored(daemon):
    import json
    done = harness.read_command("summary", "--json", daemon.spool)
    return json.loads(done.stdout)["stored"] if done.returncode == 0 else 0


def test_an_unprivileged_user(tap):
    harness.needs(os.geteuid() == 0, "changing the user needs root")
    os.chmod(tap.folder, 0o755)
    os.chmod(tap.work, 0o777)
    out = tap.folder / "of-user"
    out.mkdir()
    os.chown(out, 65534, 65534)
    done = harness.call([harness.FLOWTAP, "run", "-o", out, "--", "cat", "/etc/hostname"], user=65534, group=65534,
                        cwd=tap.work)
    assert done.returncode == 0, done.stderr
    import traced
    trace = traced.Trace(out, harness.read_command)
    trace.check_accounting()
    assert trace.one_process()["uid"] == 65534


def test_descriptor_numbers_of_children_with_threads(tap):
    assert tap.plain([harness.program("fork_close"), "20"]).returncode == 0
    (tap.work / "opened").unlink()
    trace = tap.run([harness.program("fork_close"), "20"])
    assert (tap.work / "opened").read_bytes() == b"x" * 2000
    assert trace.file(tap.work / "opened")["writes"] == 2000
