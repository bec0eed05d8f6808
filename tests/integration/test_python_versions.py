# SPDX-License-Identifier: MIT
"""The Python package by every Python that is here, from 3.8 on: built with its extension, and the same events by each."""

import ast
import collections
import pathlib
import shutil
import subprocess
import sys

import harness
import pytest

PROGRAM = harness.PROGRAMS / "annotated_python.py"
PACKAGE = harness.REPO / "client/python"
OLDEST, NEWEST = 8, 15


def runs(path, minor):
    """pyenv has commands that say it is not there, and no program else."""
    code = f"import ctypes, pip, sys; sys.exit(sys.version_info[:2] != (3, {minor}))"
    return subprocess.run([path, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def interpreter(minor):
    """A Python 3.minor with pip: this one, one of PATH, or one of pyenv's; None: there is none."""
    if sys.version_info[:2] == (3, minor):
        return sys.executable
    places = [shutil.which(f"python3.{minor}"),
              *sorted(pathlib.Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python3"))]
    return next((str(place) for place in places if place and runs(place, minor)), None)


def install(python, folder):
    done = harness.call([python, "-m", "pip", "install", "-q", "--no-index", "--disable-pip-version-check", "--target", folder,
                         PACKAGE], deadline=300)
    assert done.returncode == 0, done.stderr.decode()
    return folder


def said(tap, python, folder):
    """How often each event of the application's own came."""
    trace = tap.run([python, PROGRAM], env={"PYTHONPATH": install(python, folder)}, deadline=180)
    assert trace.ran.stdout.decode().split() == ["flowtap._native", "True"], trace.ran
    return collections.Counter((e["cat"], e["name"], str(e.get("args"))) for e in trace.events() if "errno" not in e)


@pytest.mark.parametrize("minor", range(OLDEST, NEWEST))
def test_each_python_gives_the_same_events(tap, tmp_path, minor):
    python = interpreter(minor)
    harness.needs(python, f"no Python 3.{minor} with pip is here")
    code = "import doctest, flowtap, sys; done = doctest.testmod(flowtap); sys.exit(done.failed or not done.attempted)"
    told = said(tap, python, tmp_path / "that")
    assert told == said(tap, sys.executable, tmp_path / "this")
    done = tap.plain([python, "-c", code], env=harness.clean_environment(PYTHONPATH=tmp_path / "that"))
    assert done.returncode == 0, done.stdout.decode()


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.name)
def test_nothing_is_newer_than_python_3_8(path):
    """Whatever Pythons are here; what cannot be told by its syntax is for the test above."""
    ast.parse(path.read_text(), feature_version=(3, OLDEST))
