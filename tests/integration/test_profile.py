# SPDX-License-Identifier: MIT
"""Mode `profile`, and the caps: sums in place of events, and the sums are those of the events."""

import json

import pytest

import harness
from test_schemas import check, check_reports
from test_timeline import exact

SCRIPT = """
import os
f = os.open('data', os.O_RDWR | os.O_CREAT)
for i in range(300):
    os.write(f, b'x' * 1000)
for i in range(2000):
    os.pread(f, 100, 7 * i)
os.close(f)
for i in range(20):
    open(f'small{i}', 'w').close()
if os.fork() == 0:
    f = os.open('data', os.O_RDONLY)
    os.read(f, 5000)
    os._exit(0)
os.wait()
"""
ARGV = ["/usr/bin/python3", "-S", "-E", "-c", SCRIPT]
FIGURES = ("count", "bytes", "errors", "sizes")


def call_of(trace, name):
    found = [c for c in trace.summary()["calls"] if c["name"] == name]
    assert len(found) == 1, (name, found)
    return found[0]


def frames_of(trace, kind):
    return sum(file["frames"][kind]["bytes"] for file in trace.info()["files"])


def data_of(tap, trace):
    return trace.file(str(tap.work / "data"))


def check_timeline(trace):
    """Its bins add up to what the summary counts; what nobody knows of sums is null."""
    summary, timeline = exact("summary", trace.path), exact("timeline", trace.path, "--bins", "50")
    for rows in (timeline["bins"], [timeline["total"]]):
        for key, (way, of) in {"reads": ("read", "count"), "writes": ("write", "count"), "metadata": ("metadata", "count"),
                               "read_bytes": ("read", "bytes"), "written_bytes": ("write", "bytes"), "read_time": ("read", "time"),
                               "write_time": ("write", "time"), "metadata_time": ("metadata", "time")}.items():
            assert sum(row[key] for row in rows) == summary[way][of], key
        assert all((row["io_time"] is None) == (summary["profiled"] > 0) for row in rows)
    assert timeline["profiled"] == summary["profiled"]
    assert timeline["dropped"] == summary["dropped"] - summary["dropped_by_cause"]["capped"]
    for key in ("io_time", "compute_time", "unoverlapped_io_time", "app_io_time"):
        assert (summary[key] is None) == (summary["profiled"] > 0), key
    assert (summary["read"]["busy_time"] is None) == (summary["write"]["random"] is None) == (summary["profiled"] > 0)
    text = harness.read_command("summary", trace.path).stdout.decode()
    assert ("of it" in text.partition("\n\n")[2].partition("\n")[0]) == (summary["profiled"] == 0), text


def check_figures(tap, trace, times=1):
    """The script ran so many times."""
    trace.check_accounting()
    assert call_of(trace, "write")["bytes"] >= 300_000 * times
    file = data_of(tap, trace)
    assert (file["writes"], file["written_bytes"]) == (300 * times, 300_000 * times)
    assert (file["reads"], file["read_bytes"]) == (2001 * times, 205_000 * times)
    assert file["opens"] == 2 * times and file["processes"] == 2 * times
    for i in range(20):
        assert trace.file(str(tap.work / f"small{i}"))["opens"] == times
    done = harness.read_command("verify", trace.path)
    assert done.returncode == 0, done.stdout
    check_timeline(trace)
    check_reports(trace.path)


def test_a_profile_has_the_sums_of_the_trace(tap):
    whole = tap.run(ARGV)
    for path in tap.work.iterdir():
        path.unlink()
    sums = tap.run(ARGV, env={"FLOWTAP_MODE": "profile"})
    check_figures(tap, whole)
    check_figures(tap, sums)
    assert sums.events() == []
    summary = sums.summary()
    assert summary["dropped"] == 0 and summary["profiled"] == summary["stored"] == summary["events"]
    for name in ("pread64", "write", "fork", "openat64"):
        if [c for c in whole.summary()["calls"] if c["name"] == name]:
            assert {k: call_of(sums, name)[k] for k in FIGURES} == {k: call_of(whole, name)[k] for k in FIGURES}
    for kind in ("read", "write", "metadata"):
        assert sums.summary()[kind]["count"] == whole.summary()[kind]["count"], kind
    assert {(p["pid"] == sums.ran.pid, p["events"]) for p in sums.processes()}
    assert frames_of(sums, "profile") * 2 < frames_of(whole, "block"), "2,300 calls on one file are a few rows"


