# SPDX-License-Identifier: MIT
"""The variables that turn tracing on, what a program sees of them, and how far tracing follows through cleaned ones."""

import os
import sys

import pytest

import harness

VARIABLES = ("FLOWTAP", "FLOWTAP_SOCKET", "FLOWTAP_JOB", "FLOWTAP_WORKFLOW", "FLOWTAP_TAGS", "FLOWTAP_INCLUDE",
             "FLOWTAP_EXCLUDE", "FLOWTAP_MODE", "FLOWTAP_FUNCTIONS", "FLOWTAP_LEVELS", "FLOWTAP_DEBUG", "FLOWTAP_UNKNOWN")
ODD = {
    "empty": b"", "space": b" ", "comma": b",", "list": b"a,b", "long": b"x" * 10_000, "bytes": b"\xff\xfe=\xff",
    "colons": b":::", "equals": b"===", "slash": b"/", "percent": b"%s%n%d", "newline": b"a\nb=c", "number": b"-1",
    "huge number": b"9" * 40, "tab": b"\t1", "longer than a page of words": b"k=v," * 1500,
}

# How often each odd value is counted as ignored, by variable; nothing said: never.
EVERY = {why: 1 for why in ODD}
IGNORED = {
    "FLOWTAP_MODE": EVERY,
    "FLOWTAP_DEBUG": {**EVERY, "empty": 0},
    "FLOWTAP_FUNCTIONS": {**EVERY, "empty": 0},
    "FLOWTAP_LEVELS": {**EVERY, "empty": 0},
    "FLOWTAP_TAGS": {**EVERY, "empty": 0, "comma": 0, "list": 2, "newline": 0, "longer than a page of words": 1500 - 64,
                     "bytes": 0},
    "FLOWTAP_INCLUDE": {"long": 1, "longer than a page of words": 1},
    "FLOWTAP_EXCLUDE": {"long": 1, "longer than a page of words": 1},
}


def test_preload_alone_does_nothing(tap):
    daemon = tap.daemon()
    env = harness.clean_environment(LD_PRELOAD=harness.PRELOAD, FLOWTAP_SOCKET=daemon.socket)
    done = harness.call(["sh", "-c", "cat /etc/hostname; exit 7"], env=env)
    assert done.same() == harness.call(["sh", "-c", "cat /etc/hostname; exit 7"]).same()
    # one traced command, so that there is a trace to look into
    daemon.call([harness.program("touch_all"), tap.work / "one"])
    assert [os.path.basename(p["exe"]) for p in daemon.stop().processes()] == ["touch_all"]


def test_without_a_daemon_the_program_runs_at_once(tap):
    plain = tap.plain(["sh", "-c", "cat /etc/hostname; ls /; exit 3"])
    for socket in (tap.folder / "absent", "", "relative", "/" + "x" * 300, "/etc/hostname", tap.folder):
        env = harness.clean_environment(LD_PRELOAD=harness.PRELOAD, FLOWTAP="1", FLOWTAP_SOCKET=socket)
        assert tap.plain(["sh", "-c", "cat /etc/hostname; ls /; exit 3"], env=env).same() == plain.same(), socket


def test_a_socket_that_nobody_accepts_on(tap):
    import socket
    path = tap.folder / "dead"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as dead:
        dead.bind(str(path))
        plain = tap.plain(["cat", "/etc/hostname"])
        for listening in (False, True):
            if listening:
                dead.listen(0)
            env = harness.clean_environment(LD_PRELOAD=harness.PRELOAD, FLOWTAP="1", FLOWTAP_SOCKET=path)
            for _ in range(5):
                assert tap.plain(["cat", "/etc/hostname"], env=env).same() == plain.same()


@pytest.mark.parametrize("variable", VARIABLES)
def test_odd_values_are_never_fatal(tap, variable):
    daemon = tap.daemon()
    plain = harness.call(["sh", "-c", "true; cat /etc/hostname; exit 5"])
    for why, value in ODD.items():
        env = {os.fsencode(k): os.fsencode(v) for k, v in daemon.env().items()}
        env[variable.encode()] = value
        done = harness.call(["sh", "-c", "true; cat /etc/hostname; exit 5"], env=env)
        assert done.same() == plain.same(), (variable, why)
    if variable not in ("FLOWTAP", "FLOWTAP_SOCKET"):
        trace = daemon.stop()
        assert len([p for p in trace.processes() if p["exe"].endswith("/cat")]) == len(ODD)


@pytest.mark.parametrize("variable", [v for v in VARIABLES if v not in ("FLOWTAP", "FLOWTAP_SOCKET")])
def test_an_odd_value_that_is_ignored_is_counted(tap, variable):
    daemon = tap.daemon()
    for why, value in ODD.items():
        env = {os.fsencode(k): os.fsencode(v) for k, v in daemon.env().items()}
        env[variable.encode()] = value
        env[b"LC_ALL"] = b"C"
        done = harness.call(["cat", "/etc/hostname", f"/dev/fd/0/{why}"], env=env)
        assert done.returncode == 1
    counted = {p["argv"][2].rsplit("/", 1)[1]: p["settings_ignored"] for p in daemon.stop().processes()}
    assert counted == {why: IGNORED.get(variable, {}).get(why, 0) for why in ODD}


