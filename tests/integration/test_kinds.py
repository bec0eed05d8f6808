# SPDX-License-Identifier: MIT
"""What a descriptor is and what it is called, whatever it is and however it came to be open."""

import os
import re

import pytest

import harness

PYTHON = ["/usr/bin/python3", "-S", "-E", "-B", "-c"]

# what is done, the path that the read or write then has, its kind, bytes read, bytes written
DESCRIPTORS = {
    "pipe": ("r, w = os.pipe(); os.write(w, b'abc'); os.read(r, 10)", r"pipe:\[\d+\]", "pipe", 3, 3),
    "socket": ("a, b = socket.socketpair(); os.write(a.fileno(), b'abc'); os.read(b.fileno(), 10)", r"socket:\[\d+\]", "socket",
               None, None),
    "terminal": ("m, s = os.openpty(); os.write(m, b'ab\\n'); os.read(s, 10)", r"/dev/pts/\d+", "tty", 3, 0),
    "memfd": ("f = os.memfd_create('scratch'); os.write(f, b'abc'); os.pread(f, 2, 0)", r"/memfd:scratch( \(deleted\))?", "memfd", 2, 3),
    "eventfd": ("f = libc.eventfd(5, 0); os.read(f, 8)", r"anon_inode:\[eventfd\]", "other", 8, 0),
    "timerfd": ("f = libc.timerfd_create(1, 0o4000); fails(f)", r"anon_inode:\[timerfd\]", "other", 0, 0),
    "inotify": ("f = libc.inotify_init1(0o4000); fails(f)", r"anon_inode:inotify", "other", 0, 0),
    "signalfd": ("f = libc.signalfd(-1, bytes(128), 0o4000); fails(f)", r"anon_inode:\[signalfd\]", "other", 0, 0),
    "epoll": ("f = libc.epoll_create1(0); fails(f)", r"anon_inode:\[eventpoll\]", "other", 0, 0),
    "pidfd": ("f = libc.pidfd_open(os.getpid(), 0); fails(f)", r"anon_inode:\[pidfd\]|pidfd:.*", "other", 0, 0),
    "memory": ("f = os.open('/proc/self/mem', os.O_RDONLY); os.pread(f, 4, id(f) & ~7)", r"/proc/self/mem", "regular", 4, 0),
    "device": ("f = os.open('/dev/zero', os.O_RDWR); os.read(f, 7); os.write(f, b'abc')", r"/dev/zero", "char", 7, 3),
    "removed": ("f = os.open('x', os.O_RDWR | os.O_CREAT); os.unlink('x'); os.write(f, b'abc')", r"WORK/x", "regular", 0, 3),
    "renamed": ("f = os.open('x', os.O_RDWR | os.O_CREAT); os.rename('x', 'y'); os.write(f, b'abc')", r"WORK/x", "regular", 0, 3),
    "hard link": ("f = os.open('x', os.O_RDWR | os.O_CREAT); os.link('x', 'y'); os.write(f, b'abc'); "
                  "os.read(os.open('y', os.O_RDONLY), 9)", r"WORK/x", "regular", 3, 3),
    "symbolic link": ("os.symlink('y', 'x'); f = os.open('x', os.O_RDWR | os.O_CREAT); os.write(f, b'abc'); "
                      "os.read(os.open('y', os.O_RDONLY), 9)", r"WORK/x", "regular", 3, 3),
    "reopened": ("f = os.open('x', os.O_RDWR | os.O_CREAT); os.write(f, b'abc'); "
                 "os.read(os.open(f'/proc/self/fd/{f}', os.O_RDONLY), 9)", r"WORK/x", "regular", 3, 3),
    "unnamed": ("f = os.open('.', os.O_TMPFILE | os.O_RDWR, 0o600); os.write(f, b'abc'); "
                "libc.linkat(-100, b'/proc/self/fd/%d' % f, -100, b'x', 0x400); os.read(os.open('x', os.O_RDONLY), 9)",
                r"WORK/#\d+( \(deleted\))?", "regular", 3, 3),
    "shared memory": ("f = libc.shm_open(b'/flowtap-%d' % os.getpid(), 0o102, 0o600); libc.shm_unlink(b'/flowtap-%d' % os.getpid()); "
                      "os.write(f, b'abc')", r"/dev/shm/flowtap-\d+( \(deleted\))?", "regular", 0, 3),
    "fifo": ("os.mkfifo('x'); f = os.open('x', os.O_RDWR); os.write(f, b'abc'); os.read(f, 9)", r"WORK/x", "pipe", 3, 3),
    "received": ("f = os.open('x', os.O_RDWR | os.O_CREAT); a, b = socket.socketpair(); socket.send_fds(a, [b'm'], [f]); os.close(f); "
                 "g = socket.recv_fds(b, 9, 1)[1][0]; os.write(g, b'abc')", r"WORK/x", "regular", 0, 3),
    "copied from a process": ("f = os.open('x', os.O_RDWR | os.O_CREAT); p = libc.pidfd_open(os.getpid(), 0); "
                              "g = libc.pidfd_getfd(p, f, 0); os.close(f); os.write(g, b'abc')", r"WORK/x", "regular", 0, 3),
    "to the parent": ("os.mkdir('d'); os.chdir('d'); f = os.open('../x', os.O_RDWR | os.O_CREAT); os.write(f, b'abc')",
                      r"WORK/d/\.\./x", "regular", 0, 3),
    "many slashes": ("os.mkdir('d'); f = os.open('.//d///./x', os.O_RDWR | os.O_CREAT); os.write(f, b'abc')",
                     r"WORK/d/x", "regular", 0, 3),
    "after fchdir": ("os.mkdir('d'); d = os.open('d', os.O_RDONLY); os.fchdir(d); f = os.open('x', os.O_RDWR | os.O_CREAT); "
                     "os.write(f, b'abc')", r"WORK/d/x", "regular", 0, 3),
    "below a renamed directory": ("os.mkdir('d'); d = os.open('d', os.O_RDONLY); os.rename('d', 'e'); "
                                  "f = os.open('x', os.O_RDWR | os.O_CREAT, dir_fd=d); os.write(f, b'abc')", r"WORK/e/x", "regular", 0, 3),
    "in a renamed directory": ("os.mkdir('d'); os.chdir('d'); os.close(os.open('y', os.O_RDWR | os.O_CREAT)); os.rename('../d', '../e'); "
                               "f = os.open('x', os.O_RDWR | os.O_CREAT); os.write(f, b'abc')", r"WORK/e/x", "regular", 0, 3),
    "directory": ("f = os.open('.', os.O_RDONLY); fails(f)", r"WORK", "directory", 0, 0),
    "path only": ("os.close(os.open('x', os.O_CREAT | os.O_RDWR)); f = os.open('x', os.O_PATH); fails(f)", r"WORK/x", "regular", 0, 0),
}

