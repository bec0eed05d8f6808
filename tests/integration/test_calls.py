# SPDX-License-Identifier: MIT
"""Every family of calls in all its variants: the program says what it passed and what came back, call by call."""

import signal

import pytest

import harness
import sidelog

# program, names that the program does not account for
FAMILIES = [
    ("calls_open", ()),
    ("calls_stat", ()),
    ("calls_rw", ()),
    ("calls_position", ("pipe", "socketpair")),
    ("calls_fortified", ()),
    ("calls_stdio", ("__overflow",)),
    ("calls_dup", ()),
    ("calls_close", ()),
    ("calls_names", ()),
    ("calls_dir", ()),
    ("calls_data", ("shm_unlink",)),
    ("calls_temp", ()),
    ("calls_shared", ("fork", "_exit")),
    ("calls_aio", ("aio_return", "aio_suspend")),
    ("calls_aio64", ("aio_return64", "aio_suspend64")),
    ("calls_libaio", ()),
    ("calls_more", ("_exit",)),
    ("calls_wide", ()),
    ("calls_attributes", ()),
    ("calls_sockets", ()),
    ("calls_streams", ()),
]


@pytest.mark.parametrize("name, ignore", FAMILIES, ids=[name for name, _ in FAMILIES])
def test_every_call_of_the_family_is_given_back(tap, name, ignore):
    log = tap.folder / "side.log"
    trace = tap.run([harness.program(name)], env={"SIDE_LOG": log})
    assert sidelog.compare(trace, log, ignore).calls


def test_variadic_calls_keep_their_arguments(tap):
    plain = tap.plain([harness.program("variadic")])
    assert plain.returncode == 0, plain.stderr
    (tap.work / "copy").unlink()
    trace = tap.run([harness.program("variadic")])
    assert trace.ran.stdout == plain.stdout and plain.stdout.count(b"\n") == 3


def test_calls_by_number_are_seen_or_said(tap):
    """libc's syscall() can do anything: openat2 has no wrapper. It is an event, or the trace says that calls were missed."""
    trace = tap.run([harness.program("variadic")])
    assert trace.count(name="syscall") == 3 or trace.gaps("raw_syscall"), trace.summary()["gaps"]


def test_errno_is_what_it_is_untraced(tap):
    plain = tap.plain([harness.program("errno_kept")])
    (tap.work / "made").unlink()
    traced = tap.run([harness.program("errno_kept")])
    assert plain.stdout.count(b"\n") >= 110
    assert traced.ran.stdout.splitlines() == plain.stdout.splitlines()


def test_errno_is_what_it_is_untraced_where_the_ring_is_full(tap):
    plain = tap.plain([harness.program("errno_kept")])
    (tap.work / "made").unlink()
    daemon = tap.daemon()
    daemon.process.send_signal(signal.SIGSTOP)
    traced = daemon.call([harness.program("errno_kept"), "full"], cwd=tap.work)
    daemon.process.send_signal(signal.SIGCONT)
    assert traced.stdout.splitlines() == plain.stdout.splitlines()
    assert daemon.stop().summary()["dropped_by_cause"]["ring_full"] > 0


def test_each_of_4000_open_files_is_read_under_its_name(tap):
    trace = tap.run([harness.program("many_fds"), "4000"])
    reads = {f["path"]: f["reads"] for f in trace.files()}
    assert {n: reads[str(tap.work / f"f{n}")] for n in range(4000)} == {n: n % 7 + 1 for n in range(4000)}


def test_recycled_descriptor_numbers_keep_their_files(tap):
    trace = tap.run([harness.program("fd_race")])
    sizes = {f"race-{n}-{odd}": n * 10 + odd + 1 for n in range(4) for odd in range(2)}
    for event in trace.events(name="write"):
        if event.get("path", "").startswith(str(tap.work)):
            assert event["result"] == sizes[event["path"].rsplit("/", 1)[1]], event
    for name, size in sizes.items():
        entry = trace.file(tap.work / name)
        assert (entry["writes"], entry["written_bytes"], entry["opens"]) == (2500, 2500 * size, 2500), entry


def test_a_number_that_is_read_while_it_changes_hands_has_no_later_name(tap):
    """File after file under one number: a read has the name of what it read, or of what the number was when it began."""
    trace = tap.run([harness.program("fd_names")])
    was = list(map(int, trace.ran.stdout.split()))
    reads = trace.events(name="pread")
    assert len(reads) == len(was) and {e["fd"] for e in reads} == {reads[0]["fd"]}
    right = 0
    for event, number in zip(reads, was):
        if number < 0 or "path" not in event:
            continue
        name = event["path"]
        assert name.startswith(f"{tap.work}/"), event
        assert int(name.rsplit("/", 1)[1]) <= number, (event, number)
        right += int(name.rsplit("/", 1)[1]) == number
    assert right
