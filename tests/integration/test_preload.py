# SPDX-License-Identifier: MIT
"""How LD_PRELOAD may name the library, and how often; what its children find there."""

import os
import shutil

import pytest

import harness

NAME = "libflowtap-preload.so"


def laid_out(tap):
    """Other names of the library: links, a copy, a folder to search."""
    shutil.copy(harness.PRELOAD, tap.folder / "copy.so")
    os.symlink(harness.PRELOAD, tap.folder / "other-name.so")
    os.symlink(tap.folder / "other-name.so", tap.folder / "link-to-link.so")
    for lib in ("lib", "lib64", "lib/x86_64-linux-gnu"):  # what $LIB may be
        os.mkdir(tap.folder / lib)
        os.symlink(harness.PRELOAD, tap.folder / lib / NAME)
    return {"P": harness.PRELOAD, "C": tap.folder / "copy.so", "L": tap.folder / "other-name.so", "N": NAME,
            "M": tap.folder / "link-to-link.so", "F": tap.folder / "lib" / NAME, "T": tap.folder}


SPELLINGS = ["{P}", "{L}", "{M}", "{F}", "{P} {P}", "{P}:{P}", "{P}:{L}", "{L}:{P}", "{P} {C}", "{C}:{P}", "{C}:{L}:{M}:{P}",
             " {P}", "{P} ", ":{P}:", "::{P}  :{P}::", "{F} {P}", "../lib/{N}", "./../lib/{N}", "{N}", "{N}:{P}", "{P} {N}",
             "{F}:{N}", "{P}:libdl.so.2", "libm.so.6 {P}", "{T}/$LIB/{N}"]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_each_event_once_and_a_cleaned_child_is_traced(tap, spelling):
    preload = spelling.format(**laid_out(tap))
    daemon = tap.daemon()
    env = {"LD_PRELOAD": preload, "LD_LIBRARY_PATH": str(tap.folder / "lib")}
    touch = str(harness.program("touch_all"))
    done = daemon.call([touch, "a", "b", "c"], cwd=tap.work, env=env)
    assert done.same() == (0, b"", b"")
    done = daemon.call(["/usr/bin/python3", "-S", "-E", "-c",
                        f"import os; os.chdir('/'); os.execve('{touch}', ['x', '{tap.work}/d'], {{}})"], cwd=tap.work, env=env)
    assert done.same() == (0, b"", b"")
    trace = daemon.stop()
    written = [os.path.basename(e["path"]) for e in trace.events(name="write")]
    assert sorted(written) == ["a", "b", "c", "d"]
    assert [trace.count(name=n, path=str(tap.work / p)) for n in ("open", "close") for p in "abcd"] == [1] * 8


@pytest.mark.parametrize("spelling", ["{P}", "{L}", "{N}", "{T}/$LIB/{N}"])
def test_what_a_child_finds_in_the_variable_is_what_its_parent_had(tap, spelling):
    preload = spelling.format(**laid_out(tap))
    daemon = tap.daemon()
    env = {"LD_PRELOAD": preload, "LD_LIBRARY_PATH": str(tap.folder / "lib")}
    done = daemon.call(["sh", "-c", "sh -c 'env | grep ^LD_PRELOAD='"], env=env)
    assert done.stdout.decode() == f"LD_PRELOAD={env['LD_PRELOAD']}\n"
    daemon.stop()


def test_by_the_file_that_the_linker_reads_for_all_programs(tap):
    # A copy of /etc with the file, mounted over /etc for this command alone.
    shutil.copytree("/etc", tap.folder / "etc", symlinks=True, ignore_dangling_symlinks=True,
                    ignore=lambda folder, names: [n for n in names if not os.access(f"{folder}/{n}", os.R_OK)])
    (tap.folder / "etc/ld.so.preload").write_text(f"{harness.PRELOAD}\n")
    inside = ["unshare", "-rm", "sh", "-c", f"mount --bind {tap.folder}/etc /etc && exec \"$@\"", "sh"]
    harness.needs(harness.call([*inside, "true"]).returncode == 0, "no mount namespace of one's own here")
    touch = harness.program("touch_all")
    plain = harness.call([*inside, "sh", "-c", f"{touch} a b; env | grep -c LD_PRELOAD"], cwd=tap.work)
    assert plain.stdout == b"0\n"
    for preload in (None, str(harness.PRELOAD)):
        daemon = tap.daemon()
        done = daemon.call([*inside, "sh", "-c", f"{touch} a b; exit 4"], cwd=tap.work, env={"LD_PRELOAD": preload})
        assert done.same() == (4, b"", b"")
        trace = daemon.stop()
        assert [trace.count(name="write", path=str(tap.work / n)) for n in "ab"] == [1, 1]
    trace = tap.run([*inside, "sh", "-c", f"{touch} a b; cat /etc/ld.so.preload"])
    assert trace.ran.stdout.decode() == f"{harness.PRELOAD}\n"
    assert [trace.count(name="write", path=str(tap.work / n)) for n in "ab"] == [1, 1]


def test_run_merges_what_the_variable_held(tap):
    other = tap.compiled("other.so", "int other_library = 1;\n", "-shared", "-fPIC")
    copy = shutil.copy(harness.PRELOAD, tap.folder / NAME)
    for old in (f"{other}", f" {other}:", f"{other} {harness.PRELOAD}", f"{copy}:{other}", f"{other}:{other}"):
        trace = tap.run(["grep", "-c", "other.so", "/proc/self/maps"], env={"LD_PRELOAD": old}, options=["--quiet"])
        assert int(trace.ran.stdout) > 0 and trace.ran.stderr == b""
        assert trace.count(name="read") + trace.count(name="open") + trace.count(name="openat") >= 2
        assert len(trace.processes()) == 1
