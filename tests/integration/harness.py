# SPDX-License-Identifier: MIT
"""What every integration test stands on: where the built programs are, how a command is traced, what its trace says.

A test gets a `Tap` (fixture `tap`), which owns one temporary folder, and asks it to run a command traced
(`tap.run`: `flowtap run`; `tap.daemon`: a daemon of its own and the two variables) or untraced (`tap.plain`).
What comes back is a `Trace`, read through the command's JSON alone, and already checked for promise P3.
"""

import atexit
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

from traced import Trace

REPO = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("FLOWTAP_BUILD", REPO / "build")).resolve()


def _place_for_all():
    """Where other users get to what is built, too: a copy, where the tree lies in a folder that is closed to them."""
    if os.geteuid() != 0 or all(folder.stat().st_mode & 0o001 for folder in (BUILD, *BUILD.parents)):
        return BUILD
    place = pathlib.Path(tempfile.mkdtemp(prefix="flowtap-build-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    place.chmod(0o755)
    for part in ("bin", "lib"):
        shutil.copytree(BUILD / part, place / part, symlinks=True)
    return place


PLACE = _place_for_all()
FLOWTAP = PLACE / "bin/flowtap"
FLOWTAPD = PLACE / "bin/flowtapd"
PRELOAD = PLACE / "lib/libflowtap-preload.so"
PROGRAMS = REPO / "tests/programs"

DEADLINE_S = 60


class Finished:
    """One command that has ended: what it printed and how it ended."""

    def __init__(self, argv, returncode, stdout, stderr, pid):
        self.argv, self.returncode, self.stdout, self.stderr, self.pid = argv, returncode, stdout, stderr, pid

    def same(self):
        return (self.returncode, self.stdout, self.stderr)


def clean_environment(**changes):
    """This process's environment without anything that would trace, and with a fixed locale."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("FLOWTAP") and k != "LD_PRELOAD"}
    env.update(LC_ALL="C.UTF-8", TZ="UTC")
    for key, value in changes.items():
        if value is None:
            env.pop(key, None)
        else:
            env[key] = str(value)
    return env


def needs(condition, reason):
    """Skips with a reason, which conftest.py prints."""
    if not condition:
        pytest.skip(reason)


def needs_program(name):
    needs(shutil.which(name), f"{name} is not installed")


def end_group(process):
    """Ends what we started, by the process group that we made for it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def end_child(process):
    """Ends one that we started ourselves."""
    if process.poll() is None:
        process.kill()
    process.wait()


def finish(process, argv, stdin=None, deadline=DEADLINE_S):
    try:
        out, err = process.communicate(stdin, timeout=deadline)
    except subprocess.TimeoutExpired:
        end_group(process)
        out, err = process.communicate()
        raise AssertionError(f"{argv} did not end in {deadline} s; stderr: {err[-2000:]!r}") from None
    return Finished(argv, process.returncode, out, err, process.pid)


def call(argv, *, stdin=None, deadline=DEADLINE_S, **options):
    """Runs a command to its end or to the deadline; never shares our terminal or our stdin."""
    argv = [str(a) for a in argv]
    options.setdefault("env", clean_environment())
    options.setdefault("start_new_session", True)
    process = subprocess.Popen(argv, stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    return finish(process, argv, stdin, deadline)


def wait_until(what, condition, deadline=DEADLINE_S):
    """Polls a condition; the only place where a test may let time pass, and it always has a deadline."""
    end = time.monotonic() + deadline
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError(f"waited {deadline} s in vain for: {what}")


def program(name):
    """The path of a built test program; built here by the rule of tests.mk where `make` has not built it."""
    source = next(p for p in (PROGRAMS / f"{name}.c", PROGRAMS / f"{name}.cc") if p.exists())
    built = BUILD / "tests/programs" / name
    newest = max(source.stat().st_mtime, (PROGRAMS / "record.h").stat().st_mtime)
    if not built.exists() or built.stat().st_mtime < newest:
        made = call(["make", "-s", f"O={BUILD}", built], cwd=REPO, deadline=120)
        assert made.returncode == 0, made.stderr.decode()
        needs(built.exists(), f"{name} is not built here: {made.stdout.decode().strip()}")
    if PLACE == BUILD:
        return built
    copy = PLACE / "tests/programs" / name
    if not copy.exists():
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(built, copy)
    return copy


class Daemon:
    """A flowtapd of the test's own; `env` is what makes a command traced by it."""

    def __init__(self, tap, name, settings=(), binary=FLOWTAPD, env=None):
        self.tap, self.binary, self.own_env = tap, binary, env or {}
        self.folder = tap.folder / name
        self.folder.mkdir(mode=0o700)
        self.spool = self.folder / "spool"
        self.spool.mkdir()
        self.socket = self.folder / "s"
        self.log_path = self.folder / "daemon.log"
        self.settings = settings
        self.words = ()  # more of the command line
        self.process = None

    def start(self):
        ready, given = os.pipe()
        settings = [f"socket={self.socket}", f"spool_dir={self.spool}", f"ready_fd={given}", *self.settings]
        argv = [str(self.binary), *map(str, self.words), *(word for s in settings for word in ("--set", s))]
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            pass_fds=[given], env=clean_environment(**self.own_env), start_new_session=True)
        os.close(given)
        self.tap.cleanup.append(self.kill)
        os.set_blocking(ready, False)
        said = bytearray()
        try:
            wait_until("the daemon's ready byte", lambda: self._is_ready(ready, said), 20)
        finally:
            os.close(ready)
        return self

    def _is_ready(self, ready, said):
        """Whether it has said so and closed ready_fd: from then on it has no descriptor that will be gone soon."""
        assert self.process.poll() is None, f"flowtapd ended with {self.process.returncode}: {self.log()}"
        try:
            byte = os.read(ready, 1)
        except BlockingIOError:
            return False
        said += byte
        assert said, f"flowtapd closed ready_fd without a byte: {self.log()}"
        return not byte

    def log(self):
        return self.log_path.read_text(errors="replace")[-4000:] if self.log_path.exists() else ""

    def env(self, **changes):
        return clean_environment(**{"FLOWTAP": "1", "LD_PRELOAD": PRELOAD, "FLOWTAP_SOCKET": self.socket, **changes})

    def call(self, argv, *, env=None, **options):
        return call(argv, env=self.env(**(env or {})), **options)

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
        if self.process:
            self.process.wait()

    def stop(self, check="events"):
        """Ends the daemon cleanly, all drained, and gives the trace of everything that it saw, checked as Trace.check says."""
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"flowtapd did not end on SIGTERM: {self.log()}") from None
        assert status == 0, f"flowtapd ended with {status}: {self.log()}"
        return Trace(self.spool, read_command).check(check)


def read_command(*words):
    """Runs one reading command; gives its Finished."""
    return call([FLOWTAP, *words], deadline=120)


def state_of(pid):
    """The letter by which the kernel tells what a process does."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
        return stat.read().rpartition(")")[2].split()[0]


@contextlib.contextmanager
def stopped(daemon):
    """The daemon does nothing: what is sent or recorded meanwhile is there as a whole when it goes on."""
    os.kill(daemon.process.pid, signal.SIGSTOP)
    wait_until("it to stop", lambda: state_of(daemon.process.pid) == "T")
    try:
        yield
    finally:
        os.kill(daemon.process.pid, signal.SIGCONT)


class Tap:
    """A test's own folder and everything that it started."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="flowtap-test-"))
        self.work = self.folder / "work"
        self.work.mkdir()
        self.cleanup = []
        self.runs = 0

    def plain(self, argv, **options):
        options.setdefault("cwd", self.work)
        return call(argv, **options)

    def compiled(self, name, source, *flags, after=(), compiler="gcc"):
        """A program or library made of a test's own source text; `after` are words behind the source."""
        text = self.folder / f"{name}.c"
        text.write_text(source)
        made = call([compiler, "-O1", "-w", *flags, "-o", self.folder / name, text, *after], deadline=120)
        assert made.returncode == 0, made.stderr.decode()
        return self.folder / name

    def run(self, argv, *, options=(), env=None, check="events", deadline=DEADLINE_S, stdin=None, cwd=None, status=0):
        """`flowtap run` of one command; the Trace has the finished command as `.ran`."""
        self.runs += 1
        out = self.folder / f"trace{self.runs}"
        ran = call([FLOWTAP, "run", "-o", out, *options, "--", *argv], env=clean_environment(**(env or {})),
                   deadline=deadline, stdin=stdin, cwd=cwd or self.work)
        assert status is None or ran.returncode == status, (ran.returncode, ran.stdout[-2000:], ran.stderr[-2000:])
        trace = Trace(out, read_command)
        trace.ran = ran
        return trace.check(check)

    def plain_and_run(self, argv, *, status=0, **options):
        """The untraced run, whose files are removed then, and the trace of the same command."""
        plain = self.plain(argv)
        assert (plain.returncode, plain.stderr) == (status, b""), plain
        for path in self.work.iterdir():
            path.unlink()
        return plain, self.run(argv, status=status, **options)

    def run_as_plain(self, argv, **options):
        """The trace of a command that prints the same untraced."""
        plain, trace = self.plain_and_run(argv, **options)
        assert trace.ran.stdout == plain.stdout
        return trace

    def daemon(self, *settings):
        self.runs += 1
        return Daemon(self, f"d{self.runs}", settings).start()

    def finish(self, keep):
        for step in reversed(self.cleanup):
            step()
        if not keep:
            shutil.rmtree(self.folder, ignore_errors=True)
