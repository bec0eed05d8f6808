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
