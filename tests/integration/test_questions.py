# SPDX-License-Identifier: MIT
"""Questions to the daemon: slow ones keep nobody's events from the file; who is not answered is told why, and asks again."""

import errno
import json
import os
import pathlib
import resource
import select
import signal
import socket
import struct
import subprocess
import threading

import pytest

import harness

STATUS, CONFIG, JOBS, FETCH, TOP = 2, 3, 4, 5, 6
REFUSAL_MAGIC = 0x314E7446
QUESTIONS, CONNECTIONS, RESOURCES, PRIVATE, UNKNOWN, NOTHING = range(1, 7)
COMMANDS = [["jobs"], ["fetch", "8"], ["top", "-n", "1", "--json"], ["status"], ["status", "--config"]]


def abi_major():
    text = (harness.REPO / "proto/ring.h").read_text()
    return int(next(line for line in text.splitlines() if "FT_RING_ABI_MAJOR" in line and "define" in line).split()[2].rstrip("uU"))


def connect(daemon):
    one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    one.settimeout(harness.DEADLINE_S)
    one.connect(str(daemon.socket))
    return one


def ask(daemon, kind, major=None, flags=0):
    one = connect(daemon)
    one.send(struct.pack("<IIIIQII", 0x31417446, kind, abi_major() if major is None else major, 0, 0, 0, flags))
    return one


def refusal(connection):
    """The reason that came, None where it is no refusal."""
    message = connection.recv(1 << 16)
    return struct.unpack("<II", message)[1] if len(message) == 8 and message[:4] == struct.pack("<I", REFUSAL_MAGIC) else None


class Slow:
    """A daemon whose spool's folders can be made not to open."""

    def __init__(self, tap, *settings, below=""):
        self.control = tap.folder / "fault"
        self.control.write_bytes(bytes(4096))
        self.daemon = harness.Daemon(tap, "d", settings, env={
            "LD_PRELOAD": harness.program("fault.so"), "FAULT_CONTROL": self.control, "FAULT_BELOW": tap.folder / "d/spool" / below})
        self.daemon.start()

    def fail(self, text=""):
        with open(self.control, "r+b") as f:
            f.write(text.encode().ljust(4096, b"\0"))

    def status(self):
        done = harness.call([harness.FLOWTAP, "status", "--json", "--socket", self.daemon.socket])
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def counters(self):
        return self.status()["counters"]

    def gauge(self, name):
        status = self.status()
        return status["uptime"] if name == "uptime" else status["gauges"][name]


def test_slow_questions_keep_no_event_from_the_file(tap):
    """As many as are let in, of every kind that waits for a disk, and the daemon's own work there."""
    slow = Slow(tap, "block_age=20ms", "job_linger=100ms", "max_questions=64", "max_questions_per_user=64", "retain_age=1d",
                f"metrics_file={tap.folder}/d/spool/metrics", "metrics_interval=1s")
    assert slow.daemon.call([harness.program("hammer"), 1, 10], env={"SLURM_JOB_ID": "7"}).returncode == 0
    slow.fail("opendir=1")
    asked = [ask(slow.daemon, kind) for kind in (JOBS, FETCH) * 20]
    harness.wait_until("all to be let in", lambda: slow.counters()["asked"] >= len(asked))
    assert slow.daemon.call([harness.program("hammer"), 2, 500], env={"SLURM_JOB_ID": "8"}).returncode == 0
    folder = slow.daemon.spool / str(os.getuid()) / "8"

    def is_stored():
        done = harness.read_command("summary", "--json", folder)
        return done.returncode == 0 and json.loads(done.stdout)["stored"] == 2 * 502

    harness.wait_until("the events in the file", is_stored)
    assert select.select(asked, [], [], 0)[0] == [], "they were slow"
    slow.fail()
    for one in asked:
        assert one.recv(1 << 10), "all are answered"
        one.close()
    slow.daemon.stop()


def test_the_daemon_waits_for_no_disk_that_hangs(tap):
    """It tells how it does, and takes processes, while nobody can say how much room the spool's disk has."""
    slow = Slow(tap, "block_age=20ms")
    slow.fail("statvfs=1")
    assert slow.daemon.call(["true"]).returncode == 0
    for _ in range(2):  # two turns of what it does once a second
        before = slow.gauge("uptime")
        harness.wait_until("some seconds", lambda before=before: slow.gauge("uptime") > before + 1.5)
    assert slow.counters()["attached"] == 1 and slow.gauge("spool_free_bytes") > 0
    slow.fail()
    slow.daemon.stop()