def status(daemon):
    return json.loads(harness.read_command("status", "--json", "--socket", daemon.socket).stdout)


def jobs(daemon):
    return json.loads(harness.read_command("jobs", "--json", "--socket", daemon.socket).stdout)["jobs"]


def events_written(daemon):
    return status(daemon)["counters"]["events"]


def capped(tap, *settings):
    """The script, and once more when what it did is written and the job has passed its cap."""
    daemon = tap.daemon(*settings)
    daemon.call(ARGV, cwd=tap.work, env={"FLOWTAP_JOB": "j"})
    harness.wait_until("its events in the file", lambda: events_written(daemon) > 2500)
    daemon.call(ARGV, cwd=tap.work, env={"FLOWTAP_JOB": "j"})
    trace = daemon.stop()
    return trace, daemon.log()


def check_cap(tap, trace, log, key):
    check_figures(tap, trace, 2)
    summary = trace.summary()
    assert summary["dropped_by_cause"]["capped"] == summary["dropped"] > 0, summary["dropped_by_cause"]
    assert 0 < summary["stored"] == len(trace.events())
    assert summary["start"] < summary["capped_since"]
    assert summary["profiled"] >= summary["dropped"]
    assert f"passed {key}" in log
    text = harness.read_command("processes", trace.path).stdout.decode()
    assert f"\n{summary['profiled']:,} events are there as sums alone" in text and "Nothing is known" not in text


def test_a_job_that_passes_its_cap_of_events_goes_on_as_a_profile(tap):
    check_cap(tap, *capped(tap, "max_events_per_job=1000"), "max_events_per_job")


def test_a_job_that_passes_its_cap_of_bytes_goes_on_as_a_profile(tap):
    check_cap(tap, *capped(tap, "max_bytes_per_job=2000"), "max_bytes_per_job")


def end(daemon, how):
    """The job goes on later: behind another daemon, or after it was over."""
    if how == "over":
        harness.wait_until("the job to be over", lambda: [j["state"] for j in jobs(daemon)] == ["finished"])
        return
    harness.wait_until("its end to be written", lambda: status(daemon)["gauges"]["processes"] == 0)
    if how == "killed":
        daemon.kill()
    else:
        daemon.stop()
    daemon.start()


