# SPDX-License-Identifier: MIT
"""`flowtap top`: what goes on, by job, process and file; whose it is; and the terminal as it was before."""

import fcntl
import grp
import json
import os
import pathlib
import pty
import select
import signal
import socket
import struct
import subprocess
import termios

import pytest

import harness
from test_jobs import NOBODY, harness_abi, open_to_all
from test_schemas import check
from test_status import status

# Writes, and tells on its output when some more is done; ends with its input.
WRITER = """
import os, select
f = os.open('data', os.O_RDWR | os.O_CREAT)
while not select.select([0], [], [], 0.005)[0]:  # the daemon may have no turn for a while
    for i in range(100):
        os.pwrite(f, b'x' * 4096, 4096 * i)
        os.pread(f, 1024, 4096 * i)
"""


class Job:
    """A command that runs until it is told to end, traced by a daemon."""

    def __init__(self, tap, daemon, argv, **options):
        reader, self.writer = os.pipe()
        options.setdefault("cwd", tap.work)
        env = daemon.env(**options.pop("env", {}))
        self.process = subprocess.Popen([str(a) for a in argv], stdin=reader, stdout=subprocess.DEVNULL, env=env, **options)
        os.close(reader)
        tap.cleanup.append(lambda: harness.end_child(self.process))

    def end(self):
        if self.writer is not None:
            os.close(self.writer)
            self.writer = None
        harness.wait_until("it to end", lambda: self.process.poll() is not None)


