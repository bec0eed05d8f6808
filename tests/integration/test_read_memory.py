# SPDX-License-Identifier: MIT
"""What does not fit in a reader's memory limit is left out and told as that: it is no damage. `verify` needs little."""

import json
import shutil
import struct
import zlib

import pytest

import generated
import harness

HOSTS = 16
LITTLE = "1536K"  # for each file and for the numbers of all of them, but not for all of them
LEAST = "64K"  # not for one of them


@pytest.fixture(scope="module")
def large():
    tap = harness.Tap()
    yield generated.generate(tap.folder / "trace", "metadata", "--hosts", str(HOSTS), events=400_000)
    tap.finish(keep=False)


def read(memory, *words):
    return harness.call([harness.FLOWTAP, *words], env=harness.clean_environment(FLOWTAP_READ_MEMORY=memory))


def test_verify_checks_a_folder_that_does_not_fit(large):
    summary = read(LITTLE, "summary", "--json", large)
    assert json.loads(summary.stdout)["partial"], "it fits: the test tests nothing"
    done = read(LITTLE, "verify", "--json", large)
    told = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert told["ok"] and not told["partial"] and told["accounts"] == []
    assert len(told["files"]) == HOSTS and all(f["ok"] and not f["problems"] for f in told["files"])


def test_what_verify_cannot_look_at_is_told_as_that(large):
    done = read(LEAST, "verify", "--json", large)
    told = json.loads(done.stdout)
    assert done.returncode == 1
    assert told["partial"] and not told["ok"]
    assert {p["severity"] for f in told["files"] for p in f["problems"]} == {"limit"}
    assert all(f["partial"] and not f["ok"] for f in told["files"])
    text = read(LEAST, "verify", large)
    assert text.returncode == 1
    assert b"limit: " in text.stdout and b"accounts of the processes were not checked" in text.stdout
    assert b"no damage was found" in text.stderr and b"FLOWTAP_READ_MEMORY=128K" in text.stderr
    assert text.stderr.count(b"\n") == 1


@pytest.mark.parametrize("how", [[], ["--quick"]], ids=["whole", "quick"])
@pytest.mark.parametrize("memory", ["64K", "256K", "512K", "1M", LITTLE, "2M"])
def test_events_are_those_stored_whatever_fits(large, memory, how):
    """Also of processes whose records did not fit; the limit is named where the figures stand."""
    done = read(memory, "summary", "--json", *how, large)
    told = json.loads(done.stdout)
    assert told["events"] == told["stored"] + told["dropped"] + (told["missing"] or 0) == sum(call["count"] for call in told["calls"])
    text = read(memory, "summary", *how, large).stdout
    assert told["partial"] == (b"; what did not fit in the reader's memory limit is left out\n" in text) == bool(done.stderr)
    assert f" {told['events']:,} events\n".encode() in text and b"trace is partial" not in text


@pytest.mark.parametrize("command", [["summary"], ["files"], ["processes"], ["timeline"], ["events"], ["diagnose"]],
                         ids=" ".join)
def test_reports_name_the_limit_and_no_damage(large, command):
    done = read("1M", *command, large)
    assert done.returncode == 0
    line = done.stderr.decode()
    assert "partial" in line and "memory limit" in line and "FLOWTAP_READ_MEMORY=2M" in line.replace("2048K", "2M"), line
    assert "damage" not in line and "verify" not in line
    assert line.count("\n") == 1


def test_info_tells_the_severity(large):
    done = read(LEAST, "info", "--json", large)
    assert done.returncode == 0
    assert b'"limit"' in done.stdout and b'"damage"' not in done.stdout


def test_doctor_names_the_limit_and_no_damage(large):
    done = read(LEAST, "doctor", "--trace", large)
    assert b"memory limit" in done.stdout and b"damage" not in done.stdout, done.stdout
    assert b"attached" not in done.stdout and b"complete" not in done.stdout, done.stdout
    assert b"is complete" not in read("1M", "doctor", "--trace", large).stdout
    assert b"is complete" in harness.read_command("doctor", "--trace", large).stdout


def test_damage_is_damage_at_the_limit_too(large, tap):
    copy = tap.folder / "copy"
    shutil.copytree(large, copy)
    cut = min(copy.glob("*.flow"))
    cut.write_bytes(cut.read_bytes()[:-100])
    done = read(LEAST, "verify", copy)
    assert done.returncode == 1 and b"damaged" in done.stderr


def by_another_writer(data):
    (head_len,) = struct.unpack_from("<I", data, 8)
    head = data[24:24 + head_len].replace(b"flowtap-generate", b"flowtap-generatf")
    return data[:20] + struct.pack("<I", zlib.crc32(data[:20] + head)) + head + data[24 + head_len:]


def test_accounts_that_do_not_balance_are_told(large, tap):
    """A file that is there twice, but by its header is no copy: all of its events are stored twice."""
    copy = tap.folder / "copy"
    copy.mkdir()
    shutil.copy(min(large.glob("*.flow")), copy / "a.flow")
    assert harness.read_command("verify", copy).returncode == 0
    (copy / "b.flow").write_bytes(by_another_writer((copy / "a.flow").read_bytes()))
    done = harness.read_command("verify", "--json", copy)
    told = json.loads(done.stdout)
    assert done.returncode == 1
    assert told["accounts"] and all(a["stored"] == 2 * (a["emitted"] - a["dropped"]) for a in told["accounts"])


@pytest.mark.parametrize("value", ["0", "-1", "x", "1X", "4GB", "99999999999999999999", "99999999999G", "K"])
def test_a_limit_that_is_no_size_is_refused(large, value):
    done = read(value, "summary", large)
    assert done.returncode == 1 and done.stdout == b""
    assert b"FLOWTAP_READ_MEMORY" in done.stderr and done.stderr.count(b"\n") == 1


def test_a_limit_that_is_no_size_is_nothing_to_the_command_that_is_run(tap):
    done = read("x", "run", "-o", tap.folder / "run", "--", "sh", "-c", "exit 7")
    assert done.returncode == 7 and b"FLOWTAP_READ_MEMORY: 'x' is no size and was ignored" in done.stderr, done
    assert b"\nProcesses " in done.stderr