HEAD = """
import ctypes, os, socket
libc = ctypes.CDLL(None)
def fails(fd):
    try:
        os.read(fd, 1)
    except OSError:
        pass
"""


@pytest.mark.parametrize("what", DESCRIPTORS)
def test_a_descriptor_has_its_name_and_kind(tap, what):
    script, path, kind, read, written = DESCRIPTORS[what]
    harness.needs(os.path.exists(PYTHON[0]), f"{PYTHON[0]} is not installed")
    trace = tap.run([*PYTHON, HEAD + script])
    pattern = re.compile(path.replace("WORK", re.escape(str(tap.work))))
    moved = [e for e in trace.events() if e["name"] in ("read", "write", "pread64") and "/usr/lib" not in e.get("path", "")]
    assert any(pattern.fullmatch(e.get("path") or "") for e in moved), [(e["name"], e.get("path")) for e in moved]
    entries = [f for f in trace.files() if pattern.fullmatch(f["path"])]
    assert entries and {f["kind"] for f in entries} == {kind}, entries
    if read is not None:
        assert sum(f["read_bytes"] for f in entries) == read, entries
        assert sum(f["written_bytes"] for f in entries) == written, entries
    if kind not in ("regular", "directory"):
        assert trace.summary()["write"]["bytes"] == 0, trace.summary()["write"]


