# SPDX-License-Identifier: MIT
"""Fixtures of the integration tests."""

import os
import signal

import pytest

import booted
import harness


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if call.when == "call":
        item.test_failed = report.failed
        tap = getattr(item, "tap", None)
        if report.failed and tap:
            for log in sorted(tap.folder.rglob("daemon.log")):
                report.sections.append((str(log), log.read_text(errors="replace")[-4000:]))
            report.sections.append(("kept folder", str(tap.folder)))
    return report


@pytest.fixture
def tap(request):
    """A temporary folder and the means to trace in it; the folder stays where the test failed."""
    one = harness.Tap()
    request.node.tap = one
    yield one
    one.finish(keep=getattr(request.node, "test_failed", True))


def points_variant(target):
    """Built by the rule of the Makefile."""
    built = harness.REPO / "build/points" / target
    made = harness.call(["make", "-s", f"-j{os.cpu_count()}", "VARIANT=points", f"O={harness.REPO / 'build/points'}", built],
                        cwd=harness.REPO, deadline=600)
    assert made.returncode == 0, made.stderr.decode()
    return built


@pytest.fixture(scope="session")
def preload():
    """The shim of VARIANT=points, which raises a signal where FLOWTAP_TEST_POINT says."""
    return points_variant("lib/libflowtap-preload.so")


@pytest.fixture(scope="session")
def points_daemon():
    """The daemon of VARIANT=points, which raises a signal where the file of FLOWTAPD_TEST_POINT says."""
    return points_variant("bin/flowtapd")


@pytest.fixture(scope="session")
def machine(tmp_path_factory):
    """A machine with a real systemd and Flowtap installed; what is built lies at /flowtap, too."""
    with booted.installed(tmp_path_factory.mktemp("staged")) as one:
        yield one


@pytest.fixture
def small_disk(tap):
    """A folder on a disk of its own, of 6 MiB."""
    harness.needs(os.geteuid() == 0, "mounting needs root")
    disk = tap.folder / "disk"
    disk.mkdir()
    done = harness.call(["mount", "-t", "tmpfs", "-o", "size=6m", "none", disk])
    harness.needs(done.returncode == 0, f"no tmpfs can be mounted here: {done.stderr.decode().strip()}")
    tap.cleanup.append(lambda: harness.call(["umount", "-l", disk]))
    return disk


def take_signals_back():
    """A shell that starts us in the background has interrupts ignored, and what we start would inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def pytest_sessionstart(session):
    take_signals_back()
    missing = [p for p in (harness.FLOWTAP, harness.FLOWTAPD, harness.PRELOAD) if not p.exists()]
    if missing and not session.config.option.collectonly:
        pytest.exit(f"not built: {', '.join(map(str, missing))}; run `make` first", returncode=2)


def pytest_terminal_summary(terminalreporter):
    """A skip is never silent: its reason is printed whatever the options are; and what a test says by record_property."""
    for report in terminalreporter.getreports("skipped"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        terminalreporter.write_line(f"skipped: {report.nodeid}: {reason}")
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{name}: {value}")


os.umask(0o022)
