# SPDX-License-Identifier: MIT
"""Who listens where a program looks for its daemon: memory goes to root and the program's own user, and to nobody else."""

import contextlib
import os
import socket
import stat

import pytest

import harness
from test_questions import abi_major

ONE, OTHER = 65534, 65533
TRACE = bytes([0x08, abi_major()])  # proto/policy.proto


@contextlib.contextmanager
def being(uid):
    """Who listens is who called listen; who connects, who called connect."""
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def fake(tap):
    """A socket that all may use, with a policy of root's beside it."""
    harness.needs(os.geteuid() == 0, "being other users needs root")
    os.chmod(tap.folder, 0o755)
    os.chmod(tap.work, 0o777)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(tap.folder / "s"))
        os.chmod(tap.folder / "s", 0o666)
        (tap.folder / "s.policy").write_bytes(TRACE)
        yield listener


def run(tap, uid):
    """The traced program is as untraced, whoever listens."""
    env = harness.clean_environment(FLOWTAP="1", LD_PRELOAD=harness.PRELOAD, FLOWTAP_SOCKET=tap.folder / "s")
    done = harness.call(["/bin/cat", "/etc/hostname"], env=env, cwd=tap.work, user=uid, group=uid, extra_groups=[])
    with open("/etc/hostname", "rb") as file:
        assert done.same() == (0, file.read(), b"")


def segments_sent(listener):
    """Of all who have connected by now; they have ended."""
    listener.setblocking(False)
    count = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            connection, _ = listener.accept()
            with connection:
                _, fds, _, _ = socket.recv_fds(connection, 1 << 10, 8)
            count += len(fds)
            for fd in fds:
                assert stat.S_ISREG(os.fstat(fd).st_mode)
                os.close(fd)
    return count


@pytest.mark.parametrize("listens,attaches,is_sent", [
    (0, 0, True), (0, ONE, True), (ONE, ONE, True), (ONE, 0, False), (OTHER, ONE, False)])
def test_who_listens(tap, fake, listens, attaches, is_sent):
    with being(listens):
        fake.listen(10)
    run(tap, attaches)
    assert segments_sent(fake) == is_sent


@pytest.mark.parametrize("owner,attaches,is_sent", [
    (0, ONE, True), (ONE, ONE, True), (ONE, 0, False), (OTHER, ONE, False)])
def test_whose_policy_it_is(tap, fake, owner, attaches, is_sent):
    """What another user has put beside root's socket is not followed, and without a policy there is no daemon."""
    fake.listen(10)
    os.chown(tap.folder / "s.policy", owner, owner)
    run(tap, attaches)
    assert segments_sent(fake) == is_sent


def test_a_private_daemon_of_one_user_takes_nobody_elses(tap):
    """The folder of its socket is closed; where somebody opens it, others' programs do not give it their memory."""
    harness.needs(os.geteuid() == 0, "being other users needs root")
    daemon = harness.Daemon(tap, "d", binary="setpriv")
    daemon.words = [f"--reuid={ONE}", f"--regid={ONE}", "--clear-groups", harness.FLOWTAPD]
    for path in (tap.folder, tap.work):
        os.chmod(path, 0o755)
    for path in (daemon.folder, daemon.spool):
        os.chown(path, ONE, ONE)
    os.chmod(daemon.folder, 0o755)
    daemon.start()
    for uid in (OTHER, 0, ONE):
        assert daemon.call(["/bin/true"], user=uid, group=uid, extra_groups=[], cwd="/").returncode == 0
    trace = daemon.stop()
    assert [p["uid"] for p in trace.processes()] == [ONE]
