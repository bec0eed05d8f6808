# SPDX-License-Identifier: MIT
"""
Every command reads a trace of any length in little memory: 4 GiB for 10^8 events, here as much less as there are fewer events;
and `summary` of 10^6 files in 256 MiB.
"""

import json
import os
import re
import resource

import pytest
from generated import generate
from harness import FLOWTAP, REPO, call, clean_environment, program
from reading import peak_memory, reading_commands

EVENTS = 500_000
MIB = 1 << 20
THREADS_MAX = 8
FILE_BYTES = 220
COMMANDS = (REPO / "tests/data/reading-commands.txt").read_text().splitlines()  # `make bench ARGS="--only commands"` has 10^8


def limit_with(processors):
    """What the program is and each thread that reads holds (a block's columns, decoded), and 4 GiB for each 10^8 events."""
    return (48 + 32 * min(processors, THREADS_MAX)) * MIB + EVENTS * (4 << 30) // 10 ** 8


def suffices(limit, command, form, trace, env=None):
    paths = [trace, trace] if command == "diff" else ["--trace", trace] if command == "doctor" else [trace]
    done = call([FLOWTAP, *command.split(), *(["--json"] if form == "json" else []), *paths], env=env or clean_environment(),
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)), deadline=300)
    assert done.returncode == 0 and done.stdout, (limit // MIB, done.stderr.decode()[-300:])
    has_no_epochs = "epoch" in command and "metadata" in str(trace)
    assert len(re.findall(rb"epoch: .* has a tag of that name$", done.stderr, re.M)) == done.stderr.count(b"\n") == has_no_epochs
    if form == "json":
        document = json.loads(done.stdout)
        assert not document.get("partial") and document.get("sound", True)


@pytest.fixture(scope="module", params=["training", "metadata"])
def trace(request, tmp_path_factory):
    return generate(tmp_path_factory.mktemp(request.param) / "t", request.param, events=EVENTS)


def test_no_command_that_reads_traces_is_left_out():
    assert {command.split()[0] for command in COMMANDS} == reading_commands()


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("command", COMMANDS)
def test_it_suffices(trace, command, form):
    suffices(limit_with(os.cpu_count()), command, form, trace)


@pytest.mark.parametrize("command", ["summary", "files", "timeline", "events --by path"])
@pytest.mark.parametrize("processors", [4, THREADS_MAX])
def test_it_suffices_for_many_processors(trace, processors, command):
    """As many threads as such a machine has, of which none may take an arena of addresses for itself."""
    env = clean_environment(LD_PRELOAD=program("many_processors.so"), PROCESSORS=processors)
    suffices(limit_with(processors), command, "text", trace, env)


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


def peak_of_summary(path):
    env = clean_environment(LD_PRELOAD=program("many_processors.so"), PROCESSORS=2)
    return peak_memory([FLOWTAP, "summary", "--json", path], env)


def test_a_file_costs_few_bytes(tmp_path):
    """What summary holds of each, path and all: 10^6 of them, beside some 35 MiB that it always takes, in 256 MiB."""
    few, many = 20_000, 200_000
    peaks = [peak_of_summary(generate(tmp_path / str(files), "metadata", "--files", str(files), events=1_500_000))
             for files in (few, many)]
    assert peaks[1] - peaks[0] <= (many - few) * FILE_BYTES, peaks
