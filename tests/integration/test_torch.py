# SPDX-License-Identifier: MIT
"""flowtap.torch: real trainings with PyTorch's own DataLoader and workers, and what their traces say of them."""

import collections
import json
import os
import shutil
import sys
import tempfile

import harness
import pytest

PYTHON = harness.REPO / "build/venv-torch/bin/python"
PROGRAM = harness.PROGRAMS / "torch_training.py"
EPOCHS, STEPS = 2, 8

needs_torch = pytest.mark.skipif(not PYTHON.exists(), reason="PyTorch is not installed (tests/setup check says why)")


@pytest.fixture(scope="module")
def package():
    place = tempfile.mkdtemp(prefix="flowtap-python-")
    python = PYTHON if PYTHON.exists() else sys.executable
    done = harness.call([python, "-m", "pip", "install", "-q", "--no-index", "--disable-pip-version-check", "--target", place,
                         harness.REPO / "client/python"], env=harness.clean_environment(), deadline=300)
    assert done.returncode == 0, done.stderr.decode()
    yield place
    shutil.rmtree(place)


def environment(package):
    return {"PYTHONPATH": package, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore", "PYTHONDONTWRITEBYTECODE": "1"}


CASES = ["fork fresh join", "fork persistent kill", "spawn persistent kill"]


@pytest.fixture(scope="module", params=CASES)
def training(request, package):
    tap, folder = harness.Tap(), tempfile.mkdtemp(prefix="flowtap-torch-")
    trace = tap.run([PYTHON, PROGRAM, folder, *request.param.split()], env=environment(package), deadline=400)
    yield trace, json.loads(trace.ran.stdout), request.param
    shutil.rmtree(folder)
    tap.finish(False)


@needs_torch
def test_each_batch_is_fetched_under_its_own_epoch_and_step(training):
    trace, told, _ = training
    where = {(pid, path): [] for pid, path, _, _ in told["read"]}
    for pid, path, epoch, step in told["read"]:
        where[pid, path].append({"epoch": str(epoch), "step": str(step)})
    found = collections.defaultdict(list)
    for event in trace.events(cat="POSIX"):
        if event["name"].startswith("open") and (event["pid"], event.get("path")) in where:
            tags = event.get("tags", {})
            found[event["pid"], event["path"]].append({"epoch": tags.get("epoch"), "step": tags.get("step")})
    assert found == where


@needs_torch
def test_bytes_of_each_worker_are_those_of_its_files(training):
    trace, told, _ = training
    wanted, found = collections.Counter(), collections.Counter()
    for pid, path, _, _ in told["read"]:
        wanted[pid] += os.path.getsize(path)
    paths = {path for _, path, _, _ in told["read"]}
    for event in trace.events(cat="POSIX"):
        if event["pid"] in told["workers"] and event.get("path") in paths and event["name"].startswith(("read", "pread")):
            found[event["pid"]] += max(event["result"], 0)
    assert found == wanted and sum(wanted.values()) > 0


@needs_torch
def test_every_event_has_its_epoch(training):
    trace, told, _ = training
    events = trace.events()
    main, = {e["pid"] for e in events if e["name"] == "forward"}
    begin = min(e["ts"] for e in events if e["pid"] == main and e.get("tags", {}).get("epoch") == "0")
    end = max(e["ts"] for e in events if e["name"] == "restore")
    steps = {str(i) for i in range(STEPS)}
    for event in events:
        tags = event.get("tags", {})
        if event["pid"] == main and begin <= event["ts"] <= end or event["pid"] in told["workers"]:
            assert tags.get("epoch") in ("0", "1") and tags.get("step") in steps | {None}, json.dumps(event)
            assert event["pid"] == main or tags.get("step") in steps, event
        elif event["pid"] == main and event["ts"] < begin:
            assert "epoch" not in tags and "step" not in tags, event


@needs_torch
def test_spans_of_the_loop(training):
    trace, told, case = training
    events = trace.events()
    main, = {e["pid"] for e in events if e["name"] == "forward"}
    count = collections.Counter((e["name"], e["cat"], e["tags"].get("epoch")) for e in events
                                if e["pid"] == main and "errno" not in e)
    for epoch in ("0", "1"):
        for name, cat in (("forward", "compute"), ("backward", "compute"), ("optimizer", "compute"), ("fetch", "data"),
                          ("transfer", "transfer")):
            assert count[name, cat, epoch] == STEPS, (name, epoch)
        assert count["checkpoint", "io", epoch] == 1
    assert count["restore", "io", "1"] == 1
    fetched = collections.Counter((e["tags"]["epoch"], e["tags"]["step"]) for e in events
                                  if e["name"] == "fetch" and e["pid"] in told["workers"])
    assert fetched == {(str(epoch), str(step)): 1 for epoch in range(EPOCHS) for step in range(STEPS)}
    workers = len(told["workers"])
    assert workers == (4 if "persistent" in case else 8)
    hello = [e["args"] for e in events if e["name"] == "started"]
    assert sorted(one["worker"] for one in hello) == sorted(list(range(4)) * (workers // 4))
    assert {one["greeting"] for one in hello} == {"hello"}


@needs_torch
def test_reads_lie_in_the_fetch_that_made_them(training):
    trace, told, _ = training
    spans = collections.defaultdict(list)
    for event in trace.events(name="fetch"):
        spans[event["pid"]].append((event["ts"], event["ts"] + event["dur"], event["tags"]["step"]))
    paths = {path for _, path, _, _ in told["read"]}
    reads = [e for e in trace.events(cat="POSIX") if e["pid"] in told["workers"] and e.get("path") in paths]
    assert reads
    for event in reads:
        around = [step for start, end, step in spans[event["pid"]] if start <= event["ts"] and event["ts"] + event["dur"] <= end]
        assert around == [event["tags"]["step"]], event


@needs_torch
def test_summary_by_epoch_and_worker(training):
    trace, told, _ = training
    done = harness.call([harness.FLOWTAP, "summary", "--by", "epoch,worker", "--json", trace.path])
    assert done.returncode == 0, done.stderr
    groups = {(one["group"]["epoch"], one["group"]["worker"]): one for one in json.loads(done.stdout)["groups"]}
    for epoch in ("0", "1"):
        assert groups[epoch, None]["compute_time"] > 0 and groups[epoch, None]["app_io_time"] > 0
        assert sum(groups[epoch, str(worker)]["read"]["bytes"] for worker in range(4)) >= sum(
            os.path.getsize(path) for _, path, e, _ in told["read"] if str(e) == epoch)


@needs_torch
def test_its_examples_are_true(package):
    code = ("import doctest, flowtap.torch, sys\ndone = doctest.testmod(flowtap.torch)\n"
            "sys.exit(done.failed or done.attempted < 10)")
    done = harness.call([PYTHON, "-c", code], env=harness.clean_environment(**environment(package)), deadline=200)
    assert done.returncode == 0, done.stdout.decode()


@needs_torch
def test_behind_a_training_pytorch_is_as_it_was(package):
    code = """
import torch, flowtap.torch
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def state():
    return (torch.Tensor.to, torch.Tensor.cuda, torch.Tensor.cpu, torch.save, torch.load, torch.autograd.backward,
            "__call__" in vars(torch.nn.Linear), torch.nn.Linear.__call__, set(vars(torch.Tensor)),
            len(optimizer._optimizer_step_pre_hooks), len(optimizer._optimizer_step_post_hooks))
before = state()
try:
    with flowtap.torch.training(model, optimizer):
        assert state() != before
        raise KeyError("out of it")
except KeyError:
    pass
assert state() == before
try:
    flowtap.torch.loader([1, 2])
except TypeError as error:
    assert "DataLoader" in str(error)
one = flowtap.torch.loader(torch.utils.data.DataLoader(range(3)))
assert flowtap.torch.loader(one) is one and isinstance(one, torch.utils.data.DataLoader)
"""
    done = harness.call([PYTHON, "-c", code], env=harness.clean_environment(**environment(package)), deadline=200)
    assert done.returncode == 0, done.stderr.decode()


def test_without_pytorch_only_its_use_fails(package):
    code = """
import sys
sys.modules["torch"] = None  # as if it were not installed
import flowtap.torch
with flowtap.torch.checkpoint(path="x"):
    pass
for use in (lambda: flowtap.torch.loader([]), lambda: flowtap.torch.training().__enter__()):
    try:
        use()
    except ImportError as error:
        assert str(error) == "flowtap.torch: PyTorch is not installed here (there is no module torch)", error
    else:
        raise AssertionError("no error")
"""
    done = harness.call([sys.executable, "-c", code], env=harness.clean_environment(PYTHONPATH=package))
    assert done.returncode == 0, done.stderr.decode()
