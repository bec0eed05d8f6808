# SPDX-License-Identifier: MIT
"""Command lines of tests/data/commands/*.txt, which test_same.py runs untraced and traced.

A case is a line `== name` and, below it, a bash script. After the name may stand `[needs PROGRAM…]`: without these programs the
case is skipped, with that reason; and `[gaps KIND…]`: the gaps that its trace may show. Lines that begin with `#:` before the
first case of a file, or below a case's line, are remarks.
"""

import dataclasses
import pathlib
import re

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "data/commands"


@dataclasses.dataclass
class Case:
    name: str
    needs: list
    gaps: set
    script: str


def read_case(area, head, body):
    options = dict(re.findall(r"\[(\w+) ([^]]*)\]", head))
    assert set(options) <= {"needs", "gaps"}, head
    name = re.sub(r"\s*\[.*", "", head)
    script = "".join(line for line in body.splitlines(keepends=True) if not line.startswith("#:"))
    assert name and script.strip(), (area, head)
    return Case(f"{area}: {name}", options.get("needs", "").split(), set(options.get("gaps", "").split()), script)


def read_area(path):
    before, *cases = re.split(r"^== ", path.read_text(), flags=re.M)
    assert all(line.startswith("#:") for line in before.splitlines() if line), path
    return [read_case(path.stem, *case.split("\n", 1)) for case in cases]


def read_all():
    cases = [case for path in sorted(FOLDER.glob("*.txt")) for case in read_area(path)]
    names = [case.name for case in cases]
    assert len(set(names)) == len(names), [name for name in names if names.count(name) > 1]
    return cases
