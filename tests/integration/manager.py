# SPDX-License-Identifier: MIT
"""A stand-in for the service manager, as far as flowtapd is concerned (sd_notify(3), sd_listen_fds(3)).

It holds the listening socket and what the daemon stores, and starts the daemon with them; a daemon that was killed finds
all of that again. Messages are read by a thread, as the real one reads them beside everything else.
"""

import contextlib
import fcntl
import os
import resource
import signal
import socket
import subprocess
import threading

import harness
from traced import Trace

FDS_START = 3
FDS_IN_MESSAGE = 253
HIGH_FD = 2000
TABLE = "flowtapd-arrivals"  # of those that a kill would lose


class Manager:
    def __init__(self, tap, *settings, max_stored=8192, binary=harness.FLOWTAPD, own_env=None):
        tap.runs += 1
        self.tap, self.settings, self.max_stored = tap, settings, max_stored
        self.binary, self.own_env = binary, own_env or {}
        self.folder = tap.folder / f"m{tap.runs}"
        self.folder.mkdir(mode=0o755)
        self.spool = self.folder / "spool"
        self.spool.mkdir()
        self.socket = self.folder / "s"
        self.log_path = self.folder / "daemon.log"
        self.stored = []  # (name, descriptor), in order
        self.seen = []  # every message's fields
        self.markers = self.marker = 0  # put into the queue, taken out of it
        self.lock = threading.Lock()
        self.ready = threading.Event()
        self.process = None
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        tap.cleanup.append(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)))
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(str(self.folder / "notify"))
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(str(self.socket))
        self.listener.listen(4096)
        os.chmod(self.socket, 0o666)
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()
        tap.cleanup.append(self.close)

    # what the daemon says

    def _read(self):
        while True:
            data, fds, _, _ = socket.recv_fds(self.notify, 65536, FDS_IN_MESSAGE)
            if data == b"END":
                return
            for fd in fds:
                os.set_inheritable(fd, False)  # else the next daemon has it by its number, too
            fields = dict(line.split("=", 1) for line in data.decode().splitlines())
            with self.lock:
                self._take(fields, fds)

    def _take(self, fields, fds):
        if "MARKER" in fields:
            self.marker = int(fields["MARKER"])
            return
        self.seen.append(fields)
        name = fields.get("FDNAME", "stored")
        if fields.get("FDSTORE") == "1":
            for fd in fds:
                # As the real one: FDPOLL=1 (the default) watches for the other end's going, and it takes so many.
                if len(self.stored) < self.max_stored:
                    self.stored.append((name, fd))
                else:
                    os.close(fd)
            fds = []
        if fields.get("FDSTOREREMOVE") == "1":
            for held in [pair for pair in self.stored if pair[0] == name]:
                self.stored.remove(held)
                os.close(held[1])
        if fields.get("READY") == "1":
            self.ready.set()
        for fd in fds:
            os.close(fd)

    def drain(self):
        """Waits until everything that was sent so far has been taken: an empty queue does not say that, since what was read
        last may not be in our books yet."""
        self.markers += 1
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as marker:
            marker.sendto(f"MARKER={self.markers}".encode(), str(self.folder / "notify"))
        harness.wait_until("everything that was sent", lambda: self.marker == self.markers)

    def names(self):
        """Of processes' memory."""
        with self.lock:
            return [name for name, _ in self.stored if name != TABLE]

    # its life

    def start(self, wait=True, under=()):
        """Starts the daemon with the socket and all that is stored; `under` is a command to run it under."""
        self.drain()
        self.ready.clear()
        with self.lock:
            held = [("flowtapd.socket", self.listener.fileno()), *self.stored]
            high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, HIGH_FD) for _, fd in held]
        names = ":".join(name for name, _ in held)
        env = harness.clean_environment(NOTIFY_SOCKET=self.folder / "notify", LISTEN_FDS=len(held), LISTEN_FDNAMES=names,
                                        **self.own_env)
        words = [word for s in (f"socket={self.socket}", f"spool_dir={self.spool}", *self.settings) for word in ("--set", s)]
        log = os.open(self.log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC)
        high_log = fcntl.fcntl(log, fcntl.F_DUPFD_CLOEXEC, HIGH_FD)
        # LISTEN_PID is the daemon's own pid, which only a process that becomes it knows.
        argv = [*map(str, under), "/bin/sh", "-c", 'LISTEN_PID=$$ exec "$@"', "sh", str(self.binary), *words]
        actions = [(os.POSIX_SPAWN_DUP2, high_log, 1), (os.POSIX_SPAWN_DUP2, high_log, 2)]
        actions += [(os.POSIX_SPAWN_DUP2, fd, FDS_START + i) for i, fd in enumerate(high)]
        pid = os.posix_spawnp(argv[0], argv, env, file_actions=actions, setsid=False, setpgroup=0)
        for fd in (*high, log, high_log):
            os.close(fd)
        self.process = Child(pid)
        return self.wait_ready() if wait else self

    def wait_ready(self):
        harness.wait_until("READY=1", lambda: self.ready.is_set() or self._check(), 60)
        return self

    def _check(self):
        assert self.process.poll() is None, f"flowtapd ended with {self.process.poll()}: {self.log()}"
        return False

    def log(self):
        return self.log_path.read_text(errors="replace")[-4000:] if self.log_path.exists() else ""

    def wait_killed(self):
        """Where `under` ends it."""
        self.process.wait(harness.DEADLINE_S)

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(harness.DEADLINE_S)

    def end(self):
        """SIGTERM, as a stop and the first half of a restart."""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(harness.DEADLINE_S)
        assert status == 0, f"flowtapd ended with {status}: {self.log()}"
        self.drain()

    def restart(self):
        self.end()
        return self.start()

    def stop(self, check="events"):
        """The service is stopped: what was stored goes too."""
        self.end()
        self.forget()
        return Trace(self.spool, harness.read_command).check(check)

    def forget(self):
        with self.lock:
            for _, fd in self.stored:
                os.close(fd)
            self.stored = []

    def env(self, **changes):
        return harness.clean_environment(
            **{"FLOWTAP": "1", "LD_PRELOAD": harness.PRELOAD, "FLOWTAP_SOCKET": self.socket, **changes})

    def spawn(self, argv, **options):
        """A traced command that the test waits for itself."""
        env = self.env(**options.pop("env", {}))
        options.setdefault("stdin", subprocess.DEVNULL)
        process = subprocess.Popen([str(a) for a in argv], env=env, start_new_session=True, **options)
        self.tap.cleanup.append(lambda: process.poll() is not None or harness.end_group(process))
        return process

    def call(self, argv, *, env=None, **options):
        return harness.call(argv, env=self.env(**(env or {})), **options)

    def close(self):
        self.kill()
        with contextlib.suppress(OSError):
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
                end.sendto(b"END", str(self.folder / "notify"))
        self.thread.join(10)
        self.forget()
        self.notify.close()
        self.listener.close()


class Child:
    """A process that we spawned ourselves, with what is used of subprocess.Popen."""

    def __init__(self, pid):
        self.pid, self.returncode = pid, None

    def poll(self):
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, deadline):
        return harness.wait_until("the daemon's end", lambda: (self.poll(), self.returncode is not None)[1],
                                  deadline) and self.returncode

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)
