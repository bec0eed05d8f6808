# SPDX-License-Identifier: MIT
"""flowtapd's own life: it starts twice, is killed, stopped, crowded, and meets clients that are not its own."""

import json
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess

import pytest

import harness
import traced


def settings(socket_path, spool):
    return ["--set", f"socket={socket_path}", "--set", f"spool_dir={spool}"]


def test_a_second_daemon_on_the_same_socket_is_refused(tap):
    daemon = tap.daemon()
    done = harness.call([harness.FLOWTAPD, *settings(daemon.socket, daemon.spool)], deadline=20)
    assert done.returncode == 1 and done.stderr.count(b"\n") == 1, done.stderr
    daemon.call([harness.program("touch_all"), "a"], cwd=tap.work)
    assert daemon.stop().count(name="write") == 1


def test_a_stale_socket_is_taken_over(tap):
    daemon = tap.daemon()
    daemon.call([harness.program("touch_all"), "a"], cwd=tap.work, env={"FLOWTAP_JOB": "j"})
    daemon.kill()
    assert daemon.socket.exists()
    daemon.start()
    daemon.call([harness.program("touch_all"), "b"], cwd=tap.work, env={"FLOWTAP_JOB": "j"})
    trace = daemon.stop()
    assert {e["path"] for e in trace.events(name="write")} >= {str(tap.work / "b")}


def attached(daemon):
    done = harness.call([harness.FLOWTAP, "status", "--json", "--socket", daemon.socket])
    return json.loads(done.stdout)["counters"]["attached"]


def test_who_comes_in_a_crowd_and_behind_it_is_taken(tap):
    """The daemon does not listen for a moment after each one that it took."""
    daemon, each = tap.daemon(), 40
    for crowd in range(1, 4):
        daemon.call(["sh", "-c", f"for i in $(seq {each}); do /bin/true & done; wait"])
        # the shell and its seq, and of each command the shell's child and what it becomes: until the next nobody comes
        harness.wait_until("the crowd's admission", lambda: attached(daemon) >= crowd * (2 * each + 3))
    trace = daemon.stop()
    assert sum(p["exe"].endswith("/true") for p in trace.processes()) == 3 * each and not trace.gaps()


@pytest.mark.parametrize("stale", [False, True], ids=["none before", "one killed before"])
def test_twenty_daemons_started_at_once_are_one(tap, stale):
    daemon = tap.daemon() if stale else harness.Daemon(tap, "many")
    if stale:
        daemon.kill()
    argv = [harness.FLOWTAPD, "--set", f"socket={daemon.socket}", "--set", f"spool_dir={daemon.spool}"]
    started = [subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=harness.clean_environment())
               for _ in range(20)]
    for process in started:
        tap.cleanup.append(lambda process=process: harness.end_child(process))
    harness.wait_until("all but one to have given up", lambda: sum(p.poll() is None for p in started) <= 1)
    (daemon.process,) = [p for p in started if p.poll() is None]
    for process in started:
        if process is not daemon.process:
            assert process.returncode == 1 and process.stderr.read().count(b"\n") == 1
    # Not the socket's file: one that was killed before has left it.
    harness.wait_until("an answer", lambda: harness.call([harness.FLOWTAP, "status", "--socket", daemon.socket]).returncode == 0)
    assert daemon.call([harness.program("touch_all"), "a"], cwd=tap.work).returncode == 0
    assert daemon.stop().count(name="write") == 1


def test_started_without_standard_streams(tap):
    """What it opens first has the numbers from 3 on: nothing is written there that is meant for the log."""
    daemon = harness.Daemon(tap, "bare")
    daemon.binary = tap.folder / "start"
    daemon.binary.write_text(f'#!/bin/sh\nexec {harness.FLOWTAPD} "$@" <&- >&- 2>&-\n')
    daemon.binary.chmod(0o755)
    daemon.start()
    for fd in "012":
        assert os.readlink(f"/proc/{daemon.process.pid}/fd/{fd}") == "/dev/null"
    assert daemon.call(["cat", "/etc/hostname"]).returncode == 0
    assert daemon.stop().count(name="read", path="/etc/hostname") == 2


def test_wrong_settings_are_one_line(tap):
    for words in (["--set", "no_such_key=1"], ["--set", "socket"], ["--no-such-option"],
                  ["--set", f"socket={tap.folder}/s", "--set", "spool_dir=/dev/null/spool"]):
        done = harness.call([harness.FLOWTAPD, *words], deadline=20)
        assert done.returncode in (1, 2) and done.stderr.count(b"\n") == 1, (words, done.returncode, done.stderr)


def test_help_and_version(tap):
    for program in (harness.FLOWTAP, harness.FLOWTAPD):
        for word in ("--help", "--version"):
            done = harness.call([program, word])
            assert done.returncode == 0 and done.stdout and not done.stderr, (program, word)


