# SPDX-License-Identifier: MIT
"""Bytes that pass through streams are counted once, and are those of the file."""

import harness
import strace_diff


def calls(trace):
    return {c["name"]: c for c in trace.summary()["calls"]}


def test_many_small_pieces_without_fclose(tap):
    """More calls a second than detail can be kept of: the totals have every byte all the same."""
    size = 100_000_000
    trace = tap.run([harness.program("stdio_bulk"), "write", str(size)], deadline=120, check="sums")
    done = calls(trace)
    assert (tap.work / "bulk").stat().st_size == size
    assert (done["fwrite"]["count"], done["fwrite"]["bytes"]) == (-(-size // 7), size)
    assert "write" not in done
    summary = trace.summary()
    assert summary["dropped"] == summary["dropped_by_cause"]["ring_full"]


def test_few_small_pieces_without_fclose(tap):
    size = 700_001
    trace = tap.run([harness.program("stdio_bulk"), "write", str(size)])
    entry = trace.file(tap.work / "bulk")
    assert (entry["writes"], entry["written_bytes"]) == (100_001, size)
    assert trace.summary()["write"]["bytes"] == size
    assert trace.summary()["dropped"] == 0


def test_reading_in_pieces_of_eleven(tap):
    (tap.work / "bulk").write_bytes(b"x" * 1_000_000)
    trace = tap.run([harness.program("stdio_bulk"), "read"])
    entry = trace.file(tap.work / "bulk")
    assert entry["read_bytes"] == 1_000_000
    assert entry["reads"] == -(-1_000_000 // 11) + 1 or entry["reads"] == 1_000_000 // 11 + 2
    assert trace.summary()["read"]["bytes"] == 1_000_000


def test_inlined_characters_are_counted(tap):
    trace = tap.run([harness.program("stdio_bulk"), "inline", "100000"])
    entry = trace.file(tap.work / "inlined")
    assert (entry["written_bytes"], entry["read_bytes"]) == (100_000, 100_000)


def test_output_left_in_the_buffer_at_the_end(tap):
    trace = tap.run(["/bin/sh", "-c", "exec awk 'BEGIN { for (i = 0; i < 10; i++) print i > \"few\" }'"])
    assert trace.file(tap.work / "few")["written_bytes"] == 20


def test_what_was_read_ahead_and_not_used_moved_from_the_file(tap):
    (tap.work / "bulk").write_bytes(b"line\n" * 10_000)
    trace = tap.run(["head", "-n", "1", "bulk"])
    assert trace.file(tap.work / "bulk")["read_bytes"] >= 5


def test_streams_moved_what_the_kernel_says_in_all_ways(tap):
    strace_diff.compare(tap, [harness.program("stdio_ways")], families=("open", "read", "write"))
