# SPDX-License-Identifier: MIT
"""`flowtap run` around a command: terminals, signals, closed streams, a run within a run, where the trace goes."""

import os
import pty
import re
import resource
import signal
import subprocess

import pytest

import harness
import traced


@pytest.mark.parametrize("limit,value", [(resource.RLIMIT_FSIZE, 10240), (resource.RLIMIT_NOFILE, 12)])
def test_a_small_limit_of_the_shells_own_is_no_hindrance(tap, limit, value):
    """The soft one: a private daemon raises it for itself; the command has it as it was."""
    hard = resource.getrlimit(limit)[1]
    done = harness.call([harness.FLOWTAP, "run", "-o", tap.folder / "t", "--", "cat", "/proc/self/limits"],
                        preexec_fn=lambda: resource.setrlimit(limit, (value, hard)))
    assert done.returncode == 0 and f" {value} ".encode() in done.stdout, done.stderr
    assert harness.read_command("summary", "--json", tap.folder / "t").returncode == 0


def test_a_limit_on_files_that_cannot_be_raised_is_no_end(tap):
    """Nothing attaches then; the command runs all the same."""
    done = harness.call([harness.FLOWTAP, "run", "-o", tap.folder / "t", "--", "cat", "/etc/hostname"],
                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10240, 10240)))
    assert done.returncode == 0 and done.stdout == open("/etc/hostname", "rb").read(), done.stderr


def test_default_folder_is_named_after_the_command(tap):
    done = harness.call([harness.FLOWTAP, "run", "--", "cat", "/etc/hostname"], cwd=tap.work)
    assert done.returncode == 0
    (folder,) = tap.work.iterdir()
    assert folder.name.startswith("flowtap-cat-") and list(folder.glob("*.flow"))
    assert str(folder.name).encode() in done.stderr


def test_quiet_prints_nothing(tap):
    done = harness.call([harness.FLOWTAP, "run", "-q", "-o", tap.folder / "t", "--", "cat", "/etc/hostname"])
    assert done.stderr == b""


def test_a_folder_of_earlier_runs_is_told(tap):
    folder, said = tap.work / "both", "held traces of earlier runs"
    def run(*options):
        before = set(folder.rglob("*.flow"))
        lines = harness.call([harness.FLOWTAP, "run", *options, "-o", folder, "true"], cwd=tap.work).stderr.decode().splitlines()
        (own,) = set(folder.rglob("*.flow")) - before
        return own, [line for line in lines if said in line]
    assert run()[1] == [] and run("-q")[1] == []
    own, (line,) = run()
    assert str(folder) in line and line.endswith(str(own))


def test_the_summary_names_what_matters(tap):
    (tap.work / "big").write_bytes(b"x" * 3_000_000)
    trace = tap.run(["/usr/bin/python3", "-S", "-E", "-c", "open('copy', 'wb').write(open('big', 'rb').read())"])
    text = trace.ran.stderr.decode()
    for word in ("Wall time", "Read", "Written", "Hottest files", "Hottest calls", "Processes", "Not seen", "/big", "/copy"):
        assert word in text, word
    assert "\x1b" not in text


def test_a_run_within_a_run(tap):
    inner = tap.folder / "inner"
    trace = tap.run([harness.FLOWTAP, "run", "-q", "-o", inner, "--", "cat", "/etc/hostname"])
    inside = traced.Trace(inner, harness.read_command)
    inside.check_accounting()
    assert inside.file("/etc/hostname")["opens"] == 1
    assert trace.ran.stderr


def test_on_a_terminal(tap):
    """The command keeps the terminal: its size, its name, and the keys that become signals."""
    main, terminal = pty.openpty()
    argv = [harness.FLOWTAP, "run", "-q", "-o", tap.folder / "t", "--", "sh", "-c", "test -t 0 -a -t 1 && stty size; exit 9"]
    process = subprocess.Popen(argv, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True,
                               env=harness.clean_environment())
    os.close(terminal)
    assert process.wait(harness.DEADLINE_S) == 9
    assert b"0 0" in os.read(main, 1000)
    os.close(main)


