# SPDX-License-Identifier: MIT
"""What a program of tests/programs/counted.h says that it did against what the trace has."""

import json


def said(trace):
    """The last JSON line on the program's stdout."""
    return json.loads(trace.ran.stdout.splitlines()[-1])


def check(tap, trace, torn_at_most=0):
    """Each name was opened, written and closed as often as the program counted; nothing else was dropped."""
    counts = said(trace)
    for name, count in counts.items():
        path = str(tap.work / name)
        have = [trace.count(name=call, path=path) for call in ("open", "write", "close")]
        want = [count, count, count]
        if name == "child":  # which ends without closing
            have, want = have[:2], want[:2]
        assert have == want, (name, have, count)
    causes = trace.summary()["dropped_by_cause"]
    assert causes.pop("torn") <= torn_at_most and not any(causes.values()), trace.summary()["dropped_by_cause"]
    return counts
