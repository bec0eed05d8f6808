# SPDX-License-Identifier: MIT
"""Short processes under the installed service: what flowtapd and the service manager spend on one, on a booted machine."""

import contextlib
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

PROCESSES = 1000
DEADLINE_S = 60
TRACED = "FLOWTAP=1\nLD_PRELOAD=libflowtap-preload.so"


def processor_seconds(pid):
    """Of all its threads, also of those that have ended, to the nanosecond: the clock that clock_getcpuclockid(3) names."""
    return time.clock_gettime((~pid << 3) | 2)


def main_pid(machine, unit):
    """Of the unit, as it is numbered here: a child of the machine's first process."""
    inside = machine.show(unit, "MainPID")
    for pid in pathlib.Path(f"/proc/{machine.leader}/task/{machine.leader}/children").read_text().split():
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        if any(line.startswith("NSpid:") and line.split()[-1] == inside for line in status.splitlines()):
            return int(pid)
    sys.exit(f"bench: {unit} does not run")


def wait_written(machine, attached):
    """So many came, and all of them are in files."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        status = json.loads(machine.text("flowtap", "status", "--json"))
        if status["counters"]["attached"] >= attached and status["gauges"]["processes"] == 0:
            return
        time.sleep(0.5)  # each question costs the daemon time, too
    sys.exit(f"bench: {attached} processes are not written in {DEADLINE_S} s")


def spawn(machine, path, child_environment):
    """The median time of one, µs."""
    done = machine.call("runuser", "-u", "alice", "--", "/flowtap/tests/bench/spawn", PROCESSES, "/bin/true",
                        env={"PATH": path, "FT_BENCH_CHILD_ENV": child_environment})
    return float(done.stdout.split()[1])


def measure(machine, path, repeats):
    """µs of each run's processes: of flowtapd, of PID 1 above what it has to do untraced."""
    machine.call("systemctl", "start", "flowtapd.service")
    daemon, manager = main_pid(machine, "flowtapd.service"), machine.leader
    runs = {"flowtapd": [], "PID 1": [], "both": [], "spawn to wait, wall time": []}
    for done in range(1, repeats + 1):
        marks = []
        for child_environment, attached in (("", 0), (TRACED, done * PROCESSES)):
            before = processor_seconds(daemon), processor_seconds(manager)
            took = spawn(machine, path, child_environment)
            wait_written(machine, attached)
            marks.append([after - b for after, b in zip((processor_seconds(daemon), processor_seconds(manager)), before)])
        of_daemon, of_manager = marks[1][0], max(0, marks[1][1] - marks[0][1])
        for name, seconds in zip(runs, (of_daemon, of_manager, of_daemon + of_manager, took * PROCESSES / 1e6)):
            runs[name].append(seconds / PROCESSES * 1e6)
    return runs


def bench_service(build, repeats):
    print(f"\nShort processes under the hardened unit, {PROCESSES} in a row, one as soon as the one before has ended: "
          "µs of processor time of each")
    os.environ["FLOWTAP_BUILD"] = str(build)
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
    try:
        import booted
        import pytest
    except ImportError as error:
        print(f"  not run: {error}")
        return
    try:
        with tempfile.TemporaryDirectory(prefix="flowtap-bench-") as folder, contextlib.ExitStack() as stack:
            machine = stack.enter_context(booted.installed(pathlib.Path(folder)))
            booted.begin_service(machine)
            booted.add_user(machine, "alice")
            for name, costs in measure(machine, booted.PATH, repeats).items():
                print(f"  {name:<50} {min(costs):9.1f} {statistics.median(costs):9.1f}")
            machine.call("systemctl", "stop", "flowtapd.service")
            summary = json.loads(machine.text("flowtap", "summary", "--json", "/var/spool/flowtap"))
            print(f"  {summary['processes']} of {repeats * PROCESSES} processes in the trace, {summary['dropped']} events dropped, "
                  f"{len(summary['gaps'])} gaps")
    except pytest.skip.Exception as reason:
        print(f"  not run: {reason}")
