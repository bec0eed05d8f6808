# SPDX-License-Identifier: MIT
"""The private daemon of `flowtap run`: one that is killed is followed by another, and a run knows its own files."""

import os
import signal
import subprocess

import pytest

import harness
import traced

# The command itself kills the daemon of its run, and the one that follows it, and so on; then it may wait until the next one
# listens, and start another program. It prints whom it has killed.
KILLS = """
import os, signal, subprocess, sys
def is_daemon(pid):
    try:
        name, _, rest = open(f"/proc/{pid}/stat").read().partition("(")[2].rpartition(")")
        return name == "flowtapd" and rest.split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False
def daemon(killed):
    parent = os.getppid()
    while True:
        for child in open(f"/proc/{parent}/task/{parent}/children").read().split():
            if int(child) not in killed and is_daemon(child):
                return int(child)
def socket():
    try:
        return os.stat(os.environ["FLOWTAP_SOCKET"]).st_ino
    except FileNotFoundError:
        return 0
killed = []
for i in range(int(sys.argv[1])):
    old = socket()
    pid = daemon(killed)
    os.kill(pid, getattr(signal, sys.argv[3]))
    killed.append(pid)
    while sys.argv[2] == "listens" and socket() in (0, old):
        pass
    if sys.argv[2] == "listens":
        subprocess.run(["cat", "/etc/hostname"], stdout=subprocess.DEVNULL, check=True)
print(*killed)
sys.exit(7)
"""


def killed(tap, times, until, by="SIGKILL", how="signal 9"):
    argv = [harness.FLOWTAP, "run", "-o", tap.folder / "t", "--", "/usr/bin/python3", "-S", "-E", "-c", KILLS, times, until, by]
    done = harness.call(argv, cwd=tap.work)
    trace = traced.Trace(tap.folder / "t", harness.read_command)
    trace.check_accounting()
    summary = trace.summary()
    assert (done.returncode, summary["partial"], summary["unclosed"]) == (7, False, 0), done.stderr
    assert len(set(done.stdout.split())) == times
    reasons = [gap["reason"] for gap in trace.gaps("daemon_stopped") if gap["pid"] is None]
    assert reasons and all(how in reason for reason in reasons)
    ended = f"flowtapd ended with {how}".encode()
    assert ended in done.stderr and b"daemon_stopped: " + ended in done.stderr
    assert not trace.gaps("not_attached")
    return trace


@pytest.mark.parametrize("times", [1, 2])
def test_a_daemon_that_is_killed_is_followed_by_another(tap, times):
    trace = killed(tap, times, "listens")
    # What the last one traced is there; who ran under one that was killed then may be lost.
    assert 1 <= len([e for e in trace.events(name="open") if e.get("path") == "/etc/hostname"]) <= times
    for words in (["processes"], ["events"], ["files"], ["timeline"], ["diagnose"]):
        assert harness.read_command(*words, trace.path).returncode == 0
    assert b"Nothing is known" not in harness.read_command("processes", trace.path).stdout


def test_one_that_is_killed_at_once_leaves_a_trace_that_says_so(tap):
    killed(tap, 1, "never")


def test_one_that_is_killed_again_and_again_is_given_up_and_the_trace_says_so(tap):
    killed(tap, 6, "starts")


# Starts the daemon that is its first word, with a list of its files (files_fd) as `flowtap run` gives it.
LISTED = """#!/usr/bin/python3
import os, sys
os.dup2(os.open({list!r}, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), 99)
os.execv({daemon!r}, [{daemon!r}, *sys.argv[1:], "--set", "files_fd=99"])
"""


@pytest.mark.parametrize("point,has_name", [("file_unnamed", False), ("file_named", True)])
def test_a_killed_daemon_leaves_no_file_that_is_not_in_its_list(tap, points_daemon, point, has_name):
    listed, wish, starter = tap.folder / "list", tap.folder / "wish", tap.folder / "starter"
    starter.write_text(LISTED.format(list=str(listed), daemon=str(points_daemon)))
    starter.chmod(0o755)
    wish.write_text(f"{point}:1:{int(signal.SIGKILL)}")
    daemon = harness.Daemon(tap, "d", ["private=yes"], binary=starter, env={"FLOWTAPD_TEST_POINT": wish}).start()
    daemon.call(["cat", "/etc/hostname"])
    assert daemon.process.wait(harness.DEADLINE_S) == -signal.SIGKILL
    (name,) = listed.read_text().splitlines()
    assert [path.name for path in daemon.spool.glob("*.flow")] == [name] * has_name
    daemon.settings = ["private=yes", "killed_by=a test"]
    daemon.start().call(["cat", "/etc/hostname"])
    trace = daemon.stop()
    names = listed.read_text().splitlines()
    assert sorted(path.name for path in daemon.spool.glob("*.flow")) == sorted(names), "each once"
    assert trace.summary()["unclosed"] == 0


def test_a_killed_daemon_takes_up_no_file_of_another_run(tap):
    reader, writer = os.pipe()
    other = subprocess.Popen([harness.FLOWTAP, "run", "-q", "-o", tap.folder / "t", "--", "sh", "-c", "echo ready; read x; exit 0"], stdin=reader,
                             stdout=subprocess.PIPE, env=harness.clean_environment(), start_new_session=True)
    tap.cleanup.append(lambda: harness.end_group(other))
    assert other.stdout.readline() == b"ready\n"
    done = harness.call([harness.FLOWTAP, "run", "-o", tap.folder / "t", "--", "/usr/bin/python3", "-S", "-E", "-c", KILLS, 1, "listens", "SIGKILL"])
    os.close(writer)
    os.close(reader)
    assert (done.returncode, other.wait(harness.DEADLINE_S)) == (7, 0)
    trace = traced.Trace(tap.folder / "t", harness.read_command)
    trace.check_accounting()
    shells = [p for p in trace.processes() if p["exe"].endswith(("/sh", "/dash", "/bash"))]
    assert [p["exit"]["code"] for p in shells] == [0] and trace.summary()["unclosed"] == 0


def test_runs_into_one_folder_sum_up_their_own_files(tap):
    runs = []
    for i in range(4):
        (tap.work / f"file-{i}").write_bytes(b"x")
        argv = [harness.FLOWTAP, "run", "-o", tap.folder / "t", "--", "sh", "-c", f"echo ready; cat file-{i}; read x; exit {i}"]
        run = subprocess.Popen([str(a) for a in argv], cwd=tap.work, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=harness.clean_environment(), start_new_session=True)
        tap.cleanup.append(lambda run=run: harness.end_group(run))
        runs.append(run)
    for run in runs:
        assert run.stdout.readline() == b"ready\n"
    for i, run in enumerate(runs):
        done = harness.finish(run, ["sh"])
        named = [k for k in range(4) if f"/file-{k}\n".encode() in done.stderr]
        assert (done.returncode, named) == (i, [i]), done.stderr
        assert b"2 processes" in done.stderr and b" files, 1 host" not in done.stderr
    assert len(list((tap.folder / "t").glob("*.flow"))) == 4
