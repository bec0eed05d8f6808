# SPDX-License-Identifier: MIT
"""A call may be given pointers to nowhere: it fails as it does untraced, and nothing is read that the kernel did not read."""

import collections

import harness


def test_pointers_to_nowhere(tap):
    plain = tap.plain([harness.program("bad_pointers")])
    assert plain.returncode == 0, plain.stderr
    for name in ("data", "soft"):
        (tap.work / name).unlink()
    trace = tap.run([harness.program("bad_pointers")])
    assert trace.ran.stdout.decode().splitlines() == plain.stdout.decode().splitlines()
    assert plain.stdout.count(b"\n") > 600


def test_a_path_that_can_be_read_is_named_whatever_failed(tap):
    """Refused before its path was looked at, or after because of another pointer."""
    trace = tap.run([harness.program("bad_pointers")])
    named = collections.Counter((e["name"], e["errno"]) for e in trace.events(path=str(tap.work / "data")) if e["errno"])
    places = 6
    assert named["truncate", 22] == places
    assert named["open", 22] == places
    assert named["statx", 22] == places
    assert named["stat", 14] == 2 * places
    assert named["statfs", 14] == places