def test_it_ends_when_the_last_slow_question_is_answered(tap):
    slow = Slow(tap)
    slow.fail("opendir=1")
    asked = [ask(slow.daemon, JOBS) for _ in range(3)]
    harness.wait_until("all to be let in", lambda: slow.counters()["asked"] >= 3)
    slow.daemon.process.terminate()
    harness.wait_until("its socket to go", lambda: not slow.daemon.socket.exists())
    slow.fail()
    assert [len(one.recv(1 << 10)) for one in asked] == [8] * 3
    assert slow.daemon.process.wait(harness.DEADLINE_S) == 0


def test_answers_that_cannot_be_made_are_told(tap):
    slow = Slow(tap, "max_questions_per_user=16")
    slow.fail("memory=1\n")
    with harness.stopped(slow.daemon):
        asked = [ask(slow.daemon, kind) for kind in (STATUS, JOBS, TOP)]
    reasons = [refusal(one) for one in asked]
    slow.fail()
    assert reasons == [RESOURCES] * 3
    assert slow.counters()["not_answered"] == 2, "status is no question of those"
    slow.daemon.stop(check="no trace")


@pytest.mark.parametrize("below,error", [("", errno.EMFILE), (f"{os.getuid()}", errno.EIO), (f"{os.getuid()}/8", errno.EACCES),
                                         (f"{os.getuid()}/8", errno.EMFILE)], ids=str)
def test_folders_that_cannot_be_read_are_not_empty(tap, below, error):
    slow = Slow(tap, "job_linger=1h", below=below)
    assert slow.daemon.call(["true"], env={"SLURM_JOB_ID": "8"}).returncode == 0
    harness.wait_until("its file", lambda: list(slow.daemon.spool.rglob("*.flow")))
    slow.fail(f"no_opendir={error}")
    if error == errno.EMFILE:
        assert refusal(ask(slow.daemon, JOBS)) == RESOURCES
    else:
        done = harness.call([harness.FLOWTAP, "fetch", "8", "--socket", slow.daemon.socket, "-o", tap.folder / "out"])
        assert done.returncode == 1 and b"lacks memory or descriptors" in done.stderr, done.stderr
    slow.fail()
    done = harness.call([harness.FLOWTAP, "fetch", "8", "--socket", slow.daemon.socket, "-o", tap.folder / "out"])
    assert done.returncode == 0, done.stderr
    slow.daemon.stop()


def test_who_finds_no_descriptor_or_has_to_go_for_others_is_told(tap):
    daemon = tap.daemon("max_connections_per_user=1")
    limits = resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE)
    used = {int(fd.name) for fd in pathlib.Path(f"/proc/{daemon.process.pid}/fd").iterdir()}
    free = next(fd for fd in range(limits[0]) if fd not in used)
    resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (free, limits[1]))
    asked = [connect(daemon) for _ in range(3)]
    assert [refusal(one) for one in asked] == [RESOURCES] * 3
    resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, limits)
    silent, other = connect(daemon), connect(daemon)
    assert refusal(silent) == CONNECTIONS
    other.close()
    daemon.stop(check="no trace")


def test_a_daemon_without_refusals_says_by_no_file_that_there_is_none(tap):
    """A job that is listed and gone by the time that it is fetched."""
    def serve(number, connection):
        connection.recv(1 << 10)
        memory = os.memfd_create("jobs")
        if number == 0:  # jobs {id, uid, job}
            job = b"\x09" + bytes(8) + b"\x10\x00" + b"\x1a\x018"
            os.write(memory, b"\x12" + bytes([len(job)]) + job)
            socket.send_fds(connection, [bytes(8)], [memory])
        else:
            connection.send(b"\x10\x00")  # count 0
        os.close(memory)

    fake = Listener(tap, serve)
    done = harness.call([harness.FLOWTAP, "fetch", "8", "--socket", fake.path, "-o", tap.folder / "out"])
    assert done.returncode == 1 and b"no files of this job" in done.stderr, done.stderr