def test_strangers_on_the_socket_change_nothing(tap):
    daemon = tap.daemon()
    held = []
    for payload in (b"", b"x", b"\0" * 8, os.urandom(64), os.urandom(4096), b"\xff" * 65536):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.connect(str(daemon.socket))
        if payload:
            try:
                s.send(payload)
            except OSError:
                pass
        held.append(s)
    with open("/dev/zero", "rb") as zero, open(tap.folder / "file", "wb+") as plain:
        plain.write(b"x" * 100_000)
        plain.flush()
        memfd = os.memfd_create("stranger", os.MFD_CLOEXEC)
        os.ftruncate(memfd, 1 << 20)
        for fd in (zero.fileno(), plain.fileno(), memfd, held[0].fileno()):
            for payload in (b"", b"\1\0\0\0", os.urandom(16), bytes(16), bytes(64)):
                s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                s.connect(str(daemon.socket))
                try:
                    socket.send_fds(s, [payload or b"\0"], [fd])
                except OSError:
                    pass
                held.append(s)
        os.close(memfd)
    for i in range(5):
        daemon.call([harness.program("touch_all"), f"n{i}"], cwd=tap.work, env={"FLOWTAP_JOB": "j"})
    for s in held:
        s.close()
    trace = daemon.stop(check="sums")
    assert trace.count(name="write", cat="POSIX") == 5


def test_the_table_of_descriptors_never_grows_under_load(tap):
    """The kernel makes a process with threads wait for some 20 ms when it does."""
    daemon = tap.daemon()
    status = pathlib.Path(f"/proc/{daemon.process.pid}/status").read_text()
    limit = resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE)[0]
    assert int(re.search(r"^FDSize:\s+(\d+)$", status, re.M)[1]) >= min(limit, 4096)
    assert len(os.listdir(f"/proc/{daemon.process.pid}/fd")) < 64  # its place alone is taken


def test_many_short_processes_at_once(tap):
    daemon = tap.daemon()
    script = 'for i in $(seq 300); do "$0" f$i & done; wait'
    done = daemon.call(["bash", "-c", script, harness.program("touch_all")], cwd=tap.work)
    assert done.returncode == 0
    trace = daemon.stop()
    opened = {e["path"] for e in trace.events(name="open")}
    assert {str(tap.work / f"f{i}") for i in range(1, 301)} <= opened
    assert trace.gaps() == []


def test_stopped_while_processes_of_a_poor_user_start(tap):
    """Descriptors in flight count against the sender's limit; who cannot attach runs all the same."""
    harness.needs(os.geteuid() == 0, "changing the user needs root")
    daemon = tap.daemon("private=no")
    for path in (tap.folder, daemon.folder):
        os.chmod(path, 0o755)
    os.chmod(tap.work, 0o777)
    os.chmod(daemon.socket, 0o666)
    daemon.process.send_signal(signal.SIGSTOP)
    for limit in (8, 64):
        for i in range(40):
            done = daemon.call(["prlimit", f"-n{limit}:{limit}", harness.program("touch_all"), f"u{limit}-{i}"], cwd=tap.work,
                               user=65534, group=65534, extra_groups=[], deadline=20)
            assert done.returncode == 0, (limit, i, done.stderr)
    daemon.process.send_signal(signal.SIGCONT)
    trace = daemon.stop()
    assert len(list(tap.work.glob("u*"))) == 80
    seen = {e["path"] for e in trace.events(name="open") if e.get("path", "").startswith(f"{tap.work}/u")}
    assert len(seen) == 80 or trace.gaps(), len(seen)


def test_terminated_then_killed_at_any_moment(tap):
    """The program is shot 0 to 20 ms after SIGTERM, many times: every file is readable, complete up to the kill."""
    daemon = tap.daemon()
    for i in range(40):
        process = subprocess.Popen([harness.program("fork_threads"), "100000"], cwd=tap.work, env=daemon.env(FLOWTAP_JOB="j"),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
        harness.wait_until("its first child", (tap.work / "children").exists)
        try:
            process.send_signal(signal.SIGTERM)
            process.wait(i % 20 / 1000)
        except subprocess.TimeoutExpired:
            pass
        harness.end_group(process)
        (tap.work / "children").unlink()
    trace = daemon.stop()
    assert harness.read_command("verify", trace.path).returncode == 0


def test_sigterm_while_a_process_runs_drains_it(tap):
    daemon = tap.daemon()
    os.mkfifo(tap.work / "fifo")
    process = subprocess.Popen([harness.program("hang_fifo")], cwd=tap.work, env=daemon.env(), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE)
    tap.cleanup.append(process.kill)
    assert process.stdout.read(1) == b"R"
    harness.wait_until("the call in which it hangs, after its write's record", lambda: harness.state_of(process.pid) == "S")
    trace = daemon.stop()
    assert [e["name"] for e in trace.events(pid=process.pid)] == ["open", "write"]
    assert trace.gaps("still_running") or trace.gaps("daemon_stopped"), trace.summary()["gaps"]
    process.kill()
    process.wait()
    process.stdout.close()


def test_two_private_runs_beside_each_other(tap):
    runs = []
    for i in range(4):
        runs.append(subprocess.Popen([harness.FLOWTAP, "run", "-q", "-o", tap.folder / f"p{i}", "--", harness.program("touch_all"),
                                      f"beside-{i}"], cwd=tap.work, env=harness.clean_environment(), stdin=subprocess.DEVNULL))
    for i, process in enumerate(runs):
        assert process.wait(harness.DEADLINE_S) == 0
        trace = traced.Trace(tap.folder / f"p{i}", harness.read_command)
        trace.check_accounting()
        assert [e["path"] for e in trace.events(name="write")] == [str(tap.work / f"beside-{i}")]


def test_several_traces_are_read_as_one_job(tap):
    paths = []
    for i in range(3):
        trace = tap.run([harness.program("touch_all"), f"t{i}"])
        paths.append(trace.path)
    import json
    done = harness.read_command("summary", "--json", *paths)
    assert json.loads(done.stdout)["processes"] == 3
    done = harness.read_command("summary", "--json", tap.folder)
    assert json.loads(done.stdout)["processes"] == 3
