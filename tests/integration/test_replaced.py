# SPDX-License-Identifier: MIT
"""Names and inode numbers come again: two files are never one row, one file is never two, and each call is its file's."""

import os
import subprocess
import sys
import time

import harness
import pytest

PYTHON = sys.executable
PROLOGUE = """
import ctypes, os, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
AT_FDCWD, EXCHANGE, FOLLOW, SYS_unlink = -100, 2, 0x400, {"x86_64": 87}.get(os.uname().machine)
def put(path, size, flags=os.O_CREAT):
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | flags, 0o600)
    os.write(fd, b"x" * size)
    os.close(fd)
here = os.open(".", os.O_RDONLY)
"""

# What the program does, and what was written to each file that there was.
MANY = 12
ALL = [*range(1, MANY + 1)]
CASES = {
    "replaced": ("for i in ALL: put(f't{i}', i); os.replace(f't{i}', 'latest')", ALL),
    "replaced under one name": ("for i in ALL: put('t', i); os.replace('t', 'latest')", ALL),
    "replaced, exclusively made": ("for i in ALL: put('t', i, os.O_CREAT | os.O_EXCL); os.replace('t', 'latest')", ALL),
    "replaced in a folder": ("os.mkdir('d')\nfor i in ALL: put('d/t', i); os.rename('t', 'latest', src_dir_fd=sub, dst_dir_fd=sub)"
                             .replace("\nfor", "\nsub = os.open('d', os.O_RDONLY)\nfor"), ALL),
    "removed": ("for i in ALL: put('t', i); os.unlink('t')", ALL),
    "removed by descriptor": ("for i in ALL: put('t', i); os.unlink('t', dir_fd=here)", ALL),
    "removed by its second path": ("for i in ALL: put('t', i); os.rename('t', 'u'); os.unlink('u')", ALL),
    "removed, exchanged before": ("for i in ALL:\n  put('a', 2 * i); put('b', 2 * i + 1)\n"
                                  "  assert libc.renameat2(AT_FDCWD, b'a', AT_FDCWD, b'b', EXCHANGE) == 0\n"
                                  "  put('a', 100, 0); os.unlink('a'); os.unlink('b')",
                                  [n for i in ALL for n in (2 * i, 2 * i + 101)]),
    "both of its links removed": ("for i in ALL: put('a', i); os.link('a', 'b'); os.unlink('a'); put('b', 50, 0); os.unlink('b')",
                                  [i + 50 for i in ALL]),
    "one of its links removed": ("put('a', 5); os.link('a', 'b'); os.unlink('a'); put('b', 6, 0)", [11]),
    "renamed onto its own link": ("put('a', 5); os.link('a', 'b'); os.rename('a', 'b'); put('a', 6, 0); put('b', 7, 0)", [18]),
    "a link from before": ("put('new', 7, 0); os.unlink('new'); put('old', 8, 0)", [15]),
    "linked from a descriptor": ("fd = os.open('.', os.O_TMPFILE | os.O_WRONLY, 0o600); os.write(fd, b'xxx')\n"
                                 "assert libc.linkat(AT_FDCWD, f'/proc/self/fd/{fd}'.encode(), AT_FDCWD, b'named', FOLLOW) == 0\n"
                                 "os.close(fd); put('named', 4, 0)", [7]),
    "removed by another process": ("for i in ALL[:4]: put('t', i); subprocess.run(['rm', 't'], check=True)", ALL[:4]),
    "written by another process": ("for i in ALL[:4]:\n  put('t', i)\n  subprocess.run(['sh', '-c', 'printf 12345 >> t'], check=True)\n"
                                   "  os.unlink('t')", [i + 5 for i in ALL[:4]]),
    "its folder renamed": ("for i in ALL: os.mkdir('d'); put('d/t', i); os.rename('d', f'e{i}'); put(f'e{i}/t', 20, 0)",
                           [i + 20 for i in ALL]),
}


def written(trace, work):
    return sorted(f["written_bytes"] for f in trace.files() if f["path"].startswith(f"{work}/") and f["written_bytes"])


