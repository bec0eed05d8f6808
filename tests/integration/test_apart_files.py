# SPDX-License-Identifier: MIT
"""Which trace files of a folder are one job: not copies, not those whose clock is lost; and what cannot be read says why."""

import json
import os

import pytest

import harness

COMMANDS = ("summary", "events", "files", "processes", "timeline", "diagnose", "info")


@pytest.fixture(scope="module")
def sound():
    """A small real trace: its bytes, its summary."""
    tap = harness.Tap()
    trace = tap.run(["bash", "-c", "for i in 1 2 3; do cat /etc/hostname > f$i; done; exit 0"])
    (path,) = trace.flow_files()
    yield path.read_bytes(), summary(path)
    tap.finish(keep=False)


def summary(*paths):
    done = harness.read_command("summary", "--json", *paths)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def headless(data):
    """The crc of the first frame, which is the header, no longer holds."""
    return data[:5] + bytes([data[5] ^ 0x55]) + data[6:]


def put(folder, **files):
    folder.mkdir(exist_ok=True)
    for name, data in files.items():
        (folder / f"{name}.flow").write_bytes(data)
    return folder


@pytest.mark.parametrize("how,other", [("whole", lambda data: data), ("shorter", lambda data: data[:-40]), ("twice", lambda data: data + data),
                                       ("headless", headless)])
@pytest.mark.parametrize("first", [True, False])
def test_a_copy_is_counted_once(tap, sound, how, other, first):
    data, alone = sound
    names = ("a", "b") if first else ("b", "a")
    folder = put(tap.folder / "both", **{names[0]: data, names[1]: other(data)})
    done = harness.read_command("summary", "--json", folder)
    told, lines = json.loads(done.stdout), done.stderr.decode().splitlines()
    for key in ("events", "stored", "read", "write", "metadata", "processes", "hosts", "start", "end", "partial", "coverage"):
        assert told[key] == alone[key], key
    kept, left = ("a.flow", "b.flow") if how == "whole" else (f"{name}.flow" for name in names)
    assert done.returncode == 0 and len(lines) == 1
    assert lines[0].endswith(f"{folder / left}: a copy of {folder / kept}; it was left out"), lines
    for command in COMMANDS:
        done = harness.read_command(command, folder)
        assert done.returncode == 0 and done.stderr.count(b"a copy of") == 1, (command, done.stderr)
    done = harness.read_command("diff", folder, folder)
    assert done.returncode == 0 and done.stderr.count(b"a copy of") == 2, done.stderr
    done = harness.read_command("verify", folder)
    assert done.returncode == (0 if how == "whole" else 1), done.stdout  # what is wrong with a copy is told as of any file
    assert f"  note: a copy of {folder / kept}, which alone is read" in done.stdout.decode().splitlines()
    files = {file["path"]: file.get("copy_of") for file in json.loads(harness.read_command("verify", "--json", folder).stdout)["files"]}
    assert files == {str(folder / left): str(folder / kept), str(folder / kept): None}
    doctor = harness.read_command("doctor", "--trace", folder)
    assert b"is a copy of" in doctor.stdout and doctor.returncode == 0, doctor


@pytest.fixture(scope="module")
def other():
    tap = harness.Tap()
    trace = tap.run(["cat", "/etc/hostname"])
    (path,) = trace.flow_files()
    yield path.read_bytes(), summary(path)
    tap.finish(keep=False)


@pytest.mark.parametrize("whole", [0, 1, 2])
def test_of_many_copies_without_headers_one_is_counted(tap, sound, other, whole):
    """Of two runs, in turns; the last copy is longer than the others. Where there are whole ones they stay."""
    (data, alone), (data2, alone2) = sound, other
    files = {f"n{i}": headless(of[:-40]) for i, of in enumerate([data, data2] * 4)}
    kept = {"z1": headless(data), "z2": headless(data2)}
    if whole:
        kept = {f"{'m' if whole == 1 else 'a'}{i}": of for i, of in enumerate((data, data2))}
    folder = put(tap.folder / "many", **files, **kept)
    told = summary(folder)
    assert told["events"] == told["stored"] == alone["events"] + alone2["events"] and told["processes"] == alone["processes"] + alone2["processes"]
    left = json.loads(harness.read_command("verify", "--json", folder).stdout)["files"]
    assert {file["path"] for file in left if not file.get("copy_of")} == {str(folder / f"{name}.flow") for name in kept}, left


def test_files_of_two_runs_are_no_copies(tap):
    for _ in range(2):
        done = harness.call([harness.FLOWTAP, "run", "-q", "-o", tap.folder / "two", "--", "true"], env=harness.clean_environment())
        assert done.returncode == 0, done.stderr
    assert summary(tap.folder / "two")["processes"] == 2


def test_a_lost_header_leaves_the_times_right(tap, sound):
    """Of the clock's records."""
    data, alone = sound
    told = summary(put(tap.folder / "one", a=headless(data)))
    assert told["partial"] and told["events"] == alone["events"] and told["wall_time"] == alone["wall_time"]
    assert abs(told["start"] - alone["start"]) < 60, "since the epoch"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
@pytest.mark.parametrize("beside", [False, True])
def test_what_may_not_be_read_says_so(tap, sound, beside):
    folder = put(tap.folder / "closed", a=sound[0])
    (folder / "a.flow").chmod(0o600)
    tap.folder.chmod(0o755)
    if beside:
        put(folder, b=sound[0])
        (folder / "b.flow").chmod(0o644)
    for words in (*((command,) for command in COMMANDS), ("verify",), ("doctor", "--trace")):
        done = harness.call([harness.FLOWTAP, *words, folder], user=65534, group=65534, extra_groups=[], cwd="/")
        told = done.stdout + done.stderr
        assert f"{folder / 'a.flow'}".encode() in told and told.count(b"Permission denied") == 1, (words, done)
        assert b"not readable as" not in told and b"not a Flowtap trace" not in told, (words, done)
        assert done.returncode == (0 if beside and words[0] not in ("verify", "doctor") else 1), (words, done)
