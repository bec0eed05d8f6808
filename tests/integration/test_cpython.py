# SPDX-License-Identifier: MIT
"""CPython's own tests of files, processes, threads, signals and sockets: each gives the same result traced as untraced.

A module runs once untraced and once traced, several at a time, by Python's own runner. Where results of a test differ, the
module runs untraced three times more, side by side, so that time is short for them, too: what untraced runs differ in is not
compared, and named at the end of the output.
"""

import concurrent.futures
import dataclasses
import os
import subprocess
import xml.etree.ElementTree

import pytest

import harness

PYTHON = "/usr/bin/python3"
DEADLINE_S = 540

# What the slow start methods run in `make check`; `make soak` runs all of them.
WORKERS = ("WithProcessesTestProcess", "WithProcessesTestQueue", "WithProcessesTestPool", "WithProcessesTestConnection",
           "WithProcessesTestSharedMemory", "WithProcessesTestListenerClient", "WithProcessesTestPicklingConnections",
           "WithProcessesTestLock", "WithProcessesTestSemaphore", "WithProcessesTestEvent", "WithProcessesTestValue",
           "TestResourceTracker", "TestCloseFds", "TestStdinBadfiledescriptor", "TestStartMethod", "TestSimpleQueue")
CHECK = {
    "signal": "", "multiprocessing_fork": "", "multiprocessing_spawn": WORKERS, "multiprocessing_forkserver": WORKERS,
    "subprocess": "", "io": "", "socket": "", "threading": "", "asyncio": ("test_subprocess",), "os": "", "fileio": "", "tempfile": "",
    "shutil": "", "posix": "", "mmap": "", "select": "", "pty": "",
}
SOAK = ("multiprocessing_spawn", "multiprocessing_forkserver", "concurrent_futures", "asyncio", "eintr", "faulthandler", "largefile", "fcntl",
        "epoll", "poll", "selectors", "fork1", "wait3", "wait4", "popen", "openpty", "threadsignals", "file", "bufio", "pathlib", "glob",
        "zipfile", "tarfile", "gzip", "ssl", "atexit", "cmd_line", "dbm_dumb", "mailbox", "venv")
PARTS = [*CHECK, *(pytest.param(f"{module} in full", marks=[pytest.mark.soak, pytest.mark.timeout(7200)]) for module in SOAK)]

# In the first, two runs at once would meet; the second fails now and then by itself.
IGNORED = {
    "socket": {"*VSOCK*": "its port is one for the whole machine"},
    "signal": {"test_stress_modifying_handlers": "it wants one of its signals to meet the handler by luck (CPython's issue 110647, mended in 3.12)"},
}
# Children that these tests kill, put under limits or give to another user before they could attach; raw calls; what they leave running.
GAPS = {"not_attached", "rlimit", "container", "raw_syscall", "daemon_stopped"}

AGAIN = 3


@dataclasses.dataclass
class Run:
    """One run of one module: each test's outcome, and how the whole ended."""

    outcomes: dict
    output: str


def outcome(case):
    found = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
    return found[0] if found else case.get("result")


def run_module(part, folder, env):
    module, full, _ = part.partition(" in full")
    folder.mkdir(parents=True)
    chosen = CHECK.get(module, "") if not full else ""
    match = [word for name in chosen for word in ("-m", f"*.{name}.*")] + [word for name in IGNORED.get(module, ()) for word in ("-i", name)]
    report = folder / "report.xml"
    done = harness.call([PYTHON, "-m", "test", "-v", "--junit-xml", report, "--tempdir", folder, *match, f"test_{module}"], cwd=folder,
                        env=env, deadline=DEADLINE_S if not full else 3600)
    output = (done.stdout + done.stderr).decode(errors="replace")
    assert report.exists(), output[-3000:]
    cases = xml.etree.ElementTree.parse(report).iter("testcase")
    return Run({"how the run ended": done.returncode, **{case.get("name"): outcome(case) for case in cases}}, output)


@dataclasses.dataclass
class Pair:
    daemon: harness.Daemon
    plain: concurrent.futures.Future
    traced: concurrent.futures.Future


@pytest.fixture(scope="module")
def pairs(request):
    """All chosen modules, started at once; the machine's processors share them, and much of it is waiting."""
    there = subprocess.run([PYTHON, "-c", "import test.test_os"], stderr=subprocess.DEVNULL, check=False).returncode == 0
    harness.needs(there, f"{PYTHON} has no package `test` (libpythonX.Y-testsuite)")
    tap, started = harness.Tap(), {}
    clean = {"HOME": tap.work, "PYTHONDONTWRITEBYTECODE": None}
    parts = [item.callspec.params["part"] for item in request.session.items if "part" in getattr(getattr(item, "callspec", None), "params", ())]
    with concurrent.futures.ThreadPoolExecutor(2 * os.cpu_count()) as pool:
        for part in parts:
            daemon = tap.daemon()
            folder = tap.work / part.replace(" ", "-")
            started[part] = Pair(daemon, pool.submit(run_module, part, folder / "plain", harness.clean_environment(**clean)),
                                 pool.submit(run_module, part, folder / "traced", daemon.env(**clean)))
        yield started
    tap.finish(keep=False)


def that_differ(one, other):
    names = one.outcomes.keys() | other.outcomes.keys()
    return sorted(name for name in names if one.outcomes.get(name) != other.outcomes.get(name))


@pytest.mark.parametrize("part", PARTS)
def test_results_are_the_same(pairs, part, tap, record_property):
    pair = pairs[part]
    plain, traced = pair.plain.result(), pair.traced.result()
    for name, why in IGNORED.get(part, {}).items():
        record_property("not compared", f"{name} of {part}: {why}")
    assert len(plain.outcomes) > 1 and "completed" in plain.outcomes.values(), plain.output[-3000:]
    if differing := that_differ(plain, traced):
        clean = harness.clean_environment(HOME=tap.work, PYTHONDONTWRITEBYTECODE=None)
        with concurrent.futures.ThreadPoolExecutor(AGAIN) as pool:
            runs = [pool.submit(run_module, part, tap.work / f"again-{i}", clean) for i in range(AGAIN)]
        unstable = {name: run.result() for run in runs for name in that_differ(plain, run.result())}
        for name in set(differing) & set(unstable):
            record_property("not compared", f"{name}: untraced {plain.outcomes.get(name)}, then {unstable[name].outcomes.get(name)}")
        wrong = {name: (plain.outcomes.get(name), traced.outcomes.get(name)) for name in differing if name not in unstable}
        assert not wrong, f"untraced and traced: {wrong}\n{traced.output[-8000:]}"
    trace = pair.daemon.stop(check="sums")
    summary = trace.summary()
    assert summary["events"] > 0 and summary["dropped_by_cause"]["corrupt"] == 0
    assert {gap["kind"] for gap in summary["gaps"]} <= GAPS, summary["gaps"]
