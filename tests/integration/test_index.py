# SPDX-License-Identifier: MIT
"""The index at a file's end is small, and no reader relies on it: one that is stale or not there changes no answer."""

import json

import pytest

import frames
from generated import document, generate
from reading import FORMS, on


@pytest.mark.parametrize("kind", ["training", "metadata", "checkpoint"])
def test_it_is_a_hundredth_of_the_file_at_most(tmp_path, kind):
    (file,) = document("info", generate(tmp_path / "t", kind, events=100_000))["files"]
    assert 0 < file["frames"]["index"]["bytes"] <= file["bytes"] / 100, file


def answers(path):
    """What each form says, but for `info` and `verify`, which tell of the index itself."""
    return {tuple(words): (done.returncode, done.stdout) for words in FORMS if words[0] not in ("info", "verify")
            for done in [on(words, path)]}


@pytest.mark.parametrize("stale", ["of fewer blocks", "offsets", "times", "counts", "none"])
def test_a_stale_one_changes_no_answer(tap, stale):
    (path,) = tap.run(["sh", "-c", "cat /etc/hostname > f; ls"]).flow_files()
    whole = answers(path)
    parts = frames.take_apart(path.read_bytes())
    (index,) = [content for kind, content, _ in parts if kind == 4]
    if stale == "of fewer blocks":
        for field in ("block_offset", "block_start_ns", "block_span_ns"):
            del getattr(index, field)[:]
        index.rows = 0
    elif stale == "offsets":
        index.block_offset[0] += 100
    elif stale == "times":
        index.block_start_ns[0], index.block_span_ns[0] = 7, 7
    elif stale == "counts":
        index.rows, index.processes, index.threads = 10 ** 9, 77, 1
    path.write_bytes(b"".join(frames.put(*part) for part in parts if part[0] != 4 or stale != "none"))
    assert answers(path) == whole
    verified = on(["verify", "--json"], path)
    assert verified.returncode == 0, verified
    told = [problem["what"] for problem in json.loads(verified.stdout)["files"][0]["problems"]]
    assert told == ([] if stale == "none" else ["the index at the end differs from the file"]), told