def interrupted(tap, script, number):
    os.mkfifo(tap.work / "fifo")
    process = subprocess.Popen([harness.FLOWTAP, "run", "-o", tap.folder / "t", "--", "bash", "-c", script], cwd=tap.work,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                               env=harness.clean_environment())
    tap.cleanup.append(lambda: harness.end_group(process))
    assert process.stdout.read(6) == b"ready\n"
    os.killpg(process.pid, number)
    return harness.finish(process, ["bash"])


def test_interrupt_reaches_the_command_and_the_trace_is_whole(tap):
    done = interrupted(tap, "echo ready; read x < fifo", signal.SIGINT)
    assert done.returncode == 130
    trace = traced.Trace(tap.folder / "t", harness.read_command)
    trace.check_accounting()
    assert b"Wall time" in done.stderr


def test_a_command_that_handles_the_interrupt_goes_on(tap):
    done = interrupted(tap, "trap 'echo caught; kill $!; exit 5' INT; sleep 1000 & echo ready; wait", signal.SIGINT)
    assert done.stdout == b"caught\n"
    assert done.returncode == 5
    trace = traced.Trace(tap.folder / "t", harness.read_command)
    trace.check_accounting()


def states_of_children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as children:
        stats = [open(f"/proc/{child}/stat").read() for child in children.read().split()]
    return [" ".join(re.match(r"\d+ \((.*)\) (.)", stat).groups()) for stat in stats]


def test_signals_to_the_group_that_come_late_are_not_our_end(tap):
    """timeout(1) sends one to us and then one to the group: the command has ended when we see the second."""
    (tap.folder / "tmp").mkdir()
    env = harness.clean_environment(TMPDIR=tap.folder / "tmp", XDG_RUNTIME_DIR=None)
    process = subprocess.Popen([harness.FLOWTAP, "run", "-o", tap.folder / "t", "--", "sh", "-c", "echo ready; read x"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, env=env)
    tap.cleanup.append(lambda: harness.end_group(process))
    assert process.stdout.readline() == b"ready\n"
    os.kill(process.pid, signal.SIGSTOP)
    os.killpg(process.pid, signal.SIGHUP)
    harness.wait_until("the command's end", lambda: "sh Z" in states_of_children(process.pid))
    os.killpg(process.pid, signal.SIGTERM)
    os.kill(process.pid, signal.SIGCONT)
    done = harness.finish(process, ["sh"])
    assert done.returncode == 128 + signal.SIGHUP and b"Wall time" in done.stderr
    assert not list((tap.folder / "tmp").iterdir()) and not (tap.folder / "t/flowtapd.log").exists()


def test_closed_streams(tap):
    for closed in ("0", "1", "2"):
        script = f'exec {closed}>&-; exec "$0" run -q -o "$1" -- "$2" out-{closed}'
        done = harness.call(["sh", "-c", script, harness.FLOWTAP, tap.folder / f"t{closed}", harness.program("touch_all")],
                            cwd=tap.work)
        assert done.returncode == 0, (closed, done.stderr)
        trace = traced.Trace(tap.folder / f"t{closed}", harness.read_command)
        opened = [e for e in trace.events(name="open")]
        assert [e["result"] for e in opened] == [int(closed)], closed


@pytest.mark.parametrize("argv,status", [(["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -9 $$"], 137), (["cat", "/etc/hostname"], 0)])
def test_the_status_is_the_commands_where_nobody_reads_the_summary(tap, argv, status):
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "wb") as broken:
        done = subprocess.run([harness.FLOWTAP, "run", "-o", tap.folder / "t", "--", *argv], stderr=broken, stdin=subprocess.DEVNULL,
                              cwd=tap.work, env=harness.clean_environment(), timeout=harness.DEADLINE_S)
    assert done.returncode == status
    assert traced.Trace(tap.folder / "t", harness.read_command).summary()["events"] > 0


def test_no_file_is_left_anywhere_else(tap):
    folders = [path for path in ("/tmp", "/dev/shm", os.environ.get("XDG_RUNTIME_DIR", "/run")) if os.path.isdir(path)]

    def names():
        return {os.path.join(path, n) for path in folders for n in os.listdir(path) if "flowtap" in n and "test" not in n}

    before = names()
    tap.run(["cat", "/etc/hostname"])
    new = names() - before
    harness.wait_until("what others that run meanwhile have made to be gone", lambda: not new & names())
    assert list(tap.work.iterdir()) == []
