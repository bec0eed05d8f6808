# SPDX-License-Identifier: MIT
"""Programs that shut themselves in: they live, and what they do afterwards is recorded or is a gap."""

import os
import signal

import pytest

import counted
import harness


def lines(tap, trace):
    return trace.events(name="write", path=str(tap.work / "lines"))


@pytest.mark.parametrize("how", ["strict", "filter", "tsc"])
def test_a_thousand_writes_inside(tap, how):
    plain = tap.plain([harness.program("sandbox"), how])
    assert plain.returncode == 0
    (tap.work / "lines").unlink()
    trace = tap.run([harness.program("sandbox"), how])
    assert len(lines(tap, trace)) == 1010
    stamps = [e["ts"] for e in lines(tap, trace)]
    assert stamps == sorted(stamps) and stamps[-1] - stamps[0] < 60e9


def test_a_child_forked_under_a_filter_lives(tap):
    trace = tap.run([harness.program("sandbox"), "filter-fork"])
    assert (tap.work / "lines").read_bytes().count(b"\n") == 1020
    assert len(lines(tap, trace)) == 1010 and len({e["pid"] for e in lines(tap, trace)}) == 1
    assert trace.gaps("sandbox"), trace.summary()["gaps"]


def test_an_image_executed_under_a_filter_lives(tap):
    trace = tap.run([harness.program("sandbox"), "filter-exec"])
    assert len(lines(tap, trace)) == 1010
    assert trace.gaps("sandbox"), trace.summary()["gaps"]


@pytest.mark.parametrize("how", ["", "filter", "tsc", "raw", "twice", "thread", "exec"])
def test_system_calls_that_are_dispatched_to_the_program(tap, how):
    """None of ours is among them; once that has ended, or in another thread or process, names are asked for, but not under what
    came meanwhile and stays."""
    argv = [harness.program("dispatch"), *how.split()]
    plain = tap.plain(argv)
    harness.needs(plain.returncode != 77, "this kernel dispatches no system calls")
    assert plain.same() == (0, b"0 0\n" + b"x" * (how == "exec"), b"")
    trace = tap.run(argv)
    assert trace.ran.stdout == plain.stdout
    for kind in ("inside", "after"):
        names = [os.path.basename(e["path"]) for e in trace.events(name="write") if f"/{kind}-" in (e["path"] or "")]
        assert names == [f"{kind}-{i}" for i in range(50)]
    assert trace.file(tap.work / "inside-7")["kind"] == "unknown"
    assert trace.file(tap.work / "after-7")["kind"] == ("unknown" if how in ("filter", "exec") else "regular")
    assert trace.count(name="open", path=str(tap.work / "child-0")) == 1 and trace.file(tap.work / "child-0")["kind"] == "regular"
    assert len(trace.processes()) == 2 + (how == "exec")
    assert {gap["kind"]: gap["count"] for gap in trace.gaps()} == {"sandbox": 2 if how == "filter" else 1}


def test_a_child_of_a_dispatched_thread_makes_room_itself(tap):
    """Before the daemon has looked, which makes that of its parent."""
    daemon = tap.daemon()
    daemon.process.send_signal(signal.SIGSTOP)
    done = daemon.call([harness.program("dispatch"), "many"], cwd=tap.work)
    daemon.process.send_signal(signal.SIGCONT)
    trace = daemon.stop()
    harness.needs(done.returncode != 77, "this kernel dispatches no system calls")
    assert done.same() == (0, b"0 0\n", b"")
    assert trace.count(name="pwrite", path=str(tap.work / "many")) == 4000 and trace.summary()["dropped"] == 0


def test_filters_that_are_refused_shut_in_no_other_thread(tap):
    trace = tap.run([harness.program("refused_beside")])
    assert {name: trace.count(name="open", path=str(tap.work / name)) for name in ("forked", "executed")} == counted.said(trace)
    assert len([p for p in trace.processes() if p["exe"].endswith("/touch")]) == 20
    assert trace.gaps() == [], trace.gaps()


def test_what_fails_shuts_nothing_in(tap):
    """Nor does it make the directory one that must be asked for at each use."""
    trace = tap.run_as_plain([harness.program("refused")])
    counts = counted.said(trace)
    assert {name: trace.count(name="write", path=str(tap.work / name)) for name in counts} == counts
    assert not trace.gaps("sandbox"), trace.gaps()
    assert trace.file(tap.work / "after")["kind"] == "regular"
    assert [os.path.basename(p["exe"]) for p in trace.processes()].count("touch") == 2


@pytest.mark.parametrize("how", ["plain", "enter", "stay"])
def test_chroot_into_an_empty_folder(tap, how):
    """There is no /proc inside, and names are those that the files have outside."""
    harness.needs(os.geteuid() == 0, "chroot needs root")
    trace = tap.run([harness.program("chroot_io"), how])
    root = tap.work / "root"
    written = {f["path"]: f["written_bytes"] for f in trace.files() if f["writes"] and f["path"].startswith(str(tap.work))}
    want = {root / "inside": 100, root / "absolute": 3, root / "second/deep": 1, root / "second/deep-absolute": 1}
    if how == "stay":
        want[tap.work / "outside"] = 3
    assert written == {str(path): size for path, size in want.items()}
    for path, size in want.items():
        assert path.stat().st_size == size
    # a child cannot reach the daemon's socket from there
    assert (root / "of-child").stat().st_size == 1 and trace.gaps("not_attached"), trace.gaps()
    assert [e["fd"] for e in trace.events(name="write") if e["size"] == 8 and e["path"].startswith("pipe:")] == [1]
    assert not [f["path"] for f in trace.files() if f["path"].startswith(("/inside", "/absolute", "/deep"))]


@pytest.mark.parametrize("how", ["below", "away"])
def test_pivot_root(tap, how):
    """The root before may be nowhere then: names are those of the new one, apart from what was open."""
    harness.needs(os.geteuid() == 0, "pivot_root needs root")
    plain = tap.folder / "plain"
    plain.mkdir()
    done = tap.plain([harness.program("pivot_io"), how], cwd=plain)
    harness.needs(done.returncode != 77, "no mount namespace here")
    assert done.same() == (0, b"", b"")
    trace = tap.run([harness.program("pivot_io"), how])
    written = {f["path"]: f["written_bytes"] for f in trace.files() if f["writes"]}
    assert written == {str(tap.work / "held"): 4, str(tap.work / "outside"): 3, "/inside": 100, "/absolute": 3, "/sub/deep": 1} | (
        {str(tap.work / "root/within"): 2} if how == "away" else {})
    for name, size in {"inside": 100, "absolute": 3, "sub/deep": 1, "sub/of-child": 1}.items():
        assert (tap.work / "root" / name).stat().st_size == size
    # a child cannot reach the daemon's socket from there
    assert [(g["kind"], g["count"]) for g in trace.gaps()] == [("not_attached", 1)], trace.gaps()


def test_filters_after_a_chroot(tap):
    harness.needs(os.geteuid() == 0, "chroot needs root")
    trace = tap.run([harness.program("chroot_io")], options=["--include", f"{tap.work}/root/second/*"])
    assert sorted(f["path"] for f in trace.files() if f["writes"] and f["path"][0] == "/") == [str(tap.work / "root/second" / n) for n in ("deep", "deep-absolute")]

