# SPDX-License-Identifier: MIT
"""A trace file without its end: every report says so, and that it is no damage."""

import json
import os
import subprocess

import pytest

import harness

REPORTS = [["summary"], ["summary", "--quick"], ["summary", "--by", "name"], ["processes"], ["files"], ["timeline"],
           ["events"], ["events", "--by", "name"], ["events", "--sort", "-dur"], ["diagnose"]]


def told(words, path):
    """`unclosed` and `partial` of the document; text and document say the same."""
    done = harness.read_command(*words, "--json", path)
    text = harness.read_command(*words, path)
    assert (done.returncode, done.stderr, text.returncode, text.stderr) == (0, b"", 0, b"")
    document = json.loads(done.stdout)
    if words not in (["events"], ["diagnose"]):  # whose text goes on for ever, or tells of findings alone
        assert (b"still open" in text.stdout) == (document["unclosed"] > 0), text.stdout
        assert b"partial" not in text.stdout
    return document["unclosed"], document["partial"]


@pytest.fixture
def running(tap):
    """A daemon that has written what a process of its did, while the process goes on."""
    daemon = tap.daemon("block_age=20ms", "job_linger=1h")
    reader, writer = os.pipe()
    script = 'for i in 1 2 3 4; do echo $i > "$0"; done; read x'
    held = subprocess.Popen(["bash", "-c", script, tap.work / "f"], stdin=reader, env=daemon.env())
    os.close(reader)
    tap.cleanup.append(lambda: harness.end_child(held))

    def is_written():
        done = harness.read_command("summary", "--json", daemon.spool)
        return done.returncode == 0 and json.loads(done.stdout)["write"]["count"] >= 4

    harness.wait_until("its events in the file", is_written)
    daemon.held, daemon.writer = held, writer
    return daemon


def test_every_report_tells_of_files_that_are_still_open(running):
    for words in REPORTS:
        assert told(words, running.spool) == (1, False), words
    running.kill()
    for words in REPORTS:
        assert told(words, running.spool) == (1, False), words


def test_a_file_that_is_gone_on_with_is_closed(running):
    """By the file that the next daemon writes; that one is open until its daemon ends."""
    running.kill()
    (first,) = running.spool.rglob("*.flow")
    running.start()
    assert running.call(["true"]).returncode == 0
    harness.wait_until("another file", lambda: len(list(running.spool.rglob("*.flow"))) == 2)
    trace = running.stop()
    os.close(running.writer)
    running.held.wait()
    assert told(["summary"], trace.path) == (0, False)
    assert told(["summary"], first) == (1, False)
    others = set(running.spool.rglob("*.flow")) - {first}
    for words in REPORTS:
        assert others and all(told(words, one)[0] == 0 for one in others), words


def test_diff_says_which_of_the_two_is_open(tap, running):
    closed = tap.run(["true"])
    for a, b, count, which in ((running.spool, closed.path, 1, "Of A files"), (closed.path, running.spool, 1, "Of B files"),
                               (running.spool, running.spool, 2, "Of A and B files"), (closed.path, closed.path, 0, None)):
        document = json.loads(harness.read_command("diff", "--json", a, b).stdout)
        text = harness.read_command("diff", a, b).stdout.decode()
        assert (document["unclosed"], document["partial"]) == (count, False)
        assert which is None or which in text
        assert (which is not None) == ("still open" in text)
