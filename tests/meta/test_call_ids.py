# SPDX-License-Identifier: MIT
"""Ids of calls are in every trace ever written: they are never changed, never reused.

call-ids.txt is the frozen list. A new call gets a new line there; no line is ever edited or removed.
"""

import tree

FROZEN = tree.REPO / "tests/meta/call-ids.txt"


def frozen():
    rows = [line.split() for line in FROZEN.read_text().splitlines() if line and not line.startswith("#")]
    return {int(number): name for number, name in rows}


def test_ids_and_names_are_unique_and_in_range():
    rows = tree.call_table()
    assert len({number for number, _, _ in rows}) == len(rows)
    assert len({name for _, name, _ in rows}) == len(rows)
    assert all(1 <= number <= 1023 for number, _, _ in rows)


def test_no_id_changed_its_name():
    table = {number: name for number, name, _ in tree.call_table()}
    changed = [f"{number}: was {name}, is {table.get(number, 'gone')}" for number, name in frozen().items()
               if table.get(number) != name]
    assert not changed, "\n".join(changed)


def test_every_id_is_frozen():
    known = frozen()
    missing = [f"{number} {name}" for number, name, _ in tree.call_table() if number not in known]
    assert not missing, "add to tests/meta/call-ids.txt:\n" + "\n".join(missing)


# Calls that no program in tests/programs accounts for by name, and why.
TRIED_ELSEWHERE = {
    "closefrom": "close_all.c: it closes the account too",
    "aio_return": "calls_aio.c: test_aio.py counts them", "aio_return64": "the same", "aio_suspend": "the same", "aio_suspend64": "the same",
    "dlopen": "watched, not recorded: test_gaps.py", "dlmopen": "the same", "mlockall": "watched: test_limits.py",
    "unshare": "watched: test_apart.py", "setns": "the same",
}
NEWER_THAN = {"pidfd_spawn": "2.39", "pidfd_spawnp": "2.39", "__isoc23_": "2.38"}
WATCHED = ("longjmp", "_longjmp", "siglongjmp", "__longjmp_chk", "setrlimit64", "prlimit64")  # make no events


def test_every_call_is_tried():
    programs = "".join(tree.text(f) for f in tree.sources(".c", ".cc", under="tests/programs/"))
    missing = []
    for _, name, _ in tree.call_table():
        is_new = name in NEWER_THAN or any(name.startswith(n) for n in NEWER_THAN if n.endswith("_"))
        spelled = (f'"{name}"', f'NAME("{name.removesuffix("64")}")')
        if not (name in TRIED_ELSEWHERE or is_new or name in WATCHED or any(s in programs for s in spelled)):
            missing.append(name)
    assert not missing, f"no program in tests/programs tries {missing}"
