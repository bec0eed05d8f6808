# SPDX-License-Identifier: MIT
"""Order, cut and groups of `processes`, by each key that there is, against plain Python over all its rows."""

import collections
import tempfile

import harness
from generated import generate
from hypothesis import given
from hypothesis import strategies as st
from plain import exact, ns
from test_figures import SETTINGS


def count_of(row):
    """Its events, or those that were chosen."""
    return row["chosen"] if "chosen" in row else row["events"]


SORTS = {"time": lambda row: row["io_time"], "read": lambda row: row["read_bytes"], "written": lambda row: row["written_bytes"],
         "events": count_of, "lived": lambda row: row["end"] - row["start"]}
SUMS = ("io_time", "read_bytes", "written_bytes")
ORDERS = ("time", "read", "written", "events", "tree")
KEYS = ("exe", "host", "rank", "job", "user")


def check_sorted(path, options, rows, sort, top):
    told = exact("processes", path, *options, "--sort", sort, "--top", str(top))["processes"]
    if sort == "tree":
        assert told == rows[:top or None]
        return
    key = SORTS[sort]
    assert [key(row) for row in told] == sorted(map(key, rows), reverse=True)[:top or None], sort
    assert all(row in rows for row in told)


def check_groups(path, options, rows, by, sort, top):
    groups = exact("processes", path, *options, "--by", by, "--sort", sort)["groups"]
    members = collections.defaultdict(list)
    for row in rows:
        members[row[by]].append(row)
    assert len(groups) == len(members)
    for group in groups:
        own = members[group[by]]
        assert group["processes"] == len(own) and count_of(group) == sum(map(count_of, own)), group
        assert ns(group["io_time"]) == sum(ns(row["io_time"]) for row in own), group
        assert [group[key] for key in SUMS[1:]] == [sum(row[key] for row in own) for key in SUMS[1:]], group
    key = SORTS["time" if sort == "tree" else sort]
    assert list(map(key, groups)) == sorted(map(key, groups), reverse=True), sort
    assert exact("processes", path, *options, "--by", by, "--sort", sort, "--top", str(top))["groups"] == groups[:top or None]


@SETTINGS
@given(kind=st.sampled_from(["random", "training", "checkpoint", "straggler"]), seed=st.integers(0, 2 ** 32), hosts=st.integers(1, 4),
       count=st.integers(1, 700), where=st.sampled_from([(), ("--where", "size<4096"), ("--where", "kind=span"), ("--where", "size<0")]),
       top=st.integers(0, 5))
def test_rows_and_groups_stand_in_the_order_that_is_asked_for(kind, seed, hosts, count, where, top):
    with tempfile.TemporaryDirectory(prefix="flowtap-test-") as folder:
        path = generate(f"{folder}/t", kind, "--seed", str(seed), "--hosts", str(hosts), events=count)
        rows = exact("processes", path, *where)["processes"]
        for sort in (*SORTS, "tree"):
            check_sorted(path, where, rows, sort, top)
        for turn, by in enumerate(KEYS):  # each key of groups in each order, one after the other
            check_groups(path, where, rows, by, ORDERS[(seed + turn) % len(ORDERS)], top)


def test_groups_have_no_length_of_life(tmp_path):
    path = generate(tmp_path / "t", "training", events=100)
    done = harness.call([harness.FLOWTAP, "processes", "--by", "exe", "--sort", "lived", path])
    assert (done.returncode, done.stdout) == (2, b"") and b"--sort lived" in done.stderr and done.stderr.count(b"\n") == 1
