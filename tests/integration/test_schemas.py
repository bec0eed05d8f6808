# SPDX-License-Identifier: MIT
"""Every `--json` document is what its schema in tests/data/schemas says, and every command that has one has a schema."""

import copy
import json
import re
import sys

import harness
import pytest
from generated import document, events_of, generate
from jsonschema import Draft202012Validator
from reading import FORMS as FORMS_OF_ALL
from reading import on
from referencing import Registry, Resource

SCHEMAS = harness.REPO / "tests/data/schemas"
REPORTS = ["summary", "events", "files", "processes", "timeline", "diagnose", "info", "verify"]


def schema(name):
    return json.loads((SCHEMAS / f"{name}.json").read_text())


REGISTRY = Registry().with_resource("event.json", Resource.from_contents(schema("event")))


def check(name, value, read=lambda found: found):
    errors = list(Draft202012Validator(read(schema(name)), registry=REGISTRY).iter_errors(value))
    assert not errors, (name, [f"{error.json_path}: {error.message}"[:300] for error in errors[:5]])


def check_reports(path, status=0):
    for name in REPORTS:
        done = harness.call([harness.FLOWTAP, name, "--json", path])
        assert done.returncode in (0, status), (name, done.stderr)
        check(name, json.loads(done.stdout))
    for event in events_of(path):
        check("event", event)


def test_a_schema_is_one():
    names = sorted(path.stem for path in SCHEMAS.glob("*.json"))
    assert names
    for name in names:
        Draft202012Validator.check_schema(schema(name))


def commands_with_json():
    listed = re.findall(r"^  ([a-z]+)\s{2,}\S", harness.call([harness.FLOWTAP, "--help"]).stdout.decode(), re.M)
    return [name for name in listed if "--json" in harness.call([harness.FLOWTAP, name, "--help"]).stdout.decode()]


def test_every_command_that_prints_json_has_a_schema_and_its_page_names_it():
    names = commands_with_json()
    assert {*REPORTS, "diff", "status", "doctor"} <= set(names)
    for name in names:
        assert (SCHEMAS / f"{name}.json").exists(), name
        page = (harness.REPO / f"client/cli/flowtap-{name}.1").read_text().replace("\\-", "-")
        assert f"tests/data/schemas/{name}.json" in page, name


@pytest.mark.parametrize("kind", ["random", "training", "metadata"])
def test_reports_of_made_traces(tmp_path, kind):
    path = generate(tmp_path / "t", kind, "--hosts", "2", "--dropped", "5", events=1500)
    check_reports(path)
    check("diff", document("diff", path, generate(tmp_path / "u", "random", events=300)))
    for by in ("folder", "suffix", "mount", "fstype", "host", "kind"):
        check("files", document("files", path, "--by", by))
    for by in ("exe", "host", "rank", "job", "user"):
        check("processes", document("processes", path, "--by", by))
    check("processes", document("processes", path, "--where", "size>1"))
    check("events", document("events", path, "--by", "errno,name,tag.epoch,rank"))
    check("events", document("events", path, "--sort", "-bytes", "--top", "9"))
    check("summary", document("summary", path, "--by", "epoch,rank,cat"))
    check("summary", document("summary", path, "--quick"))


def test_reports_of_a_real_trace(tap):
    code = ("import os, signal\nos.close(os.open(b'odd\\xff\\n', os.O_CREAT | os.O_WRONLY))\nos.getcwd()\n"
            "if os.fork() == 0: os.execv('/bin/cat', ['cat', b'odd\\xff\\n'])\nos.wait()\nos.kill(os.getpid(), signal.SIGKILL)\n")
    trace = tap.run(["/usr/bin/python3", "-S", "-E", "-c", code], status=128 + 9)
    check_reports(trace.path)
    assert any("path_bytes" in event for event in trace.events())