def test_why_a_question_is_not_answered(tap):
    daemon = tap.daemon("max_connections_per_user=2", "max_questions_per_user=1")
    silent = [connect(daemon) for _ in range(3)]
    assert refusal(silent[0]) == CONNECTIONS
    assert refusal(ask(daemon, JOBS, major=77)) == UNKNOWN
    assert refusal(ask(daemon, 99)) == UNKNOWN
    assert refusal(ask(daemon, TOP, flags=7)) == UNKNOWN
    assert refusal(ask(daemon, FETCH)) == NOTHING
    daemon.stop(check="no trace")
    fresh = tap.daemon("max_questions_per_user=1")  # one that was answered may count for a moment still
    with harness.stopped(fresh):
        asked = [ask(fresh, JOBS) for _ in range(2)]
    assert sorted(refusal(one) or 0 for one in asked) == [0, QUESTIONS]
    fresh.stop(check="no trace")
    private = tap.daemon("private=yes")
    assert refusal(ask(private, JOBS)) == PRIVATE
    private.stop(check="no trace")


class Listener:
    """Stands where a daemon would, and answers each connection by `serve` (number, connection)."""

    def __init__(self, tap, serve):
        self.path = tap.folder / "fake.sock"
        self.served = 0
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(str(self.path))
        self.listener.listen(100)
        self.thread = threading.Thread(target=self.run, args=(serve,), daemon=True)
        self.thread.start()
        tap.cleanup.append(self.close)

    def run(self, serve):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            number = self.served
            self.served += 1  # before the answer: who was answered may look at once
            with connection:
                serve(number, connection)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listener.close()


def refuse(connection, reason, is_read):
    if is_read:
        connection.recv(1 << 10)
    if reason:
        connection.send(struct.pack("<II", REFUSAL_MAGIC, reason))


@pytest.mark.parametrize("is_read", [True, False], ids=["read", "unread"])
@pytest.mark.parametrize("reason,words", [
    (QUESTIONS, "too many questions"), (CONNECTIONS, "max_connections"), (RESOURCES, "lacks memory"),
    (PRIVATE, "one command"), (NOTHING, "no files of this job"),
    (UNKNOWN, "does not answer as a flowtapd of this version"), (0, "ended the connection")])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_reason_is_said(tap, command, reason, words, is_read):
    """Also where the daemon ended the connection before it read the question: the kernel calls that a reset."""
    fake = Listener(tap, lambda _, connection: refuse(connection, reason, is_read))
    done = subprocess.run([harness.FLOWTAP, *command, "--socket", fake.path], capture_output=True, timeout=harness.DEADLINE_S)
    assert done.returncode == 1 and words in done.stderr.decode(), done.stderr
    assert done.stderr.count(b"\n") == 1 and done.stdout == b""
    assert (fake.served > 1) == (reason in (QUESTIONS, CONNECTIONS, RESOURCES)), "what may pass is asked again"


@pytest.mark.parametrize("reason", [QUESTIONS, CONNECTIONS, RESOURCES])
def test_who_is_refused_asks_again(tap, reason):
    def serve(number, connection):
        if number < 3:
            refuse(connection, reason, number % 2)
            return
        connection.recv(1 << 10)
        memory = os.memfd_create("jobs")
        socket.send_fds(connection, [bytes(8)], [memory])
        os.close(memory)

    fake = Listener(tap, serve)
    done = harness.call([harness.FLOWTAP, "jobs", "--json", "--socket", fake.path])
    assert (done.returncode, done.stderr) == (0, b"") and json.loads(done.stdout)["jobs"] == []
    assert fake.served == 4


def test_top_goes_on_after_a_look_that_was_refused(tap):
    """Refused for longer than is asked again: told, and looked at the next time."""
    state = {"first": True, "refused": 0}

    def serve(_, connection):
        connection.recv(1 << 10)
        if not state["first"] and state["refused"] < 1000 and not state.get("over"):
            refuse(connection, QUESTIONS, False)
            state["refused"] += 1
            return
        state["first"] = False
        memory = os.memfd_create("top")
        socket.send_fds(connection, [bytes(8)], [memory])
        os.close(memory)

    fake = Listener(tap, serve)
    top = subprocess.Popen([harness.FLOWTAP, "top", "--json", "-i", "100ms", "-n", "2", "--socket", fake.path],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    tap.cleanup.append(lambda: harness.end_child(top))
    warning = top.stderr.readline().decode()
    state["over"] = True
    out, _ = top.communicate(timeout=harness.DEADLINE_S)
    assert "too many questions" in warning and state["refused"] > 1
    assert top.returncode == 0 and len(out.splitlines()) == 1
