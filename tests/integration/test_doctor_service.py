# SPDX-License-Identifier: MIT
"""`flowtap doctor` of the daemon that programs would attach to: its socket, its policy."""

import os
import signal
import socket

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
    (["include=/etc/*:/usr/*"], "note", ["one of 2 patterns", "'/etc/*'"]),
    (["exclude=/proc/*"], "note", ["left out", "'/proc/*'"]),
])
def test_a_policy_that_leaves_something_out(tap, settings, severity, words):
    _, env = with_service(tap, *settings)
    verdict = doctor("--", "true", env=env)
    found = verdict.of(severity, "policy")
    assert len(found) == 1 and all(word in line(found[0]) for word in words), verdict.checks
    assert verdict.status == (severity == "problem")


def test_a_policy_and_a_variable_that_cover_each_other(tap):
    _, env = with_service(tap, "exclude=/data/*", FLOWTAP_INCLUDE="/data/*")
    assert any("cover all" in c["what"] for c in doctor("--", "true", env=env).of("problem", "filters"))


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