def test_env_i_child_is_traced(tap):
    trace = tap.run(["sh", "-c", "env -i cat /etc/hostname; env -i sh -c 'exec cat /etc/passwd > copied'"])
    assert trace.file("/etc/hostname")["read_bytes"] == os.path.getsize("/etc/hostname")
    assert trace.file("/etc/passwd")["read_bytes"] == os.path.getsize("/etc/passwd")
    assert not trace.gaps("env_cleaned")


def test_env_i_child_gets_our_variables_and_no_other(tap):
    daemon = tap.daemon()
    done = daemon.call(["env", "-i", "KEPT=1", "/usr/bin/env"])
    names = {line.split(b"=")[0].decode() for line in done.stdout.splitlines()}
    assert "KEPT" in names and "LD_PRELOAD" in names and "FLOWTAP" in names
    assert all(n in ("KEPT", "LD_PRELOAD") or n.startswith("FLOWTAP") for n in names), names
    lines = done.stdout.splitlines()
    assert len(lines) == len(set(lines))


def test_python_subprocess_with_an_empty_environment_is_traced(tap):
    script = "import subprocess; subprocess.run(['/bin/cat', '/etc/hostname'], env={}, check=True)"
    trace = tap.run(["/usr/bin/python3", "-c", script])
    assert trace.image("/cat")
    assert trace.file("/etc/hostname")["read_bytes"] == os.path.getsize("/etc/hostname")


def test_no_follow_clean_env_is_a_gap(tap):
    trace = tap.run(["sh", "-c", "env -i cat /etc/hostname; true"], options=["--no-follow-clean-env"])
    assert not [p for p in trace.processes() if p["exe"].endswith("/cat")]
    assert trace.gaps("env_cleaned")


def test_shells_show_the_same_environment_apart_from_ours(tap):
    daemon = tap.daemon()
    for shell in ("bash", "dash", "sh"):
        def lines(env):
            done = harness.call([shell, "-c", "env"], env=env)
            return sorted(x for x in done.stdout.splitlines() if not x.startswith((b"FLOWTAP", b"LD_PRELOAD")))
        assert lines(daemon.env()) == lines(harness.clean_environment())


def test_a_second_preload_is_kept(tap):
    (tap.folder / "other.c").write_text("int flowtap_test_other = 1;\n")
    other = tap.folder / "other.so"
    assert harness.call(["gcc", "-shared", "-fPIC", "-o", other, tap.folder / "other.c"]).returncode == 0
    trace = tap.run(["grep", "-c", "other.so", "/proc/self/maps"], env={"LD_PRELOAD": other})
    assert int(trace.ran.stdout) > 0
    assert trace.count(name="read")


def test_include_and_exclude(tap):
    for name in ("a.dat", "b.dat", "c.txt"):
        (tap.work / name).write_text(name)
    names = [str(tap.work / n) for n in ("a.dat", "b.dat", "c.txt")]

    def seen(*options):
        trace = tap.run(["cat", *names], options=options)
        return [os.path.basename(n) for n in names if any(f["path"] == n and f["reads"] for f in trace.files())]
    assert seen() == ["a.dat", "b.dat", "c.txt"]
    assert seen("--include", f"{tap.work}/*.dat") == ["a.dat", "b.dat"]
    assert seen("--exclude", f"{tap.work}/*.dat") == ["c.txt"]
    assert seen("--include", "*.dat") == ["a.dat", "b.dat"]
    assert seen("--include", f"{tap.work}/*", "--exclude", f"{tap.work}/b*") == ["a.dat", "c.txt"]


def test_run_returns_the_programs_own_status(tap):
    for script, status in (("exit 0", 0), ("exit 7", 7), ("exit 255", 255), ("kill -9 $$", 137), ("kill -15 $$", 143)):
        tap.run(["sh", "-c", script], status=status)
    trace_less = harness.call([harness.FLOWTAP, "run", "-o", tap.folder / "x", "--", "/absent/command"])
    assert trace_less.returncode in (126, 127, 1) and trace_less.stderr.count(b"\n") >= 1


def test_run_keeps_the_programs_streams(tap):
    trace = tap.run([sys.executable, "-c", "import sys; sys.stdout.write(sys.stdin.read().upper()); print('e', file=sys.stderr)"],
                    stdin=b"text")
    assert trace.ran.stdout == b"TEXT" and trace.ran.stderr.startswith(b"e\n")


def test_an_output_folder_that_cannot_be_written_is_said_before_the_command_runs(tap):
    blocked = tap.folder / "file"
    blocked.write_text("")
    done = harness.call([harness.FLOWTAP, "run", "-o", blocked, "--", "touch", tap.work / "ran"])
    assert done.returncode == 1 and done.stderr.count(b"\n") == 1 and str(blocked).encode() in done.stderr
    assert not (tap.work / "ran").exists()
