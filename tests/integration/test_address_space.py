# SPDX-License-Identifier: MIT
"""Every command reads a trace of any length in little memory: 4 GiB for 10^8 events, here as much less as there are fewer events."""

import json
import os
import resource

import pytest
from generated import generate
from harness import FLOWTAP, call

EVENTS = 500_000
MIB = 1 << 20
# What the program is and each thread that reads holds (a block's columns, decoded), and 4 GiB for each 10^8 events.
LIMIT = (48 + 32 * min(os.cpu_count(), 8)) * MIB + EVENTS * (4 << 30) // 10 ** 8
COMMANDS = ["info", "verify", "summary", "summary --quick", "summary --by rank,epoch,name", "files", "files --by folder",
            "files --where size<4096", "processes", "processes --where size<4096", "timeline", "timeline --where size<4096",
            "diagnose", "diff", "events", "events --where size<4096", "events --sort -dur --top 1000", "events --sort path --top 20",
            "events --by name,tag.epoch", "events --by path"]


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))


@pytest.fixture(scope="module", params=["training", "metadata"])
def trace(request, tmp_path_factory):
    return generate(tmp_path_factory.mktemp(request.param) / "t", request.param, events=EVENTS)


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("command", COMMANDS)
def test_it_suffices(trace, command, form):
    paths = [trace, trace] if command == "diff" else [trace]
    done = call([FLOWTAP, *command.split(), *(["--json"] if form == "json" else []), *paths], preexec_fn=limited, deadline=300)
    assert done.returncode == 0 and done.stdout and not done.stderr, (LIMIT // MIB, done.stderr.decode()[-300:])
    if form == "json":
        document = json.loads(done.stdout)
        assert not document.get("partial") and document.get("sound", True)


@pytest.mark.parametrize("command", ["files", "processes --where size<4096", "timeline", "summary", "events --by path"])
def test_too_little_is_an_error_and_no_damage(trace, command):
    """As little as lets the program start, and more: either it is done, or one line says why not."""
    outcomes = set()
    for limit in range(8, 80, 8):
        def limited_so():
            resource.setrlimit(resource.RLIMIT_AS, (limit * MIB, limit * MIB))
        done = call([FLOWTAP, *command.split(), trace], preexec_fn=limited_so)
        outcomes.add(done.returncode)
        if done.returncode == 0:
            assert done.stdout and not done.stderr, (limit, done.stderr)
            break
        assert b"damaged" not in done.stderr and b"damaged" not in done.stdout, (limit, done.stderr)
    assert outcomes - {0}
