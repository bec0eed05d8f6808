# SPDX-License-Identifier: MIT
"""A file that gets the inode number of one that was removed in the same tick of the clock: whoever uses it, it is one row, and the
other one is another."""

import fcntl
import os
import pathlib
import sys

import harness
import pytest
from test_confined import numbers

PYTHON = sys.executable
FS_IOC_GETVERSION = 0x80087601
ROUNDS = 20
PROLOGUE = f"""
import os, subprocess, sys
ROUNDS = {ROUNDS}
def put(path, size, flags=os.O_CREAT):
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | flags, 0o600)
    os.write(fd, b"x" * size)
    os.close(fd)
def child(use):
    pid = os.fork()
    if not pid:
        use()
        os._exit(0)
    return pid
def waiting(use):
    # A child that is there before, and uses the file when told so.
    reading, writing = os.pipe()
    pid = child(lambda: (os.read(reading, 1), use()))
    os.close(reading)
    return pid, writing
def tell(*others):
    for _, writing in others:
        os.write(writing, b"x")
        os.close(writing)
    for pid, _ in others:
        os.waitpid(pid, 0)
"""
# What the program does in round i, and each file's bytes written, opens and processes.
CASES = {
    "another process": ("""
    other = waiting(lambda: put(f's{i}', 5))
    put(f'l{i}', 1)
    os.unlink(f'l{i}')
    put(f's{i}', 3)
    tell(other)""", {"l": [(1, 1, 1)], "s": [(8, 2, 2)]}),
    "another process makes it": ("""
    other = waiting(lambda: put(f's{i}', 5, os.O_CREAT | os.O_EXCL))
    put(f'l{i}', 1)
    os.unlink(f'l{i}')
    tell(other)
    put(f's{i}', 3)""", {"l": [(1, 1, 1)], "s": [(8, 2, 2)]}),
    "another process removes it": ("""
    other = waiting(lambda: os.unlink(f'l{i}'))
    put(f'l{i}', 1)
    tell(other)
    put(f's{i}', 3)""", {"l": [(1, 1, 2)], "s": [(3, 1, 1)]}),
    "forked children": ("""
    put(f's{i}', 1)
    os.unlink(f's{i}')
    put(f's{i}', 2)
    for pid in [child(lambda: put(f's{i}', 5, 0)) for _ in range(3)]:
        os.waitpid(pid, 0)""", {"s": [(1, 1, 1), (17, 4, 4)]}),
    "its descriptor is inherited": ("""
    put(f's{i}', 1)
    os.unlink(f's{i}')
    fd = os.open(f's{i}', os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.set_inheritable(fd, True)
    os.waitpid(child(lambda: os.execvp('sh', ['sh', '-c', f'printf 12345 >&{fd}'])), 0)
    os.write(fd, b'xx')
    os.close(fd)""", {"s": [(1, 1, 1), (7, 1, 2)]}),
    "a lock file for each of two": ("""
    def rank():
        put(f'l{i}.{os.getpid()}', 1, os.O_CREAT | os.O_EXCL)
        os.unlink(f'l{i}.{os.getpid()}')
        put(f's{i}', 4)
    tell(waiting(rank), waiting(rank))""", {"l": [(1, 1, 1)] * 2, "s": [(8, 2, 2)]}),
    "renamed checkpoints, a temporary file": ("""
    for size in (1, 2, 3):
        put(f'c{i}.tmp', size)
        os.rename(f'c{i}.tmp', f'c{i}')
    put(f't{i}', 4)
    os.unlink(f't{i}')
    put(f'u{i}', 5)""", {"c": [(n, 1, 1) for n in (1, 2, 3)], "t": [(4, 1, 1)], "u": [(5, 1, 1)]}),
    "used later by another program": ("""
    put(f's{i}', 1)
    os.unlink(f's{i}')
    put(f's{i}', 2)
    subprocess.run(['cat', f's{i}'], check=True, stdout=subprocess.DEVNULL)""", {"s": [(1, 1, 1), (2, 2, 2)]}),
    "folders": ("""
    for _ in range(3):
        os.mkdir(f'd{i}')
        os.close(os.open(f'd{i}', os.O_RDONLY))
        os.rmdir(f'd{i}')""", {"d": [(0, 1, 1)] * 3}),
}


def tells_generations(folder):
    with open(folder / "probe", "w") as file:
        try:
            fcntl.ioctl(file, FS_IOC_GETVERSION, bytes(8))
        except OSError:
            return False
        has_device = os.major(os.fstat(file.fileno()).st_dev) != 0
    return has_device and "\nSeccomp:\t0\n" in pathlib.Path("/proc/self/status").read_text()


def rows_of_rounds(trace, work):
    """By round, of each letter that names begin with, what its files have."""
    found = [{} for _ in range(ROUNDS)]
    for file in trace.files():
        folder, _, name = file["path"].rpartition("/")
        number = "".join(c for c in name.split(".")[0][1:] if c.isdigit())
        if folder == str(work) and number:
            found[int(number)].setdefault(name[0], []).append((file["written_bytes"], file["opens"], file["processes"]))
    return [{letter: sorted(rows) for letter, rows in names.items()} for names in found]


@pytest.mark.parametrize("mode", ["trace", "profile"])
@pytest.mark.parametrize("case", CASES)
def test_successors_in_one_tick_are_told_apart_alike_by_all(tap, case, mode):
    harness.needs(tells_generations(tap.work), "the file system does not number the lives of an inode")
    script, expected = CASES[case]
    trace = tap.run([PYTHON, "-c", f"{PROLOGUE}\nfor i in range(ROUNDS):{script}"], env={"FLOWTAP_MODE": mode})
    for found in rows_of_rounds(trace, tap.work):
        assert found == expected


def test_a_process_that_may_not_ask_uses_the_same_file(tap):
    """One under a filter from before knows the time of birth alone."""
    harness.needs(tells_generations(tap.work), "the file system does not number the lives of an inode")
    allowed = ",".join(map(str, range(480)))
    daemon = tap.daemon()
    env = harness.clean_environment(FLOWTAP="1", FLOWTAP_SOCKET=daemon.env()["FLOWTAP_SOCKET"])
    preload = f"LD_PRELOAD={harness.PRELOAD}"
    for size, filtered in ((1, False), (2, True), (4, False), (8, True)):
        argv = ["sh", "-c", f"printf {'x' * size} >> s"]
        done = tap.plain([harness.program("only"), allowed, preload, *argv] if filtered else ["env", preload, *argv], env=env)
        harness.needs(done.returncode != 77, "no filter can be put in here")
        assert done.returncode == 0
    trace = daemon.stop()
    assert [(f["written_bytes"], f["opens"], f["processes"]) for f in trace.files() if f["path"] == f"{tap.work}/s"] == [(15, 4, 4)]
