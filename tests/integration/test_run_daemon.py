# SPDX-License-Identifier: MIT
"""The private daemon of `flowtap run`: one that is killed is followed by another, and a run knows its own files."""

import contextlib
import os
import re
import signal
import subprocess

import pytest

import harness
import traced

# The command itself kills the daemon of its run, and the one that follows it, and so on; then it may wait until the next one
# listens, and start another program. It prints whom it has killed.
KILLS = """
import os, signal, socket, struct, subprocess, sys
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
def listener():
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
        try:
            one.connect(os.environ["FLOWTAP_SOCKET"])
        except OSError:
            return 0
        return struct.unpack("3i", one.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
killed = []
for i in range(int(sys.argv[1])):
    pid = daemon(killed)
    os.kill(pid, getattr(signal, sys.argv[3]))
    killed.append(pid)
    while sys.argv[2] == "listens" and listener() in (0, *killed):
        pass
    if sys.argv[2] == "listens":
        subprocess.run(["cat", "/etc/hostname"], stdout=subprocess.DEVNULL, check=True)
print(*killed)
sys.exit(7)
"""


def killed(tap, times, until, by="SIGKILL", how=("signal 9",)):
    argv = [harness.FLOWTAP, "run", "-o", tap.folder / "t", "--", "/usr/bin/python3", "-S", "-E", "-c", KILLS, times, until, by]
    done = harness.call(argv, cwd=tap.work)
    trace = traced.Trace(tap.folder / "t", harness.read_command)
    trace.check_accounting()
    summary = trace.summary()
    assert (done.returncode, summary["partial"], summary["unclosed"]) == (7, False, 0), done.stderr
    assert len(set(done.stdout.split())) == times
    reasons = [gap["reason"] for gap in trace.gaps("daemon_stopped") if gap["pid"] is None]
    ended = re.compile(f"flowtapd ended with ({'|'.join(how)})\\b")
    assert reasons and all(ended.match(reason) for reason in reasons)
    lines = done.stderr.decode()
    assert re.search(f"warning: {ended.pattern}", lines) and re.search(f"daemon_stopped: {ended.pattern}", lines)
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


@pytest.mark.parametrize("times", [1, 2])
def test_a_daemon_that_is_told_to_end_by_somebody_else_is_followed_by_another(tap, times):
    """A batch system may signal all processes of a step. It ends with status 0 then, but where it has hardly begun."""
    trace = killed(tap, times, "listens", "SIGTERM", ("status 0", "signal 15"))
    assert [e for e in trace.events(name="open") if e.get("path") == "/etc/hostname"]


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


def begun(tap, script):
    """A run whose command waits for a line, when it waits; and its daemon."""
    (tap.folder / "tmp").mkdir(exist_ok=True)
    env = harness.clean_environment(TMPDIR=tap.folder / "tmp", XDG_RUNTIME_DIR=None)
    run = subprocess.Popen([harness.FLOWTAP, "run", "-o", tap.folder / "t", "--", "sh", "-c", script], stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, env=env)
    tap.cleanup.append(lambda: harness.end_group(run))
    assert run.stdout.readline() == b"ready\n"
    (daemon,) = [pid for pid, name, _ in children_of(run.pid) if name == "flowtapd"]
    pidfd = os.pidfd_open(daemon)
    tap.cleanup.append(lambda: end_other(pidfd))  # it may be stopped, and the run gone
    return run, daemon


def end_other(pidfd):
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    os.close(pidfd)


def children_of(pid):
    """(pid, name, state) of each."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
        stats = [(int(child), open(f"/proc/{child}/stat").read()) for child in children.read().split()]
    return [(child, *re.match(r"\d+ \((.*)\) (.)", stat).groups()) for child, stat in stats]


def wait_state(run, pid, state):
    harness.wait_until(f"state {state}", lambda: state in [s for child, _, s in children_of(run.pid) if child == pid])


def wait_command_ended(run):
    harness.wait_until("the command's end", lambda: ("sh", "Z") in [(name, state) for _, name, state in children_of(run.pid)])


def test_a_signal_ends_the_wait_for_a_daemon_that_hangs(tap):
    run, daemon = begun(tap, "echo ready; read x; exit 3")
    os.kill(daemon, signal.SIGSTOP)
    wait_state(run, daemon, "T")
    run.stdin.write(b"\n")
    run.stdin.flush()
    wait_command_ended(run)

    def is_over():
        if run.poll() is None:
            run.terminate()  # perhaps before it has seen that end, when the signal is the command's
        return run.poll() is not None

    harness.wait_until("the run's end", is_over)
    done = harness.finish(run, ["sh"])
    assert done.returncode == 3 and b"has not stored everything yet" in done.stderr and b"no process" not in done.stderr
    os.kill(daemon, signal.SIGCONT)

    def is_closed():  # asked anew each time: a Trace remembers its answers
        trace = traced.Trace(tap.folder / "t", harness.read_command)
        return trace.flow_files() and trace.summary()["unclosed"] == 0

    harness.wait_until("the trace", is_closed)
    traced.Trace(tap.folder / "t", harness.read_command).check_accounting()


@pytest.mark.parametrize("script", ["echo ready; read x", "trap 'exit 143' TERM; echo ready; read x"])
def test_a_second_signal_to_the_group_does_not_end_that_wait(tap, script):
    run, daemon = begun(tap, script)
    os.kill(daemon, signal.SIGSTOP)
    wait_state(run, daemon, "T")
    for _ in range(2):
        os.killpg(run.pid, signal.SIGTERM)
        wait_command_ended(run)
        harness.wait_until("it to be taken", lambda: not is_pending(run.pid, signal.SIGTERM))
    os.kill(daemon, signal.SIGCONT)
    done = harness.finish(run, ["sh"])
    assert done.returncode == 128 + signal.SIGTERM and b"Wall time" in done.stderr and b"warning" not in done.stderr
    assert traced.Trace(tap.folder / "t", harness.read_command).summary()["unclosed"] == 0


def is_pending(pid, number):
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as status:
        (pending,) = [int(line.split()[1], 16) for line in status if line.startswith("ShdPnd")]
    return bool(pending >> (number - 1) & 1)


def test_runs_into_one_folder_have_a_log_each(tap):
    """What one has to say stays, also where another that had nothing to say ends first."""
    runs = [begun(tap, "echo ready; read x") for _ in range(2)]
    logs = {path.name for path in (tap.folder / "t").glob("*.log")}
    assert "flowtapd.log" in logs and len(logs) == 2
    for run, _ in runs:
        run.stdin.close()
        run.stdin = None
        harness.finish(run, ["sh"])
        left = {path.name for path in (tap.folder / "t").glob("*.log")}
        assert len(left) == len(logs) - 1
        logs = left


def test_a_log_that_was_there_stays(tap):
    (tap.folder / "t").mkdir()
    (tap.folder / "t/flowtapd.log").touch()
    assert tap.plain([harness.FLOWTAP, "run", "-q", "-o", tap.folder / "t", "--", "true"]).returncode == 0
    assert [path.name for path in (tap.folder / "t").glob("*.log")] == ["flowtapd.log"]


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