def test_names_below_what_was_removed(tap):
    """Nothing can be opened there any more; what was tried has the name that the directory had last."""
    trace = tap.run([*PYTHON, HEAD + """
os.mkdir('d'); os.mkdir('c')
d = os.open('d', os.O_RDONLY)
os.rmdir('d')
os.chdir('c')
os.rmdir('../c')
for place in (None, d):
    try:
        os.open('x', os.O_RDWR | os.O_CREAT, dir_fd=place)
    except FileNotFoundError:
        pass
"""])
    failed = [e["path"] for e in trace.events(errno=2) if e["path"].startswith(str(tap.work))]
    assert failed == [str(tap.work / "c/x"), str(tap.work / "d/x")]


def test_a_file_on_two_mount_points_is_one_file(tap):
    harness.needs(os.geteuid() == 0, "a mount namespace needs root here")
    (tap.work / "a").mkdir()
    (tap.work / "b").mkdir()
    (tap.work / "a/data").write_text("x" * 100)
    script = "mount --bind a b && cat a/data b/data"
    plain = tap.plain(["unshare", "-m", "sh", "-c", script])
    harness.needs(plain.returncode == 0, f"no mount namespace here: {plain.stderr.decode().strip()}")
    trace = tap.run(["unshare", "-m", "sh", "-c", script])
    assert trace.ran.stdout == b"x" * 200
    entry = trace.file(tap.work / "a/data")
    assert (entry["opens"], entry["read_bytes"]) == (2, 200), entry
    assert {e["path"] for e in trace.events(name="read", result=100)} <= {str(tap.work / "a/data"), str(tap.work / "b/data")}


def test_a_number_that_was_closed_unseen_has_no_name_of_before(tap):
    """A stream that libc closes by itself, then a descriptor by a call of libc's own."""
    trace = tap.run([harness.program("closed_unseen")])
    reads = [e for e in trace.events(name="read") if e["size"] == 8]
    assert [e["path"] for e in reads] == ["anon_inode:[eventfd]"] * 3, reads


CHILD = "import os; os.read(9, 50); os.write(10, b'abc'); os.lseek(9, 0, 0); os.read(9, 2)"
HANDED_ON = {
    "exec": "os.dup2(f, 9); os.dup2(g, 10); os.execv(python, argv)",
    "fork": "os.dup2(f, 9); os.dup2(g, 10)\nif os.fork() == 0: exec(argv[-1]); os._exit(0)\nos.wait()",
    "spawn, inherited": "os.dup2(f, 9); os.dup2(g, 10); os.waitpid(os.posix_spawn(python, argv, {}), 0)",
    "spawn, opened for it": "os.waitpid(os.posix_spawn(python, argv, {}, file_actions=[(os.POSIX_SPAWN_OPEN, 9, 'in', os.O_RDONLY, 0), "
                            "(os.POSIX_SPAWN_OPEN, 10, 'out', os.O_WRONLY, 0)]), 0)",
    "spawn, duplicated for it": "os.waitpid(os.posix_spawn(python, argv, {}, file_actions=[(os.POSIX_SPAWN_DUP2, f, 9), "
                                "(os.POSIX_SPAWN_DUP2, g, 10), (os.POSIX_SPAWN_CLOSE, f)]), 0)",
    "subprocess": "import subprocess; os.dup2(f, 9); os.dup2(g, 10); subprocess.run(argv, pass_fds=[9, 10], check=True)",
    "vfork": "import subprocess; os.dup2(f, 9); os.dup2(g, 10); subprocess.run(argv, close_fds=False, check=True)",
}


@pytest.mark.parametrize("way", HANDED_ON)
def test_a_descriptor_that_is_handed_on_keeps_its_name(tap, way):
    (tap.work / "in").write_text("0123456789")
    (tap.work / "out").write_text("")
    head = f"import os\npython, argv = {PYTHON[0]!r}, {[*PYTHON, CHILD]!r}\n"
    head += "f, g = os.open('in', os.O_RDONLY), os.open('out', os.O_WRONLY)\nfor n in (f, g, 9, 10):\n"
    head += "    n < 9 and os.set_inheritable(n, True)\n"
    trace = tap.run([*PYTHON, head + HANDED_ON[way]])
    assert (tap.work / "out").read_text() == "abc"
    assert trace.file(tap.work / "in")["read_bytes"] == 12
    assert trace.file(tap.work / "out")["written_bytes"] == 3
    reads = [e["fd"] for e in trace.events(name="read", path=str(tap.work / "in"))]
    assert reads == [9, 9], reads
