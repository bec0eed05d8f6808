# SPDX-License-Identifier: MIT
"""Readers that find no memory say so: they never call a whole trace damaged, nor tell a part of it as all."""

import json

import pytest

import harness

COMMANDS = [["summary", "--json"], ["processes", "--json"], ["files", "--json"], ["events", "--json"], ["verify", "--json"],
            ["info", "--json"]]
WISHES = [*(f"memory={1 << bits}" for bits in range(21)), *(f"allocation={n}" for n in range(1, 300, 3))]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_what_finds_no_memory_says_so(tap, command):
    """Every allocation of that size and more fails, or one of them: in protobuf-c, zlib or our own."""
    trace = tap.run([harness.program("hammer"), 2, 3000])
    whole = harness.read_command(*command, trace.path)
    assert whole.returncode == 0
    control, failed = tap.folder / "fault", 0
    for wish in WISHES:
        control.write_bytes(f"{wish}\n".encode().ljust(4096, b"\0"))
        done = harness.call([harness.FLOWTAP, *command, trace.path], env=harness.clean_environment(
            LD_PRELOAD=harness.program("fault.so"), FAULT_CONTROL=control))
        if done.returncode == 0:
            assert json.loads(done.stdout) == json.loads(whole.stdout) and done.stderr == b"", wish
            continue
        failed += 1
        error = done.stderr.decode()
        assert done.returncode == 1 and error.count("\n") == 1 and "memory" in error, (wish, done.returncode, error)
        assert "damage" not in error and "partial" not in error, (wish, error)
    assert failed > 3
