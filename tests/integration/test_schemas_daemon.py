# SPDX-License-Identifier: MIT
"""What the daemon says of itself and of its jobs is what the schemas say, in each form; these let nothing else pass."""

import copy
import json
import os
import signal
import subprocess

import harness
import pytest
from jsonschema import Draft202012Validator
from test_schemas import schema


def told(daemon, *words):
    done = harness.call([harness.FLOWTAP, *words, "--json", "--socket", daemon.socket])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check(name, value):
    """As it is, and of no other shape: not with one member less that has to be there, or with one that has no name there."""
    validator = Draft202012Validator(schema(name))
    errors = [f"{error.json_path}: {error.message}"[:300] for error in validator.iter_errors(value)]
    assert not errors, (name, errors)
    for path, part in parts(value):
        are_numbers = path[-1:] in (["gauges"], ["counters"])
        assert not validator.is_valid(changed(value, path, lambda one: one.update({"More": 1}))), (name, path)
        for key in part:
            may_miss = are_numbers or key == "waiting" or key.removesuffix("_bytes") in part.keys() - {key}
            missing = changed(value, path, lambda one, key=key: one.pop(key))
            assert validator.is_valid(missing) == may_miss, (name, path, key)
            wrong = changed(value, path, lambda one, key=key: one.update({key: {"no": ["such", "thing"]}}))
            assert not validator.is_valid(wrong), (name, path, key)
    return value


def parts(value, path=()):
    """Every object of the document, with the way to it; of an array the first and the last."""
    if isinstance(value, dict):
        yield list(path), value
        for key, one in value.items():
            yield from parts(one, (*path, key))
    elif isinstance(value, list):
        for at in sorted({0, len(value) - 1} if value else set()):
            yield from parts(value[at], (*path, at))


def changed(value, path, change):
    value = copy.deepcopy(value)
    part = value
    for key in path:
        part = part[key]
    change(part)
    return value


def test_a_daemon_without_jobs_and_with_some(tap):
    daemon = tap.daemon("job_linger=100ms")
    assert check("jobs", told(daemon, "jobs"))["jobs"] == []
    check("status", told(daemon, "status"))
    reader, writer = os.pipe()
    held = subprocess.Popen(["cat"], stdin=reader, stdout=subprocess.DEVNULL, env=daemon.env(FLOWTAP_JOB="runs"))
    tap.cleanup.append(lambda: harness.end_child(held))
    os.close(reader)
    assert daemon.call(["cat", "/etc/hostname"], env={"FLOWTAP_JOB": "odd\udcff"}).returncode == 0
    document = harness.wait_until("one to run, one to have ended", lambda: (
        found := told(daemon, "jobs")) and [job["state"] for job in found["jobs"]] == ["running", "finished"] and found)
    assert ["job_bytes" in job for job in check("jobs", document)["jobs"]] == [False, True]
    seen = check("status", told(daemon, "status"))
    assert seen["users"] and seen["gauges"] and seen["counters"]["attached"] == 2
    os.close(writer)
    held.wait()
    daemon.stop()


def test_a_job_without_a_file_has_no_times(tap):
    """The spool cannot take it; and one process is all that the daemon takes. Both are troubles."""
    daemon = tap.daemon("max_processes=1", "max_processes_per_user=1")
    daemon.spool.rmdir()
    daemon.spool.touch()
    reader, writer = os.pipe()
    held = subprocess.Popen(["cat"], stdin=reader, stdout=subprocess.DEVNULL, env=daemon.env())
    tap.cleanup.append(lambda: harness.end_child(held))
    os.close(reader)
    document = harness.wait_until("the job", lambda: (found := told(daemon, "jobs"))["jobs"] and found)
    (job,) = check("jobs", document)["jobs"]
    assert job["start"] is None and job["last_written"] is None and job["files"] == 0
    status = harness.wait_until("both", lambda: len((found := told(daemon, "status"))["troubles"]) == 2 and found)
    check("status", status)
    os.close(writer)
    held.wait()
    daemon.stop(check="no trace")


def test_what_a_killed_daemon_left(tap):
    daemon = tap.daemon("job_linger=1h")
    assert daemon.call(["cat", "/etc/hostname"]).returncode == 0
    harness.wait_until("its events", lambda: (told(daemon, "jobs")["jobs"] or [{"events": 0}])[0]["events"])
    daemon.kill()
    daemon.settings = ["job_linger=0s"]
    daemon.start()
    jobs = harness.wait_until("it to be known", lambda: (found := told(daemon, "jobs")) and [
        job["state"] for job in found["jobs"]] == ["unclosed"] and found)
    check("jobs", jobs)
    daemon.stop()


@pytest.mark.parametrize("mode", ["trace", "profile", "off"])
def test_each_mode_is_named(tap, mode):
    daemon = tap.daemon(f"mode={mode}")
    assert check("status", told(daemon, "status"))["mode"] == mode
    daemon.stop(check="no trace")


def test_the_configuration_and_what_waits(tap):
    config = tap.folder / "odd\udcff.conf"
    config.write_text("[flowtapd]\nbacklog = 7\n")
    daemon = tap.daemon()
    daemon.stop(check="no trace")
    daemon.words = ("--config", config)
    daemon.start()
    keys = {key["key"]: key for key in check("status-config", told(daemon, "status", "--config"))["config"]}
    assert keys["backlog"]["value"] == "7" and "from_bytes" in keys["backlog"] and "waiting" not in keys["backlog"]
    config.write_text("[flowtapd]\nbacklog = 8\n")
    daemon.process.send_signal(signal.SIGHUP)
    document = harness.wait_until("the other value", lambda: (found := told(daemon, "status", "--config")) and any(
        "waiting" in key for key in found["config"]) and found)
    check("status-config", document)
    daemon.stop(check="no trace")
