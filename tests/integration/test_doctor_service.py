# SPDX-License-Identifier: MIT
"""`flowtap doctor` of the daemon that programs would attach to: its socket, its policy."""

import os
import signal
import socket
import subprocess

import pytest

import harness
from doctor import doctor, line, with_service


def test_a_socket_that_is_not_there(tap):
    env = harness.clean_environment(LD_PRELOAD=harness.PRELOAD, FLOWTAP="1", FLOWTAP_SOCKET=tap.folder / "no")
    said = doctor(env=env, cwd=tap.work).problem("socket")
    assert str(tap.folder / "no") in said and "No such file" in said and "start flowtapd" in said


def test_a_path_that_is_no_socket(tap):
    for path, word in ((tap.work, "a folder"), ("/etc/passwd", "a file"), ("/dev/null", "something else")):
        said = doctor(env=harness.clean_environment(FLOWTAP_SOCKET=path)).problem("socket")
        assert str(path) in said and word in said


@pytest.mark.parametrize("kind,listens,word", [(socket.SOCK_SEQPACKET, False, "nobody listens"),
                                               (socket.SOCK_STREAM, True, "another program's")])
def test_a_socket_without_a_daemon_behind_it(tap, kind, listens, word):
    with socket.socket(socket.AF_UNIX, kind) as other:
        other.bind(str(tap.folder / "s"))
        if listens:
            other.listen(1)
        said = doctor(env=harness.clean_environment(FLOWTAP_SOCKET=tap.folder / "s")).problem("socket")
        assert str(tap.folder / "s") in said and word in said


def test_a_daemon_that_is_stopped(tap):
    daemon, env = with_service(tap)
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        said = doctor("--", "true", env=env).problem("socket")
    finally:
        daemon.process.send_signal(signal.SIGCONT)
    assert str(daemon.process.pid) in said and "does not answer" in said


def test_a_queue_that_is_full(tap):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as other, \
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as waiting:
        other.bind(str(tap.folder / "s"))
        other.listen(0)
        waiting.connect(str(tap.folder / "s"))
        said = doctor(env=harness.clean_environment(FLOWTAP_SOCKET=tap.folder / "s")).problem("socket")
        assert "queue" in said and "full" in said


def test_being_asked_by_doctor_is_no_fault_of_a_client(tap):
    daemon, env = with_service(tap)
    assert doctor(env=env, cwd=tap.work).status == 0
    assert "attach message" not in daemon.log()
    daemon.stop()


def test_a_daemon_of_another_user(tap):
    harness.needs(os.geteuid() == 0, "another user's daemon needs root to start one")
    path = tap.folder / "s"
    os.chmod(tap.folder, 0o755)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as other:
        other.bind(str(path))
        os.chmod(path, 0o666)
        os.seteuid(65534)  # who listens is who called listen
        try:
            other.listen(10)
        finally:
            os.seteuid(0)
        said = doctor(env=harness.clean_environment(FLOWTAP_SOCKET=path)).problem("socket")
        assert "user 65534" in said


def test_a_socket_that_one_may_not_use(tap):
    harness.needs(os.geteuid() == 0, "becoming another user needs root")
    daemon, env = with_service(tap)
    for parent in (tap.folder, daemon.folder, tap.work):
        os.chmod(parent, 0o755)
    os.chmod(daemon.socket, 0o600)
    verdict = doctor("--", "true", env=env, user=65534, group=65534, extra_groups=[], cwd="/tmp")
    found = verdict.of("problem", "socket")
    assert len(found) == 1 and "refuses you" in found[0]["what"], verdict.checks


@pytest.mark.parametrize("settings,severity,words", [
    (["mode=off"], "problem", ["switches tracing off"]),
    (["follow_clean_env=no"], "note", ["cleaned environment"]),
    (["include=/etc/*:/usr/*"], "note", ["one of 2 patterns", "'/etc/*'", "can only narrow it"]),
    (["exclude=/proc/*"], "note", ["left out", "'/proc/*'"]),
])
def test_a_policy_that_leaves_something_out(tap, settings, severity, words):
    _, env = with_service(tap, *settings)
    verdict = doctor("--", "true", env=env)
    found = verdict.of(severity, "policy")
    assert len(found) == 1 and all(word in line(found[0]) for word in words), verdict.checks
    assert verdict.status == (severity == "problem")


