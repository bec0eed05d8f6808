# SPDX-License-Identifier: MIT
"""Include and exclude patterns: relative ones, names that are spelled in other ways, what lies beside the socket."""

import os

import pytest

import harness


def seen(trace, *paths):
    return [p for p in paths if any(f["path"] == str(p) and f["reads"] for f in trace.files())]


@pytest.mark.parametrize("pattern", ["a.dat", "./a.dat", ".//a.dat", "././a.dat", "sub/../a.dat"])
@pytest.mark.parametrize("name", ["a.dat", "./a.dat", ".//a.dat"])
def test_a_name_is_matched_as_it_is_recorded(tap, pattern, name):
    (tap.work / "a.dat").write_text("a")
    (tap.work / "sub").mkdir()
    trace = tap.run(["cat", name], options=["--include", pattern])
    # `..` stays in names and in patterns: a symbolic link may stand before it.
    assert bool(seen(trace, tap.work / "a.dat")) == (".." not in pattern)


@pytest.mark.parametrize("name", ["{}/a.dat", "/{}/a.dat", "{}/./a.dat", "{}//a.dat"])
def test_an_absolute_name_too(tap, name):
    (tap.work / "a.dat").write_text("a")
    (tap.work / "b.dat").write_text("b")
    trace = tap.run(["cat", name.format(tap.work), tap.work / "b.dat"], options=["--include", tap.work / "a.dat"])
    assert seen(trace, tap.work / "a.dat", tap.work / "b.dat") == [tap.work / "a.dat"]


def test_a_relative_name_below_the_root(tap):
    trace = tap.run(["cat", "etc/hostname", "etc/passwd"], options=["--include", "/etc/host*", "--include", "etc/pass*"],
                    cwd="/")
    assert seen(trace, "/etc/hostname", "/etc/passwd") == ["/etc/hostname", "/etc/passwd"]


def test_a_relative_pattern_below_a_long_working_directory(tap):
    folder = tap.work.joinpath(*["d" * 100] * 5)
    folder.mkdir(parents=True)
    (folder / "a.dat").write_text("a")
    (folder / "b.dat").write_text("b")
    trace = tap.run(["cat", "a.dat", "b.dat"], options=["--include", "a*"], cwd=folder)
    assert seen(trace, folder / "a.dat", folder / "b.dat") == [folder / "a.dat"]


def test_a_fifo_in_the_policys_place_does_not_hold_the_program(tap):
    os.mkfifo(tap.folder / "s.policy")
    env = harness.clean_environment(LD_PRELOAD=harness.PRELOAD, FLOWTAP="1", FLOWTAP_SOCKET=tap.folder / "s")
    assert tap.plain(["cat", "/etc/hostname"], env=env, deadline=20).same() == tap.plain(["cat", "/etc/hostname"]).same()


def test_a_variable_narrows_what_the_site_includes(tap):
    daemon = tap.daemon(f"include={tap.work}/a*")
    for name in ("a1", "a2", "b1"):
        assert daemon.call([harness.program("touch_all"), name], cwd=tap.work, env={"FLOWTAP_INCLUDE": f"{tap.work}/*1"}).returncode == 0
    paths = {e["path"] for e in daemon.stop().events(name="open")}
    assert paths == {str(tap.work / "a1")}


def test_a_policy_of_another_user_is_not_trusted(tap):
    harness.needs(os.geteuid() == 0, "giving a file away needs root")
    daemon = tap.daemon()
    policy = f"{daemon.socket}.policy"
    os.chown(policy, 65534, 65534)
    assert daemon.call([harness.program("touch_all"), "x"], cwd=tap.work).returncode == 0
    done = harness.call([harness.FLOWTAP, "doctor"], env=daemon.env())
    assert done.returncode == 1 and b"another user" in done.stdout, done.stdout
    daemon.process.terminate()
    assert daemon.process.wait(harness.DEADLINE_S) == 0
    assert not list(daemon.spool.rglob("*.flow"))


def test_long_variables_come_back_too(tap):
    long = ":".join(f"/nowhere/{i}" + "/long" * 50 + "/*" for i in range(25))
    code = "import subprocess\nsubprocess.run(['/usr/bin/env'], env={})"
    trace = tap.run(["/usr/bin/python3", "-c", code], env={"FLOWTAP_EXCLUDE": long})
    assert f"FLOWTAP_EXCLUDE={long}".encode() in trace.ran.stdout.splitlines()
    assert trace.image("/env")["settings_ignored"] == 0


RENAMED = """
import os
for name in ("one", "two"):
    os.mkdir(name)
    globals()[name] = os.open(name, os.O_RDONLY | {flag})
    os.fsync(globals()[name])
os.rename("one", "seen")
os.rename("two", "hidden")
os.fsync(one)
os.fsync(two)
"""


@pytest.mark.parametrize("flag", ["os.O_DIRECTORY", "0"])
def test_a_folder_that_is_renamed_is_chosen_by_its_new_name(tap, flag):
    trace = tap.run(["/usr/bin/python3", "-c", RENAMED.replace("{flag}", flag)], options=["--exclude", f"{tap.work}/one", "--exclude", f"{tap.work}/hidden"])
    assert [e["path"] for e in trace.events(name="fsync")] == [str(tap.work / "two"), str(tap.work / "seen")]


MOVED = """
import os
source, target = os.open("source", os.O_RDONLY), os.open("target", os.O_WRONLY | os.O_CREAT)
os.write(target, b"12")
os.{call}
os.write(target, b"34")
"""


@pytest.mark.parametrize("call", ["sendfile(target, source, None, 10)", "copy_file_range(source, target, 10)"])
@pytest.mark.parametrize("hidden", ["source", "target"])
def test_positions_beside_an_excluded_file(tap, call, hidden):
    """What moves the position of a file that is seen is not seen by itself."""
    (tap.work / "source").write_bytes(b"0123456789" * 2)
    script = MOVED.replace("{call}", call) + "os.read(source, 1)\n"
    trace = tap.run(["/usr/bin/python3", "-c", script], options=["--exclude", f"{tap.work}/{hidden}"])
    seen_at = [(e["name"], e["offset"]) for e in trace.events() if e["name"] in ("read", "write") and e["path"] == str(tap.work / "source")]
    written_at = [e["offset"] for e in trace.events(name="write") if e["path"] == str(tap.work / "target")]
    assert (seen_at, written_at) == (([], [0, 12]) if hidden == "source" else ([("read", 10)], []))