def test_reports_of_a_damaged_trace(tmp_path):
    path = generate(tmp_path / "t", "random", events=2000)
    (flow,) = path.glob("*.flow")
    data = flow.read_bytes()
    flow.write_bytes(data[:len(data) // 2])
    check_reports(path, status=1)
    assert document("info", path)["partial"]


# All that changes the shape of a document, for traces of any kind.
FORMS = [*(words[:-1] for words in FORMS_OF_ALL if words[-1] == "--json"), ["doctor"], ["diagnose"], ["diff", "--top", "1"],
         ["summary", "--top", "0"], ["summary", "--by", "nothing,rank"], ["timeline", "--bins", "3"],
         *([*words, "--where", where] for where in ("size>1", "size<0", "kind=span || errno!=0") for words in (
             ["summary"], ["summary", "--by", "name,path"], ["files"], ["files", "--by", "kind"], ["processes"],
             ["processes", "--by", "rank"], ["timeline"], ["events"], ["events", "--by", "path,tag.x"], ["events", "--sort", "-dur"]))]


def closed(part):
    """The schema again, which lets no member pass that it does not name; bytes of what is no text stand beside its name."""
    if isinstance(part, list):
        return [closed(one) for one in part]
    if not isinstance(part, dict):
        return part
    part = {key: closed(value) for key, value in part.items()}
    if isinstance(part.get("properties"), dict) and part.get("additionalProperties") is True:
        unnamed = f"^(?!(?:{'|'.join(part['properties'])})$).*_bytes$"
        part |= {"additionalProperties": False, "patternProperties": {unnamed: {"type": ["string", "array"]}}}
    return part


def check_forms(path, *, status=0):
    """Every form of every report of this trace has a document, and it is as its schema says."""
    for words in FORMS:
        done = on([*words, "--json"], path)
        assert done.returncode in (0, 1 if words[0] in ("verify", "doctor") else status), (words, done.stderr)
        check(words[0], json.loads(done.stdout), closed)


def test_forms_of_an_empty_trace(tap):
    check_forms(tap.run(["/bin/true"], options=["--include", "/no/such/*"]).path)


def test_forms_of_a_trace_that_dropped_all(tmp_path):
    check_forms(generate(tmp_path / "t", "random", "--dropped", "1000", events=500))


def test_forms_of_one_event_and_of_some(tmp_path):
    for count in (1, 700):
        check_forms(generate(tmp_path / str(count), "random", "--hosts", "1" if count == 1 else "3", events=count))


def test_forms_of_a_damaged_trace(tmp_path):
    path = generate(tmp_path / "t", "random", "--hosts", "2", events=2000)
    cut, flipped = sorted(path.glob("*.flow"))
    cut.write_bytes(cut.read_bytes()[:cut.stat().st_size // 2])
    data = bytearray(flipped.read_bytes())
    data[len(data) // 2] ^= 0xff
    flipped.write_bytes(data)
    check_forms(path)
    assert document("summary", path)["partial"]


def test_forms_of_a_profile(tap):
    code = ("import os, flowtap\nwith flowtap.span('s', category='compute'):\n    open('/etc/hostname').read()\n"
            "if os.fork() == 0: os.execv('/bin/cat', ['cat', '/etc/hostname'])\nos.wait()\n")
    trace = tap.run([sys.executable, "-c", code], env={"FLOWTAP_MODE": "profile", "PYTHONPATH": harness.REPO / "client/python",
                                                       "FLOWTAP_PURE": 1})
    assert trace.summary()["profiled"] > 0
    check_forms(trace.path)


def test_what_the_daemon_and_the_doctor_say(tap):
    daemon = tap.daemon()
    daemon.call(["true"])
    done = daemon.call([harness.FLOWTAP, "status", "--json"])
    assert done.returncode in (0, 1), done.stderr
    check("status", json.loads(done.stdout))
    done = daemon.call([harness.FLOWTAP, "jobs", "--json"])
    assert done.returncode == 0, done.stderr
    check("jobs", json.loads(done.stdout))
    assert json.loads(done.stdout)["jobs"]
    daemon.stop()
    done = harness.call([harness.FLOWTAP, "doctor", "--json"])
    check("doctor", json.loads(done.stdout))


def test_a_schema_refuses_what_is_not_so(tmp_path):
    path = generate(tmp_path / "t", "random", events=500)
    refused = 0
    for name in REPORTS:
        value = document(name, path)
        for key in value:
            for change in (lambda v, k: v.pop(k), lambda v, k: v.__setitem__(k, {"no": "such thing"})):
                other = copy.deepcopy(value)
                change(other, key)
                refused += not Draft202012Validator(schema(name), registry=REGISTRY).is_valid(other)
    assert refused > 60
    event = events_of(path)[0]
    for bad in ({**event, "more": 1}, {**event, "ts": "now"}, {k: v for k, v in event.items() if k != "name"}):
        assert not Draft202012Validator(schema("event")).is_valid(bad)
