# SPDX-License-Identifier: MIT
"""`summary` of programs whose figures are known."""

import json

import harness

KEYS = {"events", "stored", "dropped", "dropped_by_cause", "hosts", "processes", "threads", "files", "jobs", "tags", "start",
        "end", "wall_time", "calls", "read", "write", "metadata", "other_io", "io_time", "app_time", "compute_time",
        "app_io_time", "unoverlapped_io_time", "unoverlapped_compute_time", "unoverlapped_app_io_time", "coverage", "gaps",
        "partial"}

SCRIPT = """
import os
f = os.open('data', os.O_RDWR | os.O_CREAT)
for i in range(10):
    os.write(f, b'x' * 100_000)
os.pread(f, 300_000, 0)
os.pread(f, 300_000, 900_000)
r, w = os.pipe()
for i in range(20):
    os.write(w, b'y' * 1000)
    os.read(r, 1000)
"""


def script_events(tap):
    return tap.run(["/usr/bin/python3", "-S", "-E", "-c", SCRIPT])


def test_every_promised_key_is_there(tap):
    trace = script_events(tap)
    assert KEYS <= trace.summary().keys(), KEYS - trace.summary().keys()
    for name in ("read", "write", "metadata"):
        assert {"count", "bytes", "time", "bandwidth"} <= trace.summary()[name].keys()
    assert {"count", "bytes", "time"} <= trace.summary()["other_io"].keys()
    for call in trace.summary()["calls"]:
        assert {"name", "category", "count", "bytes", "time", "min", "max", "errors", "sizes"} <= call.keys()
        assert "buckets" in call["sizes"]


def test_files_and_pipes_are_kept_apart(tap):
    trace = script_events(tap)
    summary = trace.summary()
    assert summary["write"]["bytes"] == 1_000_000 and summary["write"]["count"] == 10
    data = trace.file(tap.work / "data")
    assert (data["written_bytes"], data["read_bytes"], data["reads"]) == (1_000_000, 400_000, 2)
    assert summary["other_io"]["bytes"] >= 40_000 and summary["other_io"]["count"] >= 40


def test_calls_agree_with_events(tap):
    trace = script_events(tap)
    calls = {c["name"]: c for c in trace.summary()["calls"]}
    names = {e["name"] for e in trace.events()}
    assert calls.keys() == names
    for name in names:
        own = trace.events(name=name)
        durations = [e["dur"] for e in own]
        assert calls[name]["count"] == len(own)
        assert calls[name]["errors"] == sum(bool(e["errno"]) for e in own), name
        assert abs(calls[name]["time"] - sum(durations) / 1e9) < 1e-6
        assert abs(calls[name]["min"] - min(durations) / 1e9) < 1e-9 and abs(calls[name]["max"] - max(durations) / 1e9) < 1e-9
    assert calls["write"]["bytes"] == sum(e["result"] for e in trace.events(name="write"))


def test_times_are_consistent(tap):
    trace = script_events(tap)
    s = trace.summary()
    assert abs(s["end"] - s["start"] - s["wall_time"]) < 1e-6
    assert 0 < s["io_time"] <= s["wall_time"]
    assert s["io_time"] <= s["read"]["time"] + s["write"]["time"] + s["metadata"]["time"] + 1e-6
    assert s["compute_time"] == s["app_time"] == 0 and abs(s["unoverlapped_io_time"] - s["io_time"]) < 1e-9
    for event in trace.events():
        assert s["start"] - 0.001 <= event["ts"] / 1e9 <= s["end"] + 0.001


def test_union_of_parallel_io_is_not_the_sum(tap):
    trace = tap.run([harness.program("threads16")])
    s = trace.summary()
    assert s["io_time"] <= s["wall_time"]
    assert s["threads"] == 17 and s["processes"] == 1


def test_transfers_count_on_both_sides_and_mappings_not(tap):
    code = ("import os, mmap\na = os.open('a', os.O_RDWR | os.O_CREAT); os.write(a, b'x' * 50_000)\n"
            "b = os.open('b', os.O_RDWR | os.O_CREAT)\nassert os.copy_file_range(a, b, 20_000, 0, 0) == 20_000\n"
            "assert os.sendfile(b, a, 0, 10_000) == 10_000\nm = mmap.mmap(a, 50_000)\nm[:]\n")
    trace = tap.run(["/usr/bin/python3", "-S", "-E", "-c", code])
    assert trace.file(tap.work / "a")["read_bytes"] == 30_000
    assert trace.file(tap.work / "b")["written_bytes"] == 30_000
    assert trace.summary()["write"]["bytes"] == 80_000


def test_who_the_job_was(tap):
    daemon = tap.daemon()
    env = {"FLOWTAP_JOB": "job-7", "FLOWTAP_WORKFLOW": "flow", "FLOWTAP_TAGS": "epoch=3,name=a b", "SLURM_PROCID": "5",
           "SLURM_LOCALID": "1", "SLURM_STEP_ID": "2"}
    daemon.call(["true"], env=env)
    trace = daemon.stop()
    (job,) = trace.summary()["jobs"]
    assert job["job"] == "job-7" and job["source"] == "environment" and job["workflow"] == "flow"
    assert trace.one_process()["tags"] == {"epoch": "3", "name": "a b"}


def test_rank_of_a_batch_system(tap):
    daemon = tap.daemon()
    for rank in range(3):
        daemon.call(["true"], env={"SLURM_JOB_ID": "4711", "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank % 2)})
    trace = daemon.stop()
    assert sorted(p["rank"] for p in trace.processes()) == [0, 1, 2]
    assert {j["job"] for j in trace.summary()["jobs"]} == {"4711"}


def test_an_empty_trace_says_so(tap):
    out = tap.folder / "empty"
    done = harness.call([harness.FLOWTAP, "run", "-o", out, "--", "/bin/true"], env=harness.clean_environment(LD_BIND_NOW="1"))
    assert done.returncode == 0
    summary = json.loads(harness.read_command("summary", "--json", out).stdout)
    assert summary["processes"] == 1
