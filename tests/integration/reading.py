# SPDX-License-Identifier: MIT
"""Every command that reads traces, in each of its forms: what a damaged, odd or hostile file is given to."""

import json
import re

import harness

COMMANDS = (["summary"], ["summary", "--by", "pid,cat"], ["summary", "--quick"], ["files"], ["files", "--by", "folder"], ["processes"],
            ["processes", "--by", "exe"], ["timeline"], ["diff"], ["diagnose"], ["info"], ["verify"], ["doctor"], ["events"],
            ["events", "--format", "json"], ["events", "--format", "csv"], ["events", "--by", "name"], ["events", "--sort", "-dur", "--top", "9"])
FORMS = (*COMMANDS, *([*words, "--json"] for words in COMMANDS if "--format" not in words))
READ_NO_TRACE = {"run", "status", "top", "jobs", "fetch"}

# They look at the heads of blocks alone, so they know nothing of a block whose rows are damaged.
BY_HEADS = (["summary", "--quick"], ["info"])


def on(words, path):
    """One of them on a file or folder; `diff` compares it with itself."""
    paths = {"diff": [path, path], "doctor": ["--trace", path]}.get(words[0], [path])
    return harness.read_command(*words, *paths)


def peak_memory(argv, env=None):
    """The most memory that a command held, in bytes; what it prints is thrown away."""
    variables = [f"{name}={value}" for name, value in (env or harness.clean_environment()).items()]
    done = harness.call([harness.program("peak"), "/usr/bin/env", "-i", *variables, *argv], deadline=120)
    assert done.returncode == 0, (argv, done.stderr)
    return int(done.stdout)


def reading_commands():
    """All that `flowtap --help` lists, but those that read no trace."""
    text = harness.call([harness.FLOWTAP, "--help"]).stdout.decode()
    commands = set(re.findall(r"^  ([a-z]+) ", text.split("commands:\n")[1].split("\n\n")[0], re.M))
    assert READ_NO_TRACE < commands
    return commands - READ_NO_TRACE


def read_all(path, forms=FORMS):
    """Each form on the file; none may die by a signal or hang, and an error is one line. Gives what each returned."""
    results = {}
    for words in forms:
        done = results[" ".join(words)] = on(words, path)
        assert done.returncode in (0, 1), (words, done.returncode, done.stderr[-2000:])
        assert b"Sanitizer" not in done.stderr and b"runtime error" not in done.stderr, done.stderr[-4000:]
        if "--json" in words and done.stdout:
            json.loads(done.stdout)
        if done.returncode == 1 and words[0] not in ("verify", "doctor"):
            assert done.stdout == b"" and done.stderr.count(b"\n") == 1, (words, done)
    return results


def check_told(results, why):
    """Of a damaged file: `verify` and `doctor` end with 1, and every other one that answers says that something is missing."""
    assert results, why
    for name, done in results.items():
        words = name.split()
        if words[0] in ("verify", "doctor"):
            assert done.returncode == 1 and done.stdout + done.stderr, (why, name, done)
        elif done.returncode == 0 and words[-1] == "--json" and words[:-1] not in BY_HEADS:
            assert re.search(rb'"partial": ?true', done.stdout), (why, name, done.stdout[:500], done.stderr)
        elif done.returncode == 0 and words not in BY_HEADS and words[-1] != "--json":
            assert re.search(rb"partial|missing|damaged", done.stdout + done.stderr), (why, name, done.stderr)
