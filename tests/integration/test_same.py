# SPDX-License-Identifier: MIT
"""P1 as users meet it: ordinary command lines give the same output, status and files traced as untraced.

A new case is a few lines in tests/data/commands/. Each runs untraced and traced in a folder of the same name and content, made
by `make_folder`; the traced run's own trace has to account for it.
"""

import os
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


def run_case(case, tap, env):
    make_folder(tap.work)
    started = time.time() - 1  # the kernel's file times are those of its last tick
    done = harness.call(["bash", "-c", case.script], cwd=tap.work, env=env, deadline=240)
    tree = {str(path.relative_to(tap.work)): described(path, started) for path in sorted(tap.work.rglob("*"))}
    return {"status": done.returncode, "stdout": done.stdout, "stderr": without_pids(done.stderr), "files": tree}


def without_pids(text):
    """bash names a process of its own that was killed by its number."""
    return re.sub(rb"(line \d+:) +\d+ (?=[A-Z])", rb"\1 PID ", text)


def differences(one, other):
    """What differs, short enough to be read."""
    found = [f"{what}: {one[what]!r:.1500}\n     now: {other[what]!r:.1500}" for what in one if what != "files" and one[what] != other[what]]
    names = sorted(one["files"].keys() | other["files"].keys())
    return found + [f"{name}: {one['files'].get(name)!r:.300}\n     now: {other['files'].get(name)!r:.300}"
                    for name in names if one["files"].get(name) != other["files"].get(name)]


def check_trace(case, trace):
    trace.check_accounting()
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
        harness.needs(shutil.which(program, path=path), f"{program} is not installed")
    daemon = tap.daemon()  # before both: what lies beside the folder is the same then
    plain = run_case(case, tap, harness.clean_environment(HOME=tap.work, PATH=path))
    traced = run_case(case, tap, daemon.env(HOME=tap.work, PATH=path))
    if found := differences(plain, traced):
        unstable = differences(plain, run_case(case, tap, harness.clean_environment(HOME=tap.work, PATH=path)))
        why = "two untraced runs differ as well; the command line has to be made stable:" if unstable else "traced, it differs:"
        pytest.fail("\n".join([why, *(unstable or found)]))
    check_trace(case, daemon.stop(check=False))
