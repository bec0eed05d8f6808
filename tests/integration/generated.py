# SPDX-License-Identifier: MIT
"""Traces that the generator makes, and what the commands say of them."""

import json

import harness


def generator():
    binary = harness.BUILD / "bin/flowtap-generate"
    made = harness.call(["make", "-s", f"O={harness.BUILD}", "generate"], cwd=harness.REPO, deadline=300)
    assert made.returncode == 0, made.stderr.decode()
    return binary


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