class Looks:
    """`flowtap top --json`, which goes on."""

    def __init__(self, tap, daemon, *words, **options):
        argv = [harness.FLOWTAP, "top", "--json", "--interval", "200ms", "--socket", daemon.socket, *words]
        options.setdefault("cwd", "/")
        self.process = subprocess.Popen([str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        env=harness.clean_environment(), **options)
        tap.cleanup.append(lambda: harness.end_child(self.process))

    def until(self, what, condition):
        def next_look():
            look = json.loads(self.process.stdout.readline())
            check("top", look)
            return condition(look["rows"])
        return harness.wait_until(what, next_look)

    def end(self):
        self.process.terminate()
        assert self.process.wait(harness.DEADLINE_S) == -signal.SIGTERM
        self.process.stdout.close()


def busy(tap, *settings):
    daemon = tap.daemon("block_age=50ms", *settings)
    return daemon, Job(tap, daemon, ["/usr/bin/python3", "-S", "-E", "-c", WRITER], env={"FLOWTAP_JOB": "4711"})


def test_jobs_processes_and_files_with_their_rates(tap):
    daemon, job = busy(tap)
    looks = Looks(tap, daemon)
    def is_steady(rows):  # no longer what the interpreter read when it started
        return rows and rows[0]["read_bandwidth"] > 0 and abs(rows[0]["write_bandwidth"] / rows[0]["read_bandwidth"] - 4) < 0.5
    row = looks.until("the job's rates", lambda rows: is_steady(rows) and rows[0])
    assert (row["job"], row["uid"], row["processes"], row["dropped"]) == ("4711", os.getuid(), 1, 0)
    assert row["ops"] >= row["write_bandwidth"] / 4096 * 2 * 0.9 and row["concurrency"] > 0 and row["events"] > 0
    looks.end()
    looks = Looks(tap, daemon, "--by", "process")
    row = looks.until("the process's rates", lambda rows: rows and rows[0]["write_bandwidth"] > 0 and rows[0])
    assert row["pid"] == job.process.pid and "python3" in row["exe"]
    looks.end()
    looks = Looks(tap, daemon, "--by", "file", "--top", "1")
    row = looks.until("the file's rates", lambda rows: rows and rows[0]["write_bandwidth"] > 0 and rows[0])
    assert row["path"] == str(tap.work / "data") and row["job"] == "4711"
    looks.end()
    job.end()
    daemon.stop()


@pytest.mark.parametrize("by", ["job", "process", "file"])
def test_what_was_done_before_the_first_look_is_in_no_rate(tap, by):
    """It is drained while somebody watches, and ended before."""
    daemon = tap.daemon("block_age=60s")
    script = "import os, sys\nf = os.open('data', os.O_RDWR | os.O_CREAT)\n" \
             "for i in range(3000):\n    os.pwrite(f, b'x' * 4096, 0)\nos.mkdir('ready')\nsys.stdin.read()\n"
    job = Job(tap, daemon, ["/usr/bin/python3", "-S", "-E", "-c", script], env={"FLOWTAP_JOB": "4711"})
    harness.wait_until("it to have written", (tap.work / "ready").exists)
    harness.wait_until("that to wait", lambda: status(daemon.socket)["gauges"]["events_waiting"] >= 3000)
    looks = Looks(tap, daemon, "--by", by)
    seen = []
    looks.until("looks at nothing new", lambda rows: seen.append(rows) or len(seen) == 3)
    Job(tap, daemon, ["/usr/bin/true"], env={"FLOWTAP_JOB": "4711"})  # whose end is the block's
    harness.wait_until("the block", lambda: status(daemon.socket)["counters"]["events"] >= 3000)
    looks.until("looks at what was drained", lambda rows: seen.append(rows) or len(seen) == 8)
    assert all(row["write_bandwidth"] == 0 for rows in seen for row in rows), seen
    looks.end()
    job.end()
    daemon.stop()


def test_a_process_that_hangs_says_in_what(tap):
    daemon = tap.daemon("block_age=50ms")
    fifo = tap.work / "fifo"
    os.mkfifo(fifo)
    job = Job(tap, daemon, ["/usr/bin/python3", "-S", "-E", "-c", f"import os; os.read(os.open({str(fifo)!r}, os.O_RDWR), 1)"])
    looks = Looks(tap, daemon, "--by", "process")
    call = looks.until("its call", lambda rows: rows and (call := rows[0]["in_call"]) and call["time"] > 0.5 and call["path"] and call)
    assert (call["name"], call["path"]) == ("read", str(fifo))
    later = looks.until("more of it", lambda rows: rows[0]["in_call"]["time"] > call["time"] and rows[0]["in_call"])
    assert later["name"] == "read"
    looks.end()
    text = harness.call([harness.FLOWTAP, "top", "--by", "process", "--count", "1", "--socket", daemon.socket]).stdout.decode()
    assert f"in read of {fifo} for " in text, text
    with open(fifo, "w") as f:
        f.write("x")
    job.end()
    daemon.stop()


def test_each_user_sees_its_own_and_the_admin_group_all(tap):
    harness.needs(os.geteuid() == 0, "changing the user needs root")
    daemon = tap.daemon("admin_group=daemon")
    open_to_all(tap, daemon)
    jobs = [Job(tap, daemon, ["cat"], env={"FLOWTAP_JOB": "7"}, cwd="/"),
            Job(tap, daemon, ["cat"], env={"FLOWTAP_JOB": "8"}, cwd="/", user=NOBODY, group=NOBODY, extra_groups=[])]
    admins = grp.getgrnam("daemon").gr_gid
    for by in ("job", "process"):
        for options, seen in (({}, {"7", "8"}), ({"user": NOBODY, "group": NOBODY, "extra_groups": []}, {"8"}),
                              ({"user": NOBODY - 1, "group": NOBODY, "extra_groups": []}, set()),
                              ({"user": NOBODY - 1, "group": NOBODY, "extra_groups": [admins]}, {"7", "8"})):
            looks = Looks(tap, daemon, "--by", by, **options)
            looks.until(f"{seen} by {by}", lambda rows, seen=seen: {row["job"] for row in rows} == seen)
            looks.end()
    for job in jobs:
        job.end()
    daemon.stop()


def test_profiles_are_seen_too(tap):
    daemon, job = busy(tap, "mode=profile")
    looks = Looks(tap, daemon, "--by", "file")
    row = looks.until("rates", lambda rows: rows and rows[0]["write_bandwidth"] > 0 and rows[0])
    assert row["path"] == str(tap.work / "data")
    looks.end()
    job.end()
    daemon.stop(check="sums")


def test_many_files_are_a_bounded_answer(tap):
    daemon = tap.daemon("block_age=50ms")
    script = "import os, select\nwhile not select.select([0], [], [], 0)[0]:\n" \
             "    for i in range(1500):\n        os.close(os.open(f'f{i}', os.O_CREAT | os.O_WRONLY))\n" \
             "    f = os.open('large', os.O_CREAT | os.O_WRONLY); os.write(f, bytes(1000000)); os.close(f)\n"
    job = Job(tap, daemon, ["/usr/bin/python3", "-S", "-E", "-c", script])
    looks = Looks(tap, daemon, "--by", "file")
    looks.until("the large one first", lambda rows: len(rows) <= 1024 and rows and rows[0]["path"].endswith("/large"))
    looks.end()
    job.end()
    daemon.stop()


def test_nobody_is_disturbed(tap):
    """Who asks in all ways at once, and goes away, harms neither the trace nor the next asker."""
    daemon, job = busy(tap)
    held = []
    for i in range(200):
        one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        one.connect(str(daemon.socket))
        one.send(struct.pack("<IIIIQII", 0x31417446, 6, harness_abi(), 0, 2 ** 64 - 1 - i, 0, i % 5))
        (held.append if i % 3 else socket.socket.close)(one)
    # Whoever asks while all answers are being made is turned away.
    once = [harness.FLOWTAP, "top", "--json", "--count", "1", "--interval", "100ms", "--socket", daemon.socket]
    harness.wait_until("it to answer again", lambda: harness.call(once).returncode == 0)
    looks = Looks(tap, daemon)
    looks.until("rates", lambda rows: rows and rows[0]["ops"] > 0)
    looks.end()
    job.end()
    for one in held:
        one.close()
    harness.wait_until("all to be written", lambda: status(daemon.socket)["gauges"]["processes"] == 0)
    daemon.stop()


def test_a_table_elsewhere_than_on_a_terminal(tap):
    daemon, job = busy(tap)
    for words in (["--count", "2"], ["--count", "1", "--by", "process"], ["--count", "1", "--by", "file", "--sort", "ops"]):
        done = harness.call([harness.FLOWTAP, "top", "--interval", "300ms", "--socket", daemon.socket, *words])
        assert done.returncode == 0 and b"\033" not in done.stdout and b"READ" in done.stdout, done
    job.end()
    daemon.stop()


@pytest.mark.parametrize("words", [["--interval", "1ms"], ["--interval", "x"], ["--by", "node"], ["--sort", "name"]])
def test_wrong_usage(words):
    assert harness.call([harness.FLOWTAP, "top", *words]).returncode == 2


def test_where_none_answers_one_line_says_why(tap):
    done = harness.call([harness.FLOWTAP, "top", "--socket", tap.work / "none"])
    assert done.returncode == 1 and done.stdout == b"" and b"no such socket" in done.stderr and done.stderr.count(b"\n") == 1


# ------------------------------------------------------------------------------------------------------- on a terminal


class Screen:
    """`flowtap top` on a terminal of its own, of so many columns and lines."""

    def __init__(self, tap, daemon, *words, columns=80, lines=24):
        self.outer, self.inner = pty.openpty()
        self.resize(columns, lines)
        self.before = termios.tcgetattr(self.inner)
        self.text = b""
        argv = [harness.FLOWTAP, "top", "--interval", "200ms", "--socket", daemon.socket, *words]
        self.process = subprocess.Popen([str(a) for a in argv], stdin=self.inner, stdout=self.inner, stderr=self.inner,
                                        env=harness.clean_environment(TERM="xterm"), start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        tap.cleanup.append(self.close)

    def resize(self, columns, lines):
        fcntl.ioctl(self.inner, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def close(self):
        harness.end_child(self.process)
        for fd in (self.outer, self.inner):
            if fd is not None:
                os.close(fd)
        self.outer = self.inner = None

    def read(self):
        while select.select([self.outer], [], [], 0)[0]:
            self.text += os.read(self.outer, 65536)

    def picture(self):
        """Lines of the last picture that is there as a whole."""
        self.read()
        pictures = self.text.split(b"\033[H")[1:]
        whole = [p for p in pictures if p.endswith(b"\033[J") or p is not pictures[-1]]
        text = whole[-1].replace(b"\033[K", b"").replace(b"\033[J", b"").decode() if whole else ""
        while "\033[" in text:
            before, _, after = text.partition("\033[")
            text = before + after.partition("m")[2]
        return [line.rstrip("\r") for line in text.split("\n")]

    def until(self, what, condition):
        return harness.wait_until(what, lambda: condition(self.picture()))

    def key(self, key):
        os.write(self.outer, key)

    def check_restored(self):
        def is_all_there():
            self.read()
            return self.text.rstrip().endswith(b"\033[?7h\033[?25h\033[?1049l")
        harness.wait_until("the end of what it wrote", is_all_there)
        assert termios.tcgetattr(self.inner) == self.before


def has(*words):
    return lambda lines: all(any(word in line for line in lines) for word in words)


def test_keys_change_the_view(tap):
    daemon, job = busy(tap)
    screen = Screen(tap, daemon)
    screen.until("jobs", has("by job", "4711", "MiB/s"))
    screen.key(b"p")
    screen.until("processes", has("by process", "PROGRAM", "python3"))
    screen.key(b"f")
    screen.until("files", has("by file", "/data"))
    screen.key(b"o")
    screen.until("by ops", has("highest ops first"))
    screen.key(b"d")
    screen.until("by drops", has("highest drops first"))
    assert not termios.tcgetattr(screen.inner)[3] & (termios.ICANON | termios.ECHO)
    screen.key(b"q")
    assert screen.process.wait(harness.DEADLINE_S) == 0
    screen.check_restored()
    job.end()
    daemon.stop()


def test_it_fits_and_follows_the_window(tap):
    daemon, job = busy(tap)
    others = [Job(tap, daemon, ["cat"], env={"FLOWTAP_JOB": "x" * 100 + str(i)}) for i in range(10)]
    screen = Screen(tap, daemon, lines=10)
    lines = screen.until("jobs", lambda lines: has("MiB/s", "q quit")(lines) and lines)
    assert max(map(len, lines)) <= 80 and len(lines) <= 10, lines
    screen.resize(60, 8)
    screen.process.send_signal(signal.SIGWINCH)
    lines = screen.until("it smaller", lambda lines: len(lines) <= 8 and has("MiB/s", "q quit")(lines) and lines)
    screen.key(b"q")
    assert screen.process.wait(harness.DEADLINE_S) == 0
    for one in [job, *others]:
        one.end()
    daemon.stop()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGSEGV, signal.SIGABRT])
def test_whatever_ends_it_the_terminal_is_as_before(tap, number):
    daemon = tap.daemon()
    screen = Screen(tap, daemon)
    screen.until("it", has("by job"))
    screen.process.send_signal(number)
    assert screen.process.wait(harness.DEADLINE_S) == -number
    screen.check_restored()
    daemon.stop(check="no trace")


def test_stopped_it_gives_the_terminal_back_and_takes_it_again(tap):
    daemon = tap.daemon()
    screen = Screen(tap, daemon)
    screen.until("it", has("by job"))
    screen.process.send_signal(signal.SIGTSTP)
    stat = pathlib.Path(f"/proc/{screen.process.pid}/stat")
    harness.wait_until("it to stop", lambda: stat.read_text().rpartition(")")[2].split()[0] == "T")
    screen.check_restored()
    screen.text = b""
    screen.process.send_signal(signal.SIGCONT)
    screen.until("it again", has("by job"))
    screen.key(b"q")
    assert screen.process.wait(harness.DEADLINE_S) == 0
    screen.check_restored()
    daemon.stop(check="no trace")


def test_while_the_daemon_is_away_it_waits_for_it(tap):
    daemon, job = busy(tap)
    screen = Screen(tap, daemon)
    screen.until("jobs", has("MiB/s"))
    job.end()
    daemon.stop()
    screen.until("that nobody answers", has("no such socket"))
    daemon.start()
    screen.until("the next daemon", lambda lines: not has("no such socket")(lines))
    screen.key(b"q")
    assert screen.process.wait(harness.DEADLINE_S) == 0
    daemon.stop(check="sums")


def test_count_ends_it_on_a_terminal_too(tap):
    daemon = tap.daemon()
    screen = Screen(tap, daemon, "--count", "2")
    assert screen.process.wait(harness.DEADLINE_S) == 0
    screen.check_restored()
    daemon.stop(check="no trace")
