# SPDX-License-Identifier: MIT
"""Programs that take from themselves what a tracer may want, in every way and then go on in every way."""

import re

import pytest

import counted
import harness

AFTER = ["writes", "threads", "fork", "exec", "system", "popen", "spawn", "in-thread", "in-child", "in-vfork"]
CASES = [("prctl", "kill", after) for after in AFTER]
CASES += [("tsc", "none", after) for after in ("writes", "threads", "fork", "in-thread", "in-child")]  # ld.so wants the counter
CASES += [(how, "kill", after) for how in ("seccomp", "prctl-syscall", "tsync") for after in ("writes", "system")]
CASES += [("seccomp", action, after) for action in ("trap", "errno", "log") for after in ("threads", "spawn")]


@pytest.mark.parametrize("how, action, after", CASES, ids=["-".join(c) for c in CASES])
def test_shut_in(tap, how, action, after):
    trace = tap.run_as_plain([harness.program("confined"), how, action, after])
    counts = counted.said(trace)
    for name in ("before", "after", "thread"):
        path = str(tap.work / name)
        assert [trace.count(name=c, path=path) for c in ("open", "write", "close")] == 3 * [counts[name]], name
    assert not any(trace.summary()["dropped_by_cause"].values())
    stamps = [e["ts"] for e in trace.events(name="write", path=str(tap.work / "after"))]
    assert stamps == sorted(stamps) and stamps[-1] - stamps[0] < 60e9
    children = trace.count(name="write", path=str(tap.work / "child"))
    if how == "tsc":
        assert children == {"fork": 10, "in-child": 20}.get(after, 0) and not trace.gaps()
    else:
        assert children == {"in-child": 20, "in-vfork": 10}.get(after, 0)
        assert trace.gaps("sandbox"), trace.gaps()
    if after == "in-vfork":
        assert trace.count(name="write", path=str(tap.work / "seen")) == 1


def numbers(names):
    """Of system calls, by the compiler's headers."""
    defined = harness.call(["gcc", "-E", "-dM", "-include", "sys/syscall.h", "-x", "c", "/dev/null"]).stdout.decode()
    known = dict(re.findall(r"#define __NR_(\w+) (\d+)\n", defined))
    return ",".join(sorted(known[name] for name in names))


def allowed_by_the_readme():
    text = (harness.REPO / "README.md").read_text()
    return set(re.search(r"The library's own calls are ([\w\s,]+?)\. It calls", text)[1].replace(",", " ").replace(" and ", " ").split())


@pytest.mark.parametrize("program", ["shell", "threads"])
def test_under_an_inherited_filter_that_allows_what_the_readme_says(tap, program):
    """And what the program does by itself: any other call is its end."""
    harness.needs_program("strace")
    argv = ["sh", "-c", "cat a > b; (cat b > c); mv b d; ls /nonexistent; exec rm d"] if program == "shell" else [harness.program("threads16")]
    (tap.work / "a").write_text("a")
    log = tap.folder / "strace"
    plain = tap.plain(["strace", "-f", "-o", log, *argv])
    own = set(re.findall(r"^\d+ +(\w+)\(", log.read_text(), re.M)) | set(re.findall(r"<\.\.\. (\w+) resumed>", log.read_text()))
    daemon = tap.daemon()
    env = harness.clean_environment(FLOWTAP="1", FLOWTAP_SOCKET=daemon.env()["FLOWTAP_SOCKET"])
    done = tap.plain([harness.program("only"), numbers(own | allowed_by_the_readme()), f"LD_PRELOAD={harness.PRELOAD}", *argv], env=env)
    harness.needs(done.returncode != 77, "no filter can be put in here")
    assert done.same() == plain.same()
    trace = daemon.stop()
    assert len(trace.processes()) >= (4 if program == "shell" else 1) and not trace.gaps("not_attached")
