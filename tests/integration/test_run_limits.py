# SPDX-License-Identifier: MIT
"""`flowtap run` under hard limits: the command runs all the same, and what kept it from being traced is said."""

import os
import resource
import signal

import pytest

import harness
import traced

MIB = 1 << 20


def limited(tap, *limits, argv=("cat", "/etc/hostname"), **options):
    """Under limits that cannot be raised again; its folder for the socket is looked into."""
    (tap.folder / "tmp").mkdir(exist_ok=True)
    done = harness.call([harness.FLOWTAP, "run", "-o", tap.folder / "t", "--", *argv], cwd=tap.work,
                        env=harness.clean_environment(TMPDIR=tap.folder / "tmp", XDG_RUNTIME_DIR=None),
                        preexec_fn=lambda: [resource.setrlimit(limit, (value, value)) for limit, value in limits], **options)
    assert list((tap.folder / "tmp").iterdir()) == []
    return done


def ran_untraced(tap, done, why):
    assert (done.returncode, done.stdout) == (0, open("/etc/hostname", "rb").read()), done.stderr
    assert b"the command runs untraced" in done.stderr and why in done.stderr and done.stderr.count(b"\n") == 1
    assert not (tap.folder / "t").exists()


def traced_by(tap, done):
    assert (done.returncode, done.stdout) == (0, open("/etc/hostname", "rb").read()), done.stderr
    return traced.Trace(tap.folder / "t", harness.read_command)


def test_little_address_space_is_enough_or_is_said(tap):
    """How much the loader wants, and how much we do beside it, depends on libraries and locale."""
    said = []
    for mib in range(4, 128, 2):
        done = limited(tap, (resource.RLIMIT_AS, mib * MIB))
        if (tap.folder / "t").exists():
            break
        if said or done.returncode == 0:  # else not even `flowtap` could be loaded
            ran_untraced(tap, done, b"cannot start flowtapd")
            said.append(done.stderr)
    assert any(b"no room for a thread" in line for line in said), said
    trace = traced_by(tap, done)
    trace.check_accounting()
    assert trace.file("/etc/hostname")["opens"] == 1 and not trace.gaps()


@pytest.mark.parametrize("limits,why", [
    ([(resource.RLIMIT_FSIZE, 0)], b"files may not grow (ulimit -f)"),
    ([(resource.RLIMIT_NOFILE, 8)], b"open files"),
])
def test_where_no_daemon_can_be_the_command_runs_untraced(tap, limits, why):
    ran_untraced(tap, limited(tap, *limits), why)


@pytest.mark.parametrize("argv,status", [(["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -9 $$"], 128 + 9), (["sh", "-c", "kill -TERM $$"], 128 + 15), (["/nowhere"], 127),
                                         (["/etc"], 126)])
def test_the_status_is_its_own_there(tap, argv, status):
    assert limited(tap, (resource.RLIMIT_NOFILE, 8), argv=argv).returncode == status


@pytest.mark.parametrize("bytes_max", [1024, 2 * MIB])
def test_files_too_small_for_the_ring_are_a_gap_of_the_limit(tap, bytes_max):
    (gap,) = traced_by(tap, limited(tap, (resource.RLIMIT_FSIZE, bytes_max))).gaps()
    assert gap["kind"] == "rlimit" and "limits" in gap["reason"]


def test_a_daemon_without_descriptors_is_the_gaps_reason(tap):
    (gap,) = traced_by(tap, limited(tap, (resource.RLIMIT_NOFILE, 40))).gaps()
    assert gap["kind"] == "not_admitted" and "descriptor" in gap["reason"] and "processes" not in gap["reason"]


@pytest.mark.parametrize("limits", [[(resource.RLIMIT_FSIZE, 64 * MIB)], [(resource.RLIMIT_FSIZE, 0)]])
def test_the_signal_of_the_limit_is_the_commands_as_it_was(tap, limits):
    """Traced and untraced."""
    bit = 1 << (signal.SIGXFSZ - 1)
    for handler in (signal.SIG_DFL, signal.SIG_IGN):
        before = signal.signal(signal.SIGXFSZ, handler)
        try:
            done = harness.call([harness.FLOWTAP, "run", "-q", "-o", tap.folder / "t", "--", "grep", "SigIgn", "/proc/self/status"],
                                preexec_fn=lambda: [resource.setrlimit(limit, (value, value)) for limit, value in limits],
                                restore_signals=False)
        finally:
            signal.signal(signal.SIGXFSZ, before)
        assert bool(int(done.stdout.split()[1], 16) & bit) == (handler == signal.SIG_IGN), done.stderr


def test_what_cannot_be_written_for_the_limit_is_an_error_and_no_signal(tap):
    trace = tap.run(["cat", "/etc/hostname"])
    for words in (["summary", trace.path], ["events", trace.path], ["files", trace.path], ["processes", trace.path], ["timeline", trace.path],
                  ["verify", trace.path], ["info", trace.path], ["diff", trace.path, trace.path], ["--version"], ["--help"]):
        with open(tap.folder / "out", "wb") as out:
            script = 'ulimit -f 0; exec "$@" 2>&1 >&3 3>&-'
            done = harness.call(["bash", "-c", script, "sh", harness.FLOWTAP, *words],
                                preexec_fn=lambda fd=out.fileno(): os.dup2(fd, 3), close_fds=False)
        assert done.returncode == 1 and b"cannot write to standard output: File too large" in done.stdout, (words, done.stdout)


def test_an_empty_folder_is_wrong_usage(tap):
    done = harness.call([harness.FLOWTAP, "run", "-o", "", "--", "true"], cwd=tap.work)
    assert done.returncode == 2 and b"--output wants a folder" in done.stderr
