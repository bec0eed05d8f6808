# SPDX-License-Identifier: MIT
"""Traces that the generator makes, and what the commands say of them."""

import functools
import json

import harness


@functools.cache
def generator():
    """Of the ordinary build, whichever variant is tested: what it makes is the same, and no other tree is touched."""
    env = harness.clean_environment(**dict.fromkeys(("MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "VARIANT", "O", "CC", "CFLAGS")))
    made = harness.call(["make", "-s", "O=build", "generate"], cwd=harness.REPO, env=env, deadline=500)
    assert made.returncode == 0, made.stderr.decode()
    return harness.REPO / "build/bin/flowtap-generate"


def generate(folder, kind, *options, events=20_000):
    made = harness.call([generator(), "--kind", kind, "--events", str(events), *options, "-o", folder])
    assert made.returncode == 0, made.stderr.decode()
    return folder


def reported(command, path, *options):
    done = harness.call([harness.FLOWTAP, command, *options, path])
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def document(command, path, *options):
    return json.loads(reported(command, path, "--json", *options))


def events_of(path, *options):
    return [json.loads(line) for line in reported("events", path, "--format", "json", *options).splitlines()]
