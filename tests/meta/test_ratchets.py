# SPDX-License-Identifier: MIT
"""Numbers that may only fall. ratchets.txt holds each one's ceiling; who lowers a number lowers its ceiling too."""

import re

import pytest
import tree

LONG_FILE_LINES = 400
LONG_FUNCTION_LINES = 60


def code():
    return [p for p in tree.sources(".c", ".h", ".S", ".cc", ".py") if "corpus" not in p.parts]


def long_files():
    return [f"{p}: {n} lines" for p in code() if (n := len(tree.text(p).splitlines())) > LONG_FILE_LINES]


def functions(path):
    """(line, name, length) of each function of a C file: from its opening brace in column 0 to its closing one."""
    start, name = 0, ""
    lines = tree.text(path).splitlines()
    for number, line in enumerate(lines, 1):
        if re.match(r"^\w.*\)\s*\{$", line) or (line == "{" and number > 1 and not lines[number - 2].endswith(("=", ";"))):
            start = number
            head = re.findall(r"(\w+)\(", " ".join(lines[max(0, number - 4):number]))
            name = head[-1] if head else "?"
        elif line == "}" and start:
            yield start, name, number - start + 1
            start = 0


def long_functions():
    return [f"{p}:{line}: {name}, {length} lines" for p in tree.sources(".c")
            for line, name, length in functions(p) if length > LONG_FUNCTION_LINES]


def matching(pattern):
    return [f"{p}:{number}: {line.strip()}" for p in code() if p.parts[:2] != ("tests", "meta")
            for number, line in enumerate(tree.text(p).splitlines(), 1) if re.search(pattern, line)]


def todos():
    return matching(r"\b(TODO|FIXME|XXX|HACK)\b")


def suppressed_lints():
    return matching(r"#\s*pragma (GCC|clang) diagnostic ignored|clang-format off|shellcheck disable|noqa|NOLINT")


COUNTERS = {f.__name__: f for f in (long_files, long_functions, todos, suppressed_lints)}


def ceilings():
    rows = [line.split() for line in tree.text("tests/meta/ratchets.txt").splitlines() if line and line[0] != "#"]
    return {name: int(number) for name, number in rows}


@pytest.mark.parametrize("name", COUNTERS)
def test_it_may_only_fall(name):
    found, ceiling = COUNTERS[name](), ceilings()[name]
    assert len(found) <= ceiling, f"{len(found)} {name}, ceiling {ceiling}:\n" + "\n".join(found)
    assert len(found) == ceiling, f"{name} fell to {len(found)}: write that into tests/meta/ratchets.txt"
