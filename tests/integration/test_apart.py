# SPDX-License-Identifier: MIT
"""Threads that take the directory or the descriptors for themselves, and a process whose first thread has ended: each call
has the name of what it was on."""

import pytest

import harness

WANT = {
    "cwd": {"one/same": 4, "two/same": 4, "same": 4},
    "raw-cwd": {"one/same": 4, "two/same": 4, "same": 4},
    "files": {"own": 3, "one/below": 5, "stream": 6, "shared": 12, "other": 10},
    "raw-files": {"own": 3, "one/below": 5, "stream": 6, "shared": 12, "other": 10},
    "range": {"own": 3, "one/below": 5, "stream": 6, "shared": 12, "other": 10},
    "raw-range": {"own": 3, "one/below": 5, "stream": 6, "shared": 12, "other": 10},
    "raw-chdir": {"before": 6, "one/inside": 6, "after": 5},
    "raw-filter": {"one/inside": 6},
    "raw-rename": {"two/below": 5},
    "renames": {"two/below": 5, "three/third": 5},
    "setns": {"before": 6, "after": 5},
    "failed-range": {"first": 5, "second": 6},
    "raw-failed": {"first": 5, "second": 6},
    "inner": {"inner": 5, "shared": 12},
    "once": {"inner": 5, "shared": 6},
}


def size_of(folder, name):
    """Of a file where it was written, or where it is now."""
    path = folder / name
    return (path if path.exists() else next(folder.rglob(path.name))).stat().st_size


def written(trace, folder):
    return {f["path"].removeprefix(f"{folder}/"): f["written_bytes"] for f in trace.files() if f["writes"] and f["path"].startswith("/")}


@pytest.mark.parametrize("how", WANT)
def test_each_file_has_its_own_bytes(tap, how):
    argv = [harness.program("apart"), how]
    plain = tap.plain(argv, cwd=make_folder(tap, "plain"))
    harness.needs(plain.returncode != 77, "unshare, setns or close_range is refused here")
    assert plain.returncode == 0
    folder = make_folder(tap, "traced")
    trace = tap.run(argv, cwd=folder)
    assert {name: size_of(folder, name) for name in WANT[how]} == WANT[how]
    assert written(trace, folder) == WANT[how]
    if how == "cwd":
        assert sorted(e["path"] for e in trace.events(name="chdir")) == [str(folder / "one"), str(folder / "two")]
    if how == "setns":
        assert [e["path"] for e in trace.events(name="access")] == ["/etc"]


def test_directories_of_threads_under_a_filter_are_not_guessed(tap):
    argv = [harness.program("apart"), "filtered"]
    plain = tap.plain(argv, cwd=make_folder(tap, "plain"))
    harness.needs(plain.returncode != 77, "unshare is refused here")
    assert plain.returncode == 0
    folder = make_folder(tap, "traced")
    trace = tap.run(argv, cwd=folder)
    assert (folder / "one/same").stat().st_size == 4
    assert [e["path"] for e in trace.events(name="chdir")] == [str(folder / "one"), "two"]
    assert [(f["path"], f["written_bytes"]) for f in trace.files() if f["writes"] and f["path"].endswith("same")] == [("same", 4)]


def make_folder(tap, name):
    folder = tap.work / name
    folder.mkdir()
    return folder


def test_names_when_the_first_thread_has_ended(tap):
    with open(tap.folder / "out", "wb") as out:
        done = harness.subprocess.run([harness.FLOWTAP, "run", "-q", "-o", tap.folder / "trace", "--", harness.program("apart"), "leader"],
                                      cwd=tap.work, stdout=out, env=harness.clean_environment(), check=True, timeout=60)
    assert done.returncode == 0 and (tap.folder / "out").read_bytes() == b"to stdout\n"
    trace = harness.Trace(tap.folder / "trace", harness.read_command)
    trace.check_accounting()
    assert trace.file(tap.folder / "out")["written_bytes"] == 10
    assert [f["kind"] for f in trace.files() if f["path"].startswith("/memfd:unseen")] == ["memfd"]
    assert [(e["path"], e["errno"]) for e in trace.events(name="openat")] == [(str(tap.work / "gone/late"), 2)]
