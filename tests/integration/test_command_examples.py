# SPDX-License-Identifier: MIT
"""Every example of every command's man page runs as it stands, and prints the columns that the page shows."""

import os
import re
import subprocess

import pytest

import harness
from generated import generate
from test_jobs import states

PAGES = sorted(path.name for path in (harness.REPO / "client/cli").glob("*.1"))
WITHOUT = {"flowtap-jobs.1"}

# What each page calls `trace` and the like: kinds of made traces. Of the others the page makes it itself, or a real one is made.
MADE = {
    "flowtap-diagnose.1": {"trace": ("metadata",), "simulation": ("straggler", "--hosts", "2")},
    "flowtap-diff.1": {"monday": ("random", "--seed", "1"), "tuesday": ("random", "--seed", "2", "--dropped", "300")},
    "flowtap-events.1": {"trace": ("training",)},
    "flowtap-files.1": {"trace": ("training", "--files", "30")},
    "flowtap-processes.1": {"trace": ("training",)},
    "flowtap-timeline.1": {"trace": ("checkpoint", "--hosts", "2")},
}
REAL = {"flowtap-info.1", "flowtap-summary.1", "flowtap-verify.1"}
BY_A_DAEMON = {"flowtap-fetch.1", "flowtap-status.1", "flowtap-top.1"}

# What may find nothing: it asks for what hangs, or for what these traces have not.
MAY_BE_EMPTY = re.compile(r"in_call|HDF5|t>=10 && t<12|errno == 2")


def examples_of(page):
    """(command, what the page shows that it prints) of each line that begins with a dollar sign."""
    text = (harness.REPO / "client/cli" / page).read_text()
    found = []
    for section in re.findall(r"^\.SH EXAMPLES.*?\n(.*?)(?=^\.SH |\Z)", text, re.M | re.S):
        for line in re.findall(r"^\.nf\n(.*?)^\.fi$", section, re.M | re.S):
            for one in line.replace("\\&", "").replace("\\-", "-").replace("\\e", "\\").splitlines():
                if one.startswith("$ "):
                    found.append((one[2:], []))
                elif found:
                    found[-1][1].append(one)
    return found


def squeezed(text):
    return [" ".join(line.split()) for line in text.splitlines()]


def columns_of(shown):
    """Heads of tables: lines of capital words."""
    return {" ".join(line.split()) for line in shown if re.fullmatch(r"[A-Z/ ]+( [a-z][a-z., ]*)?", line) and len(line.split()) > 2}


class Place:
    """A folder that has what the page's examples name, and a shell in it."""

    def __init__(self, tap, page):
        self.tap, self.folder = tap, tap.work
        tools = tap.folder / "tools"
        tools.mkdir()
        # Where there is no MPI: it starts the program so often.
        (tools / "mpirun").write_text('#!/bin/sh\nshift 2\nfor i in 1 2 3 4; do "$@" || exit; done\n')
        (tools / "mpirun").chmod(0o755)
        (self.folder / "simulate").write_text("#!/bin/sh\ncat simulate\n")
        (self.folder / "simulate").chmod(0o755)
        (self.folder / "train.py").write_text("print(open('train.py').read())\n")
        self.env = harness.clean_environment(PATH=f"{harness.FLOWTAP.parent}:{tools}:{os.environ['PATH']}", COLUMNS=None)
        for name, (kind, *options) in MADE.get(page, {}).items():
            generate(self.folder / name, kind, *options, events=60_000)
        if page in REAL:
            self.shell("flowtap run -o trace -- tar cf docs.tar /usr/share/doc/gcc* simulate train.py")
        if page in BY_A_DAEMON:
            daemon = tap.daemon("job_linger=100ms")
            assert daemon.call(["cat", "/etc/hostname"], env={"FLOWTAP_JOB": "4711"}).returncode == 0
            harness.wait_until("the job to end", lambda: states(daemon).get("4711") == "finished")
            self.env["FLOWTAP_SOCKET"] = str(daemon.socket)

    def start(self, command):
        return subprocess.Popen(["bash", "-o", "pipefail", "-c", command], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

    def shell(self, command):
        return harness.finish(self.start(command), command, deadline=120)

    def first_line_of(self, command):
        process = self.start(command)
        self.tap.cleanup.append(lambda: harness.end_group(process))
        line = process.stdout.readline()
        assert process.poll() is None, command
        return line


def check(place, command, shown):
    if command.startswith("flowtap top") and "--count" not in command:
        assert place.first_line_of(command), command
        return
    done = place.shell(command)
    told = done.stdout + (done.stderr if "flowtap run" in command or "--stats" in command else b"")
    if command.startswith(("flowtap doctor", "FLOWTAP_INCLUDE=")):
        assert done.returncode in (0, 1) and not done.stderr, (command, done.stderr)
        assert "INCLUDE" not in command or b"problem: filters: FLOWTAP_INCLUDE: 'nodir/*' cannot match" in told, told
    else:
        assert done.returncode == 0, (command, done.stderr)
        assert told == done.stdout + done.stderr, (command, done.stderr)
    assert told or MAY_BE_EMPTY.search(command), command
    missing = columns_of(shown) - set(squeezed(told.decode()))
    assert not missing, (command, missing)


@pytest.mark.parametrize("page", [page for page in PAGES if page not in WITHOUT])
def test_they_run_as_they_stand(tap, page):
    harness.needs_program("bash")
    found = examples_of(page)
    assert found, f"{page} has no example"
    place = Place(tap, page)
    for command, shown in found:
        if " jq " not in command:
            check(place, command, shown)
    harness.needs_program("jq")
    for command, shown in found:
        if " jq " in command:
            check(place, command, shown)


def test_the_columns_that_pages_show_are_looked_for():
    """Else a table that the page's pattern does not know would be taken for none."""
    shown = {page: columns_of([line for _, lines in examples_of(page) for line in lines]) for page in PAGES}
    assert all(shown[f"flowtap-{name}.1"] for name in ("diagnose", "diff", "events", "files", "processes", "summary")), shown
