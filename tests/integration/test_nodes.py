# SPDX-License-Identifier: MIT
"""The traces of many nodes are one job, in bounded memory."""

import json

import harness
from generated import generate

NODES, EVENTS, MEMORY = 1000, 100_000, 4 << 30


def limited(command, path):
    done = harness.call(["/bin/sh", "-c", f'ulimit -v {MEMORY // 1024} && exec "$@"', "sh",
                         harness.FLOWTAP, command, "--json", path], deadline=300)
    assert done.returncode == 0 and not done.stderr, (command, done.stderr)
    return json.loads(done.stdout)


def test_a_thousand_nodes_are_one_job(tmp_path):
    path = generate(tmp_path / "t", "checkpoint", "--hosts", str(NODES), events=EVENTS)
    summary = limited("summary", path)
    assert (summary["hosts"], summary["events"], summary["stored"]) == (NODES, EVENTS, EVENTS)
    assert not summary["partial"] and summary["clock_error"] > 0 and len(summary["jobs"]) == 1
    processes = limited("processes", path)["processes"]
    assert summary["processes"] == len(processes) and len({p["host"] for p in processes}) == NODES
    files = limited("files", path)["files"]
    assert summary["files"] == len(files)
    assert sum(f["read_bytes"] for f in files) == summary["read"]["bytes"]
    assert sum(f["written_bytes"] for f in files) == summary["write"]["bytes"]
    assert sum(b["reads"] for b in limited("timeline", path)["bins"]) == summary["read"]["count"]
