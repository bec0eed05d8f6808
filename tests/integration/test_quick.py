# SPDX-License-Identifier: MIT
"""`summary --quick` prints the figures of the whole summary, as far as they need no event."""

import json
import subprocess

import pytest
from generated import generate
from harness import BUILD

UNKNOWN = {"missing", "files", "io_time", "app_time", "compute_time", "app_io_time", "unoverlapped_io_time", "unoverlapped_compute_time",
           "unoverlapped_app_io_time", "coverage"}
UNKNOWN_OF_SIDES = {"busy_time", "busy_bandwidth", "sequential", "random"}


def summary(path, *options):
    out = subprocess.run([BUILD / "bin/flowtap", "summary", "--json", *options, path], stdout=subprocess.PIPE, check=True)
    return json.loads(out.stdout)


@pytest.mark.parametrize("kind", ["random", "training", "checkpoint", "metadata"])
def test_quick_figures_are_those_of_the_whole(tmp_path, kind):
    path = generate(tmp_path / "trace", kind, "--hosts", "3", "--dropped", "7", events=20000)
    whole, quick = summary(path), summary(path, "--quick")
    assert whole.keys() == quick.keys()
    assert all(quick[key] is None and whole[key] is not None for key in UNKNOWN)
    for side in ("read", "write"):
        assert all(quick[side].pop(key) is None and whole[side].pop(key) is not None for key in UNKNOWN_OF_SIDES)
    assert quick["moved"] == whole["moved"] | {"busy_time": None, "busy_bandwidth": None}
    assert quick["hottest_files"] == quick["stragglers"] == quick["waits"] == []
    assert quick["stragglers_found"] == quick["waits_found"] == 0
    rest = whole.keys() - UNKNOWN - {"moved", "hottest_files", "stragglers", "stragglers_found", "waits", "waits_found"}
    assert {key: quick[key] for key in rest} == {key: whole[key] for key in rest}
    assert quick["events"] >= 20000 and quick["read"]["count"] + quick["write"]["count"] > 0


def test_quick_looks_at_no_event_and_so_cannot_group_them(tmp_path):
    path = generate(tmp_path / "trace", "same", events=100)
    command = [BUILD / "bin/flowtap", "summary", "--quick", "--by", "rank", path]
    out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert out.returncode == 2 and "--quick" in out.stderr and out.stdout == ""
