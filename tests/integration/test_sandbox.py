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


def test_static_program_is_a_gap(tap):
    source = tap.work / "s.c"
    source.write_text('#include <stdio.h>\nint main(void) { puts("static"); return 6; }\n')
    built = tap.plain(["gcc", "-static", "-o", "static", source])
    harness.needs(built.returncode == 0, "no static libc to link with")
    trace = tap.run(["sh", "-c", "./static; cat /etc/hostname; exit 0"])
    assert trace.ran.stdout.startswith(b"static\n")
    (gap,) = trace.gaps("static")
    assert gap["exe"].endswith("/static") and gap["count"] == 1


def test_setuid_program_is_a_gap(tap):
    harness.needs(os.geteuid() == 0, "making a set-user-ID program needs root")
    import shutil
    shutil.copy("/bin/cat", tap.work / "cat-suid")
    os.chown(tap.work / "cat-suid", 65534, 65534)
    os.chmod(tap.work / "cat-suid", 0o6755)
    (tap.work / "text").write_text("text\n")
    trace = tap.run(["sh", "-c", "./cat-suid text; true"])
    assert trace.ran.stdout == b"text\n"
    assert trace.gaps("secure_exec"), trace.summary()["gaps"]
