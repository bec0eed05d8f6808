# SPDX-License-Identifier: MIT
"""P1 as users meet it: ordinary command lines give the same output, status and files traced as untraced.

A new case is a few lines in tests/data/commands/. Each runs untraced and traced in a folder of the same name and content, made
by `make_folder`; the traced run's own trace has to account for it.
"""

import contextlib
import difflib
import os
import pathlib
import re
import shutil
import stat
import time

import pytest

import commands
import harness

OLD_TIME = 1_600_000_000
UNPACKED = harness.REPO / "build/unpacked/usr/sbin"  # see tests/packages-unpack.txt
CASES = {case.name: case for case in commands.read_all()}
CASES_AT_LEAST = 150
compared, lacking = set(), {}  # names of cases that have run; what the others found missing


def make_folder(folder):
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "sub/deep").mkdir(parents=True)
    (folder / "a.txt").write_text("alpha beta\ngamma\n")
    (folder / "sub/b.txt").write_text("beta\n")
    (folder / "sub/deep/empty").write_text("")
    (folder / "lines").write_text("".join(f"{i * 7919 % 1000} line {i}\n" for i in range(2000)))
    (folder / "zeros").write_bytes(bytes(50_000))
    for path in folder.rglob("*"):
        os.utime(path, (OLD_TIME, OLD_TIME))


def described(path, started):
    """What a name holds: kind, mode, owner, links, a time that the command chose, content."""
    s = path.lstat()
    content = None
    if stat.S_ISREG(s.st_mode):
        content = path.read_bytes()
    elif stat.S_ISLNK(s.st_mode):
        content = os.readlink(path)
    return (stat.filemode(s.st_mode), s.st_uid, s.st_gid, s.st_nlink, s.st_mtime if s.st_mtime < started else "new", content)


def session_members(session):
    """The processes of a session that live; a command's are those of its own session (harness.call)."""
    members = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, _, its_session = path.read_bytes().rpartition(b")")[2].split()[:4]
            if int(its_session) == session and state not in b"ZX":
                members.append((path.parent.name, (path.parent / "cmdline").read_bytes()))
    return members


def run_case(case, tap, env):
    make_folder(tap.work)
    started = time.time() - 1  # the kernel's file times are those of its last tick
    done = harness.call(["bash", "-c", case.script], cwd=tap.work, env=env, deadline=240)
    harness.wait_until("what the command left over to end", lambda: not session_members(done.pid))
    tree = {str(path.relative_to(tap.work)): described(path, started) for path in sorted(tap.work.rglob("*"))}
    return {"status": done.returncode, "stdout": done.stdout, "stderr": without_pids(done.stderr), "files": tree}


def without_pids(text):
    """bash names a process of its own that was killed by its number."""
    return re.sub(rb"(line \d+:) +\d+ (?=[A-Z])", rb"\1 PID ", text)


def lines_that_differ(one, other):
    """Of two values, their text as lines; only what is not in both, and what is around it."""
    texts = [value.decode(errors="backslashreplace") if isinstance(value, bytes) else repr(value) for value in (one, other)]
    return list(difflib.unified_diff(*(text.splitlines() for text in texts), "untraced", "now", n=1, lineterm=""))[:40]


def differences(one, other):
    """What differs between two runs, short enough to be read."""
    parts = {what: (one[what], other[what]) for what in ("status", "stdout", "stderr")}
    parts |= {name: (one["files"].get(name), other["files"].get(name)) for name in sorted(one["files"].keys() | other["files"].keys())}
    return [f"{what}: {line:.400}" for what, (a, b) in parts.items() if a != b for line in lines_that_differ(a, b)]


def check_trace(case, trace):
    summary = trace.summary()
    killed = sum("signal" in (p["exit"] or {}) for p in trace.processes())
    assert summary["events"] > 0
    assert summary["dropped_by_cause"]["corrupt"] == 0
    assert summary["dropped_by_cause"]["torn"] <= killed
    assert {g["kind"] for g in summary["gaps"]} <= case.gaps, summary["gaps"]


@pytest.mark.parametrize("name", CASES)
def test_same_as_untraced(tap, name):
    case = CASES[name]
    path = f"{os.environ['PATH']}:{UNPACKED}"
    for program in case.needs:
        if not shutil.which(program, path=path):
            lacking[name] = program
            pytest.skip(f"{program} is not installed")
    variables = {"HOME": tap.work, "PATH": path, "STATE": harness.program("state")}
    daemon = tap.daemon()  # before both: what lies beside the folder is the same then
    plain = run_case(case, tap, harness.clean_environment(**variables))
    traced = run_case(case, tap, daemon.env(**variables))
    compared.add(name)
    if found := differences(plain, traced):
        unstable = differences(plain, run_case(case, tap, harness.clean_environment(**variables)))
        why = "two untraced runs differ as well; the command line has to be made stable:" if unstable else "traced, it differs:"
        pytest.fail("\n".join([why, *(unstable or found)]))
    check_trace(case, daemon.stop())


def test_enough_command_lines_are_compared(request, record_property):
    """Of a list that shrinks, and of one whose cases are skipped, all others would pass."""
    assert len(CASES) >= CASES_AT_LEAST
    chosen = {item.callspec.params["name"] for item in request.session.items if item.name.startswith("test_same_as_untraced[")}
    harness.needs(chosen == set(CASES), f"only {len(chosen)} of {len(CASES)} command lines were asked for")
    harness.needs(len(CASES) - len(lacking) >= CASES_AT_LEAST,
                  f"{len(lacking)} of {len(CASES)} command lines need what is not installed: {', '.join(sorted(set(lacking.values())))}")
    assert len(compared) >= CASES_AT_LEAST, sorted(set(CASES) - compared - set(lacking))
    record_property("command lines compared", len(compared))