@pytest.mark.parametrize("settings,variables,words", [
    (["exclude=/etc/*"], {"FLOWTAP_INCLUDE": "/etc/*"}, ["cover all that the include patterns name"]),
    (["exclude=/*"], {}, ["cover every path"]),
    (["include=/etc/*:/usr/*", "exclude=/etc/*"], {"FLOWTAP_EXCLUDE": "/us*"}, ["cover all that the daemon's include names"]),
    (["include=/etc/*:/usr/*"], {"FLOWTAP_INCLUDE": "/bin/*:/etc"}, ["no path matches both"]),
    (["include=/no/such/*:/nor/this/*"], {}, ["nothing that the daemon's include names can be there"]),
], ids=["the variable's by the daemon's", "all", "the daemon's by both", "the daemon's and the variable's", "what is not there"])
def test_filters_of_the_daemon_that_leave_nothing(tap, settings, variables, words):
    daemon, env = with_service(tap, *settings, **variables)
    found = [line(c) for c in doctor("--", "true", env=env).of("problem", "filters")]
    assert [said for said in found if all(word in said for word in words)], found
    assert daemon.call(["cat", "/etc/hostname", "/usr/bin/env", "/bin/true"], env=variables).returncode == 0
    assert not [f["path"] for f in daemon.stop().files() if f["path"].startswith("/") and f["reads"]]


@pytest.mark.parametrize("settings,variables", [
    (["include=/etc/*:/usr/*"], {"FLOWTAP_INCLUDE": "/bin/*:/etc/host*"}), (["include=/etc/*"], {"FLOWTAP_INCLUDE": "*.conf"}),
    (["include=/etc/hostname"], {"FLOWTAP_INCLUDE": "/etc/host[a-z]ame"}), (["include=/no/such/*:/etc/*"], {}),
    (["include=/etc/*", "exclude=/etc/p*"], {})])
def test_filters_of_the_daemon_that_leave_something(tap, settings, variables):
    daemon, env = with_service(tap, *settings, **variables)
    found = [c["what"] for c in doctor("--", "true", env=env).of("problem", "filters") if "no file is recorded" in c["what"]]
    assert not found
    assert daemon.call(["cat", "/etc/hostname", "/etc/ld.so.conf"], env=variables).returncode == 0
    assert [f["path"] for f in daemon.stop().files() if f["path"].startswith("/etc/") and f["reads"]]


def test_a_daemon_that_takes_no_more(tap):
    """It refuses who comes then, and says itself what to raise."""
    daemon, env = with_service(tap, "max_processes=1")
    held = subprocess.Popen(["cat"], stdin=subprocess.PIPE, env=env)
    tap.cleanup.append(lambda: harness.end_child(held))
    harness.wait_until("the one process", lambda: b"1 processes are attached" in harness.call([harness.FLOWTAP, "status", "--socket", daemon.socket]).stdout)
    said = doctor("--", "true", env=env, cwd=tap.work).problem("socket")
    assert str(daemon.socket) in said and "more are not traced" in said and "raise max_processes" in said
    held.stdin.close()
    assert held.wait(harness.DEADLINE_S) == 0


@pytest.mark.parametrize("change,word", [
    (lambda p: p.unlink(), "No such file"),
    (lambda p: p.write_bytes(b""), "empty"),
    (lambda p: p.write_bytes(b"\xff" * 100), "damaged"),
    (lambda p: p.write_bytes(b"\x08\x63"), "version 99 of the protocol"),
    (lambda p: p.write_bytes(b"\x08\x01" + b"\x42\x01a" * 2000), "longer than 4096 bytes"),
    (lambda p: (p.unlink(), p.symlink_to("/dev/null")), "a symbolic link"),
    (lambda p: (p.unlink(), p.mkdir()), "directory"),
    (lambda p: (p.unlink(), os.mkfifo(p)), "cannot be read"),
], ids=["absent", "empty", "damaged", "other version", "long", "link", "folder", "fifo"])
def test_a_policy_file_that_cannot_be_used(tap, change, word):
    daemon, env = with_service(tap)
    change(daemon.folder / "s.policy")
    found = doctor("--", "true", env=env).of("problem", "policy")
    assert len(found) == 1 and word in found[0]["what"] and str(daemon.folder / "s.policy") in found[0]["what"], found
