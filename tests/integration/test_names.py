# SPDX-License-Identifier: MIT
"""Names are bytes: odd ones come back exactly, the longest too, those that are too long as a marked prefix."""

import base64
import json
import os
import subprocess

import harness

NAMES = [b"new\nline", b'quote"d', b"back\\slash", b"\x01control", b"\xff\xfe", "\U0001f4a9".encode(), b" ", b"tab\t",
         b"n" * 255, "caf\u00e9".encode(), b"\xed\xa0\x80", b"{}[],:", b"%s%n", b"\x7f", b"-", b"a\xffb\xffc"]


def path_bytes(entry):
    """A path's exact bytes from JSON: the text, or the member that holds what is not text."""
    if entry.get("path_bytes"):
        return base64.b64decode(entry["path_bytes"])
    return os.fsencode(entry["path"])


def test_odd_names_come_back_exactly(tap):
    argv = [harness.program("touch_all"), *NAMES]
    trace = tap.folder / "trace"
    done = subprocess.run([harness.FLOWTAP, "run", "-o", trace, "--", *argv], cwd=tap.work, stdin=subprocess.DEVNULL,
                          env=harness.clean_environment(), capture_output=True, check=True)
    assert done.stderr
    want = {os.fsencode(tap.work) + b"/" + n: i for i, n in enumerate(NAMES, 1)}
    listed = json.loads(harness.read_command("files", "--json", trace).stdout)["files"]
    assert {path_bytes(f): f["written_bytes"] for f in listed if f["written_bytes"]} == want
    lines = harness.read_command("events", "--format", "json", trace).stdout
    events = [json.loads(line) for line in lines.splitlines()]
    assert {path_bytes(e): e["result"] for e in events if e["name"] == "write"} == want
    assert "\U0001f4a9".encode() in lines and b"\\ud83d" not in lines
    for document in (lines, harness.read_command("files", "--json", trace).stdout,
                     harness.read_command("processes", "--json", trace).stdout):
        subprocess.run(["jq", "."], input=document, stdout=subprocess.DEVNULL, check=True)
        document.decode()
    (process,) = json.loads(harness.read_command("processes", "--json", trace).stdout)["processes"]
    assert [base64.b64decode(a) for a in process["argv_bytes"]][1:] == NAMES


def test_text_output_of_odd_names_keeps_one_line_each(tap):
    trace = tap.folder / "trace"
    subprocess.run([harness.FLOWTAP, "run", "-q", "-o", trace, "--", harness.program("touch_all"), *NAMES], cwd=tap.work,
                   stdin=subprocess.DEVNULL, env=harness.clean_environment(), check=True)
    for words in (["files", "--top", "0"], ["processes"], ["summary"], ["events"]):
        done = harness.read_command(*words, trace)
        assert done.returncode == 0 and b"\x01" not in done.stdout and b"\x1b" not in done.stdout, words
        done.stdout.decode()


def test_longest_and_too_long_names(tap):
    trace = tap.run([harness.program("long_paths")])
    longest = [e for e in trace.events(name="write") if e["size"] == 7]
    assert [len(os.fsencode(e["path"])) for e in longest] == [4095]
    refused = [e for e in trace.events() if e["errno"] == 36]
    assert len(refused) == int(trace.ran.stdout) > 130
    for event in refused:
        if "path" in event and not event["path"].endswith("/short"):
            assert "nnnn" in event["path"] and len(event["path"]) <= 4200
    cut = [f for f in trace.files() if f.get("path_cut")]
    assert cut


def test_kinds_of_files(tap):
    script = ("import os, socket, tempfile\n"
              "r, w = os.pipe(); os.write(w, b'x'); os.read(r, 1)\n"
              "a, b = socket.socketpair(); a.send(b'x'); os.read(b.fileno(), 1)\n"
              "m = os.memfd_create('scratch'); os.write(m, b'x')\n"
              "z = os.open('/dev/zero', os.O_RDONLY); os.read(z, 10)\n"
              "d = os.open('.', os.O_RDONLY); os.fstat(d)\n"
              "f = os.open('gone', os.O_RDWR | os.O_CREAT); os.unlink('gone'); os.write(f, b'xyz')\n")
    trace = tap.run(["/usr/bin/python3", "-c", script])
    kinds = {f["kind"] for f in trace.files()}
    assert {"pipe", "socket", "memfd", "char", "directory", "regular"} <= kinds, kinds
    assert trace.file(tap.work / "gone")["written_bytes"] == 3
    assert trace.file("/dev/zero")["kind"] == "char"


def test_inherited_descriptors_are_named(tap):
    (tap.work / "in").write_text("inherited")
    with open(tap.work / "in", "rb") as stdin, open(tap.work / "out", "wb") as stdout:
        out = tap.folder / "trace"
        subprocess.run([harness.FLOWTAP, "run", "-q", "-o", out, "--", "cat"], stdin=stdin, stdout=stdout,
                       env=harness.clean_environment(), check=True)
    import traced
    trace = traced.Trace(out, harness.read_command)
    assert trace.file(tap.work / "in")["read_bytes"] == 9
    assert trace.file(tap.work / "out")["written_bytes"] == 9 or trace.count(name="copy_file_range")


def test_hard_links_are_one_file(tap):
    (tap.work / "a").write_text("x" * 100)
    os.link(tap.work / "a", tap.work / "b")
    trace = tap.run(["/usr/bin/python3", "-c", "import os\nfor n in 'ab':\n    os.read(os.open(n, os.O_RDONLY), 200)"])
    entry = trace.file(tap.work / "a")
    assert (entry["opens"], entry["read_bytes"]) == (2, 200)
    assert str(tap.work / "b") not in [f["path"] for f in trace.files()]


def test_a_reused_inode_is_another_file(tap):
    """A file system gives a freed inode number to the next file; the two are not one file for that."""
    trace = tap.run(["sh", "-c", "echo a > x; rm x; echo bb > y; rm y; echo ccc > z"])
    assert [trace.file(tap.work / n)["written_bytes"] for n in "xyz"] == [2, 3, 4]