def has_births(folder):
    done = subprocess.run(["stat", "-c", "%W", folder], capture_output=True, text=True, check=True)
    return done.stdout.strip() not in ("0", "-")


@pytest.mark.parametrize("case", CASES)
def test_each_file_is_one_row(tap, case):
    script, sizes = CASES[case]
    if case == "a link from before":
        harness.needs(has_births(tap.work), "the file system does not tell when a file was made")
        (tap.work / "old").write_text("")
        os.link(tap.work / "old", tap.work / "new")
        # A younger one cannot be told from one whose name was its last.
        born = os.stat(tap.work / "old").st_ctime
        harness.wait_until("the file is not as young as that", lambda: time.time() - born > 0.5)
    trace = tap.run([PYTHON, "-c", PROLOGUE + script.replace("ALL", repr(ALL))])
    assert written(trace, tap.work) == sorted(sizes)


def test_a_file_that_was_removed_unseen_is_another_one(tap):
    harness.needs(has_births(tap.work), "the file system does not tell when a file was made")
    harness.needs(os.uname().machine == "x86_64", "the number of unlink here is not known")
    # Told by its birth alone: the next one is made when the file system's clock, which has steps, has gone on.
    trace = tap.run([PYTHON, "-c", PROLOGUE + """
def made(path):
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
    return os.stat(path).st_ctime_ns
for i in range(1, 6):
    put('t', i)
    since = os.stat('t').st_ctime_ns
    libc.syscall(SYS_unlink, b't')
    while made('clock') <= since:
        libc.syscall(SYS_unlink, b'clock')
    libc.syscall(SYS_unlink, b'clock')
"""])
    assert written(trace, tap.work) == [1, 2, 3, 4, 5]


def rows(trace, name):
    return [f for f in trace.files() if f["path"].rsplit("/", 1)[-1] == name]


def test_calls_by_path_are_those_of_the_file_that_is_there(tap):
    trace = tap.run([PYTHON, "-c", PROLOGUE + """
kept = []
for i in range(1, 6):
    fd = os.open('t', os.O_CREAT | os.O_WRONLY)
    os.write(fd, b'x' * i)
    kept.append(fd)
    os.stat('t'), os.chmod('t', 0o600)
    os.unlink('t')
"""])
    assert [(f["written_bytes"], f["metadata"]) for f in sorted(rows(trace, "t"), key=lambda f: f["written_bytes"])] == \
        [(i, 4) for i in range(1, 6)]


def test_a_renamed_file_keeps_its_calls(tap):
    trace = tap.run([PYTHON, "-c", PROLOGUE + """
for i in range(1, 6):
    put('t', i)
    os.rename('t', f'final{i}')
for i in range(1, 6):
    os.stat(f'final{i}')
    os.close(os.open(f'final{i}', os.O_RDONLY))
"""])
    # open, close, rename, stat, open, close
    assert sorted((f["written_bytes"], f["metadata"], f["opens"]) for f in rows(trace, "t")) == [(i, 6, 2) for i in range(1, 6)]
    names = [f"final{i}" for i in range(1, 6)]
    assert not [f for name in names for f in rows(trace, name)]
    stats = [name for e in trace.events() if e["name"] in ("stat", "stat64", "newfstatat", "fstatat64", "__xstat64")
             and (name := e.get("path", "").rsplit("/", 1)[-1]) in names]
    assert stats == names


@pytest.mark.parametrize("mode", ["trace", "profile"])
def test_what_was_only_renamed_is_one_row(tap, mode):
    for name in "abcd":
        (tap.work / name).write_text(name)
    trace = tap.run([PYTHON, "-c", PROLOGUE + "os.rename('a', 'a2'); os.replace('b', 'c'); os.link('d', 'd2')"],
                    env={"FLOWTAP_MODE": mode})
    paths = {f["path"].rsplit("/", 1)[-1] for f in trace.files() if f["path"].startswith(f"{tap.work}/")}
    assert paths & {"a", "a2", "b", "c", "d", "d2"} == {"a", "b", "d"}
