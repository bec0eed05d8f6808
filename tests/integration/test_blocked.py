# SPDX-License-Identifier: MIT
"""Where nothing can be written, or a program is not wanted: said once or not at all, and the command runs as untraced."""

import os

import pytest

import harness

LINES = "ls; env | grep -cv -e '^FLOWTAP' -e '^LD_PRELOAD=' -e '^_='; foo=bar; $(true); echo $foo $?; ( exit 5 ); echo $?\n"


@pytest.mark.parametrize("how", ["excluded", "off"])
@pytest.mark.parametrize("argv", [["bash", "-c", LINES], ["bash", "--norc", "--noprofile", "-i"], ["sh", "-c", LINES]],
                         ids=["command", "interactive", "sh"])
def test_children_of_a_shell_that_is_not_wanted(tap, how, argv):
    """Its own file excluded, or tracing off in it: its children run, and are traced where their files are wanted."""
    (tap.work / "file").write_text("x")
    daemon = tap.daemon()
    env = {"FLOWTAP": "0"} if how == "off" else {"FLOWTAP_EXCLUDE": "/bin/bash:/usr/bin/bash:/bin/sh:/usr/bin/dash"}
    env["PS1"] = "> "
    stdin = (LINES + "exit 3\n").encode() if "-i" in argv else None
    want = harness.call(argv, cwd=tap.work, env=harness.clean_environment(PS1="> "), stdin=stdin)
    have = daemon.call(argv, cwd=tap.work, env=env, stdin=stdin)
    assert (have.returncode, have.stdout) == (want.returncode, want.stdout) and b"file\n" in have.stdout
    assert have.stderr == want.stderr
    daemon.call(["true"])  # so that there is a trace to look into
    trace = daemon.stop()
    assert bool([p for p in trace.processes() if p["exe"].endswith("/ls")]) == (how == "excluded")
    assert trace.gaps() == []


def assert_said_once(done, folder, ran):
    assert done.returncode == 1 and done.stdout == b"" and done.stderr.count(b"\n") == 1, done.stderr
    assert os.fsencode(folder) in done.stderr
    assert not ran.exists()


def test_an_output_folder_without_permission(tap):
    harness.needs(os.geteuid() == 0, "becoming another user needs root")
    harness.needs_program("setpriv")
    for folder in (tap.folder, tap.work):
        os.chmod(folder, 0o777)
    for mode in (0o000, 0o555):
        closed = tap.folder / f"closed-{mode}"
        closed.mkdir()
        os.chmod(closed, mode)
        for out in (closed, closed / "below"):
            done = harness.call(["setpriv", "--reuid", "65534", "--clear-groups", harness.FLOWTAP, "run", "-o", out, "--",
                                 "touch", tap.work / "ran"], cwd=tap.work)
            assert_said_once(done, closed, tap.work / "ran")


def test_a_file_system_that_is_read_only(tap):
    """As the folder of the trace it is said before anything runs; as the folder of the program it is the program's matter."""
    harness.needs(os.geteuid() == 0, "mounting needs root")
    locked, seed = tap.folder / "locked", tap.work / "Makefile"
    locked.mkdir()
    seed.write_text("all: $(addprefix t,$(shell seq 8))\nt%:\n\t@cat Makefile | wc -l; touch made 2>/dev/null || echo no\n")
    mount = f"mount -t tmpfs none {locked} && cp {seed} {locked}/ && mount -o remount,ro {locked} && cd {locked} && "

    def inside(command):
        return harness.call(["unshare", "-m", "sh", "-c", mount + command])
    want = inside("make -s -j4")
    harness.needs(want.returncode == 0 and want.stdout.count(b"no\n") == 8, "a read-only mount does not work here")
    for out in (locked, locked / "below"):
        assert_said_once(inside(f"exec {harness.FLOWTAP} run -o {out} -- make -s -j4"), locked, tap.work / "ran")
    out = tap.folder / "trace"
    have = inside(f"exec {harness.FLOWTAP} run -o {out} -- make -s -j4")
    assert have.returncode == 0 and sorted(have.stdout.split()) == sorted(want.stdout.split())
    processes = harness.read_command("processes", out)
    assert processes.returncode == 0 and processes.stdout.count(b"cat Makefile") >= 8
