# SPDX-License-Identifier: MIT
"""Programs that shut themselves in: they live, and what they do afterwards is recorded or is a gap."""

import os

import pytest

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
    assert len(lines(tap, trace)) >= 1010
    assert len(lines(tap, trace)) == 1020 or trace.gaps("sandbox"), trace.summary()["gaps"]


def test_an_image_executed_under_a_filter_lives(tap):
    trace = tap.run([harness.program("sandbox"), "filter-exec"])
    assert len(lines(tap, trace)) == 1010
    assert trace.gaps("sandbox"), trace.summary()["gaps"]


def test_chroot_into_an_empty_folder(tap):
    harness.needs(os.geteuid() == 0, "chroot needs root")
    trace = tap.run([harness.program("chroot_io")])
    assert len([e for e in trace.events(name="write") if e["size"] == 1]) == 100
    assert len([e for e in trace.events(name="write") if e["size"] == 3]) == 1
    assert (tap.work / "root/inside").stat().st_size == 100
