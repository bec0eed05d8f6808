# SPDX-License-Identifier: MIT
"""What the meta tests share: the source tree, the build tree, and running a command."""

import functools
import os
import pathlib
import re
import subprocess

REPO = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("FLOWTAP_BUILD", REPO / "build")).resolve()
FLOWTAP = BUILD / "bin/flowtap"
FLOWTAPD = BUILD / "bin/flowtapd"
PRELOAD = BUILD / "lib/libflowtap-preload.so"

# Includes of the build, for compilers that are called by hand.
INCLUDES = ["-I.", f"-I{BUILD}/gen"]


def run(*argv, **options):
    """A command's stdout as text; its failure is the test's, with what it printed."""
    done = subprocess.run([str(a) for a in argv], cwd=options.pop("cwd", REPO), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", timeout=300, **options)
    assert done.returncode == 0, f"{' '.join(map(str, argv))}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


@functools.cache
def files():
    """Every file of the tree that is or could be committed, relative to its top."""
    listed = run("git", "ls-files", "-co", "--exclude-standard", "-z").split("\0")
    return [pathlib.Path(name) for name in sorted(listed) if name and (REPO / name).is_file()]


def sources(*suffixes, under=""):
    return [f for f in files() if f.suffix in suffixes and str(f).startswith(under)]


def text(path):
    return (REPO / path).read_text(errors="replace")


def call_table():
    """(id, name, category) of every row of proto/calls.def."""
    rows = re.findall(r"^\s*FT_CALL\(\s*(\d+)\s*,\s*(\w+)\s*,\s*(\w+)", text("proto/calls.def"), re.M)
    assert rows, "proto/calls.def has no row"
    return [(int(number), name, category) for number, name, category in rows]