@pytest.mark.parametrize("cap", ["max_events_per_job=4000", "max_bytes_per_job={}"])
@pytest.mark.parametrize("how", ["stopped", "killed", "over"])
def test_a_cap_counts_what_the_job_had_before(tap, how, cap):
    """Two runs pass it, each in a file of its own; the third is sums alone. With any two counted it would be whole."""
    daemon = tap.daemon("job_linger=0s" if how == "over" else "job_linger=1h", cap.format("1G"))
    daemon.call(ARGV, cwd=tap.work, env={"FLOWTAP_JOB": "j"})
    harness.wait_until("its events in the file", lambda: events_written(daemon) > 2500)
    harness.wait_until("its end to be written", lambda: status(daemon)["gauges"]["processes"] == 0)
    if "bytes" in cap:  # one and a half of what a run takes
        size = sum(p.stat().st_size for p in daemon.spool.rglob("*.flow"))
        daemon.settings = [daemon.settings[0], cap.format(size * 3 // 2)]
        daemon.stop()
        daemon.start()
    else:
        end(daemon, how)
    daemon.call(ARGV, cwd=tap.work, env={"FLOWTAP_JOB": "j"})
    end(daemon, how)
    daemon.call(ARGV, cwd=tap.work, env={"FLOWTAP_JOB": "j"})
    trace = daemon.stop()
    check_figures(tap, trace, 3)
    capped = trace.summary()["dropped_by_cause"]["capped"]
    assert capped > 2300 and f"passed {cap.partition('=')[0]}" in daemon.log(), capped


def test_another_jobs_files_in_the_same_folder_do_not_count(tap):
    daemon = tap.daemon("job_linger=0s", "max_events_per_job=1000")
    daemon.call(ARGV, cwd=tap.work, env={"FLOWTAP_JOB": "a b"})
    harness.wait_until("the job to be over", lambda: [j["state"] for j in jobs(daemon)] == ["finished"])
    daemon.call(["true"], cwd=tap.work, env={"FLOWTAP_JOB": "a_b"})
    daemon.stop()
    assert "job a_b " not in daemon.log(), daemon.log()


def test_sums_count_in_the_list_of_jobs(tap):
    daemon = tap.daemon("mode=profile", "job_linger=100ms")
    daemon.call(ARGV, cwd=tap.work, env={"FLOWTAP_JOB": "j"})
    harness.wait_until("the job to be over", lambda: [j["state"] for j in jobs(daemon)] == ["finished"])
    told = jobs(daemon)[0]["events"]
    assert told == daemon.stop().summary()["profiled"] > 2300


def test_a_user_has_a_mode_of_its_own(tap):
    daemon = tap.daemon("user_modes=root=profile,12345=off")
    daemon.call(ARGV, cwd=tap.work)
    trace = daemon.stop()
    check_figures(tap, trace)
    assert trace.events() == [] and trace.summary()["profiled"] > 2000


def test_a_user_whose_mode_is_off_is_not_traced(tap):
    daemon = tap.daemon("user_modes=0=off")
    daemon.call(ARGV, cwd=tap.work)
    assert not list(daemon.spool.rglob("*.flow"))
    daemon.stop(check="no trace")


def test_a_job_cannot_ask_for_more_than_the_site_gives(tap):
    daemon = tap.daemon("mode=profile")
    daemon.call(ARGV, cwd=tap.work, env={"FLOWTAP_MODE": "trace"})
    trace = daemon.stop()
    check_figures(tap, trace)
    assert trace.events() == []


def test_a_profile_knows_when_things_were(tap):
    """Reads, then writes: in no bin are writes before one with reads."""
    script = """
import os
f = os.open('data', os.O_RDWR | os.O_CREAT)
os.ftruncate(f, 1000000)
for i in range(5000):
    os.pread(f, 100, 7 * i)
for i in range(5000):
    os.pwrite(f, b'x' * 100, 7 * i)
"""
    trace = tap.run(["/usr/bin/python3", "-S", "-E", "-c", script], env={"FLOWTAP_MODE": "profile"})
    bins = exact("timeline", trace.path, "--bins", "1000")["bins"]
    reads, writes = ([i for i, row in enumerate(bins) if row[key] >= 500] for key in ("read_bytes", "written_bytes"))
    assert len(reads) > 1 and len(writes) > 1 and max(reads) <= min(writes)
    assert sum(row["reads"] for row in bins[min(reads):max(reads) + 1]) >= 5000


def test_where_chooses_among_events_alone(tap):
    trace = tap.run(ARGV, env={"FLOWTAP_MODE": "profile"})
    timeline = exact("timeline", trace.path, "--where", "call=read")
    assert timeline["profiled"] == 0 and timeline["profiled_left_out"] == trace.summary()["profiled"]
    assert timeline["total"]["reads"] == 0
    done = harness.read_command("events", trace.path)
    assert b"it has sums alone (mode profile)" in done.stdout


def test_against_a_profile_there_is_no_difference_of_what_nobody_knows(tap):
    whole, sums = tap.run(ARGV), tap.run(ARGV, env={"FLOWTAP_MODE": "profile"})
    totals = json.loads(harness.read_command("diff", "--json", whole.path, sums.path).stdout)["totals"]
    assert totals["io_time"]["a"] > 0 and totals["io_time"]["b"] is None
    assert totals["read_bytes"]["a"] == totals["read_bytes"]["b"]


def test_rows_of_events_say_what_is_in_none_of_them(tap):
    """Of a process that is recorded and one that is profiled."""
    daemon = tap.daemon()
    for mode in ("trace", "profile"):
        done = daemon.call(ARGV, cwd=tap.work, env={"FLOWTAP_MODE": mode, "FLOWTAP_JOB": "one"})
        assert done.returncode == 0, done.stderr
    trace = daemon.stop()
    profiled = trace.summary()["profiled"]
    assert profiled > 2000 and len(trace.events()) > 2000
    for options in (["--by", "name"], ["--sort", "-dur", "--top", "3"]):
        told = exact("events", trace.path, *options)
        check("events", told)
        assert (told["profiled"], told["dropped"]) == (profiled, 0)
        lines = harness.read_command("events", *options, trace.path).stdout.decode().splitlines()
        assert lines[-1] == f"{profiled:,} events of which there are sums alone are not in it."
        assert not lines[-2].endswith("are not in it.")
